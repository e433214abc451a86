"""Who asks when: an asyncio front for one worker thread that answers in batches, one batch a lane.

The rule that makes batches reproducible: the worker steps only while every attached episode waits for an answer or is
being answered. An episode that got its answer is thus awaited (it asks again or detaches) before the next step, and all
that wait are admitted together, in the order of their ids. There are no timers. For the same reason an episode that
replaces another should be attached before the other is detached, and those that begin together before the first asks.
An episode that waits for something slow (a person, a remote model) should be detached meanwhile.

All lanes step together. An episode keeps its lane, where its keys lie (one that was away returns there), and a new one joins
its group, whose prompt lies there, as long as that leaves the lanes about equally full.

An answer is sampled by one version of the weights. They change `between_answers` alone: what is under way is answered to
its end, whoever else is awaited, while nothing new is begun.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.engine.lanes import Lanes
from journeyman.engine.sampling import Batch, Row, natural
from journeyman.errors import EngineError

_UNEVEN = 8
"""Episodes that a lane may hold more than another for the sake of a common prompt."""


@dataclass(eq=False)
class _Ticket:
    request: SampleRequest
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[SampleResult]
    asked: float
    row: Row | None = None


class Scheduler:
    """Feeds requests to the lanes' batches. `exclusive` holds them still between two steps, `between_answers` between two answers.

    Args:
        batches: one for each lane.
        version: tells the version of the weights that sample now.
    """

    def __init__(self, lanes: Lanes, batches: Sequence[Batch], version: Callable[[], int]) -> None:
        self._lanes, self._batches, self._version = lanes, batches, version
        self._lane_of: dict[str, int] = {}
        self._state = threading.Condition()
        self._compute = threading.RLock()
        self._attached: set[str] = set()
        self._tickets: dict[str, _Ticket] = {}
        self._worker: threading.Thread | None = None
        self._stepping = False
        self._holding = 0
        """How many wait for what is under way to be answered, or have it still."""
        self._closed = False

    def attach(self, episode_id: str) -> None:
        """See `Sampler.attach`."""
        with self._state:
            self._attached.add(episode_id)

    def detach(self, episode_id: str) -> None:
        """See `Sampler.detach`. May be called at any time and repeatedly; a request under way is still answered."""
        with self._state:
            self._attached.discard(episode_id)
            self._state.notify_all()

    async def ask(self, request: SampleRequest) -> SampleResult:
        """Enqueue and await the answer. Cancelling the caller withdraws the request.

        Raises:
            EngineError: the episode already waits for an answer, or the engine failed.
        """
        loop = asyncio.get_running_loop()
        ticket = _Ticket(request, loop, loop.create_future(), time.perf_counter())
        with self._state:
            if self._closed:
                raise EngineError("engine", "", "it was closed: load a new one.")
            if request.episode_id in self._tickets:
                raise EngineError("engine", request.episode_id, "already waits for an answer: ask once at a time.")
            self._tickets[request.episode_id] = ticket
            if self._worker is None:
                self._worker = threading.Thread(target=self._run, name="journeyman-engine", daemon=True)
                self._worker.start()
            self._state.notify_all()
        try:
            return await ticket.future
        finally:
            with self._state:
                if self._tickets.get(request.episode_id) is ticket:
                    del self._tickets[request.episode_id]
                    self._state.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Between two steps: nothing is computed by the worker inside."""
        with self._compute:
            yield

    @contextmanager
    def between_answers(self) -> Iterator[None]:
        """Nothing is being answered inside, and nothing begins. May be entered from any thread, also one that keeps those who
        are attached from asking: answers under way need nobody but the worker."""
        with self._state:
            self._holding += 1
            self._state.notify_all()
            self._state.wait_for(lambda: self._closed or not (self._stepping or self._under_way()))
        try:
            with self._compute:
                yield
        finally:
            with self._state:
                self._holding -= 1
                self._state.notify_all()

    def close(self) -> None:
        """End the worker; requests still waiting fail with EngineError."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        if self._worker is not None and self._worker is not threading.current_thread():
            self._worker.join()
        self._fail(EngineError("engine", "", "it was closed while a request waited."))

    def _under_way(self) -> list[_Ticket]:
        return [ticket for ticket in self._tickets.values() if ticket.row is not None]

    def _may_step(self) -> bool:
        if self._holding:
            return bool(self._under_way())
        return bool(self._tickets) and self._attached <= self._tickets.keys()

    def _run(self) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._closed or self._may_step())
                if self._closed:
                    return
                chosen = self._under_way() if self._holding else self._tickets.values()
                tickets = sorted(chosen, key=lambda t: natural(t.request.episode_id))
                spare = set(self._attached)
                self._stepping = True
            try:
                with self._compute:
                    finished = self._step(tickets, spare)
            except Exception as error:  # whatever broke, those who wait must hear of it
                for batch in self._batches:
                    batch.rows.clear()
                    batch.cache.abandon()
                failure = (
                    error if isinstance(error, EngineError) else EngineError("engine", "", f"a step failed: {error!r}")
                )
                failure.__cause__ = error if failure is not error else None
                self._fail(failure)
                self._rest()
                continue
            self._resolve(finished, {id(ticket.row): ticket for ticket in tickets})
            self._rest()

    def _rest(self) -> None:
        with self._state:
            self._stepping = False
            self._state.notify_all()

    def _step(self, tickets: list[_Ticket], spare: set[str]) -> list[Row]:
        self._assign(tickets, spare)
        shares: list[list[_Ticket]] = [[] for _ in self._batches]
        for ticket in tickets:
            shares[self._lane_of[ticket.request.episode_id]].append(ticket)
        version = self._version()

        def work(batch: Batch, share: list[_Ticket]) -> list[Row]:
            wanted = {id(ticket.row) for ticket in share}
            for row in [row for row in batch.rows if id(row) not in wanted]:
                batch.drop(row)
            for ticket in share:
                if ticket.row is None:
                    ticket.row = batch.start(ticket.request, version, spare)
            return batch.step() if batch.rows else []

        works = [partial(work, batch, share) for batch, share in zip(self._batches, shares, strict=True)]
        return [row for finished in self._lanes.run(works) for row in finished]

    def _assign(self, tickets: list[_Ticket], attached: set[str]) -> None:
        """Give every new episode a lane; those that are gone give theirs back."""
        asking = [ticket.request.episode_id for ticket in tickets]
        live = attached.union(asking)
        self._lane_of = {episode: lane for episode, lane in self._lane_of.items() if episode in live}
        loads = [0] * len(self._batches)
        lanes_of_group: dict[str, set[int]] = {}
        for episode, lane in self._lane_of.items():
            loads[lane] += 1
            lanes_of_group.setdefault(_group(episode), set()).add(lane)
        for episode in asking:
            if episode in self._lane_of:
                continue
            emptiest = min(range(len(loads)), key=lambda lane: (loads[lane], lane))
            mates = lanes_of_group.setdefault(_group(episode), set())
            home = [lane for lane, batch in enumerate(self._batches) if batch.cache.holds(episode)]
            lane = min(home or mates, key=lambda lane: (loads[lane], lane), default=emptiest)
            if loads[lane] >= min(loads[emptiest] + _UNEVEN, len(self._batches[lane].cache.slots)):
                lane = emptiest
            self._lane_of[episode] = lane
            loads[lane] += 1
            mates.add(lane)

    def _resolve(self, finished: list[Row], tickets: dict[int, _Ticket]) -> None:
        now = time.perf_counter()
        with self._state:
            for row in finished:
                ticket = tickets[id(row)]
                assert row.finish is not None
                result = SampleResult(row.drawn, row.logprobs, row.version, row.finish, now - ticket.asked)
                # From here the episode counts as thinking: the next step waits until it asks again or detaches.
                if self._tickets.get(row.request.episode_id) is ticket:
                    del self._tickets[row.request.episode_id]
                _post(ticket, result)

    def _fail(self, error: EngineError) -> None:
        with self._state:
            for ticket in list(self._tickets.values()):
                _post(ticket, error)
            self._tickets.clear()


def _group(episode_id: str) -> str:
    """The id without its trial; an id of one part is its own group."""
    return episode_id.rpartition("/")[0] or episode_id


def _post(ticket: _Ticket, outcome: SampleResult | EngineError) -> None:
    def deliver() -> None:
        if ticket.future.done():
            return
        if isinstance(outcome, SampleResult):
            ticket.future.set_result(outcome)
        else:
            ticket.future.set_exception(outcome)

    if not ticket.loop.is_closed():
        ticket.loop.call_soon_threadsafe(deliver)
