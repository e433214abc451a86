"""A stage of GRPO: its pool of tasks and a source that plays with the current policy."""

from __future__ import annotations

from journeyman.recipe import Grpo
from journeyman.staging.context import StageContext
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod


async def build_grpo(context: StageContext, stage: Grpo, state: State) -> GrpoMethod:
    """The method of the stage."""
    recipe = context.recipe
    return GrpoMethod(
        stage, context.pool(stage), context.training_source(), recipe.seed, context.held_out, recipe.limits
    )
