"""Small episodes with chosen outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from journeyman.episode import CallRecord, Episode, Event, Failure, SamplingSettings, Seeds, Usage, Verdict


@pytest.fixture
def attempt() -> Callable[..., Episode]:
    """attempt(task, trial, passed, …): one episode of family task[0]."""

    def make(
        task: str,
        trial: int,
        passed: bool = False,
        *,
        clean: bool | None = None,
        failure: Failure = "none",
        reward: float | None = None,
        retry: int = 0,
        phase: str = "base",
        calls: list[CallRecord] | None = None,
        events: list[Event] | None = None,
        **changed: Any,
    ) -> Episode:
        clean = passed if clean is None else clean
        graded = failure not in ("user", "infrastructure")
        fields: dict[str, Any] = {
            "id": f"{phase}/0000/{task}/{trial}",
            "attempt": retry,
            "task_id": task,
            "task_hash": f"hash-{task}",
            "family": task[0],
            "seeds": Seeds(1, 100 + trial, 3),
            "policy": "p",
            "sampling": SamplingSettings(temperature=0.6),
            "messages": [],
            "calls": calls or [],
            "events": events or [],
            "changes": [],
            "ended": "left",
            "verdict": Verdict(passed, 0, [], [], [], True, clean, "g1") if graded else None,
            "reward": (1.0 if passed else 0.2) if reward is None else reward,
            "failure": failure,
            "usage": {"policy": Usage(100, 20, 2)},
            "timing": {"policy": 2.0, "tools": 0.5, "total": 3.0},
        }
        return Episode(**(fields | changed))

    return make
