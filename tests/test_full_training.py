"""A recipe that trains all weights with the memory-light optimizer and activation checkpointing: run, stopped, resumed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from journeyman.pipeline import evaluate_policy, run_recipe
from journeyman.recipe import Recipe, parse_recipe
from journeyman.train.runfolder import RunFolder

pytest.importorskip("torch")

RECIPE = """
name = "full"
world = "closing_desk:WORLD"
seed = 7
model = { name = "tiny-random", dtype = "float32", device = "cpu", slots = 16, train = "full", activation_checkpointing = true, micro_tokens = 256 }
sampling = { train = { temperature = 1.6, max_tokens = 16, context_limit = 512 }, eval = { max_tokens = 16, context_limit = 512 } }
reward = { token_penalty = 0.2 }
run = { threads = 1, concurrency = 16 }

[[stage]]
kind = "sft"
steps = 8
batch = 4
checkpoint_every = 2
optimizer = { kind = "adafactor", learning_rate = 3e-2 }

[[stage]]
kind = "grpo"
steps = 2
groups = 2
group_size = 4
optimizer = { kind = "adamw", learning_rate = 1e-5 }

[[stage]]
kind = "evaluate"
name = "final"
trials = 2
"""


def recipe() -> Recipe:
    return parse_recipe(RECIPE, "recipe.toml")


def hashes(folder: Path) -> dict[str, str]:
    run = RunFolder(folder)
    return run.checkpoints.verified(run.checkpoints.steps()[-1]).files


def test_a_stopped_run_of_all_weights_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    whole = run_recipe(recipe(), tmp_path / "whole")
    assert whole.stopped is None
    lines = whole.folder.metrics()
    losses = [line["loss"] for line in lines if line["kind"] == "train" and line["stage"] == "sft"]
    assert losses[-1] < 0.5 * losses[0]
    halves = tmp_path / "halves"
    checkpoints = RunFolder(tmp_path / "whole").checkpoints.folder.name
    for last in (4, 9):  # in the middle of SFT, and between the two steps of GRPO
        sitting = run_recipe(
            recipe(), halves, resume=True, stop=lambda last=last: (halves / checkpoints / f"step-{last:06d}").exists()
        )
        assert sitting.stopped is not None
        assert RunFolder(halves).checkpoints.steps()[-1] == last
    assert run_recipe(recipe(), halves, resume=True).stopped is None
    assert hashes(halves) == hashes(tmp_path / "whole")
    assert {"model.safetensors", "config.json", "optimizer.safetensors"} <= hashes(halves).keys()
    # Its checkpoint can be evaluated like an adapter's.
    adapter = RunFolder(halves).checkpoints.path(10)
    alone = Recipe(
        **{key: getattr(recipe(), key) for key in Recipe.__struct_fields__ if key != "stage"},
        stage=[recipe().stage[-1]],
    )
    again = evaluate_policy(alone, tmp_path / "eval", adapter=adapter)
    rates = [
        next(line["pass_rate"] for line in run.metrics() if line["kind"] == "evaluate")
        for run in (whole.folder, again.folder)
    ]
    assert rates[0] == rates[1]
