"""The verdict: does one outcome hold whole, and which criteria are met.

Grading sees a task, a world's declarations and a transcript. It lives outside the session: nothing an agent says or
passes to a tool reaches what is graded against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from journeyman.episode import CriterionResult, Event, FactResult, Transcript, Verdict
from journeyman.errors import TaskFileError
from journeyman.grading.match import Bindings, RowMatching, match_rows
from journeyman.grading.predicates import Finding, GradingWorld, Timeline, holds, spoken_matches
from journeyman.grading.values import spoken_equal
from journeyman.task import Criterion, Fact, Outcome, Task

GRADER_VERSION = "2"
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

    `passed` = an outcome's rows and facts hold, nothing else changed, and the attempt ended as it demands. A criterion
    that only a judge can decide has `met` None.

    Raises:
        TaskFileError: a criterion has neither predicate nor judge, or is required without a predicate.
    """
    best: tuple[int, int, RowMatching, list[FactResult], bool] | None = None
    for number, outcome in enumerate(task.outcomes):
        rows = match_rows(outcome, transcript.changes, world)
        facts = [_fact(fact, transcript, rows.bindings) for fact in outcome.facts]
        ended = _ended(outcome, world, transcript)
        distance = (
            sum(row.status != "matched" for row in rows.results) + sum(not fact.met for fact in facts) + (not ended)
        )
        if best is None or distance < best[0]:
            best = (distance, number, rows, facts, ended)
        if distance == 0:
            break
    assert best is not None  # a task has at least one outcome
    distance, number, rows, facts, ended = best
    timeline = Timeline(transcript, world)
    criteria = [_criterion(task, criterion, timeline, rows.bindings) for criterion in task.criteria]
    required = all(r.met is True for r, c in zip(criteria, task.criteria, strict=True) if c.required)
    return Verdict(distance == 0, number, rows.results, facts, criteria, ended, required, GRADER_VERSION)


def _criterion(task: Task, criterion: Criterion, timeline: Timeline, bindings: Bindings) -> CriterionResult:
    if criterion.predicate is None:
        if criterion.judge is None or criterion.required:
            raise TaskFileError(
                task.id,
                criterion.id,
                "needs a predicate: only optional criteria may be left to a judge, none to nobody.",
            )
        return CriterionResult(criterion.id, None, None, "left to a judge")
    finding: Finding = holds(criterion.predicate, timeline, bindings)
    met = finding.holds if criterion.polarity == "must" else not finding.holds
    return CriterionResult(criterion.id, met, finding.turn, finding.evidence)


def _fact(fact: Fact, transcript: Transcript, bindings: Bindings) -> FactResult:
    return _denied(fact, transcript.events) if fact.kind == "denied" else _stated(fact, transcript, bindings)


def _stated(fact: Fact, transcript: Transcript, bindings: Bindings) -> FactResult:
    """The value must be stated, and no other of its type since the last write before it: a write may change what is
    true of the slot, a second guess does not."""
    told = [
        event
        for event in transcript.events
        if event.kind == "stated" and event.by == "agent" and event.slot == fact.slot
    ]
    said = [event for event in told if isinstance(event.value, bool) == isinstance(fact.value, bool)]
    if not said:
        return FactResult(fact.slot, False, "never stated")
    made = said[-1].order
    written = max(
        (c.index for c in transcript.calls if c.kind == "write" and c.status == "ok" and c.index < made), default=-1
    )
    last = [event for event in said if event.order > written]
    wrong = [event for event in last if not spoken_matches(fact.value, event.value, bindings)]
    if wrong:
        return FactResult(fact.slot, False, f'{wrong[0].value} was stated: "{wrong[0].quote[:120]}"')
    if any(not spoken_equal(event.value, last[0].value) for event in last):
        return FactResult(fact.slot, False, "several values were stated at once")
    return FactResult(fact.slot, True, f'"{last[-1].quote[:120]}"')


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


def _ended(outcome: Outcome, world: GradingWorld, transcript: Transcript) -> bool:
    """Whether the attempt ended as the outcome demands; a limit or an error never does."""
    if transcript.ended != outcome.end:
        return False
    if outcome.end == "transfer":
        last = transcript.calls[-1] if transcript.calls else None
        return last is not None and last.tool == world.transfer_tool and last.status == "ok"
    if outcome.end == "left":
        last_write = max((c.index for c in transcript.calls if c.kind == "write" and c.status == "ok"), default=-1)
        return any(e.kind == "left" and e.by == "user" and e.order > last_write for e in transcript.events)
    return True
