"""Messages to customers. Each one sent is a row: a message nobody wanted is a change like any other."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records

Template = Literal["confirmation", "receipt", "reminder", "notice"]


@tool("write")
async def send_sms(ctx: ToolContext, customer_id: str, template: Template, body: str) -> dict[str, Any]:
    """Text a customer at their contact number.

    Args:
        customer_id: such as C-1001.
        template: kind of message.
        body: the text, at most 320 characters.
    """
    if len(body) > 320:
        ctx.error("invalid_argument", "argument `body`: at most 320 characters; use send_email")
    return _send(ctx, customer_id, "sms", template, body)


@tool("write")
async def send_email(ctx: ToolContext, customer_id: str, template: Template, body: str) -> dict[str, Any]:
    """E-mail a customer at their contact address.

    Args:
        customer_id: such as C-1001.
        template: kind of message.
        body: the text.
    """
    return _send(ctx, customer_id, "email", template, body)


def _send(ctx: ToolContext, customer_id: str, channel: str, template: str, body: str) -> dict[str, Any]:
    records.customer(ctx, customer_id)
    return {"ok": True, "message_id": desk.add(ctx, "messages", customer_id, channel, template, body, ctx.now)}


TOOLS: list[Tool] = [send_sms, send_email]
