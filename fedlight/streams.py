"""Random streams by (seed, purpose, client, round), so that no result depends on execution order."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from lightning.pytorch.utilities.seed import isolate_rng


def root_seed() -> int:
    """The seed that ``seed_everything`` set for this process, 0 if none."""
    return int(os.environ.get("PL_GLOBAL_SEED", "0"))


@dataclass(frozen=True)
class Streams:
    """Independent random streams that hang on names, never on order.

    >>> streams = Streams(7)
    >>> streams.seed("train", "hospital_a", 3) == Streams(7).seed("train", "hospital_a", 3)
    True
    >>> streams.seed("train", "hospital_a", 3) == streams.seed("train", "hospital_b", 3)
    False
    """

    root: int

    def seed(self, purpose: str, client: str = "", round_idx: int = 0) -> int:
        """A 63-bit seed for one purpose of one client in one round."""
        text = f"{self.root}\x1f{purpose}\x1f{client}\x1f{round_idx}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def generator(self, purpose: str, client: str = "", round_idx: int = 0) -> torch.Generator:
        """A CPU generator of that stream."""
        return torch.Generator().manual_seed(self.seed(purpose, client, round_idx))

    @contextmanager
    def seeded(self, purpose: str, client: str = "", round_idx: int = 0) -> Iterator[None]:
        """Run a block with the global generators (Python, NumPy, torch, CUDA) on that stream; restore them after."""
        seed = self.seed(purpose, client, round_idx)
        with isolate_rng():
            random.seed(seed)
            np.random.seed(seed % 2**32)
            _seed_torch(seed)
            yield


def _seed_torch(seed: int) -> None:
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        torch.manual_seed(seed)
    else:  # ``torch.manual_seed`` keeps a stack trace for every kind of device that is absent: 2 ms a call, never freed
        torch.default_generator.manual_seed(seed)
