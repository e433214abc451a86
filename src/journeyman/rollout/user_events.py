"""What a freely worded message of a user amounts to: facts told, proposals answered, and what it should not have said.

The reader of free text decides where it can; only where it cannot does the claim of the one who spoke count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from journeyman.episode import Event
from journeyman.grading.assent import assent
from journeyman.grading.dialogue import Mention, Reader
from journeyman.grading.values import spoken_equal
from journeyman.rollout.scenario_check import holds_value
from journeyman.rollout.user_answer import UserAnswer
from journeyman.rollout.wants import UserState, allowing, revealed
from journeyman.task import Match, Scalar

FACT_INVENTED = "fact_invented"
HIDDEN_FACT_LEAKED = "hidden_fact_leaked"
ENDED_BEFORE_COMPLETION = "ended_before_completion"
WRONG_CONSENT = "wrong_consent"
_DIGITS = re.compile(r"\d+")
_FEW_WORDS = 6
"""An answer of no more words has no room for a reservation."""
_LONG = 3
"""A bare number of fewer digits is taken for a turn of speech ("2 minutes"), unless it belongs to a slot."""


def told_facts(
    state: UserState, answer: UserAnswer, reader: Reader, order: int, turn: int
) -> tuple[UserState, list[Event]]:
    """The state and the `revealed` events after what was told. A value with a digit in it must stand in the text; of one
    in words, the claim with its quote is enough."""
    claimed = {claim.slot: claim.quote for claim in answer.reveals}
    events: list[Event] = []
    known = list(state.revealed)
    for card in state.scenario.facts:
        if card.reveal == "never" or card.slot in state.revealed:
            continue
        words_only = not _DIGITS.search(str(card.value))
        if holds_value(answer.say, card, reader) or (words_only and card.slot in claimed):
            events.append(revealed(card, turn, order, claimed.get(card.slot, answer.say)[:200]))
            known += [card.slot] if card.slot not in known else []
    return (msgspec.structs.replace(state, revealed=known) if events else state), events


def answered_proposals(
    state: UserState, answer: UserAnswer, heard: Sequence[Event], order: int, turn: int
) -> tuple[UserState, list[Event], list[str]]:
    """The state, the `consented` and `refused` events, and the faults after the answer to what the agent proposed.

    One proposal is answered by the words, and by the claim where they leave it open. Of several, each is answered by its
    claim; without any claim, only by a plain answer to all of them.
    """
    proposals = [event for event in heard if event.kind == "proposed" and event.tool is not None]
    said = assent(answer.say)
    yes = {claim.tool: claim.quote for claim in answer.consents}
    no = {claim.tool: claim.quote for claim in answer.refuses}
    events: list[Event] = []
    faults: list[str] = []
    agreed = list(state.agreed)
    for proposal in proposals:
        tool = proposal.tool or ""
        claim = "yes" if tool in yes and tool not in no else "no" if tool in no and tool not in yes else None
        if len({event.tool for event in proposals}) > 1:
            decision = claim if yes or no else said if _is_plain(answer.say) else None
            decision = "no" if said == "no" and not no else decision
        else:
            decision = claim if said is None else None if (said, claim) == ("yes", "no") else said
        if decision is None or (decision == "yes" and not _is_meant(proposal, proposals, answer.say)):
            continue
        kind = "consented" if decision == "yes" else "refused"
        quote = (yes if decision == "yes" else no).get(tool, answer.say)[:200]
        arguments = dict(proposal.arguments)
        rule = allowing(state.scenario, tool, arguments)
        if decision == "yes" and rule is not None and rule.covers:
            arguments = dict(rule.covers)
        events.append(_decided(kind, tool, arguments, quote, order, turn))
        if decision == "yes":
            if rule is None:
                faults.append(WRONG_CONSENT)
            if (tool, arguments) not in agreed:
                agreed.append((tool, arguments))
    return msgspec.structs.replace(state, agreed=agreed), events, faults


def _is_plain(say: str) -> bool:
    """Whether an answer is nothing but an answer: it leaves nothing out that was proposed."""
    words = say.lower().split()
    return len(words) <= _FEW_WORDS or not {"both", "everything", "all"}.isdisjoint(
        word.strip(".,!;") for word in words
    )


def _is_meant(proposal: Event, proposals: Sequence[Event], say: str) -> bool:
    """Whether a yes can be to this one of several proposals of a tool: it names what sets it apart."""
    rivals = [event for event in proposals if event.tool == proposal.tool and event.arguments != proposal.arguments]
    if not rivals:
        return True
    text = say.casefold()

    def named(event: Event) -> bool:
        others = {str(value) for one in [proposal, *rivals] if one is not event for value in one.arguments.values()}
        own = {str(value) for value in event.arguments.values()} - others
        return any(value.casefold().removesuffix(".0") in text for value in own)

    return named(proposal) and not any(named(rival) for rival in rivals)


def _decided(kind: str, tool: str, arguments: dict[str, Scalar], quote: str, order: int, turn: int) -> Event:
    return Event(
        turn,
        "consented" if kind == "consented" else "refused",
        "user",
        order,
        tool=tool,
        arguments=arguments,
        quote=quote,
    )


def misstatements(
    say: str, state: UserState, known: Sequence[str], heard: Sequence[Event], reader: Reader
) -> list[str]:
    """Labels for values that the user should not have said.

    Args:
        known: texts whose values the user may repeat: what was said before, and what the scenario has it say.
        heard: the agent's events of the message that is answered.
    """
    faults: list[str] = []
    hidden = [card for card in state.scenario.facts if card.reveal == "never"]
    if any(holds_value(say, card, reader) for card in hidden):
        faults.append(HIDDEN_FACT_LEAKED)
    cards = state.scenario.facts
    slots = {card.slot for card in cards} | {event.slot for event in heard if event.kind == "asked" and event.slot}
    allowed = [mention.value for text in known for mention in reader.mentions(text).values]
    allowed += [card.value for card in cards] + list(_rule_values(state))
    digits = {run for text in known for run in _DIGITS.findall(text)}
    digits |= {run for value in allowed for run in _DIGITS.findall(str(value))}
    mentions = reader.mentions(say)
    invented = any(
        _claims_fact(mention, slots)
        and not any(spoken_equal(mention.value, value) for value in allowed)
        and not _made_of(mention.text, digits)
        for mention in mentions.values
    )
    if invented or any(len(run) >= _LONG and run not in digits for run in mentions.numbers):
        faults.append(FACT_INVENTED)
    return faults


def _claims_fact(mention: Mention, slots: set[str]) -> bool:
    """Whether a value is stated of something: an everyday word or small number only where its slot is at stake."""
    if mention.type == "choice":
        return mention.slot in slots
    if mention.type == "number":
        return mention.slot in slots or len(_DIGITS.sub("", mention.text)) + _LONG <= len(mention.text)
    return True


def _made_of(text: str, digits: set[str]) -> bool:
    """Whether a value is only digits that were said before, such as a PIN that looks like a number."""
    return text.isdigit() and text in digits


def _rule_values(state: UserState) -> Iterator[Scalar]:
    """The values of what the user agrees to, as they are said."""
    for rule in state.scenario.consents:
        for matcher in rule.arguments.values():
            if not isinstance(matcher, Match):
                yield matcher
            elif matcher.one_of is not None:
                yield from matcher.one_of
