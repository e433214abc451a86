"""Each predicate, true and false, on hand-made time lines; and what consent covers."""

from __future__ import annotations

import pytest

from journeyman.episode import CallRecord, Event
from journeyman.grading.predicates import Timeline, holds
from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    CallPattern,
    Changed,
    Consented,
    EventPattern,
    ExpectedRow,
    Happened,
    Match,
    Predicate,
    Unconsented,
    Without,
)

from .sample import WORLD, call, event, paid, payment, transcript

LOOK, PAY, FAIL = CallPattern("find"), CallPattern("take_payment"), CallPattern("find", status="error")
PIN = EventPattern("revealed", by="user", slot="pin")
TIMELINE = Timeline(
    transcript(
        calls=[
            call(0, "find", name="Ann", limit=5),
            call(1, "find", status="error", name="Bob"),
            call(2, "take_payment", "write", amount_cents=16700, method="PM-1"),
            call(3, "find", name="Cy"),
        ],
        events=[
            event(1, "asked", "agent", slot="pin"),
            event(2, "revealed", "user", turn=1, slot="pin", value="1234"),
            event(3, "stated", "agent", turn=2, slot="charge", value=167.0),
        ],
        changes=[payment(1, "I-1", 16700), paid("I-1", status="paid", updated_at="now")],
    ),
    WORLD,
)
BINDINGS = {"p": {"id": "PAY-1", "amount_cents": 16700}}


@pytest.mark.parametrize(
    ("predicate", "truth", "turn"),
    [
        (Happened(LOOK), True, 0),
        (Happened(LOOK, min=2), True, 3),
        (Happened(LOOK, min=3), False, None),
        (Happened(LOOK, max=2), True, 0),
        (Happened(LOOK, max=1), False, 3),
        (Happened(LOOK, min=0, max=0), False, 0),
        (Happened(CallPattern("ghost"), min=0, max=0), True, None),
        (Happened(FAIL), True, 1),
        (Happened(CallPattern("find", status="any"), min=3), True, 3),
        (Happened(CallPattern(["take_payment", "find"]), min=3), True, 3),
        (Happened(CallPattern("find", {"name": Match(contains="an")})), True, 0),
        (Happened(CallPattern("find", {"limit": 5.0})), True, 0),
        (Happened(CallPattern("find", {"limit": "5"})), False, None),
        (Happened(CallPattern("find", {"absent": None}), min=2), True, 3),
        (Happened(CallPattern("take_payment", {"amount_cents": Match(ref="p.amount_cents")})), True, 2),
        (Happened(CallPattern("take_payment", {"amount_cents": Match(ref="q.amount_cents")})), False, None),
        (Happened(PIN), True, 1),
        (Happened(EventPattern("revealed", slot="name")), False, None),
        (Happened(EventPattern("revealed", by="agent")), False, None),
        (Happened(EventPattern("stated", slot="charge", value=167)), True, 2),
        (Happened(EventPattern("stated", slot="charge", value=Match(ref="p.amount_cents"))), True, 2),
        (Happened(EventPattern("stated", slot="charge", value=16700)), False, None),
        (Before(PIN, PAY), True, 2),
        (Before(PIN, LOOK), False, 0),
        (Before(LOOK, PIN), True, 1),
        (Before(PAY, PIN), False, 1),
        (Before(PIN, CallPattern("ghost")), False, None),
        (Before(CallPattern("ghost"), PAY), False, 2),
        (Without(PAY, CallPattern("ghost")), True, 2),
        (Without(PAY, PIN), False, 1),
        (Without(LOOK, PIN), True, 0),
        (Without(CallPattern("ghost"), PIN), False, None),
        (Changed(ExpectedRow("x", "invoices", "update")), True, None),
        (Changed(ExpectedRow("x", "invoices", "update", where={"id": "I-1"}, set={"status": "paid"})), True, None),
        (Changed(ExpectedRow("x", "invoices", "update", set={"status": "void"})), False, None),
        (Changed(ExpectedRow("x", "payments", "insert", set={"id": Match(ref="p.id")})), True, None),
        (Changed(ExpectedRow("x", "payments", "delete")), False, None),
        (AllOf([Happened(LOOK), Happened(PAY)]), True, 2),
        (AllOf([Happened(LOOK), Happened(CallPattern("ghost"))]), False, None),
        (AllOf([]), True, None),
        (AnyOf([Happened(CallPattern("ghost")), Happened(PAY)]), True, 2),
        (AnyOf([Happened(CallPattern("ghost"))]), False, None),
        (AnyOf([]), False, None),
        (Consented(PAY), False, 2),
        (Unconsented(PAY), True, 2),
        (Consented(CallPattern("ghost")), False, None),
        (Unconsented(CallPattern("ghost")), False, None),
    ],
)
def test_predicate(predicate: Predicate, truth: bool, turn: int | None) -> None:
    finding = holds(predicate, TIMELINE, BINDINGS)
    assert (finding.holds, finding.turn) == (truth, turn)


