"""The scripted user: a pure step from (state, what the agent's message meant) to (state, reply, events).

It never sees the database, and of the agent's message it acts on the events that the reader found, never on its words:
text that imitates a user's turn changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from journeyman.codec import seed_of
from journeyman.episode import Event
from journeyman.errors import TaskFileError
from journeyman.grading.predicates import event_matches, spoken_matches
from journeyman.grading.values import from_column
from journeyman.rollout.phrasing import phrase
from journeyman.task import ConsentRule, Data, EventPattern, FactCard, Match, Scalar, Scenario, Task


class UserState(Data, frozen=True):
    """All a user remembers; plain data, so that a snapshot can hold it.

    Args:
        revealed: slots told so far. settled: indices of `scenario.settles` seen so far. agreed: what was consented to.
        idle: agent messages in a row without progress. steps: messages answered.
    """

    scenario: Scenario
    seed: int
    revealed: list[str] = []
    settled: list[int] = []
    agreed: list[tuple[str, dict[str, Scalar]]] = []
    idle: int = 0
    steps: int = 0
    left: bool = False


Step = tuple[UserState, str | None, list[Event], bool]


class ScriptedUser:
    """Plays a scenario by rules. Holds nothing: everything is in the state."""

    def open(self, task: Task, seed: int) -> tuple[UserState, str, list[Event]]:
        """The first message, which tells all `start` facts, and its `revealed` events (turn -1).

        Raises:
            TaskFileError: the task has no scenario, or one without an opening.
        """
        scenario = task.scenario
        if scenario is None or not scenario.openings:
            raise TaskFileError(task.id, "scenario", "a scripted user needs a scenario with at least one opening.")
        text = scenario.openings[seed_of(seed, "opening") % len(scenario.openings)]
        start = [card for card in scenario.facts if card.reveal == "start"]
        events = [_revealed(card, -1, 0, text) for card in start]
        return UserState(scenario, seed, revealed=_unique(card.slot for card in start)), text, events

    def step(self, state: UserState, agent_text: str, agent_events: Sequence[Event], order: int, turn: int) -> Step:
        """Answer one agent message.

        Args:
            agent_events: what the reader found in `agent_text`; events of other speakers are ignored.
            order: calls made so far. turn: the agent turn that is answered.

        Returns:
            (state, reply, events, left). The reply tells only facts that were asked for and may be told. After leaving,
            further steps give (state, None, [], True).
        """
        if state.left:
            return state, None, [], True
        answer = _Answer(state, order, turn)
        heard = [event for event in agent_events if event.by == "agent"]
        settles = state.scenario.settles
        settled = set(state.settled)
        for number, pattern in enumerate(settles):
            if any(_settles(pattern, event) for event in heard):
                settled.add(number)
        answer.progress = len(settled) > len(state.settled)
        if settles and len(settled) == len(settles) and not answer.wants_any(heard):
            return answer.leave("settled", sorted(settled))
        for event in heard:
            if event.kind == "proposed" and event.tool is not None:
                answer.propose(event.tool, event.arguments)
        answer.ask(_unique(event.slot for event in heard if event.kind == "asked" and event.slot))
        idle = 0 if answer.progress else state.idle + 1
        if idle >= state.scenario.patience:
            return answer.leave("patience", sorted(settled))
        if not answer.parts:
            puzzled = "?" in agent_text and not any(event.kind in ("stated", "denied") for event in heard)
            answer.say("unsure" if puzzled else "nudge")
        return answer.close(sorted(settled), idle)


class _Answer:
    """One reply in the making."""

    def __init__(self, state: UserState, order: int, turn: int) -> None:
        self._state = state
        self._order = order
        self._turn = turn
        self._events: list[Event] = []
        self._revealed = list(state.revealed)
        self._agreed = list(state.agreed)
        self.parts: list[str] = []
        self.progress = False

    def say(self, occasion: str, **parts: str) -> None:
        """Add a phrase to the reply, once."""
        text = phrase(self._state.scenario.persona, occasion, self._state.seed, self._state.steps, **parts)
        if text not in self.parts:
            self.parts.append(text)

    def ask(self, slots: Sequence[str]) -> None:
        """Answer questions about `slots`: tell, tell again or withhold; "I don't know" only where there is no answer to
        any of them, because one question often touches several slots."""
        for slot in slots:
            cards = [card for card in self._state.scenario.facts if card.slot == slot]
            told = [card for card in cards if card.reveal != "never"]
            if told:
                self.say("again" if slot in self._revealed else "answer", said=" ".join(card.text for card in told))
                if slot not in self._revealed:
                    self._revealed.append(slot)
                    self.progress = True
                    self._events += [_revealed(card, self._turn, self._order, card.text) for card in told]
            elif cards:
                self.say("withhold")
        if slots and not self.parts:
            self.say("unknown")

    def propose(self, tool: str, arguments: Mapping[str, Scalar]) -> None:
        """Consent to a proposal that states all a rule demands; ask back where it is only vague; refuse any other."""
        what = tool.replace("_", " ")
        missing: list[str] = []
        for rule in self._state.scenario.consents:
            if rule.tool != tool or _contradicts(rule, arguments):
                continue
            lacking = [name for name in rule.arguments if name not in arguments]
            if not lacking:
                self.say("consent", what=what)
                self._event("consented", tool, arguments)
                if (tool, dict(arguments)) not in self._agreed:
                    self._agreed.append((tool, dict(arguments)))
                    self.progress = True
                return
            missing = missing or lacking
        if missing:
            self.say("which", what=what, missing=" and ".join(_spoken_name(name) for name in missing))
            return
        agreed = "; ".join(_spoken_call(*call) for call in self._agreed)
        self.say("refuse", what=what, agreed=f" I only agreed to the {agreed}." if agreed else "")
        self._event("refused", tool, arguments)

    def wants_any(self, heard: Sequence[Event]) -> bool:
        """Whether something was proposed that the user wants and has not agreed to yet: no time to leave."""
        return any(
            rule.tool == event.tool
            and not _contradicts(rule, event.arguments)
            and all(tool != event.tool for tool, _ in self._agreed)
            for event in heard
            if event.kind == "proposed"
            for rule in self._state.scenario.consents
        )

    def leave(self, why: str, settled: list[int]) -> Step:
        """Say goodbye. `why`: `settled` or `patience`."""
        self.parts = []
        self.say(why)
        self._events = [Event(self._turn, "left", "user", self._order, value=why, quote=self.parts[0])]
        self._revealed, self._agreed = list(self._state.revealed), list(self._state.agreed)
        return self.close(settled, self._state.idle, left=True)

    def close(self, settled: list[int], idle: int, *, left: bool = False) -> Step:
        """The finished step."""
        old = self._state
        steps = old.steps + 1
        state = UserState(old.scenario, old.seed, self._revealed, settled, self._agreed, idle, steps, left)
        return state, " ".join(self.parts), self._events, left

    def _event(self, kind: str, tool: str, arguments: Mapping[str, Scalar]) -> None:
        made = Event(
            self._turn,
            "consented" if kind == "consented" else "refused",
            "user",
            self._order,
            tool=tool,
            arguments=dict(arguments),
            quote=self.parts[-1],
        )
        self._events.append(made)


def _settles(pattern: EventPattern, event: Event) -> bool:
    # A user knows no ids that the business makes up: a reference to one is settled by any value.
    if isinstance(pattern.value, Match) and pattern.value.ref is not None:
        pattern = msgspec.structs.replace(pattern, value=None)
    return event_matches(pattern, event, {})


def _contradicts(rule: ConsentRule, arguments: Mapping[str, Scalar]) -> bool:
    return any(
        name in arguments and not spoken_matches(matcher, arguments[name], {})
        for name, matcher in rule.arguments.items()
    )


def _revealed(card: FactCard, turn: int, order: int, quote: str) -> Event:
    return Event(turn, "revealed", "user", order, slot=card.slot, value=card.value, quote=quote)


def _spoken_name(argument: str) -> str:
    for suffix in ("_cents", "_id"):
        argument = argument.removesuffix(suffix)
    return argument.replace("_", " ")


def _spoken_call(tool: str, arguments: Mapping[str, Scalar]) -> str:
    """What was agreed to, in the values the agent itself had proposed."""
    said = []
    for name, value in arguments.items():
        plain = from_column(value, name)
        said.append(
            f"{_spoken_name(name)} {f'${plain:,.2f}' if name.endswith('_cents') and plain is not None else plain}"
        )
    return tool.replace("_", " ") + (f" ({', '.join(said)})" if said else "")


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
