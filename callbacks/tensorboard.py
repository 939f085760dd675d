"""Writes a run's curves, mixing weights and costs for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter

from fedlight.callbacks.base import FederatedCallback
from fedlight.mixing import Mixing
from fedlight.names import safe_name

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class TensorBoardCurves(FederatedCallback):
    """One event file on rank 0.

    Scalars are tagged ``<split>/<metric>/<client>``, and a layout puts all clients of a metric under one chart. At
    each evaluation the mixing weights are drawn as a heat map. Further scalars: effective number of clients, bytes
    up and down, seconds per phase, the facts the server sent to each client, and what other callbacks left in the
    record's ``scalars`` and ``figures``.
    """

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._charts: set[tuple[str, str]] = set()

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Open the event file; a resumed run hides points it will write again."""
        if trainer.is_global_zero:
            self._writer = SummaryWriter(str(trainer.run_folder), purge_step=trainer.progress.round or None)

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Write everything of the round."""
        if self._writer is None:
            return
        with trainer.record.phase("log"):
            for split, scores in (("train", trainer.record.train), ("val", trainer.record.validation)):
                for client, metrics in scores.items():
                    for metric, value in metrics.items():
                        self._writer.add_scalar(f"{split}/{metric}/{safe_name(client)}", value, round_idx)
                        self._charts.add((split, metric))
            self._write_costs(trainer, round_idx)
            for tag, value in trainer.record.scalars.items():
                self._writer.add_scalar(tag, value, round_idx)
            for tag, figure in trainer.record.figures.items():
                self._writer.add_figure(tag, figure, round_idx)
            if trainer.record.mixing is not None:
                self._write_mixing(trainer, trainer.record.mixing, round_idx)

    def _write_costs(self, trainer: FederatedTrainer, round_idx: int) -> None:
        assert self._writer is not None
        record = trainer.record
        self._writer.add_scalar("federation/bytes_up", record.bytes_up, round_idx)
        if trainer.codec is not None:
            self._writer.add_scalar("federation/bytes_up_uncoded", record.bytes_up_uncoded, round_idx)
        self._writer.add_scalar("federation/bytes_down", record.bytes_down, round_idx)
        self._writer.add_scalar("federation/dropped", len(record.dropped), round_idx)
        for phase, seconds in record.seconds.items():
            self._writer.add_scalar(f"seconds/{phase}", seconds, round_idx)

    def _write_mixing(self, trainer: FederatedTrainer, mixing: Mixing, round_idx: int) -> None:
        assert self._writer is not None
        specs = trainer.federation.specs
        for group, effective in enumerate(mixing.effective_clients.tolist()):
            self._writer.add_scalar(f"federation/effective_clients/group_{group}", effective, round_idx)
        for client, facts in mixing.facts.items():
            for name, value in facts.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"facts/{name}/{safe_name(specs[client].name)}", value, round_idx)
        if trainer.record.validation and len(mixing.log_weights):
            names = [specs[c].name for c in mixing.participants]
            self._writer.add_figure("mixing/weights", heat_map(mixing, names), round_idx)

    def on_fit_end(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Add the layout."""
        if self._writer is None:
            return
        layout: dict[str, dict[str, list[Any]]] = {}
        for split, metric in sorted(self._charts):
            tags = [rf"^{split}/{metric}/.*$"]
            layout.setdefault(split, {})[metric] = ["Multiline", tags]
        self._writer.add_custom_scalars(layout)

    def teardown(self, trainer: FederatedTrainer, pl_module: Any, stage: str) -> None:  # type: ignore[override]
        """Close the file, also after a failure."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def heat_map(mixing: Mixing, names: list[str]) -> Figure:
    """Draw the weights: groups down, participants across."""
    weights = mixing.weights.numpy()
    figure = Figure(figsize=(1.5 + 0.6 * len(names), 1.5 + 0.4 * len(weights)), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(weights, vmin=0.0, vmax=max(float(weights.max()), 1e-9), cmap=matplotlib.colormaps["viridis"])
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(weights)), [f"group {g}" for g in range(len(weights))])
    figure.colorbar(image, ax=axes, label="weight")
    return figure
