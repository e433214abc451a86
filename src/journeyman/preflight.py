"""What can be known before a run begins: a prompt that leaves no room to answer would fail every attempt at its task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from journeyman.curriculum.pools import select
from journeyman.episode import Message, SamplingSettings
from journeyman.errors import RecipeError
from journeyman.recipe import Evaluate, Recipe
from journeyman.rollout.policy import TokenPolicy
from journeyman.rollout.prompt import offered_tools, system_prompt
from journeyman.rollout.render import Renderer
from journeyman.task import Task
from journeyman.world import World


def check_room(recipe: Recipe, world: World, policy: TokenPolicy, tasks: Sequence[Task]) -> None:
    """Render the first prompt of one task of every family that a stage plays.

    Raises:
        RecipeError: one of them fills the context limit; it names the families, their tokens and the key.
    """
    for stage in recipe.stage:
        where = f"stage {stage.name}"
        if isinstance(stage, Evaluate):
            _check(recipe, world, policy, select(tasks, stage.tasks, where), "eval", where)
            continue
        _check(recipe, world, policy, select(tasks, [stage.tasks], where), "train", where)
        if stage.monitor is not None:
            _check(recipe, world, policy, select(tasks, [stage.monitor], where), "eval", f"{where}, monitor")


def _check(recipe: Recipe, world: World, policy: TokenPolicy, tasks: Iterable[Task], part: str, where: str) -> None:
    settings: SamplingSettings = getattr(recipe.sampling, part)
    renderer = policy.thinking if policy.thinking is not None and settings.thinking else policy.renderer
    first: dict[str, Task] = {}
    for task in tasks:
        first.setdefault(task.family, task)
    sizes = {family: prompt_tokens(recipe, world, renderer, task) for family, task in first.items()}
    over = {family: size for family, size in sizes.items() if size >= settings.context_limit}
    if over:
        told = ", ".join(f"{family} {size:,}" for family, size in over.items())
        raise RecipeError(
            where,
            f"sampling.{part}.context_limit",
            f"is {settings.context_limit:,} tokens, which the first prompt of these families fills: {told}. "
            f"Raise it well above {max(over.values()):,}, or leave the families out.",
        )


def prompt_tokens(recipe: Recipe, world: World, renderer: Renderer, task: Task) -> int:
    """Tokens that a model reads before its first word, with the longest of the task's openings."""
    mode = recipe.rendering.tools
    openings = task.scenario.openings if task.scenario else [task.request]
    messages = [Message("system", system_prompt(world, task, mode)), Message("user", max(openings, key=len))]
    return len(renderer.start(messages, offered_tools(world, task) if mode == "json" else ()))
