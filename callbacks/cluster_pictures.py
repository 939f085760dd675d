"""Pictures of clusters: embeddings in a plane, and the affinity of all clients' clusters."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from fedlight.metrics.clustering import IntArray, match_classes

# The strong colours of tab20, then the pale ones; grey is for what has no class.
GREY = 14
COLOURS = np.array([place for place in (*range(0, 20, 2), *range(1, 20, 2)) if place // 2 != GREY // 2])


def as_classes(cluster: Tensor, classes: Tensor) -> IntArray:
    """Number clusters as the classes that they stand for, and those that stand for none after all classes, ``[n]``.

    Shapes: ``cluster [n]``; ``classes [n]`` with -1 for an unknown one.
    """
    names, place = np.unique(cluster.numpy(), return_inverse=True)
    known = (classes >= 0).numpy()
    number = np.full(len(names), -1)
    if known.any():
        number[place[known]] = match_classes(place[known], classes.numpy()[known])
    free = np.flatnonzero(number < 0)
    number[free] = int(classes.max()) + 1 + np.arange(len(free))
    numbers: IntArray = number[place]
    return numbers


def embedding_picture(zbar: Tensor, cluster: Tensor, classes: Tensor, name: str) -> Figure:
    """Two main directions of the invariant embeddings, coloured by cluster and, where known, by class.

    A cluster has the colour of the class that it stands for (V1); graphs of unknown class are grey.

    Shapes: ``zbar [n, p]``, ``cluster [n]``, ``classes [n]`` with -1 for an unknown one.
    """
    from sklearn.decomposition import PCA

    values = zbar.double().numpy()
    with np.errstate(invalid="ignore"):  # points that are all equal have no variance to take shares of
        flat = PCA(min(2, *values.shape), random_state=0).fit_transform(values) if len(values) > 1 else values[:, :2]
    columns = np.column_stack([flat, np.zeros((len(flat), 2))])[:, :2]
    known = bool((classes >= 0).any())
    panels = [("cluster", as_classes(cluster, classes))] + [("class", classes.numpy())] * known
    figure = Figure(figsize=(4 * len(panels), 4))
    for axes, (title, numbers) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        colours = matplotlib.colormaps["tab20"](np.where(numbers < 0, GREY, COLOURS[numbers % len(COLOURS)]))
        axes.scatter(*columns.T, color=colours, s=10)
        axes.set_title(f"{name}: {title}")
    return figure


def affinity_map(affinity: Tensor, names: Sequence[str]) -> Figure:
    """Heat map of S between P clusters, ``[P, P]`` with NaN for pairs never seen together; black lines part clients.

    Args:
        affinity: rows and columns in one order.
        names: of the cluster's owner, for each of P.
    """
    side = 2.5 + 0.25 * len(names)
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(affinity.numpy(), vmin=0.0, vmax=1.0, cmap=matplotlib.colormaps["viridis"])
    owners, first, sizes = np.unique(np.asarray(names, dtype=np.str_), return_index=True, return_counts=True)
    axes.set_xticks(first + (sizes - 1) / 2, owners, rotation=45, ha="right")
    axes.set_yticks(first + (sizes - 1) / 2, owners)
    for start in first[first > 0]:
        axes.axhline(start - 0.5, color="black", linewidth=0.8)
        axes.axvline(start - 0.5, color="black", linewidth=0.8)
    figure.colorbar(image, ax=axes, label="affinity S")
    return figure


def by_owner(owner: Tensor, number: Tensor) -> Tensor:
    """The order of clusters that puts each client's together, ``[P]``."""
    order = number.argsort(stable=True)
    return order[torch.argsort(owner[order], stable=True)]
