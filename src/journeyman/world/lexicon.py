"""The words of a world: how free text speaks of its slots, its writes and its refusals. Pure data.

A `Slot` is a kind of value people talk about (an amount due, a line number). The reader of free text looks for
`cues` to know which slot a sentence is about and for a value of the slot's `type` to know what was asserted.
"""

from __future__ import annotations

from typing import Literal

from journeyman.task import Data

SlotType = Literal["money", "date", "time", "id", "number", "percent", "phone", "choice"]


class Slot(Data, frozen=True):
    """One kind of value.

    Args:
        cues: words or phrases that show that a sentence speaks of this slot.
        ask: words that show that a question is about it (empty: the cues).
        values: canonical value -> phrases, for `choice`; aliases, for `id`.
        pattern: regular expression of the values of an `id` slot, such as `LN-\\d{4}`.
        deed: a value of this slot tells that something was done ("charged $5", "the line is active"), so that an
            announcement, an offer or what is due states none. Information (a balance, a fee) may be told in any tense.
    """

    name: str
    type: SlotType
    cues: list[str]
    ask: list[str] = []
    values: dict[str, list[str]] = {}
    pattern: str = ""
    deed: bool = False


class ProposalForm(Data, frozen=True):
    """How a write is proposed in words.

    Args:
        verbs: phrases that name the action ("take a payment", "charge").
        slots: argument -> slot name; all of them must be readable for consent to cover them.
        also: name -> slot name, of what people say in place of an argument (the number of a line for its id). It is
            read like an argument and no argument of the tool; a `ConsentRule` with `covers` makes use of it.
        nouns: what the write is called as a thing ("the payment"): proposed where agreement to it is asked for.
        loose: verbs with everyday uses besides ("put"): they count only beside a value of `near`.
        near: slots whose values show that a loose verb means the write (empty: those of `slots` and `also`).
        prices: words for a sum that the write charges ("handling fee", "costs"): a message that proposes anything and
            names such a sum with its value proposes to charge it, too.
    """

    tool: str
    verbs: list[str]
    slots: dict[str, str] = {}
    also: dict[str, str] = {}
    nouns: list[str] = []
    loose: list[str] = []
    near: list[str] = []
    prices: list[str] = []


class DenialForm(Data, frozen=True):
    """What can be refused, and the words for it: slot `refund`, cues "refund", "money back"."""

    slot: str
    cues: list[str]


class Lexicon(Data, frozen=True):
    """All that the reader of free text knows about one world."""

    slots: list[Slot] = []
    proposals: list[ProposalForm] = []
    denials: list[DenialForm] = []
