"""Reading the raw files of PyTorch Geometric's data sets without its dense, processed copies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch


class RawArrays(NamedTuple):
    """What a data set's raw files hold.

    Shapes:
        features: ``[N, f]`` dense or sparse; edges: ``[2, M]``; labels: ``[N]``; masks: ``<split>_mask`` of ``[N]`` or
        ``[N, S]``.
    """

    features: Any
    edges: torch.Tensor
    labels: torch.Tensor
    masks: Mapping[str, torch.Tensor]


def read_planetoid(files: Sequence[Path]) -> RawArrays:
    """Cora, CiteSeer, PubMed; parsed by PyG's own reader."""
    from torch_geometric.io import read_planetoid_data

    with warnings.catch_warnings():
        # The files are old pickles, and the reader adds a filter of its own.
        warnings.simplefilter("ignore")
        data = read_planetoid_data(str(files[0].parent), files[0].name.split(".")[1])
    masks = {key: data[key] for key in ("train_mask", "val_mask", "test_mask")}
    return RawArrays(data.x, data.edge_index, data.y, masks)


def read_gnn_benchmark(files: Sequence[Path]) -> RawArrays:
    """Coauthor and Amazon: two CSR matrices in one file; features are made binary, as PyG does."""
    with np.load(files[0], allow_pickle=False) as file:
        features, adjacency = (
            sp.csr_matrix((file[f"{key}_data"], file[f"{key}_indices"], file[f"{key}_indptr"]), file[f"{key}_shape"])
            for key in ("attr", "adj")
        )
        labels = torch.from_numpy(file["labels"]).to(torch.int64)
    features.data = np.where(features.data > 0, 1, features.data).astype(np.float32)
    features.eliminate_zeros()
    return RawArrays(features, torch.from_numpy(np.stack(adjacency.nonzero()).astype(np.int64)), labels, {})


def read_heterophilous(files: Sequence[Path]) -> RawArrays:
    """Roman-empire and its kin, with ten splits."""
    with np.load(files[0], allow_pickle=False) as file:
        masks = {f"{split}_mask": torch.from_numpy(file[f"{split}_masks"].T) for split in ("train", "val", "test")}
        edges = torch.from_numpy(file["edges"].T.astype(np.int64))
        return RawArrays(file["node_features"], edges, torch.from_numpy(file["node_labels"]).to(torch.int64), masks)


def read_actor(files: Sequence[Path]) -> RawArrays:
    """Actor, with ten splits: lists of the words on each actor's page."""
    nodes, edges, *splits = files
    number, words, label = np.loadtxt(nodes, dtype=str, delimiter="\t", skiprows=1).T
    order = np.argsort(number.astype(np.int64))
    counts = np.char.count(words[order], ",") + 1
    columns = np.array(",".join(words[order]).split(","), dtype=np.int64)
    rows = np.repeat(np.arange(len(order)), counts)
    features = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)))
    features.data[:] = 1
    loaded = [np.load(split, allow_pickle=False) for split in splits]
    masks = {key: torch.from_numpy(np.stack([each[key] for each in loaded], 1) != 0) for key in loaded[0].files}
    ends = torch.from_numpy(np.loadtxt(edges, dtype=np.int64, delimiter="\t", skiprows=1).T)
    return RawArrays(features, ends, torch.from_numpy(label[order].astype(np.int64)), masks)


class Collection(NamedTuple):
    """A class of PyG: its name there, that of the data set in it (``None``: it has one), and the reader."""

    class_name: str
    name: str | None
    read: Callable[[Sequence[Path]], RawArrays]


DATASETS = {
    **{name: Collection("Planetoid", name, read_planetoid) for name in ("Cora", "CiteSeer", "PubMed")},
    **{f"Coauthor-{name}": Collection("Coauthor", name, read_gnn_benchmark) for name in ("CS", "Physics")},
    **{f"Amazon-{name}": Collection("Amazon", name, read_gnn_benchmark) for name in ("Computers", "Photo")},
    "Actor": Collection("Actor", None, read_actor),
    **{
        name: Collection("HeterophilousGraphDataset", name, read_heterophilous)
        for name in ("Roman-empire", "Amazon-ratings", "Minesweeper", "Tolokers", "Questions")
    },
}
