"""Reference of the training objectives in numpy: what the engine's torch objective must agree with.

Value and gradient with respect to the current log-probabilities, written out by hand. The engine has its own
closed form; a test compares the two on random inputs. Shape suffix: `_T` indexes masked-in tokens of a whole
update, micro-batches and samples concatenated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def token_mean(values_T: ArrayLike, weights_T: ArrayLike | None = None) -> float:
    """Σ w·ℓ / number of tokens (DAPO, arXiv 2503.14476): every token of the update counts the same.

    Returns 0 for an update without tokens.
    """
    values = np.asarray(values_T, dtype=np.float64)
    weights = np.ones_like(values) if weights_T is None else np.asarray(weights_T, dtype=np.float64)
    return float((values * weights).sum() / values.size) if values.size else 0.0


def ppo_clip(
    logprobs_T: ArrayLike, behaviour_T: ArrayLike, advantages_T: ArrayLike, ratio_min: float, ratio_max: float
) -> tuple[Floats, Floats]:
    """min(ρA, clip(ρ, ratio_min, ratio_max)·A) per token, with ρ = exp(logprob − behaviour) (PPO, arXiv 1707.06347).

    Args:
        logprobs_T: log-probabilities under the current weights, natural log.
        behaviour_T: those under the weights that sampled.
        advantages_T: advantage of each token.
        ratio_min, ratio_max: the values that the ratio is clamped to (absolute, not distances from 1).

    Returns:
        (objective_T, gradient_T): the objective to be maximised and its derivative by `logprobs_T`. The derivative is
        ρA where the unclipped term is the smaller one (or equal), else 0.
    """
    logprobs, behaviour, advantages = (
        np.asarray(values, dtype=np.float64) for values in (logprobs_T, behaviour_T, advantages_T)
    )
    ratio = np.exp(logprobs - behaviour)
    plain = ratio * advantages
    clipped = np.clip(ratio, ratio_min, ratio_max) * advantages
    objective = np.minimum(plain, clipped)
    gradient = np.where(plain <= clipped, plain, 0.0)
    return objective, gradient


def dual_clip(
    logprobs_T: ArrayLike,
    behaviour_T: ArrayLike,
    advantages_T: ArrayLike,
    ratio_min: float,
    ratio_max: float,
    floor: float,
) -> tuple[Floats, Floats]:
    """`ppo_clip`, and where A < 0 no less than floor · A (arXiv 1912.09729): (objective_T, gradient_T)."""
    objective, gradient = ppo_clip(logprobs_T, behaviour_T, advantages_T, ratio_min, ratio_max)
    advantages = np.asarray(advantages_T, dtype=np.float64)
    sunk = (advantages < 0) & (objective < floor * advantages)
    return np.where(sunk, floor * advantages, objective), np.where(sunk, 0.0, gradient)


def importance_sampling(
    logprobs_T: ArrayLike, behaviour_T: ArrayLike, advantages_T: ArrayLike
) -> tuple[Floats, Floats]:
    """ρA per token and its derivative by `logprobs_T`, which is ρA as well: (objective_T, gradient_T)."""
    logprobs, behaviour, advantages = (
        np.asarray(values, dtype=np.float64) for values in (logprobs_T, behaviour_T, advantages_T)
    )
    objective = np.exp(logprobs - behaviour) * advantages
    return objective, objective


def cispo(
    logprobs_T: ArrayLike, behaviour_T: ArrayLike, advantages_T: ArrayLike, ratio_min: float, ratio_max: float
) -> tuple[Floats, Floats]:
    """clip(ρ, ratio_min, ratio_max)·A·log π with the clipped ratio held constant (MiniMax-M1, arXiv 2506.13585):
    (objective_T, gradient_T); the gradient is clip(ρ)·A everywhere."""
    logprobs, behaviour, advantages = (
        np.asarray(values, dtype=np.float64) for values in (logprobs_T, behaviour_T, advantages_T)
    )
    gradient = np.clip(np.exp(logprobs - behaviour), ratio_min, ratio_max) * advantages
    return gradient * logprobs, gradient


def gspo(
    logprobs_T: ArrayLike,
    behaviour_T: ArrayLike,
    advantages_T: ArrayLike,
    episodes_T: ArrayLike,
    ratio_min: float,
    ratio_max: float,
) -> tuple[Floats, Floats]:
    """min(sA, clip(s)·A) with s = exp(mean log ρ over the token's episode) (arXiv 2507.18071, token by token as its eq. 14):
    (objective_T, gradient_T). `episodes_T`: the episode of each token."""
    logprobs, behaviour = (np.asarray(values, dtype=np.float64) for values in (logprobs_T, behaviour_T))
    episodes = np.asarray(episodes_T)
    sequence = np.empty_like(logprobs)
    for episode in np.unique(episodes):
        own = episodes == episode
        sequence[own] = (logprobs - behaviour)[own].mean()
    return ppo_clip(sequence, np.zeros_like(sequence), advantages_T, ratio_min, ratio_max)


def k3(logprobs_T: ArrayLike, reference_T: ArrayLike) -> tuple[Floats, Floats]:
    """r − 1 − log r with r = π_ref / π (Schulman 2020), to be minimised, and its derivative by `logprobs_T`, 1 − r."""
    gap = np.asarray(reference_T, dtype=np.float64) - np.asarray(logprobs_T, dtype=np.float64)
    return np.exp(gap) - 1 - gap, 1 - np.exp(gap)


def nll(logprobs_T: ArrayLike) -> tuple[Floats, Floats]:
    """−log π per token, to be minimised, and its derivative by `logprobs_T` (−1)."""
    logprobs = np.asarray(logprobs_T, dtype=np.float64)
    return -logprobs, -np.ones_like(logprobs)
