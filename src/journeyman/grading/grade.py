"""The verdict: does one outcome hold whole, and which criteria are met.

Grading sees a task, a world's declarations and a transcript. It lives outside the session: nothing an agent says or
passes to a tool reaches what is graded against.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

from journeyman.episode import CriterionResult, Event, FactResult, Transcript, Verdict
from journeyman.errors import TaskFileError
from journeyman.grading.dialogue import Reader
from journeyman.grading.match import Bindings, RowMatching, match_rows
from journeyman.grading.predicates import GradingWorld, Timeline, holds, spoken_matches, stands, told_by
from journeyman.grading.telling import opposed, period, written
from journeyman.grading.values import spoken_equal
from journeyman.task import Criterion, EventPattern, Fact, Matcher, Outcome, Task

GRADER_VERSION = "3"
"""Changes whenever a verdict could."""


class Grader(Protocol):
    """Anything that turns an attempt into a verdict; `DefaultGrader` is ours."""

    version: str

    def grade(self, task: Task, world: GradingWorld, transcript: Transcript) -> Verdict:
        """Grade one attempt at `task`."""
        ...


class DefaultGrader:
    """Grades with `grade`."""

    version = GRADER_VERSION

    def grade(self, task: Task, world: GradingWorld, transcript: Transcript) -> Verdict:
        """See the function `grade`."""
        return grade(task, world, transcript)


def grade(task: Task, world: GradingWorld, transcript: Transcript) -> Verdict:
    """Grade one attempt: the first outcome that holds whole, else the nearest one, and every criterion.

    `passed` = an outcome's rows and facts hold, nothing else changed, and the attempt ended as it demands. A required
    must whose value was told as one among several is unmet. A criterion that only a judge can decide has `met` None.

    Raises:
        TaskFileError: a criterion has neither predicate nor judge, or is required without a predicate.
    """
    best: tuple[int, int, RowMatching, list[FactResult], bool] | None = None
    timeline = Timeline(transcript, world)
    for number, outcome in enumerate(task.outcomes):
        rows = match_rows(outcome, transcript.changes, world)
        facts = [_fact(fact, outcome, timeline, world, rows.bindings) for fact in outcome.facts]
        ended = _ended(task, outcome, world, transcript)
        distance = (
            sum(row.status != "matched" for row in rows.results) + sum(not fact.met for fact in facts) + (not ended)
        )
        if best is None or distance < best[0]:
            best = (distance, number, rows, facts, ended)
        if distance == 0:
            break
    assert best is not None  # a task has at least one outcome
    distance, number, rows, facts, ended = best
    told = [told_by(c.predicate) if c.polarity == "must" and c.predicate is not None else [] for c in task.criteria]
    wanted = [*_to_tell(task.outcomes[number]), *(pattern for patterns in told for pattern in patterns)]
    criteria = [
        _criterion(task, criterion, timeline, rows.bindings, wanted if patterns else ())
        for criterion, patterns in zip(task.criteria, told, strict=True)
    ]
    required = all(r.met is True for r, c in zip(criteria, task.criteria, strict=True) if c.required)
    return Verdict(distance == 0, number, rows.results, facts, criteria, ended, required, GRADER_VERSION)


def _criterion(
    task: Task, criterion: Criterion, timeline: Timeline, bindings: Bindings, wanted: Sequence[EventPattern]
) -> CriterionResult:
    """`wanted`: all that the user may be told of, where the criterion wants something told; else nothing."""
    if criterion.predicate is None:
        if criterion.judge is None or criterion.required:
            raise TaskFileError(
                task.id,
                criterion.id,
                "needs a predicate: only optional criteria may be left to a judge, none to nobody.",
            )
        return CriterionResult(criterion.id, None, None, "left to a judge")
    if wanted and criterion.required:
        finding = stands(criterion.predicate, timeline, bindings, wanted)
    else:
        finding = holds(criterion.predicate, timeline, bindings)
    met = finding.holds == (criterion.polarity == "must")
    return CriterionResult(criterion.id, met, finding.turn, finding.evidence)


def _to_tell(outcome: Outcome) -> list[EventPattern]:
    """The values of the outcome's facts. With those of the musts they are all that the user may be told of."""
    return [
        EventPattern("stated", by="agent", slot=fact.slot, value=fact.value)
        for fact in outcome.facts
        if fact.kind == "stated"
    ]


