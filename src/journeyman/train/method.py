"""What a training method is: a source of graded groups, and a function from them to samples. Types, and what most methods share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from journeyman.engine.base import LossSettings, Trainer
from journeyman.episode import Continued, Episode, Group, Sample
from journeyman.task import Data
from journeyman.train.checkpoint import State


class GroupRequest(Data, frozen=True):
    """Play `size` attempts of a task under the group id `phase/step/group`; `pivot`: where they begin, if not at the opening."""

    id: str
    task_id: str
    size: int
    pivot: Continued | None = None


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
        overage: episodes of `played` that were too old when their turn came (asynchronous sampling); in no group of `groups`.
        aside: sampled since the step before for the stage and not for this update (profiles of pivots). They count as sampled.
    """

    groups: list[Group]
    played: list[Group]
    position: int
    overage: list[Episode] = []
    aside: list[Group] = []


class Method(Protocol):
    """One training method at work in one stage. Those that play nothing, need no copy of the weights or never end early
    inherit what stands here."""

    name: str
    """The stage's name, which is the phase of its episodes."""
    steps: int
    checkpoint_every: int
    evaluate_every: int
    keep: Literal["last", "best"]
    warmup_steps: int
    max_staleness: int
    alarm_patience: int = 0
    """Monitoring evaluations without a new best after which a rising training reward is an alarm (0: never)."""
    loss: LossSettings

    async def begin(self, trainer: Trainer, origin: Path | None, state: State) -> None:
        """Called once a sitting before its first step.

        Args:
            origin: the checkpoint of the weights that the stage began from; None: the untouched model.
            state: where the stage stands; its `step` steps are in the trainer's weights.
        """
        return

    async def gather(self, step: int, position: int) -> Batch:
        """The groups of `step` (from 0), drawn from `position` on."""
        ...

    def alive(self, group: Group) -> bool:
        """Whether anything can be learnt from a group, also from what is left of it when episodes were taken out."""
        return bool(group.episodes)

    def samples(self, groups: Sequence[Group]) -> list[list[Sample]]:
        """One list per optimizer step, none of them empty; no list at all where nothing can be learnt.

        With `max_staleness` > 0 this and `prepare` run in a thread while `gather` goes on in the event loop.
        """
        ...

    def prepare(self, minibatches: Sequence[Sequence[Sample]], trainer: Trainer, step: int) -> dict[str, float]:
        """Put into the samples of `step` what only the trainer knows (its own log-probabilities, a reference's, a
        teacher's), and their weights. Returns metrics."""
        return {}

    def done(self, monitor: Mapping[str, float]) -> bool:
        """Whether the stage may end after a monitoring evaluation, before its last step."""
        return False


def group_id(phase: str, step: int, group: int) -> str:
    """`phase/step/group`, padded so that the order of ids is that of the numbers."""
    return f"{phase}/{step:04d}/{group:04d}"


def episode_id(group: str, trial: int) -> str:
    """`group/trial`, padded."""
    return f"{group}/{trial:02d}"
