"""Kills a run with SIGKILL at random moments of SFT, GRPO, OPD and PivotRL, resumes it, and compares it with an undisturbed run.

    python benchmarks/kill_resume.py --points 10

Tiny random model, float32, CPU. `replay` must give equal weights, episode keys, digests and counters; `reuse` equal keys and
counters. Prints JSON: per mode and stage the number of kills, how many resumed runs were equal, and what the kills hit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import msgspec

from journeyman.episode import SamplingSettings
from journeyman.recipe import (
    Evaluate,
    Grpo,
    Model,
    Opd,
    Optimizer,
    Pivot,
    Recipe,
    Reward,
    RunSettings,
    Sampling,
    Sft,
    Stage,
    TaskFilter,
    Teacher,
)
from journeyman.train.runfolder import RunFolder

Mode = Literal["replay", "reuse"]

BEFORE = {"sft": "base", "grpo": "after", "opd": "taught", "pivot": "distilled"}
"""Stage to kill in -> the evaluation before it, whose line of metrics tells that the stage has begun."""
FINAL = {"sft": "after", "grpo": "final", "opd": "distilled", "pivot": "pivoted"}
"""Stage to kill in -> the evaluation after it, whose line of metrics tells that it is over."""
KILLED = {"rl": ("sft", "grpo"), "taught": ("opd", "pivot")}
"""Chain of stages -> those to kill in."""


def recipe(mode: Mode, chain: str = "rl") -> Recipe:
    """Seconds of work that touch every kind of step. `rl`: evaluate, SFT, evaluate, GRPO with monitoring, evaluate.
    `taught`: SFT, evaluate, on-policy distillation from it, evaluate, PivotRL on its traces, evaluate."""
    settings = SamplingSettings(max_tokens=16 if chain == "rl" else 48, context_limit=512)
    # Hot sampling keeps the attempts of a group apart, so that GRPO has something to learn in every step.
    temperature = 1.6 if chain == "rl" else 1.0
    return Recipe(
        name="kill",
        world="closing_desk:WORLD" if chain == "rl" else "filing_desk:WORLD",
        seed=7,
        model=Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=8, lora_alpha=16.0, slots=16),
        sampling=Sampling(train=msgspec.structs.replace(settings, temperature=temperature), eval=settings),
        reward=Reward(token_penalty=0.2),
        run=RunSettings(resume=mode, threads=1, concurrency=16),
        stage=_rl() if chain == "rl" else _taught(),
    )


def _rl() -> list[Stage]:
    return [
        Evaluate(name="base", trials=2),
        Sft(steps=20, batch=4, checkpoint_every=5, optimizer=Optimizer(learning_rate=1e-2)),
        Evaluate(name="after", trials=2),
        Grpo(steps=6, groups=4, group_size=4, checkpoint_every=2, evaluate_every=3, monitor=TaskFilter(limit=2)),
        Evaluate(name="final", trials=2),
    ]


def _taught() -> list[Stage]:
    return [
        Sft(steps=60, batch=4, checkpoint_every=60, optimizer=Optimizer(learning_rate=1e-2)),
        Evaluate(name="taught", trials=2),
        Opd(
            start="base",
            teacher=Teacher(stage="sft"),
            steps=4,
            groups=2,
            group_size=4,
            updates_per_sync=1,
            checkpoint_every=2,
            evaluate_every=2,
            monitor=TaskFilter(limit=2),
            optimizer=Optimizer(learning_rate=1e-3),
        ),
        Evaluate(name="distilled", trials=2),
        Pivot(
            start="sft",
            traces="sft",
            tasks=TaskFilter(limit=2),
            steps=3,
            groups=2,
            group_size=6,
            profile_threshold=0.95,
            checkpoint_every=2,
            optimizer=Optimizer(learning_rate=1e-3),
        ),
        Evaluate(name="pivoted", trials=2),
    ]


def work(folder: str, mode: Mode, chain: str) -> None:
    """One sitting, in a process of its own: begins the run or resumes it."""
    from journeyman.pipeline import run_recipe

    result = run_recipe(recipe(mode, chain), Path(folder), resume=True)
    if result.stopped:
        raise SystemExit(f"stopped: {result.stopped}")


def start(folder: Path, mode: Mode, chain: str = "rl") -> BaseProcess:
    """A process that works on the run. Forked from a server that has torch loaded, so that it starts at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["closing_desk", "filing_desk", "journeyman.pipeline", "journeyman.engine.local", "peft"]
    )
    process = context.Process(target=work, args=(str(folder), mode, chain), daemon=True)
    process.start()
    return process


def finish(folder: Path, mode: Mode, chain: str = "rl") -> None:
    """Work on the run until it is done."""
    process = start(folder, mode, chain)
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"{folder}: a sitting ended with exit code {process.exitcode}")


