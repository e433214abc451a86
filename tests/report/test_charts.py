"""Charts and curves against hand-worked coordinates and figures."""

from __future__ import annotations

import re

import msgspec
import pytest
from made_run import make_episode, make_tasks

from journeyman.episode import Continued
from journeyman.evaluate.statistics import Estimate
from journeyman.report.charts import Frame, Series, line_chart, nice_top, share_bar, slope_chart, strip
from journeyman.report.curves import grpo_curve, monitor_curve, sft_curve
from journeyman.report.showcase import describe_change
from journeyman.report.text import counted, listed, number, p_value, percent, points, truncate
from journeyman.task import RowChange

TASK = make_tasks({"plan_change": (1, 1)})[0]


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0.0, 1.0),
        (0.07, 0.1),
        (0.1, 0.1),
        (0.12, 0.2),
        (0.22, 0.25),
        (0.6, 1.0),
        (2.3, 2.5),
        (42.0, 50.0),
        (51.0, 100.0),
    ],
)
def test_axes_end_at_round_numbers(value: float, top: float) -> None:
    assert nice_top(value) == pytest.approx(top)


def test_a_frame_maps_corners_to_the_plotting_area() -> None:
    frame = Frame(0, 10, 0, 1, width=340, height=216, right=20)
    assert (frame.x(0), frame.x(10)) == (40, 320)
    assert (frame.y(0), frame.y(1)) == (182, 12)
    assert (frame.x(5), frame.y(0.5)) == (180, 97)


def test_a_line_skips_missing_values_and_keeps_labels_apart() -> None:
    one = Series("one", "base", [1, 2, 3], [0.5, None, 0.5])
    two = Series("two", "sft", [1, 2, 3], [0.5, 0.5, 0.5])
    chart = str(line_chart([one, two], title="t", x_title="k", y_top=1.0))
    lines = re.findall(r'<polyline class="curve" points="([^"]*)"', chart)
    assert [len(points.split()) for points in lines] == [2, 3]
    heights = [float(y) for y in re.findall(r'<text class="end[^>]* y="([\d.]+)"', chart)]
    assert heights[1] - heights[0] >= 12
    assert 'aria-label="t: one from 50% to 50%; two from 50% to 50%"' in chart


def test_no_points_no_chart() -> None:
    assert line_chart([Series("x", "base", [], [])], title="t", x_title="k", y_top=1.0) == ""


def test_names_in_charts_are_escaped() -> None:
    bad = '"><script>'
    shapes = [
        slope_chart([(bad, "base", Estimate(0.1, 0.0, 0.2, "b"))], title=bad, y_top=1.0),
        line_chart(
            [Series(bad, "base", [1, 2], [0, 1]), Series(bad, "sft", [1, 2], [0, 1])], title=bad, x_title=bad, y_top=1.0
        ),
        share_bar([(bad, "none", 1.0)], title=bad),
    ]
    assert all("<script" not in shape for shape in shapes)


def test_a_strip_places_value_and_interval() -> None:
    drawn = str(strip(Estimate(0.5, 0.25, 0.75, "b"), "sft"))
    assert 'x1="77.0" x2="223.0"' in drawn
    assert 'cx="150.0"' in drawn
    assert "50%, 95% interval 25% to 75%" in drawn


def test_shares_fill_the_bar() -> None:
    drawn = str(share_bar([("a", "none", 0.25), ("b", "agent", 0.0), ("c", "user", 0.75)], title="t"))
    assert re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', drawn) == [("0.0", "99.0"), ("100.0", "299.0")]


def test_grpo_curve_by_hand() -> None:
    def episode(step: int, group: int, trial: int, reward: float, passed: bool = False, **changed: object):  # type: ignore[no-untyped-def]
        made = make_episode(TASK, "grpo", group, trial, passed=passed, step=step, talk=False)
        return msgspec.structs.replace(made, reward=reward, **changed)

    episodes = [
        episode(0, 0, 0, 0.25),
        episode(0, 0, 1, 0.25 + 1e-9),  # no signal: float noise is no spread
        episode(0, 1, 0, 0.0),
        episode(0, 1, 1, 1.0, True),
        episode(1, 0, 0, 1.0, True),
        episode(1, 0, 1, 0.5),
        episode(1, 0, 2, 9.0, failure="infrastructure"),
    ]
    curve = grpo_curve("grpo", episodes, 1e-6)
    assert curve.steps == [1, 2]
    assert curve.series["reward"] == pytest.approx([0.375, 0.75])
    assert curve.series["pass_rate"] == pytest.approx([0.25, 0.5])
    assert curve.series["zero_signal"] == [0.5, 0.0]
    monitor = monitor_curve("grpo", episodes)
    assert monitor.steps == [0, 1]
    assert "zero_signal" not in monitor.series


def test_single_turns_from_pivots_have_rewards_and_no_pass_rate() -> None:
    def turn(group: int, trial: int, reward: float):  # type: ignore[no-untyped-def]
        made = make_episode(TASK, "pivot", group, trial, passed=False, step=0, talk=False)
        begun = Continued("sft/0000/0000/00", 1, "equivalent")
        return msgspec.structs.replace(made, reward=reward, verdict=None, pivot=begun)

    curve = grpo_curve("pivot", [turn(0, 0, 1.0), turn(0, 1, 0.0), turn(1, 0, 0.0), turn(1, 1, 0.0)], 1e-6)
    assert (curve.steps, curve.series["reward"], curve.series["zero_signal"]) == ([1], [0.25], [0.5])
    assert (curve.series["pass_rate"], curve.series["clean_rate"]) == ([None], [None])


def test_sft_curve_reads_its_own_stage_only() -> None:
    lines = [
        {"kind": "train", "stage": "sft", "step": 2, "loss": 0.5},
        {"kind": "train", "stage": "sft", "step": 1, "loss": 1.5},
        {"kind": "train", "stage": "grpo", "step": 1, "loss": 9.0},
        {"kind": "evaluate", "stage": "sft", "pass_rate": 0.5},
    ]
    curve = sft_curve("sft", lines)
    assert (curve.steps, curve.series["loss"]) == ([1, 2], [1.5, 0.5])


def test_numbers_as_text() -> None:
    assert (percent(0.4236), percent(None)) == ("42.4%", "–")
    assert (points(0.081), points(-0.02)) == ("+8.1", "−2.0")
    assert (number(1234.5), number(0.123), number(None)) == ("1,234", "0.12", "–")
    assert (p_value(0.0004), p_value(0.0123)) == ("< 0.001", "0.012")
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
    assert (counted(1, "family"), counted(2, "family"), counted(3, "task")) == ("1 family", "2 families", "3 tasks")
    assert truncate("abcdef", 3) == "abc … [3 more characters not shown]"


def test_changes_in_words() -> None:
    assert describe_change(RowChange("t", "insert", {"id": 1}, new={"id": 1, "a": None})) == "insert t id=1: a null"
    assert describe_change(RowChange("t", "delete", {"id": 1}, old={"id": 1, "a": "x"})) == "delete t id=1: a x"
