"""The one reader of free text: what an agent asked, proposed, stated, denied and announced in a message.

Rules, the same for every agent, in linear time. It errs on the side of reading nothing: what is hedged, negated or
ambiguous gives no event. It knows neither tasks nor databases; users emit their own events.

    >>> from journeyman.world.lexicon import ProposalForm
    >>> lexicon = Lexicon(
    ...     slots=[Slot("due", "money", ["balance", "amount due"]), Slot("pin", "id", ["pin"], pattern=r"\\d{4}")],
    ...     proposals=[ProposalForm("take_payment", ["charge"], {"amount_cents": "due"})],
    ... )
    >>> events = Reader(lexicon).read_agent("Your balance is $167.00. Shall I charge it? What is your PIN?", 0, 0)
    >>> [(event.kind, event.slot or event.tool, event.value or event.arguments) for event in events]
    [('stated', 'due', 167.0), ('proposed', 'take_payment', {'amount_cents': 16700}), ('asked', 'pin', {})]
"""

from __future__ import annotations

import re
from typing import NamedTuple

from journeyman.episode import Event
from journeyman.errors import WorldError
from journeyman.grading.announcing import announces
from journeyman.grading.asking import asked, chosen, requests
from journeyman.grading.assigning import assign_slots
from journeyman.grading.deeds import (
    holds_now,
    is_announced,
    is_between,
    is_conditional,
    is_given_up,
    is_long_past,
    is_of_another,
    is_overcome,
    is_turned_around,
)
from journeyman.grading.language import add_language
from journeyman.grading.phrases import Hit, PhraseIndex, Tokens, is_past, tokens_of
from journeyman.grading.proposals import Proposals
from journeyman.grading.sentences import MAX_TOKENS, PLAIN, Sentence, Span, question_start, split
from journeyman.grading.values import Scanner, Value
from journeyman.task import Scalar
from journeyman.world.lexicon import Lexicon, Slot, SlotType

MAX_CHARACTERS = 16_000
MAX_EVENTS = 120
"""A message longer than this, or with more events, is noise that no customer reads: it says nothing."""
_REMEMBERED = 4096
"""Messages whose events, and whose values, are kept: many episodes of a group say the same, and grading looks at a written
text once for each outcome."""
_DIGITS = re.compile(r"\d+")
_PROVISIONAL = frozenset({"until", "unless", "yet"})
_GIVEN = frozenset(["can", "will", "is", "possible", "available", "may", "due"])
_GRANTED = frozenset(["possible", "available", "given", "granted", "allowed", "permitted"])
_ACTORS = frozenset({"i", "i've", "we", "we've", "have", "has"})
_TURNED_DOWN = frozenset({"rejected", "declined", "refused", "denied"})
_USERS = frozenset(["user", "customer", "caller", "client", "human"])
_LABEL = re.compile(
    r"[\W_]{0,8}(?P<who>user|customer|caller|client|human|agent|assistant|me|you|i)[\W_]{0,3}:", re.IGNORECASE
)
_NAME = re.compile(r"\s{0,3}[A-Z][a-z'-]{1,30}(?:\s[A-Z][\w'-]{1,30}){1,3}\s{0,3}(?:[.,;()|-]|$)", re.MULTILINE)
"""After a label, the name of whom a message is about: "Client: Mina Hale". What a caller says begins otherwise."""
_DONE_BY = frozenset({"i", "i've", "we", "we've", "have", "has", "been", "was", "were", "is", "are", "now"})


class Mention(NamedTuple):
    """A value in a text, with its words: the slot it belongs to (None where the text does not tell), of those it could."""

    type: SlotType
    value: Scalar
    slot: str | None
    slots: frozenset[str]
    text: str


class Mentions(NamedTuple):
    """The values in a text, and the runs of digits that are part of none."""

    values: list[Mention]
    numbers: list[str]


