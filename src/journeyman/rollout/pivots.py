"""Pivots: agent turns of solved traces, each a state from which fresh attempts begin.

    traces = Traces(world, tasks, renderer, shown, solved, settings)
    candidates, dropped = await traces.candidates()
    episode = await traces.play(spec, world, policy, settings)      # spec.pivot names the trace and the turn

A state is restored by replaying its trace: the calls up to the turn run again in a fresh session, and results and digest
must be those of the record. What the user said is replayed too, never made anew. The prompt is the trace's own stream of
ids up to the turn: as it was sampled where a model left it, rendered once where nobody did; none of it counts as sampled.
From there one turn is sampled and compared with the trace's (`grading/equivalence.py`), or the episode goes on to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from journeyman.episode import Continued, Episode, Event, Message, Turn, Usage, Verdict
from journeyman.errors import EngineError, RunFolderError
from journeyman.grading.equivalence import Comparison, Demonstration, compare, unfit
from journeyman.grading.grade import reader_of
from journeyman.recipe import Limits
from journeyman.rollout.loop import End, Play, PlaySettings, conduct, unanswerable
from journeyman.rollout.policy import Actor, EpisodeSpec, Policy, TokenActor
from journeyman.rollout.render import Renderer
from journeyman.rollout.replay import Span, Stand, replay, restore, restore_user, spans
from journeyman.rollout.users import scripted_user
from journeyman.task import Data, RowChange, Task
from journeyman.world import Snapshot, WorldSession

if TYPE_CHECKING:
    from journeyman.world import ToolSpec, World

Continuation = Literal["turn", "episode"]
"""How far an attempt goes: one turn, compared with the trace's; or to the end of the episode, whose outcome is graded."""

KEPT_STATES = 64
"""States held ready at a time; others are restored again when they are needed."""


class Candidate(Data, frozen=True):
    """A turn that an attempt can begin from. `kind`: what the trace does there."""

    trace: str
    turn: int
    task_id: str
    kind: Literal["read", "write", "message"]

    @property
    def id(self) -> str:
        """trace@turn."""
        return f"{self.trace}@{self.turn}"


@dataclass(frozen=True)
class Start:
    """All that an attempt begins with.

    Args:
        turn: the agent turn that comes next. messages, events: those before it.
        prompt_ids: the stream of ids up to where the model speaks.
        shown: what the trace does in this turn.
    """

    trace: Episode
    turn: int
    snapshot: Snapshot
    messages: list[Message]
    events: list[Event]
    prompt_ids: list[int]
    shown: Demonstration


