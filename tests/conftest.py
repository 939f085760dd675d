"""Process hygiene: every test starts from one state of the process and may not leak into the next."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator

import hypothesis
import pytest
import torch

from fedlight.streams import Streams

# Set by seed_everything and by deterministic CUDA kernels for the life of a process; taken back after each test.
TOLERATED = {"CUBLAS_WORKSPACE_CONFIG", "PL_GLOBAL_SEED", "PL_SEED_WORKERS", "PYTEST_CURRENT_TEST"}
# Set by importing scikit-learn.
TOLERATED |= {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}

hypothesis.settings.register_profile("fedlight", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fedlight")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skips = {}
    if not config.getoption("--slow"):
        skips["slow"] = pytest.mark.skip(reason="slow: give --slow to run it")
    if not torch.cuda.is_available():
        skips["gpu"] = pytest.mark.skip(reason="no CUDA device")
    for item in items:
        for name in skips.keys() & {mark.name for mark in item.iter_markers()}:
            item.add_marker(skips[name])


@pytest.fixture(autouse=True)
def restored_rng() -> Iterator[None]:
    """Start every test from the same generators, and put them, deterministic flags and dtype back."""
    deterministic, dtype = torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype()
    benchmark, cudnn = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    with Streams(0).seeded("test"):
        yield
    torch.use_deterministic_algorithms(deterministic)
    torch.set_default_dtype(dtype)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = benchmark, cudnn


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums depend on the number of threads, so every test runs with one."""
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_leaked_environment() -> Iterator[None]:
    """Restore the environment; fail when a test left a variable that would steer later ones."""
    os.environ.pop("PL_GLOBAL_SEED", None)  # a fixture of wider scope may have trained before
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    os.environ.clear()
    os.environ.update(before)
    leaked = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - TOLERATED
    assert not leaked, f"the test changed environment variables: {sorted(leaked)}"


@pytest.fixture(autouse=True)
def no_leaked_processes() -> Iterator[None]:
    """Fail when a test left a process group or child processes behind; take both down for the next test."""
    yield
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    if group:
        torch.distributed.destroy_process_group()
    children = multiprocessing.active_children()
    for child in children:
        child.terminate()
    assert not group, "the test left a torch.distributed process group"
    assert not children, f"the test left child processes: {children}"
