"""The closed list of predicates over one attempt: calls, dialogue events and net changes on one time line.

A call with index i precedes an event with order o exactly if i < o. Each answer says at which turn it was decided and
by what, so that a person can check it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from journeyman.episode import CallRecord, Event, Transcript
from journeyman.grading.match import Bindings, Tables, matches, relevant, resolve, row_matches
from journeyman.grading.telling import opposed, turning_points
from journeyman.grading.values import from_column, spoken_equal
from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    CallPattern,
    Changed,
    Consented,
    Data,
    EventPattern,
    Happened,
    Match,
    Matcher,
    Moment,
    Predicate,
    RowChange,
    Scalar,
    Unconsented,
    Without,
)
from journeyman.world.lexicon import Lexicon

Position = tuple[int, int, int]


class GradingWorld(Tables, Protocol):
    """What grading needs of a world; it never opens a session."""

    def __hash__(self) -> int:
        """By identity: a world's reader is made once."""
        ...

    @property
    def lexicon(self) -> Lexicon:
        """The words of the world; its proposal forms say which arguments consent covers."""
        ...

    @property
    def transfer_tool(self) -> str:
        """The tool that hands the customer to a person."""
        ...


class Finding(Data, frozen=True):
    """Whether a predicate holds, the turn that decided it (None: an absence), and what was seen."""

    holds: bool
    turn: int | None
    evidence: str


class Seen(Struct, gc=False):
    """A call or event on the time line. `told` is it in words, once somebody asked."""

    position: Position
    turn: int
    what: Any
    told: str = ""


