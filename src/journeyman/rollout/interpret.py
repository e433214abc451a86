"""The one reader of model output, for training and for evaluation.

Text in, `Turn` out. A turn is optional reasoning, then any mix of text and call blocks:

    <think>the customer wants …</think>
    <tool_call>{"name": "get_account", "arguments": {"account_id": "A-17"}}</tool_call>

Whatever is not reasoning and not inside a block is text. An endpoint that reads calls out of the output itself hands
them over as `NativeCall`s: their arguments pass through the same strict reader and the same typing. Nothing a model can write raises: a block that cannot be
read becomes a `ToolCall` with `error` and `raw`, so that the agent is told what was wrong with it. This module knows
nothing of tokens; every renderer decodes and comes here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from journeyman.episode import Message, ToolCall, Turn

if TYPE_CHECKING:
    from journeyman.world import ToolSpec

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,80})"')
_INT_LIMIT = 2**63
_MAX_DEPTH = 64
MAX_CALLS = 1_000
"""Blocks read in one output; what follows them is one unreadable call."""


class NativeCall(NamedTuple):
    """A call as an endpoint read it; either field may be of any type."""

    name: Any
    arguments: Any


class _Unreadable(ValueError):
    """JSON that Python would accept and this project does not, with the reason as its message."""


def interpret(
    text: str,
    tools: Mapping[str, ToolSpec] | None = None,
    *,
    finish: Literal["stop", "length"] = "stop",
    thinking_open: bool = False,
) -> Turn:
    """Read one model output.

    Args:
        text: the output without its stop token.
        tools: the offered tools by name; arguments are typed by their schemas. A call of any other tool keeps its
            arguments as written.
        finish: why sampling stopped; copied into the turn.
        thinking_open: the prompt ended inside an opened `<think>`, which is therefore not in `text`.

    Returns:
        The turn. Calls have the ids "0", "1", … in the order in which they were written.
    """
    reasoning, body = _split_reasoning(_whole(text), thinking_open)
    texts: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while (start := body.find(CALL_OPEN, position)) >= 0:
        texts.append(body[position:start])
        if len(calls) == MAX_CALLS:
            calls.append(_unreadable(str(MAX_CALLS), "", f"more than {MAX_CALLS} calls in one turn"))
            position = len(body)
            break
        call, position = _read_block(body, start + len(CALL_OPEN), str(len(calls)), tools or {})
        calls.append(call)
    texts.append(body[position:])
    spoken = "\n".join(part for part in (piece.strip() for piece in texts) if part)
    return Turn(text=spoken, reasoning=reasoning.strip(), calls=calls, finish=finish)


def interpret_native(
    text: str,
    reasoning: str,
    native: Sequence[NativeCall],
    tools: Mapping[str, ToolSpec],
    *,
    finish: Literal["stop", "length"] = "stop",
) -> Turn:
    """Read the answer of an endpoint: text, reasoning and calls that it told apart itself.

    What it left in the text is read as `interpret` does. Blocks in the text count as calls only where the endpoint
    read none: some servers hand over the same calls twice.
    """
    turn = interpret(text, tools, finish=finish)
    thoughts = "\n".join(part for part in (_whole(reasoning).strip(), turn.reasoning) if part)
    calls = [_from_native(call, str(place), tools) for place, call in enumerate(native[:MAX_CALLS])]
    return Turn(text=turn.text, reasoning=thoughts, calls=calls or turn.calls, finish=finish)


def compose(message: Message) -> str:
    """The canonical text of an assistant message: what `interpret` reads back as the same turn.

    Reasoning first, then text, then one line a call.
    """
    parts = [message.content] if message.content else []
    parts += [f"{CALL_OPEN}{call_text(call)}{CALL_CLOSE}" for call in message.calls]
    body = "\n".join(parts)
    return f"{THINK_OPEN}\n{message.reasoning}\n{THINK_CLOSE}\n\n{body}" if message.reasoning else body


def call_text(call: ToolCall) -> str:
    """What stands inside the block of a call."""
    if call.arguments is None:
        return call.raw
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def silence(turn: Turn) -> str | None:
    """Why a turn says nothing to anybody, or None where it speaks or calls."""
    if turn.text or turn.calls:
        return None
    return "the output is only thinking" if turn.reasoning else "the output is empty"


def _split_reasoning(text: str, thinking_open: bool) -> tuple[str, str]:
    """Reasoning and the rest. An unclosed thought ends at the first call, else nowhere: all is reasoning."""
    stripped = text.lstrip()
    explicit = stripped.startswith(THINK_OPEN)
    rest = stripped[len(THINK_OPEN) :] if explicit else text
    close = rest.find(THINK_CLOSE)
    call = rest.find(CALL_OPEN)
    if explicit or thinking_open:
        if close >= 0:
            return rest[:close], rest[close + len(THINK_CLOSE) :]
        return (rest[:call], rest[call:]) if call >= 0 else (rest, "")
    # An endpoint may have cut off the opening tag, or put it into the prompt.
    if close >= 0 and (call < 0 or close < call):
        return rest[:close], rest[close + len(THINK_CLOSE) :]
    return "", rest


def _read_block(body: str, begin: int, call_id: str, tools: Mapping[str, ToolSpec]) -> tuple[ToolCall, int]:
    """The call whose block starts at `begin` (after its tag), and where reading goes on."""
    close, following = body.find(CALL_CLOSE, begin), body.find(CALL_OPEN, begin)
    try:
        start = _end_of_space(body, begin)
        value, end = parse_json(body, start)
        end = _end_of_space(body, end)
        if body.startswith(CALL_CLOSE, end):
            # The closing tag that counts is the one after the object: an argument may quote a tag.
            return _call_from(value, body[begin:end].strip(), call_id, tools), end + len(CALL_CLOSE)
        problem = "there is text after the JSON object"
    except _Unreadable as error:
        problem = str(error)
    if close < 0 or 0 <= following < close:
        end = following if following >= 0 else len(body)
        return _unreadable(call_id, body[begin:end], f"the block is not closed with {CALL_CLOSE}"), end
    return _unreadable(call_id, body[begin:close], problem), close + len(CALL_CLOSE)


def _call_from(value: Any, raw: str, call_id: str, tools: Mapping[str, ToolSpec]) -> ToolCall:
    if not isinstance(value, dict):
        return _unreadable(call_id, raw, f'expected an object with "name" and "arguments", got {_kind(value)}')
    name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str) or not name:
        return _unreadable(call_id, raw, '"name" is missing or is not a text')
    if "arguments" not in value:
        return _unreadable(call_id, raw, '"arguments" is missing (write {} where there are none)')
    if not isinstance(arguments, dict):
        return _unreadable(call_id, raw, f'"arguments" must be an object, got {_kind(arguments)}')
    unknown = sorted(set(value) - {"name", "arguments"})
    if unknown:
        return _unreadable(call_id, raw, f'unknown key "{unknown[0]}" beside "name" and "arguments"')
    spec = tools.get(name)
    return ToolCall(id=call_id, name=name, arguments=_typed(arguments, spec.parameters) if spec else arguments)


def _from_native(call: NativeCall, call_id: str, tools: Mapping[str, ToolSpec]) -> ToolCall:
    """Arguments may come as text (once or twice encoded), as an object, or not at all where the tool takes none."""
    arguments, raw = call.arguments, ""
    name = _whole(call.name) if isinstance(call.name, str) else ""
    try:
        if isinstance(arguments, str):
            raw = _whole(arguments).strip()
            value = _whole_json(raw) if raw else {}
            if isinstance(value, str):
                value = _whole_json(value.strip())
        else:
            raw = json.dumps(arguments, ensure_ascii=False)
            value = {} if arguments is None else _whole_json(raw)
    except (_Unreadable, RecursionError) as error:
        return ToolCall(id=call_id, name=name, error=str(error), raw=raw)
    read = _call_from({"name": name, "arguments": value}, raw, call_id, tools)
    return read if read.error is None else ToolCall(id=call_id, name=name, error=read.error, raw=raw)


def _whole_json(text: str) -> Any:
    value, end = parse_json(text)
    if end != len(text):
        raise _Unreadable("there is text after the JSON object")
    return value


def _whole(text: str) -> str:
    """The text without half surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _unreadable(call_id: str, raw: str, problem: str) -> ToolCall:
    name = _NAME.search(raw)
    return ToolCall(id=call_id, name=name.group(1) if name else "", error=problem, raw=raw.strip())


