"""The small twins of the published recipes, one after another: does each beat its start?

    python benchmarks/twins.py [NAME ...] --seeds 11 12 13 --out runs/twins [--json]

NAME is a recipe of `recipes/` without `.toml` (default: every `-small` one). A twin's start is its last evaluation before the
first stage of RL or distillation, its end its last evaluation: both on the same held-out tasks, with the same users. It beats
its start where the 95 % interval of the paired difference in pass@1 lies above 0; else it failed, and is printed as failed. Then
the ends of those that are meant to be compared, where both are there. An interrupted run is taken up again. Exit code 1 where a
twin failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console

from journeyman.curriculum.pools import select
from journeyman.evaluate.comparison import compare
from journeyman.evaluate.metrics import PhaseMetrics, measure_phase, task_info
from journeyman.pipeline import run_recipe
from journeyman.progress import RichProgress
from journeyman.recipe import Evaluate, Recipe, Sampled, load_recipe
from journeyman.train.runfolder import RunFolder, phase_of
from journeyman.worlds import load_world

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
PAIRS = (
    ("s1-toloka-27b-binary-small", "s1-toloka-27b-rubric-small"),
    ("s2-afterquery-9b-grpo-small", "s2-afterquery-9b-small"),
    ("s4-toloka-4b-sync-small", "s4-toloka-4b-small"),
    ("s4-toloka-4b-small", "s4-toloka-4b-bridge-small"),
)
"""(a, b): b's end against a's."""


def start_and_end(recipe: Recipe) -> tuple[Evaluate, Evaluate]:
    """The evaluations between which a recipe's RL lies."""
    first = next(place for place, stage in enumerate(recipe.stage) if isinstance(stage, Sampled))
    before = [stage for stage in recipe.stage[:first] if isinstance(stage, Evaluate)]
    after = [stage for stage in recipe.stage[first:] if isinstance(stage, Evaluate)]
    return before[-1], after[-1]


def measured(run: RunFolder, stage: Evaluate) -> PhaseMetrics:
    """What a run's evaluation found."""
    tasks = select(load_world(run.recipe.world).tasks(), stage.tasks, stage.name)
    return measure_phase(stage.name, run.episodes(stage.name), [task_info(task) for task in tasks], stage.trials)


def played(recipe: Recipe, out: Path, console: Console) -> RunFolder:
    """The finished run of a recipe. Raises SystemExit where it was interrupted."""
    with RichProgress(console) as progress:
        result = run_recipe(recipe, out / recipe.name, resume=True, progress=progress)
    if result.stopped:
        raise SystemExit(f"stopped: {result.stopped}; the same command goes on")
    return result.folder


def verdict(run: RunFolder) -> dict[str, Any]:
    """One twin's figures, rates in per cent and differences in points."""
    start, end = start_and_end(run.recipe)
    a, b = measured(run, start), measured(run, end)
    found = compare(a, b).metric("pass@1")
    return {
        "twin": run.recipe.name,
        "seed": run.recipe.seed,
        "start": interval(a.overall.pass_at_1),
        "end": interval(b.overall.pass_at_1),
        "difference": interval(found.difference),
        "p": round(found.p, 5),
        "tasks": len(a.tasks),
        "trials": a.trials,
        "minutes": round(run.seconds() / 60, 1),
        "sampled_turns": sampled_turns(run),
        "verdict": "beats its start" if found.difference.low > 0 else "failed",
    }


def sampled_turns(run: RunFolder) -> int:
    """Turns of the policy that training sampled: of whole episodes and of single turns, profiles included."""
    trained = [stage.name for stage in run.recipe.stage if isinstance(stage, Sampled)]
    count = 0
    for episode in run.episodes():
        phase = phase_of(episode.id)
        if phase.startswith(tuple(trained)) and not phase.endswith("-monitor") and "policy" in episode.usage:
            count += episode.usage["policy"].requests
    return count


def against(a: RunFolder, b: RunFolder) -> dict[str, Any]:
    """The end of `b` against that of `a`."""
    found = compare(*(measured(run, start_and_end(run.recipe)[1]) for run in (a, b)))
    return {
        "compared": f"{b.recipe.name} - {a.recipe.name}",
        "difference": interval(found.metric("pass@1").difference),
        "clean pass": interval(found.metric("clean pass").difference),
        "p": round(found.metric("pass@1").p, 5),
        "minutes": [round(run.seconds() / 60, 1) for run in (a, b)],
        "sampled_turns": [sampled_turns(run) for run in (a, b)],
    }


def interval(found: Any) -> list[float]:
    """Value, low and high in per cent."""
    return [round(100 * value, 1) for value in (found.value, found.low, found.high)]


def main() -> None:
    """Run what is left of every twin and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="recipes (default: every small one)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[11])
    parser.add_argument("--out", type=Path, default=Path("runs/twins"), help="folder of the run folders")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = arguments.names or sorted(path.stem for path in RECIPES.glob("*-small.toml"))
    console, twins, pairs = Console(stderr=True), [], []
    for seed in arguments.seeds:
        runs = {}
        for name in names:
            recipe = load_recipe(RECIPES / f"{name}.toml")
            runs[name] = played(replace(recipe, name=f"{name}-{seed}", seed=seed), arguments.out, console)
            twins.append(verdict(runs[name]))
            if not arguments.json:
                print(json.dumps(twins[-1]), flush=True)
        pairs += [against(runs[a], runs[b]) for a, b in PAIRS if a in runs and b in runs]
    if arguments.json:
        sys.stdout.write(json.dumps({"twins": twins, "pairs": pairs}) + "\n")
    else:
        for one in pairs:
            print(json.dumps(one))
    if any(one["verdict"] == "failed" for one in twins):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
