"""What was told and stands: guesses between writes, values among others, written values, users who gave up."""

from __future__ import annotations

import msgspec
import pytest

from journeyman.episode import CallRecord, Event, Transcript
from journeyman.grading.dialogue import Reader
from journeyman.grading.grade import grade
from journeyman.grading.telling import turning_points
from journeyman.task import (
    AnyOf,
    Before,
    CallPattern,
    ChangeOfMind,
    Criterion,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Outcome,
    Predicate,
    RowChange,
    Scenario,
    Task,
)

from .sample import LEXICON, WORLD, call, event, paid, payment, transcript

READER = Reader(LEXICON)
LEFT = event(9, "left", "user", turn=9, value="settled")
PAY = call(1, "take_payment", "write", invoice_id="I-1", amount_cents=16700)
PAID = [payment(1, "I-1", 16700), paid("I-1", status="paid")]


def said(text: str, order: int) -> list[Event]:
    return READER.read_agent(text, order, order)


def told(slot: str, value: object = None) -> EventPattern:
    return EventPattern("stated", by="agent", slot=slot, value=value)  # type: ignore[arg-type]


def task(outcome: Outcome, *criteria: Criterion, scenario: Scenario | None = None) -> Task:
    return Task(
        "t", "sample", "1", "pay", 1, "train", "2026-03-02T09:00:00", "base", "Pay.", [outcome], list(criteria), [],
        scenario=scenario,
    )  # fmt: skip


def made(call: CallRecord, result: str) -> CallRecord:
    return msgspec.structs.replace(call, result=result)


LOG = call(3, "log", "write", invoice_id="I-1")


@pytest.mark.parametrize(
    ("write", "changes", "slot", "turns"),
    [
        (PAY, PAID, "balance", [1]),  # the row that changed is among the arguments
        (made(call(1, "pay", "write"), '{"id": "PAY-1"}'), PAID, "balance", [1]),  # or in the result
        (made(call(1, "pay", "write"), '{"id": "PAY-10"}'), PAID, "balance", []),
        (PAY, [], "balance", []),  # undone again
        (PAY, [paid("I-1", updated_at="now")], "balance", []),  # nothing that counts
        (call(1, "take_payment", "write", "error", invoice_id="I-1"), PAID, "balance", []),
        (call(1, "find", invoice_id="I-1"), PAID, "balance", []),
        (LOG, PAID, "balance", []),  # declared to touch nothing
        (call(1, "set_name", "write", invoice_id="I-1"), PAID, "balance", []),
        (call(1, "set_name", "write", invoice_id="I-1"), PAID, "name", [1]),
        (call(1, "pay", "write", rows=[{"id": "I-1"}]), PAID, "balance", [1]),
    ],
)
def test_writes_that_can_change_what_a_slot_tells(
    write: CallRecord, changes: list[RowChange], slot: str, turns: list[int]
) -> None:
    assert turning_points(transcript([write], changes=changes), WORLD, slot) == turns


def test_a_note_between_two_guesses_makes_neither_right() -> None:
    rows = [ExpectedRow("p", "payments", "insert", set={"invoice_id": "I-1", "amount_cents": 16700})]
    rows.append(ExpectedRow("i", "invoices", "update", {"id": "I-1"}, {"status": "paid"}))
    wanted = task(Outcome(rows, [Fact("balance", 20)]))
    old, new = said("Your balance is $187.00.", 1), said("Your balance is $20.00.", 4)
    assert grade(wanted, WORLD, transcript([PAY, LOG], [*old, *new, LEFT], PAID)).passed
    guess = said("Your balance is $30.00.", 3)
    verdict = grade(wanted, WORLD, transcript([PAY, LOG], [*old, *guess, *new, LEFT], PAID))
    assert not verdict.passed
    assert verdict.facts[0].detail == '30.0 was stated: "Your balance is $30.00."'


def required(predicate: Predicate, *events: Event, more: Predicate | None = None, required: bool = True) -> bool | None:
    criteria = [Criterion("c", "x", "must", required, predicate)]
    if more is not None:
        criteria.append(Criterion("more", "x", "must", False, more))
    seen: Transcript = transcript([call(0, "find"), PAY], [*events, LEFT], PAID)
    return grade(task(Outcome(), *criteria), WORLD, seen).criteria[0].met


TELLS = Happened(told("balance", 20))
AFTER = Before(CallPattern("take_payment"), told("balance", 20))
EITHER = AnyOf([AFTER, Before(CallPattern("find"), told("charge", 20))])
ANYBODY = Happened(EventPattern("stated", slot="balance", value=20))
EARLY = Before(told("balance", 20), CallPattern("take_payment"))


