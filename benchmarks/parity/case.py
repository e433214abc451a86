"""One batch of made-up episodes in float64, and what this project makes of it.

Shape suffixes: `_B` episodes (two groups of four), `_BT` their tokens, padded to the longest; 0 where the mask is 0. Token masks have
holes, as those of episodes with tool results do, and no two episodes are equally long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from journeyman.engine.base import LossSettings
from journeyman.engine.objective import reference_kl, token_terms
from journeyman.engine.training import episode_log_ratios
from journeyman.episode import Sample
from journeyman.train.aggregation import token_weights

Floats = NDArray[np.float64]
GROUP = 4


@dataclass(frozen=True)
class Case:
    """`new`: under the weights being trained; `old`: before the update (proximal); `sampler`: of the engine that sampled; `reference`:
    of the policy that a KL is measured to. Advantages are one for each episode, repeated over its tokens."""

    mask_BT: Floats
    new_BT: Floats
    old_BT: Floats
    sampler_BT: Floats
    reference_BT: Floats
    advantages_BT: Floats
    rewards_B: Floats

    @property
    def groups_B(self) -> NDArray[np.int64]:
        """The group of each episode."""
        return np.arange(len(self.rewards_B)) // GROUP

    @property
    def advantages_B(self) -> Floats:
        """The advantage of each episode."""
        return self.advantages_BT.sum(1) / self.mask_BT.sum(1)

    @property
    def masks(self) -> list[list[int]]:
        """As samples hold them."""
        return [[int(flag) for flag in row] for row in self.mask_BT]

    @property
    def episode_ids(self) -> list[str]:
        """One sample is one episode here."""
        return [str(row) for row in range(len(self.rewards_B))]


def make_case(seed: int, spread: float, mismatch: float) -> Case:
    """Log ratios of the update have standard deviation `spread`, those of the trainer to the sampler `mismatch`."""
    rng = np.random.default_rng(seed)
    episodes, tokens = 2 * GROUP, 17
    mask = np.zeros((episodes, tokens))
    for row in range(episodes):
        length = 3 + 2 * row
        mask[row, :length] = 1.0
        mask[row, 2 : length - 1 : 4] = 0.0
    old = -rng.exponential(1.5, mask.shape) - 0.01
    advantages = rng.normal(size=(episodes, 1)) * np.ones((1, tokens))
    return Case(
        mask_BT=mask,
        new_BT=(old + rng.normal(0, spread, mask.shape)) * mask,
        old_BT=old * mask,
        sampler_BT=(old + rng.normal(0, mismatch, mask.shape)) * mask,
        reference_BT=(old + rng.normal(0, 0.5, mask.shape)) * mask,
        advantages_BT=advantages * mask,
        rewards_B=rng.uniform(-2, 2, episodes),
    )


def our_loss(
    case: Case,
    settings: LossSettings,
    aggregation: str = "token_mean",
    *,
    max_length: int | None = None,
    factors: list[Floats] | None = None,
    kl_factors: list[Floats] | None = None,
) -> Floats:
    """The loss of an update and its gradient by `new_BT`, one after the other, (1 + B·T,).

    Args:
        factors: of a correction, by episode.
        kl_factors: those of the KL's terms where they are to differ (the project's own are `factors`).
    """
    ones = [np.ones_like(row) for row in case.mask_BT]
    weights = np.stack(token_weights(case.masks, case.episode_ids, aggregation, max_length))
    new = torch.tensor(case.new_BT)
    log_ratios = None
    if settings.kind == "gspo":
        found = episode_log_ratios(_samples(case), dict(enumerate(case.new_BT.tolist())))
        log_ratios = torch.tensor([[found[episode]] for episode in case.episode_ids]).expand_as(new)
    terms = token_terms(settings, new, torch.tensor(case.old_BT), torch.tensor(case.advantages_BT), log_ratios)
    scales = torch.tensor(weights * np.stack(factors or ones))
    value, slope = (terms.loss * scales).sum(), terms.slope * scales
    if settings.kl_coefficient:
        kl, kl_slope = reference_kl(new, torch.tensor(case.reference_BT))
        scales = settings.kl_coefficient * torch.tensor(weights * np.stack(kl_factors or factors or ones))
        value, slope = value + (kl * scales).sum(), slope + kl_slope * scales
    return np.concatenate([[value.item()], slope.numpy().ravel()])


def _samples(case: Case) -> list[Sample]:
    return [
        Sample(
            episode_id=episode,
            group_id=str(group),
            token_ids=[0] * len(mask),
            mask=mask,
            logprobs=old,
            versions=[0] * len(mask),
            temperature=1.0,
            advantages=advantages,
        )
        for episode, group, mask, old, advantages in zip(
            case.episode_ids,
            case.groups_B.tolist(),
            case.masks,
            case.old_BT.tolist(),
            case.advantages_BT.tolist(),
            strict=True,
        )
    ]
