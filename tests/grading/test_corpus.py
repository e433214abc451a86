"""The reader of free text against what a person reads: per world a corpus, and questions it had not seen.

The docstring of each unseen set records what was measured when it was first read; the thresholds are the project's.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence

import pytest

from journeyman.episode import Event
from journeyman.grading.assent import assent
from journeyman.grading.dialogue import Reader
from journeyman.worlds import load_world

from .corpus import airline_cargo, airline_cargo_unseen, telecom, telecom_questions, telecom_unseen

Row = tuple[str, list[str]]
CORPORA: dict[str, list[list[Row]]] = {
    "telecom": [telecom.QUESTIONS, telecom.PROPOSALS, telecom.DENIALS, telecom.FACTS],
    "airline_cargo": [airline_cargo.QUESTIONS, airline_cargo.PROPOSALS, airline_cargo.DENIALS, airline_cargo.FACTS],
}
ANSWERS: dict[str, list[Row]] = {"telecom": telecom.ANSWERS, "airline_cargo": airline_cargo.ANSWERS}
UNSEEN: dict[str, list[Row]] = {"telecom": telecom_unseen.UNSEEN, "airline_cargo": airline_cargo_unseen.UNSEEN}
EXACT = 0.98
ASKED = 0.95
FREQUENT = 20
"""Mentions from which on a slot is held to the threshold alone; one miss among fewer is more than a twentieth."""


def reader(world: str) -> Reader:
    return Reader(importlib.import_module(f"journeyman.worlds.{world}.lexicon").LEXICON)


def notation(event: Event) -> str:
    if event.kind == "proposed":
        return f"{event.tool}({','.join(f'{name}={value}' for name, value in event.arguments.items())})"
    return {"stated": f"{event.slot}={event.value}", "asked": f"?{event.slot}", "denied": f"!{event.slot}"}[event.kind]


def scores(world: str, rows: Sequence[Row]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Slots asked for and read, read without being asked for, asked for without being read."""
    read = reader(world)
    right: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for text, slots in rows:
        found = {event.slot for event in read.read_agent(text, 0, 0) if event.kind == "asked" and event.slot}
        right.update(found & set(slots))
        extra.update(found - set(slots))
        missed.update(set(slots) - found)
    return right, extra, missed


@pytest.mark.parametrize("world", sorted(CORPORA))
def test_the_corpus_is_read_as_a_person_reads_it(world: str) -> None:
    read = reader(world)
    rows = [row for part in CORPORA[world] for row in part]
    wrong = [
        (text, expected, found)
        for text, expected in rows
        if sorted(found := [notation(event) for event in read.read_agent(text, 0, 0)]) != sorted(expected)
    ]
    wrong += [
        (text, expected, [said] if said else [])
        for text, expected in ANSWERS[world]
        if ([said] if (said := assent(text)) else []) != expected
    ]
    total = len(rows) + len(ANSWERS[world])
    assert total >= 200
    assert 1 - len(wrong) / total >= EXACT, wrong


@pytest.mark.parametrize("world", sorted(UNSEEN))
def test_unseen_questions_are_read(world: str) -> None:
    rows = UNSEEN[world]
    assert len(rows) >= 120
    assert sum(not slots for _, slots in rows) >= 30
    right, extra, missed = scores(world, rows)
    assert right.total() / (right.total() + extra.total()) >= ASKED, extra
    assert right.total() / (right.total() + missed.total()) >= ASKED, missed
    for slot in right:
        if right[slot] + missed[slot] >= FREQUENT:
            assert right[slot] / (right[slot] + missed[slot]) >= ASKED, (slot, missed[slot])
            assert right[slot] / (right[slot] + extra[slot]) >= ASKED, (slot, extra[slot])


def test_questions_once_unseen_are_read() -> None:
    right, extra, missed = scores("telecom", telecom_questions.ASKED)
    assert right.total() / (right.total() + extra.total()) >= 0.98, extra
    assert right.total() / (right.total() + missed.total()) >= 0.98, missed


def test_no_message_stands_in_two_sets() -> None:
    for world in CORPORA:
        texts = [text for part in [*CORPORA[world], UNSEEN[world]] for text, _ in part]
        if world == "telecom":
            texts += [text for text, _ in telecom_questions.ASKED]
        repeated = [text for text, count in Counter(texts).items() if count > 1]
        assert repeated == []


def test_corpora_speak_of_slots_and_tools_that_exist() -> None:
    for world, parts in CORPORA.items():
        lexicon = load_world(world).lexicon
        slots = {slot.name for slot in lexicon.slots} | {form.slot for form in lexicon.denials}
        tools = {form.tool for form in lexicon.proposals}
        for text, expected in [row for part in parts for row in part]:
            for mark in expected:
                name = mark.lstrip("?!").split("=")[0].split("(")[0]
                assert name in (tools if mark.endswith(")") else slots), (text, mark)
        assert {slot for _, wanted in UNSEEN[world] for slot in wanted} <= slots
