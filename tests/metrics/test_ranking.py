import json
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlight.metrics import RankingMetrics, Ranks, tied_ranks
from tests.shared_data import shared

NAN = float("nan")


def ranks_of(optimistic: list[int], pessimistic: list[int] | None = None, candidates: int = 100) -> Ranks:
    first = torch.tensor(optimistic)
    return Ranks(first, first if pessimistic is None else torch.tensor(pessimistic), torch.full_like(first, candidates))


def metrics_of(*parts: Ranks) -> dict[str, float]:
    metrics = RankingMetrics()
    for part in parts:
        metrics.update(part)
    return metrics.compute()


def rank_one(scores: list[float], target: int, filtered: list[int] | tuple[int, ...] = ()) -> Ranks:
    row = torch.tensor([scores])
    value = row[:, target].clone()
    row[0, [target, *filtered]] = NAN
    return tied_ranks(row, value, torch.tensor([len(scores) - len(filtered)]))


def test_worked_example() -> None:
    """The numbers of the golden case fedltailor/ranking."""
    scores = [0.9, 0.4, 0.9, 0.7, 0.95, 0.1]
    first, second = rank_one(scores, 2, [4]), rank_one(scores, 3, [0, 2])
    assert (first.optimistic.item(), first.pessimistic.item(), first.realistic.item()) == (1, 2, 1.5)
    assert (second.optimistic.item(), second.pessimistic.item(), second.realistic.item()) == (2, 2, 2.0)
    found = metrics_of(first, second)
    assert found["mrr"] == pytest.approx(0.5833333333333333, abs=1e-9)
    assert found["hits@1"] == 0.0
    assert found["hits@3"] == 1.0


def test_boundaries_of_hits() -> None:
    case = json.loads(shared("cases", "C03", "scores.json").read_text())
    ranks = [rank_one(query["scores"], query["target"]) for query in case["queries"]]
    assert Ranks.cat(ranks).optimistic.tolist() == [1, 10, 11, 12]
    found = metrics_of(*ranks)
    for name in ("mrr", "hits@1", "hits@3", "hits@10"):
        assert found[name] == pytest.approx(case["expected"][name], abs=1e-12)


def test_hits_count_ranks_up_to_and_including_k() -> None:
    found = metrics_of(ranks_of([1, 3, 4, 10, 11]))
    assert [found[f"hits@{k}"] for k in (1, 3, 10)] == [0.2, 0.4, 0.8]
    assert found["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 4 + 1 / 10 + 1 / 11) / 5)


def test_constant_scores_do_not_look_good() -> None:
    found = metrics_of(rank_one([0.0] * 4, 2))
    assert found["mrr"] == 0.4
    assert (found["mrr_optimistic"], found["mrr_pessimistic"]) == (1.0, 0.25)


@pytest.mark.parametrize(
    ("scores", "expected"), [([NAN, 1.0, 2.0], (3, 3)), ([1.0, NAN, NAN], (1, 1)), ([NAN] * 3, (3, 3))]
)
def test_nan_ranks_last_under_every_rule(scores: list[float], expected: tuple[int, int]) -> None:
    ranks = rank_one(scores, 0)
    assert (ranks.optimistic.item(), ranks.pessimistic.item()) == expected


def test_infinite_scores_are_ordinary() -> None:
    inf = float("inf")
    assert rank_one([-inf, 1.0, -inf], 0).pessimistic.item() == 3
    assert rank_one([inf, 1.0, inf], 0).realistic.item() == 1.5


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=12), st.data())
def test_same_as_sorting_by_hand(scores: list[int], data: st.DataObject) -> None:
    target = data.draw(st.integers(0, len(scores) - 1))
    filtered = data.draw(st.sets(st.integers(0, len(scores) - 1).filter(lambda i: i != target)))
    rivals = [score for i, score in enumerate(scores) if i != target and i not in filtered]
    ranks = rank_one([float(score) for score in scores], target, sorted(filtered))
    assert ranks.optimistic.item() == 1 + sum(rival > scores[target] for rival in rivals)
    assert ranks.pessimistic.item() == 1 + sum(rival >= scores[target] for rival in rivals)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_counts_in_every_precision(dtype: torch.dtype) -> None:
    scores = torch.zeros(2, 3000, dtype=dtype)
    ranks = tied_ranks(scores, scores.new_tensor([0.0, -1.0]), torch.tensor([3001, 3001]))
    assert ranks.optimistic.tolist() == [1, 3001]
    assert ranks.pessimistic.tolist() == [3001, 3001]


def test_nothing_scored_gives_no_metric() -> None:
    none = torch.empty(0, dtype=torch.int64)
    assert metrics_of(Ranks(none, none, none)) == {}


def test_updates_add_up_and_state_survives() -> None:
    first, second = ranks_of([1, 2, 7], [3, 2, 9]), ranks_of([4])
    metrics = RankingMetrics()
    metrics.update(first)
    metrics = pickle.loads(pickle.dumps(metrics))
    metrics.update(second)
    assert metrics.compute() == pytest.approx(metrics_of(Ranks.cat([first, second])))
    assert not metrics.state_dict()
    metrics.reset()
    metrics.update(second)
    assert metrics.compute() == metrics_of(second)


def test_merging_two_processes() -> None:
    whole = ranks_of([1, 5, 20])
    metrics = [RankingMetrics(), RankingMetrics()]
    metrics[0].update(ranks_of([1]))
    metrics[1].update(ranks_of([5, 20]))
    gathered: list[Tensor] = []
    for name in ("count", "sums"):
        assert metrics[0]._reductions[name] is not None
        gathered.append(sum(getattr(metric, name) for metric in metrics))
    merged = RankingMetrics()
    merged.count, merged.sums = gathered
    merged._update_count = 1
    assert merged.compute() == pytest.approx(metrics_of(whole))


def test_trivial_hits_are_named() -> None:
    metrics = RankingMetrics()
    assert metrics.trivial_hits == []
    metrics.update(ranks_of([1, 2], candidates=3))
    assert metrics.trivial_hits == [3, 10]
