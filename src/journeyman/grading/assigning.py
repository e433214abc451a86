"""Which slot a value of a sentence belongs to: that of the nearest words that speak of one which could have it."""

from __future__ import annotations

from journeyman.grading.language import CORRECTING, ENUMERATING, FINITE, UNITS
from journeyman.grading.phrases import Hit
from journeyman.grading.sentences import Sentence
from journeyman.grading.values import Value

_REACH = 16
"""A value further from its cue, in tokens, does not belong to it."""


def assign_slots(sentence: Sentence, needs_no_cue: frozenset[str]) -> None:
    """Give each value the slot of the nearest cue, one value a cue; values listed beside it share its slot."""
    values = sentence.values
    if not values:
        return
    ranges = [sentence.range_of(value) for value in values]
    candidates = []
    fitting = [_fitting(sentence, value, last) for value, (_, last) in zip(values, ranges, strict=True)]
    for number, (first, last) in enumerate(ranges):
        for cue, hit in enumerate(sentence.hits.get("cue", ())):
            if hit.owner in fitting[number]:
                gap = first - hit.last - 1 if hit.last < first else max(hit.first - last, 0)
                if gap <= _REACH:
                    apart = 4 if sentence.clauses[hit.first] != sentence.clauses[first] else 0
                    apart += _distance(sentence, ranges, hit, number)
                    candidates.append((gap + apart, hit.first > last, cue, number, hit.owner))
    owner: list[str | None] = [None] * len(values)
    used: set[int] = set()
    for _, _, cue, number, slot in sorted(candidates):
        if owner[number] is None and cue not in used:
            owner[number] = slot
            used.add(cue)
    # Several slots may have a value at one place ("turned off" is a state of every switch): places are walked, not values.
    places = sorted(set(ranges))
    at = {place: number for number, place in enumerate(places)}
    members: list[list[int]] = [[] for _ in places]
    for number, place in enumerate(ranges):
        members[at[place]].append(number)
    for here in [*range(1, len(values)), *range(len(values) - 2, -1, -1)]:
        for there in (at[ranges[here]] - 1, at[ranges[here]] + 1):
            if owner[here] is not None or not 0 <= there < len(places):
                continue
            low, high = sorted((places[there], ranges[here]))
            between = sentence.tokens.words[low[1] + 1 : high[0]]
            listed = not between or any(word in ENUMERATING for word in between)
            if len(between) <= 5 and listed and all(word in ENUMERATING or word in UNITS for word in between):
                owner[here] = next((owner[n] for n in members[there] if owner[n] in values[here].slots), None)
    for number in range(1, len(values)):
        before = at[ranges[number]] - 1
        if owner[number] is None and before >= 0 and _corrects(sentence, places[before], ranges[number]):
            owner[number] = next((owner[n] for n in members[before] if owner[n] in values[number].slots), None)
    for number, value in enumerate(values):
        if owner[number] is None:
            owner[number] = _slot_without_cue(value, needs_no_cue)
    sentence.pairs = list(zip(values, owner, strict=True))


def _distance(sentence: Sentence, ranges: list[tuple[int, int]], hit: Hit, number: int) -> int:
    """Further words between a cue and a value: the whole of which the value is a part ("$3 of the storage is waived"), and
    another value with a verb of its own ("$3 is waived and $1 is left")."""
    words = sentence.tokens.words
    first, last = ranges[number]
    if last < hit.first:
        return (
            5
            if "of" in words[last + 1 : last + 3]
            and hit.first - last <= 4
            and not FINITE.isdisjoint(words[hit.last + 1 : hit.last + 3])
            else 0
        )
    own = first > 0 and words[first - 1] == "and" and not FINITE.isdisjoint(words[last + 1 : last + 3])
    return 5 if own else 0


def _corrects(sentence: Sentence, denied: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a value takes the place of a denied one before it: "the fee was not $60.00, only $45.00"."""
    between = sentence.tokens.words[denied[1] + 1 : other[0]]
    at = max((place for place, word in enumerate(between) if word in CORRECTING), default=-1)
    rest = between[at + 1 :] if at >= 0 else [] if between[-2:] == ["it", "is"] else None
    if rest is None or any(word not in ENUMERATING and word not in ("one", "on", "at", "by") for word in rest):
        return False
    return sentence.clauses[denied[0]] in sentence.negated


def _slot_without_cue(value: Value, needs_no_cue: frozenset[str]) -> str | None:
    """An id that only one slot can have speaks for itself (four bare digits do not); so does a slot without cues."""
    named = value.type == "id" and any(char.isalpha() for char in str(value.value))
    alone = value.slots if named and len(value.slots) == 1 else value.slots & needs_no_cue
    return next(iter(alone)) if len(alone) == 1 else None


def _fitting(sentence: Sentence, value: Value, last: int) -> frozenset[str]:
    """The slots that a value could belong to: of those named for its unit ("150 cm"), if there are any."""
    words = sentence.tokens.words
    unit = UNITS.get(words[last + 1]) if value.type == "number" and last + 1 < len(words) else None
    if unit is None:
        return value.slots
    return frozenset(slot for slot in value.slots if unit in slot.split("_")) or value.slots
