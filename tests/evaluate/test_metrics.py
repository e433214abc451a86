"""Rates over planned trials, brackets, failure kinds, families."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.episode import Episode, Usage
from journeyman.errors import JourneymanError
from journeyman.evaluate.metrics import Resamples, TaskInfo, latest_attempts, measure_phase

Attempt = Callable[..., Episode]

TASKS = [TaskInfo("a1", "a", 1, "heldout"), TaskInfo("a2", "a", 1, "heldout"), TaskInfo("b1", "b", 3, "heldout")]


def test_rates_by_hand(attempt: Attempt) -> None:
    episodes = [
        *[attempt("a1", t, True, clean=t < 3) for t in range(4)],  # 4 of 4, 3 clean
        *[attempt("a2", t, t < 2) for t in range(4)],  # 2 of 4
        *[attempt("b1", t) for t in range(4)],  # 0 of 4
    ]
    found = measure_phase("base", episodes, TASKS, 4)
    overall = found.overall
    assert overall.pass_at_1.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert overall.clean.value == pytest.approx((0.75 + 0.5) / 3)
    assert overall.reward.value == pytest.approx((1 + 0.6 + 0.2) / 3)
    assert [e.value for e in overall.pass_hat_k] == pytest.approx([0.5, (1 + 1 / 6) / 3, 1 / 3, 1 / 3])
    assert [e.value for e in overall.pass_at_k] == pytest.approx([0.5, (1 + 5 / 6) / 3, 2 / 3, 2 / 3])
    assert overall.observed_all == 1
    assert overall.observed.value == pytest.approx(1 / 3)
    assert overall.observed_all_clean == 0
    assert found.families["a"].pass_at_1.value == pytest.approx(0.75)
    assert found.families["b"].pass_at_1.value == 0.0
    assert found.families["b"].pass_at_1.high > 0.5
    assert found.passing_unclean == pytest.approx(1 / 6)
    assert overall.new_families is None
    assert (found.planned, found.played, found.valid) == (12, 12, 12)
    assert found.usage["policy"].output == 20
    assert found.tokens_per_episode == 20
    assert found.seconds_per_episode == 3.0


def test_broken_and_missing_trials_count_as_failed_and_are_bracketed(attempt: Attempt) -> None:
    episodes = [
        attempt("a1", 0, True),
        attempt("a1", 1, failure="infrastructure"),
        attempt("a2", 0, True),
        attempt("a2", 1, failure="user"),
        attempt("b1", 0, failure="truncated"),  # its second trial was never played
    ]
    found = measure_phase("base", episodes, TASKS, 2)
    assert found.overall.pass_at_1.value == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert found.overall.bracket.if_failed == pytest.approx(1 / 3)
    assert found.overall.bracket.if_excluded == pytest.approx(2 / 3)
    assert found.overall.reward.value == pytest.approx((0.5 + 0.5 + 0.1) / 3)
    assert found.failures == {
        "none": 2,
        "agent": 0,
        "truncated": 1,
        "user": 1,
        "infrastructure": 1,
        "not played": 1,
    }
    assert found.truncated == pytest.approx(1 / 5)
    assert found.valid == 3


def test_only_broken_trials_leave_nothing_to_exclude_to(attempt: Attempt) -> None:
    found = measure_phase("base", [attempt("a1", 0, failure="infrastructure")], TASKS[:1], 1)
    assert found.overall.bracket.if_failed == 0.0
    assert found.overall.bracket.if_excluded is None
    assert found.passing_unclean is None


def test_nothing_played_yet_is_all_failed() -> None:
    found = measure_phase("base", [], TASKS, 2)
    assert found.overall.pass_at_1.value == 0.0
    assert found.failures["not played"] == 6
    assert found.seconds_per_episode is None


def test_a_retry_replaces_the_attempt_before_it(attempt: Attempt) -> None:
    broken, again = attempt("a1", 0, failure="infrastructure"), attempt("a1", 0, True, retry=1)
    assert latest_attempts([again, broken]) == [again]
    assert latest_attempts([broken, again]) == [again]
    found = measure_phase("base", [broken, again], TASKS[:1], 1)
    assert found.overall.pass_at_1.value == 1.0
    assert found.retried == 1


def test_episodes_that_contradict_the_plan_are_refused(attempt: Attempt) -> None:
    with pytest.raises(JourneymanError, match="not among the planned tasks"):
        measure_phase("base", [attempt("z9", 0)], TASKS, 1)
    with pytest.raises(JourneymanError, match="2 trials were played but 1 planned"):
        measure_phase("base", [attempt("a1", 0), attempt("a1", 1)], TASKS, 1)
    with pytest.raises(JourneymanError, match="different versions"):
        measure_phase("base", [attempt("a1", 0)], [TaskInfo("a1", "a", hash="other")], 1)
    with pytest.raises(JourneymanError, match="plans no trial"):
        measure_phase("base", [], [], 1)


def test_new_families_are_spoken_of_from_eight_on(attempt: Attempt) -> None:
    tasks = [TaskInfo(f"{c}1", c) for c in "abcdefgh"]
    episodes = [attempt(task.id, 0, task.family in "abcd") for task in tasks]
    found = measure_phase("base", episodes, tasks, 1).overall.new_families
    assert found is not None
    assert found.value == 0.5
    assert found.method == "cluster t"
    assert measure_phase("base", episodes[:7], tasks[:7], 1).overall.new_families is None


def test_shared_resamples_give_the_same_as_a_seed(attempt: Attempt) -> None:
    episodes = [attempt(task.id, t, (t + len(task.id)) % 2 == 0) for task in TASKS for t in range(2)]
    shared = Resamples(TASKS, seed=3)
    assert measure_phase("base", episodes, TASKS, 2, resamples=shared) == measure_phase(
        "base", episodes, TASKS, 2, seed=3
    )


def test_usage_is_averaged_over_all_played_episodes(attempt: Attempt) -> None:
    episodes = [
        attempt("a1", 0, usage={"policy": Usage(10, 4, 1), "judge": Usage(0, 6, 1)}),
        attempt("a1", 1, usage={}),
    ]
    found = measure_phase("base", episodes, TASKS[:1], 2)
    assert (found.usage["policy"].input, found.usage["policy"].output) == (5, 2)
    assert found.tokens_per_episode == 5


@settings(deadline=None, max_examples=20)
@given(passes=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_pass_hat_k_falls_and_pass_at_k_rises(passes: list[int]) -> None:
    from journeyman.evaluate.bootstrap import TaskBootstrap
    from journeyman.evaluate.metrics import TaskTally, scores

    tallies = [TaskTally(str(i), "", "f", 1, "", 5, 5, c, 0, 0.0, {}) for i, c in enumerate(passes)]
    found = scores(tallies, TaskBootstrap(["f"] * len(passes), resamples=1000))
    hat, at = [e.value for e in found.pass_hat_k], [e.value for e in found.pass_at_k]
    assert hat == sorted(hat, reverse=True)
    assert at == sorted(at)
    assert hat[0] == pytest.approx(at[0]) == pytest.approx(found.pass_at_1.value)
    assert hat[-1] == pytest.approx(passes.count(5) / len(passes))