class Reader:
    """Reads messages with the words of one world.

    Raises:
        WorldError: a phrase stands for two values of one slot, so that it could not be read.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._forms = list(lexicon.proposals)
        self._slots: dict[str, Slot] = {slot.name: slot for slot in lexicon.slots}
        self._scanner = Scanner(lexicon.slots)
        self._index = PhraseIndex()
        self._memory: dict[str, list[Event]] = {}
        self._mentioned: dict[str, Mentions] = {}
        self._phrase_values: dict[str, tuple[str, str]] = {}
        add_language(self._index)
        for slot in lexicon.slots:
            self._add_slot(slot)
        for number, form in enumerate(lexicon.proposals):
            for verb in form.verbs:
                self._index.add("verb", str(number), verb, forms="verb")
            for verb in form.loose:
                self._index.add("loose", str(number), verb, forms="verb")
            for verb in {
                tokens_of(verb).words[0]: None for verb in [*form.verbs, *form.loose] if form.slots or form.near
            }:
                self._index.add("verbed", str(number), verb, forms="action")
            for noun in form.nouns:
                self._index.add("noun", str(number), noun, forms="noun")
            for price in form.prices:
                self._index.add("price", str(number), price)
        for denial in lexicon.denials:
            for cue in denial.cues:
                self._index.add("denial", denial.slot, cue, forms="action")
        self._deeds = frozenset(slot.name for slot in lexicon.slots if slot.deed)
        self._dates = frozenset(slot.name for slot in lexicon.slots if slot.type == "date")
        self._needs_no_cue = frozenset(slot.name for slot in lexicon.slots if not slot.cues)

    def _add_slot(self, slot: Slot) -> None:
        for cue in slot.cues:
            self._index.add("cue", slot.name, cue, forms="noun")
        for cue in slot.ask or slot.cues:
            self._index.add("ask", slot.name, cue, forms="noun")
        seen: dict[tuple[str, ...], str] = {}
        for canonical, phrases in slot.values.items():
            for phrase in phrases or [canonical]:
                words = tuple(tokens_of(phrase.translate(PLAIN)).words)
                if seen.setdefault(words, canonical) != canonical:
                    raise WorldError(
                        "lexicon", slot.name, f"{phrase!r} stands for both {seen[words]!r} and {canonical!r}."
                    )
                owner = f"{slot.name}\x1f{canonical}"
                self._phrase_values[owner] = (slot.name, canonical)
                self._index.add("value", owner, phrase.translate(PLAIN))

    def read_agent(self, text: str, turn: int, order: int) -> list[Event]:
        """Events of one agent message: `asked`, `proposed`, `stated`, `denied`, in the order of the text; `announced` last.

        Args:
            turn: the agent turn that said it.
            order: calls made before it.
        """
        if not text or len(text) > MAX_CHARACTERS:
            return []
        found = self._memory.get(text)
        if found is None:
            if len(self._memory) >= _REMEMBERED:
                self._memory.clear()
            found = self._memory[text] = self._read(text)
        return [Event(turn, e.kind, "agent", order, e.slot, e.value, e.tool, dict(e.arguments), e.quote) for e in found]

    def mentions(self, text: str) -> Mentions:
        """Every value that stands in a text, asserted or not, whoever wrote it. Not to be altered."""
        text = text[:MAX_CHARACTERS]
        found = self._mentioned.get(text)
        if found is None:
            if len(self._mentioned) >= _REMEMBERED:
                self._mentioned.clear()
            found = self._mentioned[text] = self._mentions(text)
        return found

    def _mentions(self, text: str) -> Mentions:
        values: list[Mention] = []
        numbers: list[str] = []
        for sentence in self._sentences(text):
            rest = sentence.text
            for value, slot in sentence.pairs:
                values.append(
                    Mention(value.type, value.value, slot, value.slots, sentence.text[value.start : value.end])
                )
                rest = rest[: value.start] + " " * (value.end - value.start) + rest[value.end :]
            numbers += _DIGITS.findall(rest)
        return Mentions(values, numbers)

    def _read(self, text: str) -> list[Event]:
        sentences = self._sentences(text)
        message = Proposals(self._forms, sentences)
        events: list[Event] = []
        proposed = [message.of(place) for place in range(len(sentences))]
        message_asks = any(proposed)
        for place, sentence in enumerate(sentences):
            proposals = proposed[place]
            # The statement before "…, shall I …?" counts; a conditional commitment states nothing.
            if not proposals or 0 < sentence.ask_from < len(sentence.tokens.words):
                events += self._stated(sentence, message_asks)
            events += self._denied(sentence)
            events += [
                Event(0, "proposed", "agent", tool=tool, arguments=arguments, quote=sentence.quote)
                for tool, arguments in proposals
            ]
            events += self._asked(sentence, bool(proposals), sentences[place - 1] if place else None)
        if not any(event.kind == "proposed" for event in events):  # what is proposed waits for an answer
            events += [Event(0, "announced", "agent", quote=s.quote) for s in sentences if s.text and announces(s)][:1]
        events = _distinct(events)
        return events if len(events) <= MAX_EVENTS else []

    def _sentences(self, text: str) -> list[Sentence]:
        plain = text.translate(PLAIN)
        sentences: list[Sentence] = []
        asking = quoted = False
        line_end = 0
        for span in split(plain, text):
            quoted = _is_quoted(plain, span, quoted and "\n" not in plain[line_end : span.start])
            line_end = span.end - 1
            if quoted:
                sentences.append(Sentence("", tokens_of(""), {}, [], ""))
                continue
            inherited = asking and span.bullet and not span.question
            pieces = self._pieces(text, plain, span)
            for sentence in pieces:
                openers = sentence.hits.get("opener", [])
                wishes = [
                    hit for hit in sentence.hits.get("request", ()) if hit.owner and self._plain_clause(sentence, hit)
                ]
                asks = [hit for hit in sentence.hits.get("propose", ()) if hit.owner == "ask" and hit.first == 0]
                sentence.request = bool(wishes) or inherited
                sentence.question = span.question
                sentence.listed = inherited
                if span.question:
                    sentence.ask_from = question_start(sentence.text, sentence.tokens, openers)
                elif inherited or asks:
                    sentence.ask_from = 0
                elif wishes:
                    sentence.ask_from = _request_start(sentence, wishes[0].first)
                assign_slots(sentence, self._needs_no_cue)
            sentences += pieces
            if span.colon or (not span.bullet and any(_announces(s) for s in pieces)):
                asking = any(s.request or s.ask_from < len(s.tokens.words) or requests(s) for s in pieces)
            elif not span.bullet:
                asking = False
        return sentences

    @staticmethod
    def _plain_clause(sentence: Sentence, hit: Hit) -> bool:
        return sentence.clauses[hit.first] not in sentence.negated

    def _pieces(self, text: str, plain: str, span: Span) -> list[Sentence]:
        body = plain[span.start : span.end]
        quote = text[span.start : span.end].strip()[:200]
        if not quote.isascii():
            quote = quote.encode("utf-8", "replace").decode()
        tokens = tokens_of(body)
        if len(tokens.words) <= MAX_TOKENS:
            return [self._sentence(body, tokens, quote)]
        pieces = []
        for first in range(0, len(tokens.words), MAX_TOKENS):
            last = min(first + MAX_TOKENS, len(tokens.words)) - 1
            part = body[tokens.starts[first] : tokens.ends[last]]
            pieces.append(self._sentence(part, tokens_of(part), quote))
        return pieces

    def _sentence(self, body: str, tokens: Tokens, quote: str) -> Sentence:
        hits = self._index.find(tokens.words)
        values: list[Value] = []
        for hit in hits.get("value", ()):
            slot, canonical = self._phrase_values[hit.owner]
            kind = self._slots[slot].type
            values.append(Value(kind, canonical, frozenset({slot}), tokens.starts[hit.first], tokens.ends[hit.last]))
        named = [value for value in values if value.type == "id"]
        values += [
            value
            for value in self._scanner.scan(body)
            if not any(value.start < other.end and other.start < value.end for other in named)
        ]
        values.sort(key=lambda value: (value.start, value.end, str(value.value)))
        return Sentence(body, tokens, hits, values, quote)

    def _stated(self, sentence: Sentence, asks: bool) -> list[Event]:
        events = [
            Event(0, "stated", "agent", slot=slot, value=value.value, quote=sentence.quote)
            for value, slot in sentence.pairs
            if slot is not None and sentence.asserts(value) and self._is_told(sentence, value, slot, asks)
        ]
        for hit in sentence.hits.get("denial", ()):
            clause = sentence.clauses[hit.first]
            barred = clause in sentence.negated or clause in sentence.hedged or hit.first >= sentence.ask_from
            told = any(
                slot == hit.owner and value.type == "choice" and sentence.asserts(value)
                for value, slot in sentence.pairs
            )
            if not barred and not told and _is_done(sentence, hit) and not is_long_past(sentence, hit):
                events.append(Event(0, "stated", "agent", slot=hit.owner, value=True, quote=sentence.quote))
        return events

    def _is_told(self, sentence: Sentence, value: Value, slot: str, asks: bool) -> bool:
        """Whether the value is told of the slot as it is now: a deed as done, no former value and none of another record."""
        if is_given_up(sentence, value, slot) or is_between(sentence, value) or is_of_another(sentence, value, slot):
            return False
        if slot not in self._deeds:
            return True
        first, last = sentence.range_of(value)
        if is_announced(sentence, first, last, subject=value.type != "choice"):
            return False
        # Beside a proposal, an amount without a verb is part of what is proposed: "Charge: $5. Do you agree?"
        return not (asks and value.type == "money" and not _tells_past(sentence, first))

    def _denied(self, sentence: Sentence) -> list[Event]:
        clause = sentence.clauses
        cues = [
            hit
            for hit in sentence.hits.get("denial", ())
            if hit.last < sentence.ask_from and clause[hit.first] == clause[hit.last]
        ]
        if not cues:
            return []
        firm = not _is_provisional(sentence) or holds_now(sentence, _PROVISIONAL)
        refusals = [
            hit
            for hit in sentence.hits.get("refuse", ())
            if hit.last < sentence.ask_from
            # "can't open" only looks for something, except where opening it is what is refused.
            and (hit.owner != "neutral" or any(cue.first == hit.last for cue in cues))
            and (firm or hit.owner == "firm")
            and not is_turned_around(sentence, hit)
            and not is_overcome(sentence, hit)
            and (hit.owner == "firm" or not is_conditional(sentence, hit))
        ]
        clauses = {sentence.clauses[hit.first] for hit in refusals}
        whole = any(hit.owner == "whole" for hit in refusals)
        hedged = sentence.hedged_refusals
        return [
            Event(0, "denied", "agent", slot=hit.owner, quote=sentence.quote)
            for hit in cues
            if sentence.clauses[hit.first] not in hedged
            and (whole or sentence.clauses[hit.first] in clauses or (firm and _is_none_given(sentence, hit)))
        ]

    def _asked(self, sentence: Sentence, proposing: bool, before: Sentence | None) -> list[Event]:
        known = {slot for _, slot in sentence.pairs if slot} if proposing else set()
        named = [hit.owner for hit in before.hits.get("ask", ())][-1:] if before else []
        slots = asked(sentence, sentence.listed, self._dates, named)
        if not proposing:
            slots += chosen(sentence)
        return [
            Event(0, "asked", "agent", slot=slot, quote=sentence.quote)
            for slot in dict.fromkeys(slots)
            if slot not in known
        ]


def _is_quoted(plain: str, span: Span, before: bool) -> bool:
    """Whether a sentence is put into the user's mouth: from "User:" to the end of the line."""
    label = _LABEL.match(plain, span.start, span.end)
    if label is None:
        return before
    return label["who"].lower() in _USERS and _NAME.match(plain, label.end(), span.end) is None


