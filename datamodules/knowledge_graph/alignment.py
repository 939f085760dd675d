"""Entity alignment: equal names get equal global ids, without the server seeing names (METHODS 5.3)."""

from __future__ import annotations

import hmac
import os
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedlight.datamodules.knowledge_graph.labelled import IntArray
from fedlight.errors import ConfigurationError, DataError


class EntityAlignment(ABC):
    """What a client tells of an entity's name, so that others can find the same entity."""

    @abstractmethod
    def tags(self, names: Sequence[str]) -> Sequence[str | bytes]:
        """Return one tag for each normalised name; equal names give equal tags at all clients."""


class PlainAlignment(EntityAlignment):
    """The names themselves: for simulations, where nobody has to be kept from seeing them."""

    def tags(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names."""
        return names


class HmacAlignment(EntityAlignment):
    """HMAC-SHA-256 of each name under a key that the clients share and the server does not have.

    The key itself is never an option, so that no saved configuration can hold it.

    Args:
        key_file: file with the key (a line break at its end does not count).
        key_env: environment variable with the key, used without ``key_file``.
    """

    def __init__(self, key_file: str | os.PathLike[str] | None = None, key_env: str = "FEDLIGHT_ALIGNMENT_KEY") -> None:
        self.key_file = key_file
        self.key_env = key_env

    def tags(self, names: Sequence[str]) -> Sequence[bytes]:
        """Return 32 bytes for each name."""
        key = self._key()
        return [hmac.digest(key, name.encode("utf-8", "surrogatepass"), "sha256") for name in names]

    def _key(self) -> bytes:
        if self.key_file is not None:
            try:
                key = Path(self.key_file).read_bytes().rstrip(b"\r\n")
            except OSError as error:
                raise ConfigurationError(f"key_file: {self.key_file} can't be read ({error.strerror})") from error
        else:
            key = os.environ.get(self.key_env, "").encode()
        if len(key) < 16:
            place = (
                f"key_file: {self.key_file}" if self.key_file is not None else f"environment variable {self.key_env}"
            )
            raise ConfigurationError(f"{place} holds {len(key)} bytes; the alignment key needs 16 or more")
        return key


def global_ids(labels: Sequence[Sequence[str]], owners: Sequence[str], alignment: EntityAlignment) -> list[IntArray]:
    """Give every label of every client its global id: the rank of its tag among all tags.

    So ids depend neither on the order of clients nor on that of files. Names are normalised first (Unicode NFC).

    Args:
        labels: each client's distinct labels.
        owners: the clients' names, for messages.
        alignment: what is compared.

    Returns:
        For each client the global ids of its labels, ``[n_c]``.

    Raises:
        DataError: when two labels of one client are equal once normalised.
    """
    tags = [alignment.tags([unicodedata.normalize("NFC", label) for label in own]) for own in labels]
    for own, own_tags, owner in zip(labels, tags, owners, strict=True):
        if len(set(own_tags)) < len(own_tags):
            _refuse_twins(own, owner)
    rank = {tag: number for number, tag in enumerate(sorted(set().union(*tags)))}
    return [np.fromiter((rank[tag] for tag in own), dtype=np.int64, count=len(own)) for own in tags]


def _refuse_twins(labels: Sequence[str], owner: str) -> None:
    seen: dict[str, str] = {}
    for label in labels:
        twin = seen.setdefault(unicodedata.normalize("NFC", label), label)
        if twin is not label:
            raise DataError(
                f"client {owner}: {twin!a} and {label!a} are the same text in two Unicode spellings; use one of them"
            )
