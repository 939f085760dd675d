"""What TensorBoard gets of a round's clusters: their sizes, embeddings in a plane, and the affinity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedlight.aggregators.common_knowledge import CommonKnowledge
from fedlight.callbacks.cluster_pictures import affinity_map, by_owner, embedding_picture
from fedlight.callbacks.clustered_graphs import ClusteredGraphs
from fedlight.names import safe_name

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

DRAWN = 3


def record_clusters(trainer: FederatedTrainer, seen: Mapping[int, ClusteredGraphs]) -> None:
    """Leave sizes and pictures in the trainer's record; collective, ``seen`` holds this process's clients by id.

    The first three clients' embeddings are drawn, and with ``CommonKnowledge`` the affinity of all clients' clusters.
    """
    names = {spec.client_id: spec.name for spec in trainer.federation.specs}
    sizes = trainer.federation.ranks.gather({k: each.clustering.sizes.tolist() for k, each in seen.items()})
    record = trainer.record
    for client, counts in sizes.items():
        tags = [f"clusters/size_{k}/{safe_name(names[client])}" for k in range(len(counts))]
        record.scalars.update(zip(tags, map(float, counts), strict=True))
    if not sizes:
        return
    points = {k: (seen[k].zbar, seen[k].cluster, seen[k].classes) for k in list(sizes)[:DRAWN] if k in seen}
    points = trainer.federation.ranks.gather(points)  # their owners may be other processes than the one that draws
    if not trainer.is_global_zero:
        return
    for client, drawn in points.items():
        figure = embedding_picture(*drawn, names[client])
        record.figures[f"embeddings/{safe_name(names[client])}"] = figure
    aggregator = trainer.federation.server.aggregator
    if isinstance(aggregator, CommonKnowledge) and len(aggregator.memory.owner):
        memory = aggregator.memory
        order = by_owner(memory.owner, memory.number)
        owners = [names[client] for client in memory.owner[order].tolist()]
        record.figures["clusters/affinity"] = affinity_map(memory.affinity[order][:, order], owners)
