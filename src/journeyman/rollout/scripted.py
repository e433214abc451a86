"""Policies without a model: the reference solution, and the ones that must not pass.

- `oracle` plays the task's reference steps; `writes_only` the same without its look-ups.
- `idle` says a word and does nothing; `refuse` declines; `transfer` hands over at once.
- `shotgun` (see its module) calls everything it can and recites all it reads.

A script is a generator: it is sent the new messages and yields turns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from journeyman.codec import canonical
from journeyman.engine.base import Sampler
from journeyman.episode import Message, Segment, ToolCall, Turn, Usage
from journeyman.errors import TaskFileError
from journeyman.grading.bindings import bindings_for, substitute
from journeyman.rollout.policy import EpisodeContext
from journeyman.rollout.shotgun import shotgun
from journeyman.task import Call, Say, Step

Script = Generator[Turn, Sequence[Message], None]

CLOSING = "Thank you for your patience."
DECLINE = "I'm sorry, but I can't help with that."


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy that follows a script; see `Policy`. When the script runs out, it closes politely, again and again."""

    name: str
    script: Callable[[EpisodeContext], Script]
    privileged: bool = False
    sampler: Sampler | None = field(default=None, init=False)

    def begin(self, context: EpisodeContext) -> ScriptedActor:
        return ScriptedActor(self.script(context))


class ScriptedActor:
    """One run of a script. It has no tokens."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._started = False

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        try:
            if self._started:
                return self._script.send(new_messages)
            self._started = True
            # A generator runs to its first yield before anything can be sent: that yield only takes the messages in.
            next(self._script)
            return self._script.send(new_messages)
        except StopIteration:
            return Turn(text=CLOSING)

    def segments(self) -> list[Segment]:
        return []

    def usage(self) -> Usage:
        return Usage()


def call_turn(*calls: tuple[str, dict[str, Any]]) -> Turn:
    """A turn that makes the calls."""
    return Turn(calls=[ToolCall(str(place), name, arguments) for place, (name, arguments) in enumerate(calls)])


def start() -> Turn:
    """What a script yields first; it is never seen."""
    return Turn()


def _oracle(context: EpisodeContext) -> Script:
    yield from play_steps(context, context.spec.task.oracle)


def _writes_only(context: EpisodeContext) -> Script:
    reads = {tool.name for tool in context.tools if tool.kind == "read"}
    steps = [step for step in context.spec.task.oracle if not (isinstance(step, Call) and step.tool in reads)]
    yield from play_steps(context, steps)


def play_steps(context: EpisodeContext, steps: Sequence[Step]) -> Script:
    """The script that plays the steps one after the other, whatever comes back."""
    yield start()
    yield from follow(context, steps)


def follow(context: EpisodeContext, steps: Sequence[Step]) -> Script:
    """A part of a script: the steps one after the other."""
    for step in steps:
        resolved = resolve(step, context)
        yield Turn(text=resolved.text) if isinstance(resolved, Say) else call_turn((resolved.tool, resolved.arguments))


def resolve(step: Step, context: EpisodeContext) -> Step:
    """The step with `${row.column}` replaced by what the session made of that row; as it is where there is no such
    row, which happens when the step that makes the row was edited out."""
    if context.changes is None or b"${" not in canonical(step):
        return step
    bindings = bindings_for(context.spec.task, context.world, context.changes())
    try:
        if isinstance(step, Say):
            return Say(str(substitute(step.text, bindings)))
        return Call(step.tool, substitute(step.arguments, bindings))
    except TaskFileError:
        return step


def _idle(_: EpisodeContext) -> Script:
    yield start()
    while True:
        yield Turn(text="Okay.")


def _refuse(_: EpisodeContext) -> Script:
    yield start()
    while True:
        yield Turn(text=DECLINE)


def _transfer(context: EpisodeContext) -> Script:
    yield start()
    tool = next((tool for tool in context.tools if tool.name == context.world.transfer_tool), None)
    if tool is not None:
        yield call_turn((tool.name, _filled(tool.parameters)))
    while True:
        yield Turn(text=DECLINE)


def _filled(parameters: dict[str, Any]) -> dict[str, Any]:
    """Any value for each required argument of a transfer."""
    filled: dict[str, Any] = {}
    for name in parameters.get("required", []):
        schema = parameters["properties"][name]
        by_type = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
        filled[name] = schema["enum"][0] if "enum" in schema else by_type.get(schema.get("type"), "needs a person")
    return filled


def _shotgun(context: EpisodeContext) -> Script:
    yield from shotgun(context)


SCRIPTED: dict[str, ScriptedPolicy] = {
    policy.name: policy
    for policy in (
        ScriptedPolicy("oracle", _oracle, privileged=True),
        ScriptedPolicy("writes_only", _writes_only, privileged=True),
        ScriptedPolicy("idle", _idle),
        ScriptedPolicy("refuse", _refuse),
        ScriptedPolicy("transfer", _transfer),
        ScriptedPolicy("shotgun", _shotgun),
    )
}
"""Every scripted policy, by name."""
