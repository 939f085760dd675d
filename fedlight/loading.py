"""One trained client back as a LightningModule."""

from __future__ import annotations

import json
from pathlib import Path

from fedlight.checkpoint import Checkpoint, unpack_payload, unpack_spec
from fedlight.client import ClientModule
from fedlight.errors import CheckpointError
from fedlight.identity import check_same
from fedlight.local import LocalClient


def load_client(
    run: str | Path, name: str, checkpoint: str = "best", model: ClientModule | None = None
) -> ClientModule:
    """Return one client as it was evaluated: with what the server would send it, its own share mixed in.

    Args:
        run: a run's folder.
        name: of the client.
        checkpoint: ``best`` or ``last``.
        model: the prototype; default the one in the run's ``config.yaml`` (written by the command line).

    Raises:
        CheckpointError: when there is no such checkpoint or client, or no configuration to build the model from.
    """
    if not Path(run).is_dir():
        raise CheckpointError(f"{run}: no such run folder")
    source = Checkpoint(Path(run) / "checkpoints" / checkpoint)
    names: list[str] = source.manifest["clients"]
    if name not in names:
        raise CheckpointError(f"{source.folder}: no client {name!r}; it holds {json.dumps(names, ensure_ascii=False)}")
    state = source.client(names.index(name))
    prototype = model_of_run(Path(run)) if model is None else model
    check_same(source.folder, "model", source.manifest["model"], prototype.identity())
    module = prototype.for_client(unpack_spec(state["spec"]), source.manifest["seed"])
    client = LocalClient(unpack_spec(state["spec"]), module)
    client.load_state_dict(state)
    payload = unpack_payload(state["payload"])
    sent = client.fused(payload)
    if sent is not None:
        client.sharing.load(sent)
    module.receive_facts(payload.facts)
    return module.eval()


def model_of_run(run: Path) -> ClientModule:
    """Build the prototype from a run's saved configuration.

    Raises:
        CheckpointError: when the run has none.
    """
    from fedlight.config import instantiate_section  # the command line's parser imports every public class

    path = run / "config.yaml"
    if not run.is_dir():
        raise CheckpointError(f"{run}: no such folder; name a run's folder, which ends in version_<n>")
    if not path.exists():
        raise CheckpointError(f"{path}: missing (the run was not started from the command line); pass model=")
    model = instantiate_section(path, "model")
    assert isinstance(model, ClientModule)
    return model
