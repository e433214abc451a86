"""A chat-completions server on this machine that plays the oracle, and misbehaves in every way that servers do.

    with StandIn(OracleBrain(episodes), misbehave="null_content") as server:
        ...  # server.url

It speaks HTTP by hand, so that it can be wrong in ways no library allows. What an answer should have been comes from a
brain; a misbehaviour turns that message into bytes.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from journeyman.episode import Episode

JSON = {"content-type": "application/json"}
Message = dict[str, Any]
Brain = Callable[[dict[str, Any]], Message]


class OracleBrain:
    """Answers as the oracle did in recorded episodes: found by the conversation so far, the system message left out."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self._turns: dict[str, Message] = {}
        for episode in episodes:
            for place, message in enumerate(episode.messages):
                if message.role == "assistant":
                    key = _key([(m.role, m.content) for m in episode.messages[:place]])
                    calls = [(call.name, call.arguments or {}) for call in message.calls]
                    known = self._turns.setdefault(key, spoken(message.content, *calls))
                    assert known == spoken(message.content, *calls), "two tasks begin alike"

    def __call__(self, request: dict[str, Any]) -> Message:
        said = [(message["role"], message["content"] or "") for message in request["messages"]]
        return self._turns.get(_key(said), spoken("I do not know what to do."))


def _key(said: list[tuple[str, str]]) -> str:
    return hashlib.sha256(json.dumps([one for one in said if one[0] != "system"]).encode()).hexdigest()


def spoken(text: str = "", *calls: tuple[str, Any]) -> Message:
    """A message as a faultless server sends it."""
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(calls)
        ]
    return message


@dataclass
class Reply:
    """What goes over the wire. `manner`: whole, chunked, cut (the connection ends half-way), reset, drip or hang."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: dict(JSON))
    manner: str = "whole"


def completion(message: Message, **changes: Any) -> dict[str, Any]:
    """The whole object of a faultless answer."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    whole: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "model": "stand-in",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return {**whole, **changes}


def good(message: Message, **changes: Any) -> Reply:
    """A faultless answer, or one with other fields."""
    return Reply(body=json.dumps(completion(message, **changes)).encode())


def _with_calls(change: Callable[[int, dict[str, Any]], Any]) -> Callable[[Message], Reply]:
    """A reply whose calls are changed one by one."""

    def reply(message: Message) -> Reply:
        calls = message.get("tool_calls") or []
        changed = [change(place, call) for place, call in enumerate(calls)]
        return good({**message, **({"tool_calls": changed} if calls else {})})

    return reply


def _arguments(change: Callable[[str], Any]) -> Callable[[Message], Reply]:
    return _with_calls(
        lambda _, call: {**call, "function": {**call["function"], "arguments": change(call["function"]["arguments"])}}
    )


def _bare(message: Message) -> dict[str, Any]:
    whole = completion(message)
    del whole["usage"]
    return whole


def _legacy(message: Message) -> Reply:
    calls = message.pop("tool_calls", None) or []
    return good({**message, **({"function_call": calls[0]["function"]} if calls else {})})


def _inline(message: Message) -> Reply:
    """A server without a tool parser: thoughts and calls stand in the text."""
    functions = [call["function"] for call in message.pop("tool_calls", None) or []]
    blocks = [f'{{"name": "{one["name"]}", "arguments": {one["arguments"]}}}' for one in functions]
    blocks = [f"<tool_call>{block}</tool_call>" for block in blocks]
    return good({**message, "content": "<think>\nhm\n</think>\n\n" + (message["content"] or "") + "\n".join(blocks)})


def _no_finish(message: Message) -> Reply:
    whole = completion(message)
    del whole["choices"][0]["finish_reason"]
    return Reply(body=json.dumps(whole).encode())


def _in_data(message: Message) -> bytes:
    return json.dumps(completion(message)).encode()


def _error(status: int, message: str, code: Any = None, **headers: str) -> Callable[[Message], Reply]:
    body = json.dumps({"error": {"message": message, "type": "x", "code": code}}).encode()
    return lambda _: Reply(status, body, {**JSON, **{name.replace("_", "-"): text for name, text in headers.items()}})


@functools.cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (32 << 20), 1)


