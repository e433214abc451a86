"""What a training method is: a source of graded groups, and a function from them to samples. Types only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from journeyman.engine.base import LossSettings
from journeyman.episode import Group, Sample
from journeyman.task import Data


class GroupRequest(Data, frozen=True):
    """Play `size` attempts of a task under the group id `phase/step/group`."""

    id: str
    task_id: str
    size: int


class GroupSource(Protocol):
    """Plays groups. Where they come from (a world here, a server elsewhere) is its own affair."""

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        """The groups, in the order of the requests, each with its episodes in trial order.

        Rewards are final: a criterion that could not be decided in one episode is left out of its whole group.
        """
        ...


class Batch(Struct, frozen=True):
    """The groups of one training step.

    Args:
        groups: those that feed the update.
        played: all that were sampled for it, those without signal included (empty where nothing was sampled).
        position: draws made from the stage's permutation, these included.
    """

    groups: list[Group]
    played: list[Group]
    position: int


class Method(Protocol):
    """One training method at work in one stage."""

    name: str
    """The stage's name, which is the phase of its episodes."""
    steps: int
    checkpoint_every: int
    warmup_steps: int
    loss: LossSettings

    async def gather(self, step: int, position: int) -> Batch:
        """The groups of `step` (from 0), drawn from `position` on."""
        ...

    def samples(self, groups: Sequence[Group]) -> list[list[Sample]]:
        """One list per optimizer step, none of them empty; no list at all where nothing can be learnt."""
        ...


def group_id(phase: str, step: int, group: int) -> str:
    """`phase/step/group`, padded so that the order of ids is that of the numbers."""
    return f"{phase}/{step:04d}/{group:04d}"


def episode_id(group: str, trial: int) -> str:
    """`group/trial`, padded."""
    return f"{group}/{trial:02d}"
