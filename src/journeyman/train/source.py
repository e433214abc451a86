"""The live group source: plays groups with a policy, records them, and hands back what an earlier sitting finished.

It is given a function that plays episodes; it knows no world.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from journeyman.codec import seed_of
from journeyman.engine.base import Sampler
from journeyman.episode import Episode, Group, Seeds
from journeyman.recipe import Limits, Reward
from journeyman.rollout.policy import EpisodeSpec
from journeyman.task import Task
from journeyman.train.method import GroupRequest, episode_id
from journeyman.train.samples import settle_rewards
from journeyman.train.sitting import Sitting

PlayPool = Callable[[Sequence[EpisodeSpec], Callable[[Episode], None]], Coroutine[Any, Any, list[Episode]]]
"""Plays episodes and returns them in order; the callback gets every attempt as it ends, failed ones included."""

SeedRule = Callable[[GroupRequest, Task, int], Seeds]
"""(request, task, trial) -> seeds."""


def training_seeds(run_seed: int) -> SeedRule:
    """User phrasing by group, so that a group shares its prefix; sampling by episode."""

    def rule(request: GroupRequest, task: Task, trial: int) -> Seeds:
        phase, step, group = request.id.split("/")
        return Seeds(
            world=seed_of(run_seed, task.id),
            user=seed_of(run_seed, phase, step, group),
            episode=seed_of(run_seed, episode_id(request.id, trial)),
        )

    return rule


def evaluation_seeds(run_seed: int) -> SeedRule:
    """By task and trial only, so that every model that is compared meets the same ones, whatever the phase."""

    def rule(request: GroupRequest, task: Task, trial: int) -> Seeds:
        shared = seed_of(run_seed, "eval", task.id, trial)
        return Seeds(world=seed_of(run_seed, task.id), user=shared, episode=shared)

    return rule


class LiveSource:
    """A `GroupSource`.

    Args:
        play: plays episodes with the policy of this source.
        tasks: by id.
        seeds: how an episode's seeds follow from its group, task and trial.
        sitting: where episodes are recorded.
        sampler: reset before each batch, so that a batch does not depend on what was sampled before it; None for a
            policy that samples nothing.
        finish: applied to each episode before it is recorded.
    """

    def __init__(
        self,
        play: PlayPool,
        tasks: Mapping[str, Task],
        seeds: SeedRule,
        sitting: Sitting,
        reward: Reward,
        limits: Limits,
        sampler: Sampler | None = None,
        finish: Callable[[Episode], Episode] | None = None,
    ) -> None:
        self._play = play
        self._tasks = tasks
        self._seeds = seeds
        self._sitting = sitting
        self._reward = reward
        self._limits = limits
        self._sampler = sampler
        self._finish = finish

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        """See `GroupSource`. Raises StopRun where the sitting must end."""
        specs = [spec for request in requests for spec in self._specs(request)]
        episodes = self._sitting.take([spec.id for spec in specs])
        missing = [spec for spec in specs if spec.id not in episodes]
        self._sitting.progress.work_started(requests[0].id if requests else "", len(specs))
        if episodes:
            self._sitting.progress.work_advanced(len(episodes))
        if missing:
            if self._sampler is not None:
                self._sampler.reset()
            finished: dict[str, Episode] = {}

            def record(episode: Episode) -> None:
                # Of an episode that is tried again the last attempt stays.
                finished[episode.id] = self._finish(episode) if self._finish else episode
                self._sitting.record(finished[episode.id])

            await self._sitting.watched(self._play(missing, record))
            episodes |= finished
        return [self._group(request, episodes) for request in requests]

    def _specs(self, request: GroupRequest) -> list[EpisodeSpec]:
        task = self._tasks[request.task_id]
        return [
            EpisodeSpec(episode_id(request.id, trial), task, self._seeds(request, task, trial), pivot=request.pivot)
            for trial in range(request.size)
        ]

    def _group(self, request: GroupRequest, episodes: Mapping[str, Episode]) -> Group:
        chosen = [episodes[episode_id(request.id, trial)] for trial in range(request.size)]
        group = Group(request.id, request.task_id, chosen)
        return settle_rewards(group, self._tasks[request.task_id], self._reward, self._limits)