class Traces:
    """Solved traces as places to begin from.

    Args:
        tasks: by id.
        renderer, shown: render those traces that hold no ids; `shown`: task id -> the tools that the template shows.
        traces: episodes that were solved, from their opening on, with their segments where a model played them.
        continuation: how far attempts go.
        context_limit, limits: a turn is no candidate where no attempt of the length shown would fit.
    """

    def __init__(
        self,
        world: World,
        tasks: Mapping[str, Task],
        renderer: Renderer,
        shown: Callable[[str], Sequence[ToolSpec]],
        traces: Sequence[Episode],
        *,
        continuation: Continuation = "turn",
        context_limit: int,
        limits: Limits,
    ) -> None:
        self._world = world
        self._tasks = tasks
        self._renderer = renderer
        self._shown = shown
        self._traces = {trace.id: trace for trace in traces}
        self._continuation: Continuation = continuation
        self._context_limit = context_limit
        self._limits = limits
        self._stands: dict[str, list[Stand]] = {}
        self._spans: dict[str, list[Span]] = {}
        self._states: dict[tuple[str, int], Start] = {}

    async def candidates(self) -> tuple[list[Candidate], Counter[str]]:
        """Every turn of every trace that can be a pivot, in the order of the traces, and why the others cannot.

        Reasons: `error`, `empty`, `no_events` (see `equivalence.Unfit`; only where single turns are compared),
        `too_long`, and `duplicate` for a prompt that an earlier trace of the task had.

        Raises:
            RunFolderError: a replay differs from the record; names trace and call.
        """
        found: list[Candidate] = []
        dropped: Counter[str] = Counter()
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for trace in self._traces.values():
            stands = await self._replayed(trace)
            for turn, (stand, span) in enumerate(zip(stands, self._spans_of(trace), strict=True)):
                prompt = (trace.task_id, tuple(span.prompt))
                reason = self._unfit(stand, span, turn) or ("duplicate" if prompt in seen else None)
                if reason is not None:
                    dropped[reason] += 1
                    continue
                seen.add(prompt)
                found.append(Candidate(trace.id, turn, trace.task_id, stand.shown.kind))
        return found, dropped

    def _unfit(self, stand: Stand, span: Span, turn: int) -> str | None:
        if turn >= self._limits.turns or len(span.prompt) + span.length > self._context_limit:
            return "too_long"
        return unfit(stand.shown) if self._continuation == "turn" else None

    def trace(self, id: str) -> Episode:
        """The trace of that id. Raises RunFolderError where there is none."""
        if id not in self._traces:
            raise RunFolderError(id, "", "is no trace of this stage: the run folder was altered.")
        return self._traces[id]

    async def start(self, pivot: Continued) -> Start:
        """The state before a turn, restored and compared with the record.

        Raises:
            RunFolderError: there is no such turn, or a replay differs.
        """
        place = (pivot.trace, pivot.turn)
        if place not in self._states:
            if len(self._states) >= KEPT_STATES:
                del self._states[next(iter(self._states))]
            self._states[place] = await self._restored(self.trace(pivot.trace), pivot.turn)
        return self._states[place]

    async def play(self, spec: EpisodeSpec, world: World, policy: Policy, settings: PlaySettings) -> Episode:
        """Play one attempt from `spec.pivot`: a `pool.Player`. Its seeds of world and user are its trace's."""
        assert spec.pivot is not None
        start = await self.start(spec.pivot)
        return await conduct(_Attempt(spec, world, policy, settings, start, self._continuation))

    async def _replayed(self, trace: Episode) -> list[Stand]:
        if trace.id not in self._stands:
            task = self._tasks[trace.task_id]
            self._stands[trace.id] = await replay(self._world, task, trace)
            if self._continuation == "episode" and task.scenario is not None:
                spec = EpisodeSpec(trace.id, task, trace.seeds)
                await restore_user(self._world, scripted_user(spec, self._world), trace, len(self._stands[trace.id]))
        return self._stands[trace.id]

    async def _restored(self, trace: Episode, turn: int) -> Start:
        stands = await self._replayed(trace)
        if not 0 <= turn < len(stands):
            raise RunFolderError(trace.id, f"turn {turn}", f"there is none: the trace has {len(stands)}.")
        session = await restore(self._world, self._tasks[trace.task_id], trace, turn, stands[turn].digest)
        try:
            snapshot = session.snapshot()
        finally:
            await session.close()
        before = next(place for place, one in enumerate(trace.messages) if one.role == "assistant" and one.turn == turn)
        return Start(
            trace=trace,
            turn=turn,
            snapshot=snapshot,
            messages=trace.messages[:before],
            events=[event for event in trace.events if event.turn < turn],
            prompt_ids=self._spans_of(trace)[turn].prompt,
            shown=stands[turn].shown,
        )

    def _spans_of(self, trace: Episode) -> list[Span]:
        if trace.id not in self._spans:
            self._spans[trace.id] = spans(trace, self._renderer, self._shown(trace.task_id))
        return self._spans[trace.id]


class _Attempt(Play):
    """An episode that begins before a turn of a trace."""

    def __init__(
        self,
        spec: EpisodeSpec,
        world: World,
        policy: Policy,
        settings: PlaySettings,
        start: Start,
        continuation: Continuation,
    ) -> None:
        super().__init__(spec, world, policy, settings)
        self._start = start
        self._first = start.turn
        self._one_turn = continuation == "turn"
        self._found = Comparison(False, "")
        if self._one_turn:
            self._user = None

    async def _open(self) -> tuple[WorldSession, Actor]:
        start = self._start
        self.session = session = WorldSession.restore(self.world, self.spec.task, start.snapshot)
        self.messages += start.messages
        self.events += start.events
        self._known = len(self.messages)
        if self._user is not None:
            await restore_user(self.world, self._user, start.trace, start.turn)
        for message in start.messages:
            for call in message.calls:
                self._asked += 1
                self._loop(call)
        actor = self._begin(session)
        if not isinstance(actor, TokenActor):
            raise EngineError("policy", self.policy.name, "has no token ids: only a model can go on from a trace.")
        actor.resume(start.prompt_ids, start.messages)
        self.actor = actor
        return session, actor

    async def _answer(self, turn: Turn, number: int, session: WorldSession) -> End | None:
        if not self._one_turn:
            return await super()._answer(turn, number, session)
        end = unanswerable(turn)
        if end is not None:
            self._found = Comparison(False, end.detail)
            return end
        before = len(session.calls)
        self._found = await compare(self.world, self._start.shown, turn, session, number)
        if not turn.calls:
            self.events += reader_of(self.world).read_agent(turn.text, number, before)
        for call, record in zip(turn.calls, session.calls[before:], strict=False):
            self.messages.append(Message("tool", record.result, call_id=call.id, name=call.name, turn=number))
        return End("turn")

    def _graded(self, end: End, usage: Usage, changes: list[RowChange]) -> tuple[Verdict | None, float, End]:
        if not self._one_turn:
            return super()._graded(end, usage, changes)
        return None, float(self._found.equivalent and end.failure == "none"), end

    def episode(self, end: End) -> Episode:
        return self._marked(super().episode(end))

    def ruin(self, error: Exception) -> Episode:
        return self._marked(super().ruin(error))

    def _marked(self, episode: Episode) -> Episode:
        begun = Continued(self._start.trace.id, self._start.turn, self._found.reason)
        return msgspec.structs.replace(episode, pivot=begun).sealed()
