"""Traces for supervised fine-tuning: the reference solution, played in the real loop, kept only where it earned 1.0.

Each trace of a task meets a user who speaks differently. Kept traces carry the ids and the mask that a model would
have left behind had it sampled them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from journeyman.episode import Episode, Segment
from journeyman.rollout.render import Renderer, render_episode
from journeyman.task import Task
from journeyman.train.guard import refuse_held_out
from journeyman.train.method import GroupRequest, GroupSource, group_id
from journeyman.world import ToolSpec


def is_solved(episode: Episode) -> bool:
    """Whether a trace may teach: passed, with the full reward."""
    return episode.valid and episode.verdict is not None and episode.verdict.passed and episode.reward == 1.0


async def collect_traces(
    tasks: Sequence[Task], per_task: int, phase: str, source: GroupSource, held_out_worlds: Collection[str] = ()
) -> list[Episode]:
    """Play `per_task` traces of each task and return the solved ones, in task order.

    Args:
        phase: phase of their ids; each trace is a group of its own, and with it gets a user phrasing of its own.
        source: plays with the reference policy and fills in segments (`tokenised`).

    Raises:
        RecipeError: a task is held out.
    """
    refuse_held_out(tasks, f"stage {phase} (traces)", held_out_worlds)
    requests = [
        GroupRequest(group_id(phase, 0, index * per_task + trace), task.id, 1)
        for index, task in enumerate(tasks)
        for trace in range(per_task)
    ]
    groups = await source.play(requests)
    return [episode for group in groups for episode in group.episodes if is_solved(episode)]


def tokenised(renderer: Renderer, shown: Callable[[str], Sequence[ToolSpec]]) -> Callable[[Episode], Episode]:
    """A function that gives a solved episode its one segment; other episodes are left without.

    Args:
        shown: task id -> the tools that the renderer's template shows (none where the system message names them).
    """

    def finish(episode: Episode) -> Episode:
        if not is_solved(episode):
            return episode
        ids, mask = render_episode(renderer, episode.messages, shown(episode.task_id))
        zeros = [0] * len(ids)
        segment = Segment(ids, mask, [0.0] * len(ids), zeros, 1.0)
        return msgspec.structs.replace(episode, segments=[segment]).sealed()

    return finish


def fitting(traces: Sequence[Episode], context_limit: int) -> list[Episode]:
    """Those traces that the policy could have sampled within its context limit (tokens)."""
    return [trace for trace in traces if all(len(one.token_ids) <= context_limit for one in trace.segments)]