def outcome(folder: Path) -> dict[str, Any]:
    """What must be equal: keys (id → task, seeds), digests, weights (hashes of the last checkpoint's files), counters."""
    run = RunFolder(folder)
    episodes = list(run.episodes())
    state = run.checkpoints.verified(run.checkpoints.steps()[-1])
    return {
        "keys": {one.id: [one.task_id, one.seeds.world, one.seeds.user, one.seeds.episode] for one in episodes},
        "digests": {one.id: one.digest for one in episodes},
        "weights": state.files,
        "counters": {**state.counters, "position": state.position, "updates_in_stage": state.updates},
        "steps": [[line["kind"], line["stage"], line.get("step")] for line in run.metrics()],
    }


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Lines of metrics that count by now; none where the run has not begun."""
    return RunFolder(folder).metrics() if (folder / "metrics.jsonl").is_file() else []


def evaluated(folder: Path, stage: str) -> bool:
    """Whether the evaluation `stage` is done. Looks at the bytes, since it is asked hundreds of times a second."""
    path = folder / "metrics.jsonl"
    return path.is_file() and f'"kind":"evaluate","stage":"{stage}"'.encode() in path.read_bytes()


def wait_for(condition: Callable[[], bool], process: BaseProcess) -> bool:
    """Poll until the condition holds; False where the process ended first."""
    while not condition():
        if not process.is_alive():
            return condition()
        time.sleep(0.002)
    return True


def stage_seconds(folder: Path, mode: Mode, chain: str = "rl") -> dict[str, float]:
    """Run undisturbed, and measure how long each training stage takes from the outside."""
    process = start(folder, mode, chain)
    took = {}
    for stage in KILLED[chain]:
        wait_for(lambda stage=stage: evaluated(folder, BEFORE[stage]), process)
        began = time.monotonic()
        wait_for(lambda stage=stage: evaluated(folder, FINAL[stage]), process)
        took[stage] = time.monotonic() - began
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"the undisturbed run ended with exit code {process.exitcode}")
    return took


def kill_in(folder: Path, mode: Mode, stage: str, delay: float) -> bool:
    """Start a run and kill -9 it `delay` seconds into a stage. False where the stage was over by then."""
    process = start(folder, mode, chain_of(stage))
    wait_for(lambda: evaluated(folder, BEFORE[stage]), process)
    time.sleep(delay)
    process.kill()
    process.join()
    return not evaluated(folder, FINAL[stage])


def chain_of(stage: str) -> str:
    """The chain that a stage is killed in."""
    return next(chain for chain, stages in KILLED.items() if stage in stages)


def point(scratch: Path, mode: Mode, stage: str, seconds: float, rng: random.Random, name: str) -> dict[str, Any]:
    """One kill at a random moment of a stage, and the resumed run. Kills that came too late are tried again."""
    for attempt in range(20):
        folder = scratch / f"{name}-{attempt}"
        delay = rng.uniform(0, seconds)
        if kill_in(folder, mode, stage, delay):
            at = lines_of(folder)[-1]
            finish(folder, mode, chain_of(stage))
            discarded = RunFolder(folder).scan().discarded
            hit = f"after {at['kind']} {at['stage']} {at.get('step', '')}".strip()
            return {"folder": folder, "delay": round(delay, 3), "hit": hit, "discarded": discarded}
    raise SystemExit(f"no kill hit {stage} in 20 tries")


def measure(points: int, seed: int, scratch: Path) -> dict[str, Any]:
    """The whole table."""
    table: dict[str, Any] = {}
    for mode, chain in itertools.product(("replay", "reuse"), KILLED):
        reference = scratch / f"{mode}-{chain}-undisturbed"
        took = stage_seconds(reference, mode, chain)
        wanted = outcome(reference)
        kinds = (
            ["keys", "digests", "weights", "counters", "steps"] if mode == "replay" else ["keys", "counters", "steps"]
        )
        for stage in KILLED[chain]:
            rng = random.Random(f"{seed}/{mode}/{stage}")
            row: dict[str, Any] = {"kills": points, "equal": dict.fromkeys(kinds, 0), "stage_seconds": took[stage]}
            row |= {"hits": [], "discarded_episodes": 0}
            for number in range(points):
                one = point(scratch, mode, stage, took[stage], rng, f"{mode}-{stage}-{number}")
                found = outcome(one["folder"])
                for kind in kinds:
                    row["equal"][kind] += found[kind] == wanted[kind]
                row["hits"].append(one["hit"])
                row["discarded_episodes"] += one["discarded"]
                shutil.rmtree(one["folder"])
            row["all_equal"] = all(count == points for count in row["equal"].values())
            table.setdefault(mode, {})[stage] = row
    return table


def main() -> int:
    """Entry point; exit code 1 where any resumed run differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=10, help="kills per mode and stage")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="kill-resume-"))
    try:
        table = measure(options.points, options.seed, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(table, indent=2))
    return 0 if all(row["all_equal"] for rows in table.values() for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
