"""What every client module keeps, whoever wrote it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedlight.aggregators import FedAvg
from fedlight.client import ClientModule, ClientSpec
from fedlight.data import FederatedDataModule
from fedlight.errors import ConfigurationError, FederationError
from fedlight.streams import Streams
from fedlight.tables import Part, RowTable, SharedState, clone, tensor_of
from fedlight.testing.checks import Check, all_checks, require
from fedlight.trainer import FederatedTrainer


@dataclass(frozen=True)
class ClientCase:
    """A client module to be checked.

    Args:
        model: builds the prototype. data: builds small data for it; rules run on all clients that train.
    """

    model: Callable[[], ClientModule]
    data: Callable[[], FederatedDataModule]

    def built(self, seed: int = 0) -> Iterator[tuple[ClientSpec, ClientModule, FederatedDataModule]]:
        """Each client that has training examples, new."""
        data = self.data()
        data.prepare_data()
        data.setup("fit")
        for spec in data.clients:
            if spec.num_examples.get("train", 0):
                yield spec, self.model().for_client(spec, seed), data


def client_checks(cases: Mapping[str, ClientCase]) -> list[Check[ClientCase]]:
    """The contract of a client module, as a list of checks to be called, best one test each.

    >>> from fedlight.testing.boring import BoringClient, BoringData
    >>> for check in client_checks({"mine": ClientCase(BoringClient, BoringData)}):
    ...     check()  # doctest: +SKIP
    """
    return all_checks(RULES, cases)


def a_prototype_has_no_parameters(case: ClientCase) -> None:
    """It holds hyper-parameters only, also after clients were made from it, and its identity is plain."""
    prototype = case.model()
    for spec in [spec for spec, _, _ in case.built()]:
        prototype.for_client(spec, 0)
    require(not list(prototype.parameters()) and prototype.spec is None, "the prototype was built")
    require(json.loads(json.dumps(prototype.identity())) == prototype.identity(), "identity() is not plain values")


def the_start_hangs_on_the_seed_alone(case: ClientCase) -> None:
    """Not on global generators; another seed gives another start."""
    with Streams(1).seeded("first"):
        first = {spec.name: clone(module.state_dict()) for spec, module, _ in case.built()}
    with Streams(2).seeded("second"):
        again = {spec.name: clone(module.state_dict()) for spec, module, _ in case.built()}
        other = {spec.name: clone(module.state_dict()) for spec, module, _ in case.built(seed=1)}
    for name in first:
        require(_equal(first[name], again[name]), f"client {name} starts from the global generator")
        require(not _equal(first[name], other[name]), f"client {name} starts alike with every seed")


def what_is_shared_starts_alike(case: ClientCase) -> None:
    """The same dense parts at all clients, and the same rows of tables for the same ids."""
    dense: dict[str, Tensor] = {}
    rows: dict[tuple[str, int], Tensor] = {}
    for spec, module, _ in case.built():
        for name, part in module.shared_state().items():
            if isinstance(part, RowTable):
                for number, row in zip(part.ids.tolist(), part.rows, strict=True):
                    same = torch.equal(rows.setdefault((name, number), row), row)
                    require(same, f"row {number} of {name!r} starts otherwise at client {spec.name}")
            else:
                same = torch.equal(dense.setdefault(name, part), part)
                require(same, f"{name!r} starts otherwise at client {spec.name}")


def the_shared_state_is_free_of_gradients_and_fits_the_rows(case: ClientCase) -> None:
    """Tables hold the rows that the spec says are sent."""
    for spec, module, _ in case.built():
        for name, part in module.shared_state().items():
            require("@" not in name, f"part {name!r}: '@' is kept for what objectives send")
            require(not tensor_of(part).requires_grad, f"part {name!r} carries a gradient")
            if isinstance(part, RowTable):
                index = spec.rows[name]
                require(torch.equal(part.ids, index.ids[index.upload]), f"{name!r} holds other rows than its spec")


def what_was_sent_is_taken_in(case: ClientCase) -> None:
    """All parts at once, or each alone, which leaves the others as they are."""
    for spec, module, _ in case.built():
        generator = Streams(0).generator("sent", spec.name)
        sent = {name: _sent(spec, name, part, generator) for name, part in module.shared_state().items()}
        module.load_shared_state(sent)
        _require_taken(spec, module, sent)
        for name, part in module.shared_state().items():
            before = clone(module.shared_state())
            alone = _sent(spec, name, part, generator)
            module.load_shared_state({name: alone})
            _require_taken(spec, module, {name: alone})
            after = module.shared_state()
            others = all(torch.equal(tensor_of(after[n]), tensor_of(before[n])) for n in after if n != name)
            require(others, f"loading {name!r} changed another part")


def references_are_live_parameters(case: ClientCase) -> None:
    """Objectives see the tensors that are trained, under the names that the module has for them."""
    for _, module, _ in case.built():
        own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        for name, tensor in module.reference_state().items():
            require(name in own and own[name].data_ptr() == tensor.data_ptr(), f"{name!r} is not the parameter itself")


def a_training_step_gives_a_loss_to_follow(case: ClientCase) -> None:
    """A finite scalar with a gradient for some parameter, and the number of examples it is the mean of."""
    for spec, module, data in case.built():
        module.train()
        batch = next(iter(data.client(spec.client_id).train_dataloader()))
        with Streams(0).seeded("step", spec.name):
            outputs = module.training_step(batch, 0)
        loss = outputs["loss"]
        require(loss.shape == () and bool(torch.isfinite(loss)), f"client {spec.name}: the loss is {loss}")
        require(int(outputs["batch_size"]) > 0, f"client {spec.name}: batch_size is {outputs['batch_size']}")
        loss.backward()
        require(any(p.grad is not None for p in module.parameters()), f"client {spec.name}: no gradient")
        _check_representation(module, batch, outputs)


def a_round_runs_and_scores(case: ClientCase) -> None:
    """Reports are finite, what the clients log arrives, and they are the numbers of a second run."""
    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as root:
            trainer = FederatedTrainer(
                accelerator="cpu", max_rounds=1, aggregator=FedAvg(), default_root_dir=root, enable_progress_bar=False
            )
            try:
                result = trainer.fit(case.model(), case.data())
            except FederationError as error:
                raise AssertionError(f"no update could be used: {error}") from error
            require(not trainer.record.dropped, f"updates were dropped: {trainer.record.dropped}")
            found.append((result.validation, result.test))
    require(bool(found[0][0].get("all") or found[0][1].get("all")), "no metric was logged")
    require(found[0] == found[1], "a second run gives other metrics")


def _check_representation(module: ClientModule, batch: Any, outputs: Mapping[str, Any]) -> None:
    try:
        found = module.represent(batch)
    except ConfigurationError:
        require("representation" not in outputs, "training_step returns a representation that represent() lacks")
        return
    require(found.ndim == 2, f"represent() gives {list(found.shape)} instead of [n, d]")
    if "representation" in outputs:
        require(outputs["representation"].shape == found.shape, "represent() and training_step differ in shape")


def _sent(spec: ClientSpec, name: str, part: Part, generator: torch.Generator) -> Part:
    """What the server might send of a part: counters as they are, numbers drawn."""
    if isinstance(part, RowTable):
        ids = spec.rows[name].ids[spec.rows[name].download]
        return RowTable(ids, torch.randn(len(ids), part.rows.shape[1], generator=generator).to(part.rows))
    return torch.randn(part.shape, generator=generator).to(part) if part.is_floating_point() else part.clone()


def _require_taken(spec: ClientSpec, module: ClientModule, sent: SharedState) -> None:
    now = module.shared_state()
    for name, part in sent.items():
        mine = now[name]
        if isinstance(part, RowTable) and isinstance(mine, RowTable):
            common = torch.isin(mine.ids, part.ids), torch.isin(part.ids, mine.ids)
            taken = torch.equal(mine.rows[common[0]], part.rows[common[1]])
        else:
            taken = torch.equal(tensor_of(mine), tensor_of(part))
        require(taken, f"client {spec.name}: {name!r} is not what was sent")


def _equal(one: SharedState, other: SharedState) -> bool:
    return all(torch.equal(tensor_of(one[name]), tensor_of(other[name])) for name in one)


RULES: tuple[Callable[[ClientCase], None], ...] = (
    a_prototype_has_no_parameters,
    the_start_hangs_on_the_seed_alone,
    what_is_shared_starts_alike,
    the_shared_state_is_free_of_gradients_and_fits_the_rows,
    what_was_sent_is_taken_in,
    references_are_live_parameters,
    a_training_step_gives_a_loss_to_follow,
    a_round_runs_and_scores,
)
