"""Which shipped method is for which system, and what to tell when an overlay was laid over another system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fedlight.client import ClientModule
from fedlight.config import shipped_configs
from fedlight.config_errors import subclasses
from fedlight.config_places import Given

EVERY: Final = (
    "standalone", "collective", "fedavg", "fedprox", "fedavgm", "fedadam", "fedyogi", "coordinate_median",
    "trimmed_mean", "krum", "multi_krum", "scaffold", "gcfl", "gcfl_plus", "fedavg_private",
    "fedavg_int8", "fedavg_topk", "fedavg_topk_int8", "fedavg_low_rank",
)  # fmt: skip
METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "fedltailor": (
        *EVERY, "fede", "fedec", "fedltailor", "fedltailor_no_contrast", "fedltailor_no_fusion",
        "fedltailor_no_weights",
    ),
    "fedsdr": (
        *EVERY, "moon", "fedper", "fedgta", "fedsage", "fedsage_plus", "distribution_similarity",
        "fedsdr", "fedsdr_released", "fedsdr_snaa_only",
        "fedsdr_rlsr_only", "fedsdr_plus", "fedavg_pilot",
        "fedsdr_private", "fedavg_clean", "fedavg_mlp", "fedsdr_plus_mlp", "fedavg_knn_mix", "fedavg_triple_mix",
        "fedavg_gate",
    ),
    "fgcn_dks": (
        *(name for name in EVERY if name != "collective"), "fgcn_dks", "fgcn_dks_literal", "fgcn_dks_untrained",
        "fgcn_dks_gmm", "fgcn_dks_prototype",
        "fgcn_dks_no_separation", "fgcn_dks_no_common_knowledge", "fgcn_dks_no_refinement", "fgcn_dks_no_invariance",
        "fgcn_dks_no_diversity", "fgcn_dks_no_environment", "fgcn_dks_no_reconstruction", "fgcn_dks_no_budget",
        "fgcn_dks_hist", "fgcn_dks_wl_hist", "fgcn_dks_rw", "fgcn_dks_sp", "fgcn_dks_lt",
        "fedstar", "fedgcn", "fedpka", "dglc",
    ),
}  # fmt: skip
"""Names of the overlays that ``configs/methods`` has for each :attr:`~fedlight.ClientModule.system`."""
NEEDS: Final = {
    "fedltailor": "knowledge graphs (KGEClient)",
    "fedsdr": "graphs whose nodes are classified (NoisyGraphClient)",
    "fgcn_dks": "collections of graphs (InvariantGNNClient)",
}


def explain_overlay(message: str, files: Iterable[Path], given: Sequence[Given]) -> str:
    """Add to an error that an overlay is for another system, what it needs, and which methods fit the model.

    Args:
        message: of the error, with its place.
        files: the configurations of the run.
        given: what they and the command line say.

    Returns:
        the message as it was, where every overlay fits or nothing is known of the model.
    """
    model = next((each.text for each in reversed(given) if each.key in ("model", "model.class_path")), "")
    fitting = METHODS.get(_system(model.rpartition(".")[2]), ())
    overlays = shipped_configs().resolve() / "methods"
    names = [file.stem for file in files if file.resolve().parent == overlays]
    strange = next((name for name in names if fitting and name not in fitting), None)
    if strange is None:
        return message
    needs = " or ".join(NEEDS[system] for system, known in METHODS.items() if strange in known)
    fault = message.split("; did you mean")[0]  # names options of all systems
    return (
        f"{fault}; methods/{strange}.yaml is for {needs}, not for {model.rpartition('.')[2]}, whose methods are "
        + ", ".join(fitting)
    )


def _system(name: str) -> str:
    """What a class of clients learns; for an unknown one no system that has methods."""
    found: Any = next((cls for cls in subclasses(ClientModule) if cls.__name__ == name), ClientModule)
    system: str = found.system
    return system
