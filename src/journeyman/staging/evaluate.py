"""An evaluation stage: its tasks, `trials` attempts each, one line of metrics."""

from __future__ import annotations

import time
from typing import Any

from journeyman.curriculum.pools import select
from journeyman.recipe import Evaluate
from journeyman.staging.context import StageContext
from journeyman.train.measure import episode_metrics, episodes_of


async def run_evaluation(context: StageContext, stage: Evaluate) -> None:
    """Play what is left of it with the current weights. Raises StopRun where the sitting must end."""
    tasks = select(context.tasks, stage.tasks, f"stage {stage.name}")
    sitting = context.sitting
    if any(line["kind"] == "evaluate" and line["stage"] == stage.name for line in sitting.writer.metrics()):
        return
    sitting.progress.stage_started(stage.name, "evaluate", len(tasks) * stage.trials, 0)
    began = time.perf_counter()
    groups = await context.trials(tasks, stage.trials, stage.name, 0, advance=True)
    version = context.parts.engine.version if context.parts.engine is not None else 0
    line: dict[str, Any] = {"kind": "evaluate", "stage": stage.name, "version": version}
    line |= episode_metrics(episodes_of(groups))
    sitting.metrics(line | {"seconds_sampling": time.perf_counter() - began})
    sitting.writer.end_phase()
