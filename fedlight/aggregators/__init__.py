"""Rules by which the server combines updates; one file each."""

from fedlight.aggregators.base import Aggregator
from fedlight.aggregators.common_knowledge import CommonKnowledge
from fedlight.aggregators.fedavg import FedAvg
from fedlight.aggregators.fede import FedE
from fedlight.aggregators.fedltailor import FedLTailor
from fedlight.aggregators.noise_aware import NoiseAware
from fedlight.aggregators.standalone import Standalone

__all__ = ["Aggregator", "CommonKnowledge", "FedAvg", "FedE", "FedLTailor", "NoiseAware", "Standalone"]