@pytest.mark.parametrize(
    ("predicate", "events", "met"),
    [
        (TELLS, said("Your balance is $20.00.", 2), True),
        (TELLS, said("Your balance is $20.00 or $30.00.", 2), False),
        (TELLS, said("Your balance is $20.00. Your balance is $30.00.", 2), False),
        (TELLS, said("Your balance is $20.00. Your late fee is $30.00.", 2), True),
        (TELLS, said("Your balance is not $30.00. Your balance is $20.00.", 2), True),
        (TELLS, [*said("Your balance is $30.00.", 2), *said("Your balance is $20.00.", 2)], False),
        (TELLS, [*said("Your balance is $30.00.", 1), *said("Your balance is $20.00.", 2)], True),
        (TELLS, [*said("Your balance is $20.00.", 1), *said("Your balance is $30.00.", 2)], False),
        (AFTER, [*said("Your balance is $187.00.", 1), *said("Your balance is $20.00.", 2)], True),
        (AFTER, said("Your balance is $187.00. Your balance is $20.00.", 2), False),
        (EITHER, said("Your balance is $20.00.", 2), True),
        (EITHER, said("I charged $20.00.", 2), True),
        (EITHER, said("I charged $20.00. Your balance is $20.00. Your balance is $30.00.", 2), False),
        (EARLY, [*said("Your balance is $20.00.", 1), *said("Your balance is $30.00.", 2)], True),
        (EARLY, said("Your balance is $20.00. Your balance is $30.00.", 1), False),
        (ANYBODY, [event(2, "stated", "user", slot="balance", value=20)], True),
    ],
)
def test_a_required_statement_must_stand(predicate: Predicate, events: list[Event], met: bool) -> None:
    assert required(predicate, *events) is met


def test_what_else_the_task_wants_told_opposes_nothing() -> None:
    both = said("Your balance is $20.00. Your balance is $30.00.", 2)
    assert required(TELLS, *both) is False
    assert required(TELLS, *both, more=Happened(told("balance", 30))) is True
    assert required(TELLS, *both, required=False) is True


MAIL = RowChange(
    "payments",
    "insert",
    {"id": "PAY-1"},
    {},
    {"id": "PAY-1", "invoice_id": "I-1", "amount_cents": 1, "status": "settled"},
)


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("Your balance is $20.00.", True),
        ("$20.00 is what you owe.", True),
        ("Your balance is $20.00, and the late fee is $5.00.", True),
        ("Your balance is $20.00 or $30.00.", False),
        ("Balances: $10.00, $20.00, $30.00.", False),
        ("$10.00, $20.00, $30.00", False),
        ("Your balance is $30.00.", False),
        ("Your balance is $120.00.", False),
        ("Thank you.", False),
        (None, False),
    ],
)
def test_a_written_value_must_stand_alone(text: str | None, met: bool) -> None:
    row = ExpectedRow("mail", "payments", "insert", set={"invoice_id": "I-1", "amount_cents": 1})
    change = msgspec.structs.replace(MAIL, new={**MAIL.new, "note": text})
    wanted = task(Outcome([row], [Fact("balance", 20, "written", "mail.note")]))
    verdict = grade(wanted, WORLD, transcript([], [event(0, "left", "user")], [change]))
    assert [fact.met for fact in verdict.facts] == [met]
    assert verdict.passed is met


def test_all_that_is_wanted_may_stand_in_one_text() -> None:
    row = ExpectedRow("mail", "payments", "insert", set={"invoice_id": "I-1", "amount_cents": 1})
    facts = [Fact("balance", Match(one_of=[20, 25]), "written", "mail.note"), Fact("charge", 7, "written", "mail.note")]
    change = msgspec.structs.replace(MAIL, new={**MAIL.new, "note": "Your balance is $20.00 ($25.00), charged: $7.00."})
    verdict = grade(task(Outcome([row], facts)), WORLD, transcript([], [event(0, "left", "user")], [change]))
    assert [fact.met for fact in verdict.facts] == [True, True]


@pytest.mark.parametrize(
    ("why", "settles", "changes", "proper"),
    [
        ("settled", [told("balance")], [], True),
        ("early", [told("balance")], [], True),
        ("patience", [told("balance")], [], False),
        ("patience", [], [], True),  # nothing to be told: there is no other way to leave
        ("patience", [], [ChangeOfMind(told("balance"), "No.", settles=[told("charge")])], False),
    ],
)
def test_a_user_who_gives_up_has_not_been_served(
    why: str, settles: list[EventPattern], changes: list[ChangeOfMind], proper: bool
) -> None:
    scenario = Scenario("plain", ["Hi."], "pay", settles=settles, changes=changes)
    verdict = grade(task(Outcome(), scenario=scenario), WORLD, transcript(events=[event(0, "left", "user", value=why)]))
    assert (verdict.ended, verdict.passed) == (proper, proper)
