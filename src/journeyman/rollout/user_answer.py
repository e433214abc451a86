"""What a model that plays the user must answer: one JSON object, each claim of it with the words that bear it out.

    {"say": "Yes, go ahead.", "reveals": [], "consents": [{"tool": "take_payment", "quote": "Yes, go ahead"}],
     "refuses": [], "done": false}

Knows the form only; whether a claim is true of the scenario is decided in `user_events.py`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

MAX_SAY = 2_000
"""Characters of what a user says at once."""


class MalformedAnswer(Exception):
    """An answer that cannot be used. The message says why, in words for the model that wrote it."""


class Revealed(Struct, frozen=True):
    """The claim that a detail was told."""

    slot: str
    quote: str


class Decided(Struct, frozen=True):
    """The claim that a proposed action was agreed to, or refused."""

    tool: str
    quote: str


class UserAnswer(Struct, frozen=True):
    """One answer. `done`: the user leaves with it."""

    say: Annotated[str, Meta(min_length=1, max_length=MAX_SAY)]
    reveals: list[Revealed] = []
    consents: list[Decided] = []
    refuses: list[Decided] = []
    done: bool = False


_decoder = msgspec.json.Decoder(UserAnswer)
_fence = re.compile(r"^```[a-z]*\s*|\s*```$")


def parse_answer(text: str) -> UserAnswer:
    """The answer in a model's text; thinking before it and a fence around it are passed over.

    Raises:
        MalformedAnswer: no object of the form, an empty `say`, or a quote that is not in `say`.
    """
    body = _fence.sub("", text.rsplit("</think>", 1)[-1].strip()).strip()
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise MalformedAnswer("there is no JSON object in it")
    try:
        answer = _decoder.decode(body[start : end + 1])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise MalformedAnswer(f"it is not an object of the form: {error}") from None
    if not answer.say.strip():
        raise MalformedAnswer("`say` is empty")
    claims: list[Any] = [*answer.reveals, *answer.consents, *answer.refuses]
    for claim in claims:
        if not quoted(claim.quote, answer.say):
            raise MalformedAnswer(f"the quote {claim.quote[:80]!r} does not stand in `say`")
    return answer


def quoted(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, without regard to case and spacing."""
    plain = " ".join(quote.casefold().split())
    return bool(plain) and plain in " ".join(text.casefold().split())
