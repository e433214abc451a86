"""What an episode costs beyond the model: resetting a world, grading, and playing whole reference episodes.

    python benchmarks/episode_overhead.py --json

prints {world: {"reset_grade_p50_ms", "oracle_episodes_per_s"}} for every world, or for those named.

reset_grade_p50_ms: median milliseconds of opening a session (setup rows applied), grading a whole transcript, and
closing, over the tasks of the world. oracle_episodes_per_s: reference episodes played, graded and sealed per second in
this one process, one after another, every trace kept in memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time

from journeyman.codec import seed_of
from journeyman.episode import Episode, Seeds, Transcript
from journeyman.grading.grade import grade
from journeyman.recipe import Limits
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.scripted import SCRIPTED
from journeyman.task import Task
from journeyman.world import World, open_session
from journeyman.worlds import WORLDS, load_world

SETTINGS = PlaySettings(limits=Limits(turns=64, calls=64))


async def oracle_episode(world: World, task: Task, trial: int) -> Episode:
    """One reference episode, played as any other."""
    user = seed_of("benchmark", task.id, trial)
    seeds = Seeds(world=seed_of("benchmark", task.id), user=user, episode=user)
    spec = EpisodeSpec(id=f"benchmark/0/{task.id.replace('/', '.')}/{trial}", task=task, seeds=seeds)
    return await play(spec, world, SCRIPTED["oracle"], SETTINGS)


async def reset_grade_ms(world: World, episodes: dict[str, Episode], repeats: int) -> list[float]:
    """Milliseconds of each open, grade and close."""
    took = []
    for task in world.tasks():
        episode = episodes[task.id]
        transcript = Transcript(episode.messages, episode.calls, episode.events, episode.changes, episode.ended)
        for _ in range(repeats):
            started = time.perf_counter()
            session = open_session(world, task)
            verdict = grade(task, world, transcript)
            await session.close()
            took.append((time.perf_counter() - started) * 1e3)
            if not verdict.passed:
                raise SystemExit(f"{task.id}: the oracle does not pass; run `journeyman lint {world.name}`")
    return took


async def measure(world: World, seconds: float) -> dict[str, float]:
    """Both figures of one world; `seconds` bounds the time spent on episodes."""
    tasks = world.tasks()
    first = {task.id: await oracle_episode(world, task, 0) for task in tasks}
    kept: list[Episode] = []
    started, trial = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        trial += 1
        kept += [await oracle_episode(world, task, trial) for task in tasks]
    rate = len(kept) / (time.perf_counter() - started)
    took = await reset_grade_ms(world, first, repeats=max(3, 600 // len(tasks)))
    return {"reset_grade_p50_ms": round(statistics.median(took), 4), "oracle_episodes_per_s": round(rate, 1)}


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), help="names or package.module:WORLD (default: all)")
    parser.add_argument("--seconds", type=float, default=5.0, help="time spent on episodes of each world")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args()
    found = {name: asyncio.run(measure(load_world(name), chosen.seconds)) for name in chosen.worlds}
    if chosen.json:
        json.dump(found, sys.stdout, indent=2)
        print()
        return
    for name, figures in found.items():
        print(f"{name}: reset + grade {figures['reset_grade_p50_ms']:.3f} ms (median), ", end="")
        print(f"{figures['oracle_episodes_per_s']:,.0f} oracle episodes a second")


if __name__ == "__main__":
    main()
