"""Whether a turn does what another turn did from the same state: the verifier of single turns (PivotRL, arXiv 2603.21383).

    shown = await demonstrate(world, turn, session, number)         # `session` stands before the turn and is used up
    verdict = await compare(world, shown, sampled, fork, number)    # `fork`: a second session that stands there

Calls are compared one by one, in order; their number counts. A look-up is equivalent when it reads the same: equal results
from equal records. A write is equivalent when its arguments are equal after normalisation, or when it leaves equal changes.
A message is equivalent when the reader finds the same events in it. A call that fails, or that nobody can read, is
equivalent to nothing. Text beside calls reaches nobody and is not compared.

It knows neither tasks nor outcomes, and opens no session.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from journeyman.codec import canonical, digest
from journeyman.episode import CallRecord, Event, ToolCall, Turn
from journeyman.errors import ToolError
from journeyman.grading.grade import reader_of
from journeyman.grading.values import spoken_equal
from journeyman.task import Data

if TYPE_CHECKING:
    from journeyman.world import Session, Tool, World

Unfit = Literal["error", "empty", "no_events"]
"""Why a turn demonstrates nothing that can be compared: a call of it failed, a look-up found nothing, a message in which
the reader finds nothing."""


class Demonstration(Data, frozen=True):
    """A turn and what it did.

    Args:
        calls: as they were written; empty for a message.
        records: of those that were executed, in order (those after a hand-over are not).
        before, changes: digests of the session's net changes before the turn and after each of the records.
        events: what the reader finds in a message.
    """

    calls: list[ToolCall]
    records: list[CallRecord]
    before: str
    changes: list[str]
    events: list[Event]

    @property
    def kind(self) -> Literal["message", "write", "read"]:
        """What the turn does: a message, at least one write, or look-ups alone."""
        if not self.calls:
            return "message"
        return "write" if any(record.kind == "write" for record in self.records) else "read"


class Comparison(NamedTuple):
    """Whether a turn is equivalent to the demonstration, and in one clause why."""

    equivalent: bool
    reason: str


async def demonstrate(world: World, turn: Turn, session: Session, number: int) -> Demonstration:
    """Execute a turn and keep what it did.

    Args:
        session: stands before the turn; afterwards it stands behind it.
        number: of the agent turn.
    """
    records: list[CallRecord] = []
    before = digest(session.changes())
    changes: list[str] = []
    for call in turn.calls:
        if call.arguments is None:
            continue
        records.append(await session.call(call.name, call.arguments, turn=number))
        changes.append(digest(session.changes()))
        if hands_over(world, records[-1]):
            break
    events = [] if turn.calls else reader_of(world).read_agent(turn.text, number, 0)
    return Demonstration(list(turn.calls), records, before, changes, events)


def hands_over(world: World, record: CallRecord) -> bool:
    """Whether a call ended the conversation: what the turn calls after it is not executed."""
    return record.status == "ok" and record.tool == world.transfer_tool


def unfit(shown: Demonstration) -> Unfit | None:
    """Why the turn cannot be a pivot; None where it can."""
    if not shown.calls:
        return None if shown.events else "no_events"
    if any(call.arguments is None for call in shown.calls) or any(one.status != "ok" for one in shown.records):
        return "error"
    if any(one.kind == "read" and is_empty(msgspec.json.decode(one.result)) for one in shown.records):
        return "empty"
    return None


def is_empty(result: Any) -> bool:
    """Whether a look-up found nothing: null, an empty text, list or object, or an object of such and of zeros with at least
    one empty list or null in it, such as {"total": 0, "matches": []}."""
    if isinstance(result, dict):
        parts = list(result.values())
        nothing = [part for part in parts if part is None or isinstance(part, list | dict)]
        return not parts or (
            bool(nothing) and all(is_empty(part) or (part == 0 and not isinstance(part, str)) for part in parts)
        )
    return result is None or result == "" or result == []


async def compare(world: World, shown: Demonstration, turn: Turn, session: Session, number: int) -> Comparison:
    """Whether `turn` does what `shown` did.

    Args:
        session: stands where the demonstration began. The calls of `turn` are executed in it up to the first that differs.
        number: of the agent turn.
    """
    if turn.finish == "length":
        return Comparison(False, "the turn was cut off")
    if not shown.calls:
        if turn.calls:
            return Comparison(False, "calls, where the demonstration speaks to the user")
        return _same_events(shown.events, reader_of(world).read_agent(turn.text, number, 0))
    if not turn.calls:
        return Comparison(False, "a message, where the demonstration calls")
    if len(turn.calls) != len(shown.calls):
        return Comparison(False, f"{len(turn.calls)} calls, where the demonstration makes {len(shown.calls)}")
    before = shown.before
    for call, known, changes in zip(turn.calls, shown.records, shown.changes, strict=False):
        if call.arguments is None:
            return Comparison(False, f"a call that cannot be read: {call.error}")
        record = await session.call(call.name, call.arguments, turn=number)
        # Two writes that change nothing leave equal changes, and are not the same for it.
        difference = _difference(world, known, record, changes if changes != before else None, session)
        if difference:
            return Comparison(False, f"{record.tool}: {difference}")
        before = changes
    return Comparison(True, "equivalent")


def _difference(world: World, known: CallRecord, record: CallRecord, changes: str | None, session: Session) -> str:
    """What tells a call from the demonstration's, which left `changes` (None: changed nothing); "" where nothing does."""
    if record.status != "ok":
        return f"failed ({record.code})"
    if record.kind != known.kind or hands_over(world, record) != hands_over(world, known):
        return f"a {record.kind}, where the demonstration calls {known.tool}, a {known.kind}"
    if record.kind == "read":
        return _other_result(world, known, record)
    if record.tool == known.tool and _same_arguments(world.tools_by_name[known.tool], known, record):
        return ""
    return "" if digest(session.changes()) == changes else f"neither the arguments nor the changes of {known.tool}"


