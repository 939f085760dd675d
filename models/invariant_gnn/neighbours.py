"""Sums over neighbours and products along edges, without a vector per edge in memory.

Both are products with one sparse symmetric matrix, and each is the other's gradient: with W the matrix of edge weights,
the gradient of ``W x`` by x is ``W g``, that by the weight of an edge uv is ``g_u . x_v + g_v . x_u``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the first such tensor of a process warns that they are in beta
    torch.sparse_csr_tensor(torch.zeros(1), torch.zeros(0), torch.zeros(0), (0, 0), check_invariants=False)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Undirected edges as the rows of a symmetric sparse matrix (CSR), each edge twice.

    Shapes:
        row_ptr: ``[n + 1]`` int32: the entries of node v are ``row_ptr[v]`` up to ``row_ptr[v + 1]``.
        column: ``[2m]`` int32, the neighbour of each entry.
        edge: ``[2m]`` int32, the undirected edge of each entry.
        place: ``[2, m]`` int32, where the two entries of each edge are, that of ``edges[1]`` first.
    """

    row_ptr: Tensor
    column: Tensor
    edge: Tensor
    place: Tensor

    @classmethod
    def of(cls, edges: Tensor, num_nodes: int) -> Neighbours:
        """From ``edges [2, m]``, each once and without self-loops, in any order."""
        count, ends = edges.shape[1], edges.int()
        order = ends.flip(0).flatten().argsort(stable=True)
        place = torch.empty_like(order, dtype=torch.int32)
        place[order] = torch.arange(2 * count, dtype=torch.int32, device=edges.device)
        row_ptr = ends.new_zeros(num_nodes + 1)
        row_ptr[1:] = torch.bincount(ends.flatten(), minlength=num_nodes).cumsum(0)
        edge = torch.where(order < count, order, order - count).int()
        return cls(row_ptr, ends.flatten()[order], edge, place.view(2, count))

    @property
    def num_nodes(self) -> int:
        """Nodes n."""
        return len(self.row_ptr) - 1

    def both(self, weight: Tensor) -> Tensor:
        """The weight ``[m]`` of each edge at both of its entries, ``[2m]``."""
        return _full(weight).index_select(0, self.edge)

    def sums(self, x: Tensor, values: Tensor) -> Tensor:
        """``sum_u w_uv x_u`` of each node v, ``[n, h]``; ``x [n, h]``, ``values [2m]`` as :meth:`both` gives them."""
        found: Tensor = _Sums.apply(_full(x), values, self)  # type: ignore[no-untyped-call]
        return found

    def dots(self, x: Tensor) -> Tensor:
        """``x_u . x_v`` of each edge, ``[m]``; ``x [n, h]``."""
        found: Tensor = _Dots.apply(_full(x), self)  # type: ignore[no-untyped-call]
        return found

    def multiply(self, values: Tensor, x: Tensor) -> Tensor:
        """:meth:`sums`, without a gradient."""
        with torch.autocast(x.device.type, enabled=False):
            found: Tensor = self._matrix(values) @ x
        return found

    def products(self, x: Tensor, y: Tensor) -> Tensor:
        """``x_v . y_u`` of each entry (v, u), ``[2m]``, without a gradient; both ``[n, h]``."""
        if not len(self.column):
            return x.new_zeros(0)
        pattern = self._matrix(x.new_zeros(len(self.column)))
        found: Tensor = torch.sparse.sampled_addmm(pattern, x, y.T, beta=0.0).values()
        return found

    def _matrix(self, values: Tensor) -> Tensor:
        shape = (self.num_nodes, self.num_nodes)
        return torch.sparse_csr_tensor(self.row_ptr, self.column, values, shape, check_invariants=False)


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        ctx.save_for_backward(x, values)
        return neighbours.multiply(values, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x, values), neighbours, grad = ctx.saved_tensors, ctx.neighbours, grad.contiguous()
        by_x = neighbours.multiply(values, grad) if ctx.needs_input_grad[0] else None
        by_values = neighbours.products(grad, x) if ctx.needs_input_grad[1] else None
        return by_x, by_values, None


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        ctx.save_for_backward(x)
        return neighbours.products(x, x).index_select(0, neighbours.place[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (x,), neighbours = ctx.saved_tensors, ctx.neighbours
        return neighbours.multiply(neighbours.both(grad), x), None


def _full(x: Tensor) -> Tensor:
    """Sums over many neighbours need more than half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
