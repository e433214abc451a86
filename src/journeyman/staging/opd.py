"""A stage of on-policy distillation: its pool of tasks, a source that plays with the current policy, and its teacher."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from journeyman.engine.teacher import RememberedTeacher, Teacher, difference
from journeyman.errors import RecipeError
from journeyman.parts import newest_checkpoint
from journeyman.recipe import Opd, Recipe
from journeyman.staging.context import StageContext
from journeyman.train.checkpoint import State
from journeyman.train.opd import OpdMethod


async def build_opd(context: StageContext, stage: Opd, state: State) -> OpdMethod:
    """The method of the stage.

    Raises:
        RunFolderError: the weights that it learns from are not there.
        EngineError: they cannot be loaded, or an endpoint has another tokenizer.
        EndpointFailed, KeyRefused: the teacher's endpoint does not answer.
    """
    recipe = context.recipe
    return OpdMethod(
        stage,
        context.pool(stage),
        context.training_source(),
        _teacher(context, stage),
        recipe.seed,
        context.held_out,
        recipe.limits,
    )


def check_teachers(recipe: Recipe) -> None:
    """Compare the tokenizers of teachers that are computed here with the student's, before any work is done.

    Raises:
        RecipeError: they differ.
        EngineError: there is no such model.
    """
    taught = [one for one in recipe.stage if isinstance(one, Opd) and one.teacher.kind == "model"]
    if not taught:
        return
    from journeyman.engine.tokenizer import load_tokenizer

    student = load_tokenizer(recipe.model.name)
    for stage in taught:
        apart = difference(student, load_tokenizer(stage.teacher.model))
        if apart:
            raise RecipeError(
                f"stage {stage.name}",
                "teacher.model",
                f"{stage.teacher.model} has another tokenizer than {recipe.model.name} ({apart}): a teacher scores the "
                "student's token ids, so name one of the student's own model family.",
            )


def _teacher(context: StageContext, stage: Opd) -> Teacher:
    recipe, teacher = context.recipe, stage.teacher
    if teacher.kind == "stage":
        engine, name = context.engine(stage), f"teacher of {stage.name}"
        engine.remember(name, context.sitting.writer.checkpoints.named(teacher.stage))
        return RememberedTeacher(engine, name)
    if teacher.kind == "model":
        from journeyman.engine.scorer import load_scorer

        adapter = newest_checkpoint(Path(teacher.adapter)) if teacher.adapter else None
        return load_scorer(replace(recipe.model, name=teacher.model), adapter)
    from journeyman.engine.prompt_logprobs import PromptLogprobs
    from journeyman.engine.tokenizer import load_tokenizer

    remote = PromptLogprobs(teacher.endpoint, recipe.endpoints[teacher.endpoint], os.environ)
    remote.check_tokenizer(load_tokenizer(recipe.model.name), f"stage {stage.name}: teacher.endpoint")
    return remote
