"""A sitting: one process's work on a run, from start or resume until it ends. What was finished before, what it may
still spend, and when to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from journeyman.episode import INVALID_FAILURES, Episode
from journeyman.recipe import Evaluate, Prices, Recipe, Sampled, Stage, Training
from journeyman.train.checkpoint import State
from journeyman.train.measure import Ledger
from journeyman.train.progress import Progress
from journeyman.train.runfolder import Entry, phase_of, step_of, taught_by
from journeyman.train.runwriter import RunWriter

T = TypeVar("T")
Stop = Callable[[], bool]

_POLL_SECONDS = 0.2


class StopRun(Exception):
    """The run ends here, cleanly; `reason` is a sentence for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Sitting:
    """Records what is played, hands out what an earlier sitting had finished, and watches the budgets.

    Args:
        writer: the run folder.
        recipe: the run's.
        progress: whom to tell.
        stop: asked now and then; True ends the sitting.
    """

    def __init__(self, writer: RunWriter, recipe: Recipe, progress: Progress, stop: Stop | None = None) -> None:
        self.writer = writer
        self.progress = progress
        self.prices: Prices = recipe.prices
        self._settings = recipe.run
        self._stop = stop
        self._began = self._accounted = time.monotonic()
        self.state = writer.latest()
        self._kept = _take_up(writer, recipe, self.state)
        scan = writer.scan()
        self.ledger = Ledger(scan.usage, writer.seconds() + scan.discarded_seconds)
        self.ledger.spend("teacher", writer.taught())
        self._current: set[asyncio.Task[Any]] = set()

    def take(self, ids: Sequence[str]) -> dict[str, Episode]:
        """Those of `ids` that an earlier sitting finished and that still count, by id, with their segments.

        In replay it is all of them or none: of a batch that was cut short, what was finished is discarded, since what
        is sampled may depend in its last bits on which requests were batched together.
        """
        entries = [self._kept[name] for name in ids if name in self._kept]
        if not entries:
            return {}
        if self._settings.resume == "replay" and len(entries) < len(ids):
            self.writer.supersede(entries)
            for entry in entries:
                del self._kept[entry.id]
            return {}
        wanted = {entry.id for entry in entries}
        return {episode.id: episode for episode in self.writer.episodes(with_tokens=True, among=wanted)}

    def record(self, episode: Episode) -> None:
        """Put a finished episode on disk and count its cost."""
        self.writer.record(episode)
        self.ledger.add(episode)
        self.progress.work_advanced(1)
        if self._current and self._reason():
            for task in self._current:
                task.cancel()

    def discard(self, phase: str, step: int) -> None:
        """Episodes of a stage that were sampled for steps from `step` on no longer count; what they cost does."""
        ahead = [one for one in self.writer.scan().entries.values() if _is_ahead(one, phase, step)]
        if ahead:
            self.writer.supersede(ahead)

    def metrics(self, line: dict[str, Any]) -> None:
        """Write a line of metrics and count its seconds."""
        self._accounted = time.monotonic()
        self.ledger.seconds += line.get("seconds_sampling", 0.0) + line.get("seconds_training", 0.0)
        self.ledger.spend("teacher", taught_by(line))
        line = line | {"cost_total": self.ledger.cost(self.prices), "seconds_total": self.ledger.seconds}
        self.writer.write_metrics(line)
        self.progress.metrics(line)

    def check(self) -> None:
        """Raises StopRun when a budget is spent or somebody asked to stop."""
        reason = self._reason()
        if reason:
            raise StopRun(reason)

    async def watched(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, cancelling it as soon as the sitting must end.

        Raises:
            StopRun: the sitting must end.
        """
        task: asyncio.Task[T] = asyncio.ensure_future(work)
        self._current.add(task)
        watcher = asyncio.ensure_future(self._watch(task))
        try:
            return await task
        except asyncio.CancelledError:
            self.check()
            raise
        finally:
            watcher.cancel()
            self._current.discard(task)

    async def _watch(self, task: asyncio.Task[Any]) -> None:
        while not self._reason():
            await asyncio.sleep(_POLL_SECONDS)
        task.cancel()

    def _reason(self) -> str:
        limits = self._settings
        if self._stop is not None and self._stop():
            return "stopped on request"
        if limits.max_wall_seconds is not None and time.monotonic() - self._began >= limits.max_wall_seconds:
            return f"max_wall_seconds = {limits.max_wall_seconds:g} is reached"
        if limits.max_cost is not None and self._spent() >= limits.max_cost:
            return f"max_cost = {limits.max_cost:g} {self.prices.currency} is reached"
        return ""

    def _spent(self) -> float:
        """What the run has cost, the device time included that no line of metrics has counted yet."""
        unaccounted = time.monotonic() - self._accounted
        return self.ledger.cost(self.prices) + self.prices.device_hour * unaccounted / 3600


def monitor_phase(stage: str) -> str:
    """Phase of a training stage's monitoring evaluations."""
    return f"{stage}-monitor"


def profile_phase(stage: str) -> str:
    """Phase of a pivot stage's profiles; the step of their ids is how many steps of the stage were done."""
    return f"{stage}-profile"


def traces_phase(stage: str) -> str:
    """Phase of the traces that a pivot stage has played for itself."""
    return f"{stage}-traces"


def _take_up(writer: RunWriter, recipe: Recipe, state: State | None) -> dict[str, Entry]:
    """Mark what cannot be kept of the last sitting's uncommitted work; return the rest, by id.

    Kept are evaluations that followed the last commit of a finished training stage: they change no weights. Of the
    training stage in progress `reuse` keeps the finished episodes, `replay` only what was played with the committed weights or
    with none: profiles and traces of pivots. An episode that may still be
    retried is not finished. What was sampled ahead of the committed steps is as uncommitted as what was recorded later.
    """
    evaluations, training, later = _split_stages(recipe.stage, state)
    phases = {stage.name for stage in evaluations}
    if training:
        phases.add(traces_phase(training.name))
        if recipe.run.resume == "reuse":
            phases |= {training.name, monitor_phase(training.name), profile_phase(training.name)}
    fresh = [entry for entry in writer.scan().entries.values() if not _committed(entry, state, training)]
    wanted = [
        entry
        for entry in fresh
        if (phase_of(entry.id) in phases or _is_profile(entry, state, training)) and not _retryable(entry, recipe)
    ]
    kept = {entry.id: entry for entry in writer.reusable(wanted)}
    stale = [entry for entry in fresh if entry.id not in kept]
    broken = [stage.name for stage in ([training] if training else []) + later]
    writer.supersede(stale, broken, state.metrics_offset if state else 0)
    return kept


def _committed(entry: Entry, state: State | None, training: Training | None) -> bool:
    if state is None or entry.offset >= state.episodes_offset:
        return False
    sampled_ahead = isinstance(training, Sampled) and training.max_staleness > 0 and not state.finished
    return not (sampled_ahead and _is_ahead(entry, state.stage_name, state.step))


def _is_profile(entry: Entry, state: State | None, training: Training | None) -> bool:
    """Whether an episode profiles pivots with the committed weights."""
    if training is None or phase_of(entry.id) != profile_phase(training.name):
        return False
    done = state.step if state is not None and state.stage_name == training.name else 0
    return int(step_of(entry.id)) == done


def _is_ahead(entry: Entry, phase: str, step: int) -> bool:
    return phase_of(entry.id) == phase and int(step_of(entry.id)) >= step


def _retryable(entry: Entry, recipe: Recipe) -> bool:
    return entry.failure in INVALID_FAILURES and entry.attempt < recipe.run.retries


def _split_stages(stages: Sequence[Stage], state: State | None) -> tuple[list[Evaluate], Training | None, list[Stage]]:
    """(evaluations next in line, the training stage in progress or next, all stages after it)."""
    begin = 0 if state is None else state.stage + (1 if state.finished else 0)
    evaluations: list[Evaluate] = []
    for index in range(begin, len(stages)):
        stage = stages[index]
        if not isinstance(stage, Evaluate):
            return evaluations, stage, list(stages[index + 1 :])
        evaluations.append(stage)
    return evaluations, None, []
