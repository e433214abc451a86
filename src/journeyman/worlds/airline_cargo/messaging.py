"""Messages to clients and stations. Each one sent is a row: a message nobody wanted is a change like any other."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records

Template = Literal["confirmation", "notice", "quote", "reminder"]


@tool("write")
async def send_chat_message(ctx: ToolContext, client_id: str, template: Template, body: str) -> dict[str, Any]:
    """Post into the chat room that the desk shares with a client's dispatchers. Not this conversation.

    Args:
        client_id: such as CL-1001.
        template: kind of message.
        body: the text, at most 600 characters.
    """
    if len(body) > 600:
        ctx.error("invalid_argument", "argument `body`: at most 600 characters; use send_email")
    return _send(ctx, client_id, "chat", template, body)


@tool("write")
async def send_email(ctx: ToolContext, client_id: str, template: Template, body: str) -> dict[str, Any]:
    """E-mail a client at its desk address.

    Args:
        client_id: such as CL-1001.
        template: kind of message.
        body: the text.
    """
    return _send(ctx, client_id, "email", template, body)


def _send(ctx: ToolContext, client_id: str, channel: str, template: str, body: str) -> dict[str, Any]:
    records.client(ctx, client_id)
    desk.filled(ctx, "body", body)
    return {"ok": True, "message_id": desk.add(ctx, "messages", client_id, channel, template, body, ctx.now)}


@tool("write")
async def send_edi(
    ctx: ToolContext, awb: str, kind: Literal["FWB", "FSU", "FHL", "FNA"], station: str
) -> dict[str, Any]:
    """Send a waybill message from system to system to a station: FWB waybill, FHL houses, FSU status, FNA error.

    Args:
        awb: such as 927-40010154.
        kind: which message.
        station: who receives it, such as HVP.
    """
    records.waybill(ctx, awb)
    code = records.station(ctx, station)["station"]
    return {"ok": True, "edi_id": desk.add(ctx, "edi_messages", awb, kind, code, ctx.now)}


TOOLS: list[Tool] = [send_chat_message, send_email, send_edi]
