"""Supervised fine-tuning: minimises −(1/N) Σ_t log π_θ(x_t | x_<t) over the N assistant tokens of a step's traces.

A trace is a group of one; nothing is sampled. Traces are drawn in seeded permutations, `batch` a step, for so many steps or
so many epochs; with epochs the last step takes what is left, so that each trace is seen exactly that often.

A bridge is a lighter stage, on few traces: it ends as soon as the calls that the model writes on its monitoring tasks are
valid, and leaves the rest to RL.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from journeyman.codec import seed_of
from journeyman.engine.base import Trainer
from journeyman.episode import Episode, Group, Sample
from journeyman.errors import RecipeError
from journeyman.recipe import Sft
from journeyman.task import Task
from journeyman.train.draw import Draw
from journeyman.train.guard import refuse_held_out
from journeyman.train.losses import sft_loss
from journeyman.train.method import Batch, Method
from journeyman.train.samples import samples_of


def draws_of(stage: Sft, traces: int) -> int:
    """Traces that a stage draws in all: `steps` full batches, or `epochs` times the traces, rounded up."""
    if stage.epochs is None:
        return stage.steps * stage.batch
    # Rounded first: 1.1 times 10 is 11, not the 12 that 11.000000000000002 would give.
    return max(1, math.ceil(round(stage.epochs * traces, 9)))


class SftMethod(Method):
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
        self.draws = draws_of(stage, len(traces))
        self.steps = math.ceil(self.draws / stage.batch)
        self.checkpoint_every = stage.checkpoint_every
        self.evaluate_every = stage.evaluate_every
        self.keep = stage.keep
        self.warmup_steps = stage.optimizer.warmup_steps
        self.max_staleness = 0
        self.loss = sft_loss(stage.optimizer)
        self._bridge = stage.bridge
        self._groups = [Group(trace.group_id, trace.task_id, [trace]) for trace in traces]
        self._batch = stage.batch
        self._draw = Draw(len(traces), seed_of(seed, stage.name, "draw"))

    async def gather(self, step: int, position: int) -> Batch:
        """The next `batch` traces, or what is left of them."""
        count = min(self._batch, self.draws - position)
        chosen = self._draw.take(position, count)
        return Batch([self._groups[index] for index in chosen], [], position + count)

    def samples(self, groups: Sequence[Group]) -> list[list[Sample]]:
        """One optimizer step on all of them, advantage 1."""
        samples = [
            sample for group in groups for sample in samples_of(group, group.episodes, [1.0] * len(group.episodes))
        ]
        return [samples] if samples else []

    def prepare(self, minibatches: Sequence[Sequence[Sample]], trainer: Trainer, step: int) -> dict[str, float]:
        """`epoch`: how often the traces have been gone through after the step."""
        return {"epoch": min((step + 1) * self._batch, self.draws) / len(self._groups)}

    def done(self, monitor: Mapping[str, float]) -> bool:
        """Of a bridge: whether enough of the calls are valid. Fewer calls than episodes are too few to tell."""
        if self._bridge is None or monitor["calls_written"] < monitor["episodes"]:
            return False
        return monitor["valid_call_share"] >= self._bridge.valid_calls
