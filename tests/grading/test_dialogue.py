"""The reader of free text, sentence by sentence, against what a person reads."""

from __future__ import annotations

import doctest
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.codec import encode
from journeyman.episode import Event
from journeyman.errors import WorldError
from journeyman.grading import dialogue, values
from journeyman.grading.dialogue import MAX_CHARACTERS, Reader
from journeyman.grading.values import spoken_equal
from journeyman.world.lexicon import Lexicon, Slot

from .sample import LEXICON
from .sentences import DENIALS, NOTHING_ASSERTED, PROPOSALS, QUESTIONS, STATEMENTS, Row

READER = Reader(LEXICON)
TABLE: list[Row] = [*STATEMENTS, *NOTHING_ASSERTED, *QUESTIONS, *PROPOSALS, *DENIALS]


def notation(event: Event) -> str:
    if event.kind == "proposed":
        return f"{event.tool}({','.join(f'{name}={value}' for name, value in event.arguments.items())})"
    return {"stated": f"{event.slot}={event.value}", "asked": f"?{event.slot}", "denied": f"!{event.slot}"}[event.kind]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:60] for text, _ in TABLE])
def test_sentence(text: str, expected: list[str]) -> None:
    events = [event for event in READER.read_agent(text, 3, 5) if event.kind != "announced"]
    assert sorted(notation(event) for event in events) == sorted(expected)
    assert all((event.turn, event.order, event.by) == (3, 5, "agent") for event in events)


def test_the_examples_of_the_docstrings() -> None:
    for module in (dialogue, values):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


def test_the_table_is_long_and_without_repetition() -> None:
    assert len({text for text, _ in TABLE}) == len(TABLE) >= 120


def test_a_quote_is_text_of_the_message() -> None:
    text = "Hello.  Your **balance** is $167!  What’s your PIN?"
    for event in READER.read_agent(text, 0, 0):
        assert event.quote in text


def test_a_phrase_for_two_values_is_refused() -> None:
    slot = Slot("card", "id", ["card"], values={"PM-1": ["my Visa"], "PM-2": ["my visa"]})
    with pytest.raises(WorldError, match="stands for both"):
        Reader(Lexicon(slots=[slot]))


@pytest.mark.parametrize(
    ("said", "meant", "same"),
    [
        (167.0, 167, True),
        (167.004, 167.0, True),
        (167.01, 167.0, False),
        ("--03-05", "2026-03-05", True),
        ("2026-03-05", "2026-03-06", False),
        ("ln-0001 ", "LN-0001", True),
        ("5550101234", "+1 (555) 010-1234", True),
        ("5550101234", "+1 (555) 010-1235", False),
        ("5", 5, False),
        (True, 1, True),
        (None, None, True),
        (None, 0, False),
        (0, False, True),
    ],
)
def test_spoken_equality(said: str | float | None, meant: str | float | None, same: bool) -> None:
    assert spoken_equal(said, meant) is same


HOSTILE = [
    "\0" * 1000,
    "\ud800 your balance is $167 \udfff",
    "." * 15_000 + "x",
    "?" * 15_000,
    "$" * 15_000,
    "1," * 7_500,
    "1" * 15_000,
    "$1" * 7_500,
    "5-" * 7_500,
    "a.a" * 5_000,
    "a@" * 7_500,
    "balance $1 " * 1_400,
    "shall i charge $5 and restore LN-0001 " * 400 + "?",
    "March 5 " * 1_900,
    "\n" * 15_000,
    " \t" * 7_500,
    "can't waive the fee, " * 700,
    "balance " * 1_900,
    "waive the " * 1_500,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_read_quickly_and_its_events_can_be_stored(text: str) -> None:
    start = time.process_time()
    events = READER.read_agent(text[:MAX_CHARACTERS], 0, 0)
    assert time.process_time() - start < 3.0
    encode(events)


def test_only_so_many_texts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "_REMEMBERED", 3)
    reader = Reader(LEXICON)
    for number in range(10):
        text = f"Your balance is ${number}.50."
        for _ in range(2):
            assert [event.value for event in reader.read_agent(text, 0, 0)] == [number + 0.5]
            assert [mention.value for mention in reader.mentions(text).values] == [number + 0.5]
        assert len(reader._memory) <= 3
        assert len(reader._mentioned) <= 3


def test_a_message_that_nobody_reads_says_nothing() -> None:
    assert READER.read_agent("Your balance is $167. " + "x" * 1_000_000, 0, 0) == []
    assert READER.read_agent(" ".join(f"Your balance is ${n}." for n in range(500)), 0, 0) == []
    assert READER.read_agent("", 0, 0) == []


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    events = READER.read_agent(text, 0, 0)
    assert encode(events)
    assert events == READER.read_agent(text, 0, 0)


@settings(deadline=None)
@given(st.integers(0, 999_999), st.sampled_from([",", ""]))
def test_money_round_trip(cents: int, separator: str) -> None:
    text = f"${cents / 100:{separator}.2f}"
    (event,) = READER.read_agent(f"Your balance is {text}.", 0, 0)
    assert event.value == pytest.approx(cents / 100)
