"""GRPO: an attempt is credited by how much better it was than the attempts of its group.

The advantage lies on every sampled token of the attempt; which advantage, loss, aggregation and correction is the objective's
choice. Groups whose rewards are all equal teach nothing: they are dropped and replaced by fresh ones, in a bounded number
of rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from journeyman.codec import seed_of
from journeyman.engine.base import Trainer
from journeyman.episode import Group, Sample
from journeyman.errors import RecipeError
from journeyman.recipe import Limits, Sampled
from journeyman.task import Task
from journeyman.train.advantage import advantages_of, has_signal
from journeyman.train.checkpoint import State
from journeyman.train.credit import REFERENCE, prepare
from journeyman.train.draw import Draw
from journeyman.train.guard import refuse_held_out
from journeyman.train.losses import objective_loss
from journeyman.train.method import Batch, GroupRequest, GroupSource, Method, group_id
from journeyman.train.samples import samples_of
from journeyman.train.shaping import credited_rewards


class GrpoMethod(Method):
    """A `Method`.

    Args:
        stage: its settings.
        tasks: the pool. An epoch draws each task once, those whose groups are dropped included.
        source: plays the groups with the current policy.
        seed: the run's.
        limits: of an episode; the length penalty counts from them.

    Raises:
        RecipeError: the pool is empty or holds a held-out task.
    """

    def __init__(
        self,
        stage: Sampled,
        tasks: Sequence[Task],
        source: GroupSource,
        seed: int,
        held_out_worlds: Collection[str] = (),
        limits: Limits | None = None,
    ) -> None:
        refuse_held_out(tasks, f"stage {stage.name} (grpo)", held_out_worlds)
        if not tasks:
            raise RecipeError(f"stage {stage.name}", "tasks", "no task: there is nothing to play.")
        self.name = stage.name
        self.steps = stage.steps
        self.checkpoint_every = stage.checkpoint_every
        self.evaluate_every = stage.evaluate_every
        self.keep = stage.keep
        self.warmup_steps = stage.optimizer.warmup_steps
        self.max_staleness = stage.max_staleness
        self.alarm_patience = stage.alarm_patience
        self.loss = objective_loss(stage.objective, stage.optimizer)
        self._stage = stage
        self._objective = stage.objective
        self._limits = limits or Limits()
        self._tasks = list(tasks)
        self._source = source
        self._draw = Draw(len(tasks), seed_of(seed, stage.name, "draw"))

    async def begin(self, trainer: Trainer, origin: Path | None, state: State) -> None:
        """See `Method.begin`: where a KL is measured to the weights at the start, the trainer keeps a copy of them."""
        if self._objective.kl == "none" or self._objective.reference == "base":
            return
        if origin is None:
            self._objective = msgspec.structs.replace(self._objective, reference="base")
        else:
            trainer.remember(REFERENCE, origin)

    async def gather(self, step: int, position: int) -> Batch:
        """Groups with signal: as many as the stage asks for, or what the refill rounds yield."""
        kept: list[Group] = []
        played: list[Group] = []
        for _ in range(1 + self._stage.refill_rounds):
            missing = self._stage.groups - len(kept)
            if missing == 0:
                break
            fresh = await self._source.play(self._requests(step, len(played), position, missing))
            position += missing
            played += fresh
            kept += [group for group in fresh if self.alive(group)]
        return Batch(kept, played, position)

    def alive(self, group: Group) -> bool:
        """Whether the group's rewards tell its attempts apart."""
        _, rewards = credited_rewards(group, self._stage.objective, self._limits)
        return has_signal(rewards, self._stage.signal_tolerance)

    def samples(self, groups: Sequence[Group]) -> list[list[Sample]]:
        """The groups' samples in `updates_per_sync` parts, whole groups each (fewer where there are fewer groups)."""
        parts = min(self._stage.updates_per_sync, len(groups))
        minibatches = []
        for part in range(parts):
            chosen = groups[len(groups) * part // parts : len(groups) * (part + 1) // parts]
            samples = [sample for group in chosen for sample in self._credited(group)]
            if samples:
                minibatches.append(samples)
        return minibatches

    def prepare(self, minibatches: Sequence[Sequence[Sample]], trainer: Trainer, step: int) -> dict[str, float]:
        """See `Method.prepare`."""
        return prepare(minibatches, self._objective, trainer)

    def _credited(self, group: Group) -> list[Sample]:
        episodes, rewards = credited_rewards(group, self._stage.objective, self._limits)
        return samples_of(group, episodes, advantages_of(rewards, self._stage.objective.advantage).tolist())

    def _requests(self, step: int, first: int, position: int, count: int) -> list[GroupRequest]:
        chosen = [self._tasks[index] for index in self._draw.take(position, count)]
        return [
            GroupRequest(group_id(self.name, step, first + index), task.id, self._stage.group_size)
            for index, task in enumerate(chosen)
        ]
