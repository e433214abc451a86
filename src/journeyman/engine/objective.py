"""The per-token objectives, in closed form: value, and derivative by the token's log-probability.

Losses are minimised; the objective is their negative. With ρ = π_θ / π_old, A the advantage and [low, high] the absolute bounds:

- `sft`: log π.
- `importance_sampling`: ρA, unbounded (REINFORCE on what another policy sampled).
- `ppo_clip` (Schulman et al. 2017, arXiv 1707.06347; bounds as in DAPO): min(ρA, clip(ρ)·A); with `dual_clip` c, where A < 0 no
  less than c·A (arXiv 1912.09729).
- `cispo` (MiniMax-M1, arXiv 2506.13585): stopgrad(clip(ρ))·A·log π. A clipped token keeps its gradient, clip(ρ)·A.
- `gspo` (arXiv 2507.18071): min(sA, clip(s)·A) with s the ratio of the whole episode, exp(mean over its tokens of log ρ). Each token
  has its own part of s's gradient, s·A: the paper's GSPO-token (its eq. 14), equal to GSPO where A is one for the whole episode.

How tokens are summed up is none of this module's business: whoever calls it weighs the terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from journeyman.engine.base import LossSettings


@dataclass(frozen=True)
class TokenTerms:
    """Of each token: loss, d loss / d log π, the ratio (for gspo the episode's), and whether a bound changed its term. All (entries,)."""

    loss: Tensor
    slope: Tensor
    ratio: Tensor
    clipped: Tensor


def token_terms(
    settings: LossSettings,
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    episode_log_ratios: Tensor | None = None,
) -> TokenTerms:
    """Terms of each entry, all (entries,), without a KL.

    Args:
        logprobs: under the current weights.
        old_logprobs: under the policy below the ratio.
        episode_log_ratios: for gspo: of each entry's episode, the mean over its tokens of log ρ, under the current weights.
    """
    if settings.kind == "gspo":
        assert episode_log_ratios is not None
        ratio = torch.exp(episode_log_ratios)
    else:
        ratio = torch.exp(logprobs - old_logprobs)
    if settings.kind == "sft":
        return TokenTerms(-logprobs, -torch.ones_like(logprobs), ratio, torch.zeros_like(logprobs, dtype=torch.bool))
    plain = ratio * advantages
    if settings.kind == "importance_sampling":
        return TokenTerms(-plain, -plain, ratio, torch.zeros_like(plain, dtype=torch.bool))
    clamped = ratio.clamp(settings.ratio_min, settings.ratio_max)
    bounded = clamped * advantages
    if settings.kind == "cispo":
        return TokenTerms(-bounded * logprobs, -bounded, ratio, clamped != ratio)
    value = torch.minimum(plain, bounded)
    clipped = bounded < plain
    if settings.dual_clip is not None:
        floor = settings.dual_clip * advantages
        sunk = (advantages < 0) & (value < floor)
        value, clipped = torch.where(sunk, floor, value), clipped | sunk
    zero = torch.zeros_like(plain)
    return TokenTerms(-value, torch.where(clipped, zero, -plain), ratio, clipped)


def kl_k3(logprobs: Tensor, sampled_logprobs: Tensor) -> Tensor:
    """Per token, an unbiased and never negative estimate of KL(sampler ‖ trainer) on the sampler's tokens:
    exp(−d) − 1 + d with d = log π_sampler − log π_θ (Schulman 2020, k3)."""
    d = sampled_logprobs - logprobs
    return torch.expm1(-d) + d


def reference_kl(logprobs: Tensor, reference_logprobs: Tensor) -> tuple[Tensor, Tensor]:
    """Per token, k3 of KL(π_θ ‖ reference), and its derivative by log π_θ: exp(d) − 1 − d and 1 − exp(d) with
    d = log π_ref − log π_θ. All (entries,)."""
    return kl_k3(reference_logprobs, logprobs), -torch.expm1(reference_logprobs - logprobs)