# --- strict JSON ------------------------------------------------------------------------------------------------


def parse_json(text: str, start: int = 0) -> tuple[Any, int]:
    """One JSON value from `text` at `start`, and where it ends.

    Stricter than `json`: no repeated keys, NaN or infinities, no number that 64 bits cannot hold, no unpaired
    surrogates, at most 64 levels.

    Raises:
        ValueError: with the reason, in one clause, as its message.
    """
    try:
        value, end = _decoder.raw_decode(text, start)
        _check_value(value, _MAX_DEPTH)
    except json.JSONDecodeError as error:
        raise _Unreadable(f"not valid JSON at character {error.pos - start}: {error.msg}") from error
    except RecursionError as error:
        raise _Unreadable("nested too deep") from error
    return value, end


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Unreadable(f"the key {json.dumps(key)} is given twice")
        found[key] = value
    return found


def _constant(name: str) -> NoReturn:
    raise _Unreadable(f"{name} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -_INT_LIMIT <= int(digits) < _INT_LIMIT:
        raise _Unreadable(f"the number {digits[:24]} is out of range")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Unreadable(f"the number {digits[:24]} is out of range")
    return value


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer, parse_float=_float)


def _check_value(value: Any, levels: int) -> None:
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise _Unreadable("a text holds half a surrogate pair")
        return
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise _Unreadable("nested too deep")
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    for part in parts:
        _check_value(part, levels - 1)


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _kind(value: Any) -> str:
    names = {"null": "null", "boolean": "a boolean", "string": "a text", "array": "a list", "object": "an object"}
    return names.get(_json_type(value), "a number")


