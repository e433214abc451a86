"""The one training loop: source → advantage → samples → update → publish → monitor → metrics → checkpoint.

What differs between methods is in the `Method`; whether batches are sampled in turn or ahead of it, in `asynchronous.py`. The
checkpoint commits a step with everything it recorded; a sitting that ends before it leaves the step undone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from journeyman.engine.base import LossSettings, Trainer
from journeyman.train.alarm import alarm
from journeyman.train.asynchronous import Supply, staleness, supply_of
from journeyman.train.checkpoint import State
from journeyman.train.measure import (
    Ledger,
    batch_counters,
    cost,
    episode_metrics,
    episodes_of,
    reward_histogram,
    update_metrics,
)
from journeyman.train.method import Batch, Method
from journeyman.train.runfolder import taught_by
from journeyman.train.selection import choose
from journeyman.train.sitting import Sitting

Monitor = Callable[[int], Awaitable[dict[str, float]]]
"""Evaluates the published weights after a step (counted from 1) and returns metrics with a `pass_rate`."""


async def train(
    method: Method,
    trainer: Trainer,
    sitting: Sitting,
    state: State,
    origin: Path | None = None,
    monitor: Monitor | None = None,
    references: Collection[int] = (),
) -> State:
    """Run a training stage from `state` to its end.

    Args:
        state: `step` steps of the stage are done and are in the trainer's weights.
        origin: the checkpoint of the weights that the stage began from; None: the untouched model.
        monitor: evaluates every `method.evaluate_every` steps, and after the last one where the best weights are kept.
        references: steps, counted from 1, whose checkpoints are kept for good.

    Returns:
        The committed state of the finished stage.

    Raises:
        StopRun: the sitting must end; everything up to the last checkpoint is kept.
        EngineError: an update failed.
    """
    if state.step == 0:
        trainer.reset_optimizer()
    await method.begin(trainer, origin, state)
    async with supply_of(method, trainer, sitting, state) as supply:
        while state.step < method.steps and not state.finished:
            # A method that plays nothing never waits: without this pause an interrupt would not be heard until the stage ends.
            await asyncio.sleep(0)
            sitting.check()
            state = await _step(method, trainer, sitting, supply, state, monitor, references)
            supply.stepped(state.step)
            sitting.progress.stage_advanced(method.name, state.step)
    return state


async def _step(
    method: Method,
    trainer: Trainer,
    sitting: Sitting,
    supply: Supply,
    state: State,
    monitor: Monitor | None,
    references: Collection[int],
) -> State:
    """One step with all that belongs to it, committed where a checkpoint is due; the state after it."""
    began = time.perf_counter()
    batch = await supply.take(state.step, state.position)
    sampled = time.perf_counter()
    state, line = await supply.work(partial(update, method, trainer, batch, state))
    state = msgspec.structs.replace(state, reference=state.step in references)
    line |= {"seconds_sampling": sampled - began, "seconds_training": time.perf_counter() - sampled}
    line["cost"] = _step_cost(sitting, batch, line)
    watched = monitor is not None and _is_watched(method, state)
    if monitor is not None and watched:
        state = await _monitored(monitor, method, sitting, state)
    sitting.metrics(line)
    if watched:
        _warn(method, sitting, state)
    if state.finished:
        await supply.stop(state.step)
        if method.keep == "best":
            state = choose(trainer, sitting, state)
    if watched or state.finished or state.reference or state.step % method.checkpoint_every == 0:
        sitting.writer.commit(state, trainer.save)
    return state


def _is_watched(method: Method, state: State) -> bool:
    """Whether the weights after the step are evaluated; where the best are kept, the last ones always."""
    if not method.evaluate_every:
        return False
    return state.step % method.evaluate_every == 0 or (state.finished and method.keep == "best")


def _warn(method: Method, sitting: Sitting, state: State) -> None:
    """Raise the alarm where the newest evaluation gives cause."""
    line = alarm(sitting.writer.metrics(), method.name, method.alarm_patience)
    if line is not None:
        sitting.metrics(line | {"global_step": state.global_step})


async def _monitored(monitor: Monitor, method: Method, sitting: Sitting, state: State) -> State:
    began = time.perf_counter()
    seen = await monitor(state.step)
    line: dict[str, Any] = {
        "kind": "monitor",
        "stage": method.name,
        "step": state.step,
        "global_step": state.global_step,
    }
    sitting.metrics(line | seen | {"seconds_sampling": time.perf_counter() - began})
    finished = state.finished or method.done(seen)
    return msgspec.structs.replace(state, monitor=seen["pass_rate"], finished=finished)


def update(method: Method, trainer: Trainer, batch: Batch, state: State) -> tuple[State, dict[str, Any]]:
    """The optimizer steps on one batch, published if there were any; the next state and the step's metrics."""
    before = trainer.version
    minibatches = method.samples(batch.groups)
    prepared = method.prepare(minibatches, trainer, state.step) if minibatches else {}
    reports: list[dict[str, float]] = []
    for samples in minibatches:
        loss = warmed_up(method.loss, state.updates + len(reports), method.warmup_steps)
        reports.append(trainer.update(samples, loss))
    version = trainer.publish() if reports else None
    trained = [sample.episode_id for samples in minibatches for sample in samples]
    counts = batch_counters(batch, trained) | {
        "updates": len(reports),
        "tokens_trained": int(sum(report["tokens"] for report in reports)),
    }
    step = state.step + 1
    state = msgspec.structs.replace(
        state,
        global_step=state.global_step + 1,
        step=step,
        finished=step == method.steps,
        position=batch.position,
        updates=state.updates + len(reports),
        counters={key: state.counters.get(key, 0) + value for key, value in counts.items()},
        monitor=None,
    )
    line: dict[str, Any] = {"kind": "train", "stage": method.name, "step": step, "global_step": state.global_step}
    line |= {"method": method.loss.kind, "version": version, "epoch_position": batch.position}
    line |= prepared | update_metrics(reports) | counts
    line |= episode_metrics(episodes_of(batch.played))
    if batch.played:
        line["no_signal_share"] = counts["groups_without_signal"] / len(batch.played)
        line["reward_histogram"] = reward_histogram(episodes_of(batch.played))
    if method.max_staleness:
        line |= staleness(batch.groups, before, method.max_staleness)
    return state, line


def warmed_up(loss: LossSettings, update_index: int, warmup_steps: int) -> LossSettings:
    """The settings of a stage's update (counted from 0): the rate rises linearly over `warmup_steps`, then stays."""
    if update_index >= warmup_steps:
        return loss
    rate = loss.learning_rate * (update_index + 1) / warmup_steps
    return msgspec.structs.replace(loss, learning_rate=rate)


def _step_cost(sitting: Sitting, batch: Batch, line: dict[str, Any]) -> float:
    ledger = Ledger({})
    for episode in episodes_of([*batch.aside, *batch.played]):
        ledger.add(episode)
    ledger.spend("teacher", taught_by(line))
    return cost(sitting.prices, ledger.usage, line["seconds_sampling"] + line["seconds_training"])
