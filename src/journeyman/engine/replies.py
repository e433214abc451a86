"""Reading what servers send for a chat completion: tolerant of every form seen in the wild, bounded, never guessing.

    completion = read_completion(body)

What is merely untidy (null or doubled fields, arguments as an object, content in parts, a legacy `function_call`, no
usage, no finish reason) is read. What is no answer (an error object, no choice, broken JSON) is `BadReply`. This module
knows nothing of HTTP and nothing of tools.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

MAX_CALLS = 1_000
"""Calls read of one answer."""
_MOST_TOKENS = 10**9


class BadReply(Exception):
    """A body that is no answer.

    Args:
        reason: one clause.
        status: the HTTP status that an error object inside the body speaks of, None where it names none.
        code: the code of an error object.
    """

    def __init__(self, reason: str, status: int | None = None, code: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.code = code


class RawCall(Struct, frozen=True):
    """A tool call as it was sent: `arguments` may be of any type."""

    name: Any
    arguments: Any


class Completion(Struct, frozen=True):
    """One answer. Token counts are None where the server did not tell them, or told nonsense."""

    text: str
    reasoning: str
    calls: list[RawCall]
    finish: Literal["stop", "length"]
    prompt_tokens: int | None
    completion_tokens: int | None


def read_completion(body: bytes) -> Completion:
    """Read the body of an answer with status 200.

    Raises:
        BadReply: it holds no answer.
    """
    value = read_json(body)
    if value.get("error"):
        raise error_reply(value["error"])
    choice = _first_mapping(value.get("choices"))
    if choice is None:
        raise BadReply("the answer holds no choice")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise BadReply("the answer holds no message")
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    text = _text(message.get("content")) or _text(message.get("refusal"))
    usage = value.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return Completion(
        text=text,
        reasoning=reasoning,
        calls=_calls(message),
        finish="length" if choice.get("finish_reason") in ("length", "max_tokens") else "stop",
        prompt_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        completion_tokens=_count(usage, "completion_tokens", "output_tokens"),
    )


def read_json(body: bytes) -> dict[str, Any]:
    """The JSON object of a body: a byte order mark, white space and bytes that are no UTF-8 are put up with.

    Raises:
        BadReply: it is none.
    """
    text = body.decode("utf-8-sig", "replace").strip()
    if not text:
        raise BadReply("the answer is empty")
    if text[0] == "<":
        raise BadReply("the answer is a web page")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadReply(f"the answer is no JSON ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise BadReply("the answer is no JSON object")
    return value


def error_reply(error: Any) -> BadReply:
    """What an `error` field says. Nothing is cut off: of a secret that is cut in two, the rest would not be known again."""
    if not isinstance(error, Mapping):
        return BadReply(f"error: {_said(error)}")
    code = error.get("code")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        status = int(code)
    said = _said(error.get("message") or error.get("type") or code or "without a message")
    return BadReply(f"error: {said}", status, _said(code or ""))


def estimate_tokens(*texts: str) -> int:
    """Tokens of the texts where nobody counted them: a quarter of their bytes, rounded up."""
    return math.ceil(sum(len(text.encode("utf-8", "replace")) for text in texts) / 4)


def _said(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "nested too deep"


def _first_mapping(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, list) or not value:
        return None
    return value[0] if isinstance(value[0], Mapping) else None


def _calls(message: Mapping[str, Any]) -> list[RawCall]:
    listed = message.get("tool_calls")
    if isinstance(listed, Mapping):
        listed = [listed]
    found = []
    for entry in listed if isinstance(listed, list) else []:
        function = entry.get("function") if isinstance(entry, Mapping) else None
        # Some servers leave the middle layer out.
        found.append(_call(function if isinstance(function, Mapping) else entry))
    legacy = message.get("function_call")
    if not found and isinstance(legacy, Mapping):
        found = [_call(legacy)]
    return found[:MAX_CALLS]


def _call(value: Any) -> RawCall:
    fields = value if isinstance(value, Mapping) else {}
    return RawCall(fields.get("name"), fields.get("arguments", fields.get("parameters")))


def _text(value: Any) -> str:
    """A text, or the texts of its parts one after the other; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, Sequence):
        return ""
    parts = [part if isinstance(part, str) else part.get("text") for part in value if isinstance(part, str | Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if math.isfinite(value) and 0 <= value <= _MOST_TOKENS and value == int(value):
            return int(value)
    return None
