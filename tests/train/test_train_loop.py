"""The loop around a fake engine: order of things, metrics, cost, budgets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import RENDERER, build, closing_desk, recipe, sit
from fake_engine import FakeEngine
from making import episode, group

from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.episode import Usage
from journeyman.parts import Parts
from journeyman.recipe import Evaluate, Grpo, Prices, Recipe
from journeyman.rollout.policy import TokenPolicy
from journeyman.train.measure import Ledger, batch_counters, cost, episode_metrics, update_metrics
from journeyman.train.method import Batch, GroupRequest
from journeyman.train.progress import Silent
from journeyman.train.runfolder import RunFolder
from journeyman.train.source import evaluation_seeds


def with_engine(engine: FakeEngine) -> Any:
    def make(wanted: Recipe) -> Parts:
        return dataclasses.replace(build(wanted), engine=engine, policy=TokenPolicy(engine, RENDERER, "fake"))

    return make


def test_cost_by_hand() -> None:
    prices = Prices(device_hour=2.0, input_per_million={"policy": 1.0}, output_per_million={"policy": 4.0, "user": 8.0})
    usage = {"policy": Usage(500_000, 250_000, 9), "user": Usage(1_000_000, 125_000, 3)}
    assert cost(prices, usage, 1800.0) == pytest.approx(1.0 + 0.5 + 1.0 + 1.0)
    ledger = Ledger({}, 3600.0)
    ledger.add(episode())
    ledger.add(episode())
    assert ledger.cost(prices) == pytest.approx(2.0 + 20e-6 + 16e-6)


def test_episode_metrics_by_hand() -> None:
    made = group([1.0, 0.6, 0.0, 0.0], failures={2: "infrastructure", 3: "truncated"}).episodes
    found = episode_metrics(made)
    assert found["reward_mean"] == pytest.approx(1.6 / 3)
    assert found["reward_std"] == pytest.approx(
        (((1 - 1.6 / 3) ** 2 + (0.6 - 1.6 / 3) ** 2 + (1.6 / 3) ** 2) / 3) ** 0.5
    )
    assert found["pass_rate"] == 0.75  # of four planned; the broken one passed nothing
    assert found["truncated_share"] == 0.25
    assert found["sampled_tokens_mean"] == 2.0
    assert (found["failures_none"], found["failures_infrastructure"], found["failures_truncated"]) == (2, 1, 1)
    assert episode_metrics([]) == {}


def test_waste_is_counted() -> None:
    kept, dropped = group([1.0, 0.0], "rl/0000/0000"), group([1.0, 1.0], "rl/0000/0001")
    counts = batch_counters(
        Batch([kept], [kept, dropped], 2), ["rl/0000/0000/00", "rl/0000/0000/00", "rl/0000/0000/01"]
    )
    assert counts == {
        "steps": 1,
        "groups_sampled": 2,
        "groups_without_signal": 1,
        "groups_trained": 1,
        "episodes_sampled": 4,
        "episodes_trained": 2,
        "episodes_wasted": 2,
        "episodes_overage": 0,
        "turns_sampled": 4,
        "tokens_sampled": 8,
        "tokens_wasted": 4,
        "tokens_overage": 0,
    }


def test_optimizer_steps_are_merged_by_tokens() -> None:
    reports = [
        {"loss": 1.0, "ratio_max": 1.5, "tokens": 10.0, "seconds": 2.0},
        {"loss": 3.0, "ratio_max": 1.25, "tokens": 30.0, "seconds": 1.0},
    ]
    merged = update_metrics(reports)
    assert merged == {"loss": 2.5, "ratio_max": 1.5, "tokens_trained": 40.0, "update_seconds": 3.0}
    assert update_metrics([]) == {}


def test_what_a_run_does_in_what_order(tmp_path: Path) -> None:
    engine = FakeEngine()
    run = sit(tmp_path / "desk", build=with_engine(engine)).folder
    # 3 SFT steps of one update, 3 GRPO steps of two; each publishes once.
    assert len(engine.updates) == 9
    assert engine.version == 6
    assert engine.closed
    assert [len(ids) for ids, _ in engine.updates[:3]] == [4, 4, 4]
    assert [rate for _, rate in engine.updates] == [1e-3] * 3 + [1e-4] * 6
    lines = run.metrics()
    assert [(line["kind"], line["stage"]) for line in lines] == [
        ("evaluate", "base"),
        ("traces", "sft"),
        *[("train", "sft")] * 3,
        ("evaluate", "after"),
        *[("train", "grpo")] * 2,
        ("monitor", "grpo"),
        ("train", "grpo"),
        ("evaluate", "final"),
    ]
    assert [line.get("global_step") for line in lines if line["kind"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert {line["version"] for line in lines if line["kind"] == "evaluate"} == {0, 3, 6}
    versions = {
        segment_version
        for one in run.episodes("grpo", with_tokens=True)
        for segment in one.segments
        for segment_version, sampled in zip(segment.versions, segment.mask, strict=True)
        if sampled
    }
    assert versions == {3, 4, 5}


def test_the_cost_of_a_step_is_that_of_all_it_sampled(tmp_path: Path) -> None:
    """Dropped groups included: a token costs 1, and device time nothing."""
    lines = [line for line in sit(tmp_path / "desk").folder.metrics() if line["kind"] == "train"]
    steps = [line for line in lines if line["stage"] == "grpo"]
    assert [line["cost"] for line in steps] == [line["tokens_sampled"] for line in steps]
    assert sum(line["tokens_wasted"] for line in steps) > 0
    assert sum(line["tokens_sampled"] for line in steps) > sum(line["tokens_trained"] for line in steps)
    assert all(sum(line["reward_histogram"]) == line["episodes_sampled"] for line in steps)
    assert all(line["tokens_output_policy"] == line["tokens_sampled"] for line in steps)


def test_grpo_trains_on_groups_in_order_and_split_in_two(tmp_path: Path) -> None:
    engine = FakeEngine()
    sit(tmp_path / "desk", build=with_engine(engine))
    grpo = [ids for ids, _ in engine.updates[3:]]
    for first, second in zip(grpo[::2], grpo[1::2], strict=True):
        assert first + second == sorted(first + second)
        assert not {one.rsplit("/", 1)[0] for one in first} & {one.rsplit("/", 1)[0] for one in second}


def test_evaluations_share_seeds_whatever_the_phase(tmp_path: Path) -> None:
    run = sit(tmp_path / "desk").folder
    base, final = (
        {one.id[4:] if phase == "base" else one.id[5:]: one for one in run.episodes(phase)}
        for phase in ("base", "final")
    )
    assert base.keys() == final.keys()
    assert all(base[key].seeds == final[key].seeds for key in base)
    assert len({one.seeds.episode for one in base.values()}) == 8  # 4 tasks, 2 trials
    assert len({one.seeds.user for one in run.episodes("grpo") if one.id.startswith("grpo/0000/0001/")}) == 1
    tasks = {one.id: one for one in closing_desk.WORLD.tasks()}
    rule = evaluation_seeds(run.recipe.seed)
    for one in run.episodes("grpo-monitor"):
        assert one.seeds == rule(GroupRequest("other/0000/0000", one.task_id, 1), tasks[one.task_id], 0)


def test_the_sampler_starts_each_batch_afresh(tmp_path: Path) -> None:
    engine = FakeEngine()
    run = sit(tmp_path / "desk", build=with_engine(engine)).folder
    # base and final: 8 of at most 16 episodes a block; after: 24 in two blocks; GRPO: a batch per round; one monitoring.
    rounds = sum(
        1 + (line["groups_sampled"] > 3)
        for line in run.metrics()
        if line["stage"] == "grpo" and line["kind"] == "train"
    )
    assert engine.resets == 1 + 2 + 1 + rounds + 1


def test_a_budget_of_money_stops_cleanly_and_counts_over_sittings(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    whole = sit(tmp_path / "whole").folder
    spent = whole.metrics()[-1]["cost_total"]
    assert spent == sum(one.usage["policy"].output for one in whole.episodes() if one.usage)
    first = sit(folder, recipe(max_cost=spent / 2))
    assert first.stopped is not None
    assert "max_cost" in first.stopped
    assert spent / 2 <= sum(usage.output for usage in first.folder.scan().usage.values()) < spent
    assert sit(folder, recipe(max_cost=spent / 2)).stopped is not None
    assert sit(folder, recipe()).stopped is None
    digests = {one.id: one.digest for one in whole.episodes()}
    assert {one.id: one.digest for one in first.folder.episodes()} == digests


def test_device_time_counts_before_a_line_of_metrics_does(tmp_path: Path) -> None:
    """A long evaluation writes one line at its end; a budget of money must not wait for it."""
    price = Prices(device_hour=3.6e9)  # a microsecond costs 1
    result = sit(tmp_path / "desk", msgspec.structs.replace(recipe(max_cost=1.0), prices=price))
    assert result.stopped is not None
    assert "max_cost" in result.stopped
    assert result.folder.metrics() == []


def test_a_budget_of_time_stops_cleanly(tmp_path: Path) -> None:
    result = sit(tmp_path / "desk", recipe(max_wall_seconds=0.0))
    assert result.stopped == "max_wall_seconds = 0 is reached"
    assert list(result.folder.episodes()) == []
    assert sit(tmp_path / "desk").stopped is None


def test_a_request_to_stop_and_an_interrupt_end_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "desk"

    class Interrupting(Silent):
        def work_advanced(self, count: int) -> None:
            raise KeyboardInterrupt

    assert sit(folder, progress=Interrupting()).stopped == "interrupted"
    assert len(list(RunFolder(folder).episodes())) >= 1
    asked = iter([False] * 30 + [True] * 1000)
    assert sit(folder, stop=lambda: next(asked)).stopped == "stopped on request"
    assert sit(folder).stopped is None
    assert {one.digest for one in sit(tmp_path / "whole").folder.episodes()} == {
        one.digest for one in RunFolder(folder).episodes()
    }


def test_progress_is_told_of_everything(tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []

    class Telling(Silent):
        def stage_started(self, name: str, kind: str, total: int, done: int) -> None:
            told.append(("start", name, kind, total, done))

        def stage_advanced(self, name: str, done: int) -> None:
            told.append((name, done))

        def stage_finished(self, name: str) -> None:
            told.append(("end", name))

    sit(tmp_path / "desk", progress=Telling())
    assert told == [
        ("start", "base", "evaluate", 8, 0),
        ("base", 8),
        ("end", "base"),
        ("start", "sft", "sft", 3, 0),
        *[("sft", step) for step in (1, 2, 3)],
        ("end", "sft"),
        ("start", "after", "evaluate", 24, 0),
        ("after", 12),
        ("after", 24),
        ("end", "after"),
        ("start", "grpo", "grpo", 3, 0),
        *[("grpo", step) for step in (1, 2, 3)],
        ("end", "grpo"),
        ("start", "final", "evaluate", 8, 0),
        ("final", 8),
        ("end", "final"),
    ]


def test_a_step_in_which_no_group_has_signal_updates_nothing(tmp_path: Path) -> None:
    wanted = msgspec.structs.replace(recipe(), stage=[Grpo(steps=2, groups=2, group_size=2, signal_tolerance=2.0)])
    engine = FakeEngine()
    run = sit(tmp_path / "desk", wanted, build=with_engine(engine)).folder
    assert (engine.updates, engine.version, engine.weight) == ([], 0, 0.125)
    line = run.metrics()[0]
    assert (line["groups_sampled"], line["groups_trained"], line["no_signal_share"]) == (4, 0, 1.0)
    assert (line["episodes_wasted"], line["episodes_sampled"], line["version"]) == (8, 8, None)


def test_evaluation_alone_makes_no_checkpoint(tmp_path: Path) -> None:
    wanted = msgspec.structs.replace(recipe(), stage=[Evaluate(name="base", trials=2)])
    run = sit(tmp_path / "desk", wanted).folder
    assert run.checkpoints.steps() == []
    assert len(list(run.episodes("base"))) == 8


class Flaky(FakeEngine):
    """Breaks the first request of every third episode seed; `always` breaks it each time."""

    def __init__(self, always: bool = False) -> None:
        super().__init__()
        self._always = always
        self._broken: set[int] = set()

    async def sample(self, request: SampleRequest) -> SampleResult:
        if request.seed % 3 == 0 and (self._always or request.seed not in self._broken):
            self._broken.add(request.seed)
            raise RuntimeError("the machine hiccuped")
        return await super().sample(request)


def test_broken_attempts_are_retried_and_the_run_is_as_if_nothing_happened(tmp_path: Path) -> None:
    run = sit(tmp_path / "flaky", build=with_engine(Flaky())).folder
    whole = sit(tmp_path / "whole").folder
    attempts = {one.id: one.attempt for one in run.episodes()}
    assert 1 in attempts.values()
    broken = sum(attempts.values())
    assert (tmp_path / "flaky" / "episodes.jsonl").read_bytes().count(b"hiccuped") == broken
    said = {one.id: one.messages for one in whole.episodes()}
    assert {one.id: one.messages for one in run.episodes()} == said


def test_attempts_that_stay_broken_are_counted_and_left_out_of_training(tmp_path: Path) -> None:
    engine = Flaky(always=True)
    run = sit(tmp_path / "flaky", recipe(retries=0), build=with_engine(engine)).folder
    failed = {one.id for one in run.episodes("grpo") if one.failure == "infrastructure"}
    assert failed
    trained = {one for ids, _ in engine.updates for one in ids}
    assert not trained & failed
    steps = [line for line in run.metrics() if line["kind"] == "train" and line["stage"] == "grpo"]
    assert sum(line["failures_infrastructure"] for line in steps) == len(failed)
