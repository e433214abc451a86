"""The per-token objectives, in closed form: value, and derivative by the token's log-probability.

Losses are minimised. ρ = exp(log π_θ − log π_sampler). `sft`: −log π. `ppo_clip` (Schulman et al. 2017; bounds as in
DAPO): −min(ρA, clip(ρ, ratio_min, ratio_max)·A), whose derivative is −ρA where the unclipped branch is the smaller, else 0.
Aggregation is the token mean over the whole update: Σ weight·loss / (number of masked-in tokens of all samples).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from journeyman.engine.base import LossSettings


@dataclass(frozen=True)
class TokenTerms:
    """Of each token: loss, d loss / d log π, ρ, and whether the clip stops its gradient. All (entries,)."""

    loss: Tensor
    slope: Tensor
    ratio: Tensor
    clipped: Tensor


def token_terms(settings: LossSettings, logprobs: Tensor, sampled_logprobs: Tensor, advantages: Tensor) -> TokenTerms:
    """Terms of each entry. `logprobs`: current weights; `sampled_logprobs`: when it was drawn. All (entries,) float32."""
    ratio = torch.exp(logprobs - sampled_logprobs)
    if settings.kind == "sft":
        return TokenTerms(-logprobs, -torch.ones_like(logprobs), ratio, torch.zeros_like(logprobs, dtype=torch.bool))
    plain = ratio * advantages
    bounded = ratio.clamp(settings.ratio_min, settings.ratio_max) * advantages
    clipped = bounded < plain
    zero = torch.zeros_like(plain)
    return TokenTerms(-torch.minimum(plain, bounded), torch.where(clipped, zero, -plain), ratio, clipped)


def kl_k3(logprobs: Tensor, sampled_logprobs: Tensor) -> Tensor:
    """Per token, an unbiased and never negative estimate of KL(sampler ‖ trainer) on the sampler's tokens:
    exp(−d) − 1 + d with d = log π_sampler − log π_θ (Schulman 2020, k3)."""
    d = sampled_logprobs - logprobs
    return torch.expm1(-d) + d
