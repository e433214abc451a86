"""Progress bars with estimates, on stderr; nothing below the command line knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as TimeLeft

NOTED = {"reward_mean": "reward", "pass_rate": "pass", "loss": "loss"}
"""Metrics shown as they come in, with their short names."""


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<24}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeft(),
        console=console,
    )


@contextmanager
def track(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of `total` units; the yielded function advances it by one."""
    with _bars(console) as bars:
        task = bars.add_task(title, total=total)
        yield lambda: bars.advance(task)


class RichProgress:
    """Shows a run: one bar for the stage, one for the episodes being played, one printed line per metrics line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = _bars(console)
        self._stage: TaskID | None = None
        self._work: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def stage_started(self, name: str, kind: str, total: int, done: int) -> None:
        """A stage begins or is taken up."""
        self._stage = self._bars.add_task(f"{name} ({kind})", total=total, completed=done)

    def stage_advanced(self, name: str, done: int) -> None:
        """`done` of the stage's total are done."""
        if self._stage is not None:
            self._bars.update(self._stage, completed=done)

    def work_started(self, label: str, total: int) -> None:
        """A batch of episodes begins."""
        if self._work is not None:
            self._bars.remove_task(self._work)
        self._work = self._bars.add_task(f"  {label}", total=total)

    def work_advanced(self, count: int) -> None:
        """`count` more episodes of the batch are done."""
        if self._work is not None:
            self._bars.advance(self._work, count)

    def metrics(self, line: Mapping[str, Any]) -> None:
        """A line of metrics.jsonl was written: the few numbers a person follows are printed, and every alarm."""
        if line.get("kind") == "alarm":
            self._console.print(f"Alarm: {line['message']}", style="bold red", highlight=False)
            return
        shown = [f"{short} {line[key]:.3f}" for key, short in NOTED.items() if isinstance(line.get(key), int | float)]
        place = f"{line.get('stage', '')} step {line['step']}" if "step" in line else f"{line.get('stage', '')}"
        if shown:
            self._console.print(f"{place}: {', '.join(shown)}", style="dim", highlight=False)

    def stage_finished(self, name: str) -> None:
        """The stage is done."""
        if self._work is not None:
            self._bars.remove_task(self._work)
            self._work = None
        if self._stage is not None:
            self._bars.refresh()
            self._stage = None
