"""Sentences of a message: where they start and end, what is a question, where a clause begins.

Knows punctuation and word order only; what the words mean to a world is the reader's part.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from journeyman.grading.language import (
    BASE_NEGATIONS,
    BREAKS,
    FINITE,
    INTERROGATIVES,
    MODALS,
    QUANTITY_HEDGES,
    SUBJECTS,
    SUPPORTING,
)
from journeyman.grading.phrases import Hit, Tokens, is_past
from journeyman.grading.values import Value

MAX_TOKENS = 240
"""A longer stretch without a full stop is cut: no person reads it as one sentence."""

# One character becomes one character, so that positions in the plain text are positions in the original.
PLAIN = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "—": ";", "–": "-", "‑": "-", "*": " ", "`": " ", "\u00a0": " ",
     "\u202f": " ", "\t": " ", "\r": "\n", "？": "?", "。": "."}
)  # fmt: skip
_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]]{0,3}(?=\s|$)|\n+")
_BULLET = re.compile(r"\s{0,20}(?:[-*•]\s|\d{1,2}[.)](?:\s|$))")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|st|vs|e\.g|i\.e|a\.m|p\.m|approx|no|acct|inc|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec))$",
    re.IGNORECASE,
)


_QUANTITIES = frozenset(["money", "number", "percent"])
_CONDITIONS = frozenset(["if", "unless", "suppose", "assuming"])
_DENIABLE = FINITE | SUPPORTING | {"would"}
_DENYING = BASE_NEGATIONS | {f"{verb}n't" for verb in ("is", "are", "was", "were", "has", "have", "had")}
_ACTORS = frozenset(["i", "we", "i've", "we've", "i'll", "we'll"])
_UNCOORDINATED = frozenset(["or", "nor", "and", "that", "whether"])
_PREPOSITIONS = frozenset(
    ["as", "like", "after", "before", "until", "when", "with", "in", "on", "for", "of", "to", "by", "at"]
)
_CONNECTIVES = frozenset(["so", "but", "and", "then", "well", "even", "now", "only", "except", "because"])


class Span(NamedTuple):
    """A sentence by its characters [start, end), with whether it ends with a question mark, a colon, and is a bullet."""

    start: int
    end: int
    question: bool
    colon: bool
    bullet: bool


class Sentence:
    """One sentence with everything found in it. `ask_from` is the first token of its question part (its length
    where it asks nothing); `clauses[i]` numbers the clause of token i."""

    __slots__ = (
        "_phrases",
        "_rejections",
        "ask_from",
        "clauses",
        "hedged",
        "hits",
        "listed",
        "negated",
        "pairs",
        "question",
        "quote",
        "request",
        "text",
        "tokens",
        "values",
    )

    def __init__(self, text: str, tokens: Tokens, hits: dict[str, list[Hit]], values: list[Value], quote: str) -> None:
        self.text = text
        self.tokens = tokens
        self.hits = hits
        self.values = values
        self.quote = quote
        self._phrases = [v for v in values if v.type == "choice"]
        negations = [h.first for h in hits.get("negate", ()) if h.owner != "neutral" and not self._is_within_value(h)]
        self._rejections = [
            hit.last for hit in hits.get("refuse", ()) if tokens.words[hit.last] in ("rejected", "down")
        ]
        self.clauses = clauses_of(text, tokens, [*negations, *self._rejections])
        self.negated = self._marked("negate")
        self.hedged = self._marked("hedge")
        if self._is_conditional():
            self.hedged = frozenset(self.clauses)
        self.request = False
        self.question = False
        self.listed = False
        self.ask_from = len(tokens.words)
        self.pairs: list[tuple[Value, str | None]] = []

    def _marked(self, kind: str) -> frozenset[int]:
        words = self.tokens.words
        clauses = set()
        for hit in self.hits.get(kind, ()):
            if hit.owner == "neutral" or self._is_within_value(hit):
                continue
            if (
                hit.first == 0
                and words[0] == "no"
                and self.text[self.tokens.ends[0] :].lstrip()[:1] in {",", ".", ";", ":"}
            ):
                continue  # "No, your balance is …" answers; it denies nothing of what follows
            clauses.add(self.clauses[hit.first])
        if kind == "hedge":
            for place, word in enumerate(words):
                if word == "may" and words[place + 1 : place + 2] == ["be"]:
                    clauses.add(self.clauses[place])
        return frozenset(clauses)

    def _is_within_value(self, hit: Hit) -> bool:
        """Whether the words are part of a value: "no longer suspended", "not signed"."""
        start, end = self.tokens.starts[hit.first], self.tokens.ends[hit.last]
        return any(v.start <= start and end <= v.end and (v.start, v.end) != (start, end) for v in self._phrases)

    @property
    def hedged_refusals(self) -> frozenset[int]:
        """Clauses in which a refusal does not count: hedged, but not by naming what was requested."""
        if self._is_conditional():
            return self.hedged
        named = {self.clauses[hit.first] for hit in self.hits.get("hedge", ()) if hit.owner == "request"}
        firm = {
            self.clauses[hit.first] for hit in self.hits.get("hedge", ()) if hit.owner not in ("request", "neutral")
        }
        return self.hedged - (named - firm)

    def _is_conditional(self) -> bool:
        """Whether the sentence opens with a condition, so that nothing in it is said to be so."""
        hedges = self.hits.get("hedge", ())
        words = self.tokens.words
        return any(hit.owner != "neutral" and words[hit.first] in _CONDITIONS
                   and all(word in _CONNECTIVES for word in words[: hit.first]) for hit in hedges)  # fmt: skip

    def token_at(self, char: int) -> int:
        """Index of the token that holds or precedes character `char` (0 at the least)."""
        return max(bisect_right(self.tokens.starts, char) - 1, 0)

    def range_of(self, value: Value) -> tuple[int, int]:
        """First and last token of a value."""
        first = bisect_left(self.tokens.ends, value.start + 1)
        return min(first, max(len(self.tokens.words) - 1, 0)), self.token_at(value.end - 1)

    @property
    def turned_down(self) -> set[int]:
        """Clauses in which a wish "was rejected": no sum of it is told."""
        wishes = {self.clauses[hit.first] for hit in self.hits.get("denial", ())}
        return wishes.intersection(self.clauses[place] for place in self._rejections)

    @property
    def affirmed(self) -> list[tuple[Value, str | None]]:
        """The (value, slot) pairs outside negated clauses."""
        return [pair for pair in self.pairs if self.clauses[self.range_of(pair[0])[0]] not in self.negated]

    def asserts(self, value: Value) -> bool:
        """Whether the sentence asserts `value`: outside its question, in a clause neither negated nor hedged."""
        first, _ = self.range_of(value)
        if first >= self.ask_from:
            return False
        clause = self.clauses[first]
        if clause in self.negated or clause in self.hedged:
            return False
        if value.type in _QUANTITIES and clause in self.turned_down:
            return False
        before = self.tokens.words[max(first - 2, 0) : first]
        if value.type == "choice" and before and before[-1] in MODALS:
            return False  # "the client may void the waybill": a verb, no state
        return not (
            before
            and (
                before[-1] in QUANTITY_HEDGES
                or before
                in (
                    ["up", "to"],
                    ["at", "least"],
                    ["at", "most"],
                    ["start", "at"],
                    ["starts", "at"],
                    ["starting", "at"],
                )
            )
        )


def clauses_of(text: str, tokens: Tokens, negations: Sequence[int] = ()) -> list[int]:
    """Number of the clause of each token. A comma, a colon or "and" opens one only before a new subject; once something
    was denied (`negations`: first tokens of the words that do), also before a predicate that the denial does not reach."""
    words, starts, ends = tokens
    clauses: list[int] = []
    current = 0
    denied: int | None = None
    for place, word in enumerate(words):
        if place:
            gap = text[ends[place - 1] : starts[place]]
            hard = ";" in gap or "(" in gap or ")" in gap or " - " in gap
            joined = "," in gap or ":" in gap or words[place - 1] in ("and", "but")
            soft = joined and not SUBJECTS.isdisjoint((word, word.partition("'")[0]))
            if denied is not None:
                soft = soft or _ends_denial(text, tokens, denied, place, joined)
            if hard or soft or word in BREAKS or _begins_denial(words, place):
                current += 1
                denied = None
        if place in negations:
            denied = place if denied is None else denied
        clauses.append(current)
    return clauses


def _begins_denial(words: Sequence[str], place: int) -> bool:
    """Whether "and could not …" begins at token `place`: what stands before it is not denied."""
    if words[place - 1] != "and":
        return False
    return words[place] in _DENYING or (words[place] in _DENIABLE and words[place + 1 : place + 2] == ["not"])


def _ends_denial(text: str, tokens: Tokens, denied: int, place: int, joined: bool) -> bool:
    """Whether what token `denied` denies ends before token `place`: "instead of $9 | I credited", "could not refund it and |
    credited", "could not be waived and | remains", "failed, | $5 was charged"."""
    words = tokens.words
    if words[denied] in ("instead", "rather"):
        return place > denied + 2 and words[place] in _ACTORS
    if not joined or not _UNCOORDINATED.isdisjoint(words[denied : place - 1]):
        return False
    if words[place] in FINITE or (is_past(words[place]) and _denies_base(words, denied)):
        return True
    return _has_own_verb(text, tokens, place)


