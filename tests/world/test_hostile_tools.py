"""Tools and families of careless authors: what they must not reach, and whose name the error bears."""

from __future__ import annotations

import asyncio
from typing import Any

import library_desk
import pytest
from library_desk import library

from journeyman.errors import WorldError
from journeyman.world import Family, ToolContext, open_session, tool

STATEMENTS = [
    "ROLLBACK", "COMMIT", "END", "BEGIN", "SAVEPOINT x", "RELEASE call", "PRAGMA user_version", "ATTACH ':memory:' AS x",
    "DETACH main", "VACUUM", "CREATE TABLE x (a)", "DROP TABLE loans", "/* */ -- \n rollback", "UPDATE loans SET member_id = member_id WHERE 0; ROLLBACK",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_tool_only_queries_and_changes_rows(kind: Any, sql: str) -> None:
    async def sly(ctx: ToolContext) -> None:
        """Tries."""
        try:
            ctx.run(sql)
        except Exception:
            ctx.run("SELECT 1")

    async def open_sly(ctx: ToolContext) -> None:
        """Tries, and says so."""
        ctx.run(sql)

    world = library(tools=[*library_desk.TOOLS, tool(kind)(sly), tool(kind)(open_sly)])
    session = open_session(world, world.tasks("train")[0])
    kept = asyncio.run(session.call("set_status", {"member_id": "M-1", "status": "blocked"}))
    assert kept.status == "ok"
    before = session.changes()
    assert before
    asyncio.run(session.call("sly", {}))
    assert asyncio.run(session.call("open_sly", {})).code == "internal_error"
    assert session.changes() == before
    assert asyncio.run(session.call("set_status", {"member_id": "M-1", "status": "active"})).status == "ok"


def test_a_family_that_raises_is_named() -> None:
    def make(*_: Any) -> Any:
        raise KeyError("x")

    world = library(families=[Family("shaky", 1, make, train=1)])
    with pytest.raises(WorldError, match=r"family shaky: train 0: raised KeyError"):
        world.tasks()
