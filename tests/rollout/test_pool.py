"""Many episodes at once: same digests as one by one, a fixed order of admission, and nothing stops the run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes import FakeSampler
from test_loop import WORLD, Puppet, PuppetActor, task_of
from tokenizers_for_tests import smollm2

from journeyman.codec import seed_of
from journeyman.engine.base import SampleRequest
from journeyman.episode import Episode, Message, SamplingSettings, Seeds, ToolCall, Turn
from journeyman.errors import EngineError
from journeyman.recipe import Limits
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import EpisodeContext, EpisodeSpec, TokenPolicy
from journeyman.rollout.pool import run_pool
from journeyman.rollout.render import Renderer, make_renderer
from journeyman.rollout.scripted import SCRIPTED

SETTINGS = PlaySettings(limits=Limits(turns=6), sampling=SamplingSettings(context_limit=4000))


def specs(count: int) -> list[EpisodeSpec]:
    tasks = WORLD.tasks("train")
    return [
        EpisodeSpec(
            f"train/0/{n // 4:02d}/{n % 4}", tasks[n % len(tasks)], Seeds(1, seed_of("u", n // 4), seed_of("e", n))
        )
        for n in range(count)
    ]


def random_output(renderer: Renderer, rng: random.Random) -> list[int]:
    """A turn out of a table: good calls, bad calls, talk, silence, cut turns."""
    order = f"OR-{rng.randint(1, 7):04d}"
    table = [
        Message("assistant", "", calls=[ToolCall("0", "get_order", {"order_id": order})]),
        Message("assistant", "", calls=[ToolCall("0", "get_order", {"order_id": order}), ToolCall("1", "nope", {})]),
        Message("assistant", "", calls=[ToolCall("0", "cancel_order", {"order_id": order, "reason": "late"})]),
        Message("assistant", "", calls=[ToolCall("0", "", None, error="broken", raw='{"name": ')]),
        Message("assistant", "", calls=[ToolCall("0", "transfer_to_human", {"reason": "x"})]),
        Message("assistant", "What is the order number?"),
        Message("assistant", f"Shall I cancel the order {order}?"),
        Message("assistant", "Your ticket is TK-0001."),
        Message("assistant", "", reasoning="only thinking"),
    ]
    ids = renderer.complete(table[rng.choices(range(9), [6, 3, 3, 2, 1, 4, 3, 2, 1])[0]])
    return ids[:-1] if rng.random() < 0.05 else ids


def model() -> tuple[TokenPolicy, FakeSampler]:
    """Its outputs hang on (episode seed, position) alone, as an engine's do."""
    renderer = make_renderer("auto", smollm2())

    def write(request: SampleRequest) -> list[int]:
        return random_output(renderer, random.Random(seed_of(request.seed, len(request.prompt_ids))))

    sampler = FakeSampler(write)
    return TokenPolicy(sampler, renderer), sampler


def pool(these: Sequence[EpisodeSpec], policy: Any, **options: Any) -> list[Episode]:
    return asyncio.run(run_pool(these, WORLD, policy, options.pop("settings", SETTINGS), **options))


def test_interleaved_episodes_equal_serial_ones_digest_by_digest() -> None:
    wanted = specs(48)
    serial = pool(wanted, model()[0], concurrency=1)
    assert [episode.id for episode in serial] == [spec.id for spec in wanted]
    assert {episode.failure for episode in serial} >= {"none", "agent", "truncated"}
    assert {episode.ended for episode in serial} >= {"left", "final", "transfer", "limit"}
    assert len({episode.digest for episode in serial}) == 48
    for concurrency in (2, 7, 48, 100):
        policy, sampler = model()
        interleaved = pool(wanted, policy, concurrency=concurrency)
        assert [episode.digest for episode in interleaved] == [episode.digest for episode in serial]
        assert max(len(batch) for batch in sampler.batches) == min(concurrency, 48)


def test_two_runs_make_the_same_batches() -> None:
    batches = []
    for _ in range(2):
        policy, sampler = model()
        pool(specs(30), policy, concurrency=8)
        batches.append(sampler.batches)
    assert batches[0] == batches[1]
    assert batches[0][0] == [spec.id for spec in specs(8)]


def test_the_window_is_attached_whole_before_anything_runs_and_never_short() -> None:
    policy, sampler = model()
    pool(specs(20), policy, concurrency=6)
    attached = [spec.id for spec in specs(20)]
    assert sampler.log[:6] == [("attach", id) for id in attached[:6]]
    assert [id for what, id in sampler.log if what == "attach"] == attached
    running = 0
    for number, (what, _) in enumerate(sampler.log):
        running += 1 if what == "attach" else -1
        left = sum(what == "attach" for what, _ in sampler.log[number + 1 :])
        assert running >= 6 or left == 0 or number < 6
    assert running == 0


