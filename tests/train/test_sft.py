"""SFT as arithmetic: steps and epochs, the share of a bridge and when it ends, and what a recipe may not ask for."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from making import episode, task

from journeyman.errors import RecipeError
from journeyman.recipe import Bridge, Recipe, Sft, TaskFilter, parse_recipe
from journeyman.train.sft import SftMethod, draws_of

TASKS = [task(f"w/f/train-{number:03d}") for number in range(7)]


def method(stage: Sft, traces: int = 7) -> SftMethod:
    made = [episode(f"sft/0000/{number:04d}/00", 1.0, task_id=TASKS[number].id) for number in range(traces)]
    return SftMethod(stage, made, {one.id: one for one in TASKS}, seed=3)


def walk(made: SftMethod) -> list[list[str]]:
    """Episode ids of every step."""
    position, steps = 0, []
    for step in range(made.steps):
        batch = asyncio.run(made.gather(step, position))
        position = batch.position
        steps.append([group.episodes[0].id for group in batch.groups])
    return steps


@pytest.mark.parametrize(
    ("epochs", "batch", "traces", "draws", "steps"),
    [
        (1.0, 3, 7, 7, 3),  # 3 + 3 + 1
        (2.0, 3, 7, 14, 5),  # 3 × 4 + 2
        (2.0, 7, 7, 14, 2),
        (0.5, 3, 7, 4, 2),  # 3.5 traces are 4
        (0.01, 16, 7, 1, 1),
        (1.1, 5, 10, 11, 3),  # 1.1 × 10 = 11.000000000000002
        (3.0, 16, 4000, 12_000, 750),
    ],
)
def test_epochs_are_steps(epochs: float, batch: int, traces: int, draws: int, steps: int) -> None:
    stage = Sft(epochs=epochs, batch=batch)
    assert draws_of(stage, traces) == draws
    assert -(-draws // batch) == steps
    if traces <= 7:
        assert (method(stage, traces).draws, method(stage, traces).steps) == (draws, steps)


def test_two_epochs_are_each_trace_twice() -> None:
    steps = walk(method(Sft(epochs=2, batch=3)))
    assert [len(step) for step in steps] == [3, 3, 3, 3, 2]
    drawn = [one for step in steps for one in step]
    assert set(Counter(drawn).values()) == {2}
    assert len(set(drawn[:7])) == 7  # an epoch is a permutation
    assert drawn[:7] != drawn[7:]


def test_steps_are_full_batches() -> None:
    steps = walk(method(Sft(steps=3, batch=4)))
    assert [len(step) for step in steps] == [4, 4, 4]


def test_the_place_in_the_epochs_is_logged() -> None:
    made = method(Sft(epochs=2, batch=3))
    found = [made.prepare([], None, step)["epoch"] for step in range(made.steps)]  # type: ignore[arg-type]
    assert found == pytest.approx([3 / 7, 6 / 7, 9 / 7, 12 / 7, 2.0])


def seen(written: int, share: float, episodes: int = 4) -> dict[str, float]:
    return {"episodes": episodes, "calls_written": written, "valid_call_share": share}


def test_a_bridge_ends_when_enough_calls_are_valid() -> None:
    made = method(Sft(bridge=Bridge(valid_calls=0.95)))
    assert made.done(seen(20, 0.95))
    assert made.done(seen(4, 1.0))
    assert not made.done(seen(20, 0.949))
    assert not made.done(seen(3, 1.0))  # hardly a call: nothing is known of how it calls
    assert not made.done(seen(0, 0.0))
    assert not method(Sft()).done(seen(20, 1.0))


def test_attempts_fill_the_cap_unless_they_are_given() -> None:
    assert Sft().attempts_each == 1
    assert Sft(traces_per_task=3).attempts_each == 3
    three = ("oracle", "terse", "formal")
    assert Sft(teachers=three, traces_per_task=3).attempts_each == 1
    assert Sft(teachers=three, traces_per_task=4).attempts_each == 2
    assert Sft(teachers=three, attempts=5).attempts_each == 5


def recipe(stage: str, more: str = "") -> Recipe:
    return parse_recipe(f'name = "r"\nworld = "telecom"\n{more}\n[[stage]]\nkind = "sft"\n{stage}', "r.toml")


ENDPOINT = '[endpoints.strong]\nurl = "https://host.example/v1"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("stage", "more", "message"),
    [
        ('teachers = ["orcale"]', "", r"stage\[0\]\.teachers\[0\]"),
        ("teachers = []", "", r"stage\[0\]\.teachers"),
        ('teachers = ["terse", "terse"]', "", "teachers: one of them is there twice"),
        ('teachers = ["endpoint:strong"]', "", r"teachers\[0\]: there is no \[endpoints.strong\]"),
        ('teachers = ["oracle", "endpoint:strong"]', ENDPOINT, "not this machine, and run.network"),
        ("epochs = 2.0\nsteps = 10", "", "epochs: goes in place of `steps`"),
        ("epochs = 0.0", "", r"stage\[0\]\.epochs"),
        ("bridge = {}", "", "bridge: ends by the calls written on the monitor"),
        ("bridge = {}\nmonitor = {limit = 4}", "", "bridge: ends by the calls"),
        (
            'bridge = {}\nevaluate_every = 1\nmonitor = {split = "heldout", limit = 4}',
            "",
            "monitor.split: held-out tasks must not decide",
        ),
        ("bridge = { share = 1.5 }", "", r"stage\[0\]\.bridge\.share"),
        ("bridge = { shares = 0.5 }", "", "shares"),
    ],
)
def test_what_a_recipe_may_not_ask_for(stage: str, more: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe(stage, more)


def test_what_a_recipe_may_ask_for() -> None:
    text = """
teachers = ["oracle", "friendly", "endpoint:strong"]
traces_per_task = 4
epochs = 2
evaluate_every = 4
monitor = { limit = 8 }
bridge = { share = 0.05 }
"""
    (stage,) = recipe(text, f'[run]\nnetwork = "endpoints"\n{ENDPOINT}').stage
    assert isinstance(stage, Sft)
    assert stage.bridge == Bridge(share=0.05, valid_calls=0.95)
    assert (stage.epochs, stage.attempts_each, stage.monitor) == (2.0, 2, TaskFilter(limit=8))


def test_a_held_out_trace_is_refused_whoever_played_it() -> None:
    heldout = task("w/f/heldout-000", "heldout")
    made = episode("sft/0001/0000/00", 1.0, task_id=heldout.id)
    stage: Any = Sft(teachers=("oracle", "terse"))
    with pytest.raises(RecipeError, match="held out"):
        SftMethod(stage, [made], {heldout.id: heldout}, seed=0)
