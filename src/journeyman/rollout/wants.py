"""What a user wants at each moment of a dialogue: what is settled, argued about, agreed to and thought better of.

Pure functions from state to state, for the scripted user and for one that a model plays: the words are theirs, the
wishes are the scenario's. Nothing here reads text or makes replies.

A refusal that the user argues with is no refusal yet: it neither settles anything nor triggers a change of mind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from journeyman.episode import Event
from journeyman.grading.predicates import event_matches, spoken_matches
from journeyman.task import ChangeOfMind, ConsentRule, Data, EventPattern, FactCard, Match, Matcher, Scalar, Scenario


class UserState(Data, frozen=True):
    """All a user remembers; plain data, so that a snapshot can hold it.

    Args:
        scenario: the wishes in force: cards, consents and settles are replaced by each change of mind.
        revealed: slots told so far. settled: indices of `scenario.settles` seen so far. agreed: what was consented to
            and still stands.
        idle: agent messages in a row without progress. steps: messages answered.
        changed: changes of mind that took place. pushed: refusals argued with, by slot.
    """

    scenario: Scenario
    seed: int
    revealed: list[str] = []
    settled: list[int] = []
    agreed: list[tuple[str, dict[str, Scalar]]] = []
    idle: int = 0
    steps: int = 0
    left: bool = False
    changed: int = 0
    pushed: dict[str, int] = {}


class Heard(NamedTuple):
    """What the user makes of a message: the state after it, the replies that argue, and the events taken as they are."""

    state: UserState
    arguments: list[str]
    events: list[Event]


def hear(state: UserState, events: Iterable[Event]) -> Heard:
    """Take in the agent's events, arguing with each refusal that the scenario argues with; other speakers' are ignored."""
    says: list[str] = []
    taken: list[Event] = []
    pushed = dict(state.pushed)
    for event in events:
        if event.by != "agent":
            continue
        argument = _argument(state, event)
        if argument is None:
            taken.append(event)
        else:
            says.append(argument)
            pushed[event.slot or ""] = pushed.get(event.slot or "", 0) + 1
    if not says:
        return Heard(state, [], taken)
    return Heard(msgspec.structs.replace(state, pushed=pushed), says, taken)


def _argument(state: UserState, event: Event) -> str | None:
    if event.kind != "denied":
        return None
    used = state.pushed.get(event.slot or "", 0)
    pushback = next((one for one in state.scenario.pushbacks if one.slot == event.slot), None)
    return pushback.says[used] if pushback is not None and used < len(pushback.says) else None


def settle(state: UserState, events: Iterable[Event]) -> UserState:
    """The state with every settling event seen."""
    heard = list(events)
    settled = set(state.settled)
    for number, pattern in enumerate(state.scenario.settles):
        if number not in settled and any(_settles(pattern, event) for event in heard):
            settled.add(number)
    if len(settled) == len(state.settled):
        return state
    return msgspec.structs.replace(state, settled=sorted(settled))


def is_settled(state: UserState) -> bool:
    """Whether all that the user came for has happened."""
    return bool(state.scenario.settles) and len(state.settled) == len(state.scenario.settles)


def _settles(pattern: EventPattern, event: Event) -> bool:
    # A user knows no ids that the business makes up: a reference to one is settled by any value.
    if isinstance(pattern.value, Match) and pattern.value.ref is not None:
        pattern = msgspec.structs.replace(pattern, value=None)
    return event_matches(pattern, event, {})


def due_change(state: UserState, events: Iterable[Event]) -> ChangeOfMind | None:
    """The next change of mind, if one of the events triggers it. Changes take place in their order."""
    if state.changed >= len(state.scenario.changes):
        return None
    change = state.scenario.changes[state.changed]
    return change if any(event_matches(change.trigger, event, {}) for event in events) else None


def change_mind(state: UserState, change: ChangeOfMind, turn: int, order: int) -> tuple[UserState, list[Event]]:
    """The state under the new wishes, and what the user lets know: a `changed_mind` for each card, each consent that no
    longer stands, or at least one; a `revealed` for each card that is told at once."""
    new = {card.slot for card in change.facts}
    told = list(dict.fromkeys(card.slot for card in change.facts if card.reveal == "start"))
    scenario = msgspec.structs.replace(
        state.scenario,
        facts=[card for card in state.scenario.facts if card.slot not in new] + change.facts,
        consents=change.consents,
        settles=change.settles,
    )
    stands = [(tool, arguments) for tool, arguments in state.agreed if allowing(scenario, tool, arguments)]
    events: list[Event] = []
    for card in change.facts:
        known = card.value if card.reveal == "start" else None
        events.append(Event(turn, "changed_mind", "user", order, slot=card.slot, value=known, quote=change.say))
    for tool, arguments in state.agreed:
        if (tool, arguments) not in stands:
            events.append(
                Event(turn, "changed_mind", "user", order, tool=tool, arguments=dict(arguments), quote=change.say)
            )
    events = events or [Event(turn, "changed_mind", "user", order, quote=change.say)]
    events += [revealed(card, turn, order, change.say) for card in change.facts if card.reveal == "start"]
    after = msgspec.structs.replace(
        state,
        scenario=scenario,
        revealed=[slot for slot in state.revealed if slot not in new] + told,
        settled=[],
        agreed=stands,
        changed=state.changed + 1,
    )
    return after, events


def allowing(scenario: Scenario, tool: str, arguments: Mapping[str, Scalar]) -> ConsentRule | None:
    """The rule that agrees to the call: all its arguments are stated and none contradicts it."""
    for rule in scenario.consents:
        if rule.tool == tool and not contradicts(rule, arguments) and not lacking(rule, arguments):
            return rule
    return None


def contradicts(rule: ConsentRule, arguments: Mapping[str, Scalar]) -> bool:
    """Whether an argument is stated that the rule does not agree to."""
    return any(
        name in arguments and not spoken_matches(matcher, arguments[name], {})
        for name, matcher in rule.arguments.items()
    )


def lacking(rule: ConsentRule, arguments: Mapping[str, Scalar]) -> list[str]:
    """Arguments that the rule demands and that are not stated."""
    return [name for name, matcher in rule.arguments.items() if name not in arguments and not _may_be_unsaid(matcher)]


def _may_be_unsaid(matcher: Matcher) -> bool:
    return isinstance(matcher, Match) and matcher.one_of is not None and None in matcher.one_of


def wants_any(state: UserState, heard: Sequence[Event]) -> bool:
    """Whether something was proposed that the user wants and has not agreed to yet: no time to leave."""
    return any(
        rule.tool == event.tool
        and not contradicts(rule, event.arguments)
        and all(tool != event.tool for tool, _ in state.agreed)
        for event in heard
        if event.kind == "proposed"
        for rule in state.scenario.consents
    )


def waits(state: UserState, heard: Sequence[Event], *, progress: bool) -> bool:
    """Whether a user who has all it came for stays for one more message: the agent announced more work, and patience
    is left. `progress`: whether the message brought any."""
    announced = any(event.kind == "announced" for event in heard)
    return announced and (progress or state.idle + 1 < state.scenario.patience)


def tellable(scenario: Scenario, slot: str) -> list[FactCard]:
    """The cards of a slot that may be told."""
    return [card for card in scenario.facts if card.slot == slot and card.reveal != "never"]


def told_with(state: UserState, slot: str) -> list[str]:
    """Slots that a question about `slot` brings out besides it: those of its bundles that may be told and are not yet."""
    return [
        other
        for bundle in state.scenario.bundles
        if slot in bundle
        for other in bundle
        if other != slot and other not in state.revealed and tellable(state.scenario, other)
    ]


def revealed(card: FactCard, turn: int, order: int, quote: str) -> Event:
    """The user told the value of a card."""
    return Event(turn, "revealed", "user", order, slot=card.slot, value=card.value, quote=quote)
