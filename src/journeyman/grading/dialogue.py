"""The one reader of free text: what an agent asked, proposed, stated and denied in a message.

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

from journeyman.episode import Event
from journeyman.errors import WorldError
from journeyman.grading.language import ENUMERATING, WH, add_language
from journeyman.grading.phrases import PAST_WORDS, Hit, PhraseIndex, Tokens, tokens_of
from journeyman.grading.proposals import Proposals
from journeyman.grading.sentences import MAX_TOKENS, PLAIN, Sentence, Span, question_start, split
from journeyman.grading.values import Scanner, Value
from journeyman.world.lexicon import Lexicon, Slot

MAX_CHARACTERS = 16_000
MAX_EVENTS = 120
"""A message longer than this, or with more events, is noise that no customer reads: it says nothing."""
_REACH = 16
"""A value further from its cue, in tokens, does not belong to it."""
_REMEMBERED = 4096
"""Messages whose events are kept: many episodes of a group say the same."""
_PROVISIONAL = frozenset({"until", "unless", "yet"})
_DONE_BY = frozenset(
    {"i", "i've", "we", "we've", "have", "has", "been", "was", "were", "is", "are", "now", "i'll", "we'll"}
)


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
        self._phrase_values: dict[str, tuple[str, str]] = {}
        add_language(self._index)
        for slot in lexicon.slots:
            self._add_slot(slot)
        for number, form in enumerate(lexicon.proposals):
            for verb in form.verbs:
                self._index.add("verb", str(number), verb, forms="verb")
        for denial in lexicon.denials:
            for cue in denial.cues:
                self._index.add("denial", denial.slot, cue, forms="action")
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
        """Events of one agent message: `asked`, `proposed`, `stated`, `denied`, in the order of the text.

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

    def _read(self, text: str) -> list[Event]:
        sentences = self._sentences(text)
        message = Proposals(self._forms, sentences)
        events: list[Event] = []
        for place, sentence in enumerate(sentences):
            proposals = message.of(place)
            # The statement before "…, shall I …?" counts; a conditional commitment states nothing.
            if not proposals or 0 < sentence.ask_from < len(sentence.tokens.words):
                events += self._stated(sentence)
            events += self._denied(sentence)
            events += [
                Event(0, "proposed", "agent", tool=tool, arguments=arguments, quote=sentence.quote)
                for tool, arguments in proposals
            ]
            events += self._asked(sentence, bool(proposals))
        events = _distinct(events)
        return events if len(events) <= MAX_EVENTS else []

    def _sentences(self, text: str) -> list[Sentence]:
        plain = text.translate(PLAIN)
        sentences: list[Sentence] = []
        asking = False
        for span in split(plain):
            inherited = asking and span.bullet and not span.question
            pieces = self._pieces(text, plain, span)
            for sentence in pieces:
                openers = sentence.hits.get("opener", [])
                requests = [
                    hit for hit in sentence.hits.get("request", ()) if hit.owner and self._plain_clause(sentence, hit)
                ]
                asks = [hit for hit in sentence.hits.get("propose", ()) if hit.owner == "ask" and hit.first == 0]
                sentence.request = bool(requests) or inherited
                sentence.question = span.question
                if span.question:
                    sentence.ask_from = question_start(sentence.text, sentence.tokens, openers)
                elif inherited or asks:
                    sentence.ask_from = 0
                elif requests:
                    sentence.ask_from = _request_start(sentence, requests[0].first)
                self._assign(sentence)
            sentences += pieces
            if span.colon:
                asking = any(s.request or s.ask_from < len(s.tokens.words) for s in pieces)
            elif not span.bullet or span.blank_before:
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

    def _assign(self, sentence: Sentence) -> None:
        """Give each value the slot of the nearest cue, one value a cue; values listed beside it share its slot."""
        values = sentence.values
        if not values:
            return
        ranges = [sentence.range_of(value) for value in values]
        candidates = []
        for number, (value, (first, last)) in enumerate(zip(values, ranges, strict=True)):
            for cue, hit in enumerate(sentence.hits.get("cue", ())):
                if hit.owner in value.slots:
                    gap = first - hit.last - 1 if hit.last < first else max(hit.first - last, 0)
                    if gap <= _REACH:
                        apart = 4 if sentence.clauses[hit.first] != sentence.clauses[first] else 0
                        candidates.append((gap + apart, hit.first > last, cue, number, hit.owner))
        owner: list[str | None] = [None] * len(values)
        used: set[int] = set()
        for _, _, cue, number, slot in sorted(candidates):
            if owner[number] is None and cue not in used:
                owner[number] = slot
                used.add(cue)
        for here in [*range(1, len(values)), *range(len(values) - 2, -1, -1)]:
            for there in (here - 1, here + 1):
                if owner[here] is None and 0 <= there < len(values) and owner[there] in values[here].slots:
                    low, high = min(here, there), max(here, there)
                    between = sentence.tokens.words[ranges[low][1] + 1 : ranges[high][0]]
                    if len(between) <= 3 and all(word in ENUMERATING for word in between):
                        owner[here] = owner[there]
        for number, value in enumerate(values):
            if owner[number] is None:
                owner[number] = self._slot_without_cue(value)
        sentence.pairs = list(zip(values, owner, strict=True))

    def _slot_without_cue(self, value: Value) -> str | None:
        """An id that only one slot can have speaks for itself (four bare digits do not); so does a slot without cues."""
        named = value.type == "id" and any(char.isalpha() for char in str(value.value))
        alone = value.slots if named and len(value.slots) == 1 else value.slots & self._needs_no_cue
        return next(iter(alone)) if len(alone) == 1 else None

    def _stated(self, sentence: Sentence) -> list[Event]:
        events = [
            Event(0, "stated", "agent", slot=slot, value=value.value, quote=sentence.quote)
            for value, slot in sentence.pairs
            if slot is not None and sentence.asserts(value)
        ]
        for hit in sentence.hits.get("denial", ()):
            clause = sentence.clauses[hit.first]
            barred = clause in sentence.negated or clause in sentence.hedged or hit.first >= sentence.ask_from
            if not barred and _is_done(sentence, hit):
                events.append(Event(0, "stated", "agent", slot=hit.owner, value=True, quote=sentence.quote))
        return events

    def _denied(self, sentence: Sentence) -> list[Event]:
        refusals = [
            hit for hit in sentence.hits.get("refuse", ()) if hit.owner != "neutral" and hit.last < sentence.ask_from
        ]
        if not refusals or not _PROVISIONAL.isdisjoint(sentence.tokens.words):
            return []
        clauses = {sentence.clauses[hit.first] for hit in refusals}
        return [
            Event(0, "denied", "agent", slot=hit.owner, quote=sentence.quote)
            for hit in sentence.hits.get("denial", ())
            if hit.last < sentence.ask_from
            and (sentence.clauses[hit.first] in clauses or sentence.clauses[hit.last] in clauses)
            and (sentence.clauses[hit.first] not in sentence.hedged)
        ]

    def _asked(self, sentence: Sentence, proposing: bool) -> list[Event]:
        start, words = sentence.ask_from, sentence.tokens.words
        if start >= len(words) or (proposing and WH.isdisjoint(words[start:])):
            return []
        known = {slot for _, slot in sentence.pairs if slot} if proposing else set()
        return [
            Event(0, "asked", "agent", slot=hit.owner, quote=sentence.quote)
            for hit in sentence.hits.get("ask", ())
            if hit.last >= start
            and hit.owner not in known
            and (sentence.question or sentence.clauses[hit.first] not in sentence.negated)
        ]


def _request_start(sentence: Sentence, first: int) -> int:
    """A request asks from its own clause on: "Your balance is $5, please tell me …"."""
    clause = sentence.clauses[first]
    return next(place for place, number in enumerate(sentence.clauses) if number == clause)


def _is_done(sentence: Sentence, hit: Hit) -> bool:
    words = sentence.tokens.words
    for place in (hit.first, hit.last):
        word = words[place]
        if (word.endswith("ed") or word in PAST_WORDS) and not _DONE_BY.isdisjoint(words[max(place - 4, 0) : place]):
            return True
    return any(abs(done.first - hit.first) <= 6 for done in sentence.hits.get("done", ())
               if sentence.clauses[done.first] == sentence.clauses[hit.first])  # fmt: skip


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
