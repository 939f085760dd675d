"""Evaluation metrics: pure functions, and torchmetrics classes beside them."""

from fedlight.metrics.ranking import RankingMetrics, Ranks, tied_ranks

__all__ = ["RankingMetrics", "Ranks", "tied_ranks"]
