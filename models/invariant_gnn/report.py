"""What a client tells the server of its clusters, and what it tells its owner of the masks."""

from __future__ import annotations

import torch

from fedlight.client import Report
from fedlight.models.invariant_gnn.cluster_state import ClusterState
from fedlight.models.invariant_gnn.digest import (
    cluster_digests,
    digest_report,
    graph_profiles,
    kept_edges,
    node_roles,
    noisy,
)
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs

LOWEST_MEAN, LEAST_SPREAD = 0.05, 0.05
EQUAL_MASKS = (
    "the masks of all edges are nearly equal, so both parts of a graph tell much the same. That is usual and no "
    "failure; a lower mask_temperature spreads the masks a little"
)


def cluster_report(
    local: LocalGraphs, clusters: ClusterState, k_min: int, noise: float, generator: torch.Generator
) -> Report:
    """Prototypes, digests and sizes of the pseudo-clusters, released for ``k_min`` graphs or more (METHODS 3.5).

    Args:
        local: all graphs.
        clusters: their numbers and centres.
        k_min: smaller clusters are suppressed.
        noise: multiplier of the digests' noise, 0 for none.
        generator: of the noise.
    """
    graphs = local.graphs
    clustered = clusters.assignment[local.index]
    kept = kept_edges(local.edge_mask, graphs.edge_graph, graphs.num_graphs)
    edges = graphs.edges[:, kept].T
    f, q = graph_profiles(edges, node_roles(edges, graphs.num_nodes), graphs.graph_of, graphs.num_graphs)
    member = clustered >= 0
    digests = cluster_digests(f[member].cpu(), q[member].cpu(), clustered[member].cpu(), clusters.num_clusters)
    digests = noisy(digests, noise, generator) if noise else digests
    centers = clusters.centers[: clusters.num_clusters]
    return digest_report(torch.where(centers.isfinite(), centers, 0.0), digests, k_min)


def mask_warning(local: LocalGraphs) -> str | None:
    """Say when the masks separate nothing: means near 0 or 1, or all edges' masks alike."""
    mean, _ = local.attribute_mask
    found = [("attributes", mean)]
    if local.edge_mask.numel():
        found.append(("edges", float(local.edge_mask.mean())))
    for what, value in found:
        if value < LOWEST_MEAN or value > 1 - LOWEST_MEAN:  # not NaN: such an update is dropped, and told
            return f"the mean mask of {what} is {value:.3f}: nearly all is on one side; raise mask_budget"
    if local.edge_mask.numel() > 1 and float(local.edge_mask.std(correction=0)) < LEAST_SPREAD:
        return EQUAL_MASKS
    return None
