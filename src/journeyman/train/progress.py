"""What a run tells of itself while it runs. The pipeline calls; who shows it (a terminal, a test, nobody) is apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Progress(Protocol):
    """Callbacks of a run, in order: stage_started, then work and advances and metrics, then stage_finished."""

    def stage_started(self, name: str, kind: str, total: int, done: int) -> None:
        """A stage begins or is taken up. `total`: training steps, or episodes of an evaluation; `done`: of an earlier sitting."""
        ...

    def stage_advanced(self, name: str, done: int) -> None:
        """`done` of the stage's total are done."""
        ...

    def work_started(self, label: str, total: int) -> None:
        """A batch of `total` episodes begins inside the stage."""
        ...

    def work_advanced(self, count: int) -> None:
        """`count` more episodes of that batch are done."""
        ...

    def metrics(self, line: Mapping[str, Any]) -> None:
        """A line of metrics.jsonl was written."""
        ...

    def stage_finished(self, name: str) -> None:
        """All of the stage is done."""
        ...


class Silent:
    """A `Progress` that tells nobody."""

    def stage_started(self, name: str, kind: str, total: int, done: int) -> None:
        """Nothing."""

    def stage_advanced(self, name: str, done: int) -> None:
        """Nothing."""

    def work_started(self, label: str, total: int) -> None:
        """Nothing."""

    def work_advanced(self, count: int) -> None:
        """Nothing."""

    def metrics(self, line: Mapping[str, Any]) -> None:
        """Nothing."""

    def stage_finished(self, name: str) -> None:
        """Nothing."""
