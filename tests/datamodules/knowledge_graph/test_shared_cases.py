"""The fault collections that other tools met, as they lie in the shared folder."""

from __future__ import annotations

import pytest

from fedlight.datamodules.knowledge_graph import (
    ClientFolders,
    FolderFormat,
    KnowledgeGraphDataModule,
    OpenKEFiles,
    RotatEFiles,
    TextFiles,
)
from fedlight.errors import DataError
from tests.shared_data import shared


def load(case: str, client: str | None = None, files: FolderFormat | None = None) -> KnowledgeGraphDataModule:
    source = ClientFolders(shared("cases", case), files)
    data = KnowledgeGraphDataModule(source, clients=None if client is None else [client])
    data.setup()
    return data


@pytest.mark.parametrize(
    ("case", "client", "files", "sizes", "counts"),
    [
        ("C05", "only", TextFiles(), (6, 2), (6, 1, 1)),
        ("C07", "with_index", TextFiles(columns=(2, 3, 4), skip_header=True), (4, 2), (3, 0, 0)),
        ("C07", "with_weight", TextFiles(columns=(1, 2, 3)), (4, 2), (3, 0, 0)),
        ("C09", "only", TextFiles(), (7, 2), (5, 1, 1)),
        ("C09", "utf16", TextFiles(encoding="utf-16"), (2, 1), (1, 0, 0)),
        ("C09", "latin1", TextFiles(encoding="latin-1"), (2, 1), (1, 0, 0)),
        ("C11", "good", OpenKEFiles(), (4, 2), (3, 1, 1)),
        ("C11", "rotate_style", RotatEFiles(), (4, 2), (3, 1, 1)),
    ],
)
def test_what_loads(
    case: str, client: str, files: FolderFormat, sizes: tuple[int, int], counts: tuple[int, int, int]
) -> None:
    spec = load(case, client, files).clients[0]
    assert tuple(spec.sizes.values()) == sizes
    assert tuple(spec.num_examples.values()) == counts


@pytest.mark.parametrize(
    ("case", "client", "files", "message"),
    [
        ("C07", "comma", TextFiles(), r"train\.csv:1: "),
        ("C07", "mixed_arity", TextFiles(), r"train\.tsv:2: "),
        ("C07", "spaces_not_tabs", TextFiles(), r"train\.tsv:1: "),
        ("C07", "with_index", TextFiles(), r"train\.tsv:1: .*columns"),
        ("C07", "with_weight", TextFiles(), r"train\.tsv:1: .*columns"),
        ("C09", "utf16", TextFiles(), r"train\.tsv:1: byte 0 .*encoding.*utf-16"),
        ("C09", "latin1", TextFiles(), r"train\.tsv:1: byte 3 .*encoding.*latin-1"),
        ("C11", "bad_count", OpenKEFiles(), r"entity2id\.txt:1: says 5 entries"),
        ("C11", "bad_gap", OpenKEFiles(), r"entity2id\.txt:5: id 7 of 'italy'"),
        ("C11", "hrt_in_disguise", OpenKEFiles(), r"train2id\.txt:2: .*head, relation, tail"),
        ("C19", "hospital_c", TextFiles(), r"hospital_c.train\.tsv:3: "),
    ],
)
def test_what_is_refused(case: str, client: str, files: FolderFormat, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(case, client, files)


@pytest.mark.filterwarnings("ignore:relations that give")
@pytest.mark.parametrize(("case", "clients"), [("C13", 2), ("C15", 3), ("C17", 4), ("C45", 4), ("C47", 2)])
def test_the_other_federations_load(case: str, clients: int) -> None:
    assert len(load(case).clients) == clients
