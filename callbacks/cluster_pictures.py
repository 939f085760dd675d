"""Pictures of clusters: embeddings in a plane, and the affinity of all clients' clusters."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor


def embedding_picture(zbar: Tensor, cluster: Tensor, classes: Tensor, name: str) -> Figure:
    """Two main directions of the invariant embeddings, coloured by cluster and, where known, by class.

    Shapes: ``zbar [n, p]``, ``cluster [n]``, ``classes [n]`` with -1 for an unknown one.
    """
    from sklearn.decomposition import PCA

    values = zbar.double().numpy()
    flat = PCA(min(2, *values.shape), random_state=0).fit_transform(values) if len(values) > 1 else values[:, :2]
    columns = np.column_stack([flat, np.zeros((len(flat), 2))])[:, :2]
    panels = [("cluster", cluster)] + [("class", classes)] * bool((classes >= 0).any())
    figure = Figure(figsize=(4 * len(panels), 4))
    for axes, (title, colours) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.scatter(*columns.T, c=colours.numpy(), cmap="tab10", s=10)
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
