"""Fixtures of the kit's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import library_desk
import pytest

from journeyman.episode import CallRecord
from journeyman.task import Task
from journeyman.world import World, WorldSession, open_session

Play = Callable[..., CallRecord]


@pytest.fixture
def world() -> World:
    return library_desk.WORLD


@pytest.fixture
def task(world: World) -> Task:
    return world.tasks("train")[0]


@pytest.fixture
def session(world: World, task: Task) -> WorldSession:
    return open_session(world, task)


@pytest.fixture
def play(session: WorldSession) -> Play:
    """Call a tool of the session: play(tool, argument=value, …)."""

    def one(tool: str, /, **arguments: Any) -> CallRecord:
        return asyncio.run(session.call(tool, arguments))

    return one
