"""The key of an endpoint: no piece of it comes back, and one that is not served is tried once. Whatever a server sends."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest
from endpoint_fakes import KEY, FakeClock, ask, client
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.engine.chat import EndpointFailed, KeyRefused
from journeyman.engine.endpoint import open_endpoint
from journeyman.engine.wire import LONGEST_REASON
from journeyman.errors import EndpointError
from journeyman.remote import Endpoint
from journeyman.rollout.interpret import NativeCall, interpret, interpret_native


@pytest.mark.parametrize("status", [400, 401])
def test_an_error_never_shows_the_key_nor_keeps_the_request(status: int) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, json={"error": {"message": f"bad key {KEY}", "code": KEY}})

    with pytest.raises(EndpointError) as caught:
        ask(client(handler))
    assert KEY not in str(caught.value) + repr(caught.value)
    assert "[key]" in str(caught.value)
    assert caught.value.__cause__ is None


def traces_of_the_key(text: str) -> list[str]:
    """Pieces of the key, six characters long, that stand in a text."""
    return [KEY[place : place + 6] for place in range(len(KEY) - 5) if KEY[place : place + 6] in text]


@pytest.mark.parametrize("where", ["message", "code", "location", "content-encoding"])
def test_no_piece_of_the_key_is_left_where_an_error_is_cut(where: str) -> None:
    for before in range(LONGEST_REASON - 120, LONGEST_REASON + 5):
        padded = "x" * before + KEY
        replies = {
            "message": lambda said: httpx.Response(400, json={"error": {"message": said}}),
            "code": lambda said: httpx.Response(400, json={"error": {"message": "m", "code": said}}),
            "location": lambda said: httpx.Response(307, headers={"location": f"https://{said}.example/"}),
            "content-encoding": lambda said: httpx.Response(200, headers={"content-encoding": said}),
        }
        with pytest.raises(EndpointFailed) as caught:
            ask(client(lambda _, made=replies[where], said=padded: made(said), retries=0))  # type: ignore[misc]
        assert traces_of_the_key(str(caught.value)) == [], before
        assert len(caught.value.remedy) < LONGEST_REASON + 20


def escaped(text: str, every: int = 1) -> str:
    """A text with every so-manieth character as JSON may write it."""
    return "".join(
        f"\\u{ord(one):04X}" if place % every == 0 else one for place, one in enumerate(text)
    )  # fmt: skip


@pytest.mark.parametrize("every", [1, 2, 19])
@pytest.mark.parametrize("twice", [False, True])
def test_a_key_that_json_spells_out_is_struck_out_before_anybody_decodes_it(every: int, twice: bool) -> None:
    arguments = f'{{"phone": "{escaped(KEY, every)}"}}'
    block = f'<tool_call>{{"name": "find", "arguments": {arguments}}}</tool_call>'
    call = {"function": {"name": "find", "arguments": json.dumps(arguments) if twice else arguments}}

    def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": block, "tool_calls": [call]}}]})

    got = ask(client(handler))
    native = [NativeCall(one.name, one.arguments) for one in got.calls]
    for turn in (interpret_native(got.text, "", native, {}), interpret(got.text)):
        assert [one.arguments for one in turn.calls] == [{"phone": "[key]"}]
    # A judge or a user answers with JSON in its text.
    assert json.loads(got.text[len("<tool_call>") : -len("</tool_call>")])["arguments"] == {"phone": "[key]"}


def test_a_key_in_pieces_or_in_other_case_is_struck_out() -> None:
    parts = [{"type": "text", "text": KEY[:7]}, {"type": "text", "text": KEY[7:]}, KEY.upper()]

    def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": [{"message": {"content": parts}}]})

    assert ask(client(handler)).text == "[key][key]"


SENT = st.sampled_from([200, 301, 307, 308, 400, 401, 403, 418, 429, 500, 503])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from([KEY, escaped(KEY, 3)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["error", "message", "code", "choices", "content", "tool_calls", "function", "arguments"]),
        inner, max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(["location", "retry-after", "date", "content-encoding", "content-type"]),
    st.sampled_from(
        ["gzip", "/v2", "//[", "http://[bad", "7", "1e9", "soon", "Fri, 06 Mar 2026 10:00:09 +99999999999999"]
    )
    | st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30),
    max_size=4,
)


@settings(deadline=None, max_examples=300)
@given(SENT, HEADERS, JSON, st.sampled_from(["plain", "gzip", "cut", "deep"]))
def test_whatever_a_server_sends_is_an_answer_or_one_kind_of_error_and_holds_no_key(
    status: int, headers: dict[str, str], value: Any, form: str
) -> None:
    body = json.dumps(value).encode()
    forms = {"plain": body, "gzip": gzip.compress(body), "cut": body[:-1]}
    deep = b'{"error": {"message": ' + b"[" * 960 + b"]" * 960 + b"}}"
    sent = httpx.Response(status, headers=[(name, text.encode("latin-1")) for name, text in headers.items()])  # type: ignore[misc]

    async def streamed(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=sent.headers, stream=httpx.ByteStream(forms.get(form, deep)))

    endpoint = Endpoint(url="https://host.example/v1", model="m", api_key_env="K", retries=0)
    one = open_endpoint("far", endpoint, {"K": KEY}, FakeClock(), httpx.MockTransport(streamed))
    try:
        told = repr(ask(one))
    except EndpointError as error:
        told = str(error)
    assert KEY not in told


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(401),
        httpx.Response(401, json={"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}}),
        httpx.Response(402, json={"error": {"message": "Insufficient Balance"}}),
        httpx.Response(403, json={"detail": "this key may not use the model"}),
        httpx.Response(429, json={"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}),
        httpx.Response(200, json={"error": {"message": "who are you?", "code": 401}}),
    ],
)
def test_an_endpoint_that_does_not_serve_the_key_is_asked_once_and_never_again(response: httpx.Response) -> None:
    hits = []

    def handler(_: httpx.Request) -> httpx.Response:
        hits.append(1)
        return response

    one = client(handler)
    for _ in range(2):
        with pytest.raises(KeyRefused, match=r"endpoint far: it does not serve the key in K \(.*\): put one") as caught:
            ask(one)
        assert caught.value.exit_code == 3
        assert not isinstance(caught.value, EndpointFailed)
    assert len(hits) == 1


def test_an_endpoint_that_wants_a_key_says_where_to_name_it() -> None:
    with pytest.raises(KeyRefused, match=r"it wants a key .*api_key_env"):
        ask(client(lambda _: httpx.Response(401), api_key_env=None))


def test_a_conversation_that_is_refused_for_what_it_says_is_no_refused_key() -> None:
    said = {"error": {"message": "Your input was flagged by moderation.", "code": 403}}
    for response in (httpx.Response(403, json=said), httpx.Response(200, json=said)):
        with pytest.raises(EndpointFailed, match="flagged"):
            ask(client(lambda _, sent=response: sent))  # type: ignore[misc]
