"""Checkpoints: a folder of tensors and plain values, written aside and renamed, loaded without running any code."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from fedlight.client import ClientSpec
from fedlight.errors import CheckpointError
from fedlight.payload import Payload
from fedlight.ranks import Ranks
from fedlight.run_folder import write_json
from fedlight.tables import RowIndex, pack, unpack

FORMAT_VERSION = 1
MANIFEST_KEYS = ("clients", "seed", "progress", "groups", "model", "method", "data")


def save(
    folder: Path,
    ranks: Ranks,
    manifest: Mapping[str, Any],
    server: Mapping[str, Any],
    groups: Mapping[int, Mapping[str, Any]],
    clients: Mapping[int, Mapping[str, Any]],
) -> None:
    """Write a checkpoint; every rank writes its own clients and groups, rank 0 the rest."""
    partial = folder.with_name(folder.name + ".tmp")
    if ranks.rank == 0:
        shutil.rmtree(partial, ignore_errors=True)
        for sub in ("clients", "groups"):
            (partial / sub).mkdir(parents=True)
    ranks.barrier()
    for number, state in clients.items():
        torch.save(dict(state), partial / "clients" / f"{number}.pt")
    for number, state in groups.items():
        torch.save(dict(state), partial / "groups" / f"{number}.pt")
    if ranks.rank == 0:
        torch.save(dict(server), partial / "server.pt")
        write_json(partial / "manifest.json", {"format_version": FORMAT_VERSION, **manifest})
    ranks.barrier()
    if ranks.rank == 0:
        _swap(partial, folder)
    ranks.barrier()


def duplicate(folder: Path, target: Path, ranks: Ranks) -> None:
    """Give a checkpoint a second name; its files are shared where the file system can, as none is ever changed."""
    if ranks.rank == 0:
        partial = target.with_name(target.name + ".tmp")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(folder, partial, copy_function=_link)
        _swap(partial, target)
    ranks.barrier()


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return target


def _swap(partial: Path, folder: Path) -> None:
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


class Checkpoint:
    """A checkpoint folder to read from.

    Args:
        folder: with ``manifest.json``; if a crash left only the previous one (``.old``), that is read.

    Raises:
        CheckpointError: when it is missing, broken, foreign or of another format.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.exists() and (old := folder.with_name(folder.name + ".old")).exists():
            folder = old
        self.folder = folder
        path = folder / "manifest.json"
        try:
            self.manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = self.manifest["format_version"]
        except FileNotFoundError as error:
            raise CheckpointError(f"{path}: not a fedlight checkpoint, or damaged: the file is missing") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path}: not a fedlight checkpoint ({type(error).__name__}: {error})") from error
        if version != FORMAT_VERSION:
            raise CheckpointError(f"{path}: format_version {version}, this fedlight reads {FORMAT_VERSION}")
        _check_keys(path, self.manifest, MANIFEST_KEYS)
        for part in self._parts():
            if not (self.folder / part).is_file():
                raise CheckpointError(f"{self.folder / part}: missing from the checkpoint")

    def _parts(self) -> list[str]:
        clients = [f"clients/{number}.pt" for number in range(len(self.manifest["clients"]))]
        return ["server.pt", *clients, *(f"groups/{number}.pt" for number in self.manifest["groups"])]

    @property
    def run_folder(self) -> Path:
        """The run that wrote it."""
        return self.folder.parent.parent

    def server(self) -> dict[str, Any]:
        """The server's mixing and aggregator history."""
        return load_tensors(self.folder / "server.pt", ("mixing", "aggregator", "callbacks"))

    def groups(self) -> dict[int, dict[str, Any]]:
        """All group states."""
        paths = sorted((self.folder / "groups").glob("*.pt"))
        return {int(path.stem): load_tensors(path, ("tensors", "memory")) for path in paths}

    def client(self, client_id: int) -> dict[str, Any]:
        """One client's state, spec and payload."""
        return load_tensors(self.folder / "clients" / f"{client_id}.pt", ("module", "spec", "payload"))


def load_tensors(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Load tensors and plain values only: a mapping that has ``keys``.

    Raises:
        CheckpointError: when the file is missing, cut, foreign, or wants to run code.
    """
    try:
        loaded: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: missing from the checkpoint") from error
    except pickle.UnpicklingError as error:
        raise CheckpointError(f"{path}: refused, holds more than tensors and plain values, or is damaged") from error
    except Exception as error:  # torch reads foreign bytes as instructions, which may fail in any way
        raise CheckpointError(f"{path}: can't be read, cut or not a checkpoint file") from error
    _check_keys(path, loaded, keys)
    return loaded


def _check_keys(path: Path, loaded: Any, keys: Sequence[str]) -> None:
    lacking = [key for key in keys if not isinstance(loaded, Mapping) or key not in loaded]
    if lacking:
        raise CheckpointError(f"{path}: not written by fedlight, or damaged: lacks {', '.join(map(repr, lacking))}")


def pack_spec(spec: ClientSpec) -> dict[str, Any]:
    """A client's spec as plain values."""
    return {
        "client_id": spec.client_id,
        "name": spec.name,
        "num_examples": dict(spec.num_examples),
        "sizes": dict(spec.sizes),
        "rows": {n: {"ids": r.ids, "upload": r.upload, "download": r.download} for n, r in spec.rows.items()},
    }


def unpack_spec(packed: Mapping[str, Any]) -> ClientSpec:
    """The inverse of :func:`pack_spec`."""
    return ClientSpec(**{**packed, "rows": {name: RowIndex(**row) for name, row in packed["rows"].items()}})


def pack_payload(payload: Payload) -> dict[str, Any]:
    """A payload as plain values."""
    return {
        "state": None if payload.state is None else {name: pack(part) for name, part in payload.state.items()},
        "self_weight": payload.self_weight,
        "fuse_with": payload.fuse_with,
        "facts": dict(payload.facts),
    }


def unpack_payload(packed: Mapping[str, Any]) -> Payload:
    """The inverse of :func:`pack_payload`."""
    state = packed["state"]
    return Payload(**{**packed, "state": None if state is None else {n: unpack(p) for n, p in state.items()}})
