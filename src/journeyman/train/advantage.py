"""Advantages: how much better an attempt was than its group. Pure functions over the rewards of one group.

Shape suffix: `_G` indexes the attempts of a group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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


def has_signal(rewards_G: ArrayLike, tolerance: float) -> bool:
    """Whether the rewards of a group spread by more than `tolerance`.

    Decided by the spread, never by the count of successes: rewards are fractions, and float noise makes a
    constant group look alive. Fewer than two rewards have no spread.
    """
    rewards = np.asarray(rewards_G, dtype=np.float64)
    if rewards.size < 2:
        return False
    return bool(rewards.max() - rewards.min() > tolerance)
