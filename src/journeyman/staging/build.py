"""Which module builds which kind of stage."""

from __future__ import annotations

from journeyman.recipe import Grpo, Opd, Pivot, Sft, Training
from journeyman.staging.context import StageContext
from journeyman.staging.grpo import build_grpo
from journeyman.staging.opd import build_opd
from journeyman.staging.pivot import build_pivot
from journeyman.staging.sft import build_sft
from journeyman.train.checkpoint import State
from journeyman.train.method import Method


async def build_method(context: StageContext, stage: Training, state: State) -> Method:
    """The training method of a stage, from `state` on.

    Raises:
        RecipeError: the stage has nothing to train on.
        StopRun: the sitting must end.
    """
    if isinstance(stage, Sft):
        return await build_sft(context, stage, state)
    if isinstance(stage, Opd):
        return await build_opd(context, stage, state)
    if isinstance(stage, Pivot):
        return await build_pivot(context, stage, state)
    assert isinstance(stage, Grpo)
    return await build_grpo(context, stage, state)
