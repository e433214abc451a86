"""The vLLM engine and every fault of a server: a typed failure after bounded tries, and never a wrong answer used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from endpoint_fakes import FakeClock
from small_engine import request
from vllm_making import PROMPT, ask, connect, hurry
from vllm_stand_in import PASSING, WRONG, StandIn

from journeyman.codec import seed_of
from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.engine.chat import KeyRefused
from journeyman.engine.pacing import retry_delay
from journeyman.engine.vllm import VllmEngine
from journeyman.engine.vllm_answers import WrongAnswer
from journeyman.engine.vllm_client import ServerFailed
from journeyman.errors import EngineError


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StandIn, VllmEngine, FakeClock]]:
    clock = FakeClock()
    with StandIn() as one:
        made = connect(one, tmp_path_factory.mktemp("adapters"), clock=clock)
        yield one, made, clock
        made.close()


@pytest.fixture
def server(home: tuple[StandIn, VllmEngine, FakeClock]) -> Iterator[StandIn]:
    home[2].slept.clear()
    yield home[0]
    home[0].behave()


@pytest.fixture
def made(home: tuple[StandIn, VllmEngine, FakeClock], server: StandIn) -> VllmEngine:
    return home[1]


@pytest.fixture
def clock(home: tuple[StandIn, VllmEngine, FakeClock], server: StandIn) -> FakeClock:
    return home[2]


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_costs_nothing_but_time(
    server: StandIn, made: VllmEngine, clock: FakeClock, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wanted,) = ask(made, request("e", PROMPT, 6, seed=2))
    assert clock.slept == []
    if fault == "hang":
        hurry(made, monkeypatch, tries=2)
    server.misbehave(fault, times=2)
    before = len(server.sampled())
    (answer,) = ask(made, request("e", PROMPT, 6, seed=2))
    assert (answer.token_ids, answer.logprobs) == (wanted.token_ids, wanted.logprobs)
    first, second, third = server.sampled()[before:]
    assert first == second == third
    # Delays double; what the server asked for with status 429 is waited for on top.
    delays = [retry_delay(number, seed_of(2, len(PROMPT))) for number in range(2)]
    assert [round(one, 9) for one in clock.slept if round(one, 9) in {round(two, 9) for two in delays}] == [
        round(one, 9) for one in delays
    ]
    assert sum(clock.slept) == pytest.approx(sum(delays) if fault != "429" else sum(max(2.0, one) for one in delays))


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_stays_is_a_typed_failure_after_bounded_tries(
    server: StandIn, made: VllmEngine, clock: FakeClock, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.misbehave(fault)
    before = len(server.sampled())
    with monkeypatch.context() as patch:
        if fault == "hang":
            hurry(made, patch, tries=3)
        with pytest.raises(ServerFailed, match=r"\(3 tries\)\.") as caught:
            ask(made, request("e", PROMPT, 6))
    assert caught.value.where == f"vLLM at {server.url}"
    assert len(server.sampled()) - before == 3
    server.behave()
    assert len(ask(made, request("e", PROMPT, 6))[0].token_ids) == 6


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_a_typed_failure_and_not_asked_for_again(
    server: StandIn, made: VllmEngine, fault: str
) -> None:
    server.misbehave(fault)
    before = len(server.sampled())
    with pytest.raises(WrongAnswer, match="The answer is not used"):
        ask(made, request("e", PROMPT, 6))
    assert len(server.sampled()) - before == 1


def test_one_wrong_answer_harms_no_other(server: StandIn, made: VllmEngine) -> None:
    server.misbehave("a token twice", times=1, skip=1)

    async def everyone() -> list[Any]:
        asked = (made.sample(request(f"e/{n}", PROMPT, 6, seed=n)) for n in range(4))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    found = asyncio.run(everyone())
    assert sum(isinstance(one, WrongAnswer) for one in found) == 1
    assert sum(isinstance(one, SampleResult) for one in found) == 3


def test_a_key_is_sent_and_one_that_is_refused_ends_the_run(tmp_path: Path) -> None:
    with StandIn(key="sk-right-0123") as server:
        made = connect(server, tmp_path, key="sk-right-0123", api_key_env="VLLM_KEY")
        assert len(ask(made, request("e", PROMPT, 6))[0].token_ids) == 6
        made.close()
        with pytest.raises(KeyRefused, match="VLLM_KEY") as caught:
            connect(server, tmp_path, key="sk-wrong-4567", api_key_env="VLLM_KEY")
        assert "sk-wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (request("e", []), "is empty"),
        (request("e", [1] * 4096), "leave no room"),
        (request("e", [1, 10**6]), "ids must lie in"),
        (request("e", [1], 0), "above 0"),
        (request("e", [1], 4, 0.0), "above 0"),
    ],
)
def test_a_request_that_nobody_could_answer_is_not_sent(
    server: StandIn, made: VllmEngine, asked: SampleRequest, said: str
) -> None:
    before = len(server.sampled())
    with pytest.raises(EngineError, match=said):
        ask(made, asked)
    assert len(server.sampled()) == before


def test_answers_come_in_while_the_callers_loop_stands_still(
    server: StandIn, made: VllmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An optimizer step blocks the loop for longer than a request may last: nothing times out."""
    monkeypatch.setattr(made._client._wire, "timeout", 2.0)

    async def scenario() -> SampleResult:
        asked = asyncio.ensure_future(made.sample(request("e", PROMPT, 6)))
        await asyncio.sleep(0.05)
        time.sleep(2.5)
        return await asked

    before = len(server.sampled())
    assert len(asyncio.run(scenario()).token_ids) == 6
    assert len(server.sampled()) - before == 1


def test_a_cancelled_episode_gives_its_request_up(server: StandIn, made: VllmEngine) -> None:
    server.misbehave("hang", times=1)

    async def scenario() -> None:
        asked = asyncio.ensure_future(made.sample(request("e", PROMPT, 6)))
        await asyncio.sleep(0.1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    asyncio.run(scenario())
    assert len(ask(made, request("e", PROMPT, 6))[0].token_ids) == 6
