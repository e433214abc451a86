"""What is told as done, and what only as announced, past, or another's: "I charged $5", "I'll charge $5", "it was $5".

Word order and the words of `language.py` only; which slots tell deeds is the lexicon's.
"""

from __future__ import annotations

from collections.abc import Collection

from journeyman.grading.language import CALLER_DOES, FINITE, HAPPENED, NO_DEED, OTHERS, PROGRESSIVE
from journeyman.grading.phrases import Hit, is_past
from journeyman.grading.sentences import Sentence
from journeyman.grading.values import Value

_LATER = frozenset(["will", "can", "could", "shall", "may", "should", "must", "has to", "have to", "needs to"])
_REASONS = frozenset(["because", "since", "as"])
_WAS = frozenset(["was", "were", "had", "stood"])
_IS = frozenset(["is", "are", "now", "it's", "stands"])
_OF_THE = (["of", "the"], ["of", "your"], ["of", "our"], ["of", "its"])
_FIRST = frozenset(["first", "initially", "originally"])
_SELDOM = frozenset(["last", "earlier", "previous", "previously", "ago"])
_PRONOUNS = frozenset(["i", "we", "i've", "we've"])


def is_announced(sentence: Sentence, first: int, last: int, *, subject: bool = True) -> bool:
    """Whether tokens [first, last] are said of what is going to be, may be or is due. `subject`: they may be what a later
    verb speaks of ("$5 will be charged")."""
    words = sentence.tokens.words
    clause = sentence.clauses[first]
    for hit in sentence.hits.get("announce", ()):
        if hit.owner == "neutral" or sentence.clauses[hit.first] != clause:
            continue
        reported = hit.owner != "that" and _reports(words[hit.last + 1 : first])
        if hit.first <= first and not reported and not _has_happened(words, hit.last + 1, first):
            return True
        between = words[last + 1 : hit.first]
        if (
            subject
            and hit.first > last
            and _has_future_passive(words, hit)
            and FINITE.isdisjoint(between)
            and not any(map(is_past, between))
        ):
            return True
    if _is_due(sentence, first, last):
        return True
    return any(
        sentence.clauses[place] == clause
        and _opens_progress(sentence, place, first)
        and not _has_happened(words, place + 1, first)
        for place in range(min(first + 1, len(words)))
    )


def _reports(between: list[str]) -> bool:
    """Whether what follows is told as it is: "you will be glad to hear that your line is"."""
    return "that" in between and not FINITE.isdisjoint(between[between.index("that") :])


def _has_happened(words: list[str], start: int, end: int) -> bool:
    return any(is_past(words[place]) and place and words[place - 1] in HAPPENED for place in range(start, end))


def _has_future_passive(words: list[str], hit: Hit) -> bool:
    """ "$5 will be charged", "$5 can be taken"."""
    return " ".join(words[hit.first : hit.last + 1]) in _LATER and "be" in words[hit.last + 1 : hit.last + 3]


def _is_due(sentence: Sentence, first: int, last: int) -> bool:
    """ "A refund of $5 is due" and "you are due a refund of $5" ("due on" tells a date)."""
    words = sentence.tokens.words
    return any(
        words[place] == "due"
        and words[place - 1] in ("is", "are")
        and words[place + 1 : place + 2] not in (["on"], ["by"])
        and sentence.clauses[place] == sentence.clauses[first]
        and abs(place - last) <= 4
        for place in range(1, len(words))
    )


def _opens_progress(sentence: Sentence, place: int, first: int) -> bool:
    """Whether token `place` tells what is being done: "I'm charging …", "Charging …", "Thanks, charging …"."""
    words, starts, ends = sentence.tokens
    word = words[place]
    if not word.endswith("ing") or len(word) < 6 or word in NO_DEED:
        return False
    if place == 0:
        return FINITE.isdisjoint(words[1:first])  # "Rebooking it is done" has it for a subject
    if "," in sentence.text[ends[place - 1] : starts[place]]:
        return not any(is_past(earlier) for earlier in words[:place])
    before = [earlier for earlier in words[max(place - 3, 0) : place] if earlier not in ("now", "just", "currently")]
    return bool(before) and before[-1] in PROGRESSIVE


def is_long_past(sentence: Sentence, hit: Hit) -> bool:
    """Whether what the words tell as done is an earlier event: it has a date, or it is the reason of a refusal."""
    clause = sentence.clauses[hit.first]
    words = sentence.tokens.words
    inside = [place for place, number in enumerate(sentence.clauses) if number == clause]
    if any(
        value.type == "date" and sentence.clauses[sentence.range_of(value)[0]] == clause for value in sentence.values
    ):
        return True
    if not _SELDOM.isdisjoint(words[place] for place in inside):
        return True
    refused = any(
        sentence.clauses[other.first] != clause for other in sentence.hits.get("refuse", ()) if other.owner != "neutral"
    )
    return refused and words[inside[0]] in _REASONS


