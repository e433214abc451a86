"""Beta-posterior sampling of pivots: train on those whose success rate is, by what is known, near one half.

Each pivot's success rate has a Beta(α, β) posterior. A step draws θ ~ Beta(α, β) for every pivot and takes those with the
smallest (θ − ½)²; what it then sees moves the posterior, and what it saw long ago fades, since the policy has moved on:

    α ← λα + (1 − λ)α₀ + Σr,    β ← λβ + (1 − λ)β₀ + Σ(1 − r)

as in MoPPS (arXiv 2507.04632). Pure functions; a posterior is a plain pair.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from journeyman.codec import seed_of


class Beta(NamedTuple):
    """A Beta distribution over a success rate; both parameters are positive."""

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        """α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)


FLAT = Beta(1.0, 1.0)
"""Nothing is known: every rate is as likely."""


class Drawn(NamedTuple):
    """A pivot as it was drawn: its θ of that step."""

    id: str
    theta: float


def ranked(posteriors: Mapping[str, Beta], seed: int) -> list[Drawn]:
    """All pivots, the one with the smallest (θ − ½)² first, equal ones by id.

    Args:
        posteriors: pivot id -> posterior.
        seed: of the step; with a pivot's id it seeds that pivot's θ, which hangs on no other pivot.
    """
    drawn = [
        Drawn(id, random.Random(seed_of(seed, id)).betavariate(posterior.alpha, posterior.beta))
        for id, posterior in posteriors.items()
    ]
    return sorted(drawn, key=lambda one: ((one.theta - 0.5) ** 2, one.id))


def updated(posterior: Beta, prior: Beta, rewards_G: Sequence[float], decay: float) -> Beta:
    """The posterior after one more group.

    Args:
        prior: (α₀, β₀), towards which the old evidence fades.
        rewards_G: of the group's counted attempts, each in [0, 1].
        decay: λ in [0, 1]; 1 forgets nothing.
    """
    gained = float(sum(rewards_G))
    return Beta(
        decay * posterior.alpha + (1 - decay) * prior.alpha + gained,
        decay * posterior.beta + (1 - decay) * prior.beta + (len(rewards_G) - gained),
    )
