"""Separated points for tests of clusters."""

from __future__ import annotations

import torch

BLOBS = torch.cat([torch.randn(20, 3, generator=torch.Generator().manual_seed(k)) + 20 * k for k in range(3)])
TRUE = torch.arange(3).repeat_interleave(20)
