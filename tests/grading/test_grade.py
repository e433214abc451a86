"""The verdict: outcomes, facts, the proper end, criteria, and references of the oracle."""

from __future__ import annotations

import time

import msgspec
import pytest

from journeyman.episode import Ended, Event, Transcript, Verdict
from journeyman.errors import TaskFileError
from journeyman.grading.bindings import bindings_for, substitute
from journeyman.grading.dialogue import Reader
from journeyman.grading.grade import GRADER_VERSION, DefaultGrader, grade
from journeyman.task import (
    Before,
    CallPattern,
    Consented,
    Criterion,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Outcome,
    Task,
    Unconsented,
    Without,
)

from .sample import LEXICON, WORLD, call, event, paid, payment, transcript

READER = Reader(LEXICON)
ROWS = [
    ExpectedRow("p", "payments", "insert", set={"invoice_id": "I-1", "amount_cents": 16700}),
    ExpectedRow("i", "invoices", "update", where={"id": Match(ref="p.invoice_id")}, set={"status": "paid"}),
]
PAID = Outcome(rows=ROWS, facts=[Fact("charge", Match(ref="p.amount_cents"))])
REFUSED = Outcome(facts=[Fact("fee_waiver", kind="denied")])
CHANGES = [payment(1, "I-1", 16700), paid("I-1", status="paid")]
CALLS = [call(0, "find"), call(1, "take_payment", "write", amount_cents=16700, method="PM-1")]
LEFT = event(2, "left", "user", turn=2, value="settled")


def task(outcomes: list[Outcome], criteria: list[Criterion] | None = None) -> Task:
    return Task(
        "t", "sample", "1", "pay", 1, "train", "2026-03-02T09:00:00", "base", "Pay.", outcomes, criteria or [], []
    )


def said(*texts: str, order: int = 2) -> list[Event]:
    return [found for turn, text in enumerate(texts) for found in READER.read_agent(text, turn, order)]


def attempt(*texts: str, ended: Ended = "left") -> Transcript:
    return transcript(CALLS, [*said(*texts), LEFT], CHANGES, ended)


def facts_of(verdict: Verdict) -> list[bool]:
    return [fact.met for fact in verdict.facts]


def test_a_whole_outcome_passes() -> None:
    verdict = grade(task([REFUSED, PAID]), WORLD, attempt("I have charged $167.00 to your default card."))
    assert verdict.passed
    assert verdict.ended
    assert verdict.outcome == 1
    assert [row.status for row in verdict.rows] == ["matched", "matched"]
    assert verdict.grader_version == GRADER_VERSION
    assert DefaultGrader().grade(task([REFUSED, PAID]), WORLD, attempt("I charged $167.")) == grade(
        task([REFUSED, PAID]), WORLD, attempt("I charged $167.")
    )


@pytest.mark.parametrize(
    ("texts", "met"),
    [
        (["I charged $167.00."], True),
        (["I charged 167 dollars."], True),
        (["I charged $1,670.00."], False),
        (["I charged $16.70."], False),
        (["I charged $67."], False),
        (["I charged $167 or $200."], False),
        (["I charged $167. I charged $20."], False),
        (["I charged $10, $20, $167, $200 to you."], False),
        (["I charged $20.", "Sorry, I charged $167."], False),
        (["I charged $167.", "No, I charged $20."], False),
        (["I charged $167.", "Your late fee is $20."], True),
        (["I could not charge $167."], False),
        (["You have not been charged $167."], False),
        (["I probably charged $167."], False),
        (["Shall I charge $167?"], False),
        (["All done."], False),
    ],
)
def test_a_stated_fact(texts: list[str], met: bool) -> None:
    verdict = grade(task([PAID]), WORLD, attempt(*texts))
    assert facts_of(verdict) == [met]
    assert verdict.passed is met


def test_a_write_may_change_what_is_true_of_a_slot_but_a_second_guess_may_not() -> None:
    calls = [call(0, "find"), call(1, "take_payment", "write", invoice_id="I-1", amount_cents=16700)]
    before, after = said("I charged $20.", order=1), said("I charged $167.", order=2)
    assert facts_of(grade(task([PAID]), WORLD, transcript(calls, [*before, *after, LEFT], CHANGES))) == [True]
    guess = said("I charged $20.", order=2)
    assert facts_of(grade(task([PAID]), WORLD, transcript(calls, [*guess, *after, LEFT], CHANGES))) == [False]