def _fact(fact: Fact, outcome: Outcome, timeline: Timeline, world: GradingWorld, bindings: Bindings) -> FactResult:
    if fact.kind == "denied":
        return _denied(fact, timeline.transcript.events)
    same = [other.value for other in outcome.facts if (other.kind, other.at) == (fact.kind, fact.at)]
    if fact.kind == "written":
        return _written(fact, same, world, bindings)
    slot = [other.value for other in outcome.facts if (other.kind, other.slot) == (fact.kind, fact.slot)]
    return _stated(fact, slot, timeline, bindings)


def _stated(fact: Fact, told: Sequence[Matcher], timeline: Timeline, bindings: Bindings) -> FactResult:
    """The value must be stated, and no other of its type since the last write before it that can change the slot.

    Args:
        told: all values that the outcome wants told for the slot.
    """
    said = timeline.stated(fact.slot, switch=isinstance(fact.value, bool))
    if not said:
        return FactResult(fact.slot, False, "never stated")
    turns = timeline.turning_points(fact.slot)
    wrong = opposed(said[-1], said, turns, lambda value: any(spoken_matches(one, value, bindings) for one in told))
    if wrong is not None:
        return FactResult(fact.slot, False, f'{wrong.value} was stated: "{wrong.quote[:120]}"')
    right = [event for event in said if spoken_matches(fact.value, event.value, bindings)]
    last = [event for event in right if period(turns, event) == period(turns, said[-1])]
    if not last:
        return FactResult(fact.slot, False, f'{said[-1].value} was stated: "{said[-1].quote[:120]}"')
    if any(not spoken_equal(event.value, last[0].value) for event in last):
        return FactResult(fact.slot, False, "several values were stated at once")
    return FactResult(fact.slot, True, f'"{last[-1].quote[:120]}"')


def _written(fact: Fact, told: Sequence[Matcher], world: GradingWorld, bindings: Bindings) -> FactResult:
    """The text must hold the value, and no other that could be meant for the slot; `told`: all it has to hold."""
    row, _, column = fact.at.partition(".")
    text = bindings.get(row, {}).get(column)
    if not isinstance(text, str):
        return FactResult(fact.slot, False, f"no text {fact.at}")
    found, other = written(
        reader_of(world).mentions(text).values,
        fact.slot,
        lambda value: spoken_matches(fact.value, value, bindings),
        lambda value: any(spoken_matches(one, value, bindings) for one in told),
    )
    if other is not None:
        return FactResult(fact.slot, False, f'{other.value} is written in {fact.at}: "{other.text[:120]}"')
    return FactResult(fact.slot, found, f"{fact.at}: {text[:120]}" if found else f"not written in {fact.at}")


@functools.lru_cache(maxsize=16)
def reader_of(world: GradingWorld) -> Reader:
    """The world's reader of free text; it holds no state, so all episodes and their grading share it."""
    return Reader(world.lexicon)


def _denied(fact: Fact, events: Sequence[Event]) -> FactResult:
    place = max(
        (n for n, e in enumerate(events) if e.kind == "denied" and e.by == "agent" and e.slot == fact.slot), default=-1
    )
    if place < 0:
        return FactResult(fact.slot, False, "never denied")
    for event in events[place + 1 :]:
        if event.kind == "stated" and event.by == "agent" and event.slot == fact.slot:
            return FactResult(fact.slot, False, f'taken back: "{event.quote[:120]}"')
    return FactResult(fact.slot, True, f'"{events[place].quote[:120]}"')


def _ended(task: Task, outcome: Outcome, world: GradingWorld, transcript: Transcript) -> bool:
    """Whether the attempt ended as the outcome demands; a limit or an error never does.

    A user who came for something and gave up has not been served, whatever was done.
    """
    if transcript.ended != outcome.end:
        return False
    if outcome.end == "transfer":
        last = transcript.calls[-1] if transcript.calls else None
        return last is not None and last.tool == world.transfer_tool and last.status == "ok"
    if outcome.end == "left":
        last_write = max((c.index for c in transcript.calls if c.kind == "write" and c.status == "ok"), default=-1)
        return any(
            e.kind == "left"
            and e.by == "user"
            and e.order > last_write
            and not (e.value == "patience" and _waits(task))
            for e in transcript.events
        )
    return True


def _waits(task: Task) -> bool:
    """Whether there is something that the user wants to be told before leaving."""
    scenario = task.scenario
    return scenario is not None and bool(scenario.settles or any(change.settles for change in scenario.changes))
