"""A process that another one started does not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fedlight.orphans import LAUNCHER, ending_with_launcher

CHILD = """
import sys, time
from pathlib import Path
from fedlight.orphans import ending_with_launcher
with ending_with_launcher(0.05):
    Path(sys.argv[1]).touch()
    time.sleep(60)
"""
PARENT = """
import os, subprocess, sys
from fedlight.orphans import ending_with_launcher
with ending_with_launcher():
    child = subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, "LOCAL_RANK": "1"})
    print(child.pid, flush=True)
    child.wait()
"""


def alive(number: int) -> bool:
    """Whether a process runs; one that ended and that nobody asked for is none."""
    try:
        return ") Z " not in Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(true: Callable[[], bool], seconds: float = 150) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_a_child_ends_when_its_launcher_was_killed(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    command = [sys.executable, "-c", PARENT, "-c", CHILD, str(begun)]
    environment = {name: value for name, value in os.environ.items() if name != "LOCAL_RANK"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert wait_until(begun.exists)
        parent.send_signal(signal.SIGTERM)
    assert parent.returncode == -signal.SIGTERM
    assert wait_until(lambda: not alive(child))


def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with ending_with_launcher():
        assert os.environ[LAUNCHER] == str(os.getpid())
    assert LAUNCHER not in os.environ


def test_processes_of_torchrun_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    before = threading.active_count()
    with ending_with_launcher():
        assert threading.active_count() == before and LAUNCHER not in os.environ
