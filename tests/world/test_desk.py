"""The kit's work for tools, each piece called through a tool of a small desk."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import apsw
import pytest

from journeyman.episode import CallRecord
from journeyman.task import Outcome, RowChange, Split, Task
from journeyman.world import Article, Family, ToolContext, World, desk, open_session, task_id, tool
from journeyman.world.secrets import CANARY, Secrets

SCHEMA = """
CREATE TABLE guests (
    guest_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    city TEXT NOT NULL,
    status TEXT NOT NULL,
    owed_cents INTEGER NOT NULL
) STRICT;
CREATE TABLE approvals (
    approval_id TEXT NOT NULL PRIMARY KEY,
    guest_id TEXT NOT NULL REFERENCES guests (guest_id),
    kind TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    status TEXT NOT NULL,
    requested_at TEXT NOT NULL
) STRICT;
CREATE TABLE remarks (
    remark_id TEXT NOT NULL PRIMARY KEY,
    guest_id TEXT NOT NULL REFERENCES guests (guest_id),
    body TEXT NOT NULL
) STRICT;
CREATE TABLE transfers (
    transfer_id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    summary TEXT NOT NULL,
    transferred_at TEXT NOT NULL
) STRICT;
"""
GUESTS = [
    ("G-1", "Ada Park", "private", "Elm", "active", 1050),
    ("G-2", "Ada Parker", "private", "Oak", "active", 0),
    ("G-3", "PARK HOTELS", "firm", "Elm", "active", 0),
]
APPROVALS = [
    ("AP-1", "G-1", "credit", 5000, "approved", "2026-02-16T09:00:00"),
    ("AP-2", "G-1", "credit", 5000, "approved", "2026-02-15T23:59:59"),
    ("AP-3", "G-2", "credit", 5000, "approved", "2026-03-01T09:00:00"),
    ("AP-4", "G-1", "refund", 5000, "approved", "2026-03-01T09:00:00"),
    ("AP-5", "G-1", "credit", 5000, "pending", "2026-03-01T09:00:00"),
]
ARTICLES = [
    Article("LATE", "Late arrival", "A room is kept until six.", effective="2026-01-01"),
    Article("LATE-2024", "Late arrival (2024)", "A room is kept until four.", "superseded", "2024-01-01"),
]

guest = desk.by_id("guests", "guest_id", "guest", "guest ids look like G-1")
balance = desk.by_id("guests", "guest_id", "guest", "see find", "guest_id, owed_cents AS due_cents, city")


def fill(db: apsw.Connection) -> None:
    db.executemany("INSERT INTO guests VALUES (?, ?, ?, ?, ?, ?)", GUESTS)
    db.executemany("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?)", APPROVALS)


@tool("read")
async def get_guest(ctx: ToolContext, guest_id: str) -> dict[str, Any]:
    """Read a guest.

    Args:
        guest_id: such as G-1.
    """
    return guest(ctx, guest_id)


@tool("read")
async def get_balance(ctx: ToolContext, guest_id: str) -> dict[str, Any]:
    """Read what a guest owes.

    Args:
        guest_id: such as G-1.
    """
    return desk.in_dollars(balance(ctx, guest_id))


@tool("read")
async def find(ctx: ToolContext, name: str, city: str | None = None) -> dict[str, Any]:
    """Find guests.

    Args:
        name: part of it.
        city: where.
    """
    return desk.find_by_name(ctx, "guests", "guest_id", name, city, letters=2, most=2)


@tool("write")
async def remark(ctx: ToolContext, guest_id: str, body: str) -> str:
    """Write a remark.

    Args:
        guest_id: such as G-1.
        body: what to write.
    """
    return desk.add(ctx, "remarks", guest_id, desk.filled(ctx, "body", body))


@tool("write")
async def move(ctx: ToolContext, guest_id: str, name: str, city: str) -> list[str]:
    """Overwrite name and city.

    Args:
        guest_id: such as G-1.
        name: the new one.
        city: the new one.
    """
    return desk.overwrite(ctx, "guests", "guest_id", guest(ctx, guest_id), {"name": name, "city": city})


@tool("read")
async def check(ctx: ToolContext, amount: float, nights: int, pin: str, article_id: str) -> list[Any]:
    """Check arguments.

    Args:
        amount: dollars.
        nights: 1 to 3.
        pin: four digits.
        article_id: a rule.
    """
    desk.current_article(ctx, article_id)
    cents = desk.whole(ctx, amount, "dollars", 2, 100_00, "amount")
    return [cents, desk.between(ctx, "nights", nights, 1, 3), desk.digits(ctx, "pin", pin, 4)]


@tool("write")
async def credit(ctx: ToolContext, guest_id: str, cents: int, approval_id: str | None = None) -> bool:
    """Credit a guest.

    Args:
        guest_id: such as G-1.
        cents: how much.
        approval_id: that allows it.
    """
    desk.use_approval(ctx, approval_id, "credit", cents, owner="guest_id", id=guest_id, of="manager", days=14)
    return True


@tool("write")
async def transfer_to_human(ctx: ToolContext, queue: str, summary: str) -> dict[str, Any]:
    """Hand over.

    Args:
        queue: to whom.
        summary: why.
    """
    return desk.hand_over(ctx, queue, summary)


def make(world: World, seed: int, split: Split) -> Task:
    return Task(
        id=task_id(world.name, "any", split, seed),
        world=world.name,
        world_version=world.version,
        family="any",
        level=1,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        request="Anything.",
        outcomes=[Outcome()],
        criteria=[],
        oracle=[],
    )


WORLD = World(
    name="inn",
    company="Elm Inn",
    desk="You work at the desk of the Elm Inn.",
    schema=SCHEMA,
    images={"base": fill},
    tools=[get_guest, get_balance, find, remark, move, check, credit, desk.search_policy, desk.policy_article("LATE"),
           transfer_to_human],
    articles=ARTICLES,
    families=[Family("any", 1, make, train=1)],
    id_formats={"remarks": "RM-{:03d}", "transfers": "TR-{}"},
    id_start={"remarks": 7},
)  # fmt: skip


def played(*calls: tuple[str, dict[str, Any]]) -> tuple[list[CallRecord], list[RowChange]]:
    """The records of some calls of one session, and what they changed."""

    async def run() -> tuple[list[CallRecord], list[RowChange]]:
        session = open_session(WORLD, WORLD.tasks()[0])
        return [await session.call(name, arguments) for name, arguments in calls], session.changes()

    return asyncio.run(run())


def result(name: str, /, **arguments: Any) -> Any:
    """What one call gives: its value, or "code: message"."""
    (record,), _ = played((name, arguments))
    value = json.loads(record.result)
    return value if record.status == "ok" else f"{value['error']}: {value['message']}"


def test_a_record_is_found_by_its_id_or_the_hint_is_told():
    assert result("get_guest", guest_id="G-2")["name"] == "Ada Parker"
    assert result("get_guest", guest_id="g-2") == "not_found: no guest 'g-2'; guest ids look like G-1"


def test_cents_are_shown_as_dollars_in_their_place():
    assert list(result("get_balance", guest_id="G-1").items()) == [("guest_id", "G-1"), ("due", 10.5), ("city", "Elm")]


def test_names_are_found_by_part_and_city_and_counted_beyond_the_most():
    found = result("find", name=" PARK")
    assert (found["total"], [row["guest_id"] for row in found["matches"]]) == (3, ["G-1", "G-2"])
    assert [row["guest_id"] for row in result("find", name="park", city="elm")["matches"]] == ["G-1", "G-3"]
    assert result("find", name=" a ") == "invalid_argument: argument `name`: at least 2 letters"


def test_rows_are_added_under_fresh_ids():
    records, changes = played(
        ("remark", {"guest_id": "G-1", "body": "Late."}),
        ("remark", {"guest_id": "G-1", "body": " "}),
        ("remark", {"guest_id": "G-2", "body": "Later."}),
    )
    assert [json.loads(record.result) for record in records[::2]] == ["RM-007", "RM-008"]
    assert json.loads(records[1].result)["message"] == "argument `body`: must not be empty"
    assert [(row.key["remark_id"], row.new["body"]) for row in changes] == [("RM-007", "Late."), ("RM-008", "Later.")]


def test_only_what_differs_is_overwritten():
    records, changes = played(
        ("move", {"guest_id": "G-1", "name": "Ada Park", "city": "Oak"}),
        ("move", {"guest_id": "G-1", "name": "Ada Park", "city": "Oak"}),
    )
    assert json.loads(records[0].result) == ["city"]
    assert [(row.key, row.old, row.new) for row in changes] == [({"guest_id": "G-1"}, {"city": "Elm"}, {"city": "Oak"})]
    assert (records[1].status, records[1].code) == ("error", "invalid_state")


GOOD = {"amount": 10.5, "nights": 3, "pin": "0420", "article_id": "LATE"}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, [1050, 3, "0420"]),
        ({"amount": 100.0}, [10_000, 3, "0420"]),
        ({"amount": 0.01}, [1, 3, "0420"]),
        ({"amount": 100.01}, "invalid_argument: argument `amount`: expected dollars above 0 with at most 2 decimals"),
        ({"amount": 0.0}, "invalid_argument: argument `amount`: expected dollars above 0 with at most 2 decimals"),
        ({"amount": 1.005}, "invalid_argument: argument `amount`: expected dollars above 0 with at most 2 decimals"),
        ({"nights": 4}, "invalid_argument: argument `nights`: 1 to 3"),
        ({"nights": 0}, "invalid_argument: argument `nights`: 1 to 3"),
        ({"pin": "42"}, "invalid_argument: argument `pin`: four digits"),
        ({"pin": "٠٤٢٠"}, "invalid_argument: argument `pin`: four digits"),
        ({"pin": "0420\n"}, "invalid_argument: argument `pin`: four digits"),
        ({"article_id": "NO"}, "not_found: no policy article 'NO'; see search_policy"),
        ({"article_id": "LATE-2024"}, "invalid_state: article LATE-2024 is superseded: cite the current one"),
    ],
)
def test_arguments_are_checked(changed: dict[str, Any], says: Any):
    assert result("check", **{**GOOD, **changed}) == says


@pytest.mark.parametrize(
    ("text", "good"),
    [("2024-02-29", True), ("2026-02-29", False), ("2026-3-02", False), ("20260302", False)],
)
def test_dates_are_calendar_dates_in_one_form(text: str, good: bool):
    assert desk.is_date(text) == good


@pytest.mark.parametrize(
    ("approval", "cents", "code", "words"),
    [
        (None, 5000, "not_authorized", "$50.00 needs a manager's approval (kind credit)"),
        ("AP-9", 5000, "not_found", "no approval 'AP-9'; approval ids look like AP-9001"),
        (
            "AP-1",
            5001,
            "not_authorized",
            "approval AP-1 is approved, kind credit, guest G-1, up to $50.00: it does not",
        ),
        ("AP-2", 5000, "not_authorized", "approval AP-2 has lapsed: it was requested 15 days ago"),
        ("AP-3", 5000, "not_authorized", "kind credit, guest G-2"),
        ("AP-4", 5000, "not_authorized", "kind refund, guest G-1"),
        ("AP-5", 5000, "not_authorized", "approval AP-5 is pending"),
    ],
)
def test_an_approval_that_does_not_fit_is_not_spent(approval: str | None, cents: int, code: str, words: str):
    arguments = {"guest_id": "G-1", "cents": cents} | ({} if approval is None else {"approval_id": approval})
    (record,), changes = played(("credit", arguments))
    assert (record.status, record.code) == ("error", code)
    assert words in json.loads(record.result)["message"]
    assert changes == []


def test_an_approval_is_spent_once():
    # AP-1 was requested 14 days ago: the last day on which it counts.
    arguments = {"guest_id": "G-1", "cents": 5000, "approval_id": "AP-1"}
    records, changes = played(("credit", arguments), ("credit", arguments))
    assert [record.status for record in records] == ["ok", "error"]
    assert [(row.table, row.new) for row in changes] == [("approvals", {"status": "used"})]


def test_policy_is_searched_and_read_by_the_kits_own_tools():
    (first, second) = result("search_policy", query="late arrival")
    assert list(first) == ["article_id", "title", "status", "effective", "excerpt"]
    assert {first["status"], second["status"]} == {"current", "superseded"}
    assert result("search_policy", query="late", limit=9) == "invalid_argument: argument `limit`: 1 to 8"
    read = result("get_policy_article", article_id="LATE")
    assert list(read) == ["article_id", "title", "status", "effective", "body"]
    assert read["body"] == "A room is kept until six."
    assert result("get_policy_article", article_id="x").startswith("not_found: no policy article 'x'")
    described = WORLD.tools_by_name["get_policy_article"].parameters["properties"]["article_id"]["description"]
    assert described == "such as LATE."


def test_handing_over_is_a_row():
    (record,), changes = played(("transfer_to_human", {"queue": "manager", "summary": "Angry guest."}))
    assert json.loads(record.result) == {"ok": True, "queue": "manager"}
    (row,) = changes
    expected = {"queue": "manager", "summary": "Angry guest.", "transferred_at": "2026-03-02T09:00:00"}
    assert (row.table, row.op, row.key) == ("transfers", "insert", {"transfer_id": "TR-1"})
    assert row.new.items() >= expected.items()


def test_secrets_are_of_one_world_and_carry_the_canary():
    ours, theirs = Secrets("inn"), Secrets("tavern")
    owners = [f"G-{number}" for number in range(200)]
    assert all(len(ours.pin("pin", owner)) == 4 and ours.pin("pin", owner).isdigit() for owner in owners)
    assert all(len(ours.pin("door", owner, digits=6)) == 6 for owner in owners)
    assert [ours.pin("pin", owner) for owner in owners] != [theirs.pin("pin", owner) for owner in owners]
    pin = ours.pin("pin", "G-1")
    assert ours.hashed("G-1", pin) == Secrets("inn").hashed("G-1", pin)
    other = {theirs.hashed("G-1", pin), ours.hashed("G-2", pin), ours.hashed("G-1", f"{int(pin) + 1:04d}")}
    assert ours.hashed("G-1", pin) not in other
    assert ours.hashed("G-1", pin).startswith(CANARY)
    assert ours.token("door", "G-1").startswith(f"{CANARY}door")
