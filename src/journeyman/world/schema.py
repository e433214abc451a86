"""What a database looks like: tables, columns, keys, defaults, read once from SQLite's own catalogue.

Nothing here knows of rows that change or of tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw

from journeyman.errors import WorldError
from journeyman.task import Scalar

STATEMENTS = 400
"""Prepared statements that a connection keeps."""


@dataclass(frozen=True)
class Table:
    """One table.

    Args:
        columns: all columns, in order.
        key: the primary key columns, in key order.
        defaults: column -> default value (None where there is none).
        types: column -> declared type.
        not_null: the columns declared NOT NULL.
        foreign_keys: (column, table it points to) pairs.
        strict: declared STRICT.
        sql: its CREATE statement.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    defaults: dict[str, Scalar]
    types: dict[str, str]
    not_null: frozenset[str]
    foreign_keys: tuple[tuple[str, str], ...]
    strict: bool
    sql: str

    @cached_property
    def key_places(self) -> tuple[int, ...]:
        """Where the key columns stand among the columns."""
        return tuple(self.columns.index(column) for column in self.key)

    @cached_property
    def by_key(self) -> str:
        """The query for the row with a key."""
        return f"SELECT * FROM {quote(self.name)} WHERE {' AND '.join(f'{quote(column)} = ?' for column in self.key)}"


def connect() -> apsw.Connection:
    """An empty in-memory database with foreign keys enforced and text literals in single quotes only."""
    connection = apsw.Connection(":memory:", statementcachesize=STATEMENTS)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    return connection


def create(where: str, schema: str) -> apsw.Connection:
    """A database with `schema` and no rows. Raises WorldError where SQLite refuses the schema."""
    connection = connect()
    try:
        connection.execute(schema)
    except apsw.Error as error:
        raise WorldError(where, "schema", f"SQLite refuses it: {error}.") from error
    return connection


def read_tables(connection: apsw.Connection) -> dict[str, Table]:
    """Every table of the database, in order of definition."""
    flags = {row[1]: bool(row[5]) for row in connection.execute("PRAGMA main.table_list")}
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid"
    ).fetchall()
    return {
        name: _table(connection, name, sql or "", flags.get(name, False))
        for name, sql in rows
        if not name.startswith("sqlite_")
    }


def _table(connection: apsw.Connection, name: str, sql: str, strict: bool) -> Table:
    info: list[tuple[Any, ...]] = connection.execute(
        'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)', (name,)
    ).fetchall()
    links: Iterable[tuple[Any, ...]] = connection.execute(
        'SELECT "from", "table" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
    )
    key = sorted((row for row in info if row[4]), key=lambda row: row[4])
    return Table(
        name=name,
        columns=tuple(row[0] for row in info),
        key=tuple(row[0] for row in key),
        defaults={row[0]: _default(connection, row[3]) for row in info},
        types={row[0]: row[1].upper() for row in info},
        not_null=frozenset(row[0] for row in info if row[2]),
        foreign_keys=tuple((row[0], row[1]) for row in links),
        strict=strict,
        sql=sql,
    )


def _default(connection: apsw.Connection, expression: str | None) -> Scalar:
    if expression is None:
        return None
    value = connection.execute(f"SELECT {expression}").fetchone()
    return value[0] if value and isinstance(value[0], str | int | float) else None


def quote(identifier: str) -> str:
    """An identifier in SQL double quotes."""
    return '"' + identifier.replace('"', '""') + '"'
