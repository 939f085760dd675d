"""One run's folder is trained in by one program at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
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
        with trainer.ranks.together():
            if trainer.is_global_zero:
                stack.enter_context(_locked(trainer.run_folder))
        yield


def _locked(folder: Path) -> AbstractContextManager[object]:
    try:
        return FileLock(folder / LOCK, timeout=0).acquire()
    except Timeout:
        raise ConfigurationError(
            f"{folder}: another program trains this run; wait for its end, or start a run of its own"
        ) from None
    except (OSError, NotImplementedError) as error:  # a file system without locks
        rank_zero_warn(f"{folder}: can't be locked ({error}); do not train this run from two programs at once")
        return nullcontext()