TIDY: dict[str, Callable[[Message], Reply]] = {
    # Untidy, but an answer: each must be read as if nothing were wrong.
    "null_content": lambda m: good({**m, "content": m["content"] if not m.get("tool_calls") else None}),
    "duplicate_call_ids": _with_calls(lambda _, call: {**call, "id": "same"}),
    "missing_call_ids": _with_calls(lambda _, call: {key: call[key] for key in ("type", "function")}),
    "null_call_ids": _with_calls(lambda _, call: {**call, "id": None, "type": None}),
    "arguments_object": _arguments(json.loads),
    "arguments_twice_encoded": _arguments(json.dumps),
    "flat_calls": _with_calls(lambda _, call: call["function"]),
    "content_parts": lambda m: good(
        {**m, "content": [{"type": "text", "text": m["content"] or ""}, {"type": "image"}]}
    ),
    "reasoning_content": lambda m: good({**m, "reasoning_content": "I think."}),
    "reasoning": lambda m: good({**m, "reasoning": "I think.", "reasoning_content": None}),
    "null_tool_calls": lambda m: good({**m, "tool_calls": m.get("tool_calls"), "function_call": None}),
    "legacy_function_call": _legacy,
    "calls_in_the_text": _inline,
    "no_finish_reason": _no_finish,
    "odd_finish_reason": lambda m: good(m, choices=[{"message": m, "finish_reason": 7}]),
    "no_usage": lambda m: Reply(body=json.dumps(_bare(m)).encode()),
    "nonsense_usage": lambda m: good(m, usage={"prompt_tokens": -3, "completion_tokens": "many"}),
    "null_usage": lambda m: good(m, usage=None),
    "null_error": lambda m: good(m, error=None),
    "nan": lambda m: Reply(
        body=_in_data(m).replace(b'"total_tokens": 110', b'"total_tokens": NaN').replace(b'"x"', b"Infinity")
    ),
    "bom_and_space": lambda m: Reply(body=b"\xef\xbb\xbf\n  " + _in_data(m) + b"\n\n"),
    "not_utf8": lambda m: Reply(body=_in_data(m).replace(b'"stand-in"', b'"\xff\xfe\xe9"')),
    "chunked": lambda m: Reply(body=_in_data(m), manner="chunked"),
    "gzip": lambda m: Reply(body=gzip.compress(_in_data(m)), headers={**JSON, "content-encoding": "gzip"}),
    "wrong_content_type": lambda m: Reply(body=_in_data(m), headers={"content-type": "text/html"}),
    "no_content_type": lambda m: Reply(body=_in_data(m), headers={}),
}

BROKEN: dict[str, Callable[[Message], Reply]] = {
    # No answer: infrastructure, where it lasts.
    "rate_limited": _error(429, "slow down", retry_after="3"),
    "server_error": _error(500, "oops"),
    "bad_gateway": lambda _: Reply(502, b"<html><body>502 Bad Gateway</body></html>", {"content-type": "text/html"}),
    "unavailable": _error(503, "loading the model"),
    "html_page": lambda _: Reply(body=b"<!doctype html><p>Sign in", headers={"content-type": "text/html"}),
    "error_with_status_200": lambda _: Reply(body=b'{"error": {"message": "overloaded", "code": 503}}'),
    "error_text_with_status_200": lambda _: Reply(body=b'{"error": "overloaded"}'),
    "empty_choices": lambda m: good(m, choices=[]),
    "null_choices": lambda m: good(m, choices=None),
    "no_message": lambda m: good(m, choices=[{"finish_reason": "stop"}]),
    "empty_body": lambda _: Reply(body=b""),
    "a_list": lambda _: Reply(body=b"[]"),
    "truncated_json": lambda m: Reply(body=_in_data(m)[:-30]),
    "cut_short": lambda m: Reply(body=_in_data(m), manner="cut"),
    "connection_reset": lambda _: Reply(manner="reset"),
    "deep_json": lambda _: Reply(body=b"[" * 100_000),
    "huge_body": lambda _: Reply(body=b" " * (5 << 20)),
    "huge_gzip": lambda _: Reply(body=_bomb(), headers={**JSON, "content-encoding": "gzip"}),
    "false_gzip": lambda m: Reply(body=_in_data(m), headers={**JSON, "content-encoding": "gzip"}),
    "unknown_packing": lambda m: Reply(body=_in_data(m), headers={**JSON, "content-encoding": "zstd"}),
    "slow_drip": lambda m: Reply(body=_in_data(m), manner="drip"),
    "hang": lambda _: Reply(manner="hang"),
}

