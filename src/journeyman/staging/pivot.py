"""A stage of PivotRL: solved traces, from an earlier stage or played by the oracle, are replayed and become candidates."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

from journeyman.codec import seed_of
from journeyman.curriculum.traces import as_seen, choose_traces, collect_traces
from journeyman.episode import Episode, Seeds
from journeyman.recipe import Pivot, Sft
from journeyman.rollout.pivots import Traces
from journeyman.rollout.scripted import SCRIPTED
from journeyman.staging.context import BLOCK_WINDOWS, StageContext
from journeyman.staging.sft import solved_rule, trace_rendering
from journeyman.task import Task
from journeyman.train.checkpoint import State
from journeyman.train.method import GroupRequest, episode_id
from journeyman.train.pivot import Log, PivotMethod
from journeyman.train.sitting import traces_phase
from journeyman.train.source import SeedRule, training_seeds


async def build_pivot(context: StageContext, stage: Pivot, state: State) -> PivotMethod:
    """The method of the stage, from `state` on.

    Traces stand in the run folder, and which turns are candidates follows from them alone.

    Raises:
        RecipeError: no turn can be a pivot.
        RunFolderError: a trace does not replay as it was recorded.
        StopRun: the sitting must end.
    """
    recipe, sitting, parts = context.recipe, context.sitting, context.parts
    assert parts.renderer is not None
    sampling = recipe.sampling.train
    traces = Traces(
        parts.world,
        context.by_id,
        parts.renderer,
        context.shown,
        [_own_ids(context, trace) for trace in await _solved_traces(context, stage, state)],
        continuation=stage.continuation,
        context_limit=sampling.context_limit,
        limits=recipe.limits,
    )
    candidates, dropped = await traces.candidates()
    return PivotMethod(
        stage,
        candidates,
        dropped,
        context.by_id,
        context.source(parts.policy, sampling, _trace_seeds(recipe.seed, traces), player=traces.play),
        Log(sitting.metrics, sitting.writer.metrics),
        recipe.seed,
        context.held_out,
        recipe.limits,
        block=max(1, BLOCK_WINDOWS * recipe.run.concurrency // stage.profile_size),
    )


def _trace_seeds(run_seed: int, traces: Traces) -> SeedRule:
    """World and user go on as in the trace; sampling by episode."""

    def rule(request: GroupRequest, _: Task, trial: int) -> Seeds:
        assert request.pivot is not None
        past = traces.trace(request.pivot.trace).seeds
        return Seeds(past.world, past.user, seed_of(run_seed, episode_id(request.id, trial)))

    return rule


async def _solved_traces(context: StageContext, stage: Pivot, state: State) -> list[Episode]:
    """Solved episodes of the stage's tasks, at most `traces_per_task` of each, in the order of their ids."""
    allowed = {task.id for task in context.pool(stage)}
    source = next((one for one in context.recipe.stage if one.name == stage.traces), None) if stage.traces else None
    if isinstance(source, Sft):
        played = context.sitting.writer.episodes(source.name, with_tokens=True)
        limit = context.recipe.sampling.train.context_limit
        solved: Iterable[Episode] = choose_traces(
            played, source.teachers, source.traces_per_task, limit, context.recipe.seed, solved_rule(context)
        ).traces
    elif source is not None:
        solved = filter(solved_rule(context), context.sitting.writer.episodes(source.name, with_tokens=True))
    else:
        solved = filter(solved_rule(context), await _played(context, stage, state))
    return _first(stage.traces_per_task, (one for one in solved if one.task_id in allowed))


async def _played(context: StageContext, stage: Pivot, state: State) -> list[Episode]:
    """Traces of the oracle, or what an earlier sitting played of them."""
    phase, sitting = traces_phase(stage.name), context.sitting
    if state.step > 0:
        return list(sitting.writer.episodes(phase, with_tokens=True))
    began = time.perf_counter()
    source = context.source(SCRIPTED["oracle"], None, training_seeds(context.recipe.seed))
    played = await collect_traces(context.pool(stage), stage.traces_per_task, phase, [source], context.held_out)
    solved = sum(map(solved_rule(context), played))
    line: dict[str, Any] = {"kind": "traces", "stage": stage.name, "played": len(played), "solved": solved}
    sitting.metrics(line | {"kept": solved, "seconds_sampling": time.perf_counter() - began})
    return played


def _first(per_task: int, episodes: Iterable[Episode]) -> list[Episode]:
    kept: dict[str, list[Episode]] = {}
    for episode in episodes:
        # Of a long stage only what may be kept is held.
        chosen = sorted([*kept.get(episode.task_id, []), episode], key=lambda one: one.id)
        kept[episode.task_id] = chosen[:per_task]
    return sorted((one for chosen in kept.values() for one in chosen), key=lambda one: one.id)


def _own_ids(context: StageContext, trace: Episode) -> Episode:
    """A trace that the model sampled keeps its ids. Any other is left without, to be rendered as the model would have seen it: ids
    that were made to learn from leave turns out of the mask."""
    if trace.segments and "policy" in trace.usage:
        return trace
    return msgspec.structs.replace(trace, messages=as_seen(trace, trace_rendering(context)), segments=[])
