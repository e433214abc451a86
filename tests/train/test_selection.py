"""The stage ends with its best monitored weights: which, on what, bit for bit, and killed at any instant."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import outcome, recipe, sit
from fake_engine import FakeEngine
from making import provenance, task
from test_asynchronous import Source

from journeyman.recipe import Evaluate, Grpo, Objective, Recipe, TaskFilter
from journeyman.train import durable
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod
from journeyman.train.loop import train
from journeyman.train.progress import Silent
from journeyman.train.runfolder import RunFolder
from journeyman.train.runwriter import RunWriter, open_run
from journeyman.train.sitting import Sitting

TASKS = [task(f"w/f/train-{number:03d}") for number in range(5)]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    with open_run(tmp_path / "desk", recipe(), provenance(), resume=False) as opened:
        yield opened


def run_stage(
    writer: RunWriter, engine: FakeEngine, rates: dict[int, float], begin: State | None = None, **changes: Any
) -> State:
    """A stage of GRPO whose monitor tells `rates` by step."""
    settings: dict[str, Any] = {"steps": 7, "groups": 1, "group_size": 2, "updates_per_sync": 1, "refill_rounds": 0}
    stage = Grpo(**(settings | {"evaluate_every": 2, "keep": "best", "checkpoint_every": 3} | changes))

    async def monitor(step: int) -> dict[str, float]:
        return {"pass_rate": rates[step], "episodes": 12}

    method = GrpoMethod(stage, TASKS, Source(lambda: engine.version), 1)
    state = begin or State(global_step=0, stage=0, stage_name="grpo", step=0, finished=False)
    return asyncio.run(train(method, engine, Sitting(writer, recipe(), Silent()), state, monitor=monitor))


def weight_in(folder: Path) -> str:
    return str(json.loads((folder / "engine.json").read_text())["weight"])


def test_the_earliest_of_the_best_is_kept_and_the_last_step_is_monitored_too(writer: RunWriter) -> None:
    engine = FakeEngine()
    state = run_stage(writer, engine, {2: 0.5, 4: 0.75, 6: 0.75, 7: 0.25})
    checkpoints = writer.checkpoints
    end = checkpoints.end_of("grpo")
    assert end == checkpoints.path(7)
    assert weight_in(end) == weight_in(checkpoints.path(4)) == engine.weight.hex()
    assert weight_in(end) != weight_in(checkpoints.path(6))
    # Seven versions were published: what the sampler has now is an eighth, though its weights are those of the fourth.
    assert engine.version == 8
    assert (state.chosen, state.monitor, state.step, state.finished) == (4, 0.75, 7, True)
    assert checkpoints.steps() == [4, 6, 7]
    line = next(line for line in writer.metrics() if line["kind"] == "chosen")
    wanted = {"step": 4, "global_step": 4, "last_step": 7, "pass_rate": 0.75, "chosen_by": "pass_rate", "version": 8}
    assert wanted | {"evaluations": 4, "episodes": 12} == {
        key: line[key] for key in (*wanted, "evaluations", "episodes")
    }
    assert [one["step"] for one in writer.metrics() if one["kind"] == "monitor"] == [2, 4, 6, 7]


def test_a_best_last_step_stays_as_it_is(writer: RunWriter) -> None:
    engine = FakeEngine()
    state = run_stage(writer, engine, {2: 0.5, 4: 0.75, 6: 0.75, 7: 1.0})
    assert (state.chosen, state.monitor, engine.version) == (7, 1.0, 7)
    assert weight_in(writer.checkpoints.end_of("grpo")) == engine.weight.hex()


def test_keeping_the_last_chooses_nothing(writer: RunWriter) -> None:
    engine = FakeEngine()
    state = run_stage(writer, engine, {2: 0.5, 4: 0.75, 6: 0.25}, keep="last")
    assert (state.chosen, state.monitor, engine.version) == (None, None, 7)
    assert not [line for line in writer.metrics() if line["kind"] == "chosen"]


def test_only_checkpoints_of_the_stage_are_rivals(writer: RunWriter) -> None:
    engine = FakeEngine()
    first = run_stage(writer, engine, {2: 1.0, 4: 1.0, 6: 1.0, 7: 1.0})
    assert first.chosen == 2
    second = State(global_step=7, stage=1, stage_name="more", step=0, finished=False)
    state = run_stage(writer, engine, {2: 0.25, 4: 0.5, 6: 0.25, 7: 0.25}, second, name="more")
    assert (state.chosen, state.monitor, state.global_step) == (4, 0.5, 14)
    assert weight_in(writer.checkpoints.end_of("more")) == weight_in(writer.checkpoints.path(11))
    # Kept: the end of the first stage, the best and the last two of the second. The best of the first is its end.
    assert writer.checkpoints.steps() == [7, 11, 13, 14]


def chosen_recipe(staleness: int = 0) -> Recipe:
    """The desk's RL stage alone, its best weights kept, and an evaluation of what it ends with."""
    whole = recipe()
    stage = Grpo(
        steps=5,
        groups=2,
        group_size=3,
        updates_per_sync=1,
        checkpoint_every=2,
        evaluate_every=1,
        keep="best",
        monitor=TaskFilter(limit=2),
        monitor_trials=2,
        max_staleness=staleness,
        objective=Objective(correction="truncated") if staleness else Objective(),
    )
    return msgspec.structs.replace(whole, stage=[stage, Evaluate(name="final", trials=2)])


