"""Pools: which tasks a stage takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from journeyman.errors import RecipeError
from journeyman.recipe import TaskFilter
from journeyman.task import Task
from journeyman.train.guard import refuse_held_out


def select(tasks: Sequence[Task], filters: Sequence[TaskFilter], where: str) -> list[Task]:
    """The tasks that the filters name, filter by filter, each in world order; a task named twice is taken once.

    Args:
        tasks: all of the world's.
        where: the stage, for the error.

    Raises:
        RecipeError: a family that the world does not have, or a filter that no task fits.
    """
    families = list(dict.fromkeys(task.family for task in tasks))
    chosen: dict[str, Task] = {}
    for wanted in filters:
        unknown = [name for name in wanted.families if name not in families]
        if unknown:
            raise RecipeError(where, "tasks.families", f"no family {unknown[0]!r}; known: {', '.join(families)}.")
        fitting = [
            task
            for task in tasks
            if task.split == wanted.split and (not wanted.families or task.family in wanted.families)
        ]
        if not fitting:
            raise RecipeError(
                where,
                "tasks",
                f'no task has split "{wanted.split}" in {", ".join(wanted.families) or "any family"}: choose others.',
            )
        if wanted.per_family is not None:
            fitting = _first_of_each(fitting, wanted.per_family)
        fitting = fitting[wanted.skip :]
        if not fitting:
            raise RecipeError(where, "tasks.skip", f"{wanted.skip} is all that fits: skip fewer.")
        chosen |= {task.id: task for task in fitting[: wanted.limit]}
    return list(chosen.values())


def training_pool(
    tasks: Sequence[Task], wanted: TaskFilter, where: str, held_out_worlds: Collection[str] = ()
) -> list[Task]:
    """The tasks that a training stage draws from.

    Raises:
        RecipeError: as `select`, and where one of them is held out.
    """
    pool = select(tasks, [wanted], where)
    refuse_held_out(pool, f"{where} (pool)", held_out_worlds)
    return pool


def _first_of_each(tasks: Sequence[Task], count: int) -> list[Task]:
    """The first `count` tasks of every family, in the order given."""
    taken: Counter[str] = Counter()
    chosen = []
    for task in tasks:
        if taken[task.family] < count:
            taken[task.family] += 1
            chosen.append(task)
    return chosen
