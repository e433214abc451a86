"""Closed forms against hand-worked values, exact enumeration and published figures."""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from journeyman.errors import JourneymanError
from journeyman.evaluate.statistics import (
    cluster_means_interval,
    jeffreys,
    minimum_detectable_difference,
    pass_at_k,
    pass_hat_k,
    sign_flip_p,
    strata_indices,
    stratified_standard_error,
)


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        (4, 2, 1, 0.5, 0.5),
        (4, 2, 2, 5 / 6, 1 / 6),  # of 6 pairs, 1 is fail-fail and 1 pass-pass
        (4, 3, 2, 1.0, 0.5),
        (5, 1, 3, 0.6, 0.0),
        (20, 19, 20, 1.0, 0.0),
        (20, 20, 20, 1.0, 1.0),
        (3, 0, 2, 0.0, 0.0),
    ],
)
def test_pass_at_k_and_pass_hat_k_by_hand(n: int, c: int, k: int, at: float, hat: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(at)
    assert pass_hat_k(n, c, k) == pytest.approx(hat)


def test_the_plug_in_is_biased_where_ours_is_not() -> None:
    assert pytest.approx(0.358, abs=5e-4) == (19 / 20) ** 20
    assert pass_hat_k(20, 19, 20) == 0.0


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_they_are_the_average_over_all_choices_of_k_trials(nck: tuple[int, int, int]) -> None:
    n, c, k = nck
    outcomes = [True] * c + [False] * (n - c)
    chosen = list(combinations(outcomes, k))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(all(x) for x in chosen) / len(chosen))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(x) for x in chosen) / len(chosen))
    assert pass_hat_k(n, c, k) <= pass_hat_k(n, c, 1) + 1e-12 == pytest.approx(pass_at_k(n, c, 1))


def test_pass_hat_k_is_unbiased() -> None:
    n, k, p = 5, 3, 0.7
    expected = sum(stats.binom.pmf(c, n, p) * pass_hat_k(n, c, k) for c in range(n + 1))
    assert expected == pytest.approx(p**k)


@pytest.mark.parametrize(("n", "c", "k"), [(2, 1, 3), (0, 0, 1), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(JourneymanError):
        pass_hat_k(n, c, k)
    with pytest.raises(JourneymanError):
        pass_at_k(n, c, k)


def test_too_few_trials_say_what_to_do() -> None:
    with pytest.raises(JourneymanError, match="Play more trials or lower k"):
        pass_hat_k(3, 3, 4)


@pytest.mark.parametrize(
    ("c", "n", "low", "high"), [(0, 8, 0.0, 0.262), (8, 8, 0.738, 1.0), (20, 20, 0.883, 1.0), (0, 0, 0.0, 1.0)]
)
def test_jeffreys_known_values(c: int, n: int, low: float, high: float) -> None:
    found = jeffreys(c, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_jeffreys_covers_the_rate_and_refuses_nonsense() -> None:
    found = jeffreys(3, 10)
    assert found.low == pytest.approx(0.0927, abs=5e-4)
    assert found.high == pytest.approx(0.6058, abs=5e-4)
    with pytest.raises(JourneymanError):
        jeffreys(3, 2)


def test_cluster_means_need_eight_families() -> None:
    seven = {f"f{i}": [0.1 * i] for i in range(7)}
    assert cluster_means_interval(seven) is None
    found = cluster_means_interval(seven | {"f7": [0.6, 0.8]})
    assert found is not None
    # Means 0, .1 … .7: mean .35, SD of eight equally spaced points .1·sqrt(6), t(7) = 2.3646.
    assert found.value == pytest.approx(0.35)
    assert found.high - found.value == pytest.approx(2.364624 * 0.1 * sqrt(6) / sqrt(8), rel=1e-5)


def test_sign_flip_is_exact_for_few_tasks() -> None:
    # All five positive and equal: only the all-plus and all-minus patterns reach the sum.
    assert sign_flip_p([0.5] * 5) == pytest.approx(2 / 32)
    # Ties carry no information.
    assert sign_flip_p([0.5] * 5 + [0.0] * 40) == pytest.approx(2 / 32)
    assert sign_flip_p([0.0] * 9) == 1.0
    assert sign_flip_p([]) == 1.0
    values = [0.25, 0.5, -0.25, 0.75]
    sums = [abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((-1, 1), repeat=4)]
    assert sign_flip_p(values) == pytest.approx(sum(s >= 1.25 - 1e-9 for s in sums) / 16)


def test_sign_flip_by_draws_agrees_with_the_t_test_and_is_never_zero() -> None:
    values = np.random.default_rng(5).normal(0.35, 1.0, 60)
    assert sign_flip_p(values) == pytest.approx(float(stats.ttest_1samp(values, 0).pvalue), abs=0.01)
    assert sign_flip_p([1.0] * 200) == pytest.approx(1 / 10_001)
    assert sign_flip_p(values, seed=3) == sign_flip_p(values, seed=3)


def test_sign_flip_rejects_five_percent_of_equal_pairs() -> None:
    rng = np.random.default_rng(11)
    rejected = sum(
        sign_flip_p(rng.binomial(4, 0.4, 30) / 4 - rng.binomial(4, 0.4, 30) / 4, draws=1000) <= 0.05 for _ in range(400)
    )
    assert 8 <= rejected <= 33  # 5 ± 3.2 %: three standard errors of 400 repetitions


def test_detectable_difference_by_hand() -> None:
    differences = [0.0, 0.5, -0.5, 1.0, 0.25, 0.0]
    spread = float(np.std(differences, ddof=1))
    found = minimum_detectable_difference(differences, ["a"] * 6)
    assert found == pytest.approx((1.959964 + 0.841621) * spread / sqrt(6), rel=1e-5)
    assert minimum_detectable_difference([0.0] * 6, ["a"] * 6) is None


def test_detectable_difference_ignores_spread_between_families() -> None:
    # Within each family the tasks agree but for one; the gap between families is no noise.
    values, strata = [0.0, 0.0, 0.1, 1.0, 1.0, 0.9], ["a"] * 3 + ["b"] * 3
    within = 0.1 / sqrt(3)
    assert stratified_standard_error(values, strata) == pytest.approx(sqrt(2 * 0.25 * within**2 / 3))


def test_families_of_one_task_are_collapsed() -> None:
    assert [list(i) for i in strata_indices(["a", "b", "a", "c"])] == [[0, 2], [1, 3]]
    assert [list(i) for i in strata_indices(["a", "a", "b", "b", "b", "c"])] == [[0, 1, 5], [2, 3, 4]]
    assert [list(i) for i in strata_indices(["a"])] == [[0]]
