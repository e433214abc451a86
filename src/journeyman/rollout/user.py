"""The scripted user: a pure step from (state, what the agent's message meant) to (state, reply, events).

It never sees the database, and of the agent's message it acts on the events that the reader found, never on its words:
text that imitates a user's turn changes nothing. What it wants is decided in `wants.py`; here are its answers.

An answer is made of, in this order: arguments against a refusal, a change of mind, answers to proposals and questions,
small talk; a change of mind that the user's own answer triggers comes last. The message that triggers a change settles nothing.
Who has all they came for leaves, unless the agent announces more work: then they wait for its next message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from journeyman.codec import seed_of
from journeyman.episode import Event
from journeyman.errors import TaskFileError
from journeyman.grading.values import from_column
from journeyman.rollout.phrasing import phrase
from journeyman.rollout.wants import (
    UserState,
    allowing,
    change_mind,
    contradicts,
    due_change,
    hear,
    is_settled,
    lacking,
    revealed,
    settle,
    tellable,
    told_with,
    waits,
    wants_any,
)
from journeyman.task import ChangeOfMind, Scalar, Task

__all__ = ["ScriptedUser", "Step", "UserState", "opening"]

Step = tuple[UserState, str | None, list[Event], bool]


def opening(task: Task, seed: int) -> tuple[UserState, str, list[Event]]:
    """The first message, which tells all `start` facts, and its `revealed` events (turn -1).

    Raises:
        TaskFileError: the task has no scenario, or one without an opening.
    """
    scenario = task.scenario
    if scenario is None or not scenario.openings:
        raise TaskFileError(task.id, "scenario", "a simulated user needs a scenario with at least one opening.")
    text = scenario.openings[seed_of(seed, "opening") % len(scenario.openings)]
    start = [card for card in scenario.facts if card.reveal == "start"]
    events = [revealed(card, -1, 0, text) for card in start]
    return UserState(scenario, seed, revealed=_unique(card.slot for card in start)), text, events


class ScriptedUser:
    """Plays a scenario by rules. Holds nothing: everything is in the state."""

    def open(self, task: Task, seed: int) -> tuple[UserState, str, list[Event]]:
        """See `opening`."""
        return opening(task, seed)

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
        heard = hear(state, agent_events)
        answer = _Answer(state, heard.state, order, turn)
        waiting = False
        answer.argue(heard.arguments)
        change = due_change(heard.state, heard.events)
        if change is not None:
            answer.change(change)
        else:
            answer.settle(heard.events)
            if is_settled(answer.state) and not heard.arguments and not wants_any(answer.state, heard.events):
                if not waits(answer.state, heard.events, progress=answer.progress):
                    return answer.leave("settled")
                waiting = True
        for event in heard.events:
            if event.kind == "proposed" and event.tool is not None:
                answer.propose(event.tool, event.arguments)
        answer.ask(_unique(event.slot for event in heard.events if event.kind == "asked" and event.slot))
        if change is None:
            afterthought = due_change(answer.state, answer.events)
            if afterthought is not None:
                answer.change(afterthought)
        if not answer.progress and state.idle + 1 >= state.scenario.patience:
            return answer.leave("patience")
        if not answer.parts:
            # A question of which nothing was read may ask for agreement: it is asked back, whatever was told beside it.
            answer.say("wait" if waiting else "unsure" if "?" in agent_text else "nudge")
        return answer.close()


class _Answer:
    """One reply in the making. `state` is the state as it becomes; `progress` whether the message got anywhere."""

    def __init__(self, before: UserState, heard: UserState, order: int, turn: int) -> None:
        self._before = before
        self._order = order
        self._turn = turn
        self.state = heard
        self.events: list[Event] = []
        self.parts: list[str] = []
        self.progress = False

    def say(self, occasion: str, **parts: str) -> None:
        """Add a phrase to the reply, once."""
        self._add(phrase(self._before.scenario.persona, occasion, self._before.seed, self._before.steps, **parts))

    def argue(self, says: Sequence[str]) -> None:
        """Argue with refusals."""
        for text in says:
            self._add(text)
            self.progress = True

    def change(self, change: ChangeOfMind) -> None:
        """Want something else from here on."""
        self.state, events = change_mind(self.state, change, self._turn, self._order)
        self.events += events
        self._add(change.say)
        self.progress = True

    def settle(self, heard: Sequence[Event]) -> None:
        """Take note of what was told."""
        after = settle(self.state, heard)
        self.progress |= after is not self.state
        self.state = after

    def ask(self, slots: Sequence[str]) -> None:
        """Answer questions about `slots`: tell, tell again or withhold; "I don't know" only where there is no answer to
        any of them, because one question often touches several slots."""
        for slot in slots:
            if slot in self.state.revealed and slot not in self._before.revealed:
                continue  # told a moment ago, together with another
            if tellable(self.state.scenario, slot):
                self._tell([slot, *told_with(self.state, slot)])
            elif any(card.slot == slot for card in self.state.scenario.facts):
                self.say("withhold")
        if slots and not self.parts:
            self.say("unknown")

    def _tell(self, slots: Sequence[str]) -> None:
        cards = [card for slot in _unique(slots) for card in tellable(self.state.scenario, slot)]
        again = slots[0] in self.state.revealed
        new = [card for card in cards if card.slot not in self.state.revealed]
        self.say("again" if again else "answer", said=" ".join(card.text for card in cards))
        if new:
            known = self.state.revealed + _unique(card.slot for card in new)
            self.state = msgspec.structs.replace(self.state, revealed=known)
            self.events += [revealed(card, self._turn, self._order, card.text) for card in new]
            self.progress = True

    def propose(self, tool: str, arguments: Mapping[str, Scalar]) -> None:
        """Consent to a proposal that states all a rule demands; ask back where it is only vague; refuse any other."""
        what = tool.replace("_", " ")
        rule = allowing(self.state.scenario, tool, arguments)
        if rule is not None:
            arguments = rule.covers or arguments
            self.say("consent", what=what)
            self._event("consented", tool, arguments)
            if (tool, dict(arguments)) not in self.state.agreed:
                agreed = [*self.state.agreed, (tool, dict(arguments))]
                self.state = msgspec.structs.replace(self.state, agreed=agreed)
                self.progress = True
            return
        vague = (
            rule for rule in self.state.scenario.consents if rule.tool == tool and not contradicts(rule, arguments)
        )
        missing = next((lacking(rule, arguments) for rule in vague), [])
        if missing:
            self.say("which", what=what, missing=" and ".join(_spoken_name(name) for name in missing))
            return
        said = "; ".join(_spoken_call(*call) for call in self.state.agreed)
        self.say("refuse", what=what, agreed=f" I only agreed to the {said}." if said else "")
        self._event("refused", tool, arguments)

    def leave(self, why: str) -> Step:
        """Say goodbye. `why`: `settled` or `patience`."""
        self.parts = []
        self.say(why)
        event = Event(self._turn, "left", "user", self._order, value=why, quote=self.parts[0])
        state = msgspec.structs.replace(
            self._before, settled=self.state.settled, pushed=self.state.pushed, steps=self._before.steps + 1, left=True
        )
        return state, self.parts[0], [event], True

    def close(self) -> Step:
        """The finished step."""
        self._chat()
        idle = 0 if self.progress else self._before.idle + 1
        state = msgspec.structs.replace(self.state, idle=idle, steps=self._before.steps + 1)
        return state, " ".join(self.parts), self.events, False

    def _chat(self) -> None:
        """One sentence of small talk in each of the first replies, in an order that the seed picks."""
        talk, seed = self._before.scenario.small_talk, self._before.seed
        if self._before.steps < len(talk):
            order = sorted(range(len(talk)), key=lambda number: seed_of(seed, "small talk", number))
            self._add(talk[order[self._before.steps]])

    def _add(self, text: str) -> None:
        if text not in self.parts:
            self.parts.append(text)

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
        self.events.append(made)


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
