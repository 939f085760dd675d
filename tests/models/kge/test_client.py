"""KGEClient: shared rows, the training step, plain Lightning and precision."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import lightning
import pytest
import torch
from lightning import Fabric
from torch.utils.data import DataLoader

from fedlight.client import ClientSpec
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, TripleBatch
from fedlight.errors import ConfigurationError
from fedlight.models.kge import KGEClient
from fedlight.models.kge.negatives import NegativeSampler
from fedlight.tables import RowIndex, RowTable
from tests.ranked import random_graph

IDS = torch.tensor([2, 3, 7, 11])
ROWS = RowIndex(IDS, torch.tensor([True, False, True, False]), torch.tensor([True, True, True, False]))
every_scorer = pytest.mark.parametrize("scorer", ["transe", "distmult", "complex", "rotate"])


def client(
    name: str = "a", rows: RowIndex = ROWS, seed: int = 5, relations: RowIndex | None = None, **options: Any
) -> KGEClient:
    tables = {"entity": rows} | ({} if relations is None else {"relation": relations})
    num_relations = 3 if relations is None else len(relations.ids)
    sizes = {"num_entities": len(rows.ids), "num_relations": num_relations}
    return KGEClient(**{"dim": 4, **options}).for_client(ClientSpec(0, name, {"train": 1}, sizes, tables), seed)


def trained_on(graph: KnowledgeGraph, kind: type[KGEClient] = KGEClient, **options: Any) -> KGEClient:
    every = torch.ones(graph.num_entities, dtype=torch.bool)
    sizes = {"num_entities": graph.num_entities, "num_relations": graph.num_relations}
    spec = ClientSpec(0, graph.name, {"train": 9}, sizes, {"entity": RowIndex(torch.arange(len(every)), every, every)})
    return kind(**{"dim": 8, "num_negatives": 16, **options}).for_client(spec, 0)


def batches(graph: KnowledgeGraph, size: int = 32) -> DataLoader[TripleBatch]:
    return DataLoader([TripleBatch(part, graph) for part in graph.splits["train"].split(size)], batch_size=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scorer": "rotat"}, "model.scorer: 'rotat' is not one of transe, distmult, complex, rotate"),
        ({"dim": 0}, "model.dim: 0 is out of range, must be >0"),
        ({"adversarial_temperature": -1.0}, "model.adversarial_temperature: -1.0 is out of range, must be >0"),
        ({"num_negatives": 0}, "model.num_negatives: 0 is out of range, must be >0"),
        ({"p": 3}, "model.p: 3 is not one of 1, 2"),
    ],
)
def test_what_no_model_can_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        KGEClient(**options)


@every_scorer
def test_an_entity_starts_alike_at_all_clients_and_a_relation_does_not(scorer: str) -> None:
    other = RowIndex(torch.tensor([0, 3, 11]), *torch.ones(2, 3, dtype=torch.bool))
    a, b = client("a", scorer=scorer), client("b", other, scorer=scorer)
    assert torch.equal(a.entity[[1, 3]], b.entity[1:])
    assert not torch.equal(a.entity[0], b.entity[0])
    assert not torch.equal(a.relation, b.relation)
    bound = 12.0 / 4
    for table in (a.entity, a.relation):
        assert 0.5 * bound < table.abs().max() <= bound
    assert torch.equal(client("a", scorer=scorer).relation, a.relation)
    assert not torch.equal(client("a", scorer=scorer, seed=6).entity, a.entity)


def test_only_uploaded_entity_rows_leave_the_client() -> None:
    module = client()
    assert list(module.shared_state()) == ["entity"]
    part = module.shared_state()["entity"]
    assert isinstance(part, RowTable)
    assert part.ids.tolist() == [2, 7]
    assert torch.equal(part.rows, module.entity[[0, 2]])
    assert not part.rows.requires_grad
    assert sorted(module.state_dict()) == ["entity", "relation"]


def test_received_rows_land_in_their_places_and_others_stay() -> None:
    module = client()
    before = module.entity.detach().clone()
    rows = torch.arange(12.0).view(3, 4)
    module.load_shared_state({"entity": RowTable(IDS[:3], rows)})
    assert torch.equal(module.entity[:3], rows)
    assert torch.equal(module.entity[3], before[3])
    assert module.reference_state()["entity"] is module.entity


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"entity": RowTable(IDS[:2], torch.zeros(2, 4))}, "client a: entity downloads 3 rows, the server sent 2"),
        ({"relation": torch.zeros(3, 4)}, r"client a: expected rows of \['entity'\], got part 'relation'"),
    ],
)
def test_a_wrong_payload_is_refused(part: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        client().load_shared_state(part)


def test_shared_relations_start_alike_and_travel() -> None:
    relations = RowIndex(torch.tensor([1, 4]), *torch.ones(2, 2, dtype=torch.bool))
    others = RowIndex(torch.tensor([4]), *torch.ones(2, 1, dtype=torch.bool))
    a, b = client("a", relations=relations), client("b", relations=others)
    assert torch.equal(a.relation[1], b.relation[0])
    part = a.shared_state()["relation"]
    assert isinstance(part, RowTable)
    assert part.ids.tolist() == [1, 4]
    a.load_shared_state({"relation": RowTable(part.ids, torch.zeros(2, 4))})
    assert not a.relation.any()


@pytest.mark.parametrize(("corruption", "sides"), [("both", ["tail", "head", "tail"]), ("tail", ["tail"] * 3)])
def test_corruption_alternates_or_stays(corruption: str, sides: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen, sample = [], NegativeSampler.sample

    def record(self: NegativeSampler, triples: Any, graph: Any, side: Any) -> Any:
        seen.append(side)
        return sample(self, triples, graph, side)

    monkeypatch.setattr(NegativeSampler, "sample", record)
    graph = random_graph()
    module = trained_on(graph, corruption=corruption)
    for number in range(3):
        module.training_step(TripleBatch(graph.splits["train"], graph), number)
    assert seen == sides


@every_scorer
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_it_learns_in_a_plain_trainer(scorer: str, precision: Any) -> None:
    graph = random_graph()
    module = trained_on(graph, scorer=scorer, optimizer=lambda p: torch.optim.Adam(p, lr=0.05))
    batch = TripleBatch(graph.splits["train"], graph)
    before = loss_of(module, batch)
    options = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_epochs=10, accelerator="cpu", precision=precision, **options)  # type: ignore[arg-type]
    trainer.fit(module, batches(graph))
    assert loss_of(module, batch) < 0.8 * before
    assert "train/loss" in trainer.logged_metrics


def loss_of(module: KGEClient, batch: TripleBatch) -> float:
    module._trainer = None
    torch.manual_seed(0)
    with torch.no_grad():
        return float(module.training_step(batch, 0)["loss"])


def test_under_fabrics_mixed_precision_the_step_equals_full_precision() -> None:
    graph, results = random_graph(), []
    for precision in ("32-true", "bf16-mixed"):
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
        module = trained_on(graph, scorer="complex")
        wrapped = fabric.setup_module(module)
        wrapped.mark_forward_method("training_step")
        torch.manual_seed(1)
        outputs = wrapped.training_step(TripleBatch(graph.splits["train"], graph), 0)
        fabric.backward(outputs["loss"])
        results.append((outputs, module.entity.grad))
    torch.testing.assert_close(results[0][1], results[1][1])
    assert set(results[0][0]["terms"]) == {"positive", "negative"}
    assert results[0][0]["batch_size"] == len(graph.splits["train"])


@every_scorer
def test_rows_without_a_training_triple_are_never_trained(scorer: str) -> None:
    graph = random_graph()
    rare = graph.splits["train"][:, [0, 2]] == 7
    graph.splits = {**graph.splits, "train": graph.splits["train"][~rare.any(1)], "test": torch.tensor([[7, 0, 3]])}
    module = trained_on(graph, scorer=scorer)
    before = module.entity.detach().clone()
    optimizer = module.configure_optimizers()
    for number in range(6):
        optimizer.zero_grad()
        module.training_step(TripleBatch(graph.splits["train"], graph), number)["loss"].backward()
        optimizer.step()
    moved = (module.entity != before).any(1)
    assert moved.nonzero().view(-1).tolist() == graph.train_entities().tolist()
    assert not moved[7]


def test_the_loss_is_half_of_its_terms() -> None:
    graph = random_graph()
    outputs = trained_on(graph).training_step(TripleBatch(graph.splits["train"], graph), 0)
    terms = outputs["terms"]
    assert outputs["loss"].item() == pytest.approx(0.5 * (terms["positive"] + terms["negative"]).item())
    assert outputs["loss"].requires_grad
    assert not terms["positive"].requires_grad


def test_the_default_optimizer_is_adam_and_another_may_be_given() -> None:
    adam = client().configure_optimizers()
    assert isinstance(adam, torch.optim.Adam)
    assert adam.defaults["lr"] == 1e-3
    assert isinstance(client(optimizer=lambda p: torch.optim.SGD(p, lr=1.0)).configure_optimizers(), torch.optim.SGD)


def test_a_trained_client_keeps_no_scratch_memory_or_data() -> None:
    graph = random_graph(entities=2000, triples=4000)
    module = trained_on(graph, optimizer=torch.optim.Adam)
    module.training_step(TripleBatch(graph.splits["train"][:64], graph), 0)["loss"].backward()
    module.zero_grad()
    tables = sum(tensor.nbytes for tensor in (*module.parameters(), *module.buffers()))
    assert len(pickle.dumps(copy.deepcopy(module))) < 1.2 * tables + 20_000


@pytest.mark.gpu
@every_scorer
def test_a_step_on_a_gpu(scorer: str) -> None:
    graph = random_graph()
    module = trained_on(graph, scorer=scorer).cuda()
    batch = TripleBatch(graph.splits["train"], graph).to("cuda")
    optimizer = module.configure_optimizers()
    before = loss_of(module, batch)
    for number in range(60):
        optimizer.zero_grad()
        module.training_step(batch, number)["loss"].backward()
        optimizer.step()
    assert loss_of(module, batch) < before
    part = module.shared_state()["entity"]
    assert isinstance(part, RowTable)
    assert part.rows.is_cuda
    assert part.ids.is_cuda