@pytest.mark.parametrize(
    ("texts", "met"),
    [
        (["I can't waive the late fee."], True),
        (["I can't waive the late fee. I have waived the late fee."], False),
        (["I can't waive the late fee.", "Okay, the late fee has been waived."], False),
        (["The late fee has been waived.", "I was wrong: I can't waive the late fee."], True),
        (["I have waived the late fee."], False),
        (["Goodbye."], False),
    ],
)
def test_a_denied_fact(texts: list[str], met: bool) -> None:
    verdict = grade(task([REFUSED]), WORLD, transcript(events=[*said(*texts, order=0), event(0, "left", "user")]))
    assert facts_of(verdict) == [met]
    assert verdict.passed is met


def test_facts_with_matchers() -> None:
    one_of = task([Outcome(facts=[Fact("charge", Match(one_of=[10, 20.0]))])])
    events = [event(0, "left", "user")]
    assert grade(one_of, WORLD, transcript(events=[*said("I charged $20."), *events])).passed is True
    assert grade(one_of, WORLD, transcript(events=[*said("I charged $30."), *events])).passed is False
    # Both are acceptable, but both at once say nothing.
    assert grade(one_of, WORLD, transcript(events=[*said("I charged $10 or $20."), *events])).passed is False


def test_a_fact_may_not_come_from_the_user() -> None:
    events = [event(0, "stated", "user", slot="charge", value=167.0), LEFT]
    assert facts_of(grade(task([PAID]), WORLD, transcript(CALLS, events, CHANGES))) == [False]


def test_collateral_damage_fails() -> None:
    attempted = attempt("I charged $167.")
    more = msgspec.structs.replace(attempted, changes=[*CHANGES, paid("I-2", status="paid")])
    verdict = grade(task([PAID]), WORLD, more)
    assert not verdict.passed
    assert [(row.ref, row.status) for row in verdict.rows][-1] == ("invoices/I-2", "collateral")
    assert verdict.rows[-1].detail == "status 'before' became 'paid'"


@pytest.mark.parametrize(
    ("end", "ended", "calls", "events", "proper"),
    [
        ("left", "left", CALLS, [LEFT], True),
        ("left", "left", CALLS, [event(1, "left", "user")], False),  # the write came after the user had left
        ("left", "left", [*CALLS, call(2, "find")], [LEFT], True),
        ("left", "left", [*CALLS, call(2, "pay", "write", "error")], [LEFT], True),
        ("left", "left", CALLS, [event(2, "left", "agent")], False),
        ("left", "final", CALLS, [LEFT], False),
        ("left", "limit", CALLS, [LEFT], False),
        ("left", "error", CALLS, [LEFT], False),
        ("final", "final", CALLS, [], True),
        ("final", "limit", CALLS, [], False),
        ("transfer", "transfer", [*CALLS, call(2, "transfer_to_human", "write")], [], True),
        ("transfer", "transfer", [*CALLS, call(2, "transfer_to_human", "write", "error")], [], False),
        ("transfer", "transfer", [call(0, "transfer_to_human", "write"), call(1, "find")], [], False),
        ("transfer", "transfer", [], [], False),
        ("transfer", "left", [call(0, "transfer_to_human", "write")], [LEFT], False),
    ],
)
def test_the_proper_end(end: str, ended: Ended, calls: list[object], events: list[Event], proper: bool) -> None:
    outcome = msgspec.convert({"end": end}, Outcome)
    verdict = grade(task([outcome]), WORLD, transcript(calls, events, [], ended))  # type: ignore[arg-type]
    assert (verdict.ended, verdict.passed) == (proper, proper)


