"""Contracts that anybody's aggregator, codec, objective or client can be held to, as lists of checks to be called."""

from fedlight.testing.aggregators import aggregator_checks
from fedlight.testing.checks import Check
from fedlight.testing.clients import ClientCase, client_checks
from fedlight.testing.codecs import CodecCase, codec_checks
from fedlight.testing.objectives import ObjectiveCase, objective_checks
from fedlight.testing.trial import AggregatorCase

__all__ = [
    "AggregatorCase",
    "Check",
    "ClientCase",
    "CodecCase",
    "ObjectiveCase",
    "aggregator_checks",
    "client_checks",
    "codec_checks",
    "objective_checks",
]
