"""Lints worlds by name on every processor. The report is the same whatever their number: a task's findings depend on
that task alone, and they are put together in task order."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from journeyman.curriculum.lint import LintReport, TaskLint, compile_report, lint_task, merge_reports
from journeyman.curriculum.lint_bench import Bench
from journeyman.world import World

CHUNK = 8
"""Tasks that a process takes at a time."""


def processors() -> int:
    """How many processes lint uses: one for each processor that this one may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lint_worlds(
    names: Sequence[str],
    load: Callable[[str], World],
    *,
    attack: bool = False,
    processes: int | None = None,
    progress: Callable[[], None] | None = None,
) -> LintReport:
    """Lint whole worlds.

    Args:
        names: as `load` takes them.
        load: finds a world by name, in every process anew: a function of a module (`worlds.load_world`).
        attack: play the attack suite as well.
        processes: how many to use; one for each processor if None. With one, everything happens here.
        progress: called once for each task that is done.

    Raises:
        WorldError: a world that cannot be loaded.
    """
    worlds = {name: load(name) for name in dict.fromkeys(names)}
    tasks = {name: world.tasks() for name, world in worlds.items()}
    chunks = [(name, at) for name, some in tasks.items() for at in range(0, len(some), CHUNK)]
    found: dict[tuple[str, int], list[TaskLint]] = {}
    count = processes if processes is not None else processors()
    for chunk, linted in _done(chunks, load, attack, min(count, len(chunks))):
        found[chunk] = linted
        for _ in linted:
            if progress is not None:
                progress()
    reports = []
    for name, world in worlds.items():
        linted = [one for chunk in chunks if chunk[0] == name for one in found[chunk]]
        reports.append(compile_report(world, tasks[name], linted))
    return merge_reports(reports)


def _done(
    chunks: Sequence[tuple[str, int]], load: Callable[[str], World], attack: bool, processes: int
) -> Iterator[tuple[tuple[str, int], list[TaskLint]]]:
    """Chunks as they are done."""
    if processes <= 1:
        for chunk in chunks:
            yield chunk, lint_chunk(*chunk, load, attack)
        return
    # A fresh interpreter for each: a copy of this one would share what its threads hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = {pool.submit(lint_chunk, *chunk, load, attack): chunk for chunk in chunks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def lint_chunk(name: str, start: int, load: Callable[[str], World], attack: bool) -> list[TaskLint]:
    """Lint `CHUNK` tasks of a world, from the `start`-th on."""
    world = load(name)
    with asyncio.Runner() as runner:
        return [lint_task(Bench(world, task, runner), attack) for task in world.tasks()[start : start + CHUNK]]