def _announces(sentence: Sentence) -> bool:
    """Whether a sentence says that a list follows: "please give me the following details"."""
    return not {"following", "below"}.isdisjoint(sentence.tokens.words)


def _request_start(sentence: Sentence, first: int) -> int:
    """A request asks from its own clause on: "Your balance is $5, please tell me …"."""
    clause = sentence.clauses[first]
    return next(place for place, number in enumerate(sentence.clauses) if number == clause)


def _is_none_given(sentence: Sentence, hit: Hit) -> bool:
    """ "No refund can be given", "no refund for the outage is possible", "none of it can be refunded"."""
    words, clauses = sentence.tokens.words, sentence.clauses
    clause = [at for at, number in enumerate(clauses) if number == clauses[hit.last]]
    if words[clause[0]] == "none":
        return not {"can", "could"}.isdisjoint(words[clause[0] : hit.first])
    if "no" not in words[max(hit.first - 1, 0) : hit.first + 1]:
        return False
    return not _GIVEN.isdisjoint(words[hit.last + 1 : hit.last + 4]) or any(
        words[at] in _GRANTED for at in clause if at > hit.last
    )


def _is_provisional(sentence: Sentence) -> bool:
    """Whether a refusal may hold only for now; "…, yet" that opens a clause only means "but"."""
    words, starts, ends = sentence.tokens
    return any(
        word in _PROVISIONAL
        and not (
            word == "yet" and place and place + 1 < len(words) and "," in sentence.text[ends[place - 1] : starts[place]]
        )
        for place, word in enumerate(words)
    )


