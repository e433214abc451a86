"""Sampling: the same answer whatever the batch, slot, cache or order; stops, limits, eviction, errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import small_engine as small
import torch

from journeyman.engine import cache, sampling
from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.engine.draw import uniform
from journeyman.engine.local import LocalEngine
from journeyman.engine.sampling import natural
from journeyman.episode import Sample
from journeyman.errors import EngineError


@pytest.fixture(scope="module", params=[32, 512], autouse=True)
def prefix(request: pytest.FixtureRequest) -> Iterator[int]:
    """Everything below holds with common prompts in prefix rows, and with copies of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_WORTH_SHARING", request.param)
        yield request.param


@pytest.fixture(scope="module")
def shared(prefix: int) -> LocalEngine:
    return small.engine()


async def dialogue(made: LocalEngine, episode: str, prompt: list[int], seed: int, turns: int = 3) -> Sample:
    """Some turns with given tokens between, as a Sample at temperature 0.8."""
    ids, mask, logprobs = list(prompt), [0] * len(prompt), [0.0] * len(prompt)
    try:
        for turn in range(turns):
            answer = await made.sample(small.request(episode, ids, 6 + turn, 0.8, seed=seed, stop=frozenset({9, 77})))
            between = small.tokens(5, seed + turn)
            ids = ids + answer.token_ids + between
            mask += [1] * len(answer.token_ids) + [0] * 5
            logprobs += answer.logprobs + [0.0] * 5
            await asyncio.sleep(0)
    finally:
        made.detach(episode)
    return Sample(episode, episode[:-2], ids, mask, logprobs, [0] * len(ids), 0.8, [0.0] * len(ids))


