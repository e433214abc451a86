"""The recorder against a full comparison of all rows, over random statements of every kind that changes rows."""

from __future__ import annotations

import contextlib
from typing import Any

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.task import RowChange
from journeyman.world.recorder import Recorder
from journeyman.world.schema import create, read_tables

SCHEMA = """
CREATE TABLE halls (hall TEXT NOT NULL PRIMARY KEY, seats INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE shows (
  day INTEGER NOT NULL,
  title TEXT NOT NULL,
  hall TEXT REFERENCES halls (hall) ON DELETE CASCADE ON UPDATE CASCADE,
  price REAL CHECK (price < 100),
  PRIMARY KEY (day, title)
) STRICT;
CREATE TABLE notes (text TEXT);
"""
TABLES = read_tables(create("test", SCHEMA))
START = """
INSERT INTO halls VALUES ('A', 10), ('B', 20), ('C', NULL);
INSERT INTO shows VALUES (1, 'Faust', 'A', 9.5), (1, 'Tosca', 'B', 3.0), (2, 'Faust', 'A', NULL);
"""

hall = st.sampled_from("ABCD")
day = st.integers(1, 3)
title = st.sampled_from(["Faust", "Tosca", "Aida"])
price = st.sampled_from([None, 1, 3.0, 9.5, 0.1])
statements = st.one_of(
    st.tuples(st.just("INSERT OR REPLACE INTO halls VALUES (?, ?)"), st.tuples(hall, st.integers(9, 11))),
    st.tuples(st.just("UPDATE OR REPLACE halls SET hall = ? WHERE hall = ?"), st.tuples(hall, hall)),
    st.tuples(st.just("UPDATE halls SET seats = seats + 1"), st.just(())),
    st.tuples(st.just("DELETE FROM halls WHERE hall = ?"), st.tuples(hall)),
    st.tuples(st.just("INSERT INTO shows VALUES (?, ?, ?, ?)"), st.tuples(day, title, hall, price)),
    st.tuples(
        st.just("INSERT INTO shows VALUES (3, 'Norma', 'A', 1.0), (?, ?, 'A', 1.0)"), st.tuples(day, title)
    ),  # undone whole where the second row is there already
    st.tuples(
        st.just("INSERT INTO shows VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET price = excluded.price + 1"),
        st.tuples(day, title, hall, price),
    ),
    st.tuples(st.just("UPDATE shows SET day = day + 1, title = ? WHERE day = ?"), st.tuples(title, day)),
    st.tuples(st.just("UPDATE OR REPLACE shows SET title = ?"), st.tuples(title)),
    st.tuples(st.just("UPDATE shows SET price = 99.5 + price"), st.just(())),
    st.tuples(st.just("DELETE FROM shows"), st.just(())),
    st.tuples(st.just("INSERT INTO notes VALUES ('no key, no record')"), st.just(())),
    st.tuples(st.sampled_from(["SAVEPOINT a", "ROLLBACK TO a", "RELEASE a"]), st.just(())),
)


def rows(connection: apsw.Connection) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Every row of the tables with a key, by table and key."""
    found = {}
    for name in ("halls", "shows"):
        table = TABLES[name]
        for row in connection.execute(f"SELECT * FROM {name}"):
            record = dict(zip(table.columns, row, strict=True))
            found[(name, *(record[column] for column in table.key))] = record
    return found


def difference(before: dict[tuple[Any, ...], Any], after: dict[tuple[Any, ...], Any]) -> list[RowChange]:
    changes = []
    for where in before.keys() | after.keys():
        old, new = before.get(where), after.get(where)
        key = dict(zip(TABLES[where[0]].key, where[1:], strict=True))
        if old is None:
            changes.append(RowChange(where[0], "insert", key, {}, new))
        elif new is None:
            changes.append(RowChange(where[0], "delete", key, old, {}))
        elif old != new:
            columns = [column for column in old if old[column] != new[column]]
            changes.append(
                RowChange(where[0], "update", key, {c: old[c] for c in columns}, {c: new[c] for c in columns})
            )
    return sorted(changes, key=lambda change: (change.table, change.op, list(change.key.values())))


@settings(max_examples=300, deadline=None)
@given(st.lists(statements, max_size=12), st.integers(0, 12))
def test_the_record_is_the_difference_of_all_rows(history: list[tuple[str, tuple[Any, ...]]], handed_over: int) -> None:
    connection = create("test", SCHEMA)
    connection.execute(START)
    before = rows(connection)
    recorder = Recorder(TABLES)
    connection.execute("BEGIN")
    connection.preupdate_hook(recorder.note)
    for number, (sql, values) in enumerate(history):
        if number == handed_over:
            recorder = Recorder(TABLES, recorder.state())
            connection.preupdate_hook(recorder.note)
        # What a failed statement did is undone by SQLite, and no hook tells of that.
        with contextlib.suppress(apsw.ConstraintError, apsw.SQLError):
            connection.execute(sql, values)
        assert recorder.changes(connection) == difference(before, rows(connection))


def test_a_change_taken_back_is_none() -> None:
    connection = create("test", SCHEMA)
    connection.execute(START)
    recorder = Recorder(TABLES)
    connection.preupdate_hook(recorder.note)
    connection.execute("UPDATE halls SET seats = 11 WHERE hall = 'A'")
    assert recorder.changes(connection) == [RowChange("halls", "update", {"hall": "A"}, {"seats": 10}, {"seats": 11})]
    connection.execute("UPDATE halls SET seats = 10 WHERE hall = 'A'")
    assert recorder.changes(connection) == []
