"""The training benchmark: the plain step is the same task, and the pieces run."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from benchmarks import kge, kge_curve
from benchmarks.plain_kge import PlainKGEClient, draw, known_answers
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticTown
from fedlight.datamodules.knowledge_graph.triples import Side, TripleBatch
from fedlight.models.kge import KGEClient
from fedlight.models.kge.scorers import ScorerName
from tests.models.kge.test_client import trained_on
from tests.ranked import random_graph


@pytest.mark.parametrize("side", ["tail", "head"])
def test_plain_negatives_are_no_training_triples(side: Side) -> None:
    graph = random_graph()
    train = {tuple(triple) for triple in graph.splits["train"].tolist()}
    for h, r, t in list(train)[:10]:
        drawn = draw(known_answers(graph), side, (h, r, t), 40, np.arange(graph.num_entities))
        assert len(drawn) == 40
        assert not train & {((h, r, e) if side == "tail" else (e, r, t)) for e in drawn.tolist()}


@pytest.mark.parametrize("scorer", get_args(ScorerName))
@pytest.mark.parametrize("batch_idx", [0, 1])
def test_the_plain_step_has_the_loss_and_gradient_of_ours(scorer: ScorerName, batch_idx: int) -> None:
    graph, found = random_graph(entities=60), []
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    for kind in (KGEClient, PlainKGEClient):
        module = trained_on(graph, kind=kind, scorer=scorer, num_negatives=4000, negatives_chunk=1)
        outputs = module.training_step(TripleBatch(graph.splits["train"][:20], graph), batch_idx)
        outputs["loss"].backward()
        assert module.entity.grad is not None
        found.append((outputs["loss"].item(), module.entity.grad.flatten()))
    assert found[0][0] == pytest.approx(found[1][0], rel=0.05)
    assert torch.nn.functional.cosine_similarity(found[0][1], found[1][1], dim=0) > 0.97


def test_measures_training_speed() -> None:
    assert kge._measure(kge.Case("ours", "transe", random_graph(), steps=1)) > 0


def test_curves_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = KnowledgeGraphDataModule(SyntheticTown())
    curves = kge_curve.compare(data, 0.0, tmp_path, dim=8, num_negatives=8)
    assert {name: len(points) for name, points in curves.items()} == {"ours": 1, "plain": 1}
    assert all(points[0].seconds > 0 for points in curves.values())
    assert (tmp_path / "kge_curve.csv").read_text().splitlines()[0] == "step,cpu_seconds,val_mrr"
    assert (tmp_path / "kge_curve.png").stat().st_size > 0
    assert "validation MRR" in capsys.readouterr().out
