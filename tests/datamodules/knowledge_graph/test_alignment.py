from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph import HmacAlignment, PlainAlignment
from fedlight.datamodules.knowledge_graph.alignment import global_ids
from fedlight.errors import ConfigurationError, DataError

LABELS = [["rome", "paris"], ["paris", "lyon", "bonn"]]
KEY = b"0123456789abcdef"


def key_file(tmp_path: Path, key: bytes = KEY) -> Path:
    path = tmp_path / "key"
    path.write_bytes(key + b"\n")
    return path


def test_ids_are_ranks_in_the_union_of_names() -> None:
    first, second = global_ids(LABELS, ["a", "b"], PlainAlignment())
    assert first.tolist() == [3, 2]
    assert second.tolist() == [2, 1, 0]


def test_ids_do_not_depend_on_the_order_of_clients() -> None:
    second, first = global_ids(LABELS[::-1], ["b", "a"], PlainAlignment())
    assert (first.tolist(), second.tolist()) == ([3, 2], [2, 1, 0])


def test_hmac_ids_are_ranks_of_the_tags(tmp_path: Path) -> None:
    first, second = global_ids(LABELS, ["a", "b"], HmacAlignment(key_file(tmp_path)))
    order = sorted(hmac.new(KEY, name.encode(), hashlib.sha256).digest() for name in ("rome", "paris", "lyon", "bonn"))
    rank = {name: order.index(hmac.new(KEY, name.encode(), hashlib.sha256).digest()) for name in LABELS[0] + LABELS[1]}
    assert first.tolist() == [rank[name] for name in LABELS[0]]
    assert second.tolist() == [rank[name] for name in LABELS[1]]


def test_hmac_tells_equal_names_only(tmp_path: Path) -> None:
    tags = HmacAlignment(key_file(tmp_path)).tags(["rome", "paris", "rome"])
    assert tags[0] == tags[2] != tags[1]
    assert all(b"rome" not in tag and len(tag) == 32 for tag in tags)
    assert HmacAlignment(key_file(tmp_path, KEY[::-1])).tags(["rome"]) != tags[:1]


def test_the_key_may_be_in_the_environment_and_is_no_attribute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alignment = HmacAlignment(key_env="SHARED_KEY")
    monkeypatch.setenv("SHARED_KEY", KEY.decode())
    assert alignment.tags(["rome"]) == HmacAlignment(key_file(tmp_path)).tags(["rome"])
    assert KEY.decode() not in repr(vars(alignment))


@pytest.mark.parametrize("key", [b"", b"short"])
def test_a_weak_key_is_refused(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(ConfigurationError, match=r"key_file: .* holds \d bytes; .* needs 16"):
        HmacAlignment(key_file(tmp_path, key)).tags([])


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"key_file: .*none can't be read"):
        HmacAlignment(tmp_path / "none").tags([])
    with pytest.raises(ConfigurationError, match="environment variable NOT_THERE holds 0 bytes"):
        HmacAlignment(key_env="NOT_THERE").tags([])


def test_names_are_compared_in_one_unicode_form() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    first, second = global_ids([[composed], [decomposed]], ["a", "b"], PlainAlignment())
    assert first.tolist() == second.tolist()
    with pytest.raises(DataError, match=r"client a: 'caf\\xe9' and 'cafe\\u0301' are the same text"):
        global_ids([[composed, decomposed]], ["a"], PlainAlignment())


def test_clients_may_share_nothing() -> None:
    first, second = global_ids([["x"], ["y"]], ["a", "b"], PlainAlignment())
    assert (first.tolist(), second.tolist()) == ([0], [1])
