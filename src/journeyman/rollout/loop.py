"""The episode loop: one policy, one session, one user, until somebody ends it; then the grade.

    episode = await play(spec, world, policy, PlaySettings(limits=Limits(), reward=Reward()))

Calls run in order and their results go back to the agent; a message without calls goes to the user, or closes a task
that has none. Whatever an agent, a user, a tool or the machinery does, an episode comes back, with its failure kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from journeyman.codec import canonical, encode
from journeyman.engine.chat import KeyRefused
from journeyman.episode import (
    INVALID_FAILURES,
    CallRecord,
    Ended,
    Episode,
    Event,
    Failure,
    Message,
    SamplingSettings,
    ToolCall,
    Transcript,
    Turn,
    Usage,
    Verdict,
)
from journeyman.errors import EndpointError
from journeyman.grading.grade import Grader, grade, reader_of
from journeyman.grading.reward import reward
from journeyman.recipe import Limits, Reward
from journeyman.rollout.interpret import silence
from journeyman.rollout.policy import Actor, EpisodeContext, EpisodeSpec, OutOfTokens, Policy
from journeyman.rollout.prompt import ToolRendering, system_prompt
from journeyman.rollout.users import UserMaker, scripted_user
from journeyman.task import RowChange
from journeyman.world import WorldSession, open_session

if TYPE_CHECKING:
    from journeyman.world import World

__all__ = ["End", "EpisodeSpec", "Play", "PlaySettings", "blaming_the_user", "conduct", "play", "unanswerable"]


Away = Callable[[str], AbstractContextManager[None]]


def nobody_waits(_: str) -> AbstractContextManager[None]:
    """The `Away` of an episode that is attached to nothing."""
    return contextlib.nullcontext()


@dataclass(frozen=True)
class PlaySettings:
    """How episodes are played and graded.

    Args:
        sampling: how a model samples; policies without a sampler ignore it.
        tools: how tools are shown to a model.
        grader: decides the verdict; None: the project's own.
        user: who plays the users; the scripted one unless given.
        away: entered with the episode's id while it waits for a slow user; whoever holds the sampler lets go meanwhile.
    """

    limits: Limits = field(default_factory=Limits)
    reward: Reward = field(default_factory=Reward)
    sampling: SamplingSettings | None = None
    tools: ToolRendering = "compact"
    grader: Grader | None = None
    user: UserMaker = scripted_user
    away: Away = nobody_waits


MAX_NAME = 200
"""Characters kept of the name of a called tool."""


class _UserFailed(Exception):
    """The simulated user raised `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class End(NamedTuple):
    """How an episode ends."""

    ended: Ended
    failure: Failure = "none"
    detail: str = ""


async def play(spec: EpisodeSpec, world: World, policy: Policy, settings: PlaySettings) -> Episode:
    """Play one episode and grade it.

    An exception of session, engine or grader becomes the failure `infrastructure`, one of the user the failure `user`. Both
    leave verdict None and reward 0. Nothing but cancellation and one error escapes:

    Raises:
        KeyRefused: an endpoint does not serve its key, so that no attempt can be made.

    Returns:
        The sealed episode.
    """
    return await conduct(Play(spec, world, policy, settings))


async def conduct(run: Play) -> Episode:
    """Play what was set up; see `play`."""
    try:
        end = await _ended(run)
        try:
            return run.episode(end)
        except Exception as error:
            return run.ruin(error)
    finally:
        await run.close()


async def _ended(run: Play) -> End:
    """Converse to the end; what breaks becomes an end of its own."""
    seconds = run.settings.limits.wall_seconds
    try:
        async with asyncio.timeout(seconds):
            return await run.converse()
    except OutOfTokens as reason:
        return End("limit", "truncated", str(reason))
    except _UserFailed as failed:
        return End("error", "user", _describe(failed.error))
    except TimeoutError:
        return End("error", "infrastructure", f"timed out (the episode may last {seconds:g} s)")
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled this episode: something inside it gave up on work of its own.
        return End("error", "infrastructure", _describe(error))
    except KeyRefused:
        raise
    except (Exception, SystemExit) as error:
        return End("error", "infrastructure", _describe(error))


class Play:
    """The state of one episode while it runs. It begins at the opening; `rollout/pivots.py` begins it in the middle."""

    def __init__(self, spec: EpisodeSpec, world: World, policy: Policy, settings: PlaySettings) -> None:
        self.spec = spec
        self.world = world
        self.policy = policy
        self.settings = settings
        self.messages: list[Message] = []
        self.events: list[Event] = []
        self.session: WorldSession | None = None
        self.actor: Actor | None = None
        self._user = settings.user(spec, world) if spec.task.scenario else None
        self._first = 0
        """The agent turn that comes first."""
        self._known = 0
        """Messages that the actor has in its stream already."""
        self._asked = 0
        self._last_call = b""
        self._in_a_row = 0
        self._started = time.perf_counter()
        self._seconds = {"policy": 0.0, "user": 0.0, "world": 0.0, "grading": 0.0}

    async def converse(self) -> End:
        """Play to the end, whoever makes it."""
        limits = self.settings.limits
        session, actor = await self._open()
        fresh = list(self.messages[self._known :])
        for number in range(self._first, limits.turns):
            since = time.perf_counter()
            turn = await actor.act(fresh)
            self._count("policy", since)
            turn = _numbered(turn, number)
            self.messages.append(
                Message("assistant", turn.text, reasoning=turn.reasoning, calls=turn.calls, turn=number)
            )
            known = len(self.messages)
            end = await self._answer(turn, number, session)
            if end is not None:
                return end
            if time.perf_counter() - self._started > limits.wall_seconds:
                raise TimeoutError
            fresh = self.messages[known:]
        return End("limit", "truncated", f"the turn limit of {limits.turns} was reached")

    async def _open(self) -> tuple[WorldSession, Actor]:
        task, since = self.spec.task, time.perf_counter()
        self.session = session = open_session(self.world, task, self.spec.seeds.world)
        self.actor = actor = self._begin(session)
        opening = task.request
        if self._user:
            with blaming_the_user():
                opening, events = self._user.open()
            self.events += events
        self.messages += [
            Message("system", system_prompt(self.world, task, self.settings.tools)),
            Message("user", opening),
        ]
        self._count("world", since)
        return session, actor

    def _begin(self, session: WorldSession) -> Actor:
        context = EpisodeContext(
            spec=self.spec,
            world=self.world,
            tools=session.tools(),
            limits=self.settings.limits,
            sampling=self.settings.sampling,
            native_tools=self.settings.tools == "json",
            changes=session.changes if self.policy.privileged else None,
        )
        return self.policy.begin(context)

    async def _answer(self, turn: Turn, number: int, session: WorldSession) -> End | None:
        """What the world makes of one turn; None where the conversation goes on."""
        end = unanswerable(turn)
        if end is not None:
            return end
        if not turn.calls:
            return await self._deliver(turn.text, number, session)
        for call in turn.calls:
            end = await self._call(call, number, session)
            if end is not None:
                return end
        return None

    async def _call(self, call: ToolCall, number: int, session: WorldSession) -> End | None:
        limits = self.settings.limits
        if self._asked >= limits.calls:
            return End("limit", "agent", f"the call limit of {limits.calls} was reached")
        self._asked += 1
        since = time.perf_counter()
        record = None
        if call.arguments is None:
            result = error_result("unreadable_call", f"The call could not be read: {call.error}.")
        else:
            record = await session.call(call.name, call.arguments, turn=number)
            result = record.result
        self._count("world", since)
        self.messages.append(Message("tool", result, call_id=call.id, name=call.name, turn=number))
        if record and record.status == "ok" and record.tool == self.world.transfer_tool:
            return End("transfer")
        return self._loop(call)

    def _loop(self, call: ToolCall) -> End | None:
        key = canonical([call.name, call.raw if call.arguments is None else call.arguments])
        self._in_a_row = self._in_a_row + 1 if key == self._last_call else 1
        self._last_call = key
        if self._in_a_row < self.settings.limits.repeats:
            return None
        return End("limit", "agent", f"looped: the same call of {call.name!r} {self._in_a_row} times in a row")

    async def _deliver(self, text: str, number: int, session: WorldSession) -> End | None:
        """A message to the user, or the closing one where there is none."""
        order = len(session.calls)
        since = time.perf_counter()
        read = reader_of(self.world).read_agent(text, number, order)
        self.events += read
        if self._user is None:
            return End("final")
        away = self.settings.away if self._user.slow else nobody_waits
        with blaming_the_user(), away(self.spec.id):
            reply, events, left = await self._user.answer(text, read, order, number)
        self._count("user", since)
        self.events += events
        if reply is not None:
            self.messages.append(Message("user", reply, turn=number))
        return End("left") if left else None

    def _count(self, role: str, since: float) -> None:
        self._seconds[role] += time.perf_counter() - since

    async def close(self) -> None:
        """Close the session, if it ever opened. The record is complete by then: a failure here is not the episode's."""
        if self.session is not None:
            with contextlib.suppress(Exception):
                await self.session.close()

    def episode(self, end: End) -> Episode:
        """The sealed record of what happened."""
        usage = self.actor.usage() if self.actor else Usage()
        talked = self._user.usage() if self._user else Usage()
        changes, end = self._changes(end)
        verdict, earned, end = self._graded(end, usage, changes)
        return Episode(
            id=self.spec.id,
            attempt=self.spec.attempt,
            task_id=self.spec.task.id,
            task_hash=self.spec.task.hash,
            family=self.spec.task.family,
            seeds=self.spec.seeds,
            policy=self.policy.name,
            sampling=self.settings.sampling if self.policy.sampler or usage.requests else None,
            messages=self.messages,
            calls=self._calls(),
            events=self.events,
            changes=changes,
            ended=end.ended,
            verdict=verdict,
            reward=earned,
            failure=end.failure,
            failure_detail=end.detail,
            user_faults=self._user.faults() if self._user else [],
            segments=self.actor.segments() if self.actor else [],
            usage={role: spent for role, spent in (("policy", usage), ("user", talked)) if spent.requests},
            timing={**self._seconds, "total": time.perf_counter() - self._started},
        ).sealed()

    def ruin(self, error: Exception) -> Episode:
        """What is left of an episode whose record cannot be put together: that it was, and why it is none."""
        return Episode(
            id=self.spec.id,
            attempt=self.spec.attempt,
            task_id=self.spec.task.id,
            task_hash=self.spec.task.hash,
            family=self.spec.task.family,
            seeds=self.spec.seeds,
            policy=self.policy.name,
            sampling=None,
            messages=[],
            calls=[],
            events=[],
            changes=[],
            ended="error",
            verdict=None,
            reward=0.0,
            failure="infrastructure",
            failure_detail=f"the record cannot be kept: {_describe(error)}",
            segments=[],
        ).sealed()

    def _calls(self) -> list[CallRecord]:
        return list(self.session.calls) if self.session else []

    def _changes(self, end: End) -> tuple[list[RowChange], End]:
        try:
            return (self.session.changes() if self.session else []), end
        except Exception as error:
            return [], End("error", "infrastructure", _describe(error))

    def _graded(self, end: End, usage: Usage, changes: list[RowChange]) -> tuple[Verdict | None, float, End]:
        if end.failure in INVALID_FAILURES:
            return None, 0.0, end
        task, since = self.spec.task, time.perf_counter()
        transcript = Transcript(self.messages, self._calls(), self.events, changes, end.ended)
        try:
            decide = self.settings.grader.grade if self.settings.grader else grade
            verdict = decide(task, self.world, transcript)
            earned = reward(
                task,
                verdict,
                self.settings.reward,
                ended=end.ended,
                sampled_tokens=usage.output,
                token_limit=self.settings.limits.tokens,
            )
        except Exception as error:
            return None, 0.0, End("error", "infrastructure", f"grading failed: {_describe(error)}")
        self._count("grading", since)
        return verdict, earned, end


def unanswerable(turn: Turn) -> End | None:
    """The end that a turn makes which nobody can answer: cut off, or silent."""
    if turn.finish == "length":
        return End("limit", "truncated", "a turn was cut off before its stop token")
    quiet = silence(turn)
    return End("limit", "agent", quiet) if quiet else None


@contextlib.contextmanager
def blaming_the_user() -> Iterator[None]:
    """What is raised here is the user's failure, but for an endpoint's."""
    try:
        yield
    except EndpointError:
        raise  # the machinery's failure, not the user's
    except Exception as error:
        raise _UserFailed(error) from error


def error_result(code: str, message: str) -> str:
    """The JSON text that an agent sees for a call that never reached the session, in the form of a session's errors."""
    return encode({"error": code, "message": message}).decode()


def _numbered(turn: Turn, number: int) -> Turn:
    """The turn with call ids that are unique in the episode: turn.place."""
    calls = [_storable(call, f"{number}.{place}") for place, call in enumerate(turn.calls)]
    return Turn(_valid(turn.text), _valid(turn.reasoning), calls, turn.finish)


def _storable(call: ToolCall, id: str) -> ToolCall:
    """The call as it can be recorded: arguments that are no JSON make it an unreadable one. The interpreter yields
    none such; a policy of one's own may."""
    arguments, error = call.arguments, None if call.error is None else _valid(call.error)
    try:
        if not _survives(arguments):
            json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
            msgspec.json.decode(canonical(arguments))
    except (TypeError, ValueError, RecursionError, OverflowError, msgspec.MsgspecError) as reason:
        arguments, error = None, f"the arguments are no JSON ({type(reason).__name__})"
    return ToolCall(id, _valid(call.name[:MAX_NAME]), arguments, error, _valid(call.raw))


def _survives(arguments: object) -> bool:
    """Whether arguments are plain JSON: they come back as they were. What does not may still be JSON of a kind, such
    as a tuple; to look closer takes three times as long."""
    try:
        return bool(msgspec.json.decode(canonical(arguments)) == arguments)
    except Exception:
        return False


def _valid(text: str) -> str:
    """The text without half surrogate pairs, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _describe(error: BaseException) -> str:
    """One line of at most 500 characters, whatever the error says of itself."""
    try:
        said = str(error)
    except Exception:
        said = "(its text cannot be read)"
    return _valid(f"{type(error).__name__}: {said}"[:500])
