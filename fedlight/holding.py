"""One run's folder is trained in by one program at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from lightning.fabric.utilities.rank_zero import rank_zero_warn

from fedlight.errors import ConfigurationError

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

LOCK = ".lock"


@contextmanager
def holding(trainer: FederatedTrainer) -> Iterator[None]:
    """Keep other programs from training in the trainer's run folder meanwhile; to be called on all ranks.

    The file ``.lock`` stays behind; what counts is who holds it, and a process that ends holds nothing.

    Raises:
        ConfigurationError: on all ranks, when another program trains there.
    """
    with ExitStack() as stack:
        fault = _hold(trainer.run_folder, stack) if trainer.is_global_zero else None
        if (fault := trainer.fabric.broadcast(fault)) is not None:
            error = ConfigurationError(fault)
            error.common = True
            raise error
        yield


def _hold(folder: Path, stack: ExitStack) -> str | None:
    try:
        stack.enter_context(FileLock(folder / LOCK, timeout=0))
    except Timeout:
        return f"{folder}: another program trains this run; wait for its end, or start a run of its own"
    except (OSError, NotImplementedError) as error:  # a file system without locks
        rank_zero_warn(f"{folder}: can't be locked ({error}); do not train this run from two programs at once")
    return None
