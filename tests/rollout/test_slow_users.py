"""A user who takes time: the sampler waits for nobody who waits for one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

import pytest
from test_loop import WORLD
from test_pool import SETTINGS, model, specs

from journeyman.episode import Event
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.pool import run_pool
from journeyman.rollout.users import Answer, EpisodeUser, ScriptedEpisodeUser
from journeyman.world import World

SLOW = "train/0/00/0"


class Waiting(ScriptedEpisodeUser):
    """Answers when it is let."""

    slow = True

    def __init__(self, spec: EpisodeSpec, gate: asyncio.Event, asked: asyncio.Event) -> None:
        super().__init__(spec)
        self._gate, self._asked = gate, asked

    async def answer(self, text: str, read: Sequence[Event], order: int, turn: int) -> Answer:
        self._asked.set()
        await self._gate.wait()
        return await super().answer(text, read, order, turn)


def settings(gate: asyncio.Event, asked: asyncio.Event) -> PlaySettings:
    def maker(spec: EpisodeSpec, world: World) -> EpisodeUser:
        return Waiting(spec, gate, asked) if spec.id == SLOW else ScriptedEpisodeUser(spec)

    return dataclasses.replace(SETTINGS, user=maker)


def test_the_others_are_played_to_their_end_meanwhile() -> None:
    policy, sampler = model()
    wanted = specs(12)

    async def scene() -> list[str]:
        gate, asked = asyncio.Event(), asyncio.Event()
        done: list[str] = []

        def finished(episode: object) -> None:
            done.append(episode.id)  # type: ignore[attr-defined]
            if len(done) == len(wanted) - 1:
                gate.set()

        async with asyncio.timeout(20):
            episodes = await run_pool(wanted, WORLD, policy, settings(gate, asked), concurrency=4, on_episode=finished)
        assert asked.is_set()
        assert [one.id for one in episodes] == [one.id for one in wanted]
        return done

    done = asyncio.run(scene())
    assert done[-1] == SLOW
    # Away and back, as often as it spoke to the user; each name is let go of as often as it was taken.
    names = [name for _, name in sampler.log]
    assert names.count(SLOW) >= 4
    for name in set(names):
        kinds = [kind for kind, one in sampler.log if one == name]
        assert kinds == ["attach", "detach"] * (len(kinds) // 2)
    assert all(names.count(one.id) == 2 for one in wanted if one.id != SLOW)


def test_what_was_said_does_not_depend_on_who_waited() -> None:
    policy, _ = model()
    gate, asked = asyncio.Event(), asyncio.Event()
    gate.set()
    slow = asyncio.run(run_pool(specs(12), WORLD, policy, settings(gate, asked), concurrency=4))
    quick = asyncio.run(run_pool(specs(12), WORLD, model()[0], SETTINGS, concurrency=4))
    assert [one.digest for one in slow] == [one.digest for one in quick]


def test_an_interrupt_while_it_waits_leaves_nothing_attached() -> None:
    policy, sampler = model()

    async def scene() -> None:
        gate, asked = asyncio.Event(), asyncio.Event()
        playing = asyncio.create_task(run_pool(specs(4), WORLD, policy, settings(gate, asked), concurrency=4))
        async with asyncio.timeout(20):
            await asked.wait()
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing

    asyncio.run(scene())
    assert sampler._attached == set()
