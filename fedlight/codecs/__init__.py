"""Compression of what clients send; one file each."""

from fedlight.codecs.base import Codec, Message, Step
from fedlight.codecs.chain import Chain
from fedlight.codecs.int8 import Int8
from fedlight.codecs.low_rank import LowRank
from fedlight.codecs.rows import RowThreshold, TopKRows

__all__ = ["Chain", "Codec", "Int8", "LowRank", "Message", "RowThreshold", "Step", "TopKRows"]
