"""A bridge against full fine-tuning, each followed by the same RL: what the lighter stage costs and what is left of it at the end.

    python benchmarks/bridge.py --seeds 11 12 13 --out runs/bridge [--json]

Two runs a seed, in the settings of the demo. `full` fine-tunes on traces of several teachers for as many steps as the demo.
`bridge` takes at most a tenth of the same traces and ends when 95 % of the calls on its monitoring tasks are valid. The RL
stage, its tasks and its seeds are equal, and so are the held-out tasks, users and sampling seeds of the evaluations, so that the
differences (bridge − full) are paired. The monitoring tasks are training tasks that neither run trains on. An interrupted
benchmark goes on with the same command. `--demo smoke` does it all with a tiny random model, which learns nothing worth having.
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

from journeyman.evaluate.comparison import compare
from journeyman.evaluate.statistics import Estimate
from journeyman.pipeline import run_recipe
from journeyman.progress import RichProgress
from journeyman.recipe import Bridge, Recipe, Sft, TaskFilter, checked, parse_recipe
from journeyman.report.data import ReportData, build_report_data
from journeyman.train.runfolder import RunFolder
from journeyman.worlds import load_world

ARMS = ("full", "bridge")
TEACHERS = ("oracle", "terse", "formal", "friendly", "recovering")
MONITORED = 16
"""Training tasks on which the calls are watched."""
LOOK_EVERY = 2
"""Steps between two looks."""


def arm(name: str, demo: str, seed: int) -> Recipe:
    """The demo's recipe with one of the two stages of fine-tuning in place of its own."""
    text = resources.files("journeyman.recipes").joinpath(f"{demo}.toml").read_text(encoding="utf-8")
    recipe = parse_recipe(text, f"{demo}.toml")
    (plain,) = (stage for stage in recipe.stage if isinstance(stage, Sft))
    monitor = TaskFilter(families=plain.tasks.families[-1:], limit=MONITORED)
    sft = replace(plain, teachers=TEACHERS, traces_per_task=2, attempts=1, monitor=monitor)
    if name == "bridge":
        sft = replace(sft, bridge=Bridge(share=0.1, valid_calls=0.95), evaluate_every=LOOK_EVERY)
    stages = [sft if stage is plain else stage for stage in recipe.stage]
    return checked(replace(recipe, name=f"{name}-{seed}", seed=seed, stage=stages), f"{demo}.toml")


def run_arm(name: str, demo: str, seed: int, out: Path, console: Console) -> RunFolder:
    """Run one arm, or what is left of it. Raises SystemExit where it was interrupted."""
    recipe = arm(name, demo, seed)
    with RichProgress(console) as progress:
        result = run_recipe(recipe, out / recipe.name, resume=True, progress=progress)
    if result.stopped:
        raise SystemExit(f"stopped: {result.stopped}; the same command goes on")
    return result.folder


def light(folder: RunFolder) -> dict[str, Any]:
    """What the fine-tuning took: traces, steps, tokens, seconds, and the share of valid calls at each look."""
    lines = list(folder.metrics())
    (traces,) = (line for line in lines if line["kind"] == "traces")
    steps = [line for line in lines if line["kind"] == "train" and line["method"] == "sft"]
    looks = [line for line in lines if line["kind"] == "monitor" and line["stage"] == traces["stage"]]
    return {
        "traces": traces["used"],
        "of": traces["kept"],
        "steps": len(steps),
        "tokens": sum(line["tokens_trained"] for line in steps),
        "seconds": round(sum(line["seconds_training"] for line in steps), 1),
        "valid_calls": {line["step"]: round(line["valid_call_share"], 3) for line in looks},
    }


def figures(seed: int, folders: dict[str, RunFolder]) -> dict[str, Any]:
    """One seed: what each arm took, its rates after fine-tuning and after RL, and the paired differences."""
    data = {name: build_report_data(run, load_world(run.recipe.world).tasks()) for name, run in folders.items()}
    found: dict[str, Any] = {"seed": seed, "fine-tuning": {name: light(run) for name, run in folders.items()}}
    for role, label in (("sft", "SFT"), ("grpo", "RL")):
        sides = [phase(data[name], role) for name in ARMS]
        found[f"pass@1 after {label}"] = {
            name: interval(side.overall.pass_at_1) for name, side in zip(ARMS, sides, strict=True)
        }
        paired = compare(sides[0], sides[1])
        found[f"bridge - full after {label}"] = {
            item.metric: {"difference": interval(item.difference), "p": round(item.p, 5)} for item in paired.metrics
        }
    return found


def phase(data: ReportData, role: str) -> Any:
    """The metrics of the evaluation that followed a kind of stage."""
    return next(one.metrics for one in data.phases if one.role == role)


def interval(found: Estimate) -> list[float]:
    """Value, low and high in per cent."""
    return [round(100 * value, 1) for value in (found.value, found.low, found.high)]


def main() -> None:
    """Run what is left of both arms of every seed and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--out", type=Path, default=Path("runs/bridge"), help="folder of the run folders")
    parser.add_argument("--demo", choices=("demo", "smoke"), default="demo", help="whose settings")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    found = [
        figures(seed, {name: run_arm(name, arguments.demo, seed, arguments.out, console) for name in ARMS})
        for seed in arguments.seeds
    ]
    if arguments.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return
    for one in found:
        for name, value in one.items():
            print(f"{name:24} {json.dumps(value)}")


if __name__ == "__main__":
    main()
