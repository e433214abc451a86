"""What a message announces: work that the agent is yet to do in this conversation ("I'll now also note this on your case").

An offer, a condition ("if you agree, I will …"), what is put off to another day ("I'll send it tomorrow") and what others
do ("you will get an e-mail") announce nothing. Neither does talk: "let me explain", "I'll be happy to help".
"""

from __future__ import annotations

from journeyman.grading.language import AT_ONCE, FURTHER, PUT_OFF, READING, SPEAKING, WORKING
from journeyman.grading.phrases import PAST_WORDS, Hit, inflections
from journeyman.grading.sentences import Sentence

_BUSY = frozenset(shape for verb in WORKING for shape in inflections(verb, past=False))
_DONE = frozenset(
    shape for verb in WORKING for shape in inflections(verb, past=True) if shape.endswith("ed") or shape in PAST_WORDS
) | {"done"}
_LOOKING = frozenset(shape for verb in READING for shape in inflections(verb, past=False))


def announces(sentence: Sentence) -> bool:
    """Whether the sentence says that the agent is about to do something."""
    intents = sentence.hits.get("intent")
    if not intents or sentence.hits.get("condition") or _is_put_off(sentence):
        return False
    return any(
        (hit.first < sentence.ask_from or (hit.owner == "wait" and not sentence.question))
        and sentence.clauses[hit.first] not in sentence.negated
        and not _is_hedged(sentence, hit)
        and (_asks_to_wait(sentence, hit) if hit.owner == "wait" else _intends(sentence, hit))
        for hit in intents
    )


def _asks_to_wait(sentence: Sentence, hit: Hit) -> bool:
    """Whether the words begin a clause: "one moment", not "it takes one moment"."""
    words, starts, ends = sentence.tokens
    if hit.first == 0 or words[hit.first - 1] in ("please", "and", "just", "so", "then"):
        return True
    return any(mark in sentence.text[ends[hit.first - 1] : starts[hit.first]] for mark in ",;:-")


def _intends(sentence: Sentence, hit: Hit) -> bool:
    """Whether work follows the words of an intent ("I'll", "I am"), with "now", "also" and the like between them."""
    words, clauses = sentence.tokens.words, sentence.clauses
    named = {verb.first for verb in sentence.hits.get("verb", ())}
    place = hit.last + 1
    while place < len(words) and words[place] in AT_ONCE:
        place += 1
    said = words[hit.first : place]
    further = not FURTHER.isdisjoint(said)
    if hit.owner == "we" and not further:
        return False  # "we will send it": the business, some day
    if hit.owner == "elided" and words[0] not in ("i", "i've"):
        return False
    going = hit.owner == "am"
    if words[place : place + 1] == ["be"]:
        place, going = place + 1, True
    verbs = [place, *(at + 1 for at in range(place, len(words)) if words[at] == "and")]
    for at in verbs:
        if at >= len(words) or clauses[at] != clauses[hit.first]:
            continue
        if " ".join(words[at : at + 2]) in SPEAKING:
            continue
        word = words[at]
        if word == "get" and not _DONE.isdisjoint(words[at + 1 : at + 6]):
            return True  # "let me get the case closed"
        if word in (_BUSY if going else WORKING) or (at in named and word.endswith("ing") == going):
            return True
        if further and word in (_LOOKING if going else READING):
            return True
    return False


def _is_hedged(sentence: Sentence, hit: Hit) -> bool:
    """Whether the intent itself is in doubt; "let me check whether …" is not."""
    hedges = (hedge for hedge in sentence.hits.get("hedge", ()) if hedge.owner != "neutral")
    return any(
        hedge.first < hit.first + 3 and sentence.clauses[hedge.first] == sentence.clauses[hit.first] for hedge in hedges
    )


def _is_put_off(sentence: Sentence) -> bool:
    """Whether what is said is for another time: "tomorrow", "within two days", "on 2026-03-05"."""
    words = sentence.tokens.words
    if not PUT_OFF.isdisjoint(words):
        return True
    firsts = [sentence.range_of(value)[0] for value in sentence.values if value.type == "date"]
    return any(first and words[first - 1] in ("on", "by", "until", "from") for first in firsts)
