"""The trainer of a federation: it has a Fabric and a round loop, and behaves like Lightning's at the surface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from jsonargparse.typing import NonNegativeInt, PositiveInt
from lightning.pytorch import Callback

from fedlight import resuming
from fedlight.aggregators import Aggregator, FedAvg
from fedlight.callbacks import FederatedCheckpoint, FederatedEarlyStopping, RoundProgress, TensorBoardCurves
from fedlight.checkpoint import Checkpoint
from fedlight.client import ClientModule
from fedlight.codecs import Codec
from fedlight.data import FederatedDataModule
from fedlight.errors import ConfigurationError
from fedlight.fabric import FederationFabric, Launcher, end_processes, make_fabric, own_port
from fedlight.federation import EvaluateOn, Federation, Split
from fedlight.fit_loop import FitLoop
from fedlight.holding import holding
from fedlight.hooks import Hooks
from fedlight.loops import ClientLoop
from fedlight.objectives import Objective
from fedlight.orphans import ending_with_launcher
from fedlight.privacy.client_level import ClientPrivacy
from fedlight.ranks import Ranks
from fedlight.rounds import Progress, Round
from fedlight.run_folder import MetricsTable, new_version, remove_unused, write_json
from fedlight.sampling import UniformSampler
from fedlight.streams import root_seed
from fedlight.summaries import Scores
from fedlight.summary import print_scores, privacy_line, summary, title_of

GOES_ON = "fit goes on from the last saved round with --ckpt_path last"


class FitResult(NamedTuple):
    """What :meth:`FederatedTrainer.fit` returns, for notebooks.

    Args:
        run_folder: with summary, metrics and checkpoints; see :func:`fedlight.load_client`.
        rounds_run: finished rounds. best_round: the one tested.
        validation, test: scores of the best round by scope (``all``, ``all_macro``, client names) and metric.
    """

    run_folder: Path
    rounds_run: int
    best_round: int | None
    validation: Scores
    test: Scores


class FederatedTrainer:
    """Runs a federation: rounds of local training, aggregation, evaluation.

    Args:
        accelerator: ``auto``, ``cpu``, ``gpu`` or another of Fabric's.
        devices: processes per node, each owning a share of the clients; ``auto``: all GPUs, or one CPU process.
        num_nodes: machines.
        precision: Fabric's, for example ``bf16-mixed``.
        launcher: how several processes start: ``popen`` (scripts, command line), ``spawn`` or ``fork`` (notebooks).
        max_rounds: rounds in all, also of a resumed run.
        local_epochs: epochs of a client per round.
        check_val_every_n_rounds: evaluate all clients every n rounds and after the last.
        patience: stop after this many evaluations without a better monitored metric; ``null``: never.
        participation: fraction of the clients drawn each round, in (0, 1].
        aggregator: the server's rule; default FedAvg.
        objectives: extra terms of the clients' loss.
        private: patterns (``head.*``) of parts of the shared state that stay at each client (FedPer).
        privacy: differential privacy of whole clients, for aggregators whose weights are public.
        codec: compression of what clients send; default none.
        callbacks: Lightning's or :class:`~fedlight.callbacks.FederatedCallback`.
        keep_optimizer: keep clients' optimiser states over rounds instead of starting anew.
        evaluate_on: ``sent``: with what a client would be sent now; ``local``: with its own state after training;
            ``both``: as ``local``, and the headline metrics once more as ``<name>_local`` and ``<name>_global`` (sent).
        min_clients: a round with fewer usable updates is empty and changes nothing.
        max_empty_rounds: stop with an error after so many empty rounds in a row.
        default_root_dir, name: the run's folder is ``<default_root_dir>/<name>/version_N``.
        method: label in summaries; default the aggregator's class.
        enable_progress_bar: show rounds as they pass.
    """

    def __init__(
        self,
        accelerator: str = "auto",
        devices: int | str = "auto",
        num_nodes: PositiveInt = 1,
        precision: str | None = None,
        launcher: Launcher = "popen",
        max_rounds: PositiveInt = 100,
        local_epochs: PositiveInt = 1,
        check_val_every_n_rounds: PositiveInt = 1,
        patience: PositiveInt | None = None,
        participation: float = 1.0,
        aggregator: Aggregator | None = None,
        objectives: list[Objective] | None = None,
        private: list[str] | None = None,
        privacy: ClientPrivacy | None = None,
        codec: Codec | None = None,
        callbacks: list[Callback] | Callback | None = None,
        keep_optimizer: bool = False,
        evaluate_on: EvaluateOn = "sent",
        min_clients: NonNegativeInt = 1,
        max_empty_rounds: PositiveInt = 3,
        default_root_dir: str = "runs",
        name: str = "fedlight",
        method: str | None = None,
        enable_progress_bar: bool = True,
    ) -> None:
        if not name.strip():
            raise ConfigurationError("trainer.name must not be empty: runs are kept in <default_root_dir>/<name>")
        self.max_rounds = _at_least_one(max_rounds, "max_rounds")
        self.check_val_every_n_rounds = _at_least_one(check_val_every_n_rounds, "check_val_every_n_rounds")
        self.local_epochs, self.keep_optimizer = _at_least_one(local_epochs, "local_epochs"), keep_optimizer
        self.sampler = UniformSampler(participation)
        if not isinstance(aggregator, Aggregator | None):
            raise ConfigurationError(f"trainer.aggregator: {aggregator!r} is no Aggregator; give one, such as FedAvg()")
        self.aggregator: Aggregator = FedAvg() if aggregator is None else aggregator
        self.objectives: list[Objective] = list(objectives or [])
        self.private, self.privacy, self.codec = list(private or []), privacy, codec
        self.evaluate_on: EvaluateOn = evaluate_on
        self.min_clients, self.max_empty_rounds = max(1, min_clients), max_empty_rounds
        self.default_root_dir, self.name, self.launcher = default_root_dir, name, launcher
        self.method = method or type(self.aggregator).__name__.lower()
        given = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or [])
        if patience is not None:
            given.append(FederatedEarlyStopping(patience))
        if enable_progress_bar:
            given.append(RoundProgress())
        self.callbacks = [*given, TensorBoardCurves(), FederatedCheckpoint()]
        self.hooks = Hooks(self, self.callbacks)
        self.fabric: FederationFabric = make_fabric(accelerator, devices, num_nodes, precision, launcher)
        self.should_stop = False
        self.progress = Progress()
        self.record = Round(0)

    # what Lightning callbacks look for

    @property
    def strategy(self) -> Any:
        """Fabric's strategy."""
        return self.fabric.strategy

    @property
    def is_global_zero(self) -> bool:
        """Whether this process is rank 0, the one that writes."""
        return self.fabric.is_global_zero

    @property
    def ranks(self) -> Ranks:
        """The processes of this run, once Fabric has launched them."""
        return Ranks(self.fabric.global_rank, self.fabric.world_size, self.fabric.device)

    @property
    def log_dir(self) -> str:
        """The run's folder, the same on all ranks."""
        return str(self.run_folder)

    @property
    def epsilon(self) -> float:
        """What the run so far has told of any one client's participation at most; needs ``privacy``."""
        assert self.privacy is not None
        releases = self.progress.round - self.progress.total_empty_rounds
        return self.privacy.epsilon(releases, len(self.federation.specs))

    @property
    def current_round(self) -> int:
        """The round under way, from 0."""
        return self.record.idx

    def save_checkpoint(self, which: Literal["last", "best"]) -> None:
        """Save everything under ``checkpoints/<which>``; to be called on all ranks."""
        resuming.save(self, which)

    def name_best_last(self) -> None:
        """Make the best checkpoint the last one too; to be called on all ranks."""
        resuming.name_best_last(self)

    # entry points

    def fit(
        self, model: ClientModule, datamodule: FederatedDataModule | None = None, ckpt_path: str | None = None
    ) -> FitResult:
        """Train the federation, keep its best and last checkpoints, and test the best.

        Args:
            model: the prototype of every client.
            datamodule: the clients' data.
            ckpt_path: ``last``, ``best``, a run folder or a checkpoint folder: continue that run in its folder.

        Raises:
            FederationError: after ``max_empty_rounds`` rounds in a row without a usable update.
        """
        return cast(FitResult, self._launch(self._fit, model, datamodule, ckpt_path))

    def validate(
        self, model: ClientModule, datamodule: FederatedDataModule | None = None, ckpt_path: str | None = None
    ) -> Scores:
        """Score a checkpoint on the validation splits; writes ``validation.json`` into its run.

        ``ckpt_path`` as in :meth:`fit`, where a run folder means its best (its last if no round was validated); the
        default is the newest run. So too in :meth:`test` and :meth:`predict`.
        """
        return cast(Scores, self._launch(self._score, model, datamodule, ckpt_path, "val"))

    def test(
        self, model: ClientModule, datamodule: FederatedDataModule | None = None, ckpt_path: str | None = None
    ) -> Scores:
        """Score a checkpoint on the test splits; writes ``test.json`` into its run."""
        return cast(Scores, self._launch(self._score, model, datamodule, ckpt_path, "test"))

    def predict(
        self, model: ClientModule, datamodule: FederatedDataModule | None = None, ckpt_path: str | None = None
    ) -> list[Path]:
        """Write every client's predictions, by name, into the ``predictions`` folder of the checkpoint's run."""
        return cast(list[Path], self._launch(self._predict, model, datamodule, ckpt_path))

    # the work, in each process

    def _launch(
        self, work: Callable[..., Any], model: ClientModule, data: FederatedDataModule | None, *args: Any
    ) -> Any:
        if data is None:
            raise ConfigurationError("no datamodule given: pass datamodule=, or the section 'data' of a configuration")
        with own_port(self.launcher), ending_with_launcher():
            return self.fabric.launch(cast(Callable[..., Any], _in_process), self, work, model, data, *args)

    def _fit(self, model: ClientModule, data: FederatedDataModule, ckpt_path: str | None) -> FitResult:
        source = resuming.find(self, ckpt_path, "last") if ckpt_path else None
        self.run_folder = source.run_folder if source else self._new_folder()
        begun = False
        try:
            with holding(self):
                federation = self._build(model, data, "fit", source)
                begun = True
                return self._run(federation)
        except BaseException as error:
            refused = isinstance(error, ConfigurationError) and self.progress.round == 0
            if source is None and self.is_global_zero and (refused or not begun):
                remove_unused(self.run_folder)
            if isinstance(error, KeyboardInterrupt):
                saved = (self.run_folder / "checkpoints").exists()
                error.args = (GOES_ON if saved else "before its first checkpoint; start it anew",)
            raise

    def _run(self, federation: Federation) -> FitResult:
        try:
            FitLoop(self, federation).run()
            return self._finish(federation)
        except BaseException as error:
            self.hooks.federation("on_exception", self.model, error)
            raise
        finally:
            self.hooks.federation("teardown", self.model, "fit")

    def _build(
        self, model: ClientModule, data: FederatedDataModule, stage: str, source: Checkpoint | None
    ) -> Federation:
        ranks = self.ranks
        with ranks.together():
            data.prepare_data() if self.fabric.local_rank == 0 else None
        with ranks.together():
            data.setup(stage)
        self.model, self.datamodule = model, data
        self.fingerprints = data.fingerprints()  # hashes all data, so once and not at every checkpoint
        loop = ClientLoop(self.fabric, self.hooks, self.objectives, self.local_epochs, self.keep_optimizer)
        with ranks.together():
            seed = root_seed() if source is None else resuming.seed_of(source)
            self.federation = federation = Federation(
                self.fabric, model, data, self.aggregator, self.sampler, loop, self.hooks,
                seed, self.evaluate_on, self.min_clients, self.private, self.privacy, self.codec,
            )  # fmt: skip
        federation.agree()
        if source is None:
            federation.start()
        else:
            with ranks.together():
                resuming.restore(self, source, training=stage == "fit")
        self.hooks.federation("setup", model, stage)
        if stage == "fit" and self.is_global_zero:
            (self.run_folder / "summary.json").unlink(missing_ok=True)
            self.metrics = MetricsTable(self.run_folder / "metrics.csv", self.progress.round)
            write_json(self.run_folder / "data_report.json", data.data_report())
        return federation

    def _finish(self, federation: Federation) -> FitResult:
        best, spent = self.run_folder / "checkpoints" / "best", federation.privacy_spent()
        if self.progress.best_round is not None:
            federation.load(Checkpoint(best))
        test = federation.evaluate("test")
        self.hooks.federation("on_federated_test_end", test)
        validation = self.progress.best_validation or self.record.validation
        tested = self.progress.round - 1 if self.progress.best_round is None else self.progress.best_round
        if self.is_global_zero:
            self.metrics.add(tested, "test", test)
            whole = summary(self, validation, test, spent)
            write_json(self.run_folder / "summary.json", whole)
            title = title_of("test", tested + 1, self.progress.round)
            print_scores(title, federation.specs, test, self.model.headline)
            if "privacy" in whole:
                print(privacy_line(whole["privacy"]))
            print(f"results: {self.run_folder}")
        return FitResult(self.run_folder, self.progress.round, self.progress.best_round, validation, test)

    def _score(self, model: ClientModule, data: FederatedDataModule, ckpt_path: str | None, split: Split) -> Scores:
        stage = "validate" if split == "val" else "test"
        federation, source = self._restore(model, data, stage, ckpt_path)
        scores = federation.evaluate(split)
        if split == "test":
            self.hooks.federation("on_federated_test_end", scores)
        if self.is_global_zero:
            name, trained = "validation" if split == "val" else "test", source.manifest["progress"]["round"]
            write_json(self.run_folder / f"{name}.json", {"checkpoint": str(source.folder), "scores": scores})
            print_scores(title_of(name, trained, trained), federation.specs, scores, model.headline)
        return scores

    def _predict(self, model: ClientModule, data: FederatedDataModule, ckpt_path: str | None) -> list[Path]:
        federation, source = self._restore(model, data, "predict", ckpt_path)
        folder = self.run_folder / "predictions"
        folder.mkdir(exist_ok=True)
        written: list[Path] = []
        for client_id, client in federation.local.items():
            payload = federation.server.payload(client_id) if self.evaluate_on == "sent" else None
            with client.deployed(payload), federation.streams.seeded("predict", client.name):
                written.append(client.data.write_predictions(federation.loop.predict(client), folder))
        self.fabric.barrier()
        if self.is_global_zero:
            print(f"predictions: {folder}, by {source.folder}")
        return written

    def _restore(
        self, model: ClientModule, data: FederatedDataModule, stage: str, ckpt_path: str | None
    ) -> tuple[Federation, Checkpoint]:
        source = resuming.find(self, ckpt_path, "best")
        self.run_folder = source.run_folder
        return self._build(model, data, stage, source), source

    def _new_folder(self) -> Path:
        """Rank 0 creates the folder; if it can't, all ranks fail."""
        ranks, folder = self.ranks, ""
        with ranks.together():
            if self.is_global_zero:
                folder = str(new_version(Path(self.default_root_dir), self.name))
        return Path(ranks.from_zero(folder))


def _in_process(fabric: FederationFabric, trainer: FederatedTrainer, work: Callable[..., Any], *args: Any) -> Any:
    """What each process runs: the trainer's work on the launched Fabric, and an orderly end."""
    trainer.fabric = fabric
    try:
        return work(*args)
    finally:
        end_processes()


def _at_least_one(value: int, name: str) -> int:
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"trainer.{name} must be a whole number from 1, got {value!r}")
    return value
