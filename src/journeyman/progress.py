"""Progress bars with estimates, on stderr; nothing below the command line knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
    )


@contextmanager
def track(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of `total` units; the yielded function advances it by one."""
    with _bar(console) as progress:
        task = progress.add_task(title, total=total, note="")
        yield lambda: progress.advance(task)
