"""Calls, their errors and what they leave behind."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import random
from typing import Any

import msgspec
import pytest
from library_desk import library, make_lend

from journeyman.codec import encode, seed_of
from journeyman.errors import TaskFileError
from journeyman.task import Fault, RowChange, Task
from journeyman.world import World, WorldSession, open_session
from journeyman.world.arguments import MAX_TEXT


def test_a_write_is_recorded_as_net_row_changes(play, session):
    record = play("lend_book", member_id="M-1", book_id="B-1", note="by phone")
    assert (record.index, record.kind, record.status, record.code) == (0, "write", "ok", "")
    assert json.loads(record.result) == {"loan_id": "LN-0008", "at": "2026-03-02T09:15:00"}
    loan = {
        "id": "LN-0008",
        "member_id": "M-1",
        "book_id": "B-1",
        "due": "2026-03-16",
        "renewals": 0,
        "note": "by phone",
    }
    assert session.changes() == [
        RowChange("books", "update", {"id": "B-1"}, {"copies": 2}, {"copies": 1}),
        RowChange("loans", "insert", {"id": "LN-0008"}, {}, loan),
    ]


def test_what_is_undone_by_a_later_call_leaves_no_change(play, session):
    play("lend_book", member_id="M-1", book_id="B-1")
    assert play("return_book", loan_id="LN-0008").status == "ok"
    assert session.changes() == []


def test_a_delete_holds_every_old_column(play, session):
    play("return_book", loan_id="LN-0007")
    old = {"id": "LN-0007", "member_id": "M-2", "book_id": "B-3", "due": "2026-03-10", "renewals": 1, "note": "desk"}
    assert session.changes()[1] == RowChange("loans", "delete", {"id": "LN-0007"}, old, {})


def test_clock_ids_and_dice_follow_task_and_call(play, session, task):
    first, second = play("roll_dice"), play("roll_dice")
    assert int(first.result) == random.Random(seed_of(task.id, 0)).randint(1, 1_000_000)
    assert int(second.result) == random.Random(seed_of(task.id, 1)).randint(1, 1_000_000)
    lent = [json.loads(play("lend_book", member_id="M-1", book_id=book).result) for book in ("B-1", "B-2")]
    assert lent == [
        {"loan_id": "LN-0008", "at": "2026-03-02T09:15:02"},
        {"loan_id": "LN-0009", "at": "2026-03-02T09:15:03"},
    ]
    assert [call.index for call in session.calls] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("crash_after_write", {}, "internal_error", "crash_after_write failed"),
        ("write_in_read", {}, "internal_error", "ReadOnlyError"),
        ("run_away", {}, "query_budget", "narrow"),
        ("run_away_writing", {}, "query_budget", "narrow"),
        ("long_result", {}, "result_too_long", "10002 characters"),
        ("lend_book", {"member_id": "M-1", "book_id": "B-3"}, "constraint", "copies_left"),
        ("lend_book", {"member_id": "M-9", "book_id": "B-1"}, "constraint", "FOREIGN KEY"),
        # The key of books is deferred: it breaks only when the call ends.
        ("lend_many", {"member_id": "M-1", "lines": [{"book_id": "B-9"}]}, "constraint", "FOREIGN KEY"),
        ("get_book", {"book_id": "B-9"}, "not_found", "no book B-9"),
    ],
)
def test_a_failed_call_leaves_nothing_but_its_record(play, session, name, arguments, code, words):
    record = play(name, **arguments)
    assert (record.status, record.code) == ("error", code)
    assert json.loads(record.result)["error"] == code
    assert words in json.loads(record.result)["message"]
    assert "h-ada" not in record.result
    assert session.changes() == []
    assert json.loads(play("lend_book", member_id="M-1", book_id="B-1").result)["loan_id"] == "LN-0008"
    assert [(row.table, row.op) for row in session.changes()] == [("books", "update"), ("loans", "insert")]


def test_a_failure_keeps_what_earlier_calls_wrote(play, session):
    play("lend_book", member_id="M-1", book_id="B-1")
    before = session.changes()
    for name in ("crash_after_write", "run_away_writing", "long_result"):
        assert play(name).status == "error"
    assert session.changes() == before


@pytest.mark.parametrize("name", ["run_away", "run_away_writing"])
def test_a_spent_budget_is_of_one_call_only(play, session, name):
    for _ in range(4):
        assert play("lend_many", member_id="M-1", lines=[{"book_id": "B-1"}] * 100).status == "ok"
    assert play(name).code == "query_budget"
    session._db._changes = None
    assert len(session.changes()) == 400
    assert len(session.fork().changes()) == 400


def test_a_cancelled_call_is_undone(session):
    class Stop(BaseException):
        pass

    async def stop(ctx: Any) -> None:
        ctx.run("DELETE FROM loans")
        raise Stop

    tool = session.world.tools_by_name["long_result"]
    session._offered = {"long_result": dataclasses.replace(tool, function=stop)}
    with pytest.raises(Stop):
        asyncio.run(session.call("long_result", {}))
    assert session.changes() == []
    assert session.calls == []


DEEP: Any = []
for _ in range(5_000):
    DEEP = [DEEP]

HOSTILE: list[tuple[Any, Any]] = [
    ("find_members", {"name": "x" * 1_000_000}),
    ("find_members", {"name": "a\0b"}),
    ("find_members", {"name": "\ud800"}),
    ("find_members", {"name": DEEP}),
    ("find_members", {"name": {"a": DEEP}}),
    ("find_members", {"name": "a", "limit": 2**63}),
    ("find_members", {"name": "a", "limit": 10**400}),
    ("find_members", {"name": "a", "limit": True}),
    ("find_members", {"name": "a", "limit": 1.0}),
    ("find_members", {"name": "a", "\ud800": 1}),
    ("find_members", {1: 2}),
    ("find_members", {"name": b"bytes"}),
    ("find_members", {"name": object()}),
    ("find_members", None),
    ("find_members", [1, 2]),
    ("find_members", "name"),
    ("set_price", {"book_id": "B-1", "price": math.nan}),
    ("set_price", {"book_id": "B-1", "price": math.inf}),
    ("set_price", {"book_id": "B-1", "price": 10**400}),
    ("set_price", {"book_id": "B-1", "price": "5"}),
    ("lend_many", {"member_id": "M-1", "lines": [{"book_id": "B-1"}] * 1_000}),
    ("lend_many", {"member_id": "M-1", "lines": DEEP}),
    ("\ud800", {}),
    ("x" * 1_000_000, {"a": math.nan}),
    (None, {}),
    (3, None),
    (["find_members"], {}),
]


@pytest.mark.parametrize("index", range(len(HOSTILE)))
def test_hostile_calls_give_small_storable_errors(session, index):
    name, arguments = HOSTILE[index]
    record = asyncio.run(session.call(name, arguments, turn=3))
    assert record.status == "error"
    assert record.code in {"invalid_argument", "unknown_argument", "missing_argument", "unknown_tool"}
    assert record.turn == 3
    line = encode(record)
    assert len(line) < 110 * MAX_TEXT
    assert msgspec.json.decode(line, type=type(record)) == record
    assert len(record.result) < 1_000
    assert session.changes() == []


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        (
            "find_members",
            {"nam": "a"},
            "unknown_argument",
            "find_members has no argument 'nam'; allowed: name, limit",
        ),
        (
            "find_members",
            {"limit": 2},
            "missing_argument",
            "find_members needs the argument `name`; allowed: name, limit",
        ),
        (
            "find_members",
            {"name": "a", "limit": "5"},
            "invalid_argument",
            "argument `limit`: expected an integer, got the string '5'",
        ),
        (
            "set_status",
            {"member_id": "M-1", "status": "gone"},
            "invalid_argument",
            "argument `status`: expected one of active, blocked, got the string 'gone'",
        ),
        (
            "lend_many",
            {"member_id": "M-1", "lines": [{"book_id": "B-1"}, {"book_id": 7}]},
            "invalid_argument",
            "argument `lines[1].book_id`: expected a string, got the integer 7",
        ),
        (
            "lend_many",
            {"member_id": "M-1", "lines": [{"days": 3}]},
            "missing_argument",
            "argument `lines[0].book_id` is missing; allowed: book_id, days",
        ),
        (
            "lend_many",
            {"member_id": "M-1", "lines": [], "remark": {"text": "a", "urgent": False, "x": 1}},
            "unknown_argument",
            "argument `remark`: unknown field the string 'x'; allowed: text, urgent",
        ),
        ("roll_dice", {"sides": 6}, "unknown_argument", "roll_dice has no argument 'sides'; allowed: no arguments"),
        ("find_member", {}, "unknown_tool", "there is no tool 'find_member'; did you mean find_members?"),
    ],
)
def test_argument_errors_name_the_argument_and_the_allowed_ones(play, name, arguments, code, message):
    assert json.loads(play(name, **arguments).result) == {"error": code, "message": message}


def test_good_arguments_of_every_shape_arrive(play, session):
    lines = [{"book_id": "B-1", "days": 3}, {"book_id": "B-2"}]
    record = play("lend_many", member_id="M-1", lines=lines, remark={"text": "hé", "urgent": True})
    assert json.loads(record.result) == ["LN-0008", "LN-0009"]
    assert [(row.new["due"], row.new["note"]) for row in session.changes()] == [
        ("2026-03-05", "hé"),
        ("2026-03-16", "hé"),
    ]
    assert play("set_price", book_id="B-1", price=3).status == "ok"
    assert session.changes()[0].new == {"price": 3.0}
    assert play("lend_book", member_id="M-1", book_id="B-1", note=None).status == "ok"


def test_a_task_may_offer_fewer_tools(world, task):
    some = msgspec.structs.replace(task, tools=["lend_book", "get_book"]).sealed()
    session = open_session(world, some)
    assert [spec.name for spec in session.tools()] == ["get_book", "lend_book"]
    record = asyncio.run(session.call("roll_dice", {}))
    assert (record.status, record.code, record.kind) == ("error", "unknown_tool", "read")
    assert "the tools are get_book, lend_book" in record.result


def test_setup_rows_are_the_start_not_a_change(world):
    session = open_session(world, world.tasks(families=["returned"])[1])
    assert session.changes() == []
    assert asyncio.run(session.call("return_book", {"loan_id": "LN-0101"})).status == "ok"
    assert [(row.op, row.old.get("copies"), row.new.get("copies")) for row in session.changes()] == [
        ("update", 1, 2),
        ("delete", None, None),
    ]


def test_setup_rows_may_name_each_other_in_any_order(world, task):
    loan = RowChange("loans", "insert", {"id": "LN-1"}, new={"member_id": "M-7", "book_id": "B-1", "due": "2026-03-03"})
    member = RowChange("members", "insert", {"id": "M-7"}, new={"name": "Bo", "pin_hash": "h-bo-100"})
    session = open_session(world, msgspec.structs.replace(task, setup=[loan, member]).sealed())
    assert "M-7" in asyncio.run(session.call("find_members", {"name": "Bo"})).result
    # Foreign keys are checked at once again.
    assert asyncio.run(session.call("lend_book", {"member_id": "M-8", "book_id": "B-1"})).code == "constraint"
    assert session.changes() == []


def test_only_so_many_checked_tasks_are_kept_and_each_has_its_own_rows(monkeypatch):
    monkeypatch.setattr("journeyman.world.session.MAX_KEPT", 2)
    world = library()
    tasks = [
        msgspec.structs.replace(
            world.tasks("train")[0], setup=[RowChange("books", "update", {"id": "B-1"}, new={"copies": copies})]
        ).sealed()
        for copies in (5, 6, 7, 5)
    ]
    for _ in range(2):
        for number, task in enumerate(tasks):
            session = open_session(world, task)
            [book] = session._db.all("SELECT copies FROM books WHERE id = 'B-1'")
            assert book["copies"] == (5, 6, 7, 5)[number]
            assert len(world.checked_tasks) <= 2
    # An altered task is looked at afresh, even where one with its hash was checked.
    with pytest.raises(TaskFileError, match="hash"):
        open_session(world, msgspec.structs.replace(tasks[-1], setup=tasks[1].setup))


def test_ids_of_setup_rows_are_not_generated_again(world, task):
    taken = RowChange(
        "loans", "insert", {"id": "LN-0008"}, new={"member_id": "M-1", "book_id": "B-1", "due": "2026-03-03"}
    )
    session = open_session(world, msgspec.structs.replace(task, setup=[taken]).sealed())
    record = asyncio.run(session.call("lend_book", {"member_id": "M-1", "book_id": "B-1"}))
    assert json.loads(record.result)["loan_id"] == "LN-0009"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (RowChange("shelves", "insert", {"id": "1"}), "known: members, books, loans"),
        (RowChange("books", "update", {"id": "B-1"}, new={"colour": "red"}), "unknown column"),
        (RowChange("books", "update", {"id": "B-9"}, new={"copies": 1}), "no row of books"),
        (RowChange("books", "update", {"id": "B-1"}, new={"copies": -1}), "copies_left"),
        (RowChange("books", "update", {}, new={"copies": 1}), "whole key"),
        (RowChange("members", "delete", {"id": "M-2"}), "FOREIGN KEY"),
        (
            RowChange("loans", "insert", {"id": "LN-1"}, new={"member_id": "M-9", "book_id": "B-1", "due": "x"}),
            "FOREIGN",
        ),
    ],
)
def test_a_setup_that_cannot_be_applied_is_refused(world, task, change, words):
    with pytest.raises(TaskFileError, match=words) as caught:
        open_session(world, msgspec.structs.replace(task, setup=[change]).sealed())
    assert caught.value.where == task.id
    assert caught.value.key.startswith("setup")


@pytest.mark.parametrize(
    ("field", "value", "sealed"),
    [("world", "telecom", True), ("world_version", "0", True), ("request", "x", False), ("tools", ["nap"], True)],
)
def test_tasks_that_do_not_belong_are_refused(world: World, task: Task, field, value, sealed):
    other = msgspec.structs.replace(task, **{field: value})
    with pytest.raises(TaskFileError):
        open_session(world, other.sealed() if sealed else other)


def test_sessions_do_not_see_each_other(world, task):
    first, second = open_session(world, task), open_session(world, task)
    asyncio.run(first.call("return_book", {"loan_id": "LN-0007"}))
    assert second.changes() == []
    assert asyncio.run(second.call("return_book", {"loan_id": "LN-0007"})).status == "ok"


def test_equal_histories_give_equal_digests(world, task):
    def played() -> WorldSession:
        session = open_session(world, task)
        asyncio.run(session.call("lend_book", {"member_id": "M-1", "book_id": "B-1"}))
        return session

    one, two = played(), played()
    assert one.digest() == two.digest()
    asyncio.run(two.call("roll_dice", {}))
    assert one.digest() != two.digest()


def test_read_tools_do_not_reset_what_was_written(play, session):
    play("lend_book", member_id="M-1", book_id="B-1")
    assert json.loads(play("get_book", book_id="B-1").result)["copies"] == 1
    play("set_status", member_id="M-2", status="active")
    assert [row.table for row in session.changes()] == ["books", "loans", "members"]


def test_the_world_of_a_task_is_the_one_that_made_it():
    changed = library(
        images={"base": lambda db: db.execute("INSERT INTO books VALUES ('B-1', 'Dune', 2, 9.5), ('B-2', 'x', 1, 1)")}
    )
    assert changed.version != library().version
    with pytest.raises(TaskFileError, match="another version"):
        open_session(library(), make_lend(changed, 0, "train").sealed())


@pytest.mark.parametrize(("when", "changes"), [("before", 0), ("after", 2)])
def test_a_planned_fault_times_out_before_or_after_the_work(when, changes):
    world = library()
    task = make_lend(world, 0, "train")
    task = msgspec.structs.replace(task, faults=[Fault("lend_book", when, occurrence=1)]).sealed()
    session = open_session(world, task)
    refused = asyncio.run(session.call("lend_book", {"member_id": "M-1"}))
    first = asyncio.run(session.call("lend_book", {"member_id": "M-1", "book_id": "B-1"}))
    assert (refused.code, first.status, first.code) == ("missing_argument", "error", "timeout")
    assert len(session.changes()) == changes
    assert asyncio.run(session.call("lend_book", {"member_id": "M-1", "book_id": "B-2"})).status == "ok"
    again = open_session(world, task)
    asyncio.run(again.call("lend_book", {"member_id": "M-1"}))
    assert asyncio.run(again.call("lend_book", {"member_id": "M-1", "book_id": "B-1"})) == first


def test_a_fault_of_an_unknown_tool_is_refused():
    world = library()
    task = msgspec.structs.replace(make_lend(world, 0, "train"), faults=[Fault("lend_boook", "after")]).sealed()
    with pytest.raises(TaskFileError, match="lend_boook"):
        open_session(world, task)
