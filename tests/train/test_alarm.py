"""The alarm's rule, worked out by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest

from journeyman.train.alarm import alarm, trend


def lines(rewards: list[float], monitored: dict[int, float], stage: str = "rl") -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for step, reward in enumerate(rewards, start=1):
        if step in monitored:
            made.append({"kind": "monitor", "stage": stage, "step": step, "pass_rate": monitored[step]})
        made.append({"kind": "train", "stage": stage, "step": step, "reward_mean": reward})
    return made


def test_the_trend_by_hand() -> None:
    # All 6 pairs rise: S = 6, variance 4 · 3 · 13 / 18.
    assert trend([0.1, 0.2, 0.3, 0.4]) == pytest.approx((1.0, 5 / sqrt(26 / 3)))
    # 5 pairs rise and one falls; of 10 pairs one ties, 8 rise, one falls.
    assert trend([0.1, 0.3, 0.2, 0.4]) == pytest.approx((4 / 6, 3 / sqrt(26 / 3)))
    assert trend([1, 2, 2, 4, 3]) == pytest.approx((0.7, 6 / sqrt(5 * 4 * 15 / 18)))
    assert trend([3, 2, 1])[1] < 0
    assert trend([1.0]) == trend([]) == (0.0, 0.0)


def test_a_rising_reward_over_a_flat_monitor_alarms() -> None:
    rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    monitored = {1: 0.4, 3: 0.5, 5: 0.5, 7: 0.4}
    found = alarm(lines(rising, monitored), "rl", patience=2)
    assert found is not None
    assert (found["best_step"], found["best_pass_rate"], found["evaluations"], found["step"]) == (3, 0.5, 2, 7)
    # Steps 3 to 7: S = 10, variance 5 · 4 · 15 / 18.
    assert (found["tau"], found["z"]) == pytest.approx((1.0, 9 / sqrt(50 / 3)))
    assert "since step 3 the training reward rises" in found["message"]
    assert alarm(lines(rising, monitored), "rl", patience=3) is None
    assert alarm(lines(rising, monitored), "rl", patience=0) is None
    assert alarm(lines(rising, monitored), "other", patience=2) is None


def test_no_alarm_where_the_monitor_rises_too_or_the_reward_does_not() -> None:
    rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert alarm(lines(rising, {2: 0.4, 4: 0.4, 6: 0.5}), "rl", patience=2) is None
    flat = [0.1, 0.4, 0.4, 0.4, 0.4, 0.4]
    assert alarm(lines(flat, {2: 0.4, 4: 0.4, 6: 0.3}), "rl", patience=2) is None
    # Three steps cannot show a trend: even in order they are by chance one time in six.
    assert alarm(lines(rising[:3], {1: 0.4, 2: 0.4, 3: 0.3}), "rl", patience=2) is None


def test_it_is_raised_once_for_each_best() -> None:
    made = lines([0.1, 0.2, 0.3, 0.4, 0.5], {1: 0.5, 3: 0.4, 5: 0.4})
    first = alarm(made, "rl", patience=2)
    assert first is not None
    assert alarm([*made, first], "rl", patience=2) is None
    later = lines([0.1 * n for n in range(1, 11)], {1: 0.5, 3: 0.4, 5: 0.4, 6: 0.6, 8: 0.6, 10: 0.5})
    again = alarm([*later, first], "rl", patience=2)
    assert again is not None
    assert again["best_step"] == 6
