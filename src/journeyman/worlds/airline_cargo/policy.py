"""Policy look-up, and the way out of the desk: handing over to a person."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, tool


@tool("read")
async def search_policy(ctx: ToolContext, query: str, limit: int = 3) -> list[dict[str, Any]]:
    """Search the policy articles, best match first. Superseded versions are found too: look at the status.

    Args:
        query: a few words.
        limit: most articles to return, 1 to 8.
    """
    if not 1 <= limit <= 8:
        ctx.error("invalid_argument", "argument `limit`: 1 to 8")
    return [
        {
            "article_id": found["id"],
            "title": found["title"],
            "status": found["status"],
            "effective": found["effective"],
            "excerpt": found["excerpt"],
        }
        for found in ctx.search(query, limit)
    ]


@tool("read")
async def get_policy_article(ctx: ToolContext, article_id: str) -> dict[str, Any]:
    """Read one policy article whole.

    Args:
        article_id: such as AWB-AMEND.
    """
    found = ctx.article(article_id)
    if found is None:
        ctx.error("not_found", f"no policy article {article_id!r}; see search_policy")
    return {
        "article_id": found["id"],
        "title": found["title"],
        "status": found["status"],
        "effective": found["effective"],
        "body": found["body"],
    }


@tool("write")
async def transfer_to_human(
    ctx: ToolContext,
    queue: Literal["supervisor", "claims", "security", "capacity", "accounts", "general"],
    summary: str,
) -> dict[str, Any]:
    """Hand the conversation over to a person and end it. Only where the policy says so or nothing else is possible.

    Args:
        queue: who takes over.
        summary: what they need to know.
    """
    ctx.run("INSERT INTO transfers VALUES (?, ?, ?, ?)", (ctx.next_id("transfers"), queue, summary, ctx.now))
    return {"ok": True, "queue": queue}


TOOLS: list[Tool] = [search_policy, get_policy_article, transfer_to_human]
