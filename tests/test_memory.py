"""Many clients in one process: memory grows with the clients' own data and with nothing else."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedlight import EmbeddingContrast, FederatedCallback, FederatedTrainer, FedLTailor
from fedlight.client import Report
from fedlight.datamodules.knowledge_graph import GraphSource, KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.local import LocalClient
from fedlight.models.kge import KGEClient

ENTITIES, TRIPLES, DIM = 12, 14, 16


class ManyVillages(GraphSource):
    """Clients of twelve entities each, drawn from a common pool."""

    def __init__(self, count: int, pool: int) -> None:
        self.count, self.pool = count, pool

    def names(self) -> Sequence[str]:
        return [f"village_{number:03d}" for number in range(self.count)]

    def read(self, name: str) -> LabelledGraph:
        rng = np.random.default_rng(int(name.rpartition("_")[2]))
        entities = [f"e{number}" for number in sorted(rng.choice(self.pool, ENTITIES, replace=False).tolist())]
        every = np.column_stack(
            [np.arange(TRIPLES) % ENTITIES, np.zeros(TRIPLES, int), rng.integers(ENTITIES, size=TRIPLES)]
        )
        splits = {"train": every[:12], "val": every[12:13], "test": every[13:]}
        return LabelledGraph(name, splits, entities, ["r"])


def tensor_bytes() -> int:
    """Bytes of all tensors that are alive."""
    gc.collect()
    tensors = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors}
    return sum(storages.values())


class Watch(FederatedCallback):
    """Notes the living tensors' bytes when all is built, in mid-round and at the end."""

    def __init__(self) -> None:
        self.built = self.python = self.ended = 0
        self.training: list[int] = []

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.built, self.python = tensor_bytes(), tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()

    def on_client_train_end(self, trainer: FederatedTrainer, client: LocalClient, report: Report) -> None:
        if trainer.current_round and client.spec.client_id % 100 == 99:
            self.training.append(tensor_bytes())

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.ended = tensor_bytes()


def run(root: Path, count: int, pool: int, rounds: int = 1) -> Watch:
    """Build and run a federation; bytes are counted from before its data are read."""
    before, watch = tensor_bytes(), Watch()
    tracemalloc.start()
    trainer = FederatedTrainer(
        accelerator="cpu",
        max_rounds=rounds,
        check_val_every_n_rounds=rounds,
        aggregator=FedLTailor(),
        objectives=[EmbeddingContrast()],
        callbacks=[watch],
        default_root_dir=str(root),
        enable_progress_bar=False,
    )
    trainer.fit(KGEClient(dim=DIM, num_negatives=4), KnowledgeGraphDataModule(ManyVillages(count, pool)))
    watch.built, watch.ended = watch.built - before, watch.ended - before
    watch.training = [each - before for each in watch.training]
    return watch


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """Twenty clients."""
    return run(tmp_path_factory.mktemp("few"), 20, pool=400)


def test_two_hundred_clients_take_what_their_data_take(few: Watch, tmp_path: Path) -> None:
    many = run(tmp_path, 200, pool=400, rounds=2)
    own = 4 * DIM * (ENTITIES + 1) + 8 * 3 * TRIPLES + 10 * ENTITIES + 10
    server = 4 * DIM * 400
    # Built: tables, triples and row numbers of each client, and the server's table.
    assert many.built < 2.5 * 200 * own + 2 * server
    # In mid-round: also indices and sieves of each client's triples, and one client's optimiser and gradients.
    assert len(many.training) == 2
    assert max(many.training) < 4 * 200 * own
    assert many.ended < 4 * 200 * own
    # What is no tensor: labels, lists of modules and loaders; about 20 kB a client.
    assert many.python < 200 * 40_000
    assert many.python / 200 < 1.5 * few.python / 20


def test_a_wide_federation_costs_its_clients_nothing(few: Watch, tmp_path: Path) -> None:
    wide = run(tmp_path, 20, pool=1_000_000)
    assert wide.built < 1.5 * few.built
    assert wide.ended < 1.5 * few.ended
