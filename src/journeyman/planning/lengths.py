"""How long reference solutions are in a model's tokens: the oracle is played in the real loop and counted. No model is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from journeyman.codec import seed_of
from journeyman.curriculum.traces import is_solved
from journeyman.episode import Episode, Seeds
from journeyman.planning.stages import Lengths
from journeyman.preflight import prompt_tokens
from journeyman.recipe import Recipe
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.pool import run_pool
from journeyman.rollout.render import Renderer
from journeyman.rollout.scripted import SCRIPTED
from journeyman.task import Task
from journeyman.world import World

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLE = 24
"""Tasks that are tried, evenly spread over those of a stage."""


class ReferenceLengths:
    """Measures what `plan.Lengths` describes; a task is played once, whoever asks.

    The prompt is rendered for one task of each family, the assistant's turns are rendered as sampled, all else is counted as
    plain text: the few tokens that the template puts between turns are left out.

    Args:
        renderer: the model's, without thinking: the reference has no thoughts.
    """

    def __init__(self, recipe: Recipe, world: World, renderer: Renderer, tokenizer: Tokenizer) -> None:
        self._recipe = recipe
        self._world = world
        self._renderer = renderer
        self._tokenizer = tokenizer
        self._prompts: dict[str, int] = {}
        self._known: dict[str, tuple[int, int, int, int] | None] = {}

    def __call__(self, tasks: Sequence[Task]) -> Lengths:
        """Lengths on `SAMPLE` of the tasks, all of them where there are fewer."""
        count = min(SAMPLE, len(tasks))
        chosen = [tasks[len(tasks) * place // count] for place in range(count)]
        self._play([task for task in chosen if task.id not in self._known])
        found = [lengths for task in chosen if (lengths := self._known[task.id]) is not None]
        if not found:
            return Lengths(count, 0, 0.0, 0.0, 0.0, 0.0)
        prompt, sampled, stream, turns = (fmean(values) for values in zip(*found, strict=True))
        return Lengths(count, len(found), prompt, sampled, stream, turns)

    def _play(self, tasks: Sequence[Task]) -> None:
        seed = self._recipe.seed
        specs = [
            EpisodeSpec(
                f"plan/0000/{place:04d}/00", task, Seeds(seed_of(seed, task.id), seed_of(seed, task.id, "plan"), 0)
            )
            for place, task in enumerate(tasks)
        ]
        settings = PlaySettings(self._recipe.limits, self._recipe.reward, None, self._recipe.rendering.tools)
        episodes = asyncio.run(run_pool(specs, self._world, SCRIPTED["oracle"], settings))
        for task, episode in zip(tasks, episodes, strict=True):
            self._known[task.id] = self._counted(task, episode) if is_solved(episode) else None

    def _counted(self, task: Task, episode: Episode) -> tuple[int, int, int, int]:
        """(prompt, sampled, stream, turns)."""
        if task.family not in self._prompts:
            self._prompts[task.family] = prompt_tokens(self._recipe, self._world, self._renderer, task)
        prompt = self._prompts[task.family]
        turns = [place for place, message in enumerate(episode.messages) if message.role == "assistant"]
        between = [message for message in episode.messages[turns[0] : turns[-1]] if message.role != "assistant"]
        sampled = sum(len(self._renderer.complete(episode.messages[place])) for place in turns)
        told = sum(len(self._tokenizer.encode(one.content, add_special_tokens=False).ids) for one in between)
        return prompt, sampled, prompt + sampled + told, len(turns)
