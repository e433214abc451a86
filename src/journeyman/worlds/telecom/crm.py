"""Customer records: finding, reading, verifying, correcting. Never returns a PIN or its hash."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records
from journeyman.worlds.telecom.secrets import hashed

Section = Literal["accounts", "contacts", "cases", "interactions", "messages"]


class ContactChanges(TypedDict, total=False):
    """The contact fields to overwrite; those left out stay as they are."""

    email: str
    phone: str
    street: str
    city: str
    postcode: str


@tool("read", ordered=False)
async def find_customer(ctx: ToolContext, name: str, city: str | None = None) -> dict[str, Any]:
    """Search customers by part of their name, at most 5 matches. Several people may share a name: compare the city.

    Args:
        name: part of the name, at least 2 letters, any case.
        city: only customers of this city.
    """
    return desk.find_by_name(ctx, "customers", "customer_id", name, city, letters=2, most=5)


@tool("read", ordered=False)
async def get_customer(ctx: ToolContext, customer_id: str) -> dict[str, Any]:
    """Read one customer and the ids of their accounts.

    Args:
        customer_id: such as C-1001.
    """
    row = records.customer(ctx, customer_id)
    accounts = ctx.all("SELECT account_id FROM accounts WHERE customer_id = ? ORDER BY account_id", (customer_id,))
    kept = ("customer_id", "name", "kind", "status", "email", "phone", "city")
    return {key: row[key] for key in kept} | {"accounts": [item["account_id"] for item in accounts]}


_SECTIONS: dict[str, str] = {
    "accounts": "SELECT account_id, status, autopay, billing, opened_on FROM accounts WHERE customer_id = ? "
    "ORDER BY account_id",
    "contacts": "SELECT c.account_id, c.name, c.role FROM account_contacts c JOIN accounts a USING (account_id) "
    "WHERE a.customer_id = ? ORDER BY c.contact_id",
    "cases": "SELECT case_id, kind, status FROM cases WHERE customer_id = ? ORDER BY case_id",
    "interactions": "SELECT channel, summary, substr(logged_at, 1, 10) AS date FROM interactions "
    "WHERE customer_id = ? ORDER BY logged_at DESC, interaction_id DESC LIMIT 5",
    "messages": "SELECT channel, template, substr(sent_at, 1, 10) AS date FROM messages WHERE customer_id = ? "
    "ORDER BY sent_at DESC, message_id DESC LIMIT 5",
}


@tool("read", ordered=False)
async def get_customer_profile_v2(
    ctx: ToolContext, customer_id: str, include: list[Section] | None = None
) -> dict[str, Any]:
    """Read the full profile of one customer: postal address, consent to marketing, and the sections asked for.

    Args:
        customer_id: such as C-1001.
        include: sections to add; contacts are the people who may act on the accounts. Default: none.
    """
    row = records.customer(ctx, customer_id)
    profile = {key: row[key] for key in ("customer_id", "name", "kind", "status", "marketing")}
    profile["address"] = {key: row[key] for key in ("street", "city", "postcode")}
    for section in include or []:
        profile[section] = ctx.all(_SECTIONS[section], (customer_id,))
    return profile


@tool("read")
async def verify_identity(ctx: ToolContext, customer_id: str, pin: str) -> dict[str, Any]:
    """Check the account PIN that a caller gives. Says only whether it is right.

    Args:
        customer_id: such as C-1001.
        pin: the four digits the caller gave.
    """
    row = records.customer(ctx, customer_id)
    return {"verified": row["pin_hash"] == hashed(customer_id, desk.digits(ctx, "pin", pin, 4))}


@tool("read")
async def find_account(ctx: ToolContext, phone: str) -> dict[str, Any]:
    """Find the account that a phone number belongs to.

    Args:
        phone: number of one of the account's lines, such as 555-0142.
    """
    row = ctx.one(
        "SELECT a.account_id, a.customer_id, a.status FROM lines l JOIN accounts a USING (account_id) WHERE l.phone = ?",
        (phone,),
    )
    if row is None:
        ctx.error("not_found", f"no line with phone {phone!r}; numbers look like 555-0142")
    return row


@tool("read", ordered=False)
async def get_account(ctx: ToolContext, account_id: str) -> dict[str, Any]:
    """Read one account: holder, status, billing settings and the ids of its lines. For money use get_balance.

    Args:
        account_id: such as A-2001.
    """
    row = records.account(ctx, account_id)
    lines = ctx.all("SELECT line_id FROM lines WHERE account_id = ? ORDER BY line_id", (account_id,))
    return {
        "account_id": account_id,
        "customer_id": row["customer_id"],
        "name": records.customer(ctx, row["customer_id"])["name"],
        "status": row["status"],
        "autopay": row["autopay"],
        "billing": row["billing"],
        "lines": [item["line_id"] for item in lines],
    }


@tool("write")
async def update_contact(ctx: ToolContext, customer_id: str, changes: ContactChanges) -> dict[str, Any]:
    """Overwrite contact details of an active customer. Only the fields given change.

    Args:
        customer_id: such as C-1001.
        changes: the new values by field.
    """
    row = records.customer(ctx, customer_id)
    if row["status"] != "active":
        ctx.error("inactive", f"customer {customer_id} is inactive")
    for field, value in changes.items():
        desk.filled(ctx, f"changes.{field}", str(value))
    return {"ok": True, "changed": sorted(desk.overwrite(ctx, "customers", "customer_id", row, changes))}


@tool("write")
async def log_interaction(
    ctx: ToolContext, customer_id: str, channel: Literal["phone", "chat", "email", "store"], summary: str
) -> dict[str, Any]:
    """Write a line into the contact history of a customer. For work to be done use create_ticket.

    Args:
        customer_id: such as C-1001.
        channel: where the contact took place.
        summary: one sentence.
    """
    records.customer(ctx, customer_id)
    desk.add(ctx, "interactions", customer_id, channel, summary, ctx.now)
    return {"ok": True}


TOOLS: list[Tool] = [
    find_customer,
    get_customer,
    get_customer_profile_v2,
    verify_identity,
    find_account,
    get_account,
    update_contact,
    log_interaction,
]
