"""What a message proposes: a write named in a question or a conditional commitment, with the arguments it states.

A write is named by its verb ("charge"), as a thing that one agrees to ("the payment"), or by its price ("a fee of $60
applies"). Arguments are taken from the part of the sentence that belongs to the name, then from the sentence, then from
the whole message, and only where one value can be meant: an ambiguous or unsaid argument is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from journeyman.grading.phrases import PAST_WORDS, Hit
from journeyman.grading.sentences import Sentence
from journeyman.grading.values import Value, as_argument
from journeyman.task import Scalar
from journeyman.world.lexicon import ProposalForm

Pair = tuple[Value, str | None]
Proposed = tuple[str, dict[str, Scalar]]

_MOST_PROPOSALS = 8
"""A sentence that proposes more is a recitation and proposes nothing."""
_LOOKBACK = 20
"""Sentences before a general question in which what it asks about is looked for."""
_DETERMINERS = frozenset(["a", "an", "the", "your", "this", "that", "my", "our", "any", "each", "no", "of"])
_STATES = frozenset(["is", "are", "be", "becomes", "become", "was", "were", "been", "being", "it's"])
_GOVERNED = re.compile(
    r"(?:^| )(?:(?:agree|agreed|consent) (?:to|with)|(?:ok|okay|fine|happy|alright|all right) with|(?:go ahead|proceed|continue|go on) with"
    r"|confirm|accept|approve|authorize|authorise|allow|permit|process|make|run|execute|perform|carry out|complete|submit|finalize"
    r"|place|put through|put in|get|get you|comfortable with|willing to pay|initiate|create|issue|pay|add|apply|bill|like|want|permission for|consent to|approval for|ok for)"
    r"(?: (?:a|an|the|your|this|that|our))?(?: (?!(?:to|of|for|and|or|how|what|which|if|whether|about|hear|know|see) )[^ ]+){0,3} $"
)
"""Words before a thing that ask for agreement to it, with up to three words of its name."""
_JOINED = re.compile(
    r"(?:^| )(?:and|plus|for|with|including|to)(?: (?:to|for|with))?(?: (?:a|an|the|your|this|that|our))?(?: [^ ]+){0,2} $"
)
"""Words that hang a second thing on one agreed to: "the move and the fee"."""
_FINE = re.compile(r"(?:^| )(?:acceptable|ok|okay|fine|alright|all right|agreeable|what you want)(?: |$)")
_COSTING = frozenset(["is", "applies", "apply", "costs", "cost", "comes", "be", "there's", "requires"])
_PAST = frozenset(["was", "were", "had", "been", "waived", "waive", "free", "credited", "refunded", "already", "paid", "stands", "last"])  # fmt: skip
_CHARGED = _COSTING | {"due", "note", "plus", "including", "with", "at", "charged", "subject"}
"""Words beside the name of a sum that say that it is to be paid."""
_WANTED = re.compile(
    r"(?:^| )(?:would you (?:still |also |now )?like|you (?:still |also |now )?want|(?:shall|should|may|can) (?:i|we) (?:get|have)) "
)
"""Words before a thing that is to be done: "do you want it cancelled"."""
_ENDED = frozenset(["cancelled", "canceled", "reversed"])
_NAMING = frozenset(["flight", "line", "plan", "the", "your", "booking", "card"])
_PRONOUNS = frozenset(["it", "that", "this", "them"])


class Proposals:
    """The sentences of one message, to read proposals whose arguments stand in several of them."""

    def __init__(self, forms: list[ProposalForm], sentences: list[Sentence]) -> None:
        self._forms = forms
        self._sentences = sentences

    def of(self, place: int) -> list[Proposed]:
        """What sentence `place` proposes: (tool, arguments read)."""
        return self._all[place]

    @cached_property
    def _everything(self) -> list[Pair]:
        return [pair for sentence in self._sentences for pair in _meant(sentence)]

    @cached_property
    def _all(self) -> list[list[Proposed]]:
        found = [self._proposed(place) for place in range(len(self._sentences))]
        asking = [place for place, one in enumerate(found) if one]
        asking += [place for place, one in enumerate(self._sentences) if not asking and _is_general(one)][:1]
        if asking and len(asking) <= _MOST_PROPOSALS:
            tools = {tool for one in found for tool, _ in one}
            found[asking[0]] += [priced for priced in self._prices() if priced[0] not in tools]
        return found

    def _proposed(self, place: int) -> list[Proposed]:
        sentence = self._sentences[place]
        generic = _is_general(sentence)
        condition = bool(sentence.hits.get("condition"))
        asks = [hit for hit in sentence.hits.get("propose", ()) if hit.owner]
        verbs = self._verbs(place)
        agreed = [
            v
            for v in verbs
            if ((generic or condition) and (_intended(sentence, v) or _is_order(sentence, v)))
            or _asked_for(sentence, asks, v)
        ]
        if not agreed:
            agreed = self._wanted(place)
            agreed += [v for v in verbs if agreed and v.first > agreed[0].last]
        agreed += self._agreed_nouns(sentence, asks, agreed, generic or condition)
        if len(agreed) > _MOST_PROPOSALS:
            return []
        if agreed:
            return [self._read(place, name, agreed) for name in agreed]
        if not (generic or (condition and not verbs)):
            return []
        for back in range(place - 1, max(place - 1 - _LOOKBACK, -1), -1):
            earlier = self._sentences[back]
            if earlier.ask_from >= len(earlier.tokens.words):
                intended = self._announced(back)
                if intended:
                    return [self._read(back, name, intended) for name in intended]
        return []

    def _verbs(self, place: int) -> list[Hit]:
        """The verbs that name writes, in order; of loose ones, those beside a value that shows what they mean."""
        sentence = self._sentences[place]
        strict = list(sentence.hits.get("verb", ()))
        loose = [
            hit
            for hit in sentence.hits.get("loose", ())
            if not _overlaps(hit, strict) and self._means_write(place, hit)
        ]
        hits = [
            hit
            for hit in sorted([*strict, *loose], key=lambda hit: (hit.first, hit.last))
            if not _negated_before(sentence, hit) and not _is_noun(sentence, hit) and not _is_in_value(sentence, hit)
        ]
        return [hit for hit in hits if not any(other.first < hit.first <= other.last for other in hits)]

    def _wanted(self, place: int) -> list[Hit]:
        """The verbs of a question whether something is to be done: "do you want BK-0001 cancelled?"."""
        sentence = self._sentences[place]
        words = sentence.tokens.words
        if not sentence.question:
            return []
        return [
            hit
            for hit in sentence.hits.get("verbed", ())
            if (words[hit.first].endswith("ed") or words[hit.first] in PAST_WORDS - {"put", "set"})
            and _WANTED.search(" ".join(words[: hit.first]) + " ")
            and not _negated_before(sentence, hit)
            and self._means_write(place, hit)
        ]

    def _means_write(self, place: int, verb: Hit) -> bool:
        sentence = self._sentences[place]
        form = self._forms[int(verb.owner)]
        if sentence.question and sentence.tokens.words[0] in ("how", "which", "what", "when", "where"):
            return False
        pairs = list(_affirmed(sentence))
        if not _PRONOUNS.isdisjoint(sentence.tokens.words[verb.last : verb.last + 2]):
            pairs = [pair for one in self._sentences[max(place - 1, 0) : place + 1] for pair in _affirmed(one)]
        near = set(form.near) or {*form.slots.values(), *form.also.values()}
        return any(value.slots & near and (slot is None or slot in near) for value, slot in pairs)

    def _agreed_nouns(self, sentence: Sentence, asks: list[Hit], verbs: list[Hit], general: bool) -> list[Hit]:
        """The writes named as things that agreement is asked to: "the payment of $5", "the move and the fee"."""
        agreed: list[Hit] = []
        words = sentence.tokens.words
        for noun in self._nouns(sentence):
            before = [hit for hit in asks if hit.first < noun.first]
            lead = " ".join(words[max(noun.first - 8, 0) : noun.first]) + " "
            joined = any(hit.last < noun.first for hit in [*verbs, *agreed]) and _JOINED.search(lead)
            if (before or general) and (_GOVERNED.search(lead) or joined):
                if not before or _asked_for(sentence, before, noun):
                    agreed.append(noun)
            elif _asks_whether_fine(sentence, noun):
                agreed.append(noun)
        return agreed

    def _nouns(self, sentence: Sentence) -> list[Hit]:
        named = sentence.hits.get("verb", ())
        verbs = [hit for hit in named if not _is_noun(sentence, hit)]
        nouns = [hit for hit in sentence.hits.get("noun", ()) if not _overlaps(hit, verbs)]
        nouns += [hit for hit in named if hit not in verbs and not _overlaps(hit, nouns)]
        nouns.sort(key=lambda hit: (hit.first, hit.last))
        return [noun for noun in nouns if not _negated_before(sentence, noun) and not _is_in_value(sentence, noun)]

    def _announced(self, place: int) -> list[Hit]:
        """The writes that a statement says would be made, for a general question after it to ask about."""
        sentence = self._sentences[place]
        verbs = self._verbs(place)
        announced = [v for v in verbs if _intended(sentence, v) or _opens_clause(sentence, v)]
        if announced:
            return announced
        words = sentence.tokens.words
        return [
            noun
            for noun in self._nouns(sentence)
            if not _overlaps(noun, sentence.hits.get("price", ()))
            and _PAST.isdisjoint(words)
            and (_intended(sentence, noun) or not _COSTING.isdisjoint(words))
        ]

    def _prices(self) -> list[Proposed]:
        """The charges that come with what is proposed."""
        found: dict[tuple[str, Scalar], Proposed] = {}
        for sentence in self._sentences:
            for hit in sentence.hits.get("price", ()):
                form = self._forms[int(hit.owner)]
                value = self._priced(sentence, hit)
                if value is not None:
                    argument = next(iter(form.slots))
                    found.setdefault(
                        (form.tool, value.value), (form.tool, {argument: as_argument(value.value, argument)})
                    )
        tools = [tool for tool, _ in found.values()]
        return [one for one in found.values() if tools.count(one[0]) == 1]

    def _priced(self, sentence: Sentence, hit: Hit) -> Value | None:
        """The sum that a price names, where it is said to be charged."""
        slots = set(self._forms[int(hit.owner)].slots.values())
        sums = [value for value, _ in _affirmed(sentence) if value.slots & slots]
        if not sums or _negated_before(sentence, hit):
            return None
        words = sentence.tokens.words
        number = sentence.clauses[hit.first]
        clause = [word for word, other in zip(words, sentence.clauses, strict=True) if other == number]
        if not _PAST.isdisjoint(clause):
            return None
        after = [value for value in sums if hit.last < sentence.range_of(value)[0] <= hit.last + 5]
        if words[hit.last] == "for":  # "move it for $60": the price, unless the write itself takes a sum
            kinds = ("verb", "noun", "loose")
            others = [other for kind in kinds for other in sentence.hits.get(kind, ()) if other.owner != hit.owner]
            taken = {slot for other in others for slot in self._forms[int(other.owner)].slots.values()}
            after = [v for v in after if sentence.range_of(v)[0] == hit.last + 1 and not v.slots & taken]
            return after[0] if after else None
        if not after:  # "a $60 handling fee"
            after = [v for v in sums if hit.first - 2 <= sentence.range_of(v)[1] < hit.first]
        saying = _CHARGED if hit.first < sentence.ask_from else frozenset(["with", "plus", "including"])
        costs = not {"cost", "costs"}.isdisjoint(words[hit.first : hit.last + 1])
        one = len({value.value for value in after}) == 1
        return after[0] if one and (costs or not saying.isdisjoint(clause)) else None

    def _read(self, place: int, name: Hit, names: list[Hit]) -> Proposed:
        form = self._forms[int(name.owner)]
        sentence = self._sentences[place]
        meant = _meant(sentence)
        later = [other.first for other in names if other.first > name.last and other.owner != name.owner]
        region = [
            (value, slot)
            for value, slot in meant
            if name.last < sentence.range_of(value)[0] < (min(later) if later else len(sentence.tokens.words))
        ]
        scopes = [region, meant] if len(names) > 1 else [meant]
        arguments: dict[str, Scalar] = {}
        for argument, slot in [*form.slots.items(), *form.also.items()]:
            for scope in [*scopes, self._named(sentence, name, slot), self._everything]:
                found, value = _value_for(slot, form, scope)
                if found:
                    if value is not None:
                        arguments[argument] = as_argument(value, argument)
                    break
        return form.tool, arguments

    def _named(self, sentence: Sentence, name: Hit, slot: str) -> list[Pair]:
        """Values that the sentence calls by their names: "charge the past-due amount"."""
        names = {hit.owner for hit in sentence.hits.get("cue", ()) if hit.first > name.last and hit.owner != slot}
        return [(value, None) for value, owner in self._everything if owner in names]


def _affirmed(sentence: Sentence) -> list[Pair]:
    """The pairs outside negated clauses; in "do you want BK-0001 cancelled?" nothing is denied."""
    if not sentence.question or _ENDED.isdisjoint(sentence.tokens.words):
        return sentence.affirmed
    denials = [hit for hit in sentence.hits.get("negate", ()) if hit.owner != "neutral"]
    negated = {sentence.clauses[hit.first] for hit in denials if sentence.tokens.words[hit.first] not in _ENDED}
    return [pair for pair in sentence.pairs if sentence.clauses[sentence.range_of(pair[0])[0]] not in negated]


def _meant(sentence: Sentence) -> list[Pair]:
    """The pairs outside negated clauses, without values given up for others: "from $5 to $6", "$6 instead of $5"."""
    pairs = _affirmed(sentence)
    words = sentence.tokens.words

    def given_up(value: Value) -> bool:
        first = sentence.range_of(value)[0]
        before = [word for word in words[max(first - 4, 0) : first] if word not in _NAMING]
        return bool(before) and (before[-1] in ("from", "not", "than") or before[-2:] == ["instead", "of"])

    kept = [pair for pair in pairs if not given_up(pair[0])]
    return [
        (value, slot)
        for value, slot in pairs
        if (value, slot) in kept or not any(value.type == other.type and value.slots & other.slots for other, _ in kept)
    ]


def _value_for(slot: str, form: ProposalForm, pairs: Iterable[Pair]) -> tuple[bool, Scalar]:
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


def _is_general(sentence: Sentence) -> bool:
    return any(_asks_generally(sentence, hit) for hit in sentence.hits.get("generic", ()))


def _overlaps(hit: Hit, others: Iterable[Hit]) -> bool:
    return any(hit.first <= other.last and other.first <= hit.last for other in others)


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


def _asks_whether_fine(sentence: Sentence, noun: Hit) -> bool:
    """ "Would a credit of $5 be all right?"."""
    words = sentence.tokens.words
    opens = words[sentence.ask_from : sentence.ask_from + 1] if sentence.question else []
    return opens in (["is"], ["are"], ["would"]) and _FINE.search(" ".join(words[noun.last :])) is not None


def _opens_clause(sentence: Sentence, verb: Hit) -> bool:
    """ "Moving it to FL-0042 costs …", "Charge: $5": a verb that is the subject of a price, or a label."""
    words, starts, ends = sentence.tokens
    before = sentence.text[ends[verb.first - 1] : starts[verb.first]] if verb.first else ""
    after = sentence.text[ends[verb.last] :].lstrip()[:1]
    if words[verb.first].endswith("ing"):
        return ":" in before or ((not verb.first or "," in before) and not _COSTING.isdisjoint(words[verb.last :]))
    if words[max(verb.first - 2, 0) : verb.first] in (["if", "i"], ["if", "we"]):
        return True
    return (not verb.first or words[: verb.first] == ["1"]) and after == ":"


def _is_order(sentence: Sentence, verb: Hit) -> bool:
    """A verb that opens what is to be confirmed: "to be sure: charge $5 to PM-0001, yes or no?"."""
    words, starts, ends = sentence.tokens
    before = sentence.text[ends[verb.first - 1] : starts[verb.first]] if verb.first else ":"
    return ":" in before and not words[verb.first].endswith("ing")


def _is_in_value(sentence: Sentence, hit: Hit) -> bool:
    """Whether the words of a hit are part of a value: "PAY-0007"."""
    return any(
        sentence.range_of(value)[0] <= hit.first and hit.last <= sentence.range_of(value)[1]
        for value in sentence.values
        if value.type == "id"
    )


def _is_noun(sentence: Sentence, verb: Hit) -> bool:
    """Whether a word only looks like the verb: "free of charge", "the booking", "would become void", "prorated charge"."""
    words = sentence.tokens.words
    if not verb.first:
        return False
    nouns = sentence.hits.get("noun", ())
    if any(noun.first < verb.first and verb.last <= noun.last and noun.owner != verb.owner for noun in nouns):
        return True
    if words[verb.first - 1] in _DETERMINERS and any(
        (noun.first, noun.last) == (verb.first, verb.last) for noun in nouns
    ):
        return True  # "the change to Core"
    before = words[verb.first - 1]
    if verb.first == verb.last and before in _DETERMINERS and (before != "of" or not words[verb.first].endswith("ing")):
        return True
    return (before == "of" and not words[verb.first].endswith("ing")) or (verb.first == verb.last and before in _STATES)


def _negated_before(sentence: Sentence, verb: Hit) -> bool:
    words, starts, ends = sentence.tokens
    return any(
        hit.owner != "neutral" and words[hit.first] not in _ENDED and verb.first - 5 <= hit.first < verb.first
        and sentence.clauses[hit.first] == sentence.clauses[verb.first]
        # "not BK-0002, and charge": what is denied ends at the comma
        and not (words[verb.first - 1] in ("and", "then") and "," in sentence.text[ends[hit.last] : starts[verb.first]])
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
