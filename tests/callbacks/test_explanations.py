"""What masks say of graphs, by hand and as files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight.callbacks.explanations import Explained, draw, explain, typical, write_explanations
from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs
from fedlight.datamodules.graph_collection.client_data import CollectionClientData
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.network import Masks
from fedlight.names import safe_name


class EdgesByNumber:
    """Edges are the more invariant the later they come; of a node, only the label "C" is."""

    device = torch.device("cpu")

    def masks(self, batch: Any) -> tuple[Graphs, Masks]:
        graphs = Graphs.of(batch)
        attributes = torch.zeros_like(graphs.x)
        attributes[:, 12:13] = 1.0
        return graphs, Masks(torch.linspace(0.0, 1.0, graphs.edges.shape[1]), attributes)


def motifs(name: str) -> CollectionClientData:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=6), num_clusters=2, clients=[name])
    data.setup()
    return data.client(0)


def test_the_nearest_graphs_of_each_cluster_are_taken() -> None:
    cluster, distance = torch.tensor([0, 2, 0, 2, 2, 0]), torch.tensor([2.0, 1.0, 1.0, 3.0, 0.5, 1.0])
    assert typical(cluster, distance, 2).tolist() == [2, 5, 4, 1]
    assert typical(cluster, distance, 9).tolist() == [2, 5, 0, 4, 1, 3]
    assert typical(torch.tensor([0, 1, 1, 2, 2]), torch.arange(5.0), 1, most=2).tolist() == [1, 3]


def test_letters_are_white_on_dark_nodes() -> None:
    edges = torch.tensor([[0, 1]])
    pair = Explained("x", 0, 1.0, 0.0, ["C", "N"], torch.tensor([0.1, 0.9]), edges, torch.ones(1), torch.ones(1).bool())
    assert {text.get_text(): text.get_color() for text in draw(pair).axes[0].texts} == {"C": "white", "N": "black"}


def test_graphs_keep_their_own_nodes_and_edges() -> None:
    data, index = motifs("molecules_1"), torch.tensor([4, 1])
    found = explain(EdgesByNumber(), data, index, torch.tensor([1, 0]), torch.rand(2), torch.rand(2))
    own = data.collection
    for each, place in zip(found, index.tolist(), strict=True):
        alone = own.subset(torch.tensor([place]), "alone")
        assert torch.equal(each.edges, alone.edges) and len(each.nodes) == alone.num_nodes
        atoms = [own.vocabularies[0][code] for code in alone.node_labels[:, 0].tolist()]
        assert list(each.labels) == atoms
        carbon = torch.tensor([atom == "C" for atom in atoms])  # two columns are set: the bucket and the label
        torch.testing.assert_close(each.nodes, 0.5 * carbon.float())
    assert [each.cluster for each in found] == [1, 0] and [each.graph for each in found] == ["4", "1"]
    assert float(found[0].edge_mask[0]) == 0 and float(found[1].edge_mask[-1]) == 1
    assert torch.equal(found[1].kept, found[1].edge_mask >= 0.5)


@pytest.mark.parametrize("name", ["molecules_0", "crowds_0"])
def test_files_hold_the_masks(name: str, tmp_path: Path) -> None:
    data = motifs(name)
    parts = (torch.tensor([3]), torch.tensor([1]), torch.tensor([0.25]), torch.tensor([2.0]))
    (found,) = explain(EdgesByNumber(), data, *parts)
    write_explanations([replace(found, graph="of an earlier scoring")], tmp_path / "new")
    write_explanations([found], tmp_path / "new")
    base = tmp_path / "new" / f"cluster1_{safe_name('3')}"
    assert {path.stem for path in base.parent.iterdir()} == {base.name}
    said = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))
    assert (said["graph"], said["cluster"], said["confidence"], said["distance"]) == ("3", 1, 0.25, 2.0)
    assert [edge["ends"] for edge in said["edges"]] == found.edges.tolist()
    assert [edge["kept"] for edge in said["edges"]] == found.kept.tolist()
    assert [node["invariant"] for node in said["nodes"]] == pytest.approx(found.nodes.tolist(), abs=1e-6)
    assert base.with_suffix(".png").stat().st_size > 3000


def test_a_graph_without_edges_can_be_drawn() -> None:
    (found,) = explain(EdgesByNumber(), motifs("crowds_0"), *(torch.tensor([0]),) * 4)
    none = torch.zeros(0)
    lonely = type(found)("x", 0, 1.0, 0.0, [""], torch.ones(1), torch.zeros(0, 2).long(), none, none.bool())
    assert draw(lonely).axes
