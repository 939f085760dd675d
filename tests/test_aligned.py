"""Tables of plain text."""

from __future__ import annotations

from rich.cells import cell_len

from fedlight.aligned import aligned


def test_columns_stand_below_each_other_on_the_screen() -> None:
    lines = aligned([("client", "nodes", "edges"), ("東京病院", "7", "1,204"), ("e", "12", "-")])
    assert lines == ["client    nodes  edges", "東京病院      7  1,204", "e            12      -"]
    assert {cell_len(line) for line in lines} == {22}
