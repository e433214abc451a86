"""Who plays the user of an episode: what the loop needs of one, and the scripted one.

An `EpisodeUser` lives for one episode. It never sees the session; of the agent's message it gets the text and what the
reader made of it. Whatever it raises is the user's failure, but for an endpoint that does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from journeyman.episode import Event, Usage
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.user import ScriptedUser, UserState

if TYPE_CHECKING:
    from journeyman.world import World

Answer = tuple[str | None, list[Event], bool]
"""What the user says (None: nothing any more), its events, and whether it leaves with that."""


class EpisodeUser(Protocol):
    """The user of one episode."""

    @property
    def slow(self) -> bool:
        """Whether an answer takes time: then no sampler waits for the episode meanwhile."""
        ...

    def open(self) -> tuple[str, list[Event]]:
        """The first message and its events (turn -1)."""
        ...

    async def answer(self, text: str, read: Sequence[Event], order: int, turn: int) -> Answer:
        """Answer one agent message.

        Args:
            read: the agent's events in it. order: calls made so far. turn: the agent turn that is answered.

        Raises:
            EndpointError: what the user runs on does not answer.
        """
        ...

    def usage(self) -> Usage:
        """Tokens and requests so far."""
        ...

    def faults(self) -> list[str]:
        """Labels of what the user did wrong so far, each once."""
        ...


UserMaker = Callable[[EpisodeSpec, "World"], EpisodeUser]
"""Makes the user of an episode; its task has a scenario."""


class ScriptedEpisodeUser:
    """The scripted user of one episode, with its state."""

    slow = False

    def __init__(self, spec: EpisodeSpec) -> None:
        self._spec = spec
        self._script = ScriptedUser()
        self._state: UserState

    def open(self) -> tuple[str, list[Event]]:
        self._state, text, events = self._script.open(self._spec.task, self._spec.seeds.user)
        return text, events

    async def answer(self, text: str, read: Sequence[Event], order: int, turn: int) -> Answer:
        self._state, reply, events, left = self._script.step(self._state, text, read, order, turn)
        return reply, events, left

    def usage(self) -> Usage:
        return Usage()

    def faults(self) -> list[str]:
        return []


def scripted_user(spec: EpisodeSpec, world: World) -> EpisodeUser:
    """See `UserMaker`."""
    return ScriptedEpisodeUser(spec)
