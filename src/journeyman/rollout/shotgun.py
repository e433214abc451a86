"""The shotgun: reads all it can reach, makes every plausible write, and recites every value it read.

It stands for an agent that hopes to hit the outcome by doing everything. A task that it passes does not grade well.
It is deterministic and bounded: at most `READS` look-ups and `WRITES` writes, fewer where the limits are tighter.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from journeyman.codec import canonical
from journeyman.episode import Message, ToolCall, Turn
from journeyman.rollout.policy import EpisodeContext

if TYPE_CHECKING:
    from journeyman.world import Lexicon, ToolSpec

READS, WRITES = 32, 32
CALLS_PER_TURN = 8
VALUES_PER_ARGUMENT = 3
COMBINATIONS_PER_TOOL = 6
SENTENCES = 200

PlannedCall = tuple[str, dict[str, Any]]

_TOKEN = re.compile(r"[A-Z]{1,5}-[A-Za-z0-9-]+|\d+(?:-\d+)+|\d+(?:\.\d+)?|[A-Z][a-z]+(?: [A-Z][a-z]+)+")


def shotgun(context: EpisodeContext) -> Generator[Turn, Sequence[Message], None]:
    """The script; see `scripted`."""
    seen = Seen()
    talks = context.spec.task.scenario is not None
    room = context.limits.calls - 1
    tools = [tool for tool in context.tools if tool.name != context.world.transfer_tool]
    reads = [tool for tool in tools if tool.kind == "read"]
    writes = [tool for tool in tools if tool.kind == "write"]
    seen.learn((yield Turn()))
    if talks:
        seen.learn((yield Turn(text=_questions(context.world.lexicon))))
    made: set[bytes] = set()
    left = min(READS, room // 2)
    while left > 0 and (batch := _plan(reads, seen, made)[: min(left, CALLS_PER_TURN)]):
        left -= len(batch)
        seen.learn((yield _turn(batch, made)))
    planned = _plan(writes, seen, made)[: min(WRITES, room - room // 2)]
    if talks:
        seen.learn((yield Turn(text=_proposals(context.world.lexicon, planned))))
    for batch in _batched(planned):
        seen.learn((yield _turn(batch, made)))
    while True:
        seen.learn((yield Turn(text=seen.recital())))


def gentle(
    context: EpisodeContext, reads: Sequence[str], writes: Sequence[str]
) -> Generator[Turn, Sequence[Message], None]:
    """A shotgun that knows which tools are the right ones: it looks up with those of `reads`, asks only where that leads
    nowhere, calls each of `writes` once with the likeliest values it met, and recites. Nothing it does is out of place
    but its choice of values, and it says nothing that would send a customer away before it is done."""
    seen = Seen()
    by_name = {tool.name: tool for tool in context.tools}
    seen.learn((yield Turn()))
    made: set[bytes] = set()
    tools = [by_name[name] for name in dict.fromkeys(reads) if name in by_name]
    left = READS
    asks = context.spec.task.scenario is not None
    while left > 0:
        batch = _plan(tools, seen, made)[: min(left, CALLS_PER_TURN)]
        left -= len(batch)
        if batch:
            seen.learn((yield _turn(batch, made)))
        elif asks and any(
            not _calls_of(tool, seen) for tool in [*tools, *(by_name[w] for w in writes if w in by_name)]
        ):
            asks = False
            seen.learn((yield Turn(text=_questions(context.world.lexicon))))
        else:
            break
    for name in writes:
        for call in _calls_of(by_name[name], seen)[:1] if name in by_name else []:
            seen.learn((yield _turn([call], made)))
    while True:
        seen.learn((yield Turn(text=seen.recital())))


class Seen:
    """Values met so far, by the name they were met under, in order of appearance; "" for those out of free text."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str | int | float, None]] = {"": {}}

    def learn(self, messages: Iterable[Message]) -> None:
        """Take in what the user said and what tools answered."""
        for message in messages:
            if message.role == "tool":
                found = _loads(message.content)
                if not (isinstance(found, dict) and "error" in found):
                    self._walk("", found)
            elif message.role == "user":
                for token in _TOKEN.findall(message.content):
                    self._add("", _number(token))

    def candidates(self, name: str, schema: Mapping[str, Any]) -> list[Any]:
        """Plausible values for an argument, likeliest first, at most `VALUES_PER_ARGUMENT`."""
        for node in (schema, *schema.get("anyOf", [])):
            if "enum" in node:
                return list(node["enum"])[:VALUES_PER_ARGUMENT]
        types = {node.get("type") for node in (schema, *schema.get("anyOf", []))}
        if "boolean" in types:
            return [True, False]
        named = [key for key in self._values if key == name or (key and (key in name or name.endswith(key)))]
        found = {
            value: None for key in [*sorted(named, key=lambda key: key != name), ""] for value in self._values[key]
        }
        kinds = tuple(kind for label, kind in _PYTHON.items() if label in types) or (str,)
        fitting = [value for value in found if isinstance(value, kinds) and not isinstance(value, bool)]
        return fitting[:VALUES_PER_ARGUMENT] or (["as requested"] if "string" in types else [])

    def recital(self) -> str:
        """One sentence for every value that a tool answered."""
        told = [
            f"The {name.replace('_', ' ')} is {value}."
            for name, values in self._values.items()
            if name
            for value in values
        ]
        return " ".join(told[:SENTENCES]) or "Done."

    def _walk(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                self._walk(key, part)
        elif isinstance(value, list):
            for part in value:
                self._walk(name, part)
        elif isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) <= 80:
            self._add(name or "value", value)

    def _add(self, name: str, value: str | int | float) -> None:
        self._values.setdefault(name, {})[value] = None