def _has_own_verb(text: str, tokens: Tokens, place: int) -> bool:
    """Whether a subject without an article begins at token `place`: "$5 was charged", "flight FL-0043 departs"."""
    words, starts, ends = tokens
    if words[place] in _PREPOSITIONS:
        return False
    for later in range(place + 1, min(place + 6, len(words))):
        if "," in text[ends[later - 1] : starts[later]] and not words[later].isdigit():
            return False
        if words[later] in FINITE:
            return True
        if words[later] in BREAKS or words[later] in _UNCOORDINATED or words[later] in _ACTORS:
            return False
    return False


def _denies_base(words: Sequence[str], denied: int) -> bool:
    """Whether the denial is one of a verb in its base form: "could not refund", not "has not refunded" or "could not be"."""
    word = words[denied]
    supported = word == "not" and denied > 0 and words[denied - 1] in SUPPORTING
    if word not in BASE_NEGATIONS and not supported and words[denied + 1 : denied + 2] != ["able"]:
        return False
    rest = [word for word in words[denied + 1 : denied + 5] if word not in ("able", "to", "not")]
    if rest[:1] == ["be"] and words[denied + 1 : denied + 3] == ["be", "able"]:
        rest = rest[1:]
    return bool(rest) and rest[0] not in ("be", "have")