# --- typing by schema -------------------------------------------------------------------------------------------


class _Schema(NamedTuple):
    node: Mapping[str, Any]
    root: Mapping[str, Any]

    def at(self, node: Any) -> _Schema:
        """A sub-schema, with a local reference followed."""
        node = node if isinstance(node, Mapping) else {}
        reference = node.get("$ref", "")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = self.root
            for part in reference[2:].split("/"):
                target = target.get(part, {}) if isinstance(target, Mapping) else {}
            node = target if isinstance(target, Mapping) else {}
        return _Schema(node, self.root)

    def branches(self) -> list[_Schema]:
        options = self.node.get("anyOf") or self.node.get("oneOf")
        return [leaf for option in options for leaf in self.at(option).branches()] if options else [self]

    def types(self) -> set[str]:
        """JSON types this leaf accepts; empty: any."""
        declared = self.node.get("type")
        if declared is not None:
            return {declared} if isinstance(declared, str) else set(declared)
        listed = [self.node["const"]] if "const" in self.node else self.node.get("enum", [])
        return {_json_type(value) for value in listed}


def _typed(arguments: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` with each value that was written as text cast to its declared type where that is exact."""
    schema = _Schema(parameters, parameters)
    properties = schema.node.get("properties", {})
    return {
        key: _cast(value, schema.at(properties[key])) if key in properties else value
        for key, value in arguments.items()
    }


def _cast(value: Any, schema: _Schema) -> Any:
    leaves = schema.branches()
    accepted: set[str] = set()
    for leaf in leaves:
        types = leaf.types()
        if not types:
            return value
        accepted |= types
    if isinstance(value, str) and "string" not in accepted:
        try:
            read, end = parse_json(value)
        except ValueError:
            return value
        if end != len(value) or not _fits(read, accepted):
            return value
        value = read
    if isinstance(value, float) and value.is_integer() and "integer" in accepted and "number" not in accepted:
        return int(value)
    if isinstance(value, list):
        items = next((leaf.at(leaf.node.get("items")) for leaf in leaves if "array" in leaf.types()), None)
        return [_cast(item, items) for item in value] if items else value
    if isinstance(value, dict):
        record = next((leaf for leaf in leaves if "object" in leaf.types()), None)
        properties = record.node.get("properties", {}) if record else {}
        return {
            key: _cast(item, schema.at(properties[key])) if key in properties else item for key, item in value.items()
        }
    return value


def _fits(value: Any, accepted: set[str]) -> bool:
    kind = _json_type(value)
    return kind in accepted or (kind == "integer" and "number" in accepted)


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    for python, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, python):
            return name
    return "object"
