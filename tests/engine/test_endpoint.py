"""The endpoint client: when it asks, how often, what it sends, and what it never lets out. No network, no waiting."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from endpoint_fakes import KEY, FakeClock, answer, ask, client, transport

from journeyman.engine.chat import EndpointFailed
from journeyman.engine.endpoint import ContextExceeded, Spent, open_endpoint
from journeyman.engine.pacing import TokenBucket, retry_delay
from journeyman.engine.replies import BadReply, estimate_tokens, read_completion
from journeyman.errors import RecipeError
from journeyman.remote import Endpoint


def test_what_is_sent() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answer()

    reply = ask(client(handler, headers={"x-title": "desk"}), seed=2**40 + 5)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finish) == ("hello", 7, 3, "stop")
    assert str(seen[0].url) == "https://host.example/v1/chat/completions"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[0].headers["x-title"] == "desk"
    assert json.loads(seen[0].content) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 5,
        "stream": False,
    }


def test_parameters_that_a_server_refuses_are_left_out() -> None:
    seen: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        return answer()

    ask(client(handler, max_tokens_key="max_completion_tokens", omit=["seed", "temperature"]))
    assert set(seen[0]) == {"model", "messages", "max_completion_tokens", "stream"}


def test_delays_double_with_a_jitter_that_a_seed_fixes() -> None:
    for attempt, whole in enumerate([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]):
        delays = {retry_delay(attempt, seed) for seed in range(50)}
        assert all(whole / 2 <= delay <= whole for delay in delays)
        assert len(delays) == 50
        assert retry_delay(attempt, 3) == retry_delay(attempt, 3)


def test_retries_are_bounded_and_wait_longer_each_time() -> None:
    clock, hits = FakeClock(), []

    def handler(request: httpx.Request) -> httpx.Response:
        hits.append(request)
        return httpx.Response(503)

    spent = Spent()
    with pytest.raises(EndpointFailed, match=r"endpoint far: answered with status 503 \(4 tries\)\.") as caught:
        ask(client(handler, clock, retries=3), spent)
    assert len(hits) == 4
    assert clock.slept == [retry_delay(0, 5), retry_delay(1, 5), retry_delay(2, 5)]
    assert (spent.requests, spent.input, spent.estimated) == (4, 0, 0)
    assert caught.value.usage == spent.usage()


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Fri, 06 Mar 2026 10:00:09 GMT", "date": "Fri, 06 Mar 2026 10:00:00 GMT"}, 9.0),
        ({"retry-after": "Fri, 06 Mar 2026 10:00:09 GMT"}, 0.0),  # no clock of this machine is asked
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "Fri, 06 Mar 2026 10:00:09 +9999999999999999999"}, 0.0),
    ],
)
def test_retry_after_is_honoured_before_the_next_request(headers: dict[str, str], pause: float) -> None:
    clock, moments = FakeClock(), []

    def handler(_: httpx.Request) -> httpx.Response:
        moments.append(clock.now())
        return answer() if len(moments) > 1 else httpx.Response(429, headers=headers)

    ask(client(handler, clock))
    assert moments[1] - moments[0] == pytest.approx(max(pause, retry_delay(0, 5)))


def test_who_wants_to_be_left_alone_too_long_is_given_up() -> None:
    clock = FakeClock()
    with pytest.raises(EndpointFailed, match="wants to be left alone for 3600 s"):
        ask(client(lambda _: httpx.Response(429, headers={"retry-after": "3600"}), clock))
    assert clock.slept == []


def test_a_bucket_lets_through_a_second_s_worth_and_then_paces() -> None:
    async def moments(per_minute: int | None, count: int) -> list[float]:
        clock = FakeClock()
        bucket = TokenBucket(per_minute, clock)
        found = []
        for _ in range(count):
            await bucket.take()
            found.append(round(clock.now() - 100.0, 9))
        return found

    assert asyncio.run(moments(None, 4)) == [0, 0, 0, 0]
    assert asyncio.run(moments(30, 4)) == [0, 2, 4, 6]
    assert asyncio.run(moments(120, 5)) == [0, 0, 0.5, 1.0, 1.5]


def test_a_bucket_never_exceeds_its_rate_over_any_minute() -> None:
    async def moments() -> list[float]:
        clock = FakeClock()
        bucket, found = TokenBucket(90, clock), []
        for number in range(400):
            if number % 37 == 0:
                clock.time += 5.0
            await bucket.take()
            found.append(clock.now())
        return found

    times = asyncio.run(moments())
    for start in times:
        assert sum(start <= moment < start + 60 for moment in times) <= 90 + 2


def test_no_more_requests_at_once_than_allowed() -> None:
    running, most = 0, 0

    async def handler(_: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return answer()

    one = client(handler, max_concurrency=3)  # type: ignore[arg-type]

    async def work() -> None:
        replies = await asyncio.gather(
            *(one.chat([{"role": "user", "content": "x"}], max_tokens=1, temperature=0.0, seed=n) for n in range(12))
        )
        assert {(reply.text, reply.prompt_tokens, reply.requests) for reply in replies} == {("hello", 7, 1)}
        await one.close()

    asyncio.run(work())
    assert most == 3


def test_a_redirect_is_followed_on_the_host_and_nowhere_else() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        targets = {"/v1/chat/completions": "/v2", "/v2": "https://evil.example/v1"}
        return httpx.Response(307, headers={"location": targets[request.url.path]})

    with pytest.raises(EndpointFailed, match=r"redirected to another host \(evil.example\)"):
        ask(client(handler))
    assert seen == ["https://host.example/v1/chat/completions", "https://host.example/v2"]


@pytest.mark.parametrize("location", ["http://[bad", "//[", "https://host.example]/"])
def test_a_redirect_to_no_url_is_a_failure_like_another(location: str) -> None:
    with pytest.raises(EndpointFailed, match="redirected to what is no URL"):
        ask(client(lambda _: httpx.Response(307, headers={"location": location})))


@pytest.mark.parametrize("code", [301, 302, 303])
def test_other_redirects_are_failures(code: int) -> None:
    with pytest.raises(EndpointFailed, match=f"status {code}"):
        ask(client(lambda _: httpx.Response(code, headers={"location": "/v2"})))


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(400, json={"error": {"code": "context_length_exceeded", "message": "x"}}),
        httpx.Response(400, json={"error": {"message": "maximum context length is 9 tokens"}}),
        httpx.Response(400, json={"object": "error", "message": "longer than the maximum context length"}),
        httpx.Response(200, json={"error": {"code": 400, "message": "prompt is too long"}}),
    ],
)
def test_a_full_context_is_told_apart(response: httpx.Response) -> None:
    hits = []

    def handler(_: httpx.Request) -> httpx.Response:
        hits.append(1)
        return response

    with pytest.raises(ContextExceeded):
        ask(client(handler))
    assert len(hits) == 1


def test_a_placeholder_is_no_secret() -> None:
    endpoint = Endpoint(url="http://127.0.0.1:1/v1", model="m", api_key_env="K")
    one = open_endpoint("near", endpoint, {"K": "EMPTY"}, FakeClock(), transport(lambda _: answer("EMPTY")))
    assert ask(one).text == "EMPTY"


@pytest.mark.parametrize("value", ["", "   ", "two words", "tab\tin", "line\nbreak", "ключ-ключ"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(value: str) -> None:
    endpoint = Endpoint(url="https://host.example/v1", model="m", api_key_env="K")
    with pytest.raises(RecipeError, match=r"environment: endpoints\.far\.api_key_env: K ") as caught:
        open_endpoint("far", endpoint, {"K": value})
    assert not value.strip() or value not in str(caught.value)


def test_requests_in_flight_count_even_where_they_are_cancelled() -> None:
    async def handler(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        return answer()

    spent, one = Spent(), client(handler)  # type: ignore[arg-type]

    async def work() -> None:
        task = asyncio.ensure_future(one.complete({"messages": [], "max_tokens": 1}, spent, seed=1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await one.close()

    asyncio.run(work())
    assert (spent.requests, spent.estimated) == (1, 1)
    assert spent.input > 0


def test_estimates_are_a_quarter_of_the_bytes() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "éé")] == [0, 1, 1, 2, 1]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"  ", b"<html>", b"[]", b"null", b"{}", b'{"choices": {}}', b'{"choices": [null]}', b'{"a": 1}x'),
        *(b'{"choices": [{"message": "hi"}]}', b'{"error": {"code": "500"}}', b"[" * 200_000, b"9" * 10_000),
    ],
)
def test_what_is_no_answer_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(BadReply):
        read_completion(body)