def test_one_bad_episode_never_stops_the_run_and_its_neighbours_do_not_change() -> None:
    wanted = specs(12)
    good = pool(wanted, model()[0], concurrency=4)
    policy, sampler = model()
    write, bad = sampler.write, wanted[5].id

    def sometimes(request: SampleRequest) -> list[int]:
        if request.episode_id == bad:
            raise EngineError("engine", bad, "lost its adapter.")
        return write(request)

    sampler.write = sometimes
    got = pool(wanted, policy, concurrency=4)
    assert [episode.failure == "infrastructure" for episode in got] == [n == 5 for n in range(12)]
    assert [a.digest for n, a in enumerate(got) if n != 5] == [a.digest for n, a in enumerate(good) if n != 5]
    assert "lost its adapter" in got[5].failure_detail


def test_failures_are_retried_within_the_budget_and_every_attempt_is_written() -> None:
    wanted = specs(4)
    policy, sampler = model()
    write, tries = sampler.write, {wanted[1].id: 2, wanted[2].id: 99}

    def flaky(request: SampleRequest) -> list[int]:
        if tries.get(request.episode_id, 0) > 0:
            tries[request.episode_id] -= 1
            raise OSError("gone")
        return write(request)

    sampler.write = flaky
    written: list[Episode] = []
    got = pool(wanted, policy, concurrency=4, retries=2, on_episode=written.append)
    assert [(episode.attempt, episode.valid) for episode in got] == [(0, True), (2, True), (2, False), (0, True)]
    assert sorted((episode.id, episode.attempt) for episode in written) == [
        (wanted[0].id, 0),
        *[(wanted[1].id, n) for n in range(3)],
        *[(wanted[2].id, n) for n in range(3)],
        (wanted[3].id, 0),
    ]
    # The same seeds: what was retried is what would have been.
    assert got[1].messages == pool(wanted, model()[0])[1].messages


def test_agent_failures_are_not_retried() -> None:
    (episode,) = pool(specs(1), Puppet([Turn()]), retries=3)
    assert (episode.failure, episode.attempt) == ("agent", 0)


def test_stop_lets_the_running_finish_and_starts_no_more() -> None:
    policy, sampler = model()
    written: list[Episode] = []
    got = pool(specs(20), policy, concurrency=4, on_episode=written.append, stop=lambda: len(written) >= 3)
    assert len(got) == len(written) < 20
    started = [id for what, id in sampler.log if what == "attach"]
    assert sorted(episode.id for episode in got) == sorted(started)
    assert [id for what, id in sampler.log if what == "attach"] == [spec.id for spec in specs(len(started))]
    assert pool(specs(5), model()[0], stop=lambda: True) == []


class Hanging(Puppet):
    """Never answers."""

    def begin(self, context: EpisodeContext) -> Any:
        class Actor(PuppetActor):
            async def act(self, new_messages: Sequence[Message]) -> Turn:
                self.puppet.seen.append([])
                await asyncio.Event().wait()
                raise AssertionError

        return Actor(self)


def test_a_cancelled_pool_leaves_nothing_attached() -> None:
    _, sampler = model()
    policy = Hanging([Turn()], sampler=sampler)

    async def main() -> None:
        job = asyncio.create_task(run_pool(specs(6), WORLD, policy, SETTINGS, concurrency=3))
        while len(policy.seen) < 3:
            await asyncio.sleep(0)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    asyncio.run(main())
    assert sorted(id for what, id in sampler.log if what == "attach") == sorted(
        id for what, id in sampler.log if what == "detach"
    )
    assert len(sampler.log) == 6


def test_a_writer_that_fails_stops_the_pool() -> None:
    policy, sampler = model()

    def full(_: Episode) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        pool(specs(6), policy, concurrency=3, on_episode=full)
    assert sampler.log.count(("detach", specs(1)[0].id)) == 1


def test_ids_must_be_unique() -> None:
    with pytest.raises(ValueError, match="share an id"):
        pool([*specs(2), specs(1)[0]], SCRIPTED["idle"])


def test_scripted_policies_need_no_sampler() -> None:
    wanted = [spec for spec in specs(16) if spec.task.family == "cancel"]
    got = pool(wanted, SCRIPTED["oracle"], concurrency=5, settings=replace(SETTINGS, limits=Limits()))
    assert [episode.reward for episode in got] == [1.0] * len(wanted)
    assert task_of("cancel").id in {episode.task_id for episode in got}
