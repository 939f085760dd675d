"""The cluster of each graph, as ``predict_step`` returns it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass  # not frozen: Fabric's output conversion refuses frozen ones
class GraphClusters:
    """Where B graphs belong, on the CPU.

    Shapes:
        index: ``[B]`` int64, position of the graph in the client's list.
        cluster: ``[B]`` int64.
        confidence: ``[B]`` in [0, 1]; ``1 - d_nearest / d_second`` of the distances to centres, or the posterior of a
            mixture.
        distance: ``[B]`` to the centre of the cluster.
    """

    index: Tensor
    cluster: Tensor
    confidence: Tensor
    distance: Tensor