def question_start(text: str, tokens: Tokens, openers: Sequence[Hit]) -> int:
    """First token of the question in a sentence that asks: the part after a comma or "and" where it opens with an
    opener ("Your balance is $5, shall I …?"), else the whole sentence."""
    words, starts, ends = tokens
    if not words or words[0] in INTERROGATIVES:
        return 0
    for hit in openers:
        if hit.first == 0:
            return 0
        gap = text[ends[hit.first - 1] : starts[hit.first]]
        if any(mark in gap for mark in ",;:-") or words[hit.first - 1] in ("and", "so", "but", "then", "or", "now"):
            return hit.first
    return 0


def split(text: str, original: str = "") -> list[Span]:
    """Sentences of a plain text (see `PLAIN`), in order, without empty ones. The bullets are those of the original."""
    original = original or text
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        mark = match.group()
        if mark == "." and (
            _ABBREVIATION.search(text[max(start, match.start() - 8) : match.start()])
            or text[start : match.start()].strip().isdigit()
        ):
            continue
        _append(spans, original, start, match.end(), "?" in mark)
        start = match.end()
    _append(spans, original, start, len(text), False)
    return spans


def _append(spans: list[Span], text: str, start: int, end: int, question: bool) -> None:
    body = text[start:end]
    if body.strip(" \n\t*`"):
        bullet = _BULLET.match(body) is not None
        spans.append(Span(start, end, question, body.rstrip(" \n\t*`").endswith(":"), bullet))
