"""Sampling and training side by side in one engine: versions, publications in the middle of things, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import small_engine as small

from journeyman.engine import local
from journeyman.engine.base import LossSettings, SampleResult
from journeyman.engine.local import LocalEngine
from journeyman.episode import Sample

STILL = LossSettings("ppo_clip", learning_rate=0.0)


@pytest.fixture
def made() -> Iterator[LocalEngine]:
    engine = small.engine()
    yield engine
    engine.close()


def scored(engine: LocalEngine, prompt: list[int], answer: SampleResult) -> list[float]:
    """Log-probabilities of an answer under the trainer's weights."""
    ids = prompt + answer.token_ids
    mask = [0] * len(prompt) + [1] * len(answer.token_ids)
    zeros = [0.0] * len(ids)
    (row,) = engine.logprobs([Sample("x", "x", ids, mask, zeros, [0] * len(ids), 1.0, zeros)])
    return row[len(prompt) :]


def test_an_answer_is_sampled_by_one_version_whatever_is_published_meanwhile(made: LocalEngine) -> None:
    prompt = small.tokens(30, 2)
    request = small.request("a", prompt, 200, seed=3)
    (alone,) = small.ask(made, request)
    old = scored(made, prompt, alone)
    made.reset()

    async def scene() -> tuple[SampleResult, SampleResult, int]:
        made.attach("a")
        answering = asyncio.create_task(made.sample(request))
        while not made._scheduler._under_way():
            await asyncio.sleep(0.001)
        small.disturb_adapter(made, seed=6)
        version = await asyncio.to_thread(made.publish)
        first = await answering
        second = await made.sample(small.request("a", prompt + first.token_ids, 20, seed=3))
        made.detach("a")
        return first, second, version

    first, second, version = asyncio.run(scene())
    assert (first.version, version, second.version) == (1, 2, 2)
    assert first.token_ids == alone.token_ids
    assert first.logprobs == pytest.approx(old, abs=1e-4)
    # The keys of the first answer were computed again with the new weights.
    longer = prompt + first.token_ids
    assert second.logprobs == pytest.approx(scored(made, longer, second), abs=1e-4)
    assert scored(made, prompt, first) != pytest.approx(old, abs=1e-2)


def test_a_publication_waits_for_no_episode_that_only_thinks(made: LocalEngine) -> None:
    """The caller may hold up the loop in which the others would ask: what is under way ends without them."""

    async def scene() -> tuple[SampleResult, int]:
        made.attach("a")
        made.attach("b")
        answering = asyncio.create_task(made.sample(small.request("a", small.tokens(5, 1), 100)))
        short = asyncio.create_task(made.sample(small.request("b", small.tokens(5, 2), 1)))
        await short  # b thinks now, and with it everybody waits
        version = made.publish()  # in the loop itself
        made.detach("b")
        return await answering, version

    answer, version = asyncio.run(asyncio.wait_for(scene(), 30))
    made.detach("a")
    assert (len(answer.token_ids), answer.version, version) == (100, 1, 2)


def test_nothing_begins_while_a_publication_waits(made: LocalEngine) -> None:
    async def scene() -> list[int]:
        made.attach("a")
        long = asyncio.create_task(made.sample(small.request("a", small.tokens(5, 1), 300)))
        while not made._scheduler._under_way():
            await asyncio.sleep(0.001)
        publishing = asyncio.create_task(asyncio.to_thread(made.publish))
        while not made._scheduler._holding:
            await asyncio.sleep(0.0005)
        made.attach("b")
        late = asyncio.create_task(made.sample(small.request("b", small.tokens(5, 2), 2)))
        versions = [(await long).version, await publishing]
        made.detach("a")
        versions.append((await late).version)
        made.detach("b")
        return versions

    assert asyncio.run(asyncio.wait_for(scene(), 30)) == [1, 2, 2]


def test_sampling_goes_on_during_an_update(made: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, gate = threading.Event(), threading.Event()
    plain = local.accumulate

    def slow(*given: Any) -> None:
        entered.set()
        assert gate.wait(30)
        plain(*given)

    monkeypatch.setattr(local, "accumulate", slow)
    samples = small.mixed_samples()

    async def scene() -> tuple[list[SampleResult], dict[str, float]]:
        updating = asyncio.create_task(asyncio.to_thread(made.update, samples, STILL))
        await asyncio.to_thread(entered.wait, 30)
        made.attach("a")
        answers = [await made.sample(small.request("a", small.tokens(9, turn), 12, seed=turn)) for turn in range(3)]
        made.detach("a")
        assert not updating.done()
        gate.set()
        return answers, await updating

    answers, metrics = asyncio.run(asyncio.wait_for(scene(), 60))
    assert [len(answer.token_ids) for answer in answers] == [12, 12, 12]
    assert {answer.version for answer in answers} == {1}
    # What was computed beside it changed nothing of the update.
    monkeypatch.setattr(local, "accumulate", plain)
    again = made.update(samples, STILL)
    assert {key: metrics[key] for key in metrics if key != "seconds"} == {
        key: again[key] for key in again if key != "seconds"
    }


def test_the_sampler_does_not_see_weights_that_were_not_published(made: LocalEngine) -> None:
    prompt = small.tokens(20, 4)
    before = small.ask(made, small.request("a", prompt, 20, seed=1))
    made.update(small.mixed_samples(), LossSettings("ppo_clip", learning_rate=0.5))
    made.reset()
    assert small.ask(made, small.request("a", prompt, 20, seed=1))[0].logprobs == before[0].logprobs
    made.publish()
    assert small.ask(made, small.request("a", prompt, 20, seed=1))[0].logprobs != before[0].logprobs


def test_an_episode_that_was_away_finds_its_keys(made: LocalEngine) -> None:
    fed: list[int] = []
    for batch in made._batches:
        plain = batch._feed
        batch._feed = lambda plan, plain=plain: (fed.append(plan[-1][2]), plain(plan))[1]  # type: ignore[method-assign]
    prompt = small.tokens(200, 4)

    async def scene() -> None:
        made.attach("b/0/1/0")
        other = asyncio.create_task(made.sample(small.request("b/0/1/0", small.tokens(50, 1), 300)))
        made.attach("a/0/0/0")
        first = await made.sample(small.request("a/0/0/0", prompt, 4, seed=1))
        made.detach("a/0/0/0")  # the user thinks
        await asyncio.sleep(0.05)
        fed.clear()
        made.attach("a/0/0/0")
        more = prompt + first.token_ids + small.tokens(5, 9)
        await made.sample(small.request("a/0/0/0", more, 2, seed=1))
        made.detach("a/0/0/0")
        other.cancel()
        made.detach("b/0/1/0")

    asyncio.run(asyncio.wait_for(scene(), 30))
    # The last sampled token and five more, beside at most one of the other's: no prompt of 200 again.
    assert max(fed) <= 7


def test_loading_back_gives_old_weights_a_new_number(made: LocalEngine, tmp_path: Any) -> None:
    made.save(tmp_path)
    prompt = small.tokens(20, 4)
    (then,) = small.ask(made, small.request("a", prompt, 10, seed=1))
    small.disturb_adapter(made, seed=8)
    assert (made.publish(), made.publish()) == (2, 3)
    made.load(tmp_path)
    (now,) = small.ask(made, small.request("a", prompt, 10, seed=1))
    assert (now.token_ids, now.logprobs) == (then.token_ids, then.logprobs)
    assert (then.version, now.version, made.publish()) == (1, 4, 5)
    fresh = small.engine(disturb=False)
    fresh.load(tmp_path)
    assert fresh.version == 1
    fresh.close()
