"""The parts used without a federation: the client in a plain ``lightning.Trainer``, the scorers and ranking alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticTown
from fedlight.models.kge import KGEClient
from fedlight.models.kge.scorers import ComplEx, DistMult, RotatE, Scorer, TransE
from fedlight.streams import Streams

QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


@pytest.fixture(scope="module")
def town() -> KnowledgeGraphDataModule:
    data = KnowledgeGraphDataModule(SyntheticTown(), batch_size=64)
    data.setup()
    return data


def client(town: KnowledgeGraphDataModule, number: int = 0, **options: Any) -> KGEClient:
    model = KGEClient(
        **{"dim": 16, "num_negatives": 32, "optimizer": lambda p: torch.optim.Adam(p, lr=0.02), **options}
    )
    return model.for_client(town.clients[number], seed=1)


def test_fit_validate_test_and_predict_in_a_plain_trainer(town: KnowledgeGraphDataModule, tmp_path: Path) -> None:
    module, data = client(town), town.client(0)
    trainer = lightning.Trainer(max_epochs=8, check_val_every_n_epoch=4, enable_checkpointing=False, **QUIET)
    (untrained,) = trainer.validate(module, data, verbose=False)
    trainer.fit(module, datamodule=data)
    (validated,) = trainer.validate(module, data, verbose=False)
    (tested,) = trainer.test(module, data, verbose=False)
    assert validated["val/mrr"] > 2 * untrained["val/mrr"]
    assert {f"test/hits@{k}" for k in (1, 3, 10)} < set(tested) and 0 < tested["test/mrr"] <= 1
    outputs = trainer.predict(module, datamodule=data)
    assert outputs is not None
    written = data.write_predictions(outputs, tmp_path)
    assert written.name == "clubs.tsv" and "\tmember_of\t" in written.read_text(encoding="utf-8")


def test_stock_callbacks_see_its_metrics(town: KnowledgeGraphDataModule, tmp_path: Path) -> None:
    best = ModelCheckpoint(tmp_path, monitor="val/mrr", mode="max", filename="best")
    callbacks = [best, EarlyStopping("val/mrr", mode="max", patience=3)]
    trainer = lightning.Trainer(max_epochs=2, callbacks=callbacks, default_root_dir=tmp_path, **QUIET)
    trainer.fit(client(town), datamodule=town.client(0))
    assert best.best_model_score is not None
    saved = torch.load(best.best_model_path, weights_only=True)["state_dict"]
    restored = client(town)
    restored.load_state_dict(saved)
    (scores,) = lightning.Trainer(**QUIET).validate(restored, town.client(0), verbose=False)
    assert scores["val/mrr"] == pytest.approx(float(best.best_model_score))


def test_a_prototype_says_what_it_needs(town: KnowledgeGraphDataModule) -> None:
    trainer = lightning.Trainer(max_epochs=1, enable_checkpointing=False, **QUIET)
    with pytest.raises(RuntimeError, match=r"KGEClient is a prototype: call for_client\(datamodule.clients\[k\]\)"):
        trainer.fit(KGEClient(), datamodule=town.client(0))


def test_the_trainer_builds_a_module_that_has_only_its_spec(town: KnowledgeGraphDataModule) -> None:
    module = KGEClient(dim=8, num_negatives=8)
    module.spec, module.seed = town.clients[1], 1
    trainer = lightning.Trainer(max_epochs=1, enable_checkpointing=False, limit_train_batches=1, **QUIET)
    trainer.fit(module, datamodule=town.client(1))
    assert module.entity.shape == (town.clients[1].sizes["num_entities"], 8)


@pytest.mark.parametrize("scorer", [TransE(4.0), DistMult(), ComplEx(), RotatE(4.0, 8)], ids=lambda s: type(s).__name__)
def test_a_scorer_trains_plain_embeddings(scorer: Scorer) -> None:
    generator = Streams(0).generator("test")
    entity, relation = (
        nn.Parameter(0.5 * torch.randn(count, width, generator=generator))
        for count, width in ((12, scorer.entity_width(8)), (2, scorer.relation_width(8)))
    )
    true = torch.tensor([(i, 0, 6 + i) for i in range(6)])
    optimizer = torch.optim.Adam([entity, relation], lr=0.05)
    for _ in range(60):
        scores = scorer.pairwise(scorer.tail_query(entity[true[:, 0]], relation[true[:, 1]]), entity)
        loss = nn.functional.cross_entropy(scores, true[:, 2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert bool((scores.argmax(1) == true[:, 2]).all())
