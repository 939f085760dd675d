from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule, TextFiles
from fedlight.datamodules.knowledge_graph.text import TextRecords, read_records
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.knowledge_graph.folders import load, named, write_client


def read(path: Path, content: bytes, columns: tuple[int, ...] | None = None, skip_header: bool = False) -> TextRecords:
    path.write_bytes(content)
    return read_records(path, columns, skip_header, "utf-8")


def test_labels_are_text_byte_for_byte(tmp_path: Path) -> None:
    content = '007\t50\t7\n7.0\t50\t"7"\né\t\'r\t1e3'.encode()
    assert read(tmp_path / "f", content).fields == ["007", "50", "7", "7.0", "50", '"7"', "é", "'r", "1e3"]


def test_integer_looking_labels_are_different_entities(tmp_path: Path) -> None:
    """C05."""
    train = "10280 50 51; 51 51 10280; 1028 50 7; 7 51 1028; 007 50 7; 7.0 50 10280"
    write_client(tmp_path, "only", train, "1028 50 51", "51 51 1028")
    data = load(tmp_path)
    graph = data.client(0).graph
    assert data.clients[0].num_examples == {"train": 6, "val": 1, "test": 1}
    assert set(graph.entities) == {"10280", "1028", "51", "7", "007", "7.0"}
    assert set(graph.relations) == {"50", "51"}
    assert ("007", "50", "7") in named(graph, "train")


def test_bom_crlf_blanks_and_stray_spaces(tmp_path: Path) -> None:
    """C09."""
    records = read(
        tmp_path / "f",
        b"\xef\xbb\xbfparis\tcapital_of\tfrance\r\n\r\n  \r\nberlin\tcapital_of\tgermany \r\n"
        b" paris\tnear\tlyon\r\nlyon\tnear\tparis\t\r\n\r\nrome\tnear\tparis",
    )
    assert records.fields[:3] == ["paris", "capital_of", "france"]
    assert len(records.fields) == 15
    assert set(records.fields[0::3]) == {"paris", "berlin", "lyon", "rome"}
    assert records.blank_lines == 3
    assert records.trimmed == 3
    assert list(records.lines) == [1, 4, 5, 6, 8]


def test_labels_may_hold_unicode_line_separators(tmp_path: Path) -> None:
    assert read(tmp_path / "f", "a\u2028b\x0cc\tr\tt\n".encode()).fields == ["a\u2028b\x0cc", "r", "t"]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf\n\n"])
def test_a_file_without_text_has_no_records(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path / "f", content).fields == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tr\tb\na\tr\n", r":2: 2 columns \('a', 'r'\) where 3 are needed.*columns.*skip_header"),
        (b"\thead\trelation\ttail\n0\ta\tr\tb\n", r":1: 4 columns \('', 'head', 'relation', 'tail'\).*columns"),
        (b"a\tr\tb\t0.9\n", r":1: 4 columns .*columns"),
        (b"a r b\n", r":1: 1 columns .*separate head, relation and tail by tabs"),
        (b"head,relation,tail\n", r":1: 1 columns .*tabs"),
        (b"a\tr\tb\n\n\ta\tr\n", r":3: the head is empty"),
        (b"a\tr\tb\na\tr\tb\n\xff\xfe\x00junk\n", r":3: byte 12 of the file is not utf-8.*encoding"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    """C07 and C09."""
    with pytest.raises(DataError, match=r"train\.tsv" + message):
        read(tmp_path / "train.tsv", content)


def test_columns_and_header_are_chosen_by_options(tmp_path: Path) -> None:
    """C07."""
    content = b"\thead\trelation\ttail\tweight\n0\taspirin\ttreats\theadache\t0.9\n"
    assert read(tmp_path / "f", content, (2, 3, 4), skip_header=True).fields == ["aspirin", "treats", "headache"]
    assert read(tmp_path / "f", b"b\tr\ta\n", (3, 2, 1)).fields == ["a", "r", "b"]
    with pytest.raises(DataError, match=r"f:1: 3 columns .* where columns \[2, 3, 4\] are asked for"):
        read(tmp_path / "f", b"a\tr\tb\n", (2, 3, 4))


@pytest.mark.parametrize("columns", [(0, 1, 2), (1, 1, 2)])
def test_impossible_columns_are_refused(columns: tuple[int, int, int]) -> None:
    with pytest.raises(ConfigurationError, match="columns"):
        TextFiles(columns=columns)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_by_option(tmp_path: Path, encoding: str) -> None:
    """C09."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "train.tsv").write_bytes("orléans\tin\tfrance\n".encode(encoding))
    with pytest.raises(DataError, match=r"train\.tsv:1: byte \d+ of the file is not utf-8"):
        load(tmp_path)
    data = KnowledgeGraphDataModule(ClientFolders(tmp_path, TextFiles(encoding=encoding)))
    data.setup()
    assert "orléans" in data.client(0).graph.entities


def test_an_unknown_encoding_is_a_configuration_error(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "a r b")
    with pytest.raises(ConfigurationError, match="encoding: 'utf-9'"):
        TextFiles(encoding="utf-9").read(tmp_path / "a", "a")


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can't be read"):
        read_records(tmp_path / "none", None, False, "utf-8")
