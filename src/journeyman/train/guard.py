"""The one gate between held-out work and training: whatever feeds training passes its tasks through here."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from journeyman.errors import RecipeError
from journeyman.task import Task


def refuse_held_out(tasks: Iterable[Task], where: str, held_out_worlds: Collection[str] = ()) -> None:
    """Let training tasks pass, in silence.

    Args:
        tasks: tasks that are about to feed training.
        where: which path asks (`traces`, `sft`, `grpo`, `pool`, …); named in the error.
        held_out_worlds: worlds kept out of training altogether, whatever the split of their tasks.

    Raises:
        RecipeError: a task is held out, or belongs to a held-out world. Nothing of it may be trained on.
    """
    for task in tasks:
        if task.world in held_out_worlds:
            raise RecipeError(
                where,
                task.id,
                f"the world {task.world!r} is held out of training: evaluate on it, or train on another.",
            )
        if task.split != "train":
            raise RecipeError(
                where, task.id, f'the task is held out (split "{task.split}"): only split "train" may feed training.'
            )
