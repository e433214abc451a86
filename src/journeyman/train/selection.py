"""Which weights a stage ends with where its checkpoint is chosen: those that did best on its monitoring tasks."""

from __future__ import annotations

from typing import Any

import msgspec

from journeyman.engine.base import Trainer
from journeyman.train.checkpoint import State
from journeyman.train.sitting import Sitting


def choose(trainer: Trainer, sitting: Sitting, state: State) -> State:
    """Load back the weights of the stage's best monitored step, by pass rate, the earliest of equals.

    Every monitored step of the stage has a checkpoint or is `state`. Nothing is committed here: the caller's commit makes the
    chosen weights the stage's end, and a process that dies before it chooses again.

    Args:
        state: that of the stage's last step, which is in the trainer's weights.

    Returns:
        The state to commit, with the step that was chosen.

    Raises:
        RunFolderError: the chosen checkpoint is damaged.
    """
    checkpoints = sitting.writer.checkpoints
    rival = checkpoints.best(state.stage)
    chosen = state
    if rival is not None:
        earlier = checkpoints.verified(rival)
        assert earlier.monitor is not None
        if state.monitor is None or earlier.monitor >= state.monitor:
            trainer.load(checkpoints.path(rival))
            chosen = earlier
    if chosen.monitor is None:
        return state
    lines = sitting.writer.metrics()
    monitored = [line for line in lines if line["kind"] == "monitor" and line["stage"] == state.stage_name]
    line: dict[str, Any] = {"kind": "chosen", "stage": state.stage_name}
    line |= {
        "step": chosen.step,
        "global_step": chosen.global_step,
        "last_step": state.step,
        "version": trainer.version,
    }
    line |= {"chosen_by": "pass_rate", "pass_rate": chosen.monitor, "evaluations": len(monitored)}
    line["episodes"] = monitored[-1]["episodes"] if monitored else 0
    sitting.metrics(line)
    # A reference of the last step would hold other weights than that step's.
    kept = state.reference and chosen is state
    return msgspec.structs.replace(state, monitor=chosen.monitor, chosen=chosen.step, reference=kept)
