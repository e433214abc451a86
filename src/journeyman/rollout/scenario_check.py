"""Whether a scenario can be played as written: what its texts say, what its changes of mind wait for, what settles it.

For lint. A problem is one sentence that names the field; none means that the simulated user can follow the scenario.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from journeyman.grading.dialogue import Mention, Reader
from journeyman.grading.values import spoken_equal
from journeyman.task import Call, ChangeOfMind, EventPattern, FactCard, Scenario, Step
from journeyman.world.lexicon import Lexicon

_BY_AGENT = frozenset({"asked", "proposed", "stated", "denied"})
_BY_USER = frozenset({"revealed", "consented", "refused"})
_VAGUE = frozenset({"number", "choice"})
"""Types whose values are also everyday words: they count where the text gives them a slot."""
_DIGITS = re.compile(r"\d+")


def scenario_problems(
    scenario: Scenario, lexicon: Lexicon, reader: Reader | None = None, oracle: Sequence[Step] = ()
) -> list[str]:
    """What is wrong with a scenario.

    Args:
        lexicon: the words of its world.
        reader: a reader of that lexicon, where there is one already.
        oracle: the reference solution of the scenario's task.
    """
    reader = reader if reader is not None else Reader(lexicon)
    problems = [*_settles(scenario.settles, "settles"), *_pushbacks(scenario, lexicon, reader)]
    problems += [*_bundles(scenario), *_unwanted(scenario, lexicon, oracle)]
    for number, text in enumerate(scenario.small_talk):
        problems += _undeclared(text, [], f"small_talk[{number}]", reader)
    for card in scenario.facts:
        problems += _undeclared(card.text, [card], f"the card of {card.slot}", reader)
    for number, change in enumerate(scenario.changes):
        where = f"changes[{number}]"
        problems += _change(change, where, reader)
        problems += _reachable(change.trigger, scenario, lexicon, where)
        scenario = _after(scenario, change)
    return problems


def holds_value(text: str, card: FactCard, reader: Reader) -> bool:
    """Whether a text says the value of a card: as a value the reader finds, in so many words, or as the card puts it."""
    said = " ".join(text.casefold().split())
    for phrase in (str(card.value), card.text.strip(" .!")):
        plain = re.escape(" ".join(phrase.casefold().split()))
        if plain and re.search(rf"(?<!\w){plain}(?!\w)", said):
            return True
    return any(
        card.slot in mention.slots and mention.slot in (card.slot, None) and spoken_equal(mention.value, card.value)
        for mention in reader.mentions(text).values
    )


def _change(change: ChangeOfMind, where: str, reader: Reader) -> Iterator[str]:
    yield from _undeclared(change.say, change.facts, f"{where}.say", reader)
    for card in change.facts:
        yield from _undeclared(card.text, [card], f"{where}, the card of {card.slot}", reader)
        if card.reveal == "start" and not holds_value(change.say, card, reader):
            yield f"{where}.say does not tell {card.slot} = {card.value!r}, which is to be told at once."
    if not change.settles:
        yield f"{where} leaves nothing that settles the scenario: the user could only lose patience."
    yield from _settles(change.settles, f"{where}.settles")


def _settles(settles: Sequence[EventPattern], where: str) -> Iterator[str]:
    for pattern in settles:
        if pattern.kind not in _BY_AGENT or pattern.by == "user":
            yield f"{where} waits for `{pattern.kind}`, which is no event of the agent."


def _pushbacks(scenario: Scenario, lexicon: Lexicon, reader: Reader) -> Iterator[str]:
    deniable = {form.slot for form in lexicon.denials}
    told = [card for card in scenario.facts if card.reveal != "never"]
    seen: set[str] = set()
    for number, pushback in enumerate(scenario.pushbacks):
        if pushback.slot not in deniable:
            yield f"pushbacks[{number}] waits for a refusal of {pushback.slot}, which the lexicon cannot read."
        if pushback.slot in seen:
            yield f"pushbacks[{number}] is the second one of {pushback.slot}."
        seen.add(pushback.slot)
        for text in pushback.says:
            yield from _undeclared(text, told, f"pushbacks[{number}]", reader)


def _unwanted(scenario: Scenario, lexicon: Lexicon, oracle: Sequence[Step]) -> Iterator[str]:
    """Writes of the reference solution that no rule agrees to: a user who gets what they want would say no to it. Where
    the user is refused something, the desk may do what they do not want."""
    ends = [scenario.settles, *(change.settles for change in scenario.changes)][-1]
    if not ends or any(pattern.kind == "denied" for pattern in ends):
        return
    rules = [*scenario.consents, *(rule for change in scenario.changes for rule in change.consents)]
    readable = {form.tool for form in lexicon.proposals}
    called = dict.fromkeys(step.tool for step in oracle if isinstance(step, Call))
    for tool in called:
        if tool in readable and not any(rule.tool == tool for rule in rules):
            yield f"consents lack {tool}, which the reference solution calls: the user would refuse it if asked."


def _bundles(scenario: Scenario) -> Iterator[str]:
    cards = [*scenario.facts, *(card for change in scenario.changes for card in change.facts)]
    tellable = {card.slot for card in cards if card.reveal != "never"}
    for number, bundle in enumerate(scenario.bundles):
        if len(set(bundle)) < 2:
            yield f"bundles[{number}] holds fewer than two slots."
        for slot in bundle:
            if slot not in tellable:
                yield f"bundles[{number}] holds {slot}, of which no card may be told."


def _reachable(trigger: EventPattern, scenario: Scenario, lexicon: Lexicon, where: str) -> Iterator[str]:
    """A trigger that cannot occur under the wishes in force."""
    kind, by = trigger.kind, trigger.by
    if not ((kind in _BY_AGENT and by != "user") or (kind in _BY_USER and by != "agent")):
        yield f"{where} waits for `{kind}`" + (f" by the {by}" if by else "") + ", which never triggers a change."
        return
    slots = {slot.name for slot in lexicon.slots}
    deniable = {form.slot for form in lexicon.denials}
    known = {"asked": slots, "stated": slots | deniable, "denied": deniable, "revealed": slots}.get(kind)
    if trigger.slot is not None and known is not None and trigger.slot not in known:
        yield f"{where} waits for `{kind}` of {trigger.slot}, which the lexicon does not know."
    tools = {form.tool for form in lexicon.proposals}
    if trigger.tool is not None and (known is not None or trigger.tool not in tools):
        yield f"{where} waits for `{kind}` of {trigger.tool}, which the lexicon cannot read."
    if kind == "revealed":
        cards = [card for card in scenario.facts if card.reveal == "asked" and trigger.slot in (None, card.slot)]
        if not cards:
            yield f"{where} waits until the user reveals {trigger.slot or 'something'}, but no card is told on asking."
    if kind == "consented" and not any(trigger.tool in (None, rule.tool) for rule in scenario.consents):
        yield f"{where} waits until the user consents to {trigger.tool or 'something'}, but no rule does."


def _after(scenario: Scenario, change: ChangeOfMind) -> Scenario:
    new = {card.slot for card in change.facts}
    return msgspec.structs.replace(
        scenario,
        facts=[card for card in scenario.facts if card.slot not in new] + change.facts,
        consents=change.consents,
        settles=change.settles,
    )


def _undeclared(text: str, cards: Sequence[FactCard], where: str, reader: Reader) -> Iterator[str]:
    """Values in a text that none of the cards holds."""
    mentions = reader.mentions(text)
    for mention in mentions.values:
        if _counts(mention) and not any(_is_of(mention, card) for card in cards):
            yield f"{where} holds {mention.value!r}, a value that no card of it declares."
    declared = {digits for card in cards for digits in _DIGITS.findall(str(card.value))}
    for number in mentions.numbers:
        if number not in declared:
            yield f"{where} holds the number {number}, which no card of it declares."


def _counts(mention: Mention) -> bool:
    return mention.type not in _VAGUE or mention.slot is not None or _DIGITS.search(mention.text) is not None


def _is_of(mention: Mention, card: FactCard) -> bool:
    if spoken_equal(mention.value, card.value):
        return True
    return mention.text in _DIGITS.findall(str(card.value))
