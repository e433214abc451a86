"""A pivot stage with the real engine: a tiny random model learns a desk's few tasks by SFT, and pivots are what it does by half."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import filing_desk  # noqa: F401  the recipe names it
from journeyman.episode import SamplingSettings
from journeyman.pipeline import run_recipe
from journeyman.recipe import Model, Optimizer, Pivot, Recipe, RunSettings, Sampling, Sft, TaskFilter
from journeyman.train.runfolder import RunFolder

SETTINGS = SamplingSettings(max_tokens=48, context_limit=512)
RECIPE = Recipe(
    name="pivots",
    world="filing_desk:WORLD",
    seed=7,
    model=Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=8, lora_alpha=16.0, slots=16),
    sampling=Sampling(train=SETTINGS, eval=SETTINGS),
    run=RunSettings(threads=1, concurrency=16),
    stage=[
        Sft(steps=60, batch=4, checkpoint_every=60, optimizer=Optimizer(learning_rate=1e-2)),
        Pivot(
            traces="sft",
            tasks=TaskFilter(limit=2),
            steps=3,
            groups=2,
            group_size=6,
            profile_threshold=0.95,
            checkpoint_every=2,
            optimizer=Optimizer(learning_rate=1e-3),
        ),
    ],
)


def outcome(folder: Path) -> dict[str, Any]:
    run = RunFolder(folder)
    state = run.checkpoints.verified(run.checkpoints.steps()[-1])
    return {
        "digests": {one.id: one.digest for one in run.episodes()},
        "weights": state.files,
        "counters": state.counters,
        "posteriors": [line["drawn"] for line in run.metrics() if line["kind"] == "posterior"],
        "profiles": [line["pivots"] for line in run.metrics() if line["kind"] == "profile"],
    }


def recorded(folder: Path, begins: str) -> Callable[[], bool]:
    """Whether an episode is on record whose id begins like that."""
    path = folder / "episodes.jsonl"
    return lambda: path.is_file() and f'"id":"{begins}'.encode() in path.read_bytes()


def test_a_stopped_run_ends_with_the_weights_of_an_undisturbed_one(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    # Both go on from one SFT stage, which is most of the work; that a run as a whole resumes is tested elsewhere.
    assert run_recipe(RECIPE, whole, stop=recorded(whole, "pivot-profile/0000/")).stopped == "stopped on request"
    shutil.copytree(whole, cut)
    assert run_recipe(RECIPE, whole, resume=True).stopped is None
    wanted = outcome(whole)

    assert run_recipe(RECIPE, cut, resume=True, stop=recorded(cut, "pivot/0002/")).stopped == "stopped on request"
    assert RunFolder(cut).checkpoints.steps()[-1] == 62
    assert run_recipe(RECIPE, cut, resume=True).stopped is None
    assert outcome(cut) == wanted

    trained = [line for line in RunFolder(whole).metrics() if line["kind"] == "train" and line["stage"] == "pivot"]
    assert [line["method"] for line in trained] == ["cispo"] * 3
    assert sum(line["updates"] for line in trained) >= 1
    # The weights that sampled are those that are updated: the ratio is 1 but for rounding.
    assert all(line["ratio_mean"] == pytest.approx(1.0, abs=1e-3) for line in trained if line["updates"])
    assert wanted["counters"]["turns_sampled"] == 6 * 8 + 3 * 2 * 6
    for one in RunFolder(whole).episodes("pivot", with_tokens=True):
        assert isinstance(one.pivot, msgspec.Struct)
        (segment,) = one.segments
        assert sum(segment.mask) == one.usage["policy"].output
        assert segment.mask[: segment.mask.index(1)] == [0] * segment.mask.index(1)
