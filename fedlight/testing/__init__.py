"""Contracts that anybody's aggregator, objective or client can be held to, as lists of checks to be called."""

from fedlight.testing.aggregators import aggregator_checks
from fedlight.testing.checks import Check
from fedlight.testing.clients import ClientCase, client_checks
from fedlight.testing.objectives import ObjectiveCase, objective_checks
from fedlight.testing.trial import AggregatorCase

__all__ = [
    "AggregatorCase",
    "Check",
    "ClientCase",
    "ObjectiveCase",
    "aggregator_checks",
    "client_checks",
    "objective_checks",
]