def _other_result(world: World, known: CallRecord, record: CallRecord) -> str:
    ordered = any(world.tools_by_name[name].ordered for name in (known.tool, record.tool))
    if comparable(record.result, ordered) != comparable(known.result, ordered):
        return f"another result than {known.tool}"
    keys = _keys(world)
    for name in keys & known.arguments.keys() & record.arguments.keys():
        # Two lines that are both active read alike: that is no reason to look at the wrong one.
        if not _same_key(known.arguments[name], record.arguments[name]):
            return f"an equal result of another record ({name})"
    return ""


def comparable(result: str, ordered: bool) -> bytes:
    """A result (JSON text) as bytes that are equal for equal results; lists are sorted where their order means nothing."""
    value = msgspec.json.decode(result)
    return canonical(value if ordered else _unordered(value))


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unordered(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(part) for part in value), key=canonical)
    return value


def _keys(world: World) -> frozenset[str]:
    """The columns that name a record: primary and foreign keys of the world's tables."""
    tables = world.tables.values()
    return frozenset(name for table in tables for name in (*table.key, *(column for column, _ in table.foreign_keys)))


def _same_key(known: Any, other: Any) -> bool:
    if isinstance(known, str) and isinstance(other, str):
        return "".join(known.split()).casefold() == "".join(other.split()).casefold()
    return canonical(known) == canonical(other)


def _same_arguments(tool: Tool, known: CallRecord, record: CallRecord) -> bool:
    ours, theirs = normalised(tool, known.arguments), normalised(tool, record.arguments)
    return ours is not None and theirs is not None and canonical(ours) == canonical(theirs)


def normalised(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Arguments in the one form that the tool's schema gives them: typed by it, defaults spelled out, text in NFC without
    surplus white space. Letters keep their case: it may matter. None where the schema refuses them."""
    try:
        checked = tool.read_arguments(arguments)
    except ToolError:
        return None
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters["properties"]
    whole = {name: checked.get(name, properties[name].get("default")) for name in properties}
    return {name: _plain(msgspec.to_builtins(value)) for name, value in whole.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).split())
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _same_events(shown: Sequence[Event], found: Sequence[Event]) -> Comparison:
    """Whether two messages say the same: their events match one to one. Whatever is said beyond the demonstration, or left
    out of it, differs; words do not."""
    taken: dict[int, int] = {}  # event of `shown` -> event of `found`
    for place in range(len(found)):
        if not _match(place, shown, found, taken, set()):
            return Comparison(False, f"says what the demonstration does not: {_spoken(found[place])}")
    missing = [event for place, event in enumerate(shown) if place not in taken]
    if missing:
        return Comparison(False, f"does not say: {_spoken(missing[0])}")
    return Comparison(True, "equivalent")


def _match(place: int, shown: Sequence[Event], found: Sequence[Event], taken: dict[int, int], seen: set[int]) -> bool:
    """Find `found[place]` a partner, moving others where that helps (augmenting paths: equality is not transitive, a date
    may be said without its year)."""
    for partner, event in enumerate(shown):
        if partner in seen or not _same_event(event, found[place]):
            continue
        seen.add(partner)
        if partner not in taken or _match(taken[partner], shown, found, taken, seen):
            taken[partner] = place
            return True
    return False


def _same_event(one: Event, other: Event) -> bool:
    if (one.kind, one.slot, one.tool) != (other.kind, other.slot, other.tool):
        return False
    if one.arguments.keys() != other.arguments.keys():
        return False
    pairs = [(one.value, other.value), *((one.arguments[name], other.arguments[name]) for name in one.arguments)]
    return all(spoken_equal(ours, theirs) for ours, theirs in pairs)


def _spoken(event: Event) -> str:
    about = event.tool or event.slot or ""
    value = event.arguments or ("" if event.value is None else event.value)
    return " ".join(str(part) for part in (event.kind, about, value) if part)[:120]
