"""Sampling ahead: bounds, ages, order, and what happens when one of the two sides fails or is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import RENDERER, recipe
from fake_engine import FakeEngine
from making import SEGMENT, episode, provenance, task

import waiting_desk
from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.episode import Group, Sample, SamplingSettings, Seeds, Segment
from journeyman.errors import EngineError
from journeyman.recipe import Grpo, Objective
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeSpec, TokenPolicy
from journeyman.train.asynchronous import Ahead, age, staleness, within_age
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod
from journeyman.train.loop import train
from journeyman.train.method import Batch, GroupRequest, episode_id
from journeyman.train.progress import Silent
from journeyman.train.runwriter import RunWriter, open_run
from journeyman.train.samples import samples_of
from journeyman.train.sitting import Sitting, StopRun

TASKS = [task(f"w/f/train-{number:03d}") for number in range(5)]
CORRECTED = Objective(correction="truncated")


def aged(version: int, *later: int) -> Segment:
    """A segment whose first token was sampled by `version`, and others by `later` ones."""
    versions = [version, *later]
    count = len(versions)
    return Segment([5] * (count + 1), [0] + [1] * count, [0.0] + [-0.5] * count, [0, *versions], 1.0)


class Source:
    """Gives groups of two, rewards 0 and 1, the second one token longer, sampled by the version that `version` tells; `during` is
    awaited in each play."""

    def __init__(
        self,
        version: Callable[[], int],
        during: Callable[[int], Awaitable[None]] | None = None,
        rewards: Sequence[float] = (0, 1),
    ) -> None:
        self.version = version
        self.during = during
        self.rewards = rewards
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.tasks: list[str] = []

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        step = int(requests[0].id.split("/")[1])
        self.begun.append(step)
        self.tasks += [request.task_id for request in requests]
        version = self.version()
        if self.during is not None:
            await self.during(step)
        self.ended.append(step)
        return [
            Group(
                request.id,
                request.task_id,
                [
                    episode(
                        episode_id(request.id, trial),
                        reward,
                        segments=[aged(version, *[version] * trial)],
                        task_id=request.task_id,
                    )
                    for trial, reward in enumerate(self.rewards)
                ],
            )
            for request in requests
        ]


class Gated(FakeEngine):
    """Its updates wait until they are let through."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.started = threading.Event()

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        self.started.set()
        assert self.gate.wait(20)
        return super().update(samples, loss)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    with open_run(tmp_path / "desk", recipe(), provenance(), resume=False) as opened:
        yield opened


def stage(**changes: Any) -> Grpo:
    settings: dict[str, Any] = {"steps": 4, "groups": 1, "group_size": 2, "updates_per_sync": 1, "refill_rounds": 0}
    return Grpo(**(settings | {"max_staleness": 1, "objective": CORRECTED} | changes))


def begun(steps: int = 0) -> State:
    return State(global_step=steps, stage=0, stage_name="grpo", step=steps, finished=False)


async def trained(method: GrpoMethod, engine: FakeEngine, writer: RunWriter, stop: Any = None) -> State:
    """A whole stage, which must not hang."""
    async with asyncio.timeout(20):
        return await train(method, engine, Sitting(writer, recipe(), Silent(), stop), begun())


def others() -> set[asyncio.Task[Any]]:
    """Tasks left over."""
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


def test_the_age_is_that_of_the_oldest_sampled_token() -> None:
    made = episode(segments=[aged(4, 5), aged(3, 6)])
    assert (age(made, 6), age(made, 3), age(made, 2)) == (3, 0, 0)
    # What was not sampled has no age: SEGMENT holds version 0 where its mask is 0.
    assert age(episode(segments=[SEGMENT]), 5) == 2
    assert age(episode(segments=[]), 5) == 0


def test_each_token_carries_the_version_that_sampled_it() -> None:
    """Weights that are published in the middle of an episode sample the rest of it."""

    class Publishing(FakeEngine):
        async def sample(self, request: SampleRequest) -> SampleResult:
            answer = await super().sample(request)
            self.publish()
            return answer

    (wanted, *_) = waiting_desk.WORLD.tasks("train")
    settings = PlaySettings(sampling=SamplingSettings(context_limit=1000, max_tokens=40))
    spec = EpisodeSpec("rl/0000/0000/00", wanted, Seeds(1, 2, 3))
    one = asyncio.run(play(spec, waiting_desk.WORLD, TokenPolicy(Publishing(), RENDERER), settings))
    (segment,) = one.segments
    sampled = [version for version, flag in zip(segment.versions, segment.mask, strict=True) if flag]
    assert sorted(set(sampled)) == [0, 1, 2]
    assert sampled == sorted(sampled)
    assert {version for version, flag in zip(segment.versions, segment.mask, strict=True) if not flag} == {0}
    assert age(one, 3) == 3
    (sample,) = samples_of(Group("rl/0000/0000", wanted.id, [one]), [one], [1.0])
    assert sample.versions == segment.versions