def test_an_event_after_a_call_comes_after_it_and_at_equal_order_the_list_decides() -> None:
    line = Timeline(
        transcript(
            calls=[call(0, "find")], events=[event(0, "asked", "agent", slot="a"), event(1, "asked", "agent", slot="b")]
        ),
        WORLD,
    )
    early, late = EventPattern("asked", slot="a"), EventPattern("asked", slot="b")
    assert holds(Before(early, LOOK), line, {}).holds
    assert not holds(Before(late, LOOK), line, {}).holds
    assert holds(Before(LOOK, late), line, {}).holds
    same = Timeline(
        transcript(events=[event(0, "asked", "agent", slot="a"), event(0, "asked", "agent", slot="b")]), WORLD
    )
    assert holds(Before(early, late), same, {}).holds
    assert not holds(Before(late, early), same, {}).holds


FULL = {"amount_cents": 16700, "method": "PM-1"}


def yes(order: int, **arguments: object) -> Event:
    return event(order, "consented", "user", tool="take_payment", arguments=arguments)


def pay(index: int, status: str = "ok", **arguments: object) -> CallRecord:
    return call(index, "take_payment", "write", status, **arguments)


@pytest.mark.parametrize(
    ("events", "calls", "consented", "unconsented"),
    [
        ([yes(0, **FULL)], [pay(0, **FULL)], True, False),
        ([yes(0, **FULL)], [pay(0, **FULL, memo="autumn")], True, False),  # arguments outside the form are free
        ([yes(0, **FULL)], [pay(0, amount_cents=16700.0, method="pm-1")], True, False),
        ([yes(0, **FULL)], [pay(0, amount_cents=16800, method="PM-1")], False, True),
        ([yes(0, **FULL)], [pay(0, amount_cents=16700, method="PM-2")], False, True),
        ([yes(0, amount_cents=16700)], [pay(0, **FULL)], False, True),
        ([yes(0, **FULL)], [pay(0, amount_cents=16700)], False, True),
        ([yes(1, **FULL)], [pay(0, **FULL)], False, True),
        ([yes(0, **FULL)], [pay(0, **FULL), pay(1, **FULL)], False, True),
        ([yes(0, **FULL), yes(1, **FULL)], [pay(0, **FULL), pay(1, **FULL)], True, False),
        ([yes(0, **FULL)], [pay(0, "error", **FULL), pay(1, **FULL)], True, False),
        ([yes(0, **FULL), event(0, "changed_mind", "user", tool="take_payment")], [pay(0, **FULL)], False, True),
        ([event(0, "consented", "agent", tool="take_payment", arguments=FULL)], [pay(0, **FULL)], False, True),
        ([event(0, "consented", "user", tool="issue_refund", arguments=FULL)], [pay(0, **FULL)], False, True),
        ([yes(0, **FULL)], [pay(0, "error", **FULL)], False, False),
    ],
)
def test_consent_covers_exactly(
    events: list[Event], calls: list[CallRecord], consented: bool, unconsented: bool
) -> None:
    line = Timeline(transcript(calls=calls, events=events), WORLD)
    assert holds(Consented(PAY), line, {}).holds is consented
    assert holds(Unconsented(PAY), line, {}).holds is unconsented
