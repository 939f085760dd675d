"""What holds for every partitioner."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from fedlight.datamodules.subgraph import LabelSkew, Louvain, Metis, Partitioner
from fedlight.datamodules.subgraph import partitioners as package
from fedlight.datamodules.subgraph.partitioners.base import check_assignment, check_enough
from fedlight.datamodules.subgraph.sources import SyntheticBlocks
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.subgraph.graphs import cliques
from tests.subclasses import concrete_classes

KINDS: list[type[Partitioner]] = [LabelSkew, Louvain, Metis]
BLOCKS = SyntheticBlocks(600).read()


def made(kind: type[Partitioner]) -> Partitioner:
    if kind is Metis:
        pytest.importorskip("pymetis")
    return kind()


def test_every_partitioner_is_tested() -> None:
    assert concrete_classes(package, Partitioner) == set(KINDS)  # type: ignore[type-abstract]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_clients", [1, 2, 7])
def test_every_node_has_one_client_and_every_client_nodes(kind: type[Partitioner], num_clients: int) -> None:
    owner = made(kind).assign(BLOCKS, num_clients, 5, seed=0)
    assert owner.shape == (600,) and owner.dtype == np.int64
    assert owner.min() == 0 and owner.max() == num_clients - 1
    assert np.bincount(owner).min() >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_the_draw_hangs_on_the_seed_alone(kind: type[Partitioner]) -> None:
    np_state, torch_state = str(np.random.get_state()), torch.get_rng_state()  # noqa: NPY002
    first = made(kind).assign(BLOCKS, 4, 1, seed=7)
    assert np.array_equal(first, made(kind).assign(BLOCKS, 4, 1, seed=7))
    assert np_state == str(np.random.get_state())  # noqa: NPY002
    assert torch.get_rng_state().equal(torch_state)
    assert not np.array_equal(first, made(kind).assign(BLOCKS, 4, 1, seed=8))


def test_metis_cuts_few_edges_between_equal_parts() -> None:
    owner = made(Metis).assign(cliques(20, 20, 20), 3, 1, seed=0)
    assert [len(set(part)) for part in np.split(owner, 3)] == [1, 1, 1]


def test_metis_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ConfigurationError, match=r"Metis needs the package pymetis; pip install 'fedlight\[metis\]'"):
        Metis().assign(BLOCKS, 2, 1, seed=0)


def test_a_short_client_is_refused() -> None:
    with pytest.raises(DataError, match="Louvain divides 3 nodes over 3 clients so that 1 have fewer than 1"):
        check_assignment(np.array([0, 0, 2]), 3, 1, Louvain())
    with pytest.raises(DataError, match=r"my\.npz: 9 nodes can't give 5 or more to each of 2 clients; lower num"):
        check_enough("my.npz", 9, 2, 5)
    check_enough("my.npz", 10, 2, 5)
