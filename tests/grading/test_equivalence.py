"""The verifier of single turns: what does the same counts, and nothing else does."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import apsw
import pytest

from journeyman.episode import ToolCall, Turn
from journeyman.grading.equivalence import Comparison, Demonstration, compare, demonstrate, is_empty, normalised, unfit
from journeyman.task import Outcome, Task
from journeyman.world import Lexicon, ProposalForm, Slot, ToolContext, World, open_session, tool

SCHEMA = """
CREATE TABLE lines (
    line_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL, weight REAL NOT NULL
) STRICT;
CREATE TABLE notes (
    note_id TEXT NOT NULL PRIMARY KEY, line_id TEXT NOT NULL REFERENCES lines (line_id), body TEXT NOT NULL, at TEXT NOT NULL
) STRICT;
"""


def _fill(db: apsw.Connection) -> None:
    rows = [
        ("L-1", "Ada", "basic", "active", 1.0),
        ("L-2", "Ada", "basic", "active", 1.0),
        ("L-3", "Bo", "plus", "off", 2.5),
    ]
    db.executemany("INSERT INTO lines VALUES (?, ?, ?, ?, ?)", rows)


def _sorted(ctx: ToolContext, owner: str, last_first: bool) -> list[dict[str, Any]]:
    order = "DESC" if last_first else "ASC"
    return ctx.all(f"SELECT line_id, plan FROM lines WHERE owner LIKE ? ORDER BY line_id {order}", (f"%{owner}%",))


@tool("read", ordered=False)
async def find_lines(ctx: ToolContext, owner: str, last_first: bool = False) -> list[dict[str, Any]]:
    """Find lines.

    Args:
        owner: part of a name.
        last_first: the other way round.
    """
    return _sorted(ctx, owner, last_first)


@tool("read")
async def rank_lines(ctx: ToolContext, owner: str, last_first: bool = False) -> list[dict[str, Any]]:
    """List lines in order.

    Args:
        owner: part of a name.
        last_first: the other way round.
    """
    return _sorted(ctx, owner, last_first)


@tool("read")
async def line_status(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Only whether a line is active.

    Args:
        line_id: such as L-1.
    """
    return ctx.one("SELECT status FROM lines WHERE line_id = ?", (line_id,)) or ctx.error("not_found", "no line")


