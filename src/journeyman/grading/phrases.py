"""Phrases in tokens: one dictionary look-up per word finds every known phrase of a sentence.

A determiner inside a phrase stands for up to three words, numbers not counted: "waive the fee" is found in "waive your
late fee".
Nothing here knows what a phrase means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DETERMINERS = frozenset(["a", "an", "the", "your", "this", "that", "my", "our", "its", "their", "his", "her", "any"])
_GAP_WORDS = 3


class Tokens(NamedTuple):
    """The words of a text in lower case, with where each starts and ends."""

    words: list[str]
    starts: list[int]
    ends: list[int]


class Hit(NamedTuple):
    """A phrase found: `owner` is what it was registered for; tokens [first, last], of which `words` are in the phrase."""

    owner: str
    first: int
    last: int
    words: int = 1


def tokens_of(text: str) -> Tokens:
    """Words of `text`; hyphens and punctuation separate, an apostrophe inside a word does not."""
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(text):
        words.append(match.group().lower())
        starts.append(match.start())
        ends.append(match.end())
    return Tokens(words, starts, ends)


_Parts = list[frozenset[str] | None]


class _Entry(NamedTuple):
    """Phrases that begin with one word: (kind, owner) of those that end there, the others by their second word."""

    alone: list[tuple[str, str]]
    by_second: dict[str, list[tuple[str, str, _Parts]]]
    gapped: list[tuple[str, str, _Parts]]


class PhraseIndex:
    """Phrases by their first word. `add` while building; `find` is pure."""

    def __init__(self) -> None:
        self._by_word: dict[str, _Entry] = {}

    def add(self, kind: str, owner: str, phrase: str, *, forms: str = "exact") -> None:
        """Register `phrase`. `forms`: `exact`; `noun` (singular and plural of the last word); `verb` (base and -ing
        form of the first word); `action` (all forms of the first word, and of the last as a noun)."""
        words = tokens_of(phrase).words
        while len(words) > 1 and words[0] in _DETERMINERS and forms != "exact":
            words = words[1:]
        if not words:
            return
        parts: list[frozenset[str] | None] = []
        for place, word in enumerate(words):
            if forms != "exact" and word in _DETERMINERS and 0 < place < len(words) - 1:
                parts.append(None)
                continue
            shapes = {word}
            if forms in ("noun", "action") and place == len(words) - 1:
                shapes |= {word + "s", word + "es", word[:-1] + "ies" if word.endswith("y") else word + "s"}
            if forms in ("verb", "action") and place == 0:
                shapes |= inflections(word, past=forms == "action")
            parts.append(frozenset(shapes))
        self._register(kind, owner, parts)
        if forms == "action" and None in parts and parts[-1] is not None:
            # "waive the fee" also in the passive: "the fee cannot be waived"
            gap = parts.index(None)
            self._register(kind, owner, [*parts[gap + 1 :], None, frozenset(inflections(words[0], past=True))])

    def _register(self, kind: str, owner: str, parts: list[frozenset[str] | None]) -> None:
        for shape in sorted(parts[0] or ()):
            entry = self._by_word.setdefault(shape, _Entry([], {}, []))
            if len(parts) == 1:
                entry.alone.append((kind, owner))
            elif parts[1] is None:
                entry.gapped.append((kind, owner, parts[1:]))
            else:
                for second in parts[1]:
                    entry.by_second.setdefault(second, []).append((kind, owner, parts[2:]))

    def find(self, words: Sequence[str]) -> dict[str, list[Hit]]:
        """Hits by kind, in order; of the hits of one kind, those inside a longer one are left out."""
        found: dict[str, list[Hit]] = {}
        end = len(words) - 1
        for place, word in enumerate(words):
            entry = self._by_word.get(word)
            if entry is None:
                continue
            for kind, owner in entry.alone:
                found.setdefault(kind, []).append(Hit(owner, place, place))
            if entry.gapped:
                _collect(found, words, entry.gapped, place, place)
            if entry.by_second and place < end:
                longer = entry.by_second.get(words[place + 1])
                if longer:
                    _collect(found, words, longer, place, place + 1)
        return {kind: _longest(hits) if len(hits) > 1 else hits for kind, hits in found.items()}


IRREGULAR = {
    "give": ("gave", "given"),
    "pay": ("paid",),
    "make": ("made",),
    "send": ("sent",),
    "take": ("took", "taken"),
    "write": ("wrote", "written"),
    "hold": ("held",),
    "put": ("put",),
    "set": ("set",),
}
PAST_WORDS = frozenset(word for words in IRREGULAR.values() for word in words)


def is_past(word: str) -> bool:
    """Whether the word looks like the past form of a verb."""
    return (word.endswith("ed") and not word.endswith("eed")) or word in PAST_WORDS


def inflections(verb: str, *, past: bool) -> set[str]:
    """-ing form of a regular verb, with `past` also -s and -ed ("cancel" gives both single and double l)."""
    stem = verb[:-1] if verb.endswith("e") else verb
    double = stem + stem[-1] if len(stem) > 2 and stem[-1] in "bdglmnprt" and stem[-2] in "aeiou" else stem
    shapes = {stem + "ing", double + "ing"}
    if past:
        ied = {verb[:-1] + "ied", verb[:-1] + "ies"} if verb.endswith("y") else set()
        shapes |= {stem + "ed", double + "ed", verb + "s", verb + "es", *IRREGULAR.get(verb, ())} | ied
    return shapes


def _collect(
    found: dict[str, list[Hit]], words: Sequence[str], entries: list[tuple[str, str, _Parts]], first: int, place: int
) -> None:
    for kind, owner, rest in entries:
        last = _follow(words, place, rest) if rest else place
        if last >= 0:
            literal = place - first + 1 + sum(part is not None for part in rest)
            found.setdefault(kind, []).append(Hit(owner, first, last, literal))


def _follow(words: Sequence[str], place: int, rest: list[frozenset[str] | None]) -> int:
    """Last token of the phrase that starts at `place`, or -1."""
    gap = False
    for part in rest:
        if part is None:
            gap = True
            continue
        left = _GAP_WORDS if gap else 0
        gap = False
        place += 1
        while place < len(words) and words[place] not in part:
            if not left:
                return -1
            left -= not words[place].isdigit()
            place += 1
        if place == len(words):
            return -1
    return place


def _longest(hits: list[Hit]) -> list[Hit]:
    """Without hits inside a longer one, or beside one of the same words that names more of them ("waive the late fee")."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda h: (h.first - h.last, -h.words, h.first)):
        size = (hit.last - hit.first, hit.words)
        if not any(k.first <= hit.first and hit.last <= k.last and (k.last - k.first, k.words) > size for k in kept):
            kept.append(hit)
    return sorted(kept, key=lambda h: (h.first, h.last))
