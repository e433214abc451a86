"""What a message proposes: a write named in a question or a conditional commitment, with the arguments it states.

Arguments are taken from the part of the sentence that belongs to the verb, then from the sentence, then from the whole
message, and only where one value can be meant: an ambiguous or unsaid argument is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from journeyman.grading.phrases import Hit
from journeyman.grading.sentences import Sentence
from journeyman.grading.values import Value, as_argument
from journeyman.task import Scalar
from journeyman.world.lexicon import ProposalForm

_MOST_PROPOSALS = 8
"""A sentence that proposes more is a recitation and proposes nothing."""


class Proposals:
    """The sentences of one message, to read proposals whose arguments stand in several of them."""

    def __init__(self, forms: list[ProposalForm], sentences: list[Sentence]) -> None:
        self._forms = forms
        self._sentences = sentences

    @cached_property
    def _everything(self) -> list[tuple[Value, str | None]]:
        return [pair for sentence in self._sentences for pair in sentence.affirmed]

    def of(self, place: int) -> list[tuple[str, dict[str, Scalar]]]:
        """What sentence `place` proposes: (tool, arguments read)."""
        sentence = self._sentences[place]
        hits = sentence.hits
        generic = any(_asks_generally(sentence, hit) for hit in hits.get("generic", ()))
        condition = bool(hits.get("condition"))
        asks = [hit for hit in hits.get("propose", ()) if hit.owner]
        if not (generic or condition or asks):
            return []
        verbs = [
            hit for hit in hits.get("verb", ()) if not _negated_before(sentence, hit) and not _is_noun(sentence, hit)
        ]
        agreed = [
            v for v in verbs if ((generic or condition) and _intended(sentence, v)) or _asked_for(sentence, asks, v)
        ]
        if len(agreed) > _MOST_PROPOSALS:
            return []
        if agreed:
            return [self._read(place, verb, agreed) for verb in agreed]
        if not (generic or (condition and not verbs)):
            return []
        for back in range(place - 1, -1, -1):
            earlier = self._sentences[back]
            intended = [
                v for v in earlier.hits.get("verb", ()) if _intended(earlier, v) and not _negated_before(earlier, v)
            ]
            if intended and earlier.ask_from >= len(earlier.tokens.words):
                return [self._read(back, verb, intended) for verb in intended]
        return []

    def _read(self, place: int, verb: Hit, verbs: list[Hit]) -> tuple[str, dict[str, Scalar]]:
        form = self._forms[int(verb.owner)]
        sentence = self._sentences[place]
        later = [other.first for other in verbs if other.first > verb.last and other.owner != verb.owner]
        region = [
            (value, slot)
            for value, slot in sentence.affirmed
            if verb.last < sentence.range_of(value)[0] < (min(later) if later else len(sentence.tokens.words))
        ]
        scopes = [region, sentence.affirmed] if len(verbs) > 1 else [sentence.affirmed]
        arguments: dict[str, Scalar] = {}
        for argument, slot in [*form.slots.items(), *form.also.items()]:
            for scope in [*scopes, self._everything]:
                found, value = _value_for(slot, form, scope)
                if found:
                    if value is not None:
                        arguments[argument] = as_argument(value, argument)
                    break
        return form.tool, arguments


def _value_for(slot: str, form: ProposalForm, pairs: Iterable[tuple[Value, str | None]]) -> tuple[bool, Scalar]:
    """(whether the scope speaks of the slot, its value where it is unambiguous)."""
    able = [(value, owner) for value, owner in pairs if slot in value.slots]
    own = {value.value for value, owner in able if owner == slot}
    if own:
        return True, next(iter(own)) if len(own) == 1 else None
    rivals = {other for other in form.slots.values() if other != slot}
    able = [(value, owner) for value, owner in able if not (value.slots & rivals)]
    free = {value.value for value, owner in able if owner is None}
    every = {value.value for value, _ in able}
    for choices in (free, every):
        if len(choices) == 1:
            return True, next(iter(choices))
    return bool(every), None


def _asked_for(sentence: Sentence, asks: list[Hit], verb: Hit) -> bool:
    """Whether a "shall I", "please confirm" or the like before the verb asks for agreement to it."""
    for hit in asks:
        if hit.first > verb.first:
            continue
        cues = [cue for cue in sentence.hits.get("ask", ()) if hit.last < cue.first and cue.last < verb.first]
        if hit.owner == "ask" or not cues:  # "please confirm your PIN so that I can charge" asks for the PIN
            return True
    return False


def _intended(sentence: Sentence, verb: Hit) -> bool:
    return any(modal.last < verb.first for modal in sentence.hits.get("modal", ()))


def _is_noun(sentence: Sentence, verb: Hit) -> bool:
    """Whether the word after "of" only looks like the verb: "free of charge"."""
    words = sentence.tokens.words
    return verb.first > 0 and words[verb.first - 1] == "of" and not words[verb.first].endswith("ing")


def _negated_before(sentence: Sentence, verb: Hit) -> bool:
    return any(
        hit.owner != "neutral" and verb.first - 5 <= hit.first < verb.first
        and sentence.clauses[hit.first] == sentence.clauses[verb.first]
        for hit in sentence.hits.get("negate", ())
    )  # fmt: skip


def _asks_generally(sentence: Sentence, hit: Hit) -> bool:
    """Whether "shall I go ahead?", "please confirm." and the like ask for agreement to what was said before."""
    words = sentence.tokens.words
    if hit.owner == "tail":  # "…, ok?"
        return hit.first >= sentence.ask_from and hit.last == len(words) - 1
    if any(hit.last < cue.first <= hit.last + 3 for cue in sentence.hits.get("ask", ())):
        return False  # "please confirm your PIN" asks for something else
    return sentence.ask_from < len(words) or _imperative(sentence)


def _imperative(sentence: Sentence) -> bool:
    return any(word in ("please", "reply", "say", "just") for word in sentence.tokens.words)
