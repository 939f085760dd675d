"""Short runs of the boring federation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedlight import EmbeddingContrast, FederatedTrainer, FedLTailor, FitResult
from tests.boring import BoringClient, BoringData


def trainer(root: Path, **options: Any) -> FederatedTrainer:
    """A trainer of FedLTailor for a few rounds on one CPU process."""
    defaults: dict[str, Any] = {
        "accelerator": "cpu",
        "max_rounds": 3,
        "local_epochs": 2,
        "aggregator": FedLTailor(),
        "objectives": [EmbeddingContrast()],
        "default_root_dir": str(root),
        "enable_progress_bar": False,
    }
    return FederatedTrainer(**{**defaults, **options})


def fit(root: Path, model: BoringClient | None = None, data: BoringData | None = None, **options: Any) -> FitResult:
    """Train, from a checkpoint if ``ckpt_path`` is among the options."""
    ckpt_path = options.pop("ckpt_path", None)
    chosen = (model or BoringClient(), data or BoringData())
    return trainer(root, **options).fit(*chosen, ckpt_path=ckpt_path)


def metrics(result: FitResult) -> str:
    """The run's metrics.csv, byte for byte."""
    return (result.run_folder / "metrics.csv").read_text()
