"""The demo's recipe with several seeds, each trained anew, and what each stage's model does in a business it never saw.

    python benchmarks/demo_seeds.py --seeds 11 12 13 --out runs/seeds [--json]

For every seed: the demo (base, SFT, RL on the held-out tasks of `telecom`, four attempts each), then the same three models
on the starter families of `airline_cargo`, which no training stage may use. An interrupted run is taken up again, and the
demo's own seed is taken from `OUT/demo` where `make demo RUNS=OUT` has made it. The seed changes the adapter's start, the
order of tasks, the users' words and all draws.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from journeyman.evaluate.comparison import Difference
from journeyman.evaluate.metrics import Scores
from journeyman.evaluate.statistics import Estimate
from journeyman.pipeline import evaluate_policy, run_recipe
from journeyman.progress import RichProgress
from journeyman.recipe import Evaluate, Recipe, TaskFilter, parse_recipe
from journeyman.report.data import ReportData, build_report_data
from journeyman.train.checkpoint import Checkpoints
from journeyman.train.runfolder import RunFolder
from journeyman.worlds import load_world

OTHER_WORLD = "airline_cargo"
OTHER_FAMILIES = ["starter_status", "starter_pieces"]
OTHER_TRIALS = 4


def demo(seed: int) -> Recipe:
    """The demo's recipe with another seed."""
    text = resources.files("journeyman.recipes").joinpath("demo.toml").read_text(encoding="utf-8")
    recipe = parse_recipe(text, "demo.toml")
    return recipe if seed == recipe.seed else replace(recipe, name=f"demo-{seed}", seed=seed)


def other_world(recipe: Recipe, split: str) -> Recipe:
    """Evaluation of the same model, with the same settings, in the other world."""
    tasks = (TaskFilter(families=OTHER_FAMILIES, split=split),)  # type: ignore[arg-type]
    return replace(recipe, world=OTHER_WORLD, stage=[Evaluate(name="other", tasks=tasks, trials=OTHER_TRIALS)])


def run_seed(seed: int, out: Path, console: Console) -> dict[str, Any]:
    """Train and evaluate one seed. Raises SystemExit where it was interrupted: the same command goes on."""
    recipe = demo(seed)
    folder = out / recipe.name
    with RichProgress(console) as progress:
        result = run_recipe(recipe, folder, resume=True, progress=progress)
    if result.stopped:
        raise SystemExit(f"stopped: {result.stopped}; the same command goes on")
    checkpoints = Checkpoints(folder / "checkpoints")
    adapters: dict[str, Path | None] = {"base": None}
    for step in checkpoints.steps():
        if checkpoints.state(step).finished:
            adapters["RL" if adapters.keys() >= {"SFT"} else "SFT"] = checkpoints.path(step)
    (split,) = {task.split for task in load_world(OTHER_WORLD).tasks(families=OTHER_FAMILIES)}
    elsewhere = {}
    for name, adapter in adapters.items():
        place = out / f"{OTHER_WORLD}-{seed}-{name.lower()}"
        with RichProgress(console) as progress:
            done = evaluate_policy(other_world(recipe, split), place, adapter=adapter, progress=progress)
        if done.stopped:
            raise SystemExit(f"stopped: {done.stopped}; the same command goes on")
        elsewhere[name] = reported(place).phases[0].metrics.overall
    return figures(seed, reported(folder), elsewhere)


def reported(folder: Path) -> ReportData:
    """The figures of a run."""
    run = RunFolder(folder)
    return build_report_data(run, load_world(run.recipe.world).tasks())


def figures(seed: int, data: ReportData, elsewhere: dict[str, Scores]) -> dict[str, Any]:
    """One seed's figures: rates with intervals, RL against SFT, and the rates in the other world."""
    names = {"base": "base", "sft": "SFT", "grpo": "RL"}
    by_role = {phase.role: phase.metrics for phase in data.phases}
    main = next(c for c in data.comparisons if (c.a, c.b) == (by_role["sft"].name, by_role["grpo"].name))
    return {
        "seed": seed,
        "tasks": main.tasks,
        "trials": main.trials,
        "pass@1": {names[role]: interval(found.overall.pass_at_1) for role, found in by_role.items()},
        "RL - SFT": {item.metric: difference(item) for item in main.metrics},
        f"{OTHER_WORLD} pass@1": {name: interval(found.pass_at_1) for name, found in elsewhere.items()},
    }


def interval(found: Estimate) -> list[float]:
    """Value, low and high in per cent."""
    return [round(100 * value, 1) for value in (found.value, found.low, found.high)]


def difference(found: Difference) -> dict[str, Any]:
    """A paired difference in points."""
    return {"difference": interval(found.difference), "p": round(found.p, 5)}


def main() -> None:
    """Run what is left of every seed and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--out", type=Path, default=Path("runs/seeds"), help="folder of the run folders")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    found = [run_seed(seed, arguments.out, Console(stderr=True)) for seed in arguments.seeds]
    if arguments.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return
    for one in found:
        for name, value in one.items():
            print(f"{name:24} {json.dumps(value)}")


if __name__ == "__main__":
    main()
