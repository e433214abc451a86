"""A stage of supervised fine-tuning: traces are played or read back, chosen, and become the method's groups."""

from __future__ import annotations

import functools
import time

import msgspec

from journeyman.curriculum.traces import (
    TraceRendering,
    choose_traces,
    collect_traces,
    is_solved,
    share_of,
    tokenised,
)
from journeyman.episode import Episode
from journeyman.recipe import Sft
from journeyman.rollout.chat import ChatPolicy
from journeyman.rollout.prompt import offered_tools, system_prompt
from journeyman.rollout.teachers import TEACHERS
from journeyman.staging.context import StageContext
from journeyman.train.checkpoint import State
from journeyman.train.sft import SftMethod
from journeyman.train.source import LiveSource, training_seeds


async def build_sft(context: StageContext, stage: Sft, state: State) -> SftMethod:
    """The method of the stage, from `state` on.

    What was played stands in the run folder, and which traces are kept follows from it alone: a resumed stage trains on the
    same ones.

    Raises:
        RecipeError: no trace passed and fits.
        StopRun: the sitting must end.
    """
    recipe, sitting = context.recipe, context.sitting
    began = time.perf_counter()
    if state.step > 0:
        played = list(sitting.writer.episodes(stage.name, with_tokens=True))
    else:
        pool = context.pool(stage)
        sources = [_source(context, teacher) for teacher in stage.teachers]
        played = await collect_traces(pool, stage.attempts_each, stage.name, sources, context.held_out)
    limit = recipe.sampling.train.context_limit
    choice = choose_traces(played, stage.teachers, stage.traces_per_task, limit, recipe.seed, solved_rule(context))
    traces = choice.traces if stage.bridge is None else share_of(choice.traces, stage.bridge.share, recipe.seed)
    if state.step == 0:
        line = {"kind": "traces", "stage": stage.name, **choice.line(), "used": len(traces)}
        sitting.metrics(line | {"seconds_sampling": time.perf_counter() - began})
    return SftMethod(stage, traces, context.by_id, recipe.seed, context.held_out)


def _source(context: StageContext, teacher: str) -> LiveSource:
    """What plays as a teacher: a script, or the model behind an endpoint, with the settings of sampling in training."""
    assert context.parts.renderer is not None
    recipe = context.recipe
    finish = tokenised(context.parts.renderer, trace_rendering(context), solved_rule(context))
    seeds = training_seeds(recipe.seed)
    _, _, endpoint = teacher.partition("endpoint:")
    if not endpoint:
        return context.source(TEACHERS[teacher], None, seeds, finish)
    client = context.parts.clients[endpoint]
    policy = ChatPolicy(client, client.endpoint.model)
    return context.source(policy, recipe.sampling.train, seeds, lambda episode: _charged(finish(episode)))


def trace_rendering(context: StageContext) -> TraceRendering:
    """How the recipe's model would have seen and said what a teacher did."""
    recipe, world = context.recipe, context.parts.world
    return TraceRendering(
        system=lambda task_id: system_prompt(world, context.by_id[task_id], recipe.rendering.tools),
        shown=context.shown,
        offered=lambda task_id: offered_tools(world, context.by_id[task_id]),
        thoughts=recipe.sampling.train.thinking,
    )


def _charged(episode: Episode) -> Episode:
    """The episode with the tokens of its policy on the teacher's account."""
    usage = {"teacher" if role == "policy" else role: used for role, used in episode.usage.items()}
    return msgspec.structs.replace(episode, usage=usage).sealed()


def solved_rule(context: StageContext) -> functools.partial[bool]:
    """Which episodes may teach: see `is_solved`."""
    return functools.partial(is_solved, reward=context.recipe.reward.kind)