def test_the_old_are_left_out_and_groups_without_signal_after_them() -> None:
    def made(name: str, *oldest: int, rewards: Sequence[float] = (0, 1, 1)) -> Group:
        return Group(
            name,
            "w/f/train-000",
            [
                episode(f"{name}/{trial:02d}", reward, segments=[aged(version, 9)])
                for trial, (version, reward) in enumerate(zip(oldest, rewards, strict=True))
            ],
        )

    young, mixed, spoilt = made("g/0/0", 9, 8, 8), made("g/0/1", 9, 7, 8), made("g/0/2", 7, 8, 9)
    alive = GrpoMethod(stage(), TASKS, Source(lambda: 0), 1).alive
    found = within_age(Batch([young, mixed, spoilt], [young, mixed, spoilt], 3), 9, 1, alive)
    # The second of `mixed` goes; of `spoilt` the only failure, so that nothing tells the rest apart.
    assert found.groups[0] is young
    assert [[one.id for one in group.episodes] for group in found.groups[1:]] == [["g/0/1/00", "g/0/1/02"]]
    assert [one.id for one in found.overage] == ["g/0/1/01", "g/0/2/00"]
    assert len(found.played) == 3
    assert staleness(found.groups, 9, 1) == {
        "staleness_mean": 3 / 5,
        "staleness_max": 1,
        "staleness_histogram": [2, 3],
    }
    untouched = Batch([young], [young], 1)
    assert within_age(untouched, 9, 1, alive) is untouched


def test_sampling_goes_on_while_the_optimizer_works(writer: RunWriter) -> None:
    engine = Gated()
    source = Source(lambda: engine.version)
    method = GrpoMethod(stage(max_staleness=2, steps=5), TASKS, source, 1)

    async def scene() -> State:
        running = asyncio.create_task(trained(method, engine, writer))
        await asyncio.to_thread(engine.started.wait, 20)
        async with asyncio.timeout(20):
            while source.ended != [0, 1, 2]:
                await asyncio.sleep(0.001)
        # The first update has not ended. The batch of step 3 could be three versions old when its turn comes: it must wait.
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert (engine.updates, source.begun) == ([], [0, 1, 2])
        engine.gate.set()
        return await running

    state = asyncio.run(scene())
    assert (state.finished, state.step, source.ended) == (True, 5, [0, 1, 2, 3, 4])
    lines = [line for line in writer.metrics() if line["kind"] == "train"]
    assert [line["staleness_max"] for line in lines][:3] == [0, 1, 2]
    assert max(line["staleness_max"] for line in lines) <= 2
    assert all(line["episodes_overage"] == 0 for line in lines)
    assert sum(sum(line["staleness_histogram"]) for line in lines) == 10


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_no_batch_is_begun_that_could_grow_too_old(writer: RunWriter, bound: int) -> None:
    engine = FakeEngine()
    lags: list[int] = []

    async def during(step: int) -> None:
        lags.append(step - engine.version)  # every step publishes, so versions are steps done
        await asyncio.sleep(0)

    source = Source(lambda: engine.version, during)
    method = GrpoMethod(stage(steps=8, max_staleness=bound), TASKS, source, 1)

    async def scene() -> None:
        sitting = Sitting(writer, recipe(), Silent())
        async with asyncio.timeout(20), Ahead(method, engine, sitting, begun()) as supply:
            position = 0
            for step in range(8):
                batch = await supply.take(step, position)
                position = batch.position
                assert not batch.overage
                await supply.work(engine.publish)
                supply.stepped(step + 1)
                for _ in range(10):
                    await asyncio.sleep(0)

    asyncio.run(scene())
    assert max(lags) == bound
    assert sorted(source.tasks[:5]) == [one.id for one in TASKS]  # an epoch still draws each task once


def test_a_source_of_its_own_mind_has_its_old_episodes_dropped_and_counted(writer: RunWriter) -> None:
    """A sampler that never hears of new weights: from the third step on all it gives is too old."""
    engine = FakeEngine()
    method = GrpoMethod(stage(steps=4), TASKS, Source(lambda: 0), 1)
    state = asyncio.run(trained(method, engine, writer))
    lines = [line for line in writer.metrics() if line["kind"] == "train"]
    assert [line["episodes_overage"] for line in lines] == [0, 0, 2, 2]
    assert [line["updates"] for line in lines] == [1, 1, 0, 0]
    assert (engine.version, state.finished) == (2, True)
    assert (state.counters["episodes_overage"], state.counters["tokens_overage"]) == (4, 6)
    assert (state.counters["episodes_sampled"], state.counters["episodes_trained"]) == (8, 4)
    assert (state.counters["episodes_wasted"], state.counters["groups_without_signal"]) == (0, 0)


