"""Matchers and row matching, against values worked out by hand and against brute force."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.grading.match import match_rows, matches, values_equal
from journeyman.task import ExpectedRow, Match, Matcher, Outcome, RowChange, Scalar

from .sample import WORLD, paid, payment


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (2, 2.0, True),
        (True, 1, True),
        (False, 0, True),
        (0.1 + 0.2, 0.3, True),
        (12900, 13000, False),
        (12.9, 12.91, False),
        ("5", 5, False),
        (" open ", "open", True),
        ("Open", "open", False),
        ("é", "e\u0301", True),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        (0, "", False),
        ([1, "a"], [1.0, "a "], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_values_equal(a: object, b: object, same: bool) -> None:
    assert values_equal(a, b) is same
    assert values_equal(b, a) is same


ROW = {"p": {"id": "PAY-7", "amount_cents": 12900}}


@pytest.mark.parametrize(
    ("matcher", "value", "fits"),
    [
        (5, 5.0, True),
        (5, 6, False),
        (Match(any=True), None, True),
        (Match(one_of=["a", 1]), 1.0, True),
        (Match(one_of=["a", 1]), "1", False),
        (Match(contains="refund"), "The Refund was sent", True),
        (Match(contains="refund"), None, False),
        (Match(contains="10"), "$1,010.50", False),
        (Match(contains="10"), "it was 10, not 11", True),
        (Match(contains="10"), "$10.50", False),
        (Match(contains="10"), "110 and 10.", True),
        (Match(contains="1"), 1, False),
        (Match(contains="x"), ["x", "y"], True),
        (Match(contains="x"), ["xy"], False),
        (Match(ref="p.id"), "PAY-7", True),
        (Match(ref="p.id"), "PAY-8", False),
        (Match(ref="q.id"), "PAY-7", False),
        (Match(ref="p.nothing"), None, False),
    ],
)
def test_matchers(matcher: Matcher, value: object, fits: bool) -> None:
    assert matches(matcher, value, ROW) is fits


def expect(name: str, invoice: Matcher, cents: Matcher) -> ExpectedRow:
    return ExpectedRow(name, "payments", "insert", set={"invoice_id": invoice, "amount_cents": cents})


def statuses(rows: list[ExpectedRow], changes: list[RowChange]) -> list[tuple[str, str]]:
    return [(r.ref, r.status) for r in match_rows(Outcome(rows=rows), changes, WORLD).results]


def test_a_match_gives_bindings_and_ignores_volatile_columns() -> None:
    found = match_rows(Outcome(rows=[expect("p", "I-1", 12900)]), [payment(1, "I-1", 12900)], WORLD)
    assert found.exact
    assert found.bindings["p"]["id"] == "PAY-1"


def test_a_wrong_value_is_told() -> None:
    found = match_rows(Outcome(rows=[expect("p", "I-1", 12900)]), [payment(1, "I-1", 13000)], WORLD)
    assert [(r.ref, r.status, r.detail) for r in found.results] == [
        ("p", "wrong", "amount_cents 13000 where 12900 was expected")
    ]


def test_missing_and_collateral() -> None:
    assert statuses([expect("p", "I-1", 5)], [paid("I-9", status="paid")]) == [
        ("p", "missing"),
        ("invoices/I-9", "collateral"),
    ]
    assert statuses([], [payment(1, "I-1", 5)]) == [("payments/PAY-1", "collateral")]
    assert statuses([expect("p", "I-1", 5)], [payment(1, "I-1", 5), payment(2, "I-1", 5)]) == [
        ("p", "matched"),
        ("payments/PAY-2", "collateral"),
    ]


def test_unlisted_columns_of_an_insert_must_hold_their_default() -> None:
    rows = [expect("p", "I-1", 5)]
    assert statuses(rows, [payment(1, "I-1", 5, status="settled")]) == [("p", "matched")]
    assert statuses(rows, [payment(1, "I-1", 5, status="failed")]) == [("p", "wrong")]


def test_unlisted_changes_of_an_update_are_wrong_and_volatile_ones_are_not() -> None:
    rows = [ExpectedRow("i", "invoices", "update", where={"id": "I-1"}, set={"status": "paid"})]
    assert statuses(rows, [paid("I-1", status="paid", updated_at="now")]) == [("i", "matched")]
    assert statuses(rows, [paid("I-1", status="paid", paid_cents=5)]) == [("i", "wrong")]
    assert statuses(rows, [paid("I-2", status="paid")]) == [("i", "missing"), ("invoices/I-2", "collateral")]


def test_an_update_of_volatile_columns_alone_is_ignored_and_an_insert_never() -> None:
    assert statuses([], [paid("I-1", updated_at="now")]) == []
    assert statuses([], [payment(1, "I-1", 5)]) != []


def test_a_volatile_table_counts_only_where_it_is_named() -> None:
    change = RowChange("audit", "insert", {"id": 1}, {}, {"id": 1, "text": "seen"})
    assert statuses([], [change]) == []
    assert statuses([ExpectedRow("a", "audit", "insert", set={"text": "seen"})], [change]) == [("a", "matched")]


def test_where_speaks_of_key_and_old_values() -> None:
    change = RowChange("invoices", "delete", {"id": "I-1"}, {"id": "I-1", "status": "open"}, {})
    assert statuses([ExpectedRow("d", "invoices", "delete", where={"status": "open"})], [change]) == [("d", "matched")]
    assert statuses([ExpectedRow("d", "invoices", "delete", where={"status": "paid"})], [change])[0] == ("d", "missing")


def test_refs_between_rows_pick_the_right_pair() -> None:
    rows = [
        expect("p", Match(any=True), 5),
        ExpectedRow("i", "invoices", "update", where={"id": Match(ref="p.invoice_id")}, set={"status": "paid"}),
    ]
    right = [payment(1, "I-1", 5), payment(2, "I-2", 5), paid("I-2", status="paid")]
    assert statuses(rows, right) == [("p", "matched"), ("i", "matched"), ("payments/PAY-1", "collateral")]
    assert statuses(rows, [payment(1, "I-1", 5), paid("I-2", status="paid")]) == [
        ("p", "matched"),
        ("i", "missing"),
        ("invoices/I-2", "collateral"),
    ]


amounts = st.sampled_from([1, 2, 3])
matcher = st.one_of(
    amounts, st.just(Match(any=True)), st.lists(amounts, min_size=1, max_size=2).map(lambda c: Match(one_of=[*c]))
)


@settings(max_examples=150, deadline=None)
@given(st.lists(matcher, max_size=5), st.lists(amounts, max_size=5), st.randoms(use_true_random=False))
def test_matching_is_largest_one_to_one_and_blind_to_order(wanted: list[Matcher], made: list[int], rng: object) -> None:
    rows = [expect(f"r{n}", Match(any=True), m) for n, m in enumerate(wanted)]
    changes = [payment(n, "I-1", cents) for n, cents in enumerate(made)]
    fits = [[matches(m, cents, {}) for cents in made] for m in wanted]
    padded = [*range(len(made)), *[-1] * len(wanted)]
    best = max(
        (sum(c >= 0 and fits[r][c] for r, c in enumerate(choice)) for choice in set(itertools.permutations(padded, len(wanted)))),
        default=0,
    ) if len(wanted) + len(made) <= 6 else None  # fmt: skip
    counts = _counts(rows, changes)
    if best is not None:
        assert counts.get("matched", 0) == best
    rng.shuffle(changes)  # type: ignore[attr-defined]
    rng.shuffle(rows)  # type: ignore[attr-defined]
    assert _counts(rows, changes) == counts


def _counts(rows: list[ExpectedRow], changes: list[RowChange]) -> dict[str, int]:
    found = [status for _, status in statuses(rows, changes)]
    return {status: found.count(status) for status in found}


def test_the_search_is_bounded() -> None:
    values: list[Scalar] = list(range(12))
    rows = [expect(f"r{n}", Match(one_of=values), Match(one_of=values)) for n in range(13)]
    changes = [payment(n, "I-0", n) for n in range(12)]
    start = time.perf_counter()
    match_rows(Outcome(rows=rows), changes, WORLD)
    assert time.perf_counter() - start < 2.0
