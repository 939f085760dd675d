"""The contract of a federated callback; its docstring is the map of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from lightning.pytorch import Callback

from fedlight.client import Report
from fedlight.local import LocalClient
from fedlight.mixing import Mixing

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class FederatedCallback(Callback):
    """A Lightning callback with the hooks of a federation.

    The round, with every hook::

        setup, on_fit_start
        for round_idx in range(max_rounds):
            on_round_start(round_idx)
            participants = sampler.sample(clients, round_idx)
            on_clients_sampled(participants)
            for client in participants of this rank:
                client.receive(payload)                         # fusion happens here
                on_client_train_start(client)
                    on_train_start, on_train_epoch_start, on_train_batch_start, on_before_backward,
                    on_after_backward, on_before_optimizer_step, on_train_batch_end, on_train_epoch_end, on_train_end
                on_client_train_end(client, report)
            reports = gather(...)                               # guarded: NaN, Inf, shapes
            on_before_aggregate(reports)
            mixing = aggregator.mix(reports, round_idx)
            server.apply(mixing, updates)
            on_after_aggregate(mixing)
            every n rounds:
                for client in clients of this rank:
                    on_client_validation_start(client)
                        on_validation_start, on_validation_epoch_start, on_validation_batch_start,
                        on_validation_batch_end, on_validation_epoch_end, on_validation_end
                    on_client_validation_end(client, metrics)
                on_federated_validation_end(metrics)
            on_round_end(round_idx)
        on_fit_end
        the best round is loaded, and all clients are tested (hooks as above)
        on_federated_test_end(metrics)
        teardown

    The indented hooks are Lightning's own, of the active client's module and of every callback, with ``pl_module`` =
    that module. Hooks run on every rank; a rank sees ``on_client_*`` for its own clients only. Callbacks observe: only
    models, aggregators, samplers and a callback whose purpose is to change data may change state.
    What they want drawn they leave in ``trainer.record.scalars`` and ``figures``, by ``on_round_end``.
    State that must survive a resume goes through Lightning's ``state_dict`` and ``load_state_dict``.

    Attributes:
        only_looks_on: whether neither what is learnt nor any score hangs on the callback, except by the number of
            rounds; a run that goes on with or without such a one is not told of it.
    """

    only_looks_on: ClassVar[bool] = False

    def on_round_start(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """A round begins."""

    def on_clients_sampled(self, trainer: FederatedTrainer, participants: Sequence[int]) -> None:
        """The participants are drawn."""

    def on_client_train_start(self, trainer: FederatedTrainer, client: LocalClient) -> None:
        """A client has received its payload and will train."""

    def on_client_train_end(self, trainer: FederatedTrainer, client: LocalClient, report: Report) -> None:
        """A client has trained."""

    def on_before_aggregate(self, trainer: FederatedTrainer, reports: Mapping[int, Report]) -> None:
        """All usable reports are here."""

    def on_after_aggregate(self, trainer: FederatedTrainer, mixing: Mixing) -> None:
        """The server has combined the updates."""

    def on_client_validation_start(self, trainer: FederatedTrainer, client: LocalClient) -> None:
        """A client will be evaluated."""

    def on_client_validation_end(
        self, trainer: FederatedTrainer, client: LocalClient, metrics: Mapping[str, float]
    ) -> None:
        """A client was evaluated."""

    def on_federated_validation_end(
        self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]
    ) -> None:
        """All clients were evaluated; ``metrics[scope][metric]`` with scopes ``all``, ``all_macro``, client names."""

    def on_federated_test_end(self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]) -> None:
        """The best round was tested, at the end of ``fit`` or by ``test``; its state is still loaded."""

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """A round is over, evaluation included: the post-round hook."""