def is_given_up(sentence: Sentence, value: Value, slot: str | None) -> bool:
    """Whether another value of the slot takes its place: "from $5 to $6", "it was $5 and is now $6", "$1 of the $6"."""
    words = sentence.tokens.words
    first, last = sentence.range_of(value)
    if words[max(first - 2, 0) : first] in _OF_THE and any(
        other.type == value.type and sentence.range_of(other)[1] == first - 3 for other in sentence.values
    ):
        return True
    later = [
        sentence.range_of(other)[0]
        for other, owner in sentence.pairs
        if owner == slot and other.start > value.end and other.value != value.value
    ]
    if not later:
        return False
    gap = words[last + 1 : min(later)]
    if "from" in words[max(first - 2, 0) : first] and len(gap) <= 5 and not {"to", "into"}.isdisjoint(gap):
        return True
    return (
        not _WAS.isdisjoint(words[max(first - 3, 0) : first])
        and not _IS.isdisjoint(gap)
        and len(gap) <= 8
        and "or" not in gap
    )


def is_of_another(sentence: Sentence, value: Value, slot: str | None) -> bool:
    """Whether the sentence says it of another record: "your other line stays suspended"."""
    if value.type not in ("money", "choice", "number"):
        return False
    words = sentence.tokens.words
    clause = sentence.clauses[sentence.range_of(value)[0]]
    return any(
        word in OTHERS and sentence.clauses[place] == clause and place < sentence.range_of(value)[0]
        and (place == 0 or words[place - 1] in ("your", "the", "an", "my", "with", "on") or word == "another")
        and words[place + 1 : place + 2] not in (["side"], ["words"], ["than"])
        for place, word in enumerate(words)
    ) and not any(v.type in ("id", "phone") for v in sentence.values)  # fmt: skip


def is_between(sentence: Sentence, value: Value) -> bool:
    """The second of "between $5 and $6"."""
    words = sentence.tokens.words
    first, _ = sentence.range_of(value)
    return first > 0 and words[first - 1] == "and" and "between" in words[max(first - 6, 0) : first]


def is_turned_around(sentence: Sentence, refusal: Hit) -> bool:
    """Whether the refusal is itself denied: "nothing prevents a refund", "it isn't true that I cannot"."""
    clause = sentence.clauses[refusal.first]
    return any(
        hit.first <= refusal.first and (sentence.clauses[hit.first] == clause or clause - sentence.clauses[hit.first] == 1)
        and not {"but", "however"} & set(sentence.tokens.words[hit.last + 1 : refusal.first])
        for hit in sentence.hits.get("double", ())
    )  # fmt: skip


def is_conditional(sentence: Sentence, refusal: Hit) -> bool:
    """Whether the refusal lasts only until something that agent or caller can do at once: "without verifying you"."""
    words = sentence.tokens.words
    for place, word in enumerate(words):
        after = words[place + 1 : place + 5]
        if not after:
            continue
        if word in ("without", "before") and (
            (
                after[0].endswith("ing")
                and after[0] not in NO_DEED - {"checking", "looking", "reading", "reviewing", "having"}
            )
            or after[0] == "first"
            or (word == "without" and after[0] == "your")
        ):
            return True
        if word in ("before", "until", "till") and _by_speakers(after):
            return True
    return False


def _by_speakers(after: list[str]) -> bool:
    if after[0] in _PRONOUNS:
        return True
    return after[0] in ("you", "you've") and not CALLER_DOES.isdisjoint(after[1:])


def is_overcome(sentence: Sentence, refusal: Hit) -> bool:
    """Whether the refusal tells of a first try: "could not be made at first"."""
    words = sentence.tokens.words
    clause = sentence.clauses[refusal.first]
    return words[refusal.first] in ("could", "couldn't", "was", "wasn't", "not") and any(
        word in _FIRST and (word != "first" or words[max(place - 1, 0)] == "at") and sentence.clauses[place] == clause
        for place, word in enumerate(words)
    )


def holds_now(sentence: Sentence, provisional: Collection[str]) -> bool:
    """Whether a refusal holds although one of the `provisional` words stands beside it: "until June", "yet because"."""
    words = sentence.tokens.words
    because = not {"because", "since"}.isdisjoint(words)
    return all(word == "until" or (word == "yet" and because) for word in words if word in provisional)
