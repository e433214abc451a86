"""Whole runs that sample ahead: with a bound of 0 they are the synchronous ones, with another they lose nothing when killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from desk_run import outcome, recipe, sit
from dying import dying

from journeyman.recipe import Evaluate, Grpo, Objective, Recipe, RunSettings, TaskFilter
from journeyman.train import loop
from journeyman.train.asynchronous import Ahead, InTurns, Supply
from journeyman.train.grpo import GrpoMethod
from journeyman.train.method import Method
from journeyman.train.runfolder import RunFolder

Mode = Literal["replay", "reuse"]


def ahead_of(bound: int, mode: Mode = "replay") -> Recipe:
    """An RL stage that samples ahead, monitored, and an evaluation."""
    stage = Grpo(
        steps=5,
        groups=2,
        group_size=3,
        updates_per_sync=2,
        checkpoint_every=2,
        evaluate_every=2,
        monitor=TaskFilter(limit=2),
        max_staleness=bound,
        objective=Objective(correction="truncated"),
    )
    whole = recipe()
    run = RunSettings(resume=mode, concurrency=4)
    return msgspec.structs.replace(whole, run=run, stage=[stage, Evaluate(name="final", trials=2)])


def test_with_a_bound_of_0_every_bit_is_that_of_taking_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the machinery of sampling ahead is at work: tasks, queue and thread."""
    plain = recipe()
    assert all(stage.max_staleness == 0 for stage in plain.stage if isinstance(stage, Grpo))
    sit(tmp_path / "in turns", plain)
    sit(tmp_path / "corrected in turns", ahead_of(0))

    def ahead(method: Method, *others: Any) -> Supply:
        return Ahead(method, *others) if isinstance(method, GrpoMethod) else InTurns(method)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "supply_of", ahead)
        sit(tmp_path / "ahead by 0", plain)
        sit(tmp_path / "corrected ahead by 0", ahead_of(0))
    for left, right in (("in turns", "ahead by 0"), ("corrected in turns", "corrected ahead by 0")):
        assert outcome(tmp_path / left) == outcome(tmp_path / right)
    assert outcome(tmp_path / "in turns")["state"].counters["updates"] > 6


def consistent(folder: Path, wanted: Recipe) -> None:
    """What must hold of a finished run that sampled ahead, whatever happened to it."""
    run = RunFolder(folder)
    stage = wanted.stage[0]
    assert isinstance(stage, Grpo)
    state = run.checkpoints.verified(run.checkpoints.steps()[-1])
    lines = [line for line in run.metrics() if line["kind"] == "train"]
    assert (state.finished, [line["step"] for line in lines]) == (True, [1, 2, 3, 4, 5])
    assert [line["step"] for line in run.metrics() if line["kind"] == "monitor"] == [2, 4]
    assert state.counters == {key: sum(line[key] for line in lines) for key in state.counters}
    assert all(line["staleness_max"] <= stage.max_staleness for line in lines)
    episodes = list(run.episodes(stage.name, with_tokens=True))
    by_step = Counter(int(one.id.split("/")[1]) for one in episodes)
    assert len({one.id for one in episodes}) == len(episodes) == state.counters["episodes_sampled"]
    assert [by_step[step] for step in range(5)] == [line["episodes_sampled"] for line in lines]
    recorded = (folder / "episodes.jsonl").read_bytes().count(b'"task_id"')
    attempts = {one.id for one in run.episodes()}
    assert recorded >= len(attempts) + run.scan().discarded
    # The draw went on where it stopped: so many groups, so many positions, each epoch of 4 tasks whole.
    groups = {one.id.rsplit("/", 1)[0]: one.task_id for one in sorted(episodes, key=lambda one: one.id)}
    assert state.position == len(groups) == state.counters["groups_sampled"]
    drawn = list(groups.values())
    for begin in range(0, len(drawn) - 3, 4):
        assert len(set(drawn[begin : begin + 4])) == 4
    assert len(list(run.episodes("final"))) == 8


def crashing(folder: Path, wanted: Recipe, at: int) -> int:
    """A sitting that dies at its `at`-th durable call. See `dying`."""
    return dying(lambda: sit(folder, wanted), at)


def test_undisturbed_it_samples_ahead(tmp_path: Path) -> None:
    wanted = ahead_of(2)
    sit(tmp_path / "desk", wanted)
    consistent(tmp_path / "desk", wanted)
    run = RunFolder(tmp_path / "desk")
    lines = [line for line in run.metrics() if line["kind"] == "train"]
    assert max(line["staleness_max"] for line in lines) >= 1
    assert all(line["correction_mean"] > 0 for line in lines if line["updates"])
    # Tokens tell who sampled them: the version of a batch is never later than the steps done when it was trained.
    for one in run.episodes("grpo", with_tokens=True):
        step = int(one.id.split("/")[1])
        versions = {v for s in one.segments for v, flag in zip(s.versions, s.mask, strict=True) if flag}
        assert step - 2 <= min(versions) <= max(versions) <= step


@pytest.mark.parametrize("mode", ["replay", "reuse"])
def test_killed_anywhere_it_goes_on_and_loses_nothing(tmp_path: Path, mode: Mode) -> None:
    wanted = ahead_of(2, mode)
    discarded = 0
    codes = []
    for at in range(5 if mode == "replay" else 9, 200, 17):
        folder = tmp_path / f"at-{at}"
        codes.append(crashing(folder, wanted, at))
        assert sit(folder, wanted).stopped is None
        consistent(folder, wanted)
        discarded += RunFolder(folder).scan().discarded
    assert codes[:8] == [137] * 8
    assert set(codes) <= {137, 0}
    if mode == "replay":
        assert discarded > 0


def test_reuse_hands_out_again_what_was_sampled_ahead(tmp_path: Path) -> None:
    """Killed when steps were committed and later ones sampled: none of the later episodes is played twice."""
    wanted = ahead_of(2, "reuse")
    for at in range(40, 120, 13):
        folder = tmp_path / f"at-{at}"
        crashing(folder, wanted, at)
        before = {one.id: one.digest for one in RunFolder(folder).episodes("grpo")}
        sit(folder, wanted)
        after = {one.id: one.digest for one in RunFolder(folder).episodes("grpo")}
        assert before.items() <= after.items()
        assert RunFolder(folder).scan().discarded == 0