@tool("read")
async def status_of(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """The same by another name.

    Args:
        line_id: such as L-1.
    """
    return ctx.one("SELECT status FROM lines WHERE line_id = upper(?)", (line_id,)) or ctx.error("not_found", "no line")


@tool("write")
async def set_plan(
    ctx: ToolContext,
    line_id: str,
    plan: Literal["basic", "plus"],
    weight: float = 1.0,
    note: str | None = None,
    silent: bool = False,
) -> dict[str, Any]:
    """Change a plan.

    Args:
        line_id: such as L-1.
        plan: which.
        weight: kept with it.
        note: kept beside it.
        silent: tell nobody.
    """
    if not ctx.run("UPDATE lines SET plan = ?, weight = ? WHERE line_id = ?", (plan, weight, line_id)):
        ctx.error("not_found", "no line")
    if note is not None:
        ctx.run("INSERT INTO notes VALUES (?, ?, ?, ?)", (ctx.next_id("notes"), line_id, note, ctx.now))
    return {"ok": True}


@tool("write")
async def upgrade(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Move a line to plus.

    Args:
        line_id: such as L-1.
    """
    ctx.run("UPDATE lines SET plan = 'plus' WHERE line_id = ?", (line_id,))
    return {"ok": True, "plan": "plus"}


@tool("write")
async def ping(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Change nothing.

    Args:
        line_id: such as L-1.
    """
    return {"ok": True}


@tool("write")
async def wave(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Change nothing either.

    Args:
        line_id: such as L-1.
    """
    return {"ok": True}


@tool("write")
async def transfer_to_human(ctx: ToolContext, why: str = "") -> dict[str, Any]:
    """Hand over.

    Args:
        why: the reason.
    """
    return {"ok": True}


WORLD = World(
    name="lines",
    company="Lines Ltd",
    desk="You answer.",
    schema=SCHEMA,
    images={"base": _fill},
    tools=[find_lines, rank_lines, line_status, status_of, set_plan, upgrade, ping, wave, transfer_to_human],
    lexicon=Lexicon(
        slots=[
            Slot("balance", "money", cues=["balance"]),
            Slot("due_date", "date", cues=["due"]),
            Slot("pin", "id", cues=["pin"], pattern=r"\d{4}"),
            Slot("line_id", "id", cues=["line"], pattern=r"L-\d"),
        ],
        proposals=[ProposalForm("upgrade", verbs=["upgrade"], slots={"line_id": "line_id"})],
    ),
    id_formats={"notes": "N-{:04d}"},
)
TASK = Task(
    id="lines/t/train-000",
    world="lines",
    world_version=WORLD.version,
    family="t",
    level=1,
    split="train",
    now="2026-03-02T09:00:00",
    image="base",
    request="Hello",
    outcomes=[Outcome(end="final")],
    criteria=[],
    oracle=[],
).sealed()


def calls(*made: tuple[str, dict[str, Any] | None], text: str = "") -> Turn:
    return Turn(text, "", [ToolCall(str(n), name, arguments, error=None if arguments is not None else "bad") for n, (name, arguments) in enumerate(made)])  # fmt: skip


def shown_by(turn: Turn) -> Demonstration:
    return asyncio.run(demonstrate(WORLD, turn, open_session(WORLD, TASK), 3))


def verdict(demonstration: Turn, sampled: Turn) -> Comparison:
    return asyncio.run(compare(WORLD, shown_by(demonstration), sampled, open_session(WORLD, TASK), 3))


ADA = ("find_lines", {"owner": "Ada"})
STATUS = ("line_status", {"line_id": "L-1"})
PLUS = ("set_plan", {"line_id": "L-1", "plan": "plus"})
SAY = Turn("Your balance is $167.00. Shall I upgrade line L-1?")


@pytest.mark.parametrize(
    ("demonstration", "sampled", "equal"),
    [
        # look-ups: the result decides, in the forked session
        (calls(ADA), calls(ADA), True),
        (calls(ADA), calls(("find_lines", {"owner": "da"})), True),
        (calls(ADA), calls(("find_lines", {"owner": "Ada", "last_first": False})), True),
        (calls(ADA), calls(("find_lines", {"owner": "Ada", "last_first": True})), True),  # a set of rows
        (calls(("rank_lines", {"owner": "Ada"})), calls(("rank_lines", {"owner": "Ada", "last_first": True})), False),
        (calls(("rank_lines", {"owner": "Ada"})), calls(("rank_lines", {"owner": "ada"})), True),
        (calls(("rank_lines", {"owner": "Ada"})), calls(("find_lines", {"owner": "Ada"})), True),
        (calls(("rank_lines", {"owner": "Ada"})), calls(("find_lines", {"owner": "Ada", "last_first": True})), False),
        (calls(ADA), calls(("find_lines", {"owner": ""})), False),
        (calls(ADA), calls(("find_lines", {"owner": "Bo"})), False),
        (calls(STATUS), calls(("status_of", {"line_id": "L-1"})), True),
        (calls(STATUS), calls(("status_of", {"line_id": " l-1"})), False),  # fails: no such line
        (calls(STATUS), calls(("status_of", {"line_id": "l-1"})), True),
        (calls(STATUS), calls(("line_status", {"line_id": "L-2"})), False),  # active too, and another line
        (calls(STATUS), calls(("line_status", {"line_id": "L-9"})), False),
        (calls(STATUS), calls(("line_status", {})), False),
        (calls(STATUS), calls(("line_state", {"line_id": "L-1"})), False),
        (calls(STATUS), calls(("line_status", None)), False),
        (calls(STATUS), calls(STATUS, text="Let me see."), True),  # text beside calls reaches nobody
        # writes: arguments after normalisation, or changes
        (calls(PLUS), calls(PLUS), True),
        (calls(PLUS), calls(("set_plan", {"plan": "plus", "line_id": "L-1"})), True),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "weight": 1})), True),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "weight": 1.0, "note": None, "silent": False})), True),
        (calls(PLUS), calls(("upgrade", {"line_id": "L-1"})), True),  # another tool, the same changes
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "silent": True})), True),  # other arguments, the same changes
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "weight": 1.5})), False),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "note": "x"})), False),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "plan": "Plus"})), False),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "weight": "1"})), False),
        (calls(PLUS), calls(("set_plan", {**PLUS[1], "line_id": "L-2"})), False),
        (calls(PLUS), calls(("upgrade", {"line_id": "L-2"})), False),
        (calls(PLUS), calls(("ping", {"line_id": "L-1"})), False),
        (calls(("set_plan", {**PLUS[1], "note": "She  asked."})), calls(("set_plan", {**PLUS[1], "note": " She asked. "})), True),
        (calls(("set_plan", {**PLUS[1], "note": "She asked."})), calls(("set_plan", {**PLUS[1], "note": "she asked."})), False),
        (calls(("ping", {"line_id": "L-1"})), calls(("ping", {"line_id": "L-1"})), True),
        (calls(("ping", {"line_id": "L-1"})), calls(("wave", {"line_id": "L-1"})), False),  # both change nothing
        (calls(("ping", {"line_id": "L-1"})), calls(("transfer_to_human", {})), False),
        (calls(("transfer_to_human", {})), calls(("transfer_to_human", {"why": ""})), True),
        (calls(("transfer_to_human", {})), calls(("ping", {"line_id": "L-1"})), False),
        (calls(STATUS), calls(("ping", {"line_id": "L-1"})), False),  # a read is no write
        # several calls: number and order
        (calls(ADA, STATUS), calls(ADA, STATUS), True),
        (calls(ADA, STATUS), calls(STATUS, ADA), False),
        (calls(ADA, STATUS), calls(ADA), False),
        (calls(ADA), calls(ADA, STATUS), False),
        (calls(ADA), calls(ADA, ADA), False),
        (calls(ADA, PLUS), calls(ADA, ("upgrade", {"line_id": "L-1"})), True),
        (calls(PLUS, ADA), calls(PLUS, ("find_lines", {"owner": "da"})), True),  # read after the write
        (calls(PLUS, ADA), calls(ADA, PLUS), False),
        (calls(PLUS, ("ping", {"line_id": "L-1"})), calls(PLUS, ("wave", {"line_id": "L-1"})), False),
        # messages: their events
        (SAY, SAY, True),
        (SAY, Turn("Should I upgrade line L-1? By the way, the balance is 167 dollars."), True),
        (SAY, Turn("Your balance is $167.00."), False),  # proposes nothing
        (SAY, Turn("Your balance is $176.00. Shall I upgrade line L-1?"), False),
        (SAY, Turn("Your balance is $167.00. Shall I upgrade line L-2?"), False),
        (SAY, Turn("Your balance is $167.00. Shall I upgrade line L-1? What is your PIN?"), False),
        (SAY, Turn("Your balance is $167.00. Your balance is $20.00. Shall I upgrade line L-1?"), False),
        (SAY, Turn("Thank you for your patience."), False),
        (SAY, Turn(""), False),
        (SAY, calls(STATUS, text=SAY.text), False),
        (calls(STATUS), Turn("The line is active."), False),
        (Turn("It is due on March 5, 2026."), Turn("It is due March 5."), True),
        (Turn("It is due on March 5, 2026."), Turn("It is due on March 5, 2027."), False),
        (Turn("What is your PIN?"), Turn("Please tell me your PIN."), True),
        (SAY, Turn(SAY.text, finish="length"), False),
    ],
)  # fmt: skip
def test_truth_table(demonstration: Turn, sampled: Turn, equal: bool) -> None:
    found = verdict(demonstration, sampled)
    assert found.equivalent is equal, found.reason
    assert (found.reason == "equivalent") is equal
    assert found.reason


def test_reasons_name_what_differs() -> None:
    assert verdict(calls(ADA), calls(ADA, ADA)).reason == "2 calls, where the demonstration makes 1"
    assert verdict(calls(STATUS), calls(("line_status", {"line_id": "L-2"}))).reason == (
        "line_status: an equal result of another record (line_id)"
    )
    assert verdict(SAY, Turn("Your balance is $176.00. Shall I upgrade line L-1?")).reason == (
        "says what the demonstration does not: stated balance 176.0"
    )
    assert verdict(SAY, Turn("Your balance is $167.00.")).reason.startswith("does not say: proposed upgrade")


def test_a_failing_call_stops_the_comparison() -> None:
    session = open_session(WORLD, TASK)
    found = asyncio.run(compare(WORLD, shown_by(calls(ADA, PLUS)), calls(("find_lines", {}), PLUS), session, 3))
    assert not found.equivalent
    assert [(call.tool, call.turn) for call in session.calls] == [("find_lines", 3)]
    assert session.changes() == []


def test_a_demonstration_keeps_what_it_did() -> None:
    shown = shown_by(calls(ADA, PLUS, ("transfer_to_human", {}), STATUS))
    assert [record.tool for record in shown.records] == ["find_lines", "set_plan", "transfer_to_human"]
    assert len(set(shown.changes)) == 2
    assert shown.before == shown.changes[0] != shown.changes[1] == shown.changes[2]
    assert (shown.kind, shown_by(calls(ADA)).kind, shown_by(SAY).kind) == ("write", "read", "message")


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (calls(ADA), None),
        (calls(STATUS, PLUS), None),
        (calls(("ping", {"line_id": "L-1"})), None),
        (calls(("line_status", {"line_id": "L-9"})), "error"),
        (calls(ADA, ("line_status", {"line_id": "L-9"})), "error"),
        (calls(("line_status", None)), "error"),
        (calls(("nothing", {})), "error"),
        (calls(("find_lines", {"owner": "Zoe"})), "empty"),
        (calls(ADA, ("find_lines", {"owner": "Zoe"})), "empty"),
        (SAY, None),
        (Turn("Thank you for your patience."), "no_events"),
        (Turn(""), "no_events"),
    ],
)
def test_what_is_no_candidate(turn: Turn, reason: str | None) -> None:
    assert unfit(shown_by(turn)) == reason


@pytest.mark.parametrize(
    ("result", "empty"),
    [
        (None, True),
        ([], True),
        ({}, True),
        ("", True),
        ({"total": 0, "matches": []}, True),
        ({"found": None}, True),
        ({"found": None, "more": False, "of": {"rows": []}}, True),
        ({"verified": False}, False),
        ({"balance": 0.0, "past_due": 0.0}, False),
        ({"city": "Alderport", "outages": []}, False),
        ({"total": 1, "matches": []}, False),
        ([[]], False),
        (0, False),
        (False, False),
        ("no", False),
    ],
)
def test_empty_results(result: Any, empty: bool) -> None:
    assert is_empty(result) is empty


def test_normalisation_follows_the_schema() -> None:
    whole = {"line_id": "L-1", "plan": "plus", "weight": 1.0, "note": None, "silent": False}
    assert normalised(set_plan, {"plan": "plus", "line_id": " L-1 ", "weight": 1}) == whole
    assert normalised(set_plan, {"plan": "plus", "line_id": "L-1", "note": "a\u0301 \n b"}) == {
        **whole,
        "note": "\u00e1 b",
    }
    assert normalised(set_plan, {"plan": "plus"}) is None
    assert normalised(set_plan, {"plan": "plus", "line_id": "L-1", "weight": True}) is None
