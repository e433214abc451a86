"""Policy look-up, and the way out of the desk: handing over to a person."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool


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
    return desk.hand_over(ctx, queue, summary)


TOOLS: list[Tool] = [desk.search_policy, desk.policy_article("AWB-AMEND"), transfer_to_human]
