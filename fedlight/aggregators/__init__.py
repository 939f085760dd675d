"""Rules by which the server combines updates; one file each."""

from fedlight.aggregators.base import Aggregator
from fedlight.aggregators.common_knowledge import CommonKnowledge
from fedlight.aggregators.consensus_prototypes import ConsensusPrototypes
from fedlight.aggregators.coordinate_median import CoordinateMedian
from fedlight.aggregators.distribution_similarity import DistributionSimilarity
from fedlight.aggregators.fedadam import FedAdam
from fedlight.aggregators.fedavg import FedAvg
from fedlight.aggregators.fedavgm import FedAvgM
from fedlight.aggregators.fede import FedE
from fedlight.aggregators.fedgta import FedGTA
from fedlight.aggregators.fedltailor import FedLTailor
from fedlight.aggregators.fedpka import FedPKA
from fedlight.aggregators.fedyogi import FedYogi
from fedlight.aggregators.gcfl import GCFL
from fedlight.aggregators.gcfl_plus import GCFLPlus
from fedlight.aggregators.krum import Krum
from fedlight.aggregators.noise_aware import NoiseAware
from fedlight.aggregators.scaffold import Scaffold
from fedlight.aggregators.standalone import Standalone
from fedlight.aggregators.trimmed_mean import TrimmedMean

__all__ = [
    "GCFL",
    "Aggregator",
    "CommonKnowledge",
    "ConsensusPrototypes",
    "CoordinateMedian",
    "DistributionSimilarity",
    "FedAdam",
    "FedAvg",
    "FedAvgM",
    "FedE",
    "FedGTA",
    "FedLTailor",
    "FedPKA",
    "FedYogi",
    "GCFLPlus",
    "Krum",
    "NoiseAware",
    "Scaffold",
    "Standalone",
    "TrimmedMean",
]
