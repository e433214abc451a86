"""Correction for a sampler that differs from the trainer: a factor on each token's loss. Pure functions; no torch.

With ρ = π_prox / π_sampler, π_prox the trainer's policy before the update. The ratio inside the loss is then π_θ / π_prox, so that
clipping bounds what the update does and not what the sampler did (decoupled PPO, arXiv 2110.00641). Factors are constants: no
gradient flows through them.

The raw product of ρ over a sequence is never used: 1.1^100 is about 13,780.

Tokens that are dropped keep their place in the normaliser of the aggregation: dropping makes an update smaller, never the rest of
it larger. So do verl's importance weights and TRL; verl's rejection masks take dropped tokens out of the normaliser too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Correction(Struct, frozen=True):
    """The factors of each sample's tokens, (tokens,) each and 0 where the mask is 0; their mean over masked-in tokens; the share of
    these whose factor is 0."""

    factors: list[Floats]
    mean: float
    dropped_share: float


def truncated(log_ratio: Floats, ceiling: float) -> Floats:
    """min(ρ, ceiling) (truncated importance sampling). `log_ratio`: log ρ of any shape."""
    return np.exp(np.minimum(log_ratio, np.log(ceiling)))


def masked(log_ratio: Floats, low: float, high: float) -> Floats:
    """ρ where low ≤ ρ ≤ high, else 0 (IcePop). `log_ratio`: log ρ of any shape."""
    ratio = np.exp(np.minimum(log_ratio, np.log(high) + 1.0))  # far outside is outside; without overflow
    return np.where((ratio >= low) & (ratio <= high), ratio, 0.0)


def geometric(log_ratio: Floats, low: float, high: float) -> float:
    """1 where low ≤ exp(mean log ρ) ≤ high over the tokens of one episode, else 0. `log_ratio`: (tokens,), at least one."""
    mean = np.exp(min(float(log_ratio.mean()), float(np.log(high)) + 1.0))
    return float(low <= mean <= high)


def correct(
    kind: str,
    proximal: Sequence[ArrayLike],
    sampler: Sequence[ArrayLike],
    masks: Sequence[Sequence[int]],
    episode_ids: Sequence[str],
    bounds: tuple[float, float],
) -> Correction:
    """The factors of the samples of a training step.

    Args:
        kind: `none` (1), `truncated` (only the upper bound is used), `masked` or `geometric` (`Objective.correction`).
        proximal, sampler: log-probabilities by sample, (tokens,) each, natural log of the tempered distribution.
        masks: by sample, (tokens,) each, 1 on sampled tokens.
        episode_ids: by sample; the tokens of an episode count together, in whichever samples they are.
        bounds: (min, max) of the ratio, absolute (`Objective.correction_bounds`).

    Raises:
        ValueError: an unknown kind.
    """
    low, high = bounds
    flags = [np.asarray(mask, dtype=bool) for mask in masks]
    logs = [
        np.where(flag, np.asarray(new, dtype=np.float64) - np.asarray(old, dtype=np.float64), 0.0)
        for new, old, flag in zip(proximal, sampler, flags, strict=True)
    ]
    if kind == "none":
        made = [np.ones_like(log) for log in logs]
    elif kind == "truncated":
        made = [truncated(log, high) for log in logs]
    elif kind == "masked":
        made = [masked(log, low, high) for log in logs]
    elif kind == "geometric":
        kept = _kept_episodes(logs, flags, episode_ids, low, high)
        made = [np.full_like(log, kept.get(episode, 0.0)) for log, episode in zip(logs, episode_ids, strict=True)]
    else:
        raise ValueError(f"no correction {kind!r}")
    factors = [np.where(flag, factor, 0.0) for flag, factor in zip(flags, made, strict=True)]
    values = (
        np.concatenate([factor[flag] for flag, factor in zip(flags, factors, strict=True)]) if factors else np.zeros(0)
    )
    if not values.size:
        return Correction(factors, 1.0, 0.0)
    return Correction(factors, float(values.mean()), float((values == 0).mean()))


def _kept_episodes(
    logs: Sequence[Floats], flags: Sequence[NDArray[np.bool_]], episode_ids: Sequence[str], low: float, high: float
) -> dict[str, float]:
    parts: dict[str, list[Floats]] = {}
    for log, flag, episode in zip(logs, flags, episode_ids, strict=True):
        parts.setdefault(episode, []).append(log[flag])
    joined = {episode: np.concatenate(values) for episode, values in parts.items()}
    return {episode: geometric(values, low, high) for episode, values in joined.items() if values.size}
