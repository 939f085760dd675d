"""Names of clusters over rounds."""

from __future__ import annotations

import torch

from fedlight.clustering.kmeans import lloyd
from fedlight.clustering.matching import naming
from tests.clustering.points import BLOBS, TRUE


def test_separated_blobs_are_found_and_kept_under_their_old_names() -> None:
    for seed in range(5):
        found = lloyd(BLOBS, 3, seed)
        assert torch.equal(naming(TRUE, found, 3)[found], TRUE)


def test_names_go_by_members_and_unknown_points_have_no_say() -> None:
    previous = torch.tensor([2, 2, 0, 0, 1, -1, -1])
    labels = torch.tensor([0, 0, 1, 1, 2, 1, 1])
    names = naming(previous, labels, 3)
    assert names.tolist() == [2, 0, 1]
    assert sorted(naming(torch.full((4,), -1), torch.tensor([0, 1, 2, 0]), 3).tolist()) == [0, 1, 2]
