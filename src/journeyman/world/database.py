"""Databases: images built once to bytes, live copies that record what changes, row changes applied.

A live copy is a `deserialize` of an image. What happened to it are the net row changes, whatever the path that led to
them: see `recorder.py`. Nothing here knows of tools, tasks or agents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from journeyman.errors import WorldError
from journeyman.task import RowChange, Scalar
from journeyman.world.recorder import Recorder
from journeyman.world.schema import Table, connect, quote

PAGE_SIZE = 1024
"""Bytes. Small pages keep an image with many small tables small, and so quick to copy."""
STEP_BUDGET = 2_000_000
"""Instructions of SQLite's machine that one call may spend, some 0.1 s."""
STEPS_PER_TICK = 1_000
UNLIMITED = 2**62
"""Ticks between calls: setup rows and snapshots are nobody's runaway."""

_ROWS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|VALUES)\b", re.I | re.S)
_PLAIN: set[str] = set()
"""Statements of tools that were found to be queries or changes of rows."""

Params = Sequence[Any] | Mapping[str, Any]


def build_image(where: str, schema: str, build: Callable[[apsw.Connection], None]) -> bytes:
    """The bytes of a database with `schema` and the rows that `build` puts in.

    Raises:
        WorldError: SQLite refuses the schema or a row.
    """
    connection = connect()
    connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    try:
        connection.execute(schema)
        with connection:
            build(connection)
        connection.execute("VACUUM")
    except apsw.Error as error:
        raise WorldError(where, "", f"SQLite refuses a row or the schema: {error}. Correct the builder.") from error
    image = connection.serialize("main")
    connection.close()
    return image


class Guard:
    """Watches one connection: refuses writes while only reads are allowed, stops a statement when the budget of its call
    is spent, and sees a commit.

    The pragma `query_only` would refuse writes too, but each change of it makes SQLite compile every statement anew.
    """

    __slots__ = ("committed", "in_call", "left", "read_only")

    def __init__(self) -> None:
        self.left = UNLIMITED
        self.committed = False
        self.in_call = False
        self.read_only = False

    def statement(self, cursor: apsw.Cursor, sql: str, _: object) -> bool:
        """A statement is about to run.

        Raises:
            WorldError: a tool's statement that is no query and no change of rows. SQLite takes ROLLBACK, PRAGMA or
                ATTACH for read-only, but each would undo other calls, or reach beyond this copy.
            apsw.ReadOnlyError: one that could write where it must not.
        """
        if self.in_call and sql not in _PLAIN:
            if not _ROWS.match(sql):
                raise WorldError("tool", sql[:80], "a tool only queries and changes rows: remove the statement.")
            if len(_PLAIN) < 10_000:
                _PLAIN.add(sql)
        if self.read_only and not cursor.is_readonly:
            raise apsw.ReadOnlyError(f"attempt to write in a read: {sql[:80]}")
        return True

    def tick(self) -> bool:
        """STEPS_PER_TICK more instructions were run. True stops the statement."""
        self.left -= 1
        return self.left < 0

    def commit(self) -> bool:
        """A transaction commits. False lets it."""
        self.committed = True
        return False


class Live(NamedTuple):
    """A connection to a copy of an image, and its guard."""

    connection: apsw.Connection
    guard: Guard


class Source:
    """Copies of one image.

    A copy is used inside one transaction that is rolled back when its user is done, which leaves the image as it was:
    the next user finds the schema parsed and the statements prepared, most of what a fresh copy costs. A copy on which
    anything was committed is never used again. Nobody shares a copy with anybody.

    Args:
        keep: most idle copies to hold.
    """

    def __init__(self, image: bytes, keep: int = 0) -> None:
        self.image = image
        self.keep = keep
        self._idle: list[Live] = []

    def take(self) -> Live:
        """A copy that equals the image, outside any transaction."""
        if self._idle:
            return self._idle.pop()
        connection = connect()
        connection.deserialize("main", self.image)
        guard = Guard()
        connection.set_progress_handler(guard.tick, STEPS_PER_TICK)
        connection.set_commit_hook(guard.commit)
        connection.exec_trace = guard.statement
        return Live(connection, guard)

    def give(self, live: Live) -> None:
        """Take a copy back."""
        connection, guard = live
        connection.preupdate_hook(None)
        guard.in_call = guard.read_only = False
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if guard.committed or len(self._idle) >= self.keep:
            connection.close()
        else:
            connection.set_last_insert_rowid(0)
            self._idle.append(live)


