"""A small world with all kinds of turns: a look-up, a write and a message that tells a fact. A tiny random model learns its few
tasks in seconds, well enough to fail now and then."""

from __future__ import annotations

from typing import Any

import apsw

from journeyman.task import Call, ExpectedRow, Fact, Outcome, Say, Split, Task
from journeyman.world import Family, Lexicon, Slot, ToolContext, World, task_id, tool

SCHEMA = "CREATE TABLE cases (id TEXT NOT NULL PRIMARY KEY, fee INTEGER NOT NULL, status TEXT NOT NULL) STRICT;"


def _fill(db: apsw.Connection) -> None:
    db.executemany("INSERT INTO cases VALUES (?, ?, 'open')", [(f"C{n}", n + 2) for n in range(4)])


@tool("read")
async def look(ctx: ToolContext, id: str) -> dict[str, Any]:
    """Read a case.

    Args:
        id: of the case.
    """
    return ctx.one("SELECT fee FROM cases WHERE id = ?", (id,)) or ctx.error("not_found", "no such case")


@tool("write")
async def close(ctx: ToolContext, id: str) -> dict[str, Any]:
    """Close a case.

    Args:
        id: of the case.
    """
    if not ctx.run("UPDATE cases SET status = 'closed' WHERE id = ?", (id,)):
        ctx.error("not_found", "no such case")
    return {"ok": True}


@tool("write")
async def transfer_to_human(ctx: ToolContext) -> str:
    """Hand over to a person."""
    return "transferred"


def _filing(world: World, seed: int, split: Split) -> Task:
    case = f"C{seed % 4}"
    fee = seed % 4 + 2
    return Task(
        id=task_id(world.name, "filing", split, seed),
        world=world.name,
        world_version=world.version,
        family="filing",
        level=1,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        request=f"Close {case}. ({seed})",
        outcomes=[
            Outcome(
                rows=[ExpectedRow("case", "cases", "update", {"id": case}, {"status": "closed"})],
                facts=[Fact("fee", float(fee))],
                end="final",
            )
        ],
        criteria=[],
        oracle=[Call("look", {"id": case}), Call("close", {"id": case}), Say(f"The fee is ${fee}.00.")],
    )


WORLD = World(
    name="filing_desk",
    company="Filing Ltd",
    desk="You close cases.",
    schema=SCHEMA,
    images={"base": _fill},
    tools=[look, close, transfer_to_human],
    families=[Family("filing", 1, _filing, train=6, heldout=4)],
    lexicon=Lexicon(slots=[Slot("fee", "money", cues=["fee"])]),
)
