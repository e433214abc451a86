"""Going back into an episode: its session, its user and its ids as they stood before any of its agent turns.

Everything is replayed from the record and compared with it: the calls run again in a fresh session, the scripted user is told
again what it was told, the ids are those on record. A difference is an error that names the trace and the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from journeyman.episode import Episode, Turn
from journeyman.errors import RunFolderError
from journeyman.grading.equivalence import Demonstration, demonstrate
from journeyman.grading.grade import reader_of
from journeyman.rollout.render import Renderer, render_episode
from journeyman.rollout.users import EpisodeUser
from journeyman.task import Task
from journeyman.world import WorldSession, open_session

if TYPE_CHECKING:
    from journeyman.world import ToolSpec, World


class Stand(NamedTuple):
    """The world before an agent turn of a trace: the session's digest, and what the turn does there."""

    digest: str
    shown: Demonstration


class Span(NamedTuple):
    """One agent turn in a stream: the ids up to where the model speaks, and how many ids the turn has."""

    prompt: list[int]
    length: int


def turns_of(trace: Episode) -> list[Turn]:
    """The agent turns of a trace, in order."""
    return [Turn(one.content, one.reasoning, one.calls) for one in trace.messages if one.role == "assistant"]


async def replay(world: World, task: Task, trace: Episode) -> list[Stand]:
    """Run a whole trace again: how the world stands before each of its agent turns.

    Raises:
        RunFolderError: the trace is of another version of the task, a call gives another record, or the changes at the end
            are others. Names trace and call.
    """
    if trace.pivot is not msgspec.UNSET:
        raise RunFolderError(trace.id, "pivot", "begins in the middle of another: only whole episodes are traces.")
    if trace.task_hash != task.hash:
        raise RunFolderError(trace.id, "task_hash", f"was played with another version of {task.id}: play it again.")
    session = open_session(world, task, trace.seeds.world)
    stands: list[Stand] = []
    try:
        for number, turn in enumerate(turns_of(trace)):
            stands.append(Stand(session.digest(), await _repeat(world, trace, turn, session, number)))
        if session.changes() != trace.changes:
            raise RunFolderError(trace.id, "changes", "are others when the trace is replayed: the record was altered.")
    finally:
        await session.close()
    return stands


async def restore(world: World, task: Task, trace: Episode, turn: int, digest: str) -> WorldSession:
    """A session that stands before `turn` of a trace. The caller closes it.

    Args:
        digest: the session's, as the replay of the whole trace found it there.

    Raises:
        RunFolderError: a call gives another record, or the digest is another. Names trace and call.
    """
    session = open_session(world, task, trace.seeds.world)
    try:
        for number, past in enumerate(turns_of(trace)[:turn]):
            await _repeat(world, trace, past, session, number)
        if session.digest() != digest:
            raise RunFolderError(trace.id, f"turn {turn}", "is restored with another digest: the world keeps a secret.")
    except BaseException:
        await session.close()
        raise
    return session


async def _repeat(world: World, trace: Episode, turn: Turn, session: WorldSession, number: int) -> Demonstration:
    """Execute a turn of the trace, call by call as it was."""
    shown = await demonstrate(world, turn, session, number)
    recorded = [call for call in trace.calls if call.turn == number]
    for known, again in zip(recorded, shown.records, strict=False):
        if known != again:
            raise RunFolderError(
                trace.id, f"call {known.index} ({known.tool})", "gives another record when it is replayed."
            )
    if len(recorded) != len(shown.records):
        raise RunFolderError(
            trace.id,
            f"turn {number}",
            f"{len(recorded)} calls are on record, {len(shown.records)} when it is replayed.",
        )
    return shown


async def restore_user(world: World, user: EpisodeUser, trace: Episode, turn: int) -> None:
    """Bring a fresh user to where it stood before `turn` of a trace, by telling it again what it was told.

    Raises:
        RunFolderError: it says something else than the record: it cannot be restored.
    """
    said = [(one.turn, one.content) for one in trace.messages if one.role == "user"]
    opening, _ = user.open()
    replies: list[tuple[int, str]] = [(-1, opening)]
    for number, past in enumerate(turns_of(trace)[:turn]):
        if past.calls:
            continue
        order = sum(call.turn < number for call in trace.calls)
        read = reader_of(world).read_agent(past.text, number, order)
        reply, _, _ = await user.answer(past.text, read, order, number)
        if reply is not None:
            replies.append((number, reply))
    if replies != [one for one in said if one[0] < turn]:
        raise RunFolderError(
            trace.id,
            "user",
            'answers otherwise when the trace is replayed, so episodes cannot go on from it: use continuation = "turn", '
            "or traces with the scripted user.",
        )


def spans(trace: Episode, renderer: Renderer, tools: Sequence[ToolSpec]) -> list[Span]:
    """The agent turns of a trace in its own ids; a trace without ids is rendered.

    Raises:
        RunFolderError: the segments do not hold as many turns as the messages.
        EngineError: the trace cannot be rendered as one stream.
    """
    streams = [(segment.token_ids, segment.mask) for segment in trace.segments]
    if not streams:
        streams = [render_episode(renderer, trace.messages, tools)]
    found: list[Span] = []
    for ids, mask in streams:
        edges = [place for place in range(len(mask) + 1) if _at(mask, place - 1) != _at(mask, place)]
        found += [Span(ids[:begin], end - begin) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    turns = len(turns_of(trace))
    if len(found) != turns:
        raise RunFolderError(trace.id, "segments", f"hold {len(found)} sampled turns, the messages {turns}.")
    return found


def _at(mask: Sequence[int], place: int) -> int:
    return mask[place] if 0 <= place < len(mask) else 0
