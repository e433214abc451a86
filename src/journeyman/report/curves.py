"""Learning curves: what each training step saw.

Reward, pass rate and zero-signal share are computed from the step's own episodes, refills included, so they do not
depend on what a trainer chose to log; the SFT loss is read from the metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, Struct

from journeyman.episode import Episode


class Curve(Struct, frozen=True):
    """Series by name over `steps`, all of one length; None where a step lacks the value."""

    stage: str
    kind: str
    steps: list[int]
    series: dict[str, list[float | None]]


def sft_curve(stage: str, metrics: Iterable[Mapping[str, Any]]) -> Curve:
    """Loss per step of a supervised stage, from metrics.jsonl lines of that stage that hold `step` and `loss`."""
    points = {
        int(line["step"]): float(line["loss"])
        for line in metrics
        if line.get("stage") == stage
        and isinstance(line.get("step"), int)
        and isinstance(line.get("loss"), int | float)
    }
    steps = sorted(points)
    return Curve(stage, "sft", steps, {"loss": [points[step] for step in steps]})


def grpo_curve(stage: str, episodes: Iterable[Episode], tolerance: float) -> Curve:
    """Mean reward, pass rate, clean pass rate and share of groups without signal, per step, over graded episodes. Single turns from
    pivots have no pass rates.

    Args:
        tolerance: a group whose rewards spread no more than this has no signal.
    """
    # Episode ids count steps from 0, metrics and monitoring from 1.
    return _by_step(stage, "grpo", episodes, tolerance, first=1)


def monitor_curve(stage: str, episodes: Iterable[Episode]) -> Curve:
    """Reward and pass rate on the monitoring tasks, per step at which they were played."""
    curve = _by_step(stage, "monitor", episodes, 0.0)
    return Curve(curve.stage, curve.kind, curve.steps, {k: v for k, v in curve.series.items() if k != "zero_signal"})


def _by_step(stage: str, kind: str, episodes: Iterable[Episode], tolerance: float, first: int = 0) -> Curve:
    # Only sums are kept: a run may hold more training episodes than fit in memory.
    totals: dict[int, list[float]] = {}
    spreads: dict[int, dict[str, tuple[float, float]]] = {}
    for episode in episodes:
        step = episode.id.split("/")[1]
        verdict = episode.verdict
        # A single turn from a pivot has a reward and no outcome.
        if not episode.valid or (verdict is None and episode.pivot is UNSET) or not step.isdigit():
            continue
        total = totals.setdefault(int(step), [0.0] * 5)
        outcome = (0.0, 0.0, 0.0) if verdict is None else (1.0, float(verdict.passed), float(verdict.clean))
        added = (1.0, episode.reward, *outcome)
        totals[int(step)] = [old + new for old, new in zip(total, added, strict=True)]
        groups = spreads.setdefault(int(step), {})
        low, high = groups.get(episode.group_id, (episode.reward, episode.reward))
        groups[episode.group_id] = (min(low, episode.reward), max(high, episode.reward))
    steps = sorted(totals)
    series: dict[str, list[float | None]] = {
        name: [totals[step][place] / totals[step][of] if totals[step][of] else None for step in steps]
        for name, place, of in (("reward", 1, 0), ("pass_rate", 3, 2), ("clean_rate", 4, 2))
    }
    series["zero_signal"] = [
        sum(high - low <= tolerance for low, high in spreads[step].values()) / len(spreads[step]) for step in steps
    ]
    return Curve(stage, kind, [step + first for step in steps], series)
