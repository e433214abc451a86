"""Short forms for the slots of a lexicon, one for each type of value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from journeyman.world.lexicon import Slot

EMAIL = r"[\w.+-]{1,64}@[\w.-]{1,64}\.[a-z]{2,10}"
_NEVER = r"(?!)"
"""Matches nothing: a slot that is asked for and never stated."""


def money(name: str, *cues: str) -> Slot:
    """An amount of money."""
    return Slot(name, "money", list(cues))


def number(name: str, *cues: str) -> Slot:
    """A number without a currency."""
    return Slot(name, "number", list(cues))


def date(name: str, *cues: str) -> Slot:
    """A calendar date."""
    return Slot(name, "date", list(cues))


def time(name: str, *cues: str) -> Slot:
    """A time of day, stated as `HH:MM`."""
    return Slot(name, "time", list(cues))


def record(name: str, pattern: str, *cues: str) -> Slot:
    """The id of a record, or another word that a pattern knows, such as an e-mail address."""
    return Slot(name, "id", list(cues), pattern=pattern)


def asked(name: str) -> Slot:
    """What is asked for and never stated: a PIN, a name."""
    return Slot(name, "id", [], pattern=_NEVER)


def choice(name: str, cues: Sequence[str], values: Mapping[str, Sequence[str]]) -> Slot:
    """One of some values, each called by its own name with blanks for underscores, or by one of its phrases."""
    spoken = {value: [value.replace("_", " "), *phrases] for value, phrases in values.items()}
    return Slot(name, "choice", list(cues), values=spoken)


def with_deeds(slots: Sequence[Slot], deeds: Sequence[str]) -> list[Slot]:
    """The slots, those in `deeds` marked as telling a deed."""
    return [msgspec.structs.replace(slot, deed=slot.name in deeds) for slot in slots]


def with_questions(slots: Sequence[Slot], ask: Mapping[str, Sequence[str]]) -> list[Slot]:
    """The slots, each with the words of questions about it, where `ask` has some."""
    return [msgspec.structs.replace(slot, ask=list(ask.get(slot.name, slot.ask))) for slot in slots]
