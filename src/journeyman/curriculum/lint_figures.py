"""The size and shape of a world, in the figures by which worlds are compared. Nothing here judges."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

from journeyman.task import Call, Criterion, Task

if TYPE_CHECKING:
    from journeyman.world import World

STARTER_LEVEL = 1
"""Tasks of this level are starters: short, and left out of the figures on depth."""


def figures(world: World, tasks: Sequence[Task]) -> dict[str, float]:
    """Figures of a world as linted.

    `tables`, `tools`, `articles`, `article_words_median`; `families`, `tasks`, `level_1` to `level_5` (tasks of each level),
    `criteria`; `criteria_mean` (a task, without starters), `must_share` (of the criteria, those that are musts),
    `optional_must_share` and `optional_must_not_share` (of the musts and of the must-nots, those that are optional), both
    without starters; `oracle_calls_median` and the same without starters.
    """
    deep = [task for task in tasks if task.level > STARTER_LEVEL]
    every = [criterion for task in tasks for criterion in task.criteria]
    criteria = [criterion for task in deep for criterion in task.criteria]
    musts = [criterion for criterion in criteria if criterion.polarity == "must"]
    nots = [criterion for criterion in criteria if criterion.polarity == "must_not"]
    words = [len(article.body.split()) for article in world.articles]
    return {
        "tables": len(world.tables),
        "tools": len(world.tools),
        "articles": len(world.articles),
        "article_words_median": float(median(words)) if words else 0.0,
        "families": len({task.family for task in tasks}),
        "tasks": len(tasks),
        **{f"level_{level}": sum(task.level == level for task in tasks) for level in range(1, 6)},
        "criteria": len(every),
        "criteria_mean": round(fmean([len(task.criteria) for task in deep]), 2) if deep else 0.0,
        "must_share": round(len(musts) / len(criteria), 3) if criteria else 0.0,
        "optional_must_share": _optional(musts),
        "optional_must_not_share": _optional(nots),
        "oracle_calls_median": _calls(tasks),
        "oracle_calls_median_deep": _calls(deep),
    }


def _optional(criteria: Sequence[Criterion]) -> float:
    return round(sum(not one.required for one in criteria) / len(criteria), 3) if criteria else 0.0


def _calls(tasks: Sequence[Task]) -> float:
    return float(median([sum(isinstance(step, Call) for step in task.oracle) for task in tasks])) if tasks else 0.0
