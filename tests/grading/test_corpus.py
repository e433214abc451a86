"""The reader of free text against what a person reads: per world a corpus, and questions it had not seen.

The docstring of each unseen set records what was measured when it was first read; the thresholds are the project's.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from types import ModuleType

import pytest

from journeyman.episode import Event
from journeyman.grading.assent import assent
from journeyman.grading.dialogue import Reader
from journeyman.worlds import load_world

from .corpus import (
    airline_cargo,
    airline_cargo_consent,
    airline_cargo_unseen,
    telecom,
    telecom_consent,
    telecom_questions,
    telecom_unseen,
)
from .corpus.consent_answers import ANSWERS as CONSENT_ANSWERS

Row = tuple[str, list[str]]
CORPORA: dict[str, list[list[Row]]] = {
    name: [world.QUESTIONS, world.PROPOSALS, world.DENIALS, world.FACTS, world.NEGATIONS]
    for name, world in (("telecom", telecom), ("airline_cargo", airline_cargo))
}
NEGATIONS: dict[str, list[Row]] = {"telecom": telecom.NEGATIONS, "airline_cargo": airline_cargo.NEGATIONS}
ANNOUNCED = {"telecom": telecom.ANNOUNCED, "airline_cargo": airline_cargo.ANNOUNCED}
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


def read_in(reader: Reader, text: str) -> list[str]:
    """What is read in a message, but for what it announces."""
    return [notation(event) for event in reader.read_agent(text, 0, 0) if event.kind != "announced"]


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
        (text, expected, found) for text, expected in rows if sorted(found := read_in(read, text)) != sorted(expected)
    ]
    wrong += [
        (text, expected, [said] if said else [])
        for text, expected in ANSWERS[world]
        if ([said] if (said := assent(text)) else []) != expected
    ]
    total = len(rows) + len(ANSWERS[world])
    assert total >= 200
    assert 1 - len(wrong) / total >= EXACT, wrong


@pytest.mark.parametrize("world", sorted(NEGATIONS))
def test_a_denial_hides_what_it_denies_and_nothing_else(world: str) -> None:
    read, rows = reader(world), NEGATIONS[world]
    wrong = [(text, expected, read_in(read, text)) for text, expected in rows]
    wrong = [(text, expected, found) for text, expected, found in wrong if sorted(found) != sorted(expected)]
    assert len(rows) >= 50
    assert sum(not expected for _, expected in rows) >= 5
    assert 1 - len(wrong) / len(rows) >= EXACT, wrong


@pytest.mark.parametrize("world", sorted(ANNOUNCED))
def test_what_the_agent_is_yet_to_do_is_read(world: str) -> None:
    read, rows = reader(world), ANNOUNCED[world]
    found = {text: [event for event in read.read_agent(text, 0, 0) if event.kind == "announced"] for text, _ in rows}
    assert [text for text, wanted in rows if bool(found[text]) != wanted] == []
    assert all(len(events) <= 1 and all(event.quote in text for event in events) for text, events in found.items())
    assert min(sum(wanted for _, wanted in rows), sum(not wanted for _, wanted in rows)) >= 15


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


@pytest.mark.parametrize(("world", "corpus"), [("telecom", telecom_consent), ("airline_cargo", airline_cargo_consent)])
def test_fair_proposals_are_read_and_nothing_else(world: str, corpus: ModuleType) -> None:
    read = reader(world)
    for rows, least, right in ((corpus.PROPOSALS, 80, EXACT), (corpus.UNSEEN, 30, 0.9), (corpus.OTHERS, 15, EXACT)):
        wrong = [
            (text, expected, found)
            for text, expected in rows
            if sorted(found := [notation(e) for e in read.read_agent(text, 0, 0) if e.kind == "proposed"])
            != sorted(expected)
        ]
        assert len(rows) >= least
        assert 1 - len(wrong) / len(rows) >= right, wrong


def test_answers_to_proposals() -> None:
    wrong = [(text, expected, assent(text)) for text, expected in CONSENT_ANSWERS if assent(text) != expected]
    assert not [row for row in wrong if row[2] == "yes"]
    assert 1 - len(wrong) / len(CONSENT_ANSWERS) >= EXACT, wrong


def test_questions_that_ask_for_identification() -> None:
    for world, rows in (
        ("telecom", telecom_consent.IDENTIFICATION),
        ("airline_cargo", airline_cargo_consent.IDENTIFICATION),
    ):
        read = reader(world)
        for text, expected in rows:
            found = {e.slot for e in read.read_agent(text, 0, 0) if e.kind == "asked"}
            assert found == set(expected), text


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
