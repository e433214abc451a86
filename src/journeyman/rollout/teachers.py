"""Teachers without a model: the reference solution in other words and with other habits, for traces to learn from.

Each plays the task's oracle steps in their order. What it changes is harmless:

- its wording: a message is reworded and framed only where the reader finds the same events in it as in the oracle's own
  text, in the same order; else a plainer version is said, at last the oracle's;
- its habits: notes beside calls, several look-ups in one turn, look-ups that nobody needs, a slip that it recovers from.

No habit adds a write. A look-up is made only with values that the agent has met by then. All choices follow from the
episode's seed and the teacher's name. Whether a task was solved is for the grader to say: traces are kept by verdict.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from journeyman.codec import canonical, seed_of
from journeyman.episode import Message, Turn
from journeyman.grading.grade import reader_of
from journeyman.rollout.policy import EpisodeContext
from journeyman.rollout.scripted import SCRIPTED, Script, ScriptedPolicy, call_turn, resolve, start
from journeyman.rollout.wording import FORMAL, FRIENDLY, PLAIN, TERSE, Style, note_on, reworded
from journeyman.task import Call, Say

MAX_TOGETHER = 4
"""Look-ups that a teacher makes in one turn at most."""
_SHORT_QUERY = 3
"""Words of a search that is tried again in fewer words."""


@dataclass(frozen=True)
class Habits:
    """How a teacher works.

    Args:
        notes: says beside each call what it is for.
        together: makes independent look-ups in one turn.
        detours: look-ups that nobody needs, before the first write.
        slips: calls that go wrong before they are made right, before the first write.
    """

    notes: bool = False
    together: bool = False
    detours: int = 0
    slips: int = 0


def _teacher(name: str, style: Style, habits: Habits) -> ScriptedPolicy:
    return ScriptedPolicy(name, functools.partial(_lesson, name=name, style=style, habits=habits), privileged=True)


def _lesson(context: EpisodeContext, name: str, style: Style, habits: Habits) -> Script:
    lesson = _Lesson(context, name, style, habits)
    lesson.hear((yield start()))
    place = 0
    while place < len(lesson.steps):
        step = resolve(lesson.steps[place], context)
        if isinstance(step, Say):
            lesson.hear((yield Turn(text=lesson.say(step.text, place))))
            place += 1
            continue
        if place in lesson.slip_places and (wrong := lesson.slip(step)) is not None:
            lesson.hear((yield lesson.call(wrong)))
        together = lesson.together(place, step)
        lesson.hear((yield lesson.call(*together)))
        for done in range(place, place + len(together)):
            if done in lesson.detour_places and (extra := lesson.detour(place + len(together))) is not None:
                lesson.hear((yield lesson.call(extra)))
        place += len(together)


class _Lesson:
    """One teacher in one episode: what it has seen, and its choices."""

    def __init__(self, context: EpisodeContext, name: str, style: Style, habits: Habits) -> None:
        task = context.spec.task
        self.steps = task.oracle
        self._context = context
        self._style = style
        self._habits = habits
        self._rng = random.Random(seed_of(context.spec.seeds.episode, "teacher", name))
        self._reader = reader_of(context.world)
        self._tools = {tool.name: tool for tool in context.tools}
        self._reads = {tool.name for tool in context.tools if tool.kind == "read"} - {f.tool for f in task.faults}
        self._results: list[tuple[Call, Any]] = []
        self._waiting: list[Call] = []
        self._detoured: set[bytes] = set()
        self._text = ""
        self._told = ""
        self._last_say = max((n for n, step in enumerate(self.steps) if isinstance(step, Say)), default=-1)
        self._first_say = min((n for n, step in enumerate(self.steps) if isinstance(step, Say)), default=-1)
        looked = self._look_ups()
        room = self._room()
        self.slip_places = self._some(looked, min(habits.slips, room))
        self.detour_places = self._some(looked, min(habits.detours, room - len(self.slip_places)))

    def _look_ups(self) -> list[int]:
        """Places of the look-ups before the first write, or before the last message where nothing is written."""
        places = []
        for place, step in enumerate(self.steps):
            if place == self._last_say or (isinstance(step, Call) and step.tool not in self._reads):
                break
            if isinstance(step, Call):
                places.append(place)
        return places

    def _room(self) -> int:
        """Calls that fit beside the oracle's into the limits of the episode."""
        calls = sum(isinstance(step, Call) for step in self.steps)
        limits = self._context.limits
        return max(0, min(limits.calls - calls, limits.turns - len(self.steps) - 1))

    def _some(self, places: Sequence[int], count: int) -> frozenset[int]:
        return frozenset(self._rng.sample(places, min(count, len(places))))

    def hear(self, messages: Sequence[Message]) -> None:
        """Take in what came back."""
        for message in messages:
            self._text += f"\n{message.content}"
            if message.role != "tool":
                continue
            self._told += f"\n{message.content}"
            if self._waiting:
                self._results.append((self._waiting.pop(0), _decoded(message.content)))

    def say(self, text: str, place: int) -> str:
        """The message in the teacher's words."""
        return reworded(
            text, self._style, self._rng, self._reader, first=place == self._first_say, last=place == self._last_say
        )

    def call(self, *calls: Call) -> Turn:
        """A turn that makes the calls."""
        self._waiting = list(calls)
        turn = call_turn(*((call.tool, call.arguments) for call in calls))
        return Turn(text=note_on(calls[0].tool, self._rng), calls=turn.calls) if self._habits.notes else turn

    def together(self, place: int, step: Call) -> list[Call]:
        """The steps from `place` on that are made in one turn: look-ups whose arguments are all known already."""
        calls = [step]
        if not self._habits.together or step.tool not in self._reads:
            return calls
        for later in self.steps[place + 1 : place + MAX_TOGETHER]:
            if not isinstance(later, Call) or later.tool not in self._reads or not self._is_known(later):
                break
            calls.append(later)
        return calls

    def _is_known(self, call: Call) -> bool:
        schema = json.dumps(self._tools[call.tool].parameters)
        return all(
            f'"{value}"' in schema
            or (str(value) in self._text if not isinstance(value, bool) else True)
            # A text of several words is the agent's own.
            or (isinstance(value, str) and " " in value)
            for value in _leaves(call.arguments)
        )

    def detour(self, following: int) -> Call | None:
        """A look-up that nobody needs: a record read again, one more record of the same keys, the search in fewer words."""
        keys = {key for step in self.steps if isinstance(step, Call) for key in _pairs(step.arguments)}
        known = [pair for pair in dict.fromkeys(p for _, found in self._results for p in _pairs(found)) if pair in keys]
        again = [
            call
            for call, found in self._results
            if call.tool in self._reads and not _is_error(found) and self._is_of_record(call)
        ]
        # Not the call that was just made, nor the one that comes next, nor an earlier detour.
        barred = self._detoured | {_identity(call) for call, _ in self._results[-1:]}
        upcoming = self.steps[following] if following < len(self.steps) else None
        if isinstance(upcoming, Call):
            barred.add(_identity(upcoming))
        choices = {_identity(call): call for call in [*again, *self._more_records(known), *self._searches()]}
        left = [key for key in choices if key not in barred]
        if not left:
            return None
        chosen = self._rng.choice(left)
        self._detoured.add(chosen)
        return choices[chosen]

    def _is_of_record(self, call: Call) -> bool:
        """Whether all its arguments stand in results: none is a word of the customer's, such as a PIN."""
        return bool(call.arguments) and all(str(value) in self._told for value in _leaves(call.arguments))

    def _more_records(self, known: Sequence[tuple[str, str]]) -> Iterator[Call]:
        """Look-ups that take exactly one argument, which a result named."""
        for tool in self._context.tools:
            required = tool.parameters.get("required", [])
            if tool.name in self._reads and len(required) == 1:
                for key, value in known:
                    if key == required[0]:
                        yield Call(tool.name, {key: json.loads(value)})

    def _searches(self) -> Iterator[Call]:
        for call, _ in self._results:
            for key, value in call.arguments.items():
                words = re.findall(r"[\w-]{4,}", value) if isinstance(value, str) and " " in value else []
                if call.tool in self._reads and len(words) > _SHORT_QUERY:
                    yield Call(call.tool, {**call.arguments, key: " ".join(words[-_SHORT_QUERY:])})

    def slip(self, step: Call) -> Call | None:
        """The call gone wrong in a way that the business refuses: a misspelt tool, argument or key; None: there is none."""
        names = [name for name, value in step.arguments.items() if isinstance(value, str) and _is_key(value)]
        kinds = ["tool", "argument", "key"] if names else ["tool"]
        kind = self._rng.choice(kinds)
        if kind == "tool":
            wrong = self._misspelt(step.tool)
            return None if wrong in self._tools else Call(wrong, dict(step.arguments))
        name = self._rng.choice(names)
        if kind == "argument":
            wrong = name.removesuffix("_id") if name.endswith("_id") else f"{name}_number"
            properties = self._tools[step.tool].parameters.get("properties", {})
            renamed = {wrong if key == name else key: value for key, value in step.arguments.items()}
            return None if wrong in properties else Call(step.tool, renamed)
        # A digit too few: no key has that form.
        return Call(step.tool, {**step.arguments, name: step.arguments[name][:-1]})

    def _misspelt(self, word: str) -> str:
        """The word without one of its inner letters."""
        places = [place for place in range(1, len(word) - 1) if word[place].isalpha()]
        drop = self._rng.choice(places) if places else len(word) - 1
        return word[:drop] + word[drop + 1 :]


def _identity(call: Call) -> bytes:
    return canonical([call.tool, call.arguments])


def _is_key(value: str) -> bool:
    return re.fullmatch(r"[A-Z]*-?[\d-]*\d", value) is not None and len(value) > 4


def _is_error(found: Any) -> bool:
    return isinstance(found, dict) and "error" in found


def _decoded(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _leaves(value: Any) -> Iterator[Any]:
    """All scalars in a JSON value."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    """All (key, scalar as JSON) in a JSON value, keys of lists left out."""
    if isinstance(value, list):
        for item in value:
            yield from _pairs(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _pairs(item)
            elif item is not None:
                yield key, json.dumps(item)


TEACHERS: dict[str, ScriptedPolicy] = {
    policy.name: policy
    for policy in (
        SCRIPTED["oracle"],
        _teacher("terse", TERSE, Habits()),
        _teacher("formal", FORMAL, Habits()),
        _teacher("friendly", FRIENDLY, Habits(notes=True)),
        _teacher("careful", PLAIN, Habits(notes=True, detours=2)),
        _teacher("parallel", TERSE, Habits(together=True)),
        _teacher("recovering", PLAIN, Habits(slips=1)),
    )
}
"""Every scripted teacher, by name."""