def test_no_signal_at_all_does_not_hang(writer: RunWriter) -> None:
    engine = FakeEngine()
    method = GrpoMethod(stage(steps=6), TASKS, Source(lambda: engine.version, rewards=(1, 1)), 1)
    state = asyncio.run(trained(method, engine, writer))
    assert (state.finished, engine.updates, engine.version) == (True, [], 0)
    assert state.counters["groups_without_signal"] == 6


def test_what_sampling_raises_is_raised_once_after_the_steps_that_were_ready(writer: RunWriter) -> None:
    engine = FakeEngine()

    async def during(step: int) -> None:
        if step == 2:
            raise EngineError("engine", "", "the sampler broke")

    method = GrpoMethod(stage(), TASKS, Source(lambda: engine.version, during), 1)

    async def scene() -> None:
        with pytest.raises(EngineError, match="the sampler broke"):
            await trained(method, engine, writer)
        assert not others()

    asyncio.run(scene())
    assert len(engine.updates) == 2
    assert writer.checkpoints.steps() == [1, 2]


def test_what_an_update_raises_is_raised_once_and_sampling_ends(writer: RunWriter) -> None:
    class Breaking(FakeEngine):
        def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
            if self.version == 1:
                raise EngineError("update", "loss", "not finite")
            return super().update(samples, loss)

    engine = Breaking()
    forever: list[int] = []

    async def during(step: int) -> None:
        if step == 2:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
            forever.append(step)
            raise asyncio.CancelledError

    method = GrpoMethod(stage(), TASKS, Source(lambda: engine.version, during), 1)

    async def scene() -> None:
        with pytest.raises(EngineError, match="not finite"):
            await trained(method, engine, writer)
        assert not others()

    asyncio.run(scene())
    assert forever == [2]  # it was under way, and was cancelled
    assert writer.checkpoints.steps() == [1]


def test_an_interrupt_waits_for_the_update_and_leaves_nothing_behind(writer: RunWriter) -> None:
    engine = Gated()
    method = GrpoMethod(stage(max_staleness=2), TASKS, Source(lambda: engine.version), 1)

    async def scene() -> None:
        running = asyncio.create_task(trained(method, engine, writer))
        await asyncio.to_thread(engine.started.wait, 20)
        running.cancel()
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not running.done()  # the weights are in the middle of a step
        engine.gate.set()
        async with asyncio.timeout(20):
            with pytest.raises(asyncio.CancelledError):
                await running
        assert len(engine.updates) == 1
        assert not others()

    asyncio.run(scene())
    assert writer.checkpoints.steps() == []


def test_a_request_to_stop_is_heard_with_both_sides_at_work(writer: RunWriter) -> None:
    engine = Gated()
    stopped = threading.Event()
    source = Source(lambda: engine.version)
    method = GrpoMethod(stage(max_staleness=2, steps=9), TASKS, source, 1)

    async def scene() -> None:
        running = asyncio.create_task(trained(method, engine, writer, stopped.is_set))
        await asyncio.to_thread(engine.started.wait, 20)
        stopped.set()
        engine.gate.set()
        with pytest.raises(StopRun, match="stopped on request"):
            await running
        assert not others()

    asyncio.run(scene())
    assert writer.checkpoints.steps() == [1]  # the step under way was finished and committed


def test_what_was_sampled_ahead_of_an_early_end_no_longer_counts(writer: RunWriter) -> None:
    engine = FakeEngine()
    played: list[Group] = []

    class Recording(Source):
        async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
            groups = await super().play(requests)
            for one in (one for group in groups for one in group.episodes):
                writer.record(one)
            played.extend(groups)
            return groups

    class Ending(GrpoMethod):
        def done(self, monitor: Any) -> bool:
            return True

    async def monitor(step: int) -> dict[str, float]:
        while len(played) < 4:
            await asyncio.sleep(0.001)
        return {"pass_rate": 0.5, "episodes": 1}

    chosen = stage(max_staleness=2, steps=9, evaluate_every=2)
    method = Ending(chosen, TASKS, Recording(lambda: engine.version), 1)

    async def scene() -> State:
        async with asyncio.timeout(20):
            return await train(method, engine, Sitting(writer, recipe(), Silent()), begun(), monitor=monitor)

    state = asyncio.run(scene())
    assert (state.step, state.finished) == (2, True)
    assert sorted({one.id.split("/")[1] for one in writer.episodes("grpo")}) == ["0000", "0001"]
    assert writer.scan().discarded == 2 * (len(played) - 2) > 0
    assert state.counters["episodes_sampled"] == len(list(writer.episodes("grpo")))
    assert msgspec.structs.replace(writer.latest(), files={}) == msgspec.structs.replace(  # type: ignore[type-var]
        state, files={}, **offsets(writer.latest())
    )


def offsets(state: State | None) -> dict[str, int]:
    assert state is not None
    return {"episodes_offset": state.episodes_offset, "metrics_offset": state.metrics_offset}
