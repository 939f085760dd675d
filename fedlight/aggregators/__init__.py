"""Rules by which the server combines updates; one file each."""

from fedlight.aggregators.base import Aggregator
from fedlight.aggregators.coordinate_median import CoordinateMedian
from fedlight.aggregators.fedadam import FedAdam
from fedlight.aggregators.fedavg import FedAvg
from fedlight.aggregators.fedavgm import FedAvgM
from fedlight.aggregators.fede import FedE
from fedlight.aggregators.fedltailor import FedLTailor
from fedlight.aggregators.fedyogi import FedYogi
from fedlight.aggregators.krum import Krum
from fedlight.aggregators.scaffold import Scaffold
from fedlight.aggregators.standalone import Standalone
from fedlight.aggregators.trimmed_mean import TrimmedMean

__all__ = [
    "Aggregator",
    "CoordinateMedian",
    "FedAdam",
    "FedAvg",
    "FedAvgM",
    "FedE",
    "FedLTailor",
    "FedYogi",
    "Krum",
    "Scaffold",
    "Standalone",
    "TrimmedMean",
]
