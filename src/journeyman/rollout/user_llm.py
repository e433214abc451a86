"""A user that a model plays: the scenario's wishes decided by rules, the words by a chat model.

    users = ModelledUsers(client, temperature=0.7)
    episode = await play(spec, world, policy, PlaySettings(user=users))

The first message is one of the scenario's openings, as with the scripted user. For each later one the model is told what
it wants and knows by now, the conversation, and what to do (argue, change its mind, leave); it never sees the database.
What its words amount to is read by the same reader as the agent's. An answer that cannot be used is asked for once more;
a second one is a failure of the user. What it says wrongly is labelled (see `user_events.py`), not repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from journeyman.codec import seed_of
from journeyman.engine.chat import ChatClient, EndpointFailed
from journeyman.episode import Event, Usage
from journeyman.grading.dialogue import Reader
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.scenario_check import holds_value
from journeyman.rollout.user import UserState, opening
from journeyman.rollout.user_answer import MalformedAnswer, UserAnswer, parse_answer
from journeyman.rollout.user_events import ENDED_BEFORE_COMPLETION, answered_proposals, misstatements, told_facts
from journeyman.rollout.user_prompt import direction, messages
from journeyman.rollout.users import Answer, EpisodeUser
from journeyman.rollout.wants import (
    allowing,
    change_mind,
    due_change,
    hear,
    is_settled,
    settle,
    tellable,
    waits,
    wants_any,
)
from journeyman.task import ChangeOfMind

if TYPE_CHECKING:
    from journeyman.world import World

TRIES = 2
"""Answers asked for before the user has failed."""


@dataclass(frozen=True)
class ModelledUsers:
    """Makes users that a model plays; a `UserMaker`.

    Args:
        max_tokens: of one answer.
    """

    client: ChatClient
    temperature: float = 0.7
    max_tokens: int = 400

    def __call__(self, spec: EpisodeSpec, world: World) -> EpisodeUser:
        return ModelledUser(self, spec, Reader(world.lexicon))


class ModelledUser:
    """One user in one episode."""

    slow = True

    def __init__(self, settings: ModelledUsers, spec: EpisodeSpec, reader: Reader) -> None:
        self._settings = settings
        self._spec = spec
        self._reader = reader
        self._state: UserState
        self._opening = ""
        self._past: list[tuple[str, str]] = []
        self._script: list[str] = []
        self._usage = Usage()
        self._faults: dict[str, None] = {}

    def open(self) -> tuple[str, list[Event]]:
        self._state, self._opening, events = opening(self._spec.task, self._spec.seeds.user)
        scenario = self._state.scenario
        self._script = [*scenario.openings, scenario.goal, *(card.text for card in scenario.facts)]
        return self._opening, events

    def usage(self) -> Usage:
        return self._usage

    def faults(self) -> list[str]:
        return list(self._faults)

    async def answer(self, text: str, read: Sequence[Event], order: int, turn: int) -> Answer:
        if self._state.left:
            return None, [], True
        before = self._state
        heard = hear(before, read)
        state, say = heard.state, list(heard.arguments)
        events: list[Event] = []
        change = due_change(state, heard.events)
        if change is not None:
            state, events = change_mind(state, change, turn, order)
            say.append(change.say)
        else:
            state = settle(state, heard.events)
        settled = change is None and is_settled(state) and not say and not wants_any(state, heard.events)
        hopeful = bool(say) or len(state.settled) > len(before.settled) or self._can_help(state, heard.events)
        waiting = settled and waits(state, heard.events, progress=hopeful)
        settled &= not waiting
        leave = settled or (not hopeful and before.idle + 1 >= before.scenario.patience)
        say += [] if leave else self._small_talk(before)
        self._script += say
        answer = await self._ask(state, text, direction(say, leave=leave, settled=settled, wait=waiting), change)
        state, told = told_facts(state, answer, self._reader, order, turn)
        state, decided, faults = answered_proposals(state, answer, heard.events, order, turn)
        events += told + decided
        known = [*self._script, text, *(said for pair in self._past for said in pair)]
        faults += misstatements(answer.say, state, known, heard.events, self._reader)
        self._past.append((text, answer.say))
        self._faults.update(dict.fromkeys(faults))
        progress = hopeful and (bool(events) or bool(say) or len(state.settled) > len(before.settled))
        said = answer.say
        if leave or answer.done:
            return self._leave(state, said, events, order, turn, settled=settled, early=not leave)
        afterthought = due_change(state, events) if change is None else None
        if afterthought is not None:
            # It follows from the user's own words, so the model cannot have said it: the scenario's words are added.
            state, more = change_mind(state, afterthought, turn, order)
            said, events, progress = f"{said} {afterthought.say}", events + more, True
            self._past[-1] = (text, said)
            self._script.append(afterthought.say)
        idle = 0 if progress else before.idle + 1
        self._state = msgspec.structs.replace(state, idle=idle, steps=before.steps + 1)
        return said, events, False

    def _leave(
        self, state: UserState, said: str, events: list[Event], order: int, turn: int, *, settled: bool, early: bool
    ) -> Answer:
        why = "settled" if settled else "early" if early else "patience"
        if early:
            self._faults[ENDED_BEFORE_COMPLETION] = None
        self._state = msgspec.structs.replace(state, steps=state.steps + 1, left=True)
        return said, [*events, Event(turn, "left", "user", order, value=why, quote=said[:200])], True

    @staticmethod
    def _can_help(state: UserState, heard: Sequence[Event]) -> bool:
        """Whether the message asks for something the user can still tell, or proposes something it wants."""
        return any(
            (
                event.kind == "asked"
                and event.slot not in state.revealed
                and bool(tellable(state.scenario, event.slot or ""))
            )
            or (event.kind == "proposed" and allowing(state.scenario, event.tool or "", event.arguments) is not None)
            for event in heard
        )

    @staticmethod
    def _small_talk(state: UserState) -> list[str]:
        talk = state.scenario.small_talk
        order = sorted(range(len(talk)), key=lambda number: seed_of(state.seed, "small talk", number))
        return [talk[order[state.steps]]] if state.steps < len(talk) else []

    async def _ask(self, state: UserState, text: str, now: str, change: ChangeOfMind | None) -> UserAnswer:
        """An answer that can be used. Raises MalformedAnswer after the last try, EndpointFailed where there is none."""
        talk = messages(state, self._opening, self._past, text, now)
        for attempt in range(TRIES):
            seed = seed_of(self._spec.seeds.user, "modelled user", state.steps, attempt)
            raw = await self._chat(talk, seed)
            try:
                answer = parse_answer(raw)
                self._check(answer, change)
                return answer
            except MalformedAnswer as error:
                reason = str(error)
            talk = [
                *talk,
                {"role": "assistant", "content": raw},
                {"role": "user", "content": f"That answer cannot be used: {reason}. Give the JSON object once more."},
            ]
        raise MalformedAnswer(f"the user gave no usable answer in {TRIES} tries: {reason}")

    def _check(self, answer: UserAnswer, change: ChangeOfMind | None) -> None:
        """A change of mind must be told with its values: the agent could not know of it otherwise."""
        for card in change.facts if change is not None else []:
            if card.reveal == "start" and not holds_value(answer.say, card, self._reader):
                raise MalformedAnswer(f"`say` does not tell {card.slot} = {card.value}")

    async def _chat(self, talk: list[dict[str, object]], seed: int) -> str:
        settings = self._settings
        try:
            reply = await settings.client.chat(
                talk, max_tokens=settings.max_tokens, temperature=settings.temperature, seed=seed
            )
        except EndpointFailed as failed:
            self._add(failed.usage)
            raise
        self._add(Usage(reply.prompt_tokens, reply.completion_tokens, reply.requests, reply.estimated))
        return reply.text

    def _add(self, more: Usage) -> None:
        old = self._usage
        self._usage = Usage(
            old.input + more.input,
            old.output + more.output,
            old.requests + more.requests,
            old.estimated + more.estimated,
        )
