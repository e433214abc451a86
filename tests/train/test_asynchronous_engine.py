"""Sampling ahead with the real engine: its bits at a bound of 0, and a whole run with users who take time."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import outcome

import asynchronous as benchmark
import kill_resume
from journeyman.pipeline import run_recipe
from journeyman.recipe import Grpo, Recipe
from journeyman.train import loop
from journeyman.train.asynchronous import Ahead
from journeyman.train.runfolder import RunFolder

pytest.importorskip("torch")


def rl_alone() -> Recipe:
    """Two steps of RL on the closing desk."""
    whole = kill_resume.recipe("replay")
    stage = next(stage for stage in whole.stage if isinstance(stage, Grpo))
    short = msgspec.structs.replace(stage, steps=2, evaluate_every=1)
    return msgspec.structs.replace(whole, stage=[short])


def test_with_a_bound_of_0_the_weights_are_those_of_taking_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_recipe(rl_alone(), tmp_path / "in turns")
    monkeypatch.setattr(loop, "supply_of", Ahead)
    run_recipe(rl_alone(), tmp_path / "ahead by 0")
    left, right = outcome(tmp_path / "in turns"), outcome(tmp_path / "ahead by 0")
    assert left["state"].counters["updates"] >= 2
    assert left == right


def test_a_run_with_slow_users_samples_during_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = argparse.Namespace(
        model="tiny-random",
        adapter=None,
        seed=0,
        threads=2,
        steps=3,
        groups=2,
        group_size=3,
        learning_rate=1e-3,
        delay=0.02,
    )
    overlapping: list[bool] = []
    plain = Ahead.work

    async def watched(self: Ahead, update: Any) -> Any:
        assert self._gathering is not None
        overlapping.append(not self._gathering.done())
        return await plain(self, update)

    monkeypatch.setattr(Ahead, "work", watched)

    async def run() -> None:
        async with asyncio.timeout(300):
            await asyncio.to_thread(
                run_recipe, benchmark.recipe(options, 1), tmp_path / "run", build=benchmark.builder(options)
            )

    asyncio.run(run())
    found = benchmark.measured(tmp_path / "run")
    assert (found["episodes_sampled"], found["episodes_overage"], found["updates"]) == (18, 0, 3)
    assert sum(found["ages"]) == found["episodes_trained"] > 0
    assert found["ages"][1] > 0
    assert overlapping[:2] == [True, True]
    lines = [line for line in RunFolder(tmp_path / "run").metrics() if line["kind"] == "train"]
    # Three answers an episode, and what older weights sampled is corrected for.
    assert found["turns_sampled"] > 18
    assert all(0 < line["correction_mean"] < 2 for line in lines)
    assert all(line["kl_k3"] < 0.1 for line in lines)
