from __future__ import annotations

import pytest
import torch

from fedlight.datamodules.subgraph.splits import DEFAULT, check_fractions, draw_masks
from fedlight.errors import ConfigurationError


def draw(labels: torch.Tensor, fractions: tuple[float, float, float] = DEFAULT, seed: int = 0) -> dict[str, list[int]]:
    masks = draw_masks(labels, fractions, torch.Generator().manual_seed(seed))
    assert all(mask.dtype == torch.bool and mask.shape == labels.shape for mask in masks.values())
    return {split: mask.nonzero().flatten().tolist() for split, mask in masks.items()}


@pytest.mark.parametrize(("fractions", "counts"), [(DEFAULT, (2, 4, 4)), ((0.5, 0.25, 0.25), (5, 2.5, 2.5))])
def test_each_class_has_its_shares(fractions: tuple[float, float, float], counts: tuple[float, ...]) -> None:
    labels = torch.arange(10).repeat_interleave(10)
    parts = draw(labels, fractions)
    assert sorted(node for part in parts.values() for node in part) == list(range(100))
    for part, count in zip(parts.values(), counts, strict=True):
        found = torch.bincount(labels[part], minlength=10)
        assert bool((found - count).abs().lt(1).all())


def test_unlabelled_nodes_are_in_no_split() -> None:
    labels = torch.tensor([0, -1, 0, -1, 0, 0, 0])
    assert sorted(node for part in draw(labels).values() for node in part) == [0, 2, 4, 5, 6]
    assert draw(torch.full((3,), -1)) == {"train": [], "val": [], "test": []}
    assert draw(torch.empty(0, dtype=torch.int64)) == {"train": [], "val": [], "test": []}


def test_classes_of_one_node_train_as_often_as_the_share_says() -> None:
    # 1000 classes: 200 expected, standard deviation sqrt(1000 * 0.2 * 0.8) = 12.6
    assert 140 < len(draw(torch.arange(1000))["train"]) < 260


def test_the_draw_hangs_on_the_generator_alone() -> None:
    labels = torch.arange(40) % 3
    assert draw(labels) == draw(labels)
    assert draw(labels) != draw(labels, seed=1)


@pytest.mark.parametrize(
    "fractions", [(0.5, 0.5), (0.0, 0.5, 0.5), (0.5, 0.4, 0.2), (1.2, -0.1, -0.1), (float("nan"), 0, 1)]
)
def test_wrong_fractions_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"fractions: .* must be train, val, test shares"):
        check_fractions(fractions)