class SetupRow(NamedTuple):
    """A setup row, ready to be applied: its statement and the values of that."""

    change: RowChange
    sql: str
    values: list[Scalar]


class Statements:
    """What may be shared by all copies of one schema: column names by statement, and the SQL of row changes."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = tables
        self.names: dict[str, tuple[str, ...]] = {}
        self._sql: dict[tuple[str, ...], str] = {}

    def column_names(self, sql: str, cursor: apsw.Cursor) -> tuple[str, ...]:
        """The names of a statement's columns, from its cursor before the first row is taken; () where it has no row.

        Raises:
            WorldError: two columns have one name, so that a row cannot be a mapping.
        """
        try:
            names = tuple(column[0] for column in cursor.get_description())
        except apsw.ExecutionCompleteError:
            return ()
        if len(set(names)) != len(names):
            raise WorldError("query", sql[:200], "two columns of the result have the same name: rename one with AS.")
        if len(self.names) < 2_000:
            self.names[sql] = names
        return names

    def prepared(self, setup: Iterable[RowChange]) -> list[SetupRow]:
        """Setup rows as `Database` takes them. Raises WorldError for one that fits no table; the key is its index."""
        rows = []
        for index, change in enumerate(setup):
            try:
                rows.append(SetupRow(change, *self.change_sql(change)))
            except WorldError as error:
                raise WorldError("setup", f"[{index}]", f"cannot be applied: {error}.") from error
        return rows

    def change_sql(self, change: RowChange) -> tuple[str, list[Scalar]]:
        """The statement that applies a row change, and its parameters.

        Raises:
            WorldError: a table or column that the schema does not have, or a key that is not whole.
        """
        table = self.tables.get(change.table)
        if table is None:
            raise WorldError(change.table, "table", f"unknown; known: {', '.join(self.tables)}.")
        row = {**change.key, **change.new} if change.op == "insert" else change.new
        for column in (*change.key, *row):
            if column not in table.columns:
                raise WorldError(change.table, column, f"unknown column; known: {', '.join(table.columns)}.")
        missing = [column for column in table.key if column not in change.key and column not in row]
        if missing or (change.op == "update" and not row):
            raise WorldError(
                change.table, missing[0] if missing else "new", "a row change needs the whole key and its new values."
            )
        shape = (change.op, change.table, *row, "|", *change.key)
        sql = self._sql.get(shape)
        if sql is None:
            sql = self._sql[shape] = _change_sql(change, list(row))
        if change.op == "insert":
            return sql, list(row.values())
        return sql, [*row.values(), *change.key.values()] if change.op == "update" else list(change.key.values())


def _change_sql(change: RowChange, columns: list[str]) -> str:
    table = quote(change.table)
    if change.op == "insert":
        return f"INSERT INTO {table} ({', '.join(map(quote, columns))}) VALUES ({', '.join('?' * len(columns))})"
    where = " AND ".join(f"{quote(column)} = ?" for column in change.key)
    if change.op == "delete":
        return f"DELETE FROM {table} WHERE {where}"
    return f"UPDATE {table} SET {', '.join(f'{quote(column)} = ?' for column in columns)} WHERE {where}"


class Database:
    """One live copy of an image, recording.

    Args:
        source: where the copy comes from.
        setup: rows of the starting state, as from `Statements.prepared`; they are applied before recording starts.
        before: state of the recorder when the image was taken; it goes on from there.

    Raises:
        WorldError: a setup row that cannot be applied; the key is its index.
    """

    __slots__ = (
        "_before", "_changes", "_db", "_live", "_log", "_mark", "_recorder", "_setup", "_source",
        "_statements", "_writing", "closed",
    )  # fmt: skip

    def __init__(
        self, source: Source, statements: Statements, setup: Sequence[SetupRow] = (), before: bytes = b""
    ) -> None:
        self._source = source
        self._statements = statements
        self._setup = setup
        self._before = before
        # Every statement of the calls that were kept since `source`: what rebuilds the state if SQLite drops it.
        self._log: list[tuple[str, Params]] = []
        self._mark = 0
        self._changes: list[RowChange] | None = None
        self.closed = False
        self._open()

    def _open(self) -> None:
        self._live = self._source.take()
        self._db = self._live.connection
        self._writing = False
        self._db.execute("BEGIN")
        if self._setup:
            try:
                self._apply(self._setup)
            except WorldError:
                # Rows may name each other in any order: once more, with foreign keys checked at the end.
                self._apply_deferred(self._setup)
        self._recorder = Recorder(self._statements.tables, self._before)
        self._db.preupdate_hook(self._recorder.note)

    def _apply(self, setup: Sequence[SetupRow]) -> None:
        cursor = self._db.cursor()
        for index, (change, sql, values) in enumerate(setup):
            try:
                cursor.execute(sql, values)
            except apsw.Error as error:
                raise WorldError("setup", f"[{index}]", f"cannot be applied: {error}.") from error
            if self._db.changes() != 1:
                raise WorldError("setup", f"[{index}]", f"no row of {change.table} has the key {change.key}.")
        if self._dangling():
            raise WorldError("setup", "", "FOREIGN KEY constraint failed: a row points to one that does not exist.")

    def _apply_deferred(self, setup: Sequence[SetupRow]) -> None:
        self._db.execute("ROLLBACK; BEGIN; PRAGMA defer_foreign_keys = 1")
        try:
            self._apply(setup)
        except WorldError:
            self._source.give(self._live)
            raise
        self._db.execute("PRAGMA defer_foreign_keys = 0")

    def _dangling(self) -> bool:
        """Whether a deferred foreign key points nowhere."""
        return self._db.status(apsw.SQLITE_DBSTATUS_DEFERRED_FKS)[0] != 0

    def one(self, sql: str, params: Params = ()) -> dict[str, Any] | None:
        """The first row as a mapping, or None."""
        cursor = self._execute(sql, params)
        names = self._statements.names.get(sql) or self._statements.column_names(sql, cursor)
        row = cursor.fetchone()
        return None if row is None else dict(zip(names, row, strict=True))

    def all(self, sql: str, params: Params = ()) -> list[dict[str, Any]]:
        """Every row as a mapping."""
        cursor = self._execute(sql, params)
        names = self._statements.names.get(sql) or self._statements.column_names(sql, cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def run(self, sql: str, params: Params = ()) -> int:
        """Run a statement that changes rows; the number of rows changed."""
        self._execute(sql, params)
        return self._db.changes()

    def _execute(self, sql: str, params: Params) -> apsw.Cursor:
        if self._writing:
            self._log.append((sql, dict(params) if isinstance(params, Mapping) else tuple(params)))
        return self._db.execute(sql, params)

    def begin(self, *, write: bool) -> None:
        """Start a call: in a savepoint if it may write, refusing writes if not."""
        guard = self._live.guard
        guard.left = STEP_BUDGET // STEPS_PER_TICK
        guard.in_call = guard.read_only = False
        if write:
            self._db.execute("SAVEPOINT call")
            self._mark = len(self._log)
            self._writing = True
        else:
            guard.read_only = True
        guard.in_call = True

    def keep(self) -> None:
        """End a call and keep what it wrote. Raises apsw.ConstraintError where a deferred foreign key is broken."""
        self._live.guard.left = UNLIMITED
        self._live.guard.in_call = False
        if self._writing:
            if self._dangling():
                raise apsw.ConstraintError("FOREIGN KEY constraint failed")
            self._db.execute("RELEASE call")
            self._writing = False
            self._changes = None

    def undo(self) -> None:
        """End a call and undo all it wrote."""
        self._live.guard.left = UNLIMITED
        self._live.guard.in_call = False
        if self._writing:
            self._writing = False
            del self._log[self._mark :]
            try:
                self._db.execute("ROLLBACK TO call; RELEASE call")
            except apsw.Error:
                self._rebuild()

    def _rebuild(self) -> None:
        """Come back to the state before the call. An interrupted write makes SQLite roll back all of the transaction,
        and with it the calls before: they are run again, which gives the same rows."""
        self._source.give(self._live)
        self._open()
        for sql, params in self._log:
            self._db.execute(sql, params).fetchall()

    def changes(self) -> list[RowChange]:
        """The net changes since the start, sorted by table, op and key."""
        if self._changes is None:
            self._changes = self._recorder.changes(self._db)
        return list(self._changes)

    def snapshot(self) -> tuple[bytes, bytes]:
        """(the bytes of the whole database, the state of the recorder). Calls go on afterwards."""
        changes = self._recorder.state()
        self._live.guard.read_only = False
        # Bytes can only be taken of what is committed; this copy is then its own, and never given to another.
        self._db.execute("COMMIT")
        state = self._db.serialize("main")
        self._db.execute("BEGIN")
        self._source, self._setup, self._before = Source(state), (), changes
        self._log.clear()
        return state, changes

    def close(self) -> None:
        """Release the copy; a second time does nothing. Any other use afterwards raises AttributeError."""
        if not self.closed:
            self.closed = True
            self._source.give(self._live)
            # The copy may be another session's from now on.
            del self._db, self._live, self._recorder