REFUSED: dict[str, Callable[[Message], Reply]] = {
    # No answer, and asking again would not help: infrastructure at once.
    "not_found": _error(404, "the model `x` does not exist", "model_not_found"),
    "bad_request": _error(400, "unknown parameter: seed"),
    "key_repeated": _error(400, "The key {key} knows no such parameter.", "unknown_parameter"),
    "flagged": _error(403, "The input was flagged by moderation."),
    "redirected_to_no_url": lambda _: Reply(307, b"", {"location": "http://[bad"}),
    "redirected_elsewhere": lambda _: Reply(307, b"", {"location": "http://127.0.0.2:9/v1/chat/completions"}),
    "redirected_for_ever": lambda _: Reply(307, b"", {"location": "/v1/chat/completions"}),
    "wait_an_hour": _error(429, "quota", retry_after="3600"),
}

KEYLESS: dict[str, Callable[[Message], Reply]] = {
    # The key is not served: the end of the run, and no attempt's failure.
    "unauthorized": _error(401, "Incorrect API key provided: {key}.", "invalid_api_key"),
    "without_credit": _error(402, "Insufficient Balance"),
    "forbidden": _error(403, "this key may not use the model"),
    "quota_spent": _error(429, "You exceeded your quota.", "insufficient_quota"),
    "error_401_with_status_200": lambda _: Reply(body=b'{"error": {"message": "who are you?", "code": 401}}'),
}

OWN: dict[str, Callable[[Message], Reply]] = {
    # An answer that is the model's own doing: graded, and failed.
    "unknown_tool": lambda _: good(spoken("", ("launch_rocket", {"to": "moon"}))),
    "unreadable_arguments": _arguments(lambda text: text[:-1]),
    "arguments_list": _arguments(lambda _: "[1]"),
    "nan_argument": _arguments(lambda _: '{"phone": NaN}'),
    "nameless_calls": _with_calls(lambda _, call: {**call, "function": {"arguments": "{}"}}),
    "cut_off": lambda m: good(m, choices=[{"message": {**m, "content": "I wa"}, "finish_reason": "length"}]),
    "past_its_limit": lambda _: good(spoken("la " * 100_000)),
    "nothing_said": lambda _: good({"role": "assistant", "content": ""}),
    "only_thoughts": lambda _: good({"role": "assistant", "content": None, "reasoning_content": "Let me see."}),
    "context_full": _error(400, "This model's maximum context length is 4096 tokens.", "context_length_exceeded"),
}

MISBEHAVIOURS = {**TIDY, **BROKEN, **REFUSED, **KEYLESS, **OWN}


class StandIn:
    """The server, in a thread of its own while the `with` block lasts.

    Args:
        brain: what a faultless server would answer.
        misbehave: a name of `MISBEHAVIOURS`; None: never.
        times: how often each request that is repeated meets it before it is answered faultlessly.
        when: which requests meet it at all.
    """

    def __init__(
        self,
        brain: Brain,
        misbehave: str | None = None,
        times: int = 1_000,
        when: Callable[[dict[str, Any]], bool] = lambda _: True,
    ) -> None:
        self.misbehave = misbehave
        self._brain = brain
        self._fault = MISBEHAVIOURS[misbehave] if misbehave is not None else good
        self._times = times
        self._when = when
        self._seen: Counter[bytes] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def misbehave_no_more(self) -> None:
        """From now on every answer is faultless."""
        self._times = 0

    def __enter__(self) -> StandIn:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._open: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the other side hung up, or the test is over
        finally:
            writer.close()
            self._open.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = await reader.readexactly(int(headers["content-length"]))
        request = json.loads(body)
        self.requests.append(request)
        key = headers.get("authorization", "").removeprefix("Bearer ")
        self.keys.append(key)
        self._seen[body] += 1
        misbehaves = self._when(request) and self._seen[body] <= self._times
        reply = (self._fault if misbehaves else good)(self._brain(request))
        reply.body = reply.body.replace(b"{key}", key.encode())
        return await _send(reply, writer)


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send it in its manner. Returns whether the connection goes on."""
    if reply.manner == "reset":
        writer.transport.abort()
        return False
    if reply.manner == "hang":
        await asyncio.sleep(60)
        return False
    chunked = reply.manner == "chunked"
    size = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(len(reply.body))}
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {text}" for name, text in {**reply.headers, **size}.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if chunked:
        for start in range(0, len(reply.body), 50):
            part = reply.body[start : start + 50]
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
    elif reply.manner == "cut":
        writer.write(reply.body[: len(reply.body) // 2])
        await writer.drain()
        return False
    elif reply.manner == "drip":
        for byte in reply.body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)
    else:
        writer.write(reply.body)
    await writer.drain()
    return True
