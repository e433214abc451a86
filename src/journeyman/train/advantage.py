"""Advantages: how much better an attempt was than its group. Pure functions over the rewards of one group.

Shape suffix: `_G` indexes the attempts of a group. An attempt alone has nothing to be compared with: its advantage is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def grpo(rewards_G: ArrayLike, epsilon: float = 1e-6) -> Floats:
    """(r_i − mean r) / (std r + epsilon) (DeepSeekMath, arXiv 2402.03300).

    The paper leaves the kind of standard deviation open; here, as in verl and TRL, it is that of a sample (divided by G − 1).

    Args:
        rewards_G: the rewards of one group, shape (G,), G ≥ 1.
        epsilon: in units of the reward; keeps a group that hardly differs from being blown up. verl has 1e-6, TRL 1e-4.

    Returns:
        Advantages of shape (G,), without unit.
    """
    centred = mean_centred(rewards_G)
    if centred.size < 2:
        return centred
    advantages: Floats = centred / (centred.std(ddof=1) + epsilon)
    return advantages


def mean_centred(rewards_G: ArrayLike) -> Floats:
    """r_i − mean r (Dr. GRPO, arXiv 2503.20783): no division by the spread, so a group's scale is kept.

    Args:
        rewards_G: the rewards of one group, shape (G,), G ≥ 1.

    Returns:
        Advantages of shape (G,), in the units of the reward; their sum is 0 up to rounding.
    """
    rewards = np.asarray(rewards_G, dtype=np.float64)
    advantages: Floats = rewards - rewards.mean()
    return advantages


def leave_one_out(rewards_G: ArrayLike) -> Floats:
    """r_i − mean of the others' rewards (RLOO, arXiv 2402.14740), which is G / (G − 1) times the mean-centred reward.

    Args:
        rewards_G: the rewards of one group, shape (G,), G ≥ 1.

    Returns:
        Advantages of shape (G,), in the units of the reward.
    """
    rewards = np.asarray(rewards_G, dtype=np.float64)
    if rewards.size < 2:
        return np.zeros_like(rewards)
    others = (rewards.sum() - rewards) / (rewards.size - 1)
    advantages: Floats = rewards - others
    return advantages


def bounded(rewards_G: ArrayLike) -> Floats:
    """clip(r_i − mean r, −1, 1) (the second seed article): no attempt weighs more than 1, whatever the scale of the reward.

    Args:
        rewards_G: the rewards of one group, shape (G,), G ≥ 1.

    Returns:
        Advantages of shape (G,), in the units of the reward.
    """
    return np.clip(mean_centred(rewards_G), -1.0, 1.0)


def advantages_of(rewards_G: ArrayLike, kind: str) -> Floats:
    """The advantages of the kind that a recipe names (`Objective.advantage`), shape (G,)."""
    return {"grpo": grpo, "mean_centred": mean_centred, "leave_one_out": leave_one_out, "bounded": bounded}[kind](
        rewards_G
    )


def has_signal(rewards_G: ArrayLike, tolerance: float) -> bool:
    """Whether the rewards of a group spread by more than `tolerance`.

    Decided by the spread, never by the count of successes: rewards are fractions, and float noise makes a
    constant group look alive. Fewer than two rewards have no spread.
    """
    rewards = np.asarray(rewards_G, dtype=np.float64)
    if rewards.size < 2:
        return False
    return bool(rewards.max() - rewards.min() > tolerance)
