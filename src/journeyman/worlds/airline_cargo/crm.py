"""Client records: finding, reading, verifying, correcting. Never returns a PIN or its hash."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.secrets import hashed

Section = Literal["contacts", "accounts", "contracts", "cases", "interactions", "messages"]


class ContactChanges(TypedDict, total=False):
    """The contact fields to overwrite; those left out stay as they are."""

    email: str
    phone: str
    city: str


@tool("read", ordered=False)
async def find_client(ctx: ToolContext, name: str, city: str | None = None) -> dict[str, Any]:
    """Search clients by part of their name, at most 6 matches. Sister firms and namesakes exist: compare city and status.

    Args:
        name: part of the name, at least 3 letters, any case.
        city: only clients of this city.
    """
    return desk.find_by_name(ctx, "clients", "client_id", name, city, letters=3, most=6)


@tool("read", ordered=False)
async def get_client(ctx: ToolContext, client_id: str) -> dict[str, Any]:
    """Read one client: name, kind, status and contact address. For people and contracts use get_client_profile_v2.

    Args:
        client_id: such as CL-1001.
    """
    row = records.client(ctx, client_id)
    return {key: row[key] for key in ("client_id", "name", "kind", "status", "email", "phone", "city")}


_SECTIONS: dict[str, str] = {
    "contacts": "SELECT name, role FROM client_contacts WHERE client_id = ? ORDER BY contact_id",
    "accounts": "SELECT account_id, status FROM credit_accounts WHERE client_id = ? ORDER BY account_id",
    "contracts": "SELECT contract_id, status, valid_from, valid_to FROM contracts WHERE client_id = ? "
    "ORDER BY valid_from, contract_id",
    "cases": "SELECT case_id, kind, status FROM cases WHERE client_id = ? ORDER BY case_id DESC LIMIT 8",
    "interactions": "SELECT channel, summary, substr(logged_at, 1, 10) AS date FROM interactions "
    "WHERE client_id = ? ORDER BY logged_at DESC, interaction_id DESC LIMIT 5",
    "messages": "SELECT channel, template, substr(sent_at, 1, 10) AS date FROM messages WHERE client_id = ? "
    "ORDER BY sent_at DESC, message_id DESC LIMIT 5",
}


@tool("read", ordered=False)
async def get_client_profile_v2(
    ctx: ToolContext, client_id: str, include: list[Section] | None = None
) -> dict[str, Any]:
    """Read the full profile of one client, with the sections asked for.

    Args:
        client_id: such as CL-1001.
        include: sections to add; contacts are the people who may speak for the client, with their role. Default: none.
    """
    row = records.client(ctx, client_id)
    profile = {key: row[key] for key in ("client_id", "name", "kind", "status", "city", "country")}
    for section in include or []:
        profile[section] = ctx.all(_SECTIONS[section], (client_id,))
    return profile


@tool("read")
async def verify_client(ctx: ToolContext, client_id: str, pin: str) -> dict[str, Any]:
    """Check the desk PIN that somebody gives for a client. Says only whether it is right.

    Args:
        client_id: such as CL-1001.
        pin: the four digits that were given.
    """
    row = records.client(ctx, client_id)
    return {"verified": row["desk_pin_hash"] == hashed(client_id, desk.digits(ctx, "pin", pin, 4))}


@tool("write")
async def update_client_contact(ctx: ToolContext, client_id: str, changes: ContactChanges) -> dict[str, Any]:
    """Overwrite contact details of an active client. Only the fields given change.

    Args:
        client_id: such as CL-1001.
        changes: the new values by field.
    """
    row = records.active_client(ctx, client_id)
    for field, value in changes.items():
        desk.filled(ctx, f"changes.{field}", str(value))
    return {"ok": True, "changed": sorted(desk.overwrite(ctx, "clients", "client_id", row, changes))}


@tool("write")
async def log_interaction(
    ctx: ToolContext, client_id: str, channel: Literal["phone", "chat", "email", "edi"], summary: str
) -> dict[str, Any]:
    """Write a line into the contact history of a client. For work to be done use create_case.

    Args:
        client_id: such as CL-1001.
        channel: where the contact took place.
        summary: one sentence.
    """
    records.client(ctx, client_id)
    desk.add(ctx, "interactions", client_id, channel, summary, ctx.now)
    return {"ok": True}


TOOLS: list[Tool] = [
    find_client,
    get_client,
    get_client_profile_v2,
    verify_client,
    update_client_contact,
    log_interaction,
]
