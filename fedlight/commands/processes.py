"""Run the experiments of a sweep as processes, with a log file and progress lines for each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from fedlight.commands.compare import choose_metrics
from fedlight.commands.finished import Run
from fedlight.commands.plan import Experiment
from fedlight.commands.result_tables import OVERALL
from fedlight.errors import DataError
from fedlight.run_folder import versions

_LOG_LINES = 15
REFUSED = 2
"""Exit code of a run whose configuration or data were refused."""


def run_all(experiments: Sequence[Experiment], jobs: int) -> list[Experiment]:
    """Run what is not finished, ``jobs`` at a time, and print a line when each starts and ends.

    Returns:
        The experiments that failed.

    Raises:
        KeyboardInterrupt: on SIGINT or SIGTERM, after the running processes were asked to save and have ended.
    """
    runner = _Runner(len(experiments), jobs)
    with _interruptible(), ThreadPoolExecutor(jobs) as pool:
        try:
            results = list(pool.map(runner.run, range(1, len(experiments) + 1), experiments))
        except KeyboardInterrupt:
            print("stopping: running processes save first; interrupt again to kill them", flush=True)
            runner.stop(signal.SIGTERM)
            try:
                pool.shutdown(cancel_futures=True)
            except KeyboardInterrupt:
                runner.stop(signal.SIGKILL)
            raise
    return [experiment for experiment, good in zip(experiments, results, strict=True) if not good]


class _Runner:
    """Starts processes and remembers the running ones, so that they can be stopped."""

    def __init__(self, total: int, jobs: int) -> None:
        self._total = total
        self._environment = _environment(jobs)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._refused: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def run(self, position: int, experiment: Experiment) -> bool:
        """Bring one experiment to its end; say whether it is finished."""
        label = f"[{position}/{self._total}] {experiment.name}:"
        try:
            if done := experiment.finished():
                print(f"{label} finished before, {headline(done)}", flush=True)
                return True
            if self._stopped:
                return False
            if (experiment.configs, experiment.overrides) in self._refused:
                print(f"{label} FAILED: not started, for its configuration was refused above", flush=True)
                return False
            start = time.monotonic()
            code = self._execute(label, experiment)
            seconds = time.monotonic() - start
            if code == 0 and (done := experiment.finished()):
                print(f"{label} finished in {seconds:.0f} s, {headline(done)}", flush=True)
                return True
        except (DataError, OSError) as error:
            print(f"{label} FAILED: {error}", flush=True)
            return False
        if self._stopped:
            print(f"{label} stopped after {seconds:.0f} s", flush=True)
            return False
        if code == REFUSED and not versions(experiment.folder):
            self._refused.add((experiment.configs, experiment.overrides))
        why = "ended without a summary.json" if code == 0 else f"exit code {code}"
        print(f"{label} FAILED after {seconds:.0f} s, {why}; {experiment.log} ends:\n{_tail(experiment)}", flush=True)
        return False

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to the running processes and start no further ones."""
        self._stopped = True
        for process in list(self._running):
            process.send_signal(number)

    def _execute(self, label: str, experiment: Experiment) -> int:
        experiment.claim()
        command = experiment.command()
        resumed = "resumed" if command[-1].startswith("--ckpt_path") else "started"
        with experiment.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            # A session of its own: Ctrl-C reaches the sweep only, which then lets the run save.
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=self._environment, start_new_session=True
            )
            self._running.add(process)
            try:
                print(f"{label} {resumed}, log in {experiment.log}", flush=True)
                return process.wait()
            finally:
                self._running.discard(process)


def headline(run: Run) -> str:
    """The first overall metric of a run, on test when it was tested."""
    for split in ("test", "validation"):
        metrics = run.metrics(split)
        for client in OVERALL:
            if overall := metrics.get(client):
                name = next(name for name in [*choose_metrics([run], None, split), *overall] if name in overall)
                return f"{split} {name} {overall[name]:.4f}"
    return "no metrics"


def _environment(jobs: int) -> dict[str, str]:
    """Share out the threads among concurrent runs, unless the user set their number."""
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    if jobs > 1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        environment.setdefault("OMP_NUM_THREADS", str(max(1, cores // jobs)))
    return environment


def _tail(experiment: Experiment) -> str:
    with experiment.log.open(encoding="utf-8", errors="replace") as log:
        return "".join(f"    {line.rstrip()}\n" for line in deque(log, _LOG_LINES)).rstrip()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Treat SIGTERM as an interrupt while the block runs."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
