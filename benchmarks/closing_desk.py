"""The smallest world there is: cases that are closed with one message. A tiny random model learns it in seconds, and the
length of what it says tells its attempts apart, so that every part of training has something to do."""

from __future__ import annotations

from typing import Any

import apsw

from journeyman.task import Outcome, Say, Split, Task
from journeyman.world import Family, ToolContext, World, task_id, tool

SCHEMA = "CREATE TABLE cases (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL) STRICT;"


def fill(db: apsw.Connection) -> None:
    """The rows of the only image."""
    db.executemany("INSERT INTO cases VALUES (?, ?)", [(f"C{n}", f"case {n}") for n in range(3)])


@tool("read")
async def look(ctx: ToolContext, case: str) -> dict[str, Any] | None:
    """Read a case.

    Args:
        case: its id.
    """
    return ctx.one("SELECT * FROM cases WHERE id = ?", (case,))


@tool("write")
async def transfer_to_human(ctx: ToolContext) -> str:
    """Hand over to a person."""
    return "transferred"


def _closing(world: World, seed: int, split: Split) -> Task:
    return Task(
        id=task_id(world.name, "closing", split, seed),
        world=world.name,
        world_version=world.version,
        family="closing",
        level=1,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        request=f"Close {seed}.",
        outcomes=[Outcome(end="final")],
        criteria=[],
        oracle=[Say("Done.")],
    )


WORLD = World(
    name="closing_desk",
    company="Closing Ltd",
    desk="You close cases.",
    schema=SCHEMA,
    images={"base": fill},
    tools=[look, transfer_to_human],
    families=[Family("closing", 1, _closing, train=6, heldout=4)],
)
