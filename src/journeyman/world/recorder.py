"""Net row changes: what became of the rows of one database since recording began, whatever the path that led there.

A hook of SQLite's shows every row just before it changes; the first state of each is kept. When somebody asks, the rows
are read again, and what differs is the answer: a change that was undone, or taken back, is none.

SQLite's session extension does the same, but compiles two statements for each changed table each time, which took a
sixth of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw
import msgspec

from journeyman.codec import canonical, encode
from journeyman.task import RowChange, Scalar
from journeyman.world.schema import Table

Row = tuple[Any, ...]

_decoder = msgspec.json.Decoder(list[tuple[str, tuple[Scalar, ...], tuple[Scalar, ...] | None]])


class Recorder:
    """The first states of all rows that were touched. `note` is made the connection's `preupdate_hook`.

    Args:
        before: the `state` of the recorder that this one continues.
    """

    def __init__(self, tables: Mapping[str, Table], before: bytes = b"") -> None:
        self._tables = tables
        self._first: dict[tuple[str, Row], Row | None] = {}
        if before:
            self._first = {(table, key): row for table, key, row in _decoder.decode(before)}

    def note(self, update: apsw.PreUpdate) -> None:
        """A row is about to change. A table without a primary key is passed over: its rows cannot be told apart."""
        name, old, new = update.table_name, update.old, update.new
        places = self._tables[name].key_places
        if not places:
            return
        if old is not None:
            self._first.setdefault((name, tuple([old[place] for place in places])), old)
        if new is not None:  # its key, where that changes, was nobody's
            self._first.setdefault((name, tuple([new[place] for place in places])), None)

    def state(self) -> bytes:
        """What another recorder needs to continue this one."""
        return encode([(table, key, row) for (table, key), row in self._first.items()])

    def changes(self, connection: apsw.Connection) -> list[RowChange]:
        """The net changes so far, sorted by table, op and key."""
        found = []
        for (name, key), old in self._first.items():
            table = self._tables[name]
            change = _change(table, old, connection.execute(table.by_key, key).fetchone())
            if change is not None:
                found.append(change)
        if len(found) > 1:
            found.sort(key=lambda change: (change.table, change.op, canonical(change.key)))
        return found


def _change(table: Table, old: Row | None, new: Row | None) -> RowChange | None:
    if old == new:
        return None
    columns = table.columns
    row = old if new is None else new
    assert row is not None  # one of the two is a row
    key = {columns[place]: row[place] for place in table.key_places}
    if old is None:
        return RowChange(table.name, "insert", key, {}, dict(zip(columns, row, strict=True)))
    if new is None:
        return RowChange(table.name, "delete", key, dict(zip(columns, row, strict=True)))
    differing = [(column, a, b) for column, a, b in zip(columns, old, new, strict=True) if a != b]
    return RowChange(table.name, "update", key, {c: a for c, a, _ in differing}, {c: b for c, _, b in differing})