class Timeline:
    """One transcript, indexed once for all criteria."""

    def __init__(self, transcript: Transcript, world: GradingWorld) -> None:
        self.transcript = transcript
        self._world = world
        self._calls: dict[str, dict[str, list[Seen]]] = {"ok": {}, "error": {}, "any": {}}
        for call in transcript.calls:
            seen = Seen((call.index, 1, 0), call.turn, call)
            self._calls[call.status].setdefault(call.tool, []).append(seen)
            self._calls["any"].setdefault(call.tool, []).append(seen)
        self._events: dict[str, list[Seen]] = {}
        for place, event in enumerate(transcript.events):
            self._events.setdefault(event.kind, []).append(Seen((event.order, 0, place), event.turn, event))
        self._covered: dict[str, dict[int, bool]] = {}
        self._changes: list[RowChange] | None = None
        self._turns: dict[str, list[int]] = {}

    def all(self, moment: Moment, bindings: Bindings) -> list[Seen]:
        """Calls or events that match, in order."""
        fits = _FITS[type(moment)]
        return [seen for seen in self._candidates(moment) if fits(moment, seen.what, bindings)]

    def first(self, moment: Moment, bindings: Bindings) -> Seen | None:
        """The first call or event that matches: most criteria need no more."""
        fits = _FITS[type(moment)]
        for seen in self._candidates(moment):
            if fits(moment, seen.what, bindings):
                return seen
        return None

    def _candidates(self, moment: Moment) -> Sequence[Seen]:
        """Calls of the tool and status, or events of the kind, in order."""
        if isinstance(moment, EventPattern):
            return self._events.get(moment.kind, ())
        calls = self._calls[moment.status]
        if isinstance(moment.tool, str):
            return calls.get(moment.tool, ())
        found = [seen for tool in set(moment.tool) for seen in calls.get(tool, ())]
        found.sort(key=lambda seen: seen.position)
        return found

    def tell(self, seen: Seen) -> str:
        """A call or event in words, as evidence."""
        if not seen.told:
            seen.told = _tell(seen.what)
        return seen.told

    def covered(self, tool: str) -> dict[int, bool]:
        """Call index -> whether the user's consent covered it, for every call of `tool`.

        Each consent covers one successful call that comes after it and whose arguments, of those that the tool's
        proposal form names, are exactly the consented ones. A change of mind that names the tool voids consents not
        yet used: those to its arguments, or all where it names none.
        """
        if tool not in self._covered:
            self._covered[tool] = self._cover(tool)
        return self._covered[tool]

    def changes(self) -> list[RowChange]:
        """Net changes that count (volatile updates left out; volatile tables kept)."""
        if self._changes is None:
            kept = relevant(self.transcript.changes, self._world)
            volatile = set(self._world.volatile_tables)
            self._changes = kept + [change for change in self.transcript.changes if change.table in volatile]
        return self._changes

    def stated(self, slot: str, *, switch: bool = False) -> list[Event]:
        """What the agent asserted for a slot: values, or (`switch`) that the thing was done or not."""
        return [
            event
            for seen in self._events.get("stated", ())
            if (event := seen.what).slot == slot and event.by == "agent" and isinstance(event.value, bool) == switch
        ]

    def turning_points(self, slot: str) -> list[int]:
        """See the function `turning_points`."""
        found = self._turns.get(slot)
        if found is None:
            found = self._turns[slot] = turning_points(self.transcript, self._world, slot)
        return found

    def against(
        self, predicate: Predicate, pattern: EventPattern, bindings: Bindings, wanted: Sequence[EventPattern]
    ) -> Event | None:
        """What was asserted against a value that a predicate, which holds, wants told; None where a telling stands.

        What is told before something happens may change afterwards. Else what was said last of the slot must stand too.
        """
        slot = pattern.slot or ""
        said = self.stated(slot)
        if not said:  # the pattern is met by what nobody asserted: the user's words, or that something was done
            return None
        turns = self.turning_points(slot)
        good = [pattern.value, *(other.value for other in wanted if other.slot == slot)]

        def accepts(value: Scalar) -> bool:
            return any(spoken_matches(one, value, bindings) for one in good)

        seen = self.all(pattern, bindings)
        last = None
        if isinstance(predicate, Before) and predicate.first is pattern:
            latest = self.all(predicate.then, bindings)[0].position
            seen = [one for one in seen if one.position < latest]
        else:
            last = opposed(said[-1], said, turns, accepts)
        if isinstance(predicate, Before) and predicate.then is pattern:
            earliest = self.all(predicate.first, bindings)[0].position
            seen = [one for one in seen if one.position > earliest]
        found = [opposed(one.what, said, turns, accepts) for one in seen]
        return last or (found[0] if found and None not in found else None)

    def _cover(self, tool: str) -> dict[int, bool]:
        forms = [form.slots for form in self._world.lexicon.proposals if form.tool == tool]
        names = frozenset(name for slots in forms for name in slots) if forms else None
        moments = [
            seen
            for kind in ("consented", "changed_mind")
            for seen in self._events.get(kind, ())
            if seen.what.by == "user" and seen.what.tool == tool
        ]
        moments += self._calls["any"].get(tool, ())
        moments.sort(key=lambda seen: seen.position)
        open_consents: list[dict[str, Scalar]] = []
        covered: dict[int, bool] = {}
        for seen in moments:
            moment: Event | CallRecord = seen.what
            if isinstance(moment, Event):
                if moment.kind == "changed_mind":
                    open_consents = [c for c in open_consents if moment.arguments and c != moment.arguments]
                else:
                    open_consents.append(dict(moment.arguments))
                continue
            match = next((c for c in open_consents if _same_arguments(c, moment.arguments, names)), None)
            covered[moment.index] = match is not None
            if match is not None and moment.status == "ok":
                open_consents.remove(match)
        return covered


def _given(pattern: CallPattern, call: CallRecord, bindings: Bindings) -> bool:
    """Whether a call has the arguments that the pattern names."""
    # Most of what grading does happens here. What is equal matches, and a plain loop spares a generator.
    arguments = call.arguments
    for name, matcher in pattern.arguments.items():
        value = arguments.get(name)
        if matcher != value and not matches(matcher, value, bindings):
            return False
    return True


def event_matches(pattern: EventPattern, event: Event, bindings: Bindings) -> bool:
    """Whether an event is of the kind, speaker, slot, tool and value that the pattern names."""
    return (
        event.kind == pattern.kind
        and (pattern.by is None or event.by == pattern.by)
        and (pattern.slot is None or event.slot == pattern.slot)
        and (pattern.tool is None or event.tool == pattern.tool)
        and (pattern.value is None or spoken_matches(pattern.value, event.value, bindings))
    )


_FITS: Mapping[type, Callable[[Any, Any, Bindings], bool]] = {CallPattern: _given, EventPattern: event_matches}


