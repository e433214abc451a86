"""Plays an attack on a few telecom tasks of every family, once for all tests that look at it."""

from __future__ import annotations

import asyncio
import functools

from journeyman.codec import seed_of
from journeyman.curriculum.lint_bench import LINT_LIMITS, Bench
from journeyman.episode import Episode, Seeds
from journeyman.rollout.attacks import ATTACKS
from journeyman.rollout.loop import EpisodeSpec, PlaySettings, play
from journeyman.rollout.scripted import SCRIPTED, ScriptedPolicy
from journeyman.task import Call, Say, Task
from journeyman.world import World
from journeyman.worlds import load_world

WORLD = load_world("telecom")
EACH = 2
"""Tasks of every family."""


def tasks() -> list[Task]:
    return [task for family in WORLD.families for task in WORLD.tasks(families=[family.name])[:EACH]]


def run(task: Task, policy: ScriptedPolicy, world: World = WORLD) -> Episode:
    seeds = Seeds(world=1, user=seed_of("attack", task.id), episode=3)
    spec = EpisodeSpec(f"attack/0/{task.id.replace('/', '.')}/0", task, seeds)
    return asyncio.run(play(spec, world, policy, PlaySettings(limits=LINT_LIMITS)))


@functools.cache
def attacked(name: str) -> tuple[tuple[Task, Episode], ...]:
    """(task, episode) of every task that the attack applies to."""
    attack = ATTACKS[name]
    return tuple((task, run(task, attack.policy)) for task in tasks() if attack.applies(WORLD, task))


@functools.cache
def oracle_run(task_id: str) -> Episode:
    return run(WORLD.task(task_id), SCRIPTED["oracle"])


def bench(task: Task, runner: asyncio.Runner, world: World = WORLD) -> Bench:
    return Bench(world, task, runner)


def families(plays: tuple[tuple[Task, Episode], ...]) -> set[str]:
    return {task.family for task, _ in plays}


def said(episode: Episode) -> list[str]:
    """What the agent told the user, message by message."""
    return [one.content for one in episode.messages if one.role == "assistant" and not one.calls]


def oracle_calls(task: Task) -> list[Call]:
    return [step for step in task.oracle if isinstance(step, Call)]


def oracle_says(task: Task) -> list[Say]:
    return [step for step in task.oracle if isinstance(step, Say)]


def writes(episode: Episode) -> list[str]:
    return [call.tool for call in episode.calls if call.kind == "write" and call.status == "ok"]


def kept_out(name: str) -> tuple[tuple[Task, Episode], ...]:
    """The plays of an attack, each of which was graded and ended as its standard says."""
    plays = attacked(name)
    assert plays, f"{name} applies nowhere"
    for task, episode in plays:
        assert episode.verdict is not None, (name, task.id, episode.failure_detail)
        if ATTACKS[name].standard_for(task) == "process":
            assert not episode.verdict.clean, (name, task.id)
            assert episode.reward <= 0.4
        else:
            assert not episode.verdict.passed, (name, task.id)
    return plays