def _is_done(sentence: Sentence, hit: Hit) -> bool:
    """Whether the thing that could be refused is said to be done ("I have waived the fee", "the fee is waived")."""
    words = sentence.tokens.words
    for place in (hit.first, hit.last):
        word = words[place]
        before = words[max(place - 4, 0) : place]
        if _is_nothing(sentence, place):
            return False
        if word in _TURNED_DOWN or is_announced(sentence, place, place):
            return False
        by = before
        if words[place - 1 : place] in (["and"], ["but"]) and words[0] in _ACTORS:
            by = words[:1]  # "I could not refund it and credited your account"
        if is_past(word) and not _DONE_BY.isdisjoint(by):
            return not (_ACTORS.isdisjoint(before) and _is_state(sentence, place))
    return any(abs(done.first - hit.first) <= 6 for done in sentence.hits.get("done", ())
               if sentence.clauses[done.first] == sentence.clauses[hit.first])  # fmt: skip


def _tells_past(sentence: Sentence, first: int) -> bool:
    clause = sentence.clauses[first]
    return any(
        is_past(word) for word, number in zip(sentence.tokens.words, sentence.clauses, strict=True) if number == clause
    )


def _is_nothing(sentence: Sentence, place: int) -> bool:
    """Whether the verb has "nothing" as its subject or object: "nothing is booked", "we booked nothing"."""
    words, starts, ends = sentence.tokens
    for other in (*range(max(place - 4, 0), place), place + 1):
        if words[other : other + 1] == ["nothing"] and sentence.clauses[other] == sentence.clauses[place]:
            between = sentence.text[ends[min(other, place)] : starts[max(other, place)]]
            if "," not in between:
                return True
    return False


def _is_state(sentence: Sentence, place: int) -> bool:
    """Whether the word is the value of a slot: "the line is suspended" tells a state, not that it was done now."""
    return any(
        slot is not None
        and value.type == "choice"
        and sentence.token_at(value.start) <= place <= sentence.token_at(value.end - 1)
        for value, slot in sentence.pairs
    )


def _distinct(events: list[Event]) -> list[Event]:
    """Without repetitions, and without a vaguer proposal beside a full one of the same tool."""
    kept: list[Event] = []
    seen: set[tuple[object, ...]] = set()
    proposals = [event for event in events if event.kind == "proposed"]
    for event in events:
        key = (
            event.kind,
            event.slot,
            type(event.value),
            event.value,
            event.tool,
            tuple(sorted(event.arguments.items(), key=str)),
        )
        vaguer = event.kind == "proposed" and any(
            other.tool == event.tool
            and len(other.arguments) > len(event.arguments)
            and event.arguments.items() <= other.arguments.items()
            for other in proposals
        )
        if key not in seen and not vaguer:
            seen.add(key)
            kept.append(event)
    return kept
