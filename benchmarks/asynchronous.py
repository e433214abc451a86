"""GRPO that samples ahead against GRPO that takes turns: one recipe, one model, users who take two seconds to answer.

    python benchmarks/asynchronous.py --model tiny-random
    python benchmarks/asynchronous.py --model smollm2-135m-instruct --adapter runs/demo --world telecom \\
        --families starter_line_features starter_billing --steps 8 --repeats 3

Both sides have the same groups, steps, updates and correction and differ in `max_staleness` alone; runs alternate. Printed as JSON,
for each side: wall seconds of the stage and per trained episode (median and all), how it spent them, ages of the trained episodes,
episodes dropped for their age, and the mean training reward of the last half of the steps. `speed_up` is the ratio of the medians
per trained episode. A batch is gathered after the one before it, so what can be hidden is the shorter of gathering and training:
at best a step takes as long as the longer one.

With `tiny-random` the desk is `waiting_desk`, and training is nothing to speak of: that run shows that the machinery works.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from journeyman.episode import Event, SamplingSettings, Usage
from journeyman.parts import Parts, build_parts
from journeyman.pipeline import run_recipe
from journeyman.recipe import (
    Grpo,
    Limits,
    Model,
    Objective,
    Optimizer,
    Recipe,
    Reward,
    RunSettings,
    Sampling,
    TaskFilter,
)
from journeyman.rollout.policy import EpisodeSpec, TokenPolicy
from journeyman.rollout.users import Answer, EpisodeUser, UserMaker, scripted_user
from journeyman.train.runfolder import RunFolder
from journeyman.world import World


class SlowUser:
    """An `EpisodeUser` that answers as another one does, `seconds` later."""

    slow = True

    def __init__(self, user: EpisodeUser, seconds: float) -> None:
        self._user, self._seconds = user, seconds

    def open(self) -> tuple[str, list[Event]]:
        return self._user.open()

    async def answer(self, text: str, read: Sequence[Event], order: int, turn: int) -> Answer:
        await asyncio.sleep(self._seconds)
        return await self._user.answer(text, read, order, turn)

    def usage(self) -> Usage:
        return self._user.usage()

    def faults(self) -> list[str]:
        return self._user.faults()


def slow_users(seconds: float, maker: UserMaker = scripted_user) -> UserMaker:
    """Users of another maker, each answer delayed."""

    def make(spec: EpisodeSpec, world: World) -> EpisodeUser:
        return SlowUser(maker(spec, world), seconds)

    return make


def recipe(options: argparse.Namespace, staleness: int) -> Recipe:
    """The recipe of one side."""
    tiny = options.model == "tiny-random"
    tokens = 24 if tiny else 64
    sampling = SamplingSettings(max_tokens=tokens, context_limit=512)
    return Recipe(
        name="asynchronous",
        world="waiting_desk:WORLD" if tiny else options.world,
        seed=options.seed,
        model=Model(name=options.model, lora_rank=8 if tiny else 32, lora_alpha=16.0 if tiny else 64.0, slots=64),
        sampling=Sampling(train=sampling, eval=sampling),
        limits=Limits(turns=8, calls=8, tokens=8 * tokens),
        reward=Reward(token_penalty=0.2 if tiny else 0.0),
        run=RunSettings(concurrency=64, threads=options.threads),
        stage=[
            Grpo(
                tasks=TaskFilter(families=[] if tiny else options.families),
                steps=options.steps,
                groups=options.groups,
                group_size=options.group_size,
                updates_per_sync=1,
                refill_rounds=0,
                checkpoint_every=options.steps,
                max_staleness=staleness,
                objective=Objective(correction="truncated"),
                optimizer=Optimizer(learning_rate=options.learning_rate),
            )
        ],
    )


def builder(options: argparse.Namespace) -> Callable[[Recipe], Parts]:
    """Makes the parts of a run, with slow users."""

    def build(wanted: Recipe) -> Parts:
        parts = build_parts(wanted, Path(options.adapter) if options.adapter else None)
        if options.model == "tiny-random":
            from journeyman.engine.tokenizer import load_tokenizer
            from waiting_desk import CurtRenderer

            renderer = CurtRenderer(load_tokenizer("tiny-random"))
            assert isinstance(parts.policy, TokenPolicy)
            parts = dataclasses.replace(
                parts, policy=dataclasses.replace(parts.policy, renderer=renderer), renderer=renderer
            )
        return dataclasses.replace(parts, users=slow_users(options.delay))

    return build


def measured(folder: Path) -> dict[str, Any]:
    """What one run did."""
    lines = [line for line in RunFolder(folder).metrics() if line["kind"] == "train"]
    trained = sum(line["episodes_trained"] for line in lines)
    gathering, training = (sum(line[key] for line in lines) for key in ("seconds_sampling", "seconds_training"))
    ages = [line.get("staleness_histogram", [line["episodes_trained"]]) for line in lines]
    return {
        "seconds": gathering + training,
        "seconds_per_trained_episode": (gathering + training) / max(trained, 1),
        "seconds_waiting_for_episodes": gathering,
        "seconds_training": training,
        "episodes_sampled": sum(line["episodes_sampled"] for line in lines),
        "episodes_trained": trained,
        "episodes_overage": sum(line["episodes_overage"] for line in lines),
        "turns_sampled": sum(line["turns_sampled"] for line in lines),
        "ages": [sum(one[age] for one in ages) for age in range(len(ages[0]))],
        "reward_late": fmean(line["reward_mean"] for line in lines[len(lines) // 2 :]),
        "updates": sum(line["updates"] for line in lines),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All runs of both sides, alternating."""
    sides = {"in_turns": 0, "ahead": options.max_staleness}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory(prefix="asynchronous-") as scratch:
        for number in range(options.repeats):
            for name, staleness in sides.items():
                folder = Path(scratch) / f"{name}-{number}"
                run_recipe(recipe(options, staleness), folder, build=builder(options))
                runs[name].append(measured(folder))
                print(f"{name} {number}: {runs[name][-1]['seconds']:.1f} s", file=sys.stderr)
    table: dict[str, Any] = {"settings": vars(options), "runs": runs}
    for name in sides:
        rates = [one["seconds_per_trained_episode"] for one in runs[name]]
        table[name] = {
            "seconds_per_trained_episode": median(rates),
            "reward_late": fmean(one["reward_late"] for one in runs[name]),
        }
    table["speed_up"] = table["in_turns"]["seconds_per_trained_episode"] / table["ahead"]["seconds_per_trained_episode"]
    return table


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny-random")
    parser.add_argument("--adapter", help="checkpoint or run folder whose weights both sides begin with")
    parser.add_argument("--world", default="telecom")
    parser.add_argument("--families", nargs="*", default=["starter_line_features", "starter_billing"])
    parser.add_argument("--delay", type=float, default=2.0, help="seconds that a user takes to answer")
    parser.add_argument("--max-staleness", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--group-size", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    print(msgspec.json.format(json.dumps(measure(parser.parse_args())), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
