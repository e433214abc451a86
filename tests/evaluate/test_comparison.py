"""Paired comparison: hand-worked differences, and what may not be compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from journeyman.episode import Episode, SamplingSettings, Seeds
from journeyman.errors import JourneymanError
from journeyman.evaluate.comparison import compare, unlike_settings
from journeyman.evaluate.metrics import PhaseMetrics, Resamples, TaskInfo, measure_phase

Attempt = Callable[..., Episode]

TASKS = [TaskInfo(f"{family}{i}", family, 1, "heldout") for family in "ab" for i in range(6)]


def phase(attempt: Attempt, name: str, passes: list[int], trials: int = 2, **changed: object) -> PhaseMetrics:
    episodes = [
        attempt(task.id, t, t < count, phase=name, **changed)
        for task, count in zip(TASKS, passes, strict=True)
        for t in range(trials)
    ]
    return measure_phase(name, episodes, TASKS, trials)


def test_differences_by_hand(attempt: Attempt) -> None:
    a = phase(attempt, "sft", [0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 1])
    b = phase(attempt, "rl", [1, 2, 1, 2, 1, 0, 0, 1, 0, 0, 0, 1])
    found = compare(a, b)
    passes = found.metric("pass@1")
    assert (passes.a, passes.b) == (pytest.approx(5 / 24), pytest.approx(9 / 24))
    assert passes.difference.value == pytest.approx(4 / 24)
    assert (passes.wins, passes.losses, passes.ties) == (4, 1, 7)
    # In halves the differences are 1, 2, 1, −1, 1 (sum 4): count the sign patterns that reach as far.
    sums = [
        abs(w + 2 * x + y + z + v) for w in (1, -1) for x in (1, -1) for y in (1, -1) for z in (1, -1) for v in (1, -1)
    ]
    assert passes.p == pytest.approx(sum(s >= 4 for s in sums) / 32)
    both = found.metric("pass^2")
    assert (both.a, both.b) == (pytest.approx(1 / 12), pytest.approx(2 / 12))
    assert (both.wins, both.losses) == (2, 1)
    assert [m.metric for m in found.metrics] == ["pass@1", "clean pass", "mean reward", "pass^2"]
    assert found.families["a"].difference.value == pytest.approx(3 / 12)
    assert found.families["b"].difference.value == pytest.approx(1 / 12)
    assert passes.detectable is not None
    assert passes.detectable > 0.2
    with pytest.raises(KeyError):
        found.metric("pass^3")


def test_a_phase_against_itself_is_not_distinguishable_and_not_certain(attempt: Attempt) -> None:
    a = phase(attempt, "sft", [1] * 12)
    passes = compare(a, a).metric("pass@1")
    assert passes.difference.value == 0.0
    assert passes.difference.low < 0 < passes.difference.high
    assert not passes.distinguishable
    assert (passes.p, passes.detectable, passes.ties) == (1.0, None, 12)


def test_a_clear_gain_is_distinguishable(attempt: Attempt) -> None:
    found = compare(phase(attempt, "base", [0] * 12), phase(attempt, "rl", [2] * 10 + [1, 0])).metric("pass@1")
    assert found.distinguishable
    assert found.difference.low > 0.4
    assert found.p < 0.01


def test_swapping_sides_mirrors_the_difference(attempt: Attempt) -> None:
    a, b = phase(attempt, "x", [0, 1, 2] * 4), phase(attempt, "y", [1, 1, 2, 2, 0, 2] * 2)
    forth, back = compare(a, b).metric("pass@1"), compare(b, a).metric("pass@1")
    assert forth.difference.value == pytest.approx(-back.difference.value)
    assert forth.p == pytest.approx(back.p)
    assert (forth.wins, forth.losses) == (back.losses, back.wins)


def test_unlike_settings_are_refused_and_named(attempt: Attempt) -> None:
    a = phase(attempt, "a", [1] * 12)
    hot = phase(attempt, "b", [1] * 12, sampling=SamplingSettings(temperature=1.0))
    assert unlike_settings(a, a) == []
    assert unlike_settings(a, hot) == ["sampling settings differ"]
    with pytest.raises(JourneymanError, match="sampling settings differ"):
        compare(a, hot)
    assert compare(a, hot, allow_unlike=True).unlike == ["sampling settings differ"]
    strangers = phase(attempt, "c", [1] * 12, seeds=Seeds(1, 999, 3))
    assert "other user seeds" in unlike_settings(a, strangers)[0]
    altered = phase(attempt, "d", [1] * 12, task_hash="new")
    assert "12 tasks differ in content" in unlike_settings(a, altered)[0]
    longer = phase(attempt, "e", [1] * 12, trials=3)
    assert unlike_settings(a, longer) == ["2 trials a task against 3"]
    assert [m.metric for m in compare(a, longer, allow_unlike=True).metrics][-1] == "pass^2"


def test_common_tasks_only_when_allowed(attempt: Attempt) -> None:
    a = phase(attempt, "a", [1] * 12)
    fewer = measure_phase("b", [attempt(t.id, i, True, phase="b") for t in TASKS[:4] for i in range(2)], TASKS[:4], 2)
    with pytest.raises(JourneymanError, match="8 tasks were planned in only one"):
        compare(a, fewer)
    assert compare(a, fewer, allow_unlike=True).tasks == 4
    apart = measure_phase("c", [attempt("z1", 0, phase="c")], [TaskInfo("z1", "z")], 1)
    with pytest.raises(JourneymanError, match="no task in common"):
        compare(a, apart, allow_unlike=True)


def test_shared_resamples_change_nothing(attempt: Attempt) -> None:
    a, b = phase(attempt, "x", [0, 1, 2] * 4), phase(attempt, "y", [1, 1, 2, 2, 0, 2] * 2)
    assert compare(a, b, resamples=Resamples(TASKS, seed=0)) == compare(a, b, seed=0)