def spoken_matches(matcher: Matcher, said: Scalar, bindings: Bindings) -> bool:
    """Whether a value of the dialogue satisfies `matcher`; a ref to a `…_cents` column is meant in currency units."""
    if not isinstance(matcher, Match):
        return spoken_equal(said, matcher)
    if matcher.one_of is not None:
        return any(spoken_equal(said, choice) for choice in matcher.one_of)
    if matcher.ref is not None:
        found, value = resolve(matcher, bindings)
        return found and spoken_equal(said, from_column(value, matcher.ref))
    return matches(matcher, said, bindings)


def holds(predicate: Predicate, timeline: Timeline, bindings: Bindings) -> Finding:
    """Decide one predicate."""
    return _DECIDERS[type(predicate)](predicate, timeline, bindings)


def told_by(predicate: Predicate) -> list[EventPattern]:
    """The values that a predicate wants the agent to have told, each with its slot."""
    moments: tuple[Moment, ...] = ()
    if isinstance(predicate, Before):
        moments = (predicate.first, predicate.then)
    elif isinstance(predicate, Happened) and predicate.max is None:
        moments = (predicate.what,)
    elif isinstance(predicate, (AllOf, AnyOf)):
        return [pattern for part in predicate.of for pattern in told_by(part)]
    patterns = []
    for moment in moments:
        if isinstance(moment, EventPattern) and moment.kind == "stated" and moment.slot is not None:
            vague = moment.value is None or (isinstance(moment.value, Match) and moment.value.any)
            if not vague and not isinstance(moment.value, bool):
                patterns.append(moment)
    return patterns


def stands(predicate: Predicate, timeline: Timeline, bindings: Bindings, wanted: Sequence[EventPattern]) -> Finding:
    """As `holds`, but what was told must stand: a value among others, or one of several guesses, is told by nobody.
    Where `told_by` names nothing, there is no difference.

    Args:
        wanted: all values that the task wants told, which do not oppose each other.
    """
    if isinstance(predicate, AllOf):
        return _all_stand(predicate, timeline, bindings, wanted)
    if isinstance(predicate, AnyOf):
        return _any_stands(predicate, timeline, bindings, wanted)
    finding = holds(predicate, timeline, bindings)
    if not finding.holds:
        return finding
    for pattern in told_by(predicate):
        against = timeline.against(predicate, pattern, bindings, wanted)
        if against is not None:
            return Finding(False, against.turn, f"{against.value} was stated too: {_tell(against)}")
    return finding


def _any_stands(predicate: AnyOf, timeline: Timeline, bindings: Bindings, wanted: Sequence[EventPattern]) -> Finding:
    """One way of telling that does not stand is not made good by another."""
    findings = [stands(part, timeline, bindings, wanted) for part in predicate.of]
    taken_back = next(
        (
            found
            for part, found in zip(predicate.of, findings, strict=True)
            if not found.holds and holds(part, timeline, bindings).holds
        ),
        None,
    )
    good = next((finding for finding in findings if finding.holds), None)
    return taken_back or good or Finding(False, None, "; ".join(f.evidence for f in findings)[:300])


def _all_stand(predicate: AllOf, timeline: Timeline, bindings: Bindings, wanted: Sequence[EventPattern]) -> Finding:
    findings = [stands(part, timeline, bindings, wanted) for part in predicate.of]
    bad = next((finding for finding in findings if not finding.holds), None)
    turns = [finding.turn for finding in findings if finding.turn is not None]
    return bad or Finding(True, max(turns, default=None), "; ".join(f.evidence for f in findings)[:300])


def _happened(predicate: Happened, timeline: Timeline, bindings: Bindings) -> Finding:
    if predicate.min == 1 and predicate.max is None:
        once = timeline.first(predicate.what, bindings)
        seen = [] if once is None else [once]
    else:
        seen = timeline.all(predicate.what, bindings)
    if len(seen) < predicate.min:
        return Finding(False, None, f"{_name(predicate.what)}: {len(seen)} of at least {predicate.min}")
    if predicate.max is not None and len(seen) > predicate.max:
        extra = seen[predicate.max]
        return Finding(False, extra.turn, f"{len(seen)} times, at most {predicate.max}: {timeline.tell(extra)}")
    if not seen:
        return Finding(True, None, f"{_name(predicate.what)} did not happen")
    deciding = seen[max(predicate.min, 1) - 1]
    return Finding(True, deciding.turn, timeline.tell(deciding))


