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


def nll(logprobs_T: ArrayLike) -> tuple[Floats, Floats]:
    """−log π per token, to be minimised, and its derivative by `logprobs_T` (−1)."""
    logprobs = np.asarray(logprobs_T, dtype=np.float64)
    return -logprobs, -np.ones_like(logprobs)
