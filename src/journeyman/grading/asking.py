"""What a message asks for: the things named where a question, a request or a need has its object.

"Could you give me the PIN of your account?" asks for the PIN alone: what is asked for is the first thing named after
the words that ask, and what is listed beside it; what follows a preposition only describes it. A sentence that merely
speaks of a thing ("let me check your line") asks nothing. The words that ask are expressions over the words of a sentence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from journeyman.grading.asking_words import (
    AGAIN,
    AGREEABLE,
    BETWEEN,
    CLAUSE_STARTS,
    DETERMINERS,
    FILLERS,
    GENERIC,
    HEADS,
    LISTING,
    NEEDED,
    ORDER,
    PLAIN_WORDS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    RETRY,
    STOPS,
    WH_IS,
    WH_NOUN,
    WHEN,
    WONDERING,
    YES_NO,
)
from journeyman.grading.phrases import Hit
from journeyman.grading.sentences import Sentence


def asked(sentence: Sentence, listed: bool, dates: frozenset[str], before: Sequence[str] = ()) -> list[str]:
    """The slots of the things that a sentence asks for.

    Args:
        listed: the sentence is an item of a list that was asked for.
        dates: names of the slots that hold dates: "when" asks for them.
        before: what the sentence before named last: "do you have it?" asks for it.
    """
    hits = sentence.hits.get("ask", [])
    question = sentence.question and sentence.ask_from < len(sentence.tokens.words)
    if before and not hits and _asks_again(sentence):
        return list(before)
    if not hits and not (before and question):
        return []
    starts = list(_heads(sentence, question))
    whole = [hit for hit in hits if _is_question_itself(sentence, hit, starts)]
    others = [hit for hit in hits if hit not in whole]
    found: list[Hit] = list(whole)
    meant: list[str] = []
    if listed:
        found += _objects(sentence, int(sentence.tokens.words[0].isdigit()), others)
    for start, led in starts:
        if _is_pronoun(sentence, start):
            named = [hit for hit in others if hit.last < start][-1:]
            meant = list(before) if question and not named else meant
            found += named
        else:
            found += _objects(sentence, start, others, led)
    if question and WHEN.search(_line(sentence)):
        found += [hit for hit in others if hit.owner in dates]
    found += _needed(sentence, others)
    if not found and (question or "please" in sentence.tokens.words):
        found += _elliptic(sentence, hits)
    slots = [hit.owner for hit in found if question or sentence.clauses[hit.first] not in sentence.negated]
    return list(dict.fromkeys(slots or meant))


def chosen(sentence: Sentence) -> list[str]:
    """Slots that a question asks for by their values: "paper or email?", "is your number 555-1804?"."""
    words = sentence.tokens.words
    if not sentence.question or sentence.ask_from >= len(words):
        return []
    slots: list[str] = []
    asking = [(value, slot) for value, slot in sentence.pairs if sentence.range_of(value)[0] >= sentence.ask_from]
    for (first, _), (second, _) in pairwise(asking):
        between = words[sentence.range_of(first)[1] + 1 : sentence.range_of(second)[0]]
        shared = first.slots & second.slots
        if "or" in between and len(between) <= 3 and len(shared) == 1:
            slots += shared
    opening = words[sentence.ask_from : sentence.ask_from + 3]
    opens = (opening[0] in YES_NO or "mean" in opening) and AGREEABLE.isdisjoint(words)
    if opens and not slots and opening[0] != "so":
        hits = [hit for hit in sentence.hits.get("ask", ()) if hit.first >= sentence.ask_from]
        after = words[hits[0].last + 1 : hits[0].last + 4] if hits else []
        if hits and hits[0].first <= sentence.ask_from + 3 and not {"correct", "right", "valid"}.isdisjoint(after):
            slots += [hit.owner for hit in hits if hit.first == hits[0].first]
    if opens and not slots:
        slots += [slot for _, slot in asking if slot is not None]
    return list(dict.fromkeys(slots))


def _asks_again(sentence: Sentence) -> bool:
    """Whether a sentence asks to try again, or to check "it", and nothing else."""
    match = RETRY.search(_line(sentence))
    return match is not None and (bool(match["again"]) or "double check" in match.group())


def requests(sentence: Sentence) -> bool:
    """Whether a sentence asks for something at all: a list after it says what."""
    return bool(sentence.tokens.words) and next(_heads(sentence, sentence.question), None) is not None


def _line(sentence: Sentence) -> str:
    return " ".join(sentence.tokens.words)


def _is_question_itself(sentence: Sentence, hit: Hit, starts: list[tuple[int, bool]]) -> bool:
    """Whether the phrase is a question of its own ("how much … pay", "who am I speaking with"): it needs no other words."""
    words = sentence.tokens.words
    if hit.first == hit.last or words[hit.first] not in QUESTION_WORDS:
        return False
    return sentence.question or hit.first == 0 or any(start <= hit.first for start, _ in starts)


def _heads(sentence: Sentence, question: bool) -> Iterator[tuple[int, bool]]:
    """First tokens of what is asked for, and whether a question word stands before them as "which" does."""
    line = _line(sentence)
    starts = [0]
    for word in sentence.tokens.words:
        starts.append(starts[-1] + len(word) + 1)

    def token(char: int) -> int:
        return bisect_left(starts, char)

    asking: set[int] = set()
    present = frozenset(sentence.tokens.words)
    for needs, head in HEADS:
        for match in head.finditer(line) if not needs.isdisjoint(present) else ():
            asking.add(_skip(sentence.tokens.words, token(match.end())))
    if question:
        for match in AGAIN.finditer(line):
            asking.add(token(match.end()))
    for place in _openings(sentence):
        order = ORDER.match(line, starts[place])
        if order:
            asking.add(token(order.end()))
    for match in WONDERING.finditer(line):
        asking.add(token(match.end()))
    yield from ((start, False) for start in sorted(asking))
    first = sentence.ask_from if question else (0 if _opens_like_question(sentence) else None)
    for expression in (WH_IS, WH_NOUN):
        for match in expression.finditer(line):
            at = token(match.start())
            if (asking and at >= min(asking)) or (first is not None and at >= first and _is_free(sentence, at)):
                yield token(match.end()), expression is WH_NOUN


def _is_pronoun(sentence: Sentence, place: int) -> bool:
    """Whether all that is asked for is "it" ("could you repeat it for me?")."""
    words = sentence.tokens.words
    if place >= len(words) or words[place] not in PRONOUNS:
        return False
    rest = words[place + 1 :]
    if words[place] == "that" and rest and rest[0] in CLAUSE_STARTS:
        return False
    return not rest or rest[0] in PREPOSITIONS | STOPS | PLAIN_WORDS | LISTING


def _skip(words: list[str], place: int) -> int:
    """The first token from `place` on that is not a filler between the words that ask and the thing."""
    while place < len(words) and words[place] in BETWEEN:
        place += 1
    return place


def _is_free(sentence: Sentence, place: int) -> bool:
    """Whether a question word asks by itself; after a verb it only tells what the verb is about ("hear which plans …")."""
    words, starts, ends = sentence.tokens
    if place == 0 or words[place - 1] in PREPOSITIONS | LISTING | FILLERS | STOPS:
        return True
    return any(mark in sentence.text[ends[place - 1] : starts[place]] for mark in ",;:-.!")


def _openings(sentence: Sentence) -> Iterator[int]:
    """Tokens where an order may begin: after punctuation, or "and"."""
    words, starts, ends = sentence.tokens
    for place, word in enumerate(words):
        if (
            not place
            or words[place - 1] == "and"
            or any(m in sentence.text[ends[place - 1] : starts[place]] for m in ",;:-.")
        ) and word not in LISTING:
            yield place


def _opens_like_question(sentence: Sentence) -> bool:
    """Whether a sentence without a question mark begins as a question does ("what is your pin")."""
    words = sentence.tokens.words
    return words[0] in ("what's", "who's") or (
        len(words) > 2 and words[0] in ("what", "which", "who") and words[1] in ("is", "are", "was", "were")
    )


def _objects(sentence: Sentence, start: int, hits: list[Hit], led: bool = False) -> Iterator[Hit]:
    """What is named from token `start` on: in each item of the list, the first thing that is one."""
    for item in _items(sentence, start):
        yield from _named(sentence, item, hits, led)
        led = False


def _items(sentence: Sentence, start: int) -> Iterator[list[int]]:
    """The items of a list from token `start` on, to the end of what is asked for."""
    words, starts, ends = sentence.tokens
    if words[start : start + 1] == ["that"] and words[start + 1 : start + 2] and words[start + 1] in CLAUSE_STARTS:
        return  # "… that your balance is $5" names nothing
    item: list[int] = []
    for place in range(start, len(words)):
        gap = sentence.text[ends[place - 1] : starts[place]] if place else ""
        breaks = (place > start and any(mark in gap for mark in ",/;+&:(|")) or words[place] in LISTING
        if words[place] in STOPS or (
            place > start and (";" in gap or " - " in gap) and words[place] not in DETERMINERS
        ):
            break
        if breaks:
            yield item
            item = []
            if words[place] in ("i", "we", "it", "there", "they", "i'll", "we'll", "you"):
                return
        if words[place] not in LISTING:
            item.append(place)
    yield item


def _named(sentence: Sentence, item: list[int], hits: list[Hit], led: bool) -> list[Hit]:
    """The hits of the first thing named in one item, if it is named as a thing ("your new card", not "charge your card")."""
    words = sentence.tokens.words
    for part in _parts(words, item):
        inside = [hit for hit in hits if part[0] <= hit.first <= part[-1]]
        vague = inside and all(hit.first == hit.last and words[hit.last] in GENERIC for hit in inside)
        if inside and not (
            vague and part[-1] + 1 < len(words) and words[part[-1] + 1] == "of" and _has_more(item, part, hits)
        ):
            lead = words[part[0] : inside[0].first]
            if lead and not _is_noun_phrase(lead) and not (led and len(lead) <= 3):
                return []
            return [hit for hit in inside if not _is_other_thing(words, inside[0], hit)]
        if not inside and words[part[-1]] not in GENERIC and not (led and words[part[0]] in GENERIC):
            return []
    return []


def _is_other_thing(words: list[str], first: Hit, hit: Hit) -> bool:
    """Whether a hit belongs to a thing that only describes the first: "the port PIN your carrier gave you"."""
    return any(word in DETERMINERS for word in words[first.last + 1 : hit.first])


def _has_more(item: list[int], part: list[int], hits: list[Hit]) -> bool:
    return any(part[-1] < hit.first <= item[-1] for hit in hits)


def _parts(words: list[str], item: list[int]) -> Iterator[list[int]]:
    """An item cut at its prepositions, without empty parts."""
    part: list[int] = []
    for place in item:
        if words[place] in PREPOSITIONS and not (words[place] == "that" and not part):
            if part:
                yield part
            elif place == item[0]:
                return  # "about your line": nothing is named
            part = []
        else:
            part.append(place)
    if part:
        yield part


def _is_noun_phrase(lead: list[str]) -> bool:
    """Whether the words before a thing can belong to its name."""
    while lead and lead[0] in PLAIN_WORDS and lead[0] not in DETERMINERS:
        lead = lead[1:]
    return not lead or (lead[0] in DETERMINERS and len(lead) <= 5) or all(word.isdigit() for word in lead)


def _needed(sentence: Sentence, hits: list[Hit]) -> Iterator[Hit]:
    """Things said to be needed: "your PIN is required"."""
    words = sentence.tokens.words
    for hit in hits:
        after = " ".join(words[hit.last + 1 : hit.last + 6])
        if hit.first <= 4 and NEEDED.match(after):
            yield hit


def _elliptic(sentence: Sentence, hits: list[Hit]) -> list[Hit]:
    """The things of a question or request that is nothing but things and fillers: "And your PIN, please?". What comes
    before a comma or dash does not count: "First things first - your PIN?"."""
    words, starts, ends = sentence.tokens
    covered = {place for hit in hits for place in range(hit.first, hit.last + 1)}
    first = 0
    for place, word in enumerate(words):
        if place not in covered and word not in FILLERS and not word.isdigit():
            first = place + 1
    if first and not any(
        mark in sentence.text[ends[place - 1] : starts[place]]
        for place in range(first, len(words))
        for mark in ",;:-."
        if place <= _first_hit(hits, first)
    ):
        return []
    return [hit for hit in hits if hit.first >= first]


def _first_hit(hits: list[Hit], first: int) -> int:
    return min((hit.first for hit in hits if hit.first >= first), default=-1)
