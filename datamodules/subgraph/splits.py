"""Which nodes train, validate and test: drawn per client and class, or as the data say."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedlight.errors import ConfigurationError

Fractions = tuple[float, float, float]
DEFAULT: Fractions = (0.2, 0.4, 0.4)


def check_fractions(fractions: Sequence[float]) -> Fractions:
    """Return the shares of train, val and test.

    Raises:
        ConfigurationError: when they are not three numbers >= 0 that add up to 1, with some share for train.
    """
    shares = tuple(float(share) for share in fractions)
    if len(shares) != 3 or not min(shares) >= 0 or shares[0] == 0 or abs(sum(shares) - 1) > 1e-6:
        raise ConfigurationError(f"fractions: {list(shares)} must be train, val, test shares that add up to 1")
    return shares[0], shares[1], shares[2]


def draw_masks(labels: Tensor, fractions: Fractions, generator: torch.Generator) -> dict[str, Tensor]:
    """Divide the labelled nodes, class by class (METHODS 2.0).

    Within a class, node r of n in random order stands at (r + u) / n for one u drawn per class; the shares cut [0, 1)
    into splits. So each split has its share of the class up to one node, exactly its share where that is whole, and a
    class of one node trains with the probability of the training share. Unlabelled nodes are in no split.

    Args:
        labels: ``[N]`` int64, -1 where unknown.
        fractions: shares of train, val and test.
        generator: of the draw.

    Returns:
        ``[N]`` bool for each split.
    """
    order = torch.randperm(len(labels), generator=generator)
    order = order[labels[order].argsort(stable=True)]
    kind = labels[order] + 1
    sizes = torch.bincount(kind, minlength=1)
    first = sizes.cumsum(0) - sizes
    offset = torch.rand(len(sizes), generator=generator, dtype=torch.float64)
    position = (torch.arange(len(labels)) - first[kind] + offset[kind]) / sizes[kind]
    train_end, val_end = fractions[0], fractions[0] + fractions[1]
    parts = {
        "train": position < train_end,
        "val": (position >= train_end) & (position < val_end),
        "test": position >= val_end,
    }
    masks = {split: torch.zeros(len(labels), dtype=torch.bool) for split in parts}
    for split, part in parts.items():
        masks[split][order] = part & (kind > 0)
    return masks
