"""The arithmetic of on-policy distillation that turns into RL: the schedule of β, the two credits, their mixture.

Pure functions. Shape suffix: `_T` indexes the sampled tokens of one training step, all its updates together.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

KL_FLOOR = 0.05
"""Nats. A student whose root-mean-square difference from its teacher is below this is not pushed on with full force: else
rounding noise would be scaled up to a gradient where the two agree."""
OUTCOME_FLOOR = 0.01
"""In units of the reward, for the same reason: advantages that are all but 0 stay small."""


class Mixed(Struct, frozen=True):
    """The credit of each token, shape (T,), and what it is made of (see `mix`)."""

    advantages: Floats
    metrics: dict[str, float]


def beta_at(step: int, steps: int, start: float, end: float, schedule: Literal["linear", "cosine"]) -> float:
    """β of a step counted from 0, the weight of the teacher's credit: `start` at step 0, `end` from step `steps` on.

    linear: start + (end − start)·k/K. cosine: end + (start − end)·½(1 + cos πk/K). With start 1 and end 0 these are 1 − k/K
    and ½(1 + cos πk/K); a floor β_min under 1 − k/K is end = β_min with K·(1 − β_min) steps.
    """
    done = min(step / steps, 1.0)
    left = 1.0 - done if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * done))
    return end + (start - end) * left


def kl_credit(teacher_T: ArrayLike, student_T: ArrayLike, bound: float) -> tuple[Floats, float]:
    """clip(log π_T(x_t) − log π_S(x_t), −bound, bound), in nats, and the share of tokens that were clipped.

    On the student's own tokens its mean is minus the reverse KL(π_S ‖ π_T) per token, and the policy gradient with it as
    advantage (discount 0: each token answers for itself alone) is that of minus the reverse KL.
    """
    gaps = np.asarray(teacher_T, dtype=np.float64) - np.asarray(student_T, dtype=np.float64)
    clipped = float(np.mean(np.abs(gaps) > bound)) if gaps.size else 0.0
    return np.clip(gaps, -bound, bound), clipped


def reverse_kl(teacher_T: ArrayLike, student_T: ArrayLike) -> float:
    """mean(log π_S(x_t) − log π_T(x_t)) over the student's own tokens: nats per token, positive where the student strays from
    its teacher. Unbiased for KL(π_S ‖ π_T), unclipped; on few tokens it can be negative."""
    return float(np.mean(np.asarray(student_T, dtype=np.float64) - np.asarray(teacher_T, dtype=np.float64)))


def root_mean_square(values: Floats) -> float:
    """√mean(x²); 0 of nothing."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def mix(beta: float, outcome_T: ArrayLike, kl_T: Floats | None) -> Mixed:
    """A_t = β·Â^kl_t + (1 − β)·Â^rl_t, each term of root mean square 1 over the step, so that β mixes like with like.

    Â^kl = kl / max(rms(kl), KL_FLOOR) over all tokens. Â^rl = outcome / max(rms(outcome), OUTCOME_FLOOR), the rms over those
    tokens whose outcome credit is not 0: where few groups have a signal, theirs is not blown up for it.

    Args:
        outcome_T: the outcome's advantage of each token's attempt, 0 where its group has no signal.
        kl_T: the teacher's credit; None (with β = 0 only): nobody was asked.

    Returns:
        The credit, and metrics: `beta`; `rl_credit_rms` and `kl_credit_rms`, before scaling, in units of the reward and in
        nats; `rl_credit_share` and `kl_credit_share`, each term's part in Σ(|β·Â^kl| + |(1 − β)·Â^rl|).
    """
    outcome = np.asarray(outcome_T, dtype=np.float64)
    spread = root_mean_square(outcome[outcome != 0])
    rl = (1.0 - beta) * outcome / max(spread, OUTCOME_FLOOR)
    metrics = {"beta": beta, "rl_credit_rms": spread}
    if kl_T is None:
        assert beta == 0.0, "a teacher that counts was not asked"
        kl = np.zeros_like(rl)
    else:
        metrics["kl_credit_rms"] = root_mean_square(kl_T)
        kl = beta * kl_T / max(metrics["kl_credit_rms"], KL_FLOOR)
    parts = {"rl_credit_share": float(np.abs(rl).sum()), "kl_credit_share": float(np.abs(kl).sum())}
    whole = sum(parts.values())
    metrics |= {name: part / whole if whole else 0.0 for name, part in parts.items()}
    return Mixed(kl + rl, metrics)
