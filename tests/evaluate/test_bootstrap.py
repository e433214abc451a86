"""The headline interval: known values, degenerate cases, and its coverage by simulation."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from journeyman.errors import JourneymanError
from journeyman.evaluate.bootstrap import TaskBootstrap
from journeyman.evaluate.statistics import jeffreys


def test_it_matches_the_t_interval_on_plain_data() -> None:
    values = np.random.default_rng(0).uniform(0.2, 0.8, 40)
    found = TaskBootstrap(["a"] * 40).interval(values)
    reach = stats.t.ppf(0.975, 39) * values.std(ddof=1) / np.sqrt(40)
    assert found.method == "bootstrap"
    assert found.low == pytest.approx(values.mean() - reach, abs=0.05 * reach)
    assert found.high == pytest.approx(values.mean() + reach, abs=0.05 * reach)


def test_strata_remove_the_spread_between_families() -> None:
    values = [0.9, 1.0, 0.8, 0.9, 0.1, 0.0, 0.2, 0.1] * 4
    families = (["easy"] * 4 + ["hard"] * 4) * 4
    within = TaskBootstrap(families).interval(values)
    pooled = TaskBootstrap(["all"] * 32).interval(values)
    assert within.high - within.low < 0.35 * (pooled.high - pooled.low)


def test_nothing_seen_is_not_certainty() -> None:
    never = TaskBootstrap(["a"] * 400).interval([0.0] * 400)
    assert (never.low, never.high) == (0.0, pytest.approx(jeffreys(0, 400).high))
    assert 0.005 < never.high < 0.01
    assert never.method == "jeffreys"
    always = TaskBootstrap(["a"] * 20).interval([1.0] * 20)
    assert (always.low, always.high) == (pytest.approx(0.883, abs=5e-4), 1.0)


def test_families_that_agree_are_pooled_by_value() -> None:
    # Two all-zero families of ten count as one of twenty, not as two independent risks.
    two = TaskBootstrap(["a"] * 10 + ["b"] * 10).interval([0.0] * 20)
    assert two.high == pytest.approx(jeffreys(0, 20).high)
    # One family always, one never: each may err by its bound at half the weight, on one side only.
    mixed = TaskBootstrap(["a"] * 10 + ["b"] * 10).interval([1.0] * 10 + [0.0] * 10)
    reach = 0.5 * jeffreys(0, 10).high
    assert (mixed.low, mixed.high) == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))


def test_equal_models_get_a_symmetric_interval_around_zero() -> None:
    found = TaskBootstrap(["a"] * 50).interval([0.0] * 50, lower=-1.0, upper=1.0)
    assert found.high == pytest.approx(jeffreys(0, 50).high)
    assert found.low == pytest.approx(-found.high)


def test_a_family_that_agrees_widens_the_bootstrap_of_the_others() -> None:
    rest = list(np.random.default_rng(2).integers(0, 5, 30) / 4)
    families = ["a"] * 30 + ["b"] * 30
    found = TaskBootstrap(families).interval([*rest, *([0.0] * 30)])
    assert found.method == "bootstrap+jeffreys"
    spread = TaskBootstrap(families).interval([*rest, *([0.0] * 30)], upper=float("inf"))
    assert found.high > spread.high
    assert found.low == pytest.approx(spread.low)


def test_one_task_cannot_speak_for_a_family() -> None:
    found = TaskBootstrap(["a"]).interval([0.5])
    assert found.high - found.low > 0.8


def test_the_same_seed_gives_the_same_interval_and_shared_resamples_cancel() -> None:
    values = np.linspace(0, 1, 25)
    assert TaskBootstrap(["a"] * 25, seed=4).interval(values) == TaskBootstrap(["a"] * 25, seed=4).interval(values)
    shared = TaskBootstrap(["a"] * 25, seed=4)
    difference = shared.interval(values + 0.1 - values, lower=-1.0, upper=1.0)
    assert difference.method == "jeffreys"  # a constant shift has no resampling error at all


def test_misuse_is_refused() -> None:
    with pytest.raises(JourneymanError, match="no task"):
        TaskBootstrap([])
    with pytest.raises(JourneymanError, match="10,000"):
        TaskBootstrap(["a"], resamples=100)
    with pytest.raises(JourneymanError, match="give one each"):
        TaskBootstrap(["a", "a"]).interval([0.5])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=30))
def test_the_interval_holds_the_value_and_stays_on_the_scale(tasks: list[tuple[str, int]]) -> None:
    values = [c / 4 for _, c in tasks]
    found = TaskBootstrap([family for family, _ in tasks], resamples=1000).interval(values)
    assert 0.0 <= found.low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= found.high <= 1.0
    assert found.high > found.low


@pytest.mark.parametrize(
    ("sizes", "trials", "shapes"),
    [
        ([10] * 5, 4, [(0.3, 3), (0.5, 1), (1, 1), (2, 1), (0.2, 5)]),  # 50 uneven tasks
        ([50], 1, [(1, 9)]),  # one trial, 10 % pass
        ([20] * 5, 4, [(0.1, 5)] * 5),  # 2 % pass: many families see no pass at all
    ],
)
def test_coverage_is_near_95_percent(sizes: list[int], trials: int, shapes: list[tuple[float, float]]) -> None:
    rng = np.random.default_rng(7)
    families = [f"f{h}" for h, size in enumerate(sizes) for _ in range(size)]
    truth = sum(size * a / (a + b) for size, (a, b) in zip(sizes, shapes, strict=True)) / len(families)
    resamples = TaskBootstrap(families, resamples=4000)
    repetitions, covered = 400, 0
    for _ in range(repetitions):
        rates = np.concatenate([rng.beta(a, b, size) for size, (a, b) in zip(sizes, shapes, strict=True)])
        found = resamples.interval(rng.binomial(trials, rates) / trials)
        covered += found.low <= truth <= found.high
    # Three standard errors of 400 repetitions are 3.3 points. It may cover more where rates are near 0, never less.
    assert covered / repetitions >= 0.917


def test_it_is_quick_at_full_size() -> None:
    started = time.perf_counter()
    resamples = TaskBootstrap(["a"] * 200 + ["b"] * 307)
    for _ in range(10):
        resamples.interval(np.linspace(0, 1, 507))
    assert time.perf_counter() - started < 5.0
