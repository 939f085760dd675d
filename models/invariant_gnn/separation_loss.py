"""The whole local loss of FGCN-DKS as named terms (METHODS 3.4, I5)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.models.invariant_gnn import losses, masks
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.network import Embedded
from fedlight.models.invariant_gnn.reconstruction import Reconstruction, attribute_error, structure_error


@dataclass(frozen=True)
class LossSettings:
    """Weights of the terms; a term of weight 0 is not computed.

    Args:
        invariance: of L_inv. diversity: beta, of L_div. environment: gamma, of L_env.
        separation: omega, of the second part of L_env. reconstruction: of L_mse.
        mask_budget, mask_target: of ``(mean mask - target)^2``. prototypes: of the distance to dispatched prototypes.
        assignment: of L_KL.
        reconstruct: at which pairs of nodes. scale_distances: divide squared distances by the embeddings' width.
    """

    invariance: float = 1.0
    diversity: float = 1.0
    environment: float = 0.5
    separation: float = 1.0
    reconstruction: float = 1.0
    mask_budget: float = 5.0
    mask_target: float = 0.5
    prototypes: float = 0.0
    assignment: float = 0.0
    reconstruct: Reconstruction = "sampled"
    scale_distances: bool = True


@dataclass(frozen=True)
class Targets:
    """What the client's clusters demand of a batch.

    Shapes:
        assignment: ``[G]`` int64 pseudo-clusters, -1 for none. prototypes: ``[K, p]`` as dispatched, infinite for none.
        centers: ``[K, p]`` the client's own, infinite for an empty cluster.
    """

    assignment: Tensor
    prototypes: Tensor
    centers: Tensor


def loss_terms(
    found: Embedded, graphs: Graphs, decoder: Tensor, targets: Targets | None, settings: LossSettings
) -> dict[str, tuple[float, Tensor]]:
    """Weight and value of every term that is on.

    Args:
        found: the embedded batch, with its views.
        graphs: the batch.
        decoder: ``[h, f]``.
        targets: ``None`` before the first pseudo-clusters: the terms over clusters are then off.
        settings: weights.
    """
    scale = 1.0 / found.invariant.shape[1] if settings.scale_distances else 1.0
    terms: dict[str, tuple[float, Tensor]] = {}
    if targets is not None:
        terms.update(_cluster_terms(found.invariant, targets, scale, settings))
    terms.update(_environment_terms(found, scale, settings))
    if settings.reconstruction:
        attributes = attribute_error(found.states, decoder, graphs.x)
        terms["mse_attributes"] = settings.reconstruction, attributes
        terms["mse_structure"] = settings.reconstruction, structure_error(found.states, graphs, settings.reconstruct)
    if settings.mask_budget and found.masks.edges.requires_grad:
        spent = masks.budget(found.masks.edges, found.masks.attributes, settings.mask_target)
        terms["mask_budget"] = settings.mask_budget, spent
    return terms


def _cluster_terms(
    z: Tensor, targets: Targets, scale: float, settings: LossSettings
) -> dict[str, tuple[float, Tensor]]:
    count, assignment = len(targets.prototypes), targets.assignment
    terms = {}
    if settings.invariance:
        terms["inv"] = settings.invariance, losses.invariance(z, assignment, count, scale)
    if settings.diversity:
        terms["div"] = settings.diversity, losses.diversity(z, assignment, count, scale)
    if settings.prototypes:
        terms["proto"] = settings.prototypes, losses.to_prototypes(z, assignment, targets.prototypes, scale)
    if settings.assignment:
        centers = torch.where(targets.prototypes.isfinite(), targets.prototypes, targets.centers)
        terms["kl"] = settings.assignment, losses.assignment_divergence(z, centers, scale)
    return terms


def _environment_terms(found: Embedded, scale: float, settings: LossSettings) -> dict[str, tuple[float, Tensor]]:
    terms = {}
    if settings.environment and len(found.views):
        terms["env_stability"] = settings.environment, losses.stability(found.invariant, found.views, scale)
    if settings.environment * settings.separation and found.variant.requires_grad:
        weight = settings.environment * settings.separation
        terms["env_separation"] = weight, losses.separation(found.invariant, found.variant, scale)
    return terms


def total(terms: dict[str, tuple[float, Tensor]], like: Tensor) -> Tensor:
    """Weighted sum; 0 (with a gradient) where every term is off."""
    values = [weight * value for weight, value in terms.values()]
    return torch.stack(values).sum() if values else like.sum() * 0.0