_PYTHON: dict[str, type] = {"string": str, "integer": int, "number": float}


def _plan(tools: Sequence[ToolSpec], seen: Seen, made: set[bytes]) -> list[PlannedCall]:
    """Calls not made yet, the tools taking turns so that a bound does not starve the last of them."""
    by_tool = [[call for call in _calls_of(tool, seen) if canonical(call) not in made] for tool in tools]
    rounds = itertools.zip_longest(*by_tool)
    return [call for one in rounds for call in one if call is not None]


def _calls_of(tool: ToolSpec, seen: Seen) -> list[PlannedCall]:
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", []) if name in properties]
    options = [seen.candidates(name, properties[name]) for name in required]
    combinations = itertools.islice(itertools.product(*options), COMBINATIONS_PER_TOOL)
    return [(tool.name, dict(zip(required, values, strict=True))) for values in combinations]


def _turn(batch: Sequence[PlannedCall], made: set[bytes]) -> Turn:
    made.update(canonical(call) for call in batch)
    return Turn(calls=[ToolCall(str(place), name, arguments) for place, (name, arguments) in enumerate(batch)])


def _batched(calls: list[PlannedCall]) -> list[list[PlannedCall]]:
    return [calls[start : start + CALLS_PER_TURN] for start in range(0, len(calls), CALLS_PER_TURN)]


def _questions(lexicon: Lexicon) -> str:
    asked = [f"What is the {(slot.ask or slot.cues or [slot.name])[0]}?" for slot in lexicon.slots]
    return " ".join(asked) or "What can I do?"


def _proposals(lexicon: Lexicon, planned: Sequence[PlannedCall]) -> str:
    verbs = {form.tool: form.verbs[0] for form in lexicon.proposals if form.verbs}
    asked = [
        f"Shall I {verbs[name]} {', '.join(str(value) for value in arguments.values())}?"
        for name, arguments in planned
        if name in verbs
    ]
    return " ".join(asked) or "I will go ahead now."


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _number(token: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(token)
        except ValueError:
            continue
    return token
