"""The same message in other words: rewordings and frames that change no event that the reader finds.

Knows English, no world. Every version is read before it is said: it counts only where the reader finds in it exactly the events
of the original, in the same order, and where it asks exactly if the original asks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from journeyman.codec import canonical
from journeyman.grading.dialogue import Reader

Rule = tuple[str, tuple[str, ...]]
"""A regular expression, and what may stand in its place."""


@dataclass(frozen=True)
class Style:
    """A way to speak.

    Args:
        rules: rewordings, applied one after the other, one alternative of each.
        greetings: may stand before the first message. openers: before a later one. closers: after the last one.
    """

    rules: tuple[Rule, ...] = ()
    greetings: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()


_PLEASE = (
    r"(?:Before I look into it, |Thank you\. |For the new SIM, )?[Cc]ould you please give me your (?P<what>[^?]+)\?"
)
_SORRY = r"I am sorry, but I (?=cannot|can't)|I understand, but I (?=cannot|can't)"
_DONE = "applied|charged|sent|refunded|added|opened|noted|found"

PLAIN = Style()
TERSE = Style(
    rules=(
        (_PLEASE, (r"What is your \g<what>?", r"Your \g<what>, please?")),
        (_SORRY, ("I ",)),
        (r"\bI am sorry (?:that|about)[^.]*\. ", ("",)),
        (r"\bI cannot\b", ("I can't",)),
        (r"\bI have (?=moved|waived|released|lifted)", ("I ",)),
        (r"\bIt is\b", ("It's",)),
        (r"(?<=[a-z0-9]), please wait until tonight\.", (". Please wait until tonight.",)),
    ),
)
FORMAL = Style(
    rules=(
        (
            _PLEASE,
            (
                r"Before I proceed, could you please tell me your \g<what>?",
                r"For security, may I please have your \g<what>?",
                r"To begin with, would you please provide your \g<what>?",
            ),
        ),
        (r"\bShall I\b", ("May I", "Would you like me to")),
        (_SORRY, ("I regret to say that I ", "I am sorry to say that I ")),
        (r"(?<!that )\bI cannot\b", ("I am afraid that I cannot", "Unfortunately, I cannot", "I am unable to")),
        (rf"\bI (?=(?:{_DONE})\b)", ("I have ",)),
        (r"\bI can't\b", ("I cannot",)),
        (r"\bIt's\b", ("It is",)),
    ),
    greetings=("Thank you for contacting us.", "Certainly.", "Good day."),
    openers=("Thank you for the information.", "Thank you.", "Thank you for your patience."),
    closers=("Thank you for your patience.", "We thank you for your trust.", "Kind regards."),
)
FRIENDLY = Style(
    rules=(
        (
            _PLEASE,
            (
                r"Could you please tell me your \g<what>?",
                r"Before I start, what is your \g<what>?",
                r"Could you share your \g<what> with me, please?",
            ),
        ),
        (r"\bShall I\b", ("Would you like me to", "Do you want me to", "Is it okay if I")),
        (_SORRY, ("I am really sorry, but I ",)),
        (r"(?<!but )\bI cannot\b", ("I'm sorry, but I can't", "Sadly, I can't")),
        (r"\bI cannot\b", ("I can't",)),
        (rf"\bI (?=(?:{_DONE})\b)", ("I've ", "I have just ")),
        (r"\bIt is\b", ("It's",)),
    ),
    greetings=("Hi there!", "Happy to help!", "Of course!"),
    openers=("Thanks!", "All right!", "Thanks for waiting!"),
    closers=("Have a great day!", "Thanks for your patience!", "Take care!"),
)

_NOTES = ("Let me {verb} the {rest}.", "I will {verb} the {rest}.", "Now I will {verb} the {rest}.")


def reworded(text: str, style: Style, rng: random.Random, reader: Reader, *, first: bool, last: bool) -> str:
    """`text` in the words of a style, or as near to it as keeps every event.

    Args:
        rng: picks among alternatives; the same number of draws whatever is kept.
        first, last: whether it is the agent's first or last message.
    """
    wanted = meaning(text, reader)
    for version in _versions(text, style, rng, first, last):
        if version and meaning(version, reader) == wanted:
            return version
    return text


def meaning(text: str, reader: Reader) -> tuple[bool, list[bytes]]:
    """What a message does: whether it asks, and its events in order, without the words that they were read from."""
    events: list[Any] = [
        (event.kind, event.slot, event.value, event.tool, event.arguments) for event in reader.read_agent(text, 0, 0)
    ]
    return "?" in text, [canonical(event) for event in events]


def note_on(tool: str, rng: random.Random) -> str:
    """What a call of a tool is for, in a sentence made of its name: `list_open_invoices` → "Let me list the open invoices."."""
    form = rng.choice(_NOTES)
    verb, _, rest = tool.replace("_", " ").partition(" ")
    return form.format(verb=verb, rest=rest or "record")


def _versions(text: str, style: Style, rng: random.Random, first: bool, last: bool) -> Iterator[str]:
    """From the boldest to the plainest: reworded and framed, reworded alone, single rewordings, framed alone."""
    chosen = [(pattern, rng.choice(alternatives)) for pattern, alternatives in style.rules]
    before = style.greetings if first and style.greetings else style.openers
    opener = rng.choice(before) if before else ""
    closer = rng.choice(style.closers) if last and style.closers else ""
    full = text
    for pattern, alternative in chosen:
        full = re.sub(pattern, alternative, full)
    for body in dict.fromkeys((full, text)):
        yield " ".join(part for part in (opener, body, closer) if part)
        yield " ".join(part for part in (body, closer) if part)
        yield " ".join(part for part in (opener, body) if part)
        if body != text:
            yield body
            yield from (re.sub(pattern, alternative, text) for pattern, alternative in chosen)
