"""The client of federated knowledge-graph completion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import torch
from jsonargparse.typing import PositiveFloat, PositiveInt
from lightning.pytorch.cli import OptimizerCallable
from torch import Tensor
from torch.nn import Parameter

from fedlight.checked import checked
from fedlight.client import ClientSpec
from fedlight.datamodules.knowledge_graph.triples import Side, TripleBatch
from fedlight.identity import describe
from fedlight.models.kge.evaluation import RankingMixin
from fedlight.models.kge.initial import uniform_rows
from fedlight.models.kge.kernels import kernel_for
from fedlight.models.kge.negatives import NegativeSampler
from fedlight.models.kge.ranking import Sides
from fedlight.models.kge.scorers import ScorerName, make_scorer
from fedlight.models.kge.step import Step, self_adversarial_step
from fedlight.streams import Streams
from fedlight.tables import Part, RowIndex, RowTable, SharedState

Corruption = Literal["both", "tail"]


def fused_adam(parameters: Iterable[Parameter]) -> torch.optim.Optimizer:
    """Adam with learning rate 1e-3 (FedE), in one pass over the tables."""
    return torch.optim.Adam(parameters, lr=1e-3, fused=True)


class KGEClient(RankingMixin):
    """One owner of a knowledge graph: an entity table, shared by rows, and a relation table, private.

    Trained with the self-adversarial negative sampling loss (METHODS 1.1). Tables start uniform in [-r, r],
    r = (margin + 2) / dim: entity rows alike at all clients, relations drawn per client. With ``spec.rows["relation"]``
    (the Collective switch of the data) relations are shared by rows as well. Rows that the client does not own keep
    their first values until the server sends them.

    Args:
        scorer: ``transe``, ``distmult``, ``complex`` or ``rotate``.
        dim: components of an embedding; complex ones for ``complex`` and ``rotate``.
        margin: gamma of the distance scores, and of the initial range of all.
        p: norm of TransE.
        num_negatives: negatives per positive.
        negatives_chunk: positives that share their negatives; 1 = independent ones, many times slower.
        adversarial_temperature: of the negatives' weights.
        corruption: ``both`` corrupts tails and heads in turn, batch by batch; ``tail`` as FedE.
        ranking: sides asked for in evaluation, ``both`` or ``tail``.
        optimizer: over both tables.
        eval_memory_mb: bound of the blocks of scores in evaluation, MiB.

    Raises:
        ConfigurationError: for values that the annotations rule out.
    """

    system: ClassVar[str] = "fedltailor"
    monitor: ClassVar[str] = "all/mrr"
    monitor_mode: ClassVar[Literal["min", "max"]] = "max"
    headline: ClassVar[tuple[str, ...]] = ("mrr", "hits@1", "hits@3", "hits@10")
    builds_from: ClassVar[tuple[str, ...]] = ("num_entities", "num_relations")

    entity: Parameter
    relation: Parameter

    @checked("model")
    def __init__(
        self,
        scorer: ScorerName = "transe",
        dim: PositiveInt = 128,
        margin: float = 10.0,
        p: Literal[1, 2] = 1,
        num_negatives: PositiveInt = 256,
        negatives_chunk: PositiveInt = 16,
        adversarial_temperature: PositiveFloat = 1.0,
        corruption: Corruption = "both",
        ranking: Sides = "both",
        optimizer: OptimizerCallable = fused_adam,
        eval_memory_mb: PositiveInt = 256,
    ) -> None:
        super().__init__()
        self.scorer = make_scorer(scorer, dim, margin, p)
        self.dim = dim
        self.initial_bound = (margin + 2.0) / dim
        self.sampler = NegativeSampler(num_negatives, negatives_chunk)
        self.adversarial_temperature = adversarial_temperature
        self.corruption = corruption
        self.ranking_sides = ranking
        self.optimizer = optimizer
        self.eval_memory_mb = eval_memory_mb

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        """Create the tables; shared rows hang on their global ids, a private relation table on the client's name."""
        sizes = {"entity": spec.sizes["num_entities"], "relation": spec.sizes["num_relations"]}
        widths = {"entity": self.scorer.entity_width(self.dim), "relation": self.scorer.relation_width(self.dim)}
        for name, size in sizes.items():
            if name == "relation" and name not in spec.rows:
                generator = streams.generator("init", spec.name)
                table = torch.empty(size, widths[name]).uniform_(
                    -self.initial_bound, self.initial_bound, generator=generator
                )
            else:
                rows = spec.rows.get(name) or _all_rows(size)
                table = uniform_rows(rows.ids, widths[name], self.initial_bound, streams.seed(f"init {name}"))
                self._register_rows(name, rows)
            self.register_parameter(name, Parameter(table))

    def _register_rows(self, name: str, rows: RowIndex) -> None:
        """Keep which local rows travel; rebuilt from the spec, so not part of the state."""
        for way, mask in (("upload", rows.upload), ("download", rows.download)):
            self.register_buffer(f"{name}_{way}", mask.nonzero().view(-1), persistent=False)
        self.register_buffer(f"{name}_ids", rows.ids, persistent=False)

    @property
    def shared_tables(self) -> list[str]:
        """Names of the tables whose rows travel."""
        return [name for name in ("entity", "relation") if hasattr(self, f"{name}_ids")]

    def shared_state(self) -> SharedState:
        """The rows that the client trains and others have too."""
        state: SharedState = {}
        for name in self.shared_tables:
            upload = self.get_buffer(f"{name}_upload")
            state[name] = RowTable(self.get_buffer(f"{name}_ids")[upload], self.get_parameter(name).detach()[upload])
        return state

    @torch.no_grad()
    def load_shared_state(self, state: Mapping[str, Part]) -> None:
        """Write the received rows into the tables.

        Raises:
            ValueError: when a part does not hold exactly the rows that this client downloads.
        """
        for name, part in state.items():
            if name not in self.shared_tables or not isinstance(part, RowTable):
                raise ValueError(f"client {self._name}: expected rows of {self.shared_tables}, got part {name!r}")
            download = self.get_buffer(f"{name}_download")
            if len(part.ids) != len(download):
                raise ValueError(
                    f"client {self._name}: {name} downloads {len(download)} rows, the server sent {len(part.ids)}"
                )
            table = self.get_parameter(name)
            table[download] = part.rows.to(device=table.device, dtype=table.dtype)

    def reference_state(self) -> dict[str, Tensor]:
        """The entity table, all rows: what contrast and proximal terms compare."""
        return {"entity": self.entity}

    def identity(self) -> dict[str, Any]:
        """The score and the width; what only training or ranking uses may change."""
        return {**super().identity(), "dim": self.dim, "scorer": describe(self.scorer)}

    def tables(self) -> tuple[Tensor, Tensor]:
        """Entity and relation table, for ranking."""
        return self.entity.detach(), self.relation.detach()

    def training_step(self, batch: TripleBatch, batch_idx: int) -> dict[str, Any]:
        """One batch's loss, its positive and negative term as ``terms``."""
        side: Side = "head" if self.corruption == "both" and batch_idx % 2 else "tail"
        negatives = self.sampler.sample(batch.triples, batch.graph, side)
        step = Step(self.scorer, kernel_for(self.scorer), batch.triples, negatives, side, self.adversarial_temperature)
        loss, positive, negative = self_adversarial_step(self.entity, self.relation, step)
        if self._trainer is not None:
            self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        terms = {"positive": positive, "negative": negative}
        return {"loss": loss, "batch_size": len(batch), "terms": terms}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """One optimiser over both tables, new for every call."""
        return self.optimizer(self.parameters())

    @property
    def _name(self) -> str:
        return "prototype" if self.spec is None else self.spec.name


def _all_rows(size: int) -> RowIndex:
    """A table that travels whole, for a client without a federation's numbering."""
    everything = torch.ones(size, dtype=torch.bool)
    return RowIndex(torch.arange(size), everything, everything)
