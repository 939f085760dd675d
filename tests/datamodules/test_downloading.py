"""A download that fails or is interrupted leaves what was there, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.downloading import downloading
from fedlight.errors import DataError


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def fetch(raw: Path, fault: BaseException) -> None:
    with downloading("Set", "https://a.example/set", raw, "a.txt", "set/raw/a.txt"):
        (raw / "deep").mkdir(parents=True)
        (raw / "deep" / "a.txt").write_text("half")
        raise fault


@pytest.mark.parametrize(("fault", "seen"), [(OSError("no network"), DataError), (KeyboardInterrupt(), BaseException)])
def test_what_was_written_is_taken_back(fault: BaseException, seen: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine.txt").write_text("kept")
    raw = tmp_path / "set" / "raw"
    with pytest.raises(seen) as told:
        fetch(raw, fault)
    assert names(tmp_path) == ["set", "set/mine.txt"]
    if isinstance(fault, OSError):
        assert str(told.value) == (
            "Set is not here (looked for set/raw/a.txt) and could not be downloaded from https://a.example/set "
            f"(no network); put a.txt into {raw}"
        )
    else:
        assert told.value is fault


def test_what_was_fetched_stays(tmp_path: Path) -> None:
    with downloading("Set", "https://a.example/set", tmp_path / "raw", "a.txt", "raw/a.txt"):
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw" / "a.txt").write_text("whole")
    assert names(tmp_path) == ["raw", "raw/a.txt"]