def play(made: LocalEngine, episodes: list[int]) -> list[Sample]:
    system = small.tokens(40, 1)

    async def everyone() -> list[Sample]:
        names = [f"p/0/{index // 4}/{index}" for index in episodes]
        for name in names:
            made.attach(name)
        prompts = [system + small.tokens(20, index // 4) for index in episodes]
        return await asyncio.gather(*map(lambda n, p, s: dialogue(made, n, p, s), names, prompts, episodes))

    return asyncio.run(everyone())


def test_tokens_and_logprobs_are_those_of_plain_transformers(shared: LocalEngine) -> None:
    prompt = small.tokens(30, 2)
    (answer,) = small.ask(shared, small.request("x", prompt, 10, temperature=0.6, seed=3))
    ids = list(prompt)
    for token, logprob in zip(answer.token_ids, answer.logprobs, strict=True):
        with torch.no_grad():
            logits = shared.peft_model(torch.tensor([ids])).logits[0, -1].double() / 0.6
        exact = torch.log_softmax(logits, -1)
        edges = exact.exp().cumsum(0)
        assert int(torch.searchsorted(edges, uniform(3, len(ids)), right=True)) == token
        assert logprob == pytest.approx(float(exact[token]), abs=1e-4)
        ids.append(token)


def test_sampler_and_trainer_agree(shared: LocalEngine) -> None:
    samples = play(shared, list(range(8)))
    drawn = sum(sum(s.mask) for s in samples)
    assert drawn > 80
    for item, row in zip(samples, shared.logprobs(samples), strict=True):
        assert row == pytest.approx(item.logprobs, abs=1e-3)


def test_twice_the_same_bits(shared: LocalEngine) -> None:
    shared.reset()
    first = play(shared, list(range(8)))
    shared.reset()
    assert play(shared, list(range(8))) == first


def test_batch_slots_and_cache_do_not_change_the_tokens(shared: LocalEngine) -> None:
    shared.reset()
    together = {item.episode_id: item.token_ids for item in play(shared, list(range(10)))}
    for index in (9, 3, 0):
        (alone,) = play(shared, [index])
        assert alone.token_ids == together[alone.episode_id]


def test_few_slots_evict_and_prefill_again(shared: LocalEngine) -> None:
    wide = [item.token_ids for item in play(shared, list(range(10)))]
    few = small.engine(slots=3)
    assert [item.token_ids for item in play(few, list(range(10)))] == wide


def test_a_prompt_cut_to_its_last_token_by_the_budget_decodes_with_the_others() -> None:
    """Prompts that spend the step's budget but for one token leave the last one a single token, in a low slot."""
    made, budget = small.engine(slots=4), sampling._PREFILL_BUDGET
    first = [small.request(f"a/{index}", small.tokens(20, index), 1, seed=index) for index in range(3)]
    long = small.request("a/5", small.tokens(20, 5), 20, seed=5)
    sizes = (40, budget - 40 - 1, 30)
    second = [small.request(f"a/{i}", small.tokens(size, 30 + i), 3, seed=i) for i, size in enumerate(sizes)]

    async def one(*requests: SampleRequest) -> SampleResult:
        try:
            return [await made.sample(item) for item in requests][-1]
        finally:
            made.detach(requests[0].episode_id)

    async def everyone() -> list[SampleResult]:
        for item in (*first, long):
            made.attach(item.episode_id)
        # "a/5" draws in slot 3 when the others ask again in slots 0 to 2.
        return await asyncio.gather(*(one(*pair) for pair in zip(first, second, strict=True)), one(long))

    together = asyncio.run(everyone())
    alone = small.engine(slots=4)
    for item, answer in zip((*second, long), together, strict=True):
        assert small.ask(alone, item)[0].token_ids == answer.token_ids


def test_equal_prompts_are_prefilled_once(shared: LocalEngine) -> None:
    shared.reset()
    prompt, fed = small.tokens(50, 4), []
    plain = shared._batches[0]._feed

    def spy(plan: list[tuple[object, int, int]]) -> torch.Tensor:
        fed.append(plan[-1][2])
        return plain(plan)  # type: ignore[arg-type]

    shared._batches[0]._feed = spy  # type: ignore[assignment, method-assign]
    try:
        answers = small.ask(shared, *(small.request(f"g/{i}", prompt, 2, seed=i) for i in range(4)))
        assert fed == [50, 4, 3]
        small.ask(shared, small.request("g/9", [*prompt, 5, 6], 1))
        assert fed[3:] == [2]
    finally:
        shared._batches[0]._feed = plain  # type: ignore[method-assign]
    assert len({tuple(a.token_ids) for a in answers}) == 4


def test_groups_stay_in_their_lane_and_lanes_fill_evenly() -> None:
    made = small.engine(slots=32)
    lanes = made._scheduler._lane_of
    seen: list[dict[str, int]] = []
    plain = made._scheduler._assign

    def spy(*given: Any) -> None:
        plain(*given)
        seen.append(dict(made._scheduler._lane_of))

    made._scheduler._assign = spy  # type: ignore[method-assign]
    heads = [small.tokens(40, 70 + group) for group in range(3)]
    try:
        small.ask(made, *(small.request(f"t/0/{i // 8}/{i % 8}", heads[i // 8], 2, seed=i) for i in range(24)))
        assert lanes == {}
        by_group = {group: {lane for e, lane in seen[0].items() if e.startswith(f"t/0/{group}/")} for group in range(3)}
        assert by_group == {0: {0}, 1: {1}, 2: {0}}
        assert all(len({first[e] for first in seen if e in first}) == 1 for e in seen[0])
        seen.clear()
        small.ask(made, *(small.request(f"u/0/0/{i}", heads[0], 1, seed=i) for i in range(30)))
        assert Counter(seen[0].values()) == {0: 15, 1: 15}  # a lane holds half of the slots
    finally:
        made.close()


def test_lanes_draw_the_same_tokens() -> None:
    requests = [small.request(f"t/0/{i // 4}/{i % 4}", small.tokens(20 + i, i // 4), 6, seed=i) for i in range(16)]
    answers = []
    for lanes in (1, 2, 4):
        made = small.engine(lanes=lanes)
        answers.append(small.ask(made, *requests))
        made.close()
    for others in answers[1:]:
        for one, other in zip(answers[0], others, strict=True):
            assert one.token_ids == other.token_ids
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_stop_and_length(shared: LocalEngine) -> None:
    prompt = small.tokens(12, 5)
    (free,) = small.ask(shared, small.request("a", prompt, 6, seed=1))
    assert (free.finish, len(free.token_ids)) == ("length", 6)
    stop = free.token_ids[3]
    (stopped,) = small.ask(shared, small.request("a", prompt, 6, seed=1, stop=frozenset({stop})))
    assert stopped.finish == "stop"
    assert stopped.token_ids == free.token_ids[: free.token_ids.index(stop) + 1]


def test_the_context_ends_an_answer() -> None:
    made = small.engine(slots=2)
    limit = made.context
    (answer,) = small.ask(made, small.request("a", small.tokens(limit - 3, 6), 50))
    assert (answer.finish, len(answer.token_ids)) == ("length", 3)
    with pytest.raises(EngineError, match="no room"):
        small.ask(made, small.request("a", small.tokens(limit, 6), 50))


def test_rows_under_way_survive_a_reset_and_a_publish(shared: LocalEngine) -> None:
    prompt = small.tokens(30, 7)
    (whole,) = small.ask(shared, small.request("a", prompt, 60, seed=2))

    async def disturbed() -> SampleResult:
        shared.attach("a")
        waiting = asyncio.ensure_future(shared.sample(small.request("a", prompt, 60, seed=2)))
        for _ in range(5):
            await asyncio.sleep(0.005)
            shared.reset()
        return await waiting

    assert asyncio.run(disturbed()).token_ids == whole.token_ids
    shared.detach("a")


def test_admission_waits_for_every_attached_episode(shared: LocalEngine) -> None:
    async def scene() -> tuple[bool, bool]:
        for name in ("a", "b"):
            shared.attach(name)
        first = asyncio.ensure_future(shared.sample(small.request("a", small.tokens(5, 1), 1)))
        await asyncio.sleep(0.1)
        early = first.done()
        shared.detach("b")
        shared.detach("b")
        await first
        shared.detach("a")
        return early, first.done()

    assert asyncio.run(scene()) == (False, True)


def test_a_cancelled_request_is_withdrawn(shared: LocalEngine) -> None:
    async def scene() -> SampleResult:
        shared.attach("a")
        shared.attach("b")
        long = asyncio.ensure_future(shared.sample(small.request("a", small.tokens(5, 1), 4000)))
        short = asyncio.ensure_future(shared.sample(small.request("b", small.tokens(5, 2), 4)))
        await asyncio.sleep(0.05)
        long.cancel()
        shared.detach("a")
        return await asyncio.wait_for(short, 20)

    answer = asyncio.run(scene())
    shared.detach("b")
    assert answer.token_ids == small.ask(shared, small.request("b", small.tokens(5, 2), 4))[0].token_ids
    assert not any(slot.active for batch in shared._batches for slot in batch.cache.slots)


def test_errors(shared: LocalEngine) -> None:
    for bad in (
        small.request("a", []),
        small.request("a", [10_000]),
        small.request("a", [5], max_tokens=0),
        small.request("a", [5], temperature=0.0),
        small.request("a", [5], top_p=0.0),
    ):
        with pytest.raises(EngineError):
            small.ask(shared, bad)


def test_closed_engine_refuses() -> None:
    made = small.engine()
    small.ask(made, small.request("a", [5], 1))
    made.close()
    with pytest.raises(EngineError, match="closed"):
        small.ask(made, small.request("a", [5], 1))


def test_ids_sort_by_number() -> None:
    ids = ["grpo/10/0/1", "grpo/2/0/11", "grpo/2/0/2", "base/0/0/0"]
    assert sorted(ids, key=natural) == ["base/0/0/0", "grpo/2/0/2", "grpo/2/0/11", "grpo/10/0/1"]
