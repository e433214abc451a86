"""Where the loop's batches come from: sampled when their turn comes, or ahead of it, while the optimizer works.

`max_staleness` is how many versions the weights that sample may lag behind those that are trained. At 0 sampling and training
take turns (`InTurns`), and equal runs are equal bit for bit. Above it (`Ahead`) a task gathers one batch after the other and
updates run in a thread. The *age* of an episode is the version that is trained when its turn comes minus that of its oldest
sampled token; versions in between may have sampled the rest. The batch of step k is begun once k − max_staleness steps are
done. Each step publishes at most one version, so no token of it can be older than the bound, and within the bound sampling
never waits for the optimizer. What is too old all the same (a sampler of its own mind, episodes kept from an earlier sitting)
is dropped and counted.

What samples when depends on time, so with a bound above 0 no two runs are equal bit for bit, and neither is a resumed one.
What does hold, killed wherever: no committed step is lost or done twice; every id counts once; the counters of a checkpoint
are the sums of the lines of its steps; every episode that counts belongs to a committed step, and those sampled ahead of one
that was not are discarded (`replay`, their cost counted) or handed out again when their step comes (`reuse`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, Self, TypeVar

import msgspec

from journeyman.engine.base import Trainer
from journeyman.episode import Episode, Group
from journeyman.train.checkpoint import State
from journeyman.train.method import Batch, Method
from journeyman.train.sitting import Sitting

T = TypeVar("T")


class Supply(Protocol):
    """Hands the loop its batches, in an `async with` block."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def take(self, step: int, position: int) -> Batch:
        """The batch of `step`, drawn from `position` on. What gathering raises is raised here, once."""
        ...

    async def work(self, update: Callable[[], T]) -> T:
        """Do the step's work on the weights. Cancelled, it still ends only when the work has ended."""
        ...

    def stepped(self, done: int) -> None:
        """`done` steps of the stage are done, with all that belongs to them."""
        ...

    async def stop(self, done: int) -> None:
        """The stage ends after `done` steps: no further batch is wanted."""
        ...


def supply_of(method: Method, trainer: Trainer, sitting: Sitting, state: State) -> Supply:
    """The supply that a method's `max_staleness` asks for, from `state` on."""
    return Ahead(method, trainer, sitting, state) if method.max_staleness else InTurns(method)


class InTurns:
    """A `Supply` that gathers when asked."""

    def __init__(self, method: Method) -> None:
        self._method = method

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def take(self, step: int, position: int) -> Batch:
        return await self._method.gather(step, position)

    async def work(self, update: Callable[[], T]) -> T:
        return update()

    def stepped(self, done: int) -> None:
        return

    async def stop(self, done: int) -> None:
        return


class Ahead:
    """A `Supply` that gathers ahead, `method.max_staleness` steps at most. Also with a bound of 0, for comparison."""

    def __init__(self, method: Method, trainer: Trainer, sitting: Sitting, state: State) -> None:
        self._method = method
        self._trainer = trainer
        self._sitting = sitting
        self._done = state.step
        self._stepped = asyncio.Event()
        self._ready: asyncio.Queue[Batch] = asyncio.Queue()
        self._position = state.position
        self._gathering: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(1, "journeyman-update")

    async def __aenter__(self) -> Self:
        self._gathering = asyncio.create_task(self._gather_on())
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._halt()
        finally:
            self._worker.shutdown()

    async def take(self, step: int, position: int) -> Batch:
        assert self._gathering is not None
        batch = asyncio.ensure_future(self._ready.get())
        try:
            await asyncio.wait({batch, self._gathering}, return_when=asyncio.FIRST_COMPLETED)
            if not batch.done():
                await self._gathering  # it failed
            return within_age(await batch, self._trainer.version, self._method.max_staleness, self._method.alive)
        finally:
            batch.cancel()

    async def work(self, update: Callable[[], T]) -> T:
        working = asyncio.get_running_loop().run_in_executor(self._worker, update)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            # Nobody may meet weights in the middle of a step.
            await asyncio.wait({working})
            working.exception()
            raise

    def stepped(self, done: int) -> None:
        self._done = done
        self._stepped.set()

    async def stop(self, done: int) -> None:
        """See `Supply.stop`. What was sampled for steps that will not be done no longer counts."""
        await self._halt()
        self._sitting.discard(self._method.name, done)

    async def _gather_on(self) -> None:
        for step in range(self._done, self._method.steps):
            while step - self._done > self._method.max_staleness:
                self._stepped.clear()
                await self._stepped.wait()
            batch = await self._method.gather(step, self._position)
            self._position = batch.position
            self._ready.put_nowait(batch)

    async def _halt(self) -> None:
        """End gathering. What it raised is of no interest any more: the loop ends, or has an error of its own."""
        if self._gathering is not None:
            self._gathering.cancel()
            await asyncio.gather(self._gathering, return_exceptions=True)


def age(episode: Episode, version: int) -> int:
    """How many versions lie between an episode's oldest sampled token and `version`; 0 where nothing was sampled, and where the
    versions are later ones, of a sitting whose last steps were lost."""
    sampled = [
        one for segment in episode.segments for one, flag in zip(segment.versions, segment.mask, strict=True) if flag
    ]
    return max(version - min(sampled, default=version), 0)


def within_age(batch: Batch, version: int, bound: int, alive: Callable[[Group], bool]) -> Batch:
    """The batch without the episodes whose age at `version` is above `bound`, and without groups that are not `alive` with
    what is left of them."""
    groups: list[Group] = []
    overage: list[Episode] = []
    for group in batch.groups:
        old = [one for one in group.episodes if age(one, version) > bound]
        overage += old
        if old:
            group = Group(group.id, group.task_id, [one for one in group.episodes if one not in old])
            if not alive(group):
                continue
        groups.append(group)
    return msgspec.structs.replace(batch, groups=groups, overage=overage) if overage else batch


def staleness(groups: Sequence[Group], version: int, bound: int) -> dict[str, Any]:
    """Ages of the episodes that are trained at `version`: mean, largest, and how many there are of each age 0 … `bound`."""
    ages = [age(one, version) for group in groups for one in group.episodes]
    counts = Counter(ages)
    return {
        "staleness_mean": sum(ages) / len(ages) if ages else 0.0,
        "staleness_max": max(ages, default=0),
        "staleness_histogram": [counts[number] for number in range(bound + 1)],
    }
