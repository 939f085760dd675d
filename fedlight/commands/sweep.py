"""``python -m fedlight sweep``: every method with every seed, each in its own process, then the comparison."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from fedlight.commands.compare import compare
from fedlight.commands.grid import Variant, read_key, variants
from fedlight.commands.plan import Experiment
from fedlight.commands.processes import run_all
from fedlight.commands.runs import find_runs
from fedlight.commands.space import Space, read_space
from fedlight.commands.tuning import FOLDER, Budget, tune
from fedlight.config import find_config
from fedlight.errors import ConfigurationError, FedlightError

DESCRIPTION = (
    "Run several methods with several seeds, on a grid of settings or after tuning each of them on validation, then "
    "compare them. Call it again to go on where it stopped."
)
# The sweep sets these itself.
_OWNED = ("config", "ckpt_path", "seed_everything", "trainer.default_root_dir", "trainer.name")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--config", action="append", metavar="BASE.yaml", help="data, model and shared settings; may be repeated"
    )
    parser.add_argument("--methods", metavar="A,B", help="overlays on top: names below methods/, or YAML files")
    parser.add_argument("--seeds", default="0", metavar="0,1,2", help="one run of each method for each seed")
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="override in every run: trainer.max_rounds=50; repeatable"
    )
    parser.add_argument(
        "--grid", action="append", metavar="KEY=[A,B]", help="run all with each of these values; repeatable: all pairs"
    )
    parser.add_argument(
        "--with",
        dest="overlays",
        action="append",
        metavar="A.yaml,B.yaml",
        help="run all with each of these overlays below the method; repeatable: all pairs",
    )
    parser.add_argument(
        "--tune", type=int, default=0, metavar="N", help="first tune each method in N trials on its first seed (Optuna)"
    )
    parser.add_argument("--space", metavar="FILE.yaml", help="what is tuned: {method or '*': {KEY: [values] or range}}")
    parser.add_argument(
        "--tune-metric", metavar="NAME", help="of validation, to be tuned for; default the first one in the tables"
    )
    parser.add_argument("--out", metavar="DIR", help="the sweep's folder, default runs/sweep_<base>")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="runs at a time; several share out the processor's threads"
    )


def run(args: argparse.Namespace) -> int:
    """Run the sweep that ``args`` describes.

    Returns:
        0 when every run finished and could be compared, 1 otherwise, 130 when interrupted.
    """
    points = variants(args.overlays or [], args.grid or [])
    experiments = plan(args.config or [], args.methods or "", args.seeds, args.set or [], args.out, points)
    if args.jobs < 1:
        raise ConfigurationError(f"--jobs {args.jobs}: must be 1 or more")
    spaces = _spaces(args, points)
    try:
        if spaces is not None:
            budget = Budget(args.tune, args.jobs, args.tune_metric)
            experiments = tune(experiments, spaces, budget, run_all)
        for experiment in experiments:
            experiment.check()
        failed = run_all(experiments, args.jobs)
    except KeyboardInterrupt:
        print("interrupted; call the same command again to go on", flush=True)
        return 130
    compared = len(failed) < len(experiments) and _compare(experiments[0].out)
    if failed:
        print(f"{len(failed)} of {len(experiments)} runs failed: {', '.join(one.name for one in failed)}", flush=True)
    return 0 if compared and not failed else 1


def _spaces(args: argparse.Namespace, points: Sequence[Variant]) -> dict[str, Space] | None:
    """What is tuned, or ``None``."""
    if args.tune < 0 or (args.tune > 0) != (args.space is not None):
        raise ConfigurationError(
            f"--tune {args.tune} and --space {args.space}: give both, N trials and where to search"
        )
    if not args.tune:
        return None
    if len(points) > 1:
        raise ConfigurationError("--tune searches by itself: leave out --grid and --with, or tune first")
    return read_space(Path(args.space))


def plan(
    configs: Sequence[str],
    methods: str,
    seeds: str,
    overrides: Sequence[str],
    out: str | None,
    points: Sequence[Variant] = (Variant(),),
) -> list[Experiment]:
    """Lay out the runs, methods outermost, seeds innermost.

    Raises:
        ConfigurationError: naming the option that is missing or can't be used.
    """
    if not configs:
        raise ConfigurationError("--config is missing: name the base configuration, for example fedltailor/demo.yaml")
    for config in configs:
        find_config(config)
    for pair in (*overrides, *(pair for point in points for pair in point.overrides)):
        _check_override(pair)
    overlays = _overlays(methods)
    folder = Path(out or Path("runs") / f"sweep_{PurePath(configs[0]).stem}")
    return [
        Experiment(
            "_".join(filter(None, (name, point.label, f"seed{seed}"))),
            folder,
            (*configs, *point.configs, overlay),
            seed,
            (*overrides, *point.overrides),
            name,
        )
        for name, overlay in overlays.items()
        for point in points
        for seed in _seeds(seeds)
    ]


def _overlays(methods: str) -> dict[str, str]:
    """Overlays by the name of their method."""
    overlays: dict[str, str] = {}
    for word in filter(None, (word.strip() for word in methods.split(","))):
        overlay = word if word.endswith((".yaml", ".yml")) else f"methods/{word}.yaml"
        find_config(overlay)
        name = PurePath(overlay).stem
        if name in overlays:
            raise ConfigurationError(f"--methods {methods}: two overlays are called {name!r}; rename one")
        overlays[name] = overlay
    if not overlays:
        raise ConfigurationError("--methods is missing: name one or more, for example --methods standalone,fede")
    return overlays


def _seeds(text: str) -> list[int]:
    words = [word.strip() for word in str(text).split(",")]
    if not all(re.fullmatch(r"\d+", word) for word in words) or len(set(words)) < len(words):
        raise ConfigurationError(f"--seeds {text}: must be whole numbers, each once, separated by commas: 0,1,2")
    return [int(word) for word in words]


def _check_override(pair: str) -> None:
    key, _ = read_key("--set", pair)
    if key in _OWNED:
        raise ConfigurationError(f"--set {pair}: the sweep sets {key} itself (see --seeds, --out, --config, --methods)")


def _compare(out: Path) -> bool:
    """Show what all finished runs in ``out`` reached, on test where they were tested; say whether that was possible."""
    try:
        paths = [folder for folder in sorted(out.iterdir()) if folder.is_dir() and folder.name != FOLDER]
        paths = [folder for folder in paths if any(folder.glob("version_*/summary.json"))] or [out]
        tested = any(run.metrics("test") for run in find_runs(paths))
        compare(paths, split="test" if tested else "validation", out=out / "compare.md")
    except FedlightError as error:
        print(f"no comparison: {error}", flush=True)
        return False
    return True
