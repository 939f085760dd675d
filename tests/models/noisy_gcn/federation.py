"""A tiny federation of planted-block graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedlight import ClientSpec, FederatedDataModule, FederatedTrainer, FitResult
from fedlight.aggregators import NoiseAware
from fedlight.datamodules.subgraph import NodeClientData, NodeGraph
from fedlight.models.noisy_gcn import NoisyGraphClient
from tests.models.noisy_gcn.graphs import blocks

NAMES = ("a", "b", "c")


class BlockData(FederatedDataModule):
    """Three clients; the edges of ``b`` say nothing, and ``c`` has no training nodes if so asked."""

    def __init__(self, evaluation_only: bool = False, num_nodes: int = 60) -> None:
        super().__init__()
        graphs = [blocks(num_nodes, seed, *((0.1, 0.1) if seed == 1 else (0.25, 0.02))) for seed in range(3)]
        self.graphs: list[NodeGraph] = [replace(each, name=name) for each, name in zip(graphs, NAMES, strict=True)]
        if evaluation_only:
            masks = {**self.graphs[2].masks, "train": self.graphs[2].masks["train"] & False}
            self.graphs[2] = replace(self.graphs[2], masks=masks)

    @property
    def clients(self) -> Sequence[ClientSpec]:
        sizes = {"num_features": 8, "num_classes": 2, "num_nodes": self.graphs[0].num_nodes}
        counts = [{split: int(mask.sum()) for split, mask in graph.masks.items()} for graph in self.graphs]
        return [ClientSpec(k, graph.name, counts[k], sizes) for k, graph in enumerate(self.graphs)]

    def client(self, client_id: int) -> NodeClientData:
        return NodeClientData(self.graphs[client_id])


def fit(root: Path, model: NoisyGraphClient | None = None, data: BlockData | None = None, **options: Any) -> FitResult:
    """A short run on the CPU, resumed if ``ckpt_path`` is given."""
    ckpt_path = options.pop("ckpt_path", None)
    defaults: dict[str, Any] = {
        "accelerator": "cpu",
        "max_rounds": 4,
        "aggregator": NoiseAware(),
        "evaluate_on": "both",
        "default_root_dir": str(root),
        "enable_progress_bar": False,
    }
    trainer = FederatedTrainer(**{**defaults, **options})
    return trainer.fit(model or NoisyGraphClient(hidden=8), data or BlockData(), ckpt_path=ckpt_path)
