"""What is told as done, announced, refused or past, against what a person reads, and which slots the lexicons call deeds."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from journeyman.grading.dialogue import Reader
from journeyman.world.lexicon import Lexicon, Slot
from journeyman.world.slots import money, time, with_deeds

from .corpus import airline_cargo_deeds, telecom_deeds
from .test_corpus import EXACT, read_in, reader

WORLDS = [("telecom", telecom_deeds), ("airline_cargo", airline_cargo_deeds)]


@pytest.mark.parametrize(("world", "corpus"), WORLDS)
def test_deeds_announcements_and_refusals_are_read_as_a_person_reads_them(world: str, corpus: ModuleType) -> None:
    read = reader(world)
    rows = [*corpus.REPORTED, *corpus.VARIED]
    wrong = [
        (text, expected, found) for text, expected in rows if sorted(found := read_in(read, text)) != sorted(expected)
    ]
    assert min(len(corpus.REPORTED), len(corpus.VARIED)) >= 35
    assert len({text for text, _ in rows}) == len(rows)
    assert 1 - len(wrong) / len(rows) >= EXACT, wrong


@pytest.mark.parametrize(("world", "corpus"), WORLDS)
def test_refusals_once_missed_are_read(world: str, corpus: ModuleType) -> None:
    read = reader(world)
    missed = [(text, slot) for text, slot in corpus.REFUSED if f"!{slot}" not in read_in(read, text)]
    assert len(corpus.REFUSED) >= 6
    assert not missed


@pytest.mark.parametrize("world", ["telecom", "airline_cargo"])
def test_a_lexicon_marks_its_deeds(world: str) -> None:
    module = importlib.import_module(f"journeyman.worlds.{world}.lexicon")
    names = {slot.name for slot in module.LEXICON.slots}
    assert set(module.DEEDS) <= names
    assert {slot.name for slot in module.LEXICON.slots if slot.deed} == set(module.DEEDS)
    assert "balance" not in module.DEEDS


@pytest.mark.parametrize(("deed", "expected"), [(True, []), (False, ["paid=5.0"])])
def test_only_a_deed_is_not_told_by_its_announcement(deed: bool, expected: list[str]) -> None:
    slots = with_deeds([money("paid", "charge", "charged")], ["paid"] if deed else [])
    read = Reader(Lexicon(slots=slots))
    assert read_in(read, "I will charge $5.00.") == expected
    assert read_in(read, "I have charged $5.00.") == ["paid=5.0"]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("14:00", ["14:00"]), ("2 PM", ["14:00"]), ("2:05 p.m.", ["14:05"]), ("12 am", ["00:00"]), ("12:30 PM", ["12:30"]),
        ("9:05", ["09:05"]), ("14.30 UTC", ["14:30"]), ("14:00Z", ["14:00"]), ("25:00", []), ("14:75", []), ("13 PM", []),
        ("14:00:59", []),
    ],
)  # fmt: skip
def test_times(said: str, read: list[str]) -> None:
    events = Reader(Lexicon(slots=[time("clock", "at")])).read_agent(f"It leaves at {said}.", 0, 0)
    assert [event.value for event in events] == read


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("86 dollars and 35 cents", [86.35]), ("ninety-nine dollars", [99.0]), ("eleven bucks", [11.0]), ("3.50$", [3.5]),
        ("1,200$", [1200.0]), ("five euros", []), ("7€", []), ("one dollar and 5 cents", [1.05]), ("forty cents", [0.4]),
    ],
)  # fmt: skip
def test_amounts(said: str, read: list[float]) -> None:
    events = Reader(Lexicon(slots=[money("fee", "fee")])).read_agent(f"The fee is {said}.", 0, 0)
    assert [event.value for event in events] == read


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("9/15/26", ["2026-09-15"]), ("2026/09/15", ["2026-09-15"]), ("15.09.2026", ["2026-09-15"]), ("1.2.2026", ["2026-02-01"]),
        ("15.9.26.1", []), ("2026/09-15", []),
    ],
)  # fmt: skip
def test_dates(said: str, read: list[str]) -> None:
    events = Reader(Lexicon(slots=[Slot("day", "date", ["day"])])).read_agent(f"The day is {said}.", 0, 0)
    assert [event.value for event in events] == read
