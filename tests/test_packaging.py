"""The package as others get it: lists, links, wheel, source distribution, and a run from the installed wheel."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINKED = ("callbacks", "configs", "datamodules", "models")
# One worker builds and installs once for all tests of this file.
pytestmark = pytest.mark.xdist_group("packaging")
SOURCES = ("fedlight", *LINKED, "pyproject.toml", "README.md", "LICENSE")


def python_files() -> Iterator[tuple[str, Path]]:
    """Every module of the package as (folder relative to the import root, file)."""
    for top in ("fedlight", *LINKED):
        prefix = Path("fedlight") / ("" if top == "fedlight" else top)
        for file in sorted((ROOT / top).rglob("*.py")):
            # Until Python 3.13 rglob does not descend into links, so each file comes once.
            yield str(prefix / file.parent.relative_to(ROOT / top)), file


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Run a command without this process's Python settings; return its output or fail with it."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | {"OMP_NUM_THREADS": "1"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, f"{command} failed:\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


def test_package_list_equals_the_disk() -> None:
    on_disk = {folder.replace(os.sep, ".") for folder, _ in python_files()}
    assert on_disk == set(PROJECT["tool"]["setuptools"]["packages"])


def test_packages_have_an_init() -> None:
    # A namespace package would hide its data files from importlib.resources in an editable install.
    missing = {str(file.parent) for _, file in python_files() if not (file.parent / "__init__.py").is_file()}
    assert not missing


@pytest.mark.parametrize("name", LINKED)
def test_links(name: str) -> None:
    link = ROOT / "fedlight" / name
    if not link.is_symlink():
        pytest.skip("this checkout has no symbolic links")
    assert os.readlink(link) == f"../{name}"


@pytest.mark.parametrize("script", [".ci/run"])
def test_scripts_are_executable(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    assert (ROOT / script).read_bytes().startswith(b"#!/usr/bin/env bash\n")


def requirements(*extras: str) -> dict[str, Requirement]:
    """The direct requirements by normalised name."""
    project = PROJECT["project"]
    lines = project["dependencies"] + [line for extra in extras for line in project["optional-dependencies"][extra]]
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


def test_constraints_pin_every_requirement_within_its_bounds() -> None:
    pins: dict[str, str] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            (only,) = pin.specifier
            assert only.operator == "==", line
            assert "+" not in only.version, f"{line}: a local version exists on one machine only"
            pins[canonicalize_name(pin.name)] = only.version
    for name, requirement in requirements("dev").items():
        assert requirement.specifier.contains(pins[name]), f"{requirement} against {name}=={pins[name]}"


def test_one_version_everywhere() -> None:
    source = (ROOT / "fedlight" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version


def imported_modules(file: Path) -> set[str]:
    """Top-level names that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_every_import_is_declared() -> None:
    optional = PROJECT["project"]["optional-dependencies"].keys() - {"dev"}
    declared, installed = set(requirements(*optional)), packages_distributions()
    names = set().union(*(imported_modules(file) for _, file in python_files())) - {"fedlight"}
    undeclared = {
        name
        for name in names - sys.stdlib_module_names
        if not declared & {canonicalize_name(dist) for dist in installed.get(name, [name])}
    }
    assert not undeclared


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A source distribution of a copy of the checkout, and the wheel built from that distribution."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "build", "--no-isolation", ".", cwd=source)
    (sdist,) = (source / "dist").glob("*.tar.gz")
    (wheel,) = (source / "dist").glob("*.whl")
    return sdist, wheel


def expected_files() -> set[str]:
    """What belongs into the wheel: every module, every configuration and the type marker."""
    modules = {Path(folder, file.name).as_posix() for folder, file in python_files()}
    configs = {f"fedlight/{file.relative_to(ROOT).as_posix()}" for file in (ROOT / "configs").rglob("*.yaml")}
    return modules | configs | {"fedlight/py.typed"}


def test_wheel_holds_exactly_the_package(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        files = {name for name in wheel.namelist() if not name.endswith("/")}
    metadata = {name for name in files if name.split("/")[0].endswith(".dist-info")}
    assert files - metadata == expected_files()
    assert any(name.endswith("licenses/LICENSE") for name in metadata)


def test_sdist_holds_the_sources_under_their_folders(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as sdist:
        members = {member.name.split("/", 1)[1] for member in sdist.getmembers() if member.isfile()}
    modules = {file.relative_to(ROOT).as_posix() for _, file in python_files()}
    configs = {file.relative_to(ROOT).as_posix() for file in (ROOT / "configs").rglob("*.yaml")}
    assert modules | configs | {"fedlight/py.typed", "pyproject.toml", "LICENSE", "README.md"} <= members


@pytest.fixture(scope="module")
def installed(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel in it.

    Downloading PyTorch again would take minutes, so the dependencies come from this environment, on the path after
    the new one's own packages. Lines of a .pth file are not searched for .pth files, so that an editable fedlight of
    this environment stays invisible.
    """
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    wheel = distributions[1]
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    borrowed = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (own / "borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    return python


def test_installed_wheel_imports_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    packages = PROJECT["tool"]["setuptools"]["packages"]
    code = f"import importlib; [print(importlib.import_module(name).__file__) for name in {packages}]"
    for file in run(installed, "-c", code, cwd=tmp_path).split():
        assert Path(file).is_relative_to(installed.parents[1]), file


@pytest.mark.parametrize("name", LINKED)
def test_installed_wheel_leaks_no_top_level_name(installed: Path, name: str, tmp_path: Path) -> None:
    code = f"import importlib.util; print(importlib.util.find_spec({name!r}))"
    assert run(installed, "-c", code, cwd=tmp_path).strip() == "None"


def test_installed_wheel_runs_the_demo_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    run(
        installed.parent / "fedlight", "fit", "--config", "fedltailor/demo.yaml", "--trainer.max_rounds=1", cwd=tmp_path
    )
    (summary,) = tmp_path.rglob("summary.json")
    assert '"rounds_run": 1' in summary.read_text(encoding="utf-8")


def test_installed_wheel_is_a_module_too(installed: Path, tmp_path: Path) -> None:
    assert "fit" in run(installed, "-m", "fedlight", "--help", cwd=tmp_path)
