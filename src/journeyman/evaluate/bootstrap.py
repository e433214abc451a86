"""The headline interval: a bootstrap over tasks, stratified by family, with every trial of a task carried along.

Scope: "these families". A resample draws tasks within each family; what a task brings is its per-task value (a rate,
pass^k, a paired difference), so trials of one task are never taken for independent evidence.

Choices, each checked by simulation in the tests:

- Of a family's n tasks, n − 1 are drawn (McCarthy and Snowden 1985). The variance of the resampled mean is then exactly
  s²/n, where drawing n understates it by (n − 1)/n: a lot for families of five tasks.
- Percentile, with tails expanded from normal to t (Hesterberg 2015) on Satterthwaite's degrees of freedom. BCa was
  the alternative: its acceleration corrects the skew of one sample, but it inherits the small-sample variance, is
  undefined where all tasks agree, and its endpoints jump on values that take few distinct levels, as rates of four trials do.
- Where all tasks of a family agree (all pass, all fail, all tie) resampling sees no spread and would claim certainty.
  Such tasks, pooled by value, get the Jeffreys bound of "0 of n tasks differ": up to that share of tasks might lie at
  the far end of the scale. It is joined to the bootstrap in quadrature (MOVER, Zou and Donner 2008). So 0/400 gives
  [0, .006], not [0, 0]; n counts tasks, not trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from journeyman.errors import JourneymanError
from journeyman.evaluate.statistics import LEVEL, Estimate, Floats, Interval, jeffreys, strata_indices

RESAMPLES = 10_000
_TOLERANCE = 1e-12


class TaskBootstrap:
    """Resamples of one list of tasks, drawn once and used for every metric and model on that list.

    Sharing the object (or its seed and family list) is what makes two intervals paired.

    Args:
        families_N: family of each task, in task order.
        seed: of the resampling; equal seeds and family lists give equal resamples.
        resamples: how many (B).

    Raises:
        JourneymanError: no task, or fewer than 1,000 resamples (the tails would be noise).
    """

    def __init__(self, families_N: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        if not families_N:
            raise JourneymanError("bootstrap", "tasks", "no task to resample: the phase holds no planned task.")
        if resamples < 1000:
            raise JourneymanError("bootstrap", "resamples", "fewer than 1,000 leave the tails to noise: use 10,000.")
        self.size = len(families_N)
        self.strata = strata_indices(families_N)
        self.resamples = resamples
        rng = np.random.default_rng(seed)
        # One (B, n_h) matrix per family: how often each task was drawn, divided by the number of draws.
        self._shares = [
            rng.multinomial(len(index) - 1, np.full(len(index), 1.0 / len(index)), size=resamples) / (len(index) - 1)
            if len(index) > 1
            else np.ones((resamples, 1))
            for index in self.strata
        ]

    def interval(
        self, values_N: Sequence[float] | Floats, *, lower: float = 0.0, upper: float = 1.0, level: float = LEVEL
    ) -> Interval:
        """Interval of the mean over tasks of `values_N`, which lie in [lower, upper].

        Infinite bounds are allowed for values without a scale (tokens, seconds); agreeing tasks then add nothing.

        Raises:
            JourneymanError: the number of values is not the number of tasks.
        """
        values = np.asarray(values_N, dtype=np.float64)
        if values.shape != (self.size,):
            raise JourneymanError("bootstrap", "values", f"{values.size} values for {self.size} tasks: give one each.")
        means_B, variances, agreeing = np.zeros(self.resamples), [], dict[float, int]()
        for index, shares in zip(self.strata, self._shares, strict=True):
            part, weight = values[index], len(index) / self.size
            if float(np.ptp(part)) <= _TOLERANCE:
                level_value = float(part[0])
                agreeing[level_value] = agreeing.get(level_value, 0) + len(index)
                continue
            means_B += weight * (shares @ (part - part.mean()))
            variances.append((weight**2 * float(part.var(ddof=1)) / len(index), len(index) - 1))
        down, up = _expanded_tails(means_B, variances, level)
        squares = [down**2, up**2]
        for value, count in agreeing.items():
            share, weight = jeffreys(0, count, level).high, count / self.size
            squares[0] += _reach(weight * share, value - lower)
            squares[1] += _reach(weight * share, upper - value)
        mean = float(values.mean())
        method = "jeffreys" if not variances else "bootstrap+jeffreys" if agreeing else "bootstrap"
        return Interval(max(lower, mean - math.sqrt(squares[0])), min(upper, mean + math.sqrt(squares[1])), method)

    def estimate(self, values_N: Sequence[float] | Floats, *, lower: float = 0.0, upper: float = 1.0) -> Estimate:
        """Mean over tasks with its interval; arguments as `interval`."""
        found = self.interval(values_N, lower=lower, upper=upper)
        return Estimate(float(np.mean(values_N)), found.low, found.high, found.method)


def _expanded_tails(means_B: Floats, variances: list[tuple[float, int]], level: float) -> tuple[float, float]:
    """Distances from the (centred) mean to its lower and upper bound."""
    if not variances:
        return 0.0, 0.0
    total = sum(variance for variance, _ in variances)
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in variances)
    tail = float(stats.norm.sf(stats.t.ppf((1.0 + level) / 2.0, freedom)))
    low, high = np.quantile(means_B, [tail, 1.0 - tail])
    return max(0.0, -float(low)), max(0.0, float(high))


def _reach(share: float, distance: float) -> float:
    return (share * distance) ** 2 if math.isfinite(distance) else 0.0
