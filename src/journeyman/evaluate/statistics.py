"""Closed-form statistics of repeated attempts: pass@k, pass^k, Jeffreys, cluster means, sign flips, detectable differences.

Knows nothing of episodes or models: counts and arrays in, numbers out. Resampling is in `bootstrap`.
Shape suffixes: N tasks, B resamples or sign patterns, m tasks that differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import stats

from journeyman.errors import JourneymanError

Floats = NDArray[np.float64]

LEVEL = 0.95
"""Confidence of every interval, two-sided."""

MIN_CLUSTERS = 8
"""Fewest families from which a claim about new families is made."""

EXACT_SIGN_FLIPS = 14
"""Up to so many differing tasks, all 2^m sign patterns are enumerated instead of drawn."""

_TOLERANCE = 1e-12


class Interval(Struct, frozen=True):
    """A 95 % interval and how it was made: `bootstrap`, `bootstrap+jeffreys`, `jeffreys` or `cluster t`."""

    low: float
    high: float
    method: str


class Estimate(Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float
    method: str


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that at least one of `k` attempts passes, from `c` passes in `n`: 1 − C(n−c, k)/C(n, k).

    Source: Chen et al. 2021 (arXiv 2107.03374).

    Raises:
        JourneymanError: n < k (no unbiased estimate exists), k < 1 or c outside 0..n.
    """
    _check_counts(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that `k` attempts all pass (pass^k), from `c` passes in `n`: C(c, k)/C(n, k).

    The plug-in (c/n)^k is biased upwards: for 19 of 20 and k = 20 it says 0.358, this says 0.
    Source: Yao et al. 2024 (arXiv 2406.12045).

    Raises:
        JourneymanError: as `pass_at_k`.
    """
    _check_counts(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _check_counts(n: int, c: int, k: int) -> None:
    if k < 1:
        raise JourneymanError("pass@k", f"k = {k}", "k counts attempts: give at least 1.")
    if n < k:
        raise JourneymanError(
            "pass@k",
            f"n = {n}, k = {k}",
            "fewer trials than k: no unbiased estimate exists. Play more trials or lower k.",
        )
    if not 0 <= c <= n:
        raise JourneymanError("pass@k", f"c = {c}, n = {n}", "passes must lie between 0 and the number of trials.")


def jeffreys(c: int, n: int, level: float = LEVEL) -> Interval:
    """Jeffreys interval of a proportion: quantiles of Beta(c + ½, n − c + ½), with 0 and 1 as bounds at c = 0 and c = n.

    0/8 gives [0, .262], 8/8 [.738, 1], 20/20 [.883, 1]; with n = 0 it is [0, 1].

    Raises:
        JourneymanError: c outside 0..n.
    """
    if not 0 <= c <= n:
        raise JourneymanError("jeffreys", f"c = {c}, n = {n}", "successes must lie between 0 and the number of trials.")
    tail = (1.0 - level) / 2.0
    low = 0.0 if c == 0 else float(stats.beta.ppf(tail, c + 0.5, n - c + 0.5))
    high = 1.0 if c == n else float(stats.beta.ppf(1.0 - tail, c + 0.5, n - c + 0.5))
    return Interval(low, high, "jeffreys")


def cluster_means_interval(values_by_family: Mapping[str, Sequence[float]], level: float = LEVEL) -> Estimate | None:
    """Mean of the family means with a t(G − 1) interval: the claim about families not yet seen.

    None for G < 8 families, where no interval of this kind covers what it promises.
    """
    means = np.array([float(np.mean(values)) for values in values_by_family.values() if len(values)])
    count = len(means)
    if count < MIN_CLUSTERS:
        return None
    mean = float(means.mean())
    reach = float(stats.t.ppf((1.0 + level) / 2.0, count - 1)) * float(means.std(ddof=1)) / math.sqrt(count)
    return Estimate(mean, mean - reach, mean + reach, "cluster t")


def sign_flip_p(differences_N: Sequence[float] | Floats, *, seed: int = 0, draws: int = 10_000) -> float:
    """Two-sided p-value of a paired difference: how often random signs give a mean as far from 0.

    Under "the models are equal" each task's difference is as likely negative as positive. Tasks that do not differ
    carry no information. With at most 14 differing tasks all sign patterns are enumerated (exact); otherwise
    `draws` are drawn and p = (1 + hits) / (1 + draws), which is never 0.
    """
    differences = np.asarray(differences_N, dtype=np.float64)
    differences_m = differences[np.abs(differences) > _TOLERANCE]
    m = len(differences_m)
    if m == 0:
        return 1.0
    observed = abs(float(differences_m.sum())) - _TOLERANCE * m
    if m <= EXACT_SIGN_FLIPS:
        patterns = np.arange(2**m)[:, None] >> np.arange(m)[None, :] & 1
        sums_B = (2.0 * patterns - 1.0) @ differences_m
        return float(np.mean(np.abs(sums_B) >= observed))
    signs = np.random.default_rng(seed).integers(0, 2, size=(draws, m), dtype=np.int8)
    sums_B = (2.0 * signs - 1.0) @ differences_m
    return float(1 + np.count_nonzero(np.abs(sums_B) >= observed)) / (draws + 1)


def stratified_standard_error(values_N: Sequence[float] | Floats, strata_N: Sequence[str]) -> float:
    """Standard error of the mean over tasks with families fixed: sqrt(Σ_h (n_h/N)² s_h²/n_h).

    Families of a single task are taken together as one stratum, as in the bootstrap.
    """
    values = np.asarray(values_N, dtype=np.float64)
    total = len(values)
    variance = 0.0
    for index in strata_indices(strata_N):
        size = len(index)
        if size > 1:
            variance += (size / total) ** 2 * float(values[index].var(ddof=1)) / size
    return math.sqrt(variance)


def minimum_detectable_difference(
    differences_N: Sequence[float] | Floats, strata_N: Sequence[str], *, power: float = 0.8, level: float = LEVEL
) -> float | None:
    """Smallest true difference that a comparison of this size would find with the given power (80 %, two-sided 5 %).

    (z_.975 + z_.80) · SE = 2.80 · SE, where SE is the stratified standard error of the paired per-task differences;
    with one family it is 2.80 · SD/√N. None where no spread was seen, because it cannot be estimated then.
    """
    error = stratified_standard_error(differences_N, strata_N)
    if error <= _TOLERANCE:
        return None
    return float(stats.norm.ppf((1.0 + level) / 2.0) + stats.norm.ppf(power)) * error


def strata_indices(families_N: Sequence[str]) -> list[NDArray[np.intp]]:
    """Task positions by family, in order of first appearance, each stratum with at least two tasks where possible.

    A family of one task has no spread of its own: such families are collapsed into one stratum, and a single
    left-over task joins the smallest other stratum (the textbook method of collapsed strata; it widens).
    """
    groups: dict[str, list[int]] = {}
    for position, family in enumerate(families_N):
        groups.setdefault(family, []).append(position)
    strata = [members for members in groups.values() if len(members) > 1]
    singles = [members[0] for members in groups.values() if len(members) == 1]
    if len(singles) == 1 and strata:
        smallest = min(range(len(strata)), key=lambda i: len(strata[i]))
        strata[smallest] = sorted(strata[smallest] + singles)
    elif singles:
        strata.append(singles)
    return [np.array(members, dtype=np.intp) for members in strata]
