"""The one training loop: source → advantage → samples → update → publish → monitor → metrics → checkpoint.

What differs between methods is in the `Method`. The checkpoint commits a step with everything it recorded; a sitting
that ends before it leaves the step undone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from journeyman.engine.base import LossSettings, Trainer
from journeyman.train.checkpoint import State
from journeyman.train.measure import Ledger, batch_counters, cost, episode_metrics, episodes_of, update_metrics
from journeyman.train.method import Batch, Method
from journeyman.train.sitting import Sitting

Monitor = Callable[[int], Awaitable[dict[str, float]]]
"""Evaluates the published weights after a step (counted from 1) and returns metrics with a `pass_rate`."""


async def train(
    method: Method,
    trainer: Trainer,
    sitting: Sitting,
    state: State,
    monitor: Monitor | None = None,
    monitor_every: int = 0,
) -> State:
    """Run a training stage from `state` to its end.

    Args:
        state: `step` steps of the stage are done and are in the trainer's weights.
        monitor: evaluates every `monitor_every` steps (0: never).

    Returns:
        The committed state of the finished stage.

    Raises:
        StopRun: the sitting must end; everything up to the last checkpoint is kept.
        EngineError: an update failed.
    """
    if state.step == 0:
        trainer.reset_optimizer()
    for step in range(state.step, method.steps):
        # A method that plays nothing never waits: without this pause an interrupt would not be heard until the stage ends.
        await asyncio.sleep(0)
        sitting.check()
        began = time.perf_counter()
        batch = await method.gather(step, state.position)
        sampled = time.perf_counter()
        state, line = update(method, trainer, batch, state)
        line |= {"seconds_sampling": sampled - began, "seconds_training": time.perf_counter() - sampled}
        line["cost"] = _step_cost(sitting, batch, line)
        watched = monitor is not None and monitor_every > 0 and (step + 1) % monitor_every == 0
        if monitor is not None and watched:
            state = await _monitored(monitor, method, sitting, state)
        sitting.metrics(line)
        if watched or state.finished or (step + 1) % method.checkpoint_every == 0:
            sitting.writer.commit(state, trainer.save)
        sitting.progress.stage_advanced(method.name, step + 1)
    return state


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
    return msgspec.structs.replace(state, monitor=seen["pass_rate"])


def update(method: Method, trainer: Trainer, batch: Batch, state: State) -> tuple[State, dict[str, Any]]:
    """The optimizer steps on one batch, published if there were any; the next state and the step's metrics."""
    minibatches = method.samples(batch.groups)
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
    line |= update_metrics(reports) | counts
    line |= episode_metrics(episodes_of(batch.played))
    if batch.played:
        line["no_signal_share"] = counts["groups_without_signal"] / len(batch.played)
    return state, line


def warmed_up(loss: LossSettings, update_index: int, warmup_steps: int) -> LossSettings:
    """The settings of a stage's update (counted from 0): the rate rises linearly over `warmup_steps`, then stays."""
    if update_index >= warmup_steps:
        return loss
    rate = loss.learning_rate * (update_index + 1) / warmup_steps
    return msgspec.structs.replace(loss, learning_rate=rate)


def _step_cost(sitting: Sitting, batch: Batch, line: dict[str, Any]) -> float:
    ledger = Ledger({})
    for episode in episodes_of(batch.played):
        ledger.add(episode)
    return cost(sitting.prices, ledger.usage, line["seconds_sampling"] + line["seconds_training"])