def _before(predicate: Before | Without, timeline: Timeline, bindings: Bindings) -> Finding:
    """`Before`, and `Without`, which holds where `Before` fails though `then` occurred."""
    then = timeline.first(predicate.then, bindings)
    if then is None:
        return Finding(False, None, f"{_name(predicate.then)} did not happen")
    first = timeline.first(predicate.first, bindings)
    wanted = isinstance(predicate, Before)
    if first is not None and first.position < then.position:
        decided = then if wanted else first
        return Finding(wanted, decided.turn, f"{timeline.tell(first)} before {timeline.tell(then)}")
    return Finding(not wanted, then.turn, f"{timeline.tell(then)} without {_name(predicate.first)} before it")


def _consent(call: CallPattern, timeline: Timeline, bindings: Bindings, wanted: bool) -> Finding:
    calls = timeline.all(call, bindings)
    if not calls:
        return Finding(False, None, f"{_name(call)} did not happen")
    bare = [seen for seen in calls if not timeline.covered(seen.what.tool).get(seen.what.index, False)]
    if bare:
        return Finding(not wanted, bare[0].turn, f"no consent to exactly {timeline.tell(bare[0])}")
    return Finding(wanted, calls[-1].turn, f"consent to {timeline.tell(calls[-1])}")


def _changed(predicate: Changed, timeline: Timeline, bindings: Bindings) -> Finding:
    for change in timeline.changes():
        if row_matches(predicate.row, change, bindings):
            key = ",".join(str(value) for value in change.key.values())
            return Finding(True, None, f"{change.op} of {change.table}/{key}")
    return Finding(False, None, f"no such {predicate.row.op} of {predicate.row.table}")


def _all_of(predicate: AllOf, timeline: Timeline, bindings: Bindings) -> Finding:
    findings = []
    for part in predicate.of:
        finding = holds(part, timeline, bindings)
        if not finding.holds:
            return finding
        findings.append(finding)
    turns = [finding.turn for finding in findings if finding.turn is not None]
    return Finding(True, max(turns, default=None), "; ".join(f.evidence for f in findings)[:300])


def _any_of(predicate: AnyOf, timeline: Timeline, bindings: Bindings) -> Finding:
    findings = []
    for part in predicate.of:
        finding = holds(part, timeline, bindings)
        if finding.holds:
            return finding
        findings.append(finding)
    return Finding(False, None, "; ".join(f.evidence for f in findings)[:300])


_DECIDERS: Mapping[type, Callable[[Any, Timeline, Bindings], Finding]] = {
    Happened: _happened,
    Before: _before,
    Without: _before,
    Consented: lambda p, timeline, bindings: _consent(p.call, timeline, bindings, True),
    Unconsented: lambda p, timeline, bindings: _consent(p.call, timeline, bindings, False),
    Changed: _changed,
    AllOf: _all_of,
    AnyOf: _any_of,
}


def _same_arguments(consented: Mapping[str, Scalar], called: Mapping[str, Any], names: Iterable[str] | None) -> bool:
    keys = set(names) if names is not None else set(called)
    a = {name: value for name, value in consented.items() if value is not None and name in keys}
    b = {name: called[name] for name in keys if called.get(name) is not None}
    return a.keys() == b.keys() and all(spoken_equal(a[name], b[name]) for name in a)


def _name(moment: Moment) -> str:
    if isinstance(moment, CallPattern):
        return moment.tool if isinstance(moment.tool, str) else " or ".join(moment.tool)
    parts = (moment.kind, moment.slot, moment.tool, moment.by and f"by {moment.by}")
    return " ".join(str(part) for part in parts if part)


def _tell(what: CallRecord | Event) -> str:
    if isinstance(what, Event):
        subject = what.slot or what.tool or ""
        return (
            f'{what.by} {what.kind} {subject}: "{what.quote[:120]}"'
            if what.quote
            else f"{what.by} {what.kind} {subject}".strip()
        )
    arguments = ", ".join([f"{name}={str(value)[:40]}" for name, value in what.arguments.items()][:6])
    failed = "" if what.status == "ok" else f" ({what.code or 'error'})"
    return f"{what.tool}({arguments}){failed}, call {what.index}"
