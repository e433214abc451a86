"""Supervised fine-tuning: passing traces, every assistant token credited alike, negative log-likelihood.

A trace is a group of one; nothing is sampled. Traces are drawn in seeded permutations, `batch` a step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from journeyman.codec import seed_of
from journeyman.engine.base import LossSettings
from journeyman.episode import Episode, Group, Sample
from journeyman.errors import RecipeError
from journeyman.recipe import Optimizer, Sft
from journeyman.task import Task
from journeyman.train.draw import Draw
from journeyman.train.guard import refuse_held_out
from journeyman.train.method import Batch
from journeyman.train.samples import samples_of


class SftMethod:
    """A `Method`.

    Args:
        stage: its settings.
        traces: episodes that passed, with their segments.
        tasks: by id, those that the traces belong to.
        seed: the run's.

    Raises:
        RecipeError: no trace, or one of a held-out task.
    """

    def __init__(
        self,
        stage: Sft,
        traces: Sequence[Episode],
        tasks: Mapping[str, Task],
        seed: int,
        held_out_worlds: Collection[str] = (),
    ) -> None:
        refuse_held_out((tasks[trace.task_id] for trace in traces), f"stage {stage.name} (sft)", held_out_worlds)
        if not traces:
            raise RecipeError(
                f"stage {stage.name}",
                "tasks",
                "no trace passed and fits: choose other tasks, or raise sampling.train.context_limit.",
            )
        self.name = stage.name
        self.steps = stage.steps
        self.checkpoint_every = stage.checkpoint_every
        self.warmup_steps = stage.optimizer.warmup_steps
        self.loss = loss_settings("sft", stage.optimizer)
        self._groups = [Group(trace.group_id, trace.task_id, [trace]) for trace in traces]
        self._batch = stage.batch
        self._draw = Draw(len(traces), seed_of(seed, stage.name, "draw"))

    async def gather(self, step: int, position: int) -> Batch:
        """The next `batch` traces."""
        chosen = self._draw.take(position, self._batch)
        return Batch([self._groups[index] for index in chosen], [], position + self._batch)

    def samples(self, groups: Sequence[Group]) -> list[list[Sample]]:
        """One optimizer step on all of them, advantage 1."""
        samples = [
            sample for group in groups for sample in samples_of(group, group.episodes, [1.0] * len(group.episodes))
        ]
        return [samples] if samples else []


def loss_settings(kind: str, optimizer: Optimizer, ratio_min: float = 0.8, ratio_max: float = 1.28) -> LossSettings:
    """The engine's settings for a stage's optimizer."""
    assert kind in ("sft", "ppo_clip")
    return LossSettings(
        kind="sft" if kind == "sft" else "ppo_clip",
        ratio_min=ratio_min,
        ratio_max=ratio_max,
        learning_rate=optimizer.learning_rate,
        betas=optimizer.betas,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
    )
