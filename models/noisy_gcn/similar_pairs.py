"""The non-edges of highest cosine similarity, exactly and in blocks, or among approximate neighbours."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.errors import ConfigurationError

DECIMALS = 6
"""Similarities are rounded to so many before any comparison, so that ties do not hang on blocks or hardware."""
NEIGHBOURS = 30
"""Approximate neighbours looked at per node."""


def most_similar_non_edges(
    rows: Tensor, edges: Tensor, count: int, block_elements: int = 1 << 22, approximate: bool = False
) -> tuple[Tensor, Tensor]:
    """The ``count`` pairs u < v of highest cosine that are no edges, ties by (u, v) ascending.

    O(N^2 d) time, O(block + count) memory.

    Args:
        rows: ``[N, d]`` float64, unit or zero rows.
        edges: ``[E, 2]`` canonical.
        count: pairs wanted; fewer come back if there are fewer non-edges.
        block_elements: similarities held at once.
        approximate: only among each node's nearest neighbours as PyNNDescent finds them.

    Returns:
        Keys ``u * N + v`` and similarities (6 decimals), ``[Q]`` each, best first.
    """
    best = _Best(count, rows.device)
    if count and approximate:
        best.offer(*_neighbour_pairs(rows, edges, block_elements))
    elif count:
        for start, stop in _blocks(len(rows), block_elements):
            best.offer(*_block_pairs(rows, edges, start, stop, best.bar, count))
    return best.keys, best.values


class _Best:
    """The best pairs so far. Later pairs lose ties, so a full list takes only what is strictly better."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.count = count
        self.keys = torch.empty(0, dtype=torch.int64, device=device)
        self.values = torch.empty(0, dtype=torch.float64, device=device)

    @property
    def bar(self) -> float:
        """What a pair must exceed to be of interest."""
        return float(self.values[-1]) if len(self.values) == self.count else -torch.inf

    def offer(self, keys: Tensor, values: Tensor) -> None:
        """Take in pairs with ascending keys that come after all earlier ones."""
        values = torch.cat([self.values, values])
        order = values.argsort(descending=True, stable=True)[: self.count]
        self.keys, self.values = torch.cat([self.keys, keys])[order], values[order]


def _blocks(num_nodes: int, block_elements: int) -> list[tuple[int, int]]:
    """Ranges of rows whose similarities to all later nodes fit into a block."""
    blocks, start = [], 0
    while start < num_nodes - 1:
        stop = min(start + max(1, block_elements // (num_nodes - start)), num_nodes)
        blocks.append((start, stop))
        start = stop
    return blocks


def _block_pairs(rows: Tensor, edges: Tensor, start: int, stop: int, bar: float, count: int) -> tuple[Tensor, Tensor]:
    """Pairs with u in the block, v > u, no edge, similar enough to matter; ascending by (u, v)."""
    similarity = rows[start:stop] @ rows[start:].t()
    first, last = torch.searchsorted(
        edges[:, 0].contiguous(), torch.tensor([start, stop], device=edges.device)
    ).tolist()
    inside = edges[first:last] - start
    similarity[inside[:, 0], inside[:, 1]] = -torch.inf
    similarity.masked_fill_(torch.ones_like(similarity, dtype=torch.bool).tril_(), -torch.inf)
    floor = bar
    if bar == -torch.inf and similarity.numel() > count:
        floor = float(similarity.flatten().topk(count).values[-1])
    u, v = torch.nonzero(similarity > floor - 10.0**-DECIMALS, as_tuple=True)
    values = similarity[u, v].round(decimals=DECIMALS)
    better = values > bar
    return (u[better] + start) * len(rows) + v[better] + start, values[better]


def _neighbour_pairs(rows: Tensor, edges: Tensor, block_elements: int) -> tuple[Tensor, Tensor]:
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise ConfigurationError(
            "approximate similarity search needs PyNNDescent: pip install fedlight[ann], or choose the exact one"
        ) from None
    index = NNDescent(rows.float().cpu().numpy(), metric="cosine", n_neighbors=NEIGHBOURS + 1, random_state=0)
    found = torch.from_numpy(index.neighbor_graph[0].astype("int64")).to(rows.device)
    u = torch.arange(len(rows), device=rows.device)[:, None].expand_as(found)
    low, high = torch.minimum(u, found), torch.maximum(u, found)
    keys = torch.unique((low * len(rows) + high)[low < high])
    keys = keys[~contains(edge_keys(edges, len(rows)), keys)]
    blocks = keys.split(max(1, block_elements // max(rows.shape[1], 1)))
    values = [
        torch.linalg.vecdot(rows[block.div(len(rows), rounding_mode="floor")], rows[block % len(rows)])
        for block in blocks
    ]
    return keys, torch.cat(values).round(decimals=DECIMALS)
