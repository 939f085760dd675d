"""First values of embedding tables: the same for a global id at every client, without drawing the global table."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK_ROWS = 4096


def uniform_rows(ids: Tensor, width: int, bound: float, seed: int) -> Tensor:
    """Rows uniform in ``[-bound, bound)`` whose numbers hang on (seed, global id, column) and nothing else.

    A counter-based generator (the mixer of SplitMix64, Steele et al., OOPSLA 2014): memory grows with the client's
    own rows, and neither the number of clients nor their order matters.

    Args:
        ids: ``[n]`` int64 global ids.
        width: columns.
        bound: half of the range.
        seed: 63 bits.

    Returns:
        ``[n, width]`` float32.
    """
    columns = torch.arange(width)
    rows = torch.empty(len(ids), width)
    for start in range(0, len(ids), _BLOCK_ROWS):
        counter = ids[start : start + _BLOCK_ROWS, None] * width + columns
        # 24 bits are all that a float32 in [0, 1) holds; the half step makes the range symmetric.
        uniform = (_mixed(counter, seed) & 0xFFFFFF).float().add_(0.5).mul_(2.0**-23).sub_(1.0)
        rows[start : start + _BLOCK_ROWS] = uniform.mul_(bound)
    return rows


def _mixed(counter: Tensor, seed: int) -> Tensor:
    state = (counter + 1) * _signed(0x9E3779B97F4A7C15) + seed
    state = (state ^ _shifted(state, 30)) * _signed(0xBF58476D1CE4E5B9)
    state = (state ^ _shifted(state, 27)) * _signed(0x94D049BB133111EB)
    return state ^ _shifted(state, 31)


def _signed(constant: int) -> int:
    """The int64 with those 64 bits; its arithmetic wraps modulo 2^64."""
    return constant - (1 << 64) if constant >= 1 << 63 else constant


def _shifted(state: Tensor, bits: int) -> Tensor:
    """Right shift that fills with zeros."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)
