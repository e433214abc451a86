"""Plays edits of a telecom task's oracle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Episode
from journeyman.task import Call, Say, Step, Task
from journeyman.worlds import load_world

WORLD = load_world("telecom")


def played(task: Task, steps: list[Step] | None = None) -> Episode:
    """The episode of the task's oracle, or of `steps` in its place."""
    with asyncio.Runner() as runner:
        return Bench(WORLD, task, runner).play_steps(task.oracle if steps is None else steps)


def edited(task: Task, edit: Callable[[Step], list[Step]]) -> list[Step]:
    """The oracle with each step replaced by what `edit` makes of it."""
    return [new for step in task.oracle for new in edit(step)]


def is_call(step: Step, tool: str, **arguments: Any) -> bool:
    """Whether a step calls the tool with these arguments, and maybe others."""
    return isinstance(step, Call) and step.tool == tool and arguments.items() <= step.arguments.items()


def before(task: Task, tool: str, *steps: Step) -> list[Step]:
    """The oracle with steps put before its calls of a tool."""
    return edited(task, lambda step: [*steps, step] if is_call(step, tool) else [step])


def instead(task: Task, tool: str, *steps: Step) -> list[Step]:
    """The oracle with other steps in place of its calls of a tool."""
    return edited(task, lambda step: list(steps) if is_call(step, tool) else [step])


def made(task: Task, tool: str) -> dict[str, Any]:
    """The arguments of the oracle's only call of a tool."""
    [step] = [step for step in task.oracle if is_call(step, tool)]
    assert isinstance(step, Call)
    return step.arguments


def said(task: Task) -> list[str]:
    """What the oracle says."""
    return [step.text for step in task.oracle if isinstance(step, Say)]


def passed(episode: Episode) -> bool:
    """Whether the outcome holds whole."""
    assert episode.verdict is not None, episode.failure_detail
    return episode.verdict.passed


def unmet(episode: Episode) -> set[str]:
    """Ids of the criteria that are not met."""
    assert episode.verdict is not None, episode.failure_detail
    return {result.id for result in episode.verdict.criteria if result.met is False}
