import argparse
import json
from pathlib import Path

import pytest
import torch

from fedlight.cli import main
from fedlight.client import ClientSpec
from fedlight.commands import ensemble as command
from fedlight.data import ClientDataModule, FederatedDataModule
from fedlight.datamodules.knowledge_graph.client_data import KnowledgeGraphClientData
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.errors import ConfigurationError
from tests.ranked import TableClient, random_graph


class Graphs(FederatedDataModule):
    """Clients a and b, and c, which has nothing to test."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs = []
        for seed, name in enumerate("abc"):
            splits = dict(random_graph(seed=seed).splits)
            splits |= {"test": splits["test"][:0]} if name == "c" else {}
            self.graphs.append(KnowledgeGraph(name, splits, [f"e{i}" for i in range(30)], [f"r{i}" for i in range(4)]))

    @property
    def clients(self) -> list[ClientSpec]:
        return [ClientSpec(i, graph.name, {}) for i, graph in enumerate(self.graphs)]

    def client(self, client_id: int) -> ClientDataModule:
        return KnowledgeGraphClientData(self.graphs[client_id], self.graphs[client_id].splits, 8, 8)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Graphs:
    data = Graphs()
    trained = {
        (run, graph.name): TableClient(graph, torch.randn(30, 8), torch.randn(4, 8))
        for run in ("fed", "std")
        for graph in data.graphs
    }
    monkeypatch.setattr(command, "model_of_run", lambda run: run.name)
    monkeypatch.setattr(command, "load_client", lambda run, name, which, model: trained[model, name])
    monkeypatch.setattr(command, "instantiate_section", lambda path, section: data)
    return data


def test_writes_numbers_and_a_page(runs: Graphs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = command.ensemble(tmp_path / "fed", tmp_path / "std")
    assert json.loads((tmp_path / "fed" / "ensemble.json").read_text()) == result
    assert set(result["test"]) == {"federated", "standalone", "direct", "adaptive"}
    direct = result["test"]["direct"]
    assert direct["c"] == {}
    sizes = [len(graph.splits["test"]) for graph in runs.graphs]
    mean = (direct["a"]["mrr"] * sizes[0] + direct["b"]["mrr"] * sizes[1]) / (sizes[0] + sizes[1])
    assert direct["all"]["mrr"] == pytest.approx(mean)
    assert direct["all_macro"]["mrr"] == pytest.approx((direct["a"]["mrr"] + direct["b"]["mrr"]) / 2)
    assert set(result["weights"]) == {"a", "b", "c"}
    page = (tmp_path / "fed" / "ensemble.md").read_text()
    assert page in capsys.readouterr().out
    assert f"{direct['all']['mrr']:.4f}" in page
    assert "| - |" in page


def test_by_its_arguments(runs: Graphs, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    arguments = [str(tmp_path / "fed"), str(tmp_path / "std"), "--out", str(tmp_path / "out"), "--norm", "zscore"]
    assert command.run(parser.parse_args(arguments)) == 0
    assert json.loads((tmp_path / "out" / "ensemble.json").read_text())["norm"] == "zscore"
    assert not (tmp_path / "fed").exists()


def test_other_models_are_refused(runs: Graphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_client", lambda *_: torch.nn.Linear(1, 1))
    with pytest.raises(ConfigurationError, match="fed: holds Linears; an ensemble needs runs of KGEClient"):
        command.ensemble(tmp_path / "fed", tmp_path / "std")


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["ensemble", str(tmp_path / "nowhere"), str(tmp_path)])
    assert stopped.value.code == 2
    assert "nowhere" in capsys.readouterr().err


def test_on_two_runs(tmp_path: Path) -> None:
    small = ["--trainer.max_rounds", "1", "--trainer.default_root_dir", str(tmp_path), "--model.dim", "8"]
    for name, overlay in (("fed", "methods/fedltailor.yaml"), ("std", "methods/standalone.yaml")):
        arguments = ["fit", "--config", "fedltailor/demo.yaml", "--config", overlay, *small, "--trainer.name", name]
        assert main(arguments) == 0
    federated, standalone = tmp_path / "fed" / "version_0", tmp_path / "std" / "version_0"
    assert main(["ensemble", str(federated), str(standalone)]) == 0
    found = json.loads((federated / "ensemble.json").read_text())["test"]
    for variant, folder in (("federated", federated), ("standalone", standalone)):
        alone = json.loads((folder / "summary.json").read_text())["test"]
        assert found[variant]["all"] == pytest.approx(alone["all"])
        assert set(found[variant]) == set(alone)
