"""GRPO with a mean-centred advantage: an attempt is credited by how much better it was than its group's mean.

The advantage lies on every sampled token of the attempt; tokens feed PPO-clip by token mean. Groups whose rewards are
all equal teach nothing: they are dropped and replaced by fresh ones, in a bounded number of rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from journeyman.codec import seed_of
from journeyman.episode import Group, Sample
from journeyman.errors import RecipeError
from journeyman.recipe import Grpo
from journeyman.task import Task
from journeyman.train.advantage import has_signal, mean_centred
from journeyman.train.draw import Draw
from journeyman.train.guard import refuse_held_out
from journeyman.train.method import Batch, GroupRequest, GroupSource, group_id
from journeyman.train.samples import counted, rewards_of, samples_of
from journeyman.train.sft import loss_settings


class GrpoMethod:
    """A `Method`.

    Args:
        stage: its settings.
        tasks: the pool. An epoch draws each task once, those whose groups are dropped included.
        source: plays the groups with the current policy.
        seed: the run's.

    Raises:
        RecipeError: the pool is empty or holds a held-out task.
    """

    def __init__(
        self,
        stage: Grpo,
        tasks: Sequence[Task],
        source: GroupSource,
        seed: int,
        held_out_worlds: Collection[str] = (),
    ) -> None:
        refuse_held_out(tasks, f"stage {stage.name} (grpo)", held_out_worlds)
        if not tasks:
            raise RecipeError(f"stage {stage.name}", "tasks", "no task: there is nothing to play.")
        self.name = stage.name
        self.steps = stage.steps
        self.checkpoint_every = stage.checkpoint_every
        self.warmup_steps = stage.optimizer.warmup_steps
        self.loss = loss_settings("ppo_clip", stage.optimizer, stage.ratio_min, stage.ratio_max)
        self._stage = stage
        self._tasks = list(tasks)
        self._source = source
        self._draw = Draw(len(tasks), seed_of(seed, stage.name, "draw"))

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
        return has_signal(rewards_of(group, self._stage.truncated), self._stage.signal_tolerance)

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

    def _credited(self, group: Group) -> list[Sample]:
        episodes = counted(group, self._stage.truncated)
        advantages = mean_centred([episode.reward for episode in episodes])
        return samples_of(group, episodes, advantages.tolist())

    def _requests(self, step: int, first: int, position: int, count: int) -> list[GroupRequest]:
        chosen = [self._tasks[index] for index in self._draw.take(position, count)]
        return [
            GroupRequest(group_id(self.name, step, first + index), task.id, self._stage.group_size)
            for index, task in enumerate(chosen)
        ]