def crashing(folder: Path, at: int) -> int:
    """A sitting in a process that dies at its `at`-th durable call; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    counter = itertools.count(1)
    try:
        for name in ("os_write", "os_fsync", "os_rename"):
            real = getattr(durable, name)
            setattr(durable, name, lambda *given, real=real: os._exit(137) if next(counter) == at else real(*given))
        sit(folder, chosen_recipe())
        os._exit(0)
    except BaseException:
        os._exit(3)


def test_killed_while_choosing_it_ends_with_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    at_choice = 0
    with monkeypatch.context() as patch:
        for name in ("os_write", "os_fsync", "os_rename"):

            def counted(*given: Any, real: Any = getattr(durable, name)) -> Any:
                nonlocal calls, at_choice
                calls += 1
                if (
                    len(given) == 2
                    and isinstance(given[1], bytes | memoryview)
                    and b'"kind":"chosen"' in bytes(given[1])
                ):
                    at_choice = calls
                return real(*given)

            patch.setattr(durable, name, counted)
        sit(tmp_path / "whole", chosen_recipe())
    wanted = outcome(tmp_path / "whole")
    assert 1 < wanted["state"].step == 5
    assert wanted["state"].chosen < 5  # the choice went back
    assert at_choice
    for at in range(at_choice - 3, min(at_choice + 24, calls), 2):
        folder = tmp_path / f"at-{at}"
        assert crashing(folder, at) == 137
        assert sit(folder, chosen_recipe()).stopped is None
        assert outcome(folder) == wanted, f"died at durable call {at}"
    # What is evaluated afterwards are the chosen weights.
    run = RunFolder(tmp_path / "whole")
    line = next(line for line in run.metrics() if line["kind"] == "evaluate")
    chosen = next(line for line in run.metrics() if line["kind"] == "chosen")
    assert line["version"] == chosen["version"] > 5


def test_the_loop_raises_the_alarm_once_for_a_best(writer: RunWriter) -> None:
    """The training reward rises step by step, the monitor stays: four steps are the fewest that can tell."""
    engine = FakeEngine()
    told: list[str] = []

    class Telling(Silent):
        def metrics(self, line: Any) -> None:
            if line["kind"] == "alarm":
                told.append(line["message"])

    class Rising(Source):
        async def play(self, requests: Any) -> Any:
            self.rewards = (0.0, 0.1 * (1 + int(requests[0].id.split("/")[1])))
            return await super().play(requests)

    async def monitor(step: int) -> dict[str, float]:
        return {"pass_rate": 0.5, "episodes": 12}

    stage = Grpo(
        steps=6, groups=1, group_size=2, updates_per_sync=1, refill_rounds=0, evaluate_every=1, alarm_patience=2
    )
    method = GrpoMethod(stage, TASKS, Rising(lambda: engine.version), 1)
    state = State(global_step=0, stage=0, stage_name="grpo", step=0, finished=False)
    asyncio.run(train(method, engine, Sitting(writer, recipe(), Telling()), state, monitor=monitor))
    (line,) = (line for line in writer.metrics() if line["kind"] == "alarm")
    assert (line["step"], line["best_step"], line["evaluations"], line["global_step"]) == (4, 1, 3, 4)
    assert told == [line["message"]]
