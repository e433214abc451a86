"""OPD–RL: on-policy distillation that turns into RL. On the student's own episodes, token t of attempt i is credited with

    A_{i,t} = β_k · Â^kl_{i,t} + (1 − β_k) · Â^rl_i
    Â^kl_{i,t} ∝ clip(log π_T(x_t) − log π_S(x_t), −c, c)        Â^rl_i ∝ the advantage of attempt i in its group

π_T the teacher, π_S the student when it sampled, both at the temperature of sampling. Â^kl is the gradient of minus the reverse
KL(π_S ‖ π_T) with discount 0: a token answers for itself alone. Each term is scaled to root mean square 1 over the step's
sampled tokens (`distil.mix`), for they differ by orders of magnitude; β_k falls from `beta_start` to `beta_end`
(`distil.beta_at`). Source: the second seed article gives β: 1 → 0; the rest is this project's choice.

What the credit feeds is the objective's choice, as in GRPO: loss, aggregation, correction, a KL to a reference (taken from the
mixed credit where it stands in the advantage), and which attempts count: those that are masked there are distilled from no
more than they are compared. While β > 0 a group without outcome signal has the teacher's credit and is trained on: it is neither
replaced nor counted as waste, and `outcome_signal_share` tells how many have one. At β = 0 the teacher is not asked, and this is
GRPO with scaled advantages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from journeyman.engine.base import Trainer
from journeyman.engine.teacher import Teacher, checked_logprobs
from journeyman.episode import Group, Sample
from journeyman.recipe import Limits, Opd
from journeyman.task import Task
from journeyman.train.distil import beta_at, kl_credit, mix, reverse_kl
from journeyman.train.grpo import GrpoMethod
from journeyman.train.method import GroupSource
from journeyman.train.runfolder import step_of
from journeyman.train.shaping import credited_rewards


class OpdMethod(GrpoMethod):
    """A `Method`.

    Args:
        stage: its settings.
        tasks, source, seed, held_out_worlds, limits: see `GrpoMethod`.
        teacher: asked once a step, before its first update, while β > 0.
    """

    def __init__(
        self,
        stage: Opd,
        tasks: Sequence[Task],
        source: GroupSource,
        teacher: Teacher,
        seed: int,
        held_out_worlds: Collection[str] = (),
        limits: Limits | None = None,
    ) -> None:
        super().__init__(stage, tasks, source, seed, held_out_worlds, limits)
        self._teacher = teacher
        self._opd = stage

    def beta(self, step: int) -> float:
        """The weight of the teacher's credit in a step counted from 0."""
        stage = self._opd
        return beta_at(step, stage.beta_steps or stage.steps, stage.beta_start, stage.beta_end, stage.beta_schedule)

    def alive(self, group: Group) -> bool:
        """While β > 0 whether any attempt counts; at β = 0 whether the rewards tell the attempts apart."""
        if self.beta(int(step_of(group.id))) == 0.0:
            return super().alive(group)
        return bool(credited_rewards(group, self._stage.objective, self._limits)[0])

    def prepare(self, minibatches: Sequence[Sequence[Sample]], trainer: Trainer, step: int) -> dict[str, float]:
        """Mix the teacher's credit into the advantages, then do as GRPO.

        Returns:
            Also `beta`, `rl_credit_rms`, `rl_credit_share`, `outcome_signal_share` (share of trained groups with an outcome
            signal) and, where the teacher was asked, `reverse_kl` (nats per token), `kl_credit_rms`, `kl_credit_share`,
            `kl_credit_clipped` (share of tokens); `teacher_requests` and `teacher_tokens` where it sits behind an endpoint.
        """
        samples = [sample for samples in minibatches for sample in samples]
        metrics = {"outcome_signal_share": _signal_share(samples)} | self._mix(samples, self.beta(step))
        return metrics | super().prepare(minibatches, trainer, step)

    def _mix(self, samples: Sequence[Sample], beta: float) -> dict[str, float]:
        """Put the mixed credit into the samples. Nothing is changed where the teacher fails."""
        masks = [np.asarray(sample.mask, dtype=bool) for sample in samples]
        outcome = _of_tokens([sample.advantages for sample in samples], masks)
        metrics: dict[str, float] = {}
        credit = None
        if beta > 0:
            before = self._teacher.spent
            scored = checked_logprobs(self._teacher, samples)
            spent = self._teacher.spent
            teacher, student = _of_tokens(scored, masks), _of_tokens([sample.logprobs for sample in samples], masks)
            credit, metrics["kl_credit_clipped"] = kl_credit(teacher, student, self._opd.kl_clip)
            metrics["reverse_kl"] = reverse_kl(teacher, student)
            if spent.requests > before.requests:
                metrics["teacher_requests"] = spent.requests - before.requests
                metrics["teacher_tokens"] = spent.input - before.input
            for sample, values in zip(samples, scored, strict=True):
                sample.teacher_logprobs = values
        mixed = mix(beta, outcome, credit)
        ends = np.cumsum([mask.sum() for mask in masks])
        for sample, mask, part in zip(samples, masks, np.split(mixed.advantages, ends[:-1]), strict=True):
            advantages = np.zeros(len(mask))
            advantages[mask] = part
            sample.advantages = advantages.tolist()
        return mixed.metrics | metrics

    def _credited(self, group: Group) -> list[Sample]:
        samples = super()._credited(group)
        if not super().alive(group):
            # What rounding made of equal rewards is no credit.
            for sample in samples:
                sample.advantages = [0.0] * len(sample.mask)
        return samples


def _of_tokens(arrays: Sequence[Sequence[float]], masks: Sequence[np.ndarray]) -> np.ndarray:
    """The values of the sampled tokens of all samples, one after the other."""
    return np.concatenate(
        [np.asarray(values, dtype=np.float64)[mask] for values, mask in zip(arrays, masks, strict=True)]
    )


def _signal_share(samples: Sequence[Sample]) -> float:
    """Share of the groups in which the outcome credits any attempt, before the teacher's credit is mixed in."""
    groups = {sample.group_id for sample in samples}
    return len({sample.group_id for sample in samples if any(sample.advantages)}) / len(groups)
