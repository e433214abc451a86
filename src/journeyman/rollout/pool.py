"""Many episodes at once, in one event loop.

The window of `concurrency` episodes is filled in the order of the specs. Every episode in the window is attached to
the sampler before any of them runs, and the next is attached before the finished one is detached: a batch is never
admitted short of an episode that is about to ask. One that waits for a slow user is detached until it has its answer.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from journeyman.episode import Episode
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeSpec, Policy

if TYPE_CHECKING:
    from journeyman.world import World


Afterwards = Callable[[EpisodeSpec, Episode], Awaitable[Episode]]
"""What is still to be done with a finished episode: it must not raise (but KeyRefused), and not touch `valid`."""


Player = Callable[[EpisodeSpec, "World", Policy, PlaySettings], Awaitable[Episode]]
"""Plays one episode. What it raises stops the pool."""


def _ignore(_: Episode) -> None:
    return None


def _never() -> bool:
    return False


async def run_pool(
    specs: Sequence[EpisodeSpec],
    world: World,
    policy: Policy,
    settings: PlaySettings,
    *,
    concurrency: int = 64,
    retries: int = 0,
    on_episode: Callable[[Episode], None] = _ignore,
    stop: Callable[[], bool] = _never,
    afterwards: Afterwards | None = None,
    player: Player = play,
) -> list[Episode]:
    """Play all episodes.

    Args:
        specs: what to play; ids are unique.
        concurrency: how many run at once.
        retries: fresh attempts (`attempt` + 1, same seeds) allowed after an `infrastructure` or `user` failure.
        on_episode: called with every attempt as it finishes, those that are retried included. What it raises stops
            the pool.
        stop: asked before each episode starts and before each retry; once it says yes, running ones finish and no
            further one starts.
        afterwards: done with every valid episode before `on_episode` sees it, while the next ones are played: what
            waits for a judge keeps no sampler waiting.
        player: plays one episode.

    Returns:
        The last attempt of each episode that was played, in the order of `specs`.

    Raises:
        KeyRefused: an endpoint does not serve its key; running episodes are cancelled.
    """
    if len({spec.id for spec in specs}) != len(specs):
        raise ValueError("run_pool: two specs share an id")
    pool = _Pool(specs, world, policy, settings, retries, on_episode, stop, afterwards, player)
    first = [spec for spec in (pool.take() for _ in range(min(concurrency, len(specs)))) if spec is not None]
    try:
        async with asyncio.TaskGroup() as group:
            for spec in first:
                group.create_task(pool.work(spec, group))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        pool.release()
    return [pool.done[spec.id] for spec in specs if spec.id in pool.done]


class _Pool:
    def __init__(
        self,
        specs: Sequence[EpisodeSpec],
        world: World,
        policy: Policy,
        settings: PlaySettings,
        retries: int,
        on_episode: Callable[[Episode], None],
        stop: Callable[[], bool],
        afterwards: Afterwards | None,
        player: Player,
    ) -> None:
        self._waiting: Iterator[EpisodeSpec] = iter(specs)
        self._world = world
        self._policy = policy
        self._settings = dataclasses.replace(settings, away=self._away)
        self._retries = retries
        self._on_episode = on_episode
        self._stop = stop
        self._afterwards = afterwards
        self._player = player
        self._attached: dict[str, None] = {}
        self.done: dict[str, Episode] = {}

    def take(self) -> EpisodeSpec | None:
        """The next episode, attached; None where there is none or the pool was told to stop."""
        if self._stop():
            return None
        spec = next(self._waiting, None)
        if spec is not None:
            self._attach(spec.id)
        return spec

    async def work(self, spec: EpisodeSpec | None, group: asyncio.TaskGroup) -> None:
        """Play `spec`, and then one episode after the other while there are any."""
        while spec is not None:
            episode = await self._player(spec, self._world, self._policy, self._settings)
            if self._afterwards is not None and episode.valid:
                group.create_task(self._finish(spec, episode, self._afterwards))
            else:
                self._done(spec, episode)
            if not episode.valid and spec.attempt < self._retries and not self._stop():
                # It stays attached: a batch must not go without it, and samplers reuse keys by prefix only.
                spec = msgspec.structs.replace(spec, attempt=spec.attempt + 1)
                continue
            finished, spec = spec.id, self.take()
            self._detach(finished)

    async def _finish(self, spec: EpisodeSpec, episode: Episode, afterwards: Afterwards) -> None:
        self._done(spec, await afterwards(spec, episode))

    def _done(self, spec: EpisodeSpec, episode: Episode) -> None:
        self._on_episode(episode)
        self.done[spec.id] = episode

    def release(self) -> None:
        """Detach whatever a cancellation left attached."""
        for episode_id in list(self._attached):
            self._detach(episode_id)

    @contextmanager
    def _away(self, episode_id: str) -> Iterator[None]:
        sampler = self._policy.sampler
        if sampler is None or episode_id not in self._attached:
            yield
            return
        sampler.detach(episode_id)
        try:
            yield
        finally:
            sampler.attach(episode_id)

    def _attach(self, episode_id: str) -> None:
        self._attached[episode_id] = None
        if self._policy.sampler is not None:
            self._policy.sampler.attach(episode_id)

    def _detach(self, episode_id: str) -> None:
        if self._attached.pop(episode_id, 0) is None and self._policy.sampler is not None:
            self._policy.sampler.detach(episode_id)
