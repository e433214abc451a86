"""A session: one live copy of a world inside an episode. Calls go in, records come out.

Everything a call does follows from the task and the calls before it: the clock ticks one second a call, the dice are
seeded by task and call, ids come from counters. Grading lives elsewhere: a session never sees an outcome.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import apsw

from journeyman.codec import digest, encode, seed_of
from journeyman.episode import CallRecord, Event, Message
from journeyman.errors import TaskFileError, ToolError, WorldError
from journeyman.task import Data, RowChange, Task, task_hash
from journeyman.world.arguments import recordable
from journeyman.world.database import Database, SetupRow, Source
from journeyman.world.tools import Tool, ToolSpec

if TYPE_CHECKING:
    from journeyman.world.world import World

MAX_RESULT = 8_000
"""Characters of one result. A longer one is an error that asks for a narrower request, never a cut."""
MAX_NAME = 80
MAX_KEPT = 10_000
"""Tasks that a world remembers to have checked."""
_REFUSED = frozenset({"unknown_tool", "invalid_argument", "unknown_argument", "missing_argument"})
"""Codes of calls whose arguments were refused before the tool ran."""


class Snapshot(Data, frozen=True):
    """All of a session at one instant, and of the dialogue around it.

    `changes` is what the recorder had seen so far; `counters` the next number of each id format;
    `user_state` whatever the user simulator keeps.
    """

    task_id: str
    task_hash: str
    world_version: str
    seed: int
    database: bytes
    changes: bytes
    calls: list[CallRecord]
    counters: dict[str, int]
    user_state: Any = None
    events: list[Event] = []
    messages: list[Message] = []


class ToolContext:
    """What a tool may use: its session's rows, clock, dice, ids and articles. One per call."""

    __slots__ = ("_index", "_rng", "_session", "all", "one", "run")

    def __init__(self, session: WorldSession, index: int) -> None:
        self._session = session
        self._index = index
        self._rng: random.Random | None = None
        self.one = session._db.one
        self.all = session._db.all
        self.run = session._db.run

    @property
    def now(self) -> str:
        """ISO date and time with seconds: the task's, plus one second for each earlier call."""
        return (self._session._start + timedelta(seconds=self._index)).isoformat(timespec="seconds")

    @property
    def today(self) -> str:
        """ISO date of `now`."""
        return self.now[:10]

    @property
    def rng(self) -> random.Random:
        """Dice seeded by the task's id and the number of earlier calls."""
        if self._rng is None:
            self._rng = random.Random(seed_of(self._session.task.id, self._index))
        return self._rng

    def next_id(self, table: str) -> str:
        """A fresh primary key for `table`, by the world's `id_formats`."""
        return self._session._next_id(table)

    def search(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """The articles that match best: see `Library.search`."""
        return self._session.world.library.search(query, limit)

    def article(self, id: str) -> dict[str, Any] | None:
        """One whole article, or None: see `Library.article`."""
        return self._session.world.library.article(id)

    def error(self, code: str, message: str) -> NoReturn:
        """End the call with an error the agent reads; all it wrote is undone."""
        raise ToolError(code, message)


class WorldSession:
    """A live copy of a world for one task. Made by `open_session`, `restore` or `fork`."""

    capabilities: frozenset[str] = frozenset({"changes", "fork", "deterministic"})

    def __init__(
        self,
        world: World,
        task: Task,
        seed: int,
        database: Database,
        calls: Iterable[CallRecord] = (),
        counters: Mapping[str, int] | None = None,
    ) -> None:
        self.world = world
        self.task = task
        self.seed = seed
        self._db = database
        self._calls = list(calls)
        self._counters = dict(counters) if counters is not None else {}
        self._start = datetime.fromisoformat(task.now)
        self._offered = world.tools_by_name if task.tools is None else world.offered(tuple(task.tools))
        self._taken: frozenset[str] | None = None

    @property
    def calls(self) -> list[CallRecord]:
        """Every call so far, refused ones too."""
        return list(self._calls)

    def tools(self) -> list[ToolSpec]:
        """The tools the agent is offered, in the world's order."""
        return [tool.spec for tool in self._offered.values()]

    async def call(self, name: str, arguments: Mapping[str, Any] | None, turn: int = -1) -> CallRecord:
        """Execute one tool call of the agent.

        Never raises for anything an agent can do: an unknown tool, arguments that do not fit, a fault inside a tool give a
        record of status `error` with a code, and leave no trace in the database or the counters.

        Args:
            arguments: by name; None where they could not be read.
            turn: the agent turn the call belongs to, for the record.
        """
        if self._db.closed:
            raise RuntimeError("the session is closed")
        tool = self._offered.get(name) if isinstance(name, str) else None
        if tool is None:
            return self._record(name, arguments, turn, "error", *_failed("unknown_tool", self._unknown(name)))
        try:
            if not isinstance(arguments, Mapping):
                raise ToolError("invalid_argument", f"the arguments of {name} must be a JSON object")
            checked = tool.read_arguments(arguments)
        except ToolError as error:
            return self._record(name, arguments, turn, "error", *_failed(error.code, error.message))
        fault = self._fault(tool)
        status: Any = "ok"
        result = code = ""
        if fault != "before":
            status, result, code = await self._execute(tool, checked)
        if fault is not None and status == "ok":
            status, result, code = "error", *_failed("timeout", f"{name} did not answer in time")
        record = CallRecord(len(self._calls), turn, name, tool.kind, dict(arguments), status, result, code)
        self._calls.append(record)
        return record

    def _fault(self, tool: Tool) -> Literal["before", "after"] | None:
        """When the task has this call of the tool time out: `before` or `after` its work, or None."""
        if not any(fault.tool == tool.name for fault in self.task.faults):
            return None
        # Refused arguments never reach the system that is slow.
        reached = sum(call.tool == tool.name and call.code not in _REFUSED for call in self._calls)
        return next((f.when for f in self.task.faults if (f.tool, f.occurrence) == (tool.name, reached + 1)), None)

    async def _execute(self, tool: Tool, arguments: dict[str, Any]) -> tuple[Any, str, str]:
        """(status, result, code) of a call whose arguments are good."""
        database = self._db
        counters = self._counters.copy()
        database.begin(write=tool.kind == "write")
        try:
            value = await tool.function(ToolContext(self, len(self._calls)), **arguments)
            result = encode(value).decode()
            if len(result) > MAX_RESULT:
                raise ToolError(
                    "result_too_long",
                    f"the result has {len(result)} characters, more than {MAX_RESULT}: narrow the request",
                )
            database.keep()
            return "ok", result, ""
        except ToolError as error:
            failure = _failed(error.code, error.message)
        except apsw.InterruptError:
            failure = _failed("query_budget", f"{tool.name} needed too many steps: narrow the request")
        except apsw.ConstraintError as error:
            failure = _failed("constraint", f"the change breaks a rule of the records: {error}")
        except Exception as error:
            # A fault of the tool. Its text stays here: it may hold what the agent must not see.
            failure = _failed("internal_error", f"{tool.name} failed for a reason of its own ({type(error).__name__})")
        except BaseException:
            database.undo()
            self._counters = counters
            raise
        database.undo()
        self._counters = counters
        return "error", *failure

    def _record(self, name: Any, arguments: Any, turn: int, status: Any, result: str, code: str) -> CallRecord:
        """Store a refused call, made safe to store."""
        shown = name if isinstance(name, str) else str(recordable(name))
        known = self.world.tools_by_name.get(shown)
        record = CallRecord(
            index=len(self._calls),
            turn=turn,
            tool=recordable(shown[:MAX_NAME]),
            kind=known.kind if known else "unknown",
            arguments=recordable(arguments) if isinstance(arguments, Mapping) else {},
            status=status,
            result=result,
            code=code,
        )
        self._calls.append(record)
        return record

    def _unknown(self, name: Any) -> str:
        shown = name[:MAX_NAME] if isinstance(name, str) else str(recordable(name))[:MAX_NAME]
        close = get_close_matches(shown, self._offered, n=4, cutoff=0.5)
        hint = f"did you mean {', '.join(close)}?" if close else f"the tools are {', '.join(self._offered)}"
        return f"there is no tool {shown!a}; {hint}"

    def _next_id(self, table: str) -> str:
        form = self.world.id_formats.get(table)
        if form is None:
            raise WorldError(f"world {self.world.name}", f"id_formats.{table}", "missing: add the format of its ids.")
        if self._taken is None:
            self._taken = frozenset(
                str(value) for row in self.task.setup if row.op == "insert" for value in row.key.values()
            )
        number = self._counters.get(table, self.world.id_start.get(table, 1))
        while (id := form.format(number)) in self._taken:
            number += 1
        self._counters[table] = number + 1
        return id

    def changes(self) -> list[RowChange]:
        """The net row changes since the task began, sorted by table, op and key."""
        return self._db.changes()

    def digest(self) -> str:
        """A hash of what happened: task, calls, changes, counters. Equal histories give equal digests."""
        return digest([self.task.hash, self._calls, self.changes(), self._counters])

    def snapshot(
        self, *, user_state: Any = None, events: Iterable[Event] = (), messages: Iterable[Message] = ()
    ) -> Snapshot:
        """All of the session now, with what the caller keeps of the dialogue."""
        database, changes = self._db.snapshot()
        return Snapshot(
            task_id=self.task.id,
            task_hash=self.task.hash,
            world_version=self.world.version,
            seed=self.seed,
            database=database,
            changes=changes,
            calls=list(self._calls),
            counters=dict(self._counters),
            user_state=user_state,
            events=list(events),
            messages=list(messages),
        )

    @classmethod
    def restore(cls, world: World, task: Task, snapshot: Snapshot) -> WorldSession:
        """A session that goes on from `snapshot` as the original would have.

        Raises:
            TaskFileError: the snapshot is of another task or world version.
        """
        check_task(world, task)
        if snapshot.task_hash != task.hash or snapshot.world_version != world.version:
            raise TaskFileError(
                task.id, "snapshot", f"belongs to task {snapshot.task_id}, or to another world version."
            )
        database = Database(Source(snapshot.database), world.statements, before=snapshot.changes)
        return cls(world, task, snapshot.seed, database, snapshot.calls, snapshot.counters)

    def fork(self) -> WorldSession:
        """A second session with the same past and an independent future."""
        return WorldSession.restore(self.world, self.task, self.snapshot())

    async def close(self) -> None:
        """Release the database; a second time does nothing. A call afterwards raises RuntimeError."""
        self._db.close()


def _failed(code: str, message: str) -> tuple[str, str]:
    """(result, code) of an error."""
    return encode({"error": code, "message": message}).decode(), code


def open_session(world: World, task: Task, seed: int = 0) -> WorldSession:
    """A fresh session of `task`, its setup rows applied.

    Args:
        seed: kept for the record. The world's own dice hang on task and call alone, so that a task proved solvable
            stays so under every seed.

    Raises:
        TaskFileError: the task is of another world or version, was altered, or its setup cannot be applied.
    """
    try:
        setup = check_task(world, task)
        database = Database(world.source(task.image), world.statements, setup)
    except WorldError as error:
        raise TaskFileError(task.id, f"{error.where}{error.key}", error.remedy) from error
    return WorldSession(world, task, seed, database)


def check_task(world: World, task: Task) -> list[SetupRow]:
    """The prepared setup rows of `task`.

    Raises:
        TaskFileError: it does not belong to `world` as it is now, or was altered.
        WorldError: a setup row that fits no table.
    """
    # Hashing a task costs more than opening it, and preparing its rows a third of that: once for each object.
    checked, setup = world.checked_tasks.get(task.hash, (None, []))
    if checked is task:
        return setup
    if task.world != world.name:
        raise TaskFileError(task.id, "world", f"is a task of {task.world!r}, not of {world.name!r}: load that world.")
    if task.world_version != world.version:
        raise TaskFileError(task.id, "world_version", "was made for another version of the world: export it again.")
    if task.hash != task_hash(task):
        raise TaskFileError(task.id, "hash", "does not match the content: export the task again or seal it.")
    unknown = [
        name
        for name in [*(task.tools or []), *(fault.tool for fault in task.faults)]
        if name not in world.tools_by_name
    ]
    if unknown:
        raise TaskFileError(task.id, "tools", f"the world has no tool {unknown[0]!r}.")
    if len(world.checked_tasks) >= MAX_KEPT:
        world.checked_tasks.clear()
    setup = world.statements.prepared(task.setup)
    world.checked_tasks[task.hash] = (task, setup)
    return setup
