"""A whole run with the fake engine on the smallest world: milliseconds, and every kind of write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fake_engine import FakeEngine

import closing_desk
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.parts import Parts
from journeyman.pipeline import Result, run_recipe
from journeyman.recipe import Evaluate, Grpo, Prices, Recipe, Reward, RunSettings, Sft, TaskFilter
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.rollout.policy import TokenPolicy
from journeyman.train.provenance import Actor
from journeyman.train.runfolder import RunFolder

RENDERER = ChatMLRenderer(tiny_tokenizer())


def recipe(mode: Literal["replay", "reuse"] = "replay", **run: Any) -> Recipe:
    """Evaluate, SFT, evaluate, GRPO with monitoring, evaluate."""
    return Recipe(
        name="desk",
        world="closing_desk:WORLD",
        seed=3,
        reward=Reward(token_penalty=0.2),
        run=RunSettings(resume=mode, concurrency=4, **run),
        prices=Prices(output_per_million={"policy": 1_000_000.0}),
        stage=[
            Evaluate(name="base", trials=2),
            Sft(steps=3, batch=4, checkpoint_every=2),
            Evaluate(name="after", trials=6),
            Grpo(
                steps=3,
                groups=3,
                group_size=3,
                checkpoint_every=2,
                evaluate_every=3,
                monitor=TaskFilter(limit=2),
            ),
            Evaluate(name="final", trials=2),
        ],
    )


def build(_: Recipe) -> Parts:
    """World and fake engine."""
    engine = FakeEngine()
    actors = [Actor("policy", "fake", "1")]
    return Parts(closing_desk.WORLD, TokenPolicy(engine, RENDERER, "fake"), engine, RENDERER, actors, "float32", "cpu")


def sit(folder: Path, wanted: Recipe | None = None, **options: Any) -> Result:
    """One sitting: begins or resumes the run."""
    return run_recipe(wanted or recipe(), folder, resume=True, build=options.pop("build", build), **options)


def outcome(folder: Path) -> dict[str, Any]:
    """What a resumed run must share with an undisturbed one."""
    run = RunFolder(folder)
    state = run.checkpoints.verified(run.checkpoints.steps()[-1])
    volatile = {"seconds_sampling", "seconds_training", "seconds_total", "cost_total", "cost", "update_seconds"}
    return {
        "digests": {one.id: one.digest for one in run.episodes(with_tokens=True)},
        "state": msgspec.structs.replace(state, episodes_offset=0, metrics_offset=0),
        "metrics": [{key: line[key] for key in line.keys() - volatile} for line in run.metrics()],
        "kept": run.checkpoints.steps(),
    }
