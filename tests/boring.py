"""The tiny federation of the public contract suite, which all tests of the core use."""

from fedlight.testing.boring import NAMES, OWNED, BoringClient, BoringClientData, BoringData

__all__ = ["NAMES", "OWNED", "BoringClient", "BoringClientData", "BoringData"]
