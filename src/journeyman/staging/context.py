"""What a stage is built from: the recipe and its parts, the tasks, and sources that play groups for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from journeyman.curriculum.pools import select, training_pool
from journeyman.episode import Episode, Group, SamplingSettings
from journeyman.errors import RecipeError
from journeyman.grading.judge import Judge
from journeyman.parts import Engine, Parts
from journeyman.recipe import Recipe, Training
from journeyman.rollout.chat import ChatPolicy
from journeyman.rollout.judging import EpisodeJudge
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeSpec, Policy
from journeyman.rollout.pool import Player, run_pool
from journeyman.rollout.prompt import offered_tools
from journeyman.rollout.user_llm import ModelledUsers
from journeyman.rollout.users import UserMaker, scripted_user
from journeyman.rollout.validity import call_validity
from journeyman.task import Task
from journeyman.train.loop import Monitor
from journeyman.train.measure import episode_metrics, episodes_of
from journeyman.train.method import GroupRequest, group_id
from journeyman.train.rulings import RulingFile
from journeyman.train.sitting import Sitting, monitor_phase
from journeyman.train.source import LiveSource, PlayPool, SeedRule, evaluation_seeds, training_seeds
from journeyman.world import ToolSpec

BLOCK_WINDOWS = 4
"""An evaluation is played in blocks of this many times the concurrency: a replay plays whole blocks again."""

Finish = Callable[[Episode], Episode]


@dataclass
class StageContext:
    """What a stage is built from.

    Args:
        held_out: worlds kept out of training, by the names that their tasks bear.
        rulings: what judges decided so far; None where no judge acts.
    """

    recipe: Recipe
    parts: Parts
    sitting: Sitting
    held_out: list[str]
    rulings: RulingFile | None = None
    tasks: list[Task] = field(init=False)
    by_id: dict[str, Task] = field(init=False)

    def __post_init__(self) -> None:
        self.tasks = self.parts.world.tasks()
        self.by_id = {task.id: task for task in self.tasks}

    def engine(self, stage: Training) -> Engine:
        """The engine that a training stage updates. Raises RecipeError where there is none."""
        if self.parts.engine is None:
            raise RecipeError(f"stage {stage.name}", "kind", "a scripted policy cannot be trained: name a model.")
        return self.parts.engine

    def pool(self, stage: Training) -> list[Task]:
        """The tasks that a stage trains on: those of its filter but those of its monitor."""
        return stage_pool(self.tasks, stage, self.held_out)

    def monitored(self, stage: Training) -> list[Task]:
        """The tasks on which a stage's checkpoint is chosen; none where nothing is monitored."""
        if stage.monitor is None or not stage.evaluate_every:
            return []
        return select(self.tasks, [stage.monitor], f"stage {stage.name}, monitor")

    def training_source(self) -> LiveSource:
        """Plays groups for training with the current policy."""
        return self.source(self.parts.policy, self.recipe.sampling.train, training_seeds(self.recipe.seed))

    def source(
        self,
        policy: Policy,
        sampling: SamplingSettings | None,
        seeds: SeedRule,
        finish: Finish | None = None,
        player: Player = play,
    ) -> LiveSource:
        """Plays groups with a policy and records them.

        Args:
            finish: applied to each episode before it is recorded.
            player: plays one episode.
        """
        recipe = self.recipe
        return LiveSource(
            self._player(policy, sampling, player),
            self.by_id,
            seeds,
            self.sitting,
            recipe.reward,
            recipe.limits,
            policy.sampler,
            finish,
        )

    async def trials(
        self, tasks: Sequence[Task], trials: int, phase: str, step: int, advance: bool = False
    ) -> list[Group]:
        """`trials` evaluation episodes of each task with the current weights, block by block."""
        source = self.source(self.parts.policy, self.recipe.sampling.eval, evaluation_seeds(self.recipe.seed))
        requests = [GroupRequest(group_id(phase, step, index), task.id, trials) for index, task in enumerate(tasks)]
        size = max(1, BLOCK_WINDOWS * self.recipe.run.concurrency // trials)
        groups: list[Group] = []
        for begin in range(0, len(requests), size):
            self.sitting.check()
            groups += await source.play(requests[begin : begin + size])
            if advance:
                self.sitting.progress.stage_advanced(phase, len(groups) * trials)
        return groups

    def monitor(self, stage: Training) -> Monitor | None:
        """Evaluates the published weights on the stage's monitoring tasks; None where nothing is monitored."""
        tasks = self.monitored(stage)
        if not tasks:
            return None

        async def evaluate(step: int) -> dict[str, float]:
            groups = await self.trials(tasks, stage.monitor_trials, monitor_phase(stage.name), step)
            episodes = episodes_of(groups)
            return episode_metrics(episodes) | call_validity(episodes, self.parts.world, self.by_id)

        return evaluate

    def shown(self, task_id: str) -> Sequence[ToolSpec]:
        """The tools that the renderer's template shows for a task: none where the system message names them."""
        if self.recipe.rendering.tools == "compact":
            return ()
        return offered_tools(self.parts.world, self.by_id[task_id])

    def play_settings(self, policy: Policy, sampling: SamplingSettings | None) -> PlaySettings:
        """How episodes of a policy are played and graded."""
        recipe = self.recipe
        # An endpoint is given the schemas of the tools themselves.
        native = isinstance(policy, ChatPolicy)
        settings = PlaySettings(recipe.limits, recipe.reward, sampling, "json" if native else recipe.rendering.tools)
        # Traces of the oracle need no modelled user.
        return replace(settings, user=self._users()) if policy is self.parts.policy else settings

    def _player(self, policy: Policy, sampling: SamplingSettings | None, player: Player) -> PlayPool:
        recipe, world = self.recipe, self.parts.world
        settings = self.play_settings(policy, sampling)
        afterwards = self._judge() if policy is self.parts.policy else None

        async def play_pool(specs: Sequence[EpisodeSpec], on_episode: Callable[[Episode], Any]) -> list[Episode]:
            return await run_pool(
                specs,
                world,
                policy,
                settings,
                concurrency=recipe.run.concurrency,
                retries=recipe.run.retries,
                on_episode=on_episode,
                afterwards=afterwards,
                player=player,
            )

        return play_pool

    def _users(self) -> UserMaker:
        section = self.recipe.user
        if self.parts.users is not None:
            return self.parts.users
        if section.endpoint is None:
            return scripted_user
        return ModelledUsers(self.parts.clients[section.endpoint], section.temperature, section.max_tokens)

    def _judge(self) -> EpisodeJudge | None:
        section = self.recipe.judge
        if section.endpoint is None or self.rulings is None:
            return None
        client = self.parts.clients[section.endpoint]
        judge = Judge(client, client.endpoint.model, self.rulings, section.max_tokens)
        return EpisodeJudge(judge, self.recipe.reward, self.recipe.limits)


def stage_pool(tasks: Sequence[Task], stage: Training, held_out_worlds: Collection[str] = ()) -> list[Task]:
    """The tasks that a stage trains on: those of its filter but those of its monitor.

    Raises:
        RecipeError: one of them is held out, or none is left.
    """
    where = f"stage {stage.name}"
    pool = training_pool(tasks, stage.tasks, where, held_out_worlds)
    if stage.monitor is None:
        return pool
    watched = {task.id for task in select(tasks, [stage.monitor], f"{where}, monitor")}
    left = [task for task in pool if task.id not in watched]
    if not left:
        raise RecipeError(
            where, "monitor", "takes every task of the stage: limit it, so that some are left to train on."
        )
    return left
