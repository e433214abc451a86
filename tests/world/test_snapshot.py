"""Laws of snapshots and changes, over random histories."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import apsw
import library_desk
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.codec import encode
from journeyman.episode import Event, Message
from journeyman.errors import TaskFileError
from journeyman.task import RowChange, Task
from journeyman.world import Snapshot, WorldSession, open_session

WORLD = library_desk.WORLD
TASK: Task = WORLD.tasks(families=["returned"])[0]

members = st.sampled_from(["M-1", "M-2", "M-9"])
books = st.sampled_from(["B-1", "B-2", "B-3", "B-9"])
loans = st.sampled_from(["LN-0007", "LN-0008", "LN-0009", "LN-0010", "LN-0100"])
calls = st.one_of(
    st.tuples(st.just("lend_book"), st.fixed_dictionaries({"member_id": members, "book_id": books})),
    st.tuples(st.just("return_book"), st.fixed_dictionaries({"loan_id": loans})),
    st.tuples(
        st.just("set_status"),
        st.fixed_dictionaries({"member_id": members, "status": st.sampled_from(["active", "blocked"])}),
    ),
    st.tuples(
        st.just("set_price"), st.fixed_dictionaries({"book_id": books, "price": st.sampled_from([9.5, 12, 0.1, 7.0])})
    ),
    st.tuples(st.sampled_from(["roll_dice", "crash_after_write", "long_result", "nonsense"]), st.just({})),
    st.tuples(st.just("find_members"), st.fixed_dictionaries({"name": st.sampled_from(["Ada", "x"])})),
)
histories = st.lists(calls, max_size=14)


def play(session: WorldSession, history: list[tuple[str, dict[str, Any]]]) -> None:
    for name, arguments in history:
        asyncio.run(session.call(name, arguments))


def rows(session: WorldSession) -> dict[tuple[str, str], dict[str, Any]]:
    """Every row by (table, id), read from the bytes of the database: no changeset is involved."""
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", session.snapshot().database)
    found = {}
    for table in WORLD.tables.values():
        for row in connection.execute(f"SELECT * FROM {table.name}"):
            record = dict(zip(table.columns, row, strict=True))
            found[table.name, record["id"]] = record
    connection.close()
    return found


def row_difference(before: dict[Any, Any], after: dict[Any, Any]) -> list[RowChange]:
    changes = []
    for table, id in sorted(before.keys() | after.keys()):
        old, new = before.get((table, id)), after.get((table, id))
        key = {"id": id}
        if old is None:
            changes.append(RowChange(table, "insert", key, {}, new))
        elif new is None:
            changes.append(RowChange(table, "delete", key, old, {}))
        elif old != new:
            columns = [column for column in old if old[column] != new[column]]
            changes.append(RowChange(table, "update", key, {c: old[c] for c in columns}, {c: new[c] for c in columns}))
    return sorted(changes, key=lambda change: (change.table, change.op, change.key["id"]))


@settings(max_examples=60, deadline=None)
@given(histories)
def test_changes_are_the_difference_of_the_rows(history):
    session = open_session(WORLD, TASK)
    before = rows(session)
    play(session, history)
    assert session.changes() == row_difference(before, rows(session))


@settings(max_examples=60, deadline=None)
@given(st.lists(histories, min_size=1, max_size=4))
def test_a_restored_session_goes_on_as_the_original(parts):
    original = open_session(WORLD, TASK)
    restored = open_session(WORLD, TASK)
    for number, part in enumerate(parts):
        play(original, part)
        play(restored, part)
        # By turns through fork, and through a snapshot that was written down.
        if number % 2:
            restored = restored.fork()
        else:
            stored = msgspec.json.decode(encode(restored.snapshot()), type=Snapshot)
            restored = WorldSession.restore(WORLD, TASK, stored)
        assert restored.calls == original.calls
        assert restored.changes() == original.changes()
        assert restored.digest() == original.digest()
        assert rows(restored) == rows(original)


@settings(max_examples=30, deadline=None)
@given(histories, histories, histories)
def test_forks_have_one_past_and_separate_futures(past, future, other):
    session = open_session(WORLD, TASK)
    play(session, past)
    fork = session.fork()
    play(fork, other)
    play(session, future)
    straight = open_session(WORLD, TASK)
    play(straight, past + future)
    assert session.digest() == straight.digest()
    straight = open_session(WORLD, TASK)
    play(straight, past + other)
    assert fork.digest() == straight.digest()


@settings(max_examples=40, deadline=None)
@given(histories, histories)
def test_a_copy_used_again_holds_nothing_of_its_last_session(past, history):
    world = library_desk.library()
    task = world.tasks(families=["returned"])[0]
    fresh, used = open_session(world, task), open_session(world, task)
    play(used, past)
    asyncio.run(used.close())
    assert len(world.source("base")._idle) == 1
    again = open_session(world, task)
    assert world.source("base")._idle == []
    play(again, history)
    play(fresh, history)
    assert again.digest() == fresh.digest()
    assert rows(again) == rows(fresh)


def test_a_copy_given_back_equals_the_image_byte_for_byte():
    world = library_desk.library()
    task = world.tasks(families=["returned"])[0]
    session = open_session(world, task)
    play(session, [("return_book", {"loan_id": "LN-0007"}), ("lend_book", {"member_id": "M-1", "book_id": "B-2"})])
    assert len(session.changes()) == 4
    asyncio.run(session.close())
    asyncio.run(session.close())
    [idle] = world.source("base")._idle
    assert idle.connection.serialize("main") == world.image("base")
    with pytest.raises(RuntimeError, match="closed"):
        play(session, [("roll_dice", {})])


def test_a_copy_on_which_something_was_committed_is_not_used_again():
    world = library_desk.library()
    session = open_session(world, world.tasks("train")[0])
    session.snapshot()
    asyncio.run(session.close())
    assert world.source("base")._idle == []


@pytest.mark.parametrize("name", ["run_away_writing", "commit_inside", "roll_back_inside"])
def test_calls_that_break_the_transaction_lose_nothing_that_was_kept(name):
    for snapshot_between in (False, True):
        session = open_session(WORLD, TASK)
        play(session, [("lend_book", {"member_id": "M-1", "book_id": "B-2"})])
        if snapshot_between:
            session.snapshot()
        play(session, [("return_book", {"loan_id": "LN-0007"})])
        changes, before = session.changes(), rows(session)
        play(session, [(name, {})])
        assert session.calls[-1].status == "error"
        assert session.changes() == changes
        assert rows(session) == before
        play(session, [("lend_book", {"member_id": "M-1", "book_id": "B-3"})])
        assert json.loads(session.calls[-1].result)["loan_id"] == "LN-0009"
        assert len(session.changes()) == len(changes)


def test_a_change_taken_back_after_a_restore_is_no_change():
    session = open_session(WORLD, TASK)
    play(
        session,
        [("set_price", {"book_id": "B-1", "price": 1.0}), ("lend_book", {"member_id": "M-1", "book_id": "B-2"})],
    )
    assert len(session.changes()) == 3
    session = session.fork()
    play(session, [("set_price", {"book_id": "B-1", "price": 9.5}), ("return_book", {"loan_id": "LN-0008"})])
    assert session.changes() == []


def test_a_snapshot_holds_the_dialogue_and_the_counters():
    session = open_session(WORLD, TASK, seed=7)
    play(session, [("lend_book", {"member_id": "M-1", "book_id": "B-1"})])
    event = Event(turn=0, kind="asked", by="agent", slot="book")
    snapshot = session.snapshot(user_state={"patience": 2}, events=[event], messages=[Message("user", "hi")])
    assert (snapshot.user_state, snapshot.events, snapshot.messages) == (
        {"patience": 2},
        [event],
        [Message("user", "hi")],
    )
    assert (snapshot.seed, snapshot.counters, len(snapshot.calls)) == (7, {"loans": 9}, 1)
    fork = WorldSession.restore(WORLD, TASK, snapshot)
    play(fork, [("lend_book", {"member_id": "M-1", "book_id": "B-2"})])
    assert json.loads(fork.calls[1].result) == {"loan_id": "LN-0009", "at": "2026-03-02T09:15:01"}


def test_a_snapshot_of_another_task_is_refused():
    snapshot = open_session(WORLD, TASK).snapshot()
    with pytest.raises(TaskFileError, match=TASK.id):
        WorldSession.restore(WORLD, WORLD.tasks("train")[0], snapshot)
    with pytest.raises(TaskFileError, match="version"):
        WorldSession.restore(WORLD, TASK, msgspec.structs.replace(snapshot, world_version="0"))