def test_the_nearest_outcome_is_told() -> None:
    nothing = grade(task([PAID, REFUSED]), WORLD, transcript(events=[event(0, "left", "user")]))
    assert (nothing.passed, nothing.outcome) == (False, 1)
    halfway = grade(task([PAID, REFUSED]), WORLD, transcript(CALLS, [LEFT], CHANGES))
    assert (halfway.passed, halfway.outcome) == (False, 0)


PAY = CallPattern("take_payment")
CRITERIA = [
    Criterion("looked", "looks first", "must", True, Before(CallPattern("find"), PAY)),
    Criterion("asked_pin", "asks for the PIN", "must", False, Happened(EventPattern("asked", by="agent", slot="pin"))),
    Criterion("no_bare", "never charges without consent", "must_not", True, Unconsented(PAY)),
    Criterion("no_blind", "never pays blindly", "must_not", False, Without(PAY, CallPattern("find"))),
    Criterion("kind", "is kind", "must", False, None, "Was the agent kind?"),
]


def test_criteria() -> None:
    verdict = grade(task([PAID], CRITERIA), WORLD, attempt("I charged $167."))
    assert [(c.id, c.met) for c in verdict.criteria] == [
        ("looked", True),
        ("asked_pin", False),
        ("no_bare", False),
        ("no_blind", True),
        ("kind", None),
    ]
    assert verdict.passed
    assert not verdict.required_met
    assert not verdict.clean
    assert verdict.criteria[2].turn == 1
    assert verdict.criteria[2].evidence == "no consent to exactly take_payment(amount_cents=16700, method=PM-1), call 1"


def test_a_criterion_needs_something_to_decide_it() -> None:
    for criterion in (
        Criterion("c", "x", "must"),
        Criterion("c", "x", "must", True, None, "a judge may not decide this"),
    ):
        with pytest.raises(TaskFileError, match="needs a predicate"):
            grade(task([REFUSED], [criterion]), WORLD, transcript())


def test_references_of_the_oracle() -> None:
    bindings = bindings_for(task([REFUSED, PAID]), WORLD, CHANGES[:1])
    assert substitute("${p.id}", bindings) == "PAY-1"
    assert substitute("${p.amount_cents}", bindings) == 16700
    assert substitute("See ${p.id} (${p.amount_cents}).", bindings) == "See PAY-1 (16700)."
    assert substitute({"ids": ["${p.id}", 5], "x": None}, bindings) == {"ids": ["PAY-1", 5], "x": None}
    with pytest.raises(TaskFileError, match="make its write come first"):
        substitute("${i.id}", bindings)


def test_a_row_on_its_way_is_bound() -> None:
    unfinished = [payment(1, "I-1", 16700, status="pending")]
    assert bindings_for(task([PAID]), WORLD, unfinished)["p"]["id"] == "PAY-1"


def test_grading_is_fast() -> None:
    criteria = [
        Criterion(f"c{n}", "x", "must", False, predicate)
        for n, predicate in enumerate(
            [
                *[Before(CallPattern(f"find_{n}"), PAY) for n in range(8)],
                *[Happened(CallPattern(f"find_{n}", {"name": "Ann"}), max=2) for n in range(4)],
                *[Without(PAY, EventPattern("consented", tool="take_payment")), Consented(PAY), Unconsented(PAY)],
                *[Happened(EventPattern("asked", by="agent", slot="pin")), Happened(EventPattern("denied"), min=0)],
            ]
        )
    ]
    assert len(criteria) == 17
    calls = [call(n, f"find_{n}", name="Ann", number=n) for n in range(12)]
    calls.append(call(12, "take_payment", "write", amount_cents=16700, method="PM-1"))
    consent = event(12, "consented", "user", tool="take_payment", arguments={"amount_cents": 16700, "method": "PM-1"})
    events = [
        *said("What is your PIN?", order=3),
        consent,
        *said("I charged $167.", order=13),
        event(13, "left", "user"),
    ]
    deep, seen = task([PAID], criteria), transcript(calls, events, CHANGES)
    assert grade(deep, WORLD, seen).passed
    spent = []
    for _ in range(200):
        start = time.perf_counter()
        grade(deep, WORLD, seen)
        spent.append(time.perf_counter() - start)
    assert sorted(spent)[len(spent) // 10] < 0.001
