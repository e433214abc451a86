"""Desk tickets, back-office cases, documented denials and supervisor approvals."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records

Topic = Literal["billing", "network", "device", "sim", "porting", "plan", "other"]
Request = Literal[
    "refund",
    "fee_waiver",
    "credit",
    "plan_change",
    "roaming",
    "port_out",
    "device_upgrade",
    "payment",
    "arrangement",
    "account_access",
    "restore",
]
Reason = Literal[
    "not_eligible", "already_used", "over_limit", "not_authorized", "inactive", "past_due", "in_contract", "too_late"
]


@tool("write")
async def create_ticket(
    ctx: ToolContext,
    account_id: str,
    topic: Topic,
    summary: str,
    line_id: str | None = None,
    priority: Literal["low", "normal", "high"] = "normal",
) -> dict[str, Any]:
    """Open a desk ticket for work to be done on an account. For complaints, fraud or privacy use create_case.

    Args:
        account_id: such as A-2001.
        topic: what it is about.
        summary: one sentence.
        line_id: the line concerned, if it is about one.
        priority: how urgent.
    """
    records.account(ctx, account_id)
    if line_id is not None and records.line(ctx, line_id)["account_id"] != account_id:
        ctx.error("invalid_state", f"line {line_id} is not of account {account_id}")
    values = (account_id, line_id, topic, priority, "open", None, summary, ctx.now, None)
    return {"ok": True, "ticket_id": desk.add(ctx, "tickets", *values)}


@tool("read")
async def list_tickets(
    ctx: ToolContext, account_id: str, status: Literal["open", "pending", "closed"] | None = None
) -> list[dict[str, Any]]:
    """List the tickets of an account, newest first.

    Args:
        account_id: such as A-2001.
        status: only those in this state.
    """
    records.account(ctx, account_id)
    return ctx.all(
        "SELECT ticket_id, topic, status FROM tickets WHERE account_id = ? AND (? IS NULL OR status = ?) "
        "ORDER BY opened_at DESC, ticket_id DESC LIMIT 10",
        (account_id, status, status),
    )


@tool("read")
async def get_ticket(ctx: ToolContext, ticket_id: str) -> dict[str, Any]:
    """Read one ticket with its notes.

    Args:
        ticket_id: such as TK-6001.
    """
    row = records.ticket(ctx, ticket_id)
    kept = ["ticket_id", "account_id", "topic", "priority", "status", "summary"]
    kept += [key for key in ("line_id", "resolution") if row[key] is not None]
    notes = ctx.all(
        "SELECT visibility, body FROM ticket_notes WHERE ticket_id = ? ORDER BY written_at, note_id", (ticket_id,)
    )
    return {key: row[key] for key in kept} | {"opened_on": row["opened_at"][:10], "notes": notes}


@tool("write")
async def add_ticket_note(
    ctx: ToolContext, ticket_id: str, note: str, visibility: Literal["internal", "customer"] = "internal"
) -> dict[str, Any]:
    """Add a note to a ticket that is not closed.

    Args:
        ticket_id: such as TK-6001.
        note: what to write.
        visibility: who may read it.
    """
    if records.ticket(ctx, ticket_id)["status"] == "closed":
        ctx.error("invalid_state", f"ticket {ticket_id} is closed")
    return {"ok": True, "note_id": desk.add(ctx, "ticket_notes", ticket_id, visibility, note, ctx.now)}


@tool("write")
async def close_ticket(
    ctx: ToolContext, ticket_id: str, resolution: Literal["solved", "denied", "duplicate", "no_fault"]
) -> dict[str, Any]:
    """Close a ticket.

    Args:
        ticket_id: such as TK-6001.
        resolution: how it ended.
    """
    if records.ticket(ctx, ticket_id)["status"] == "closed":
        ctx.error("invalid_state", f"ticket {ticket_id} is already closed")
    ctx.run(
        "UPDATE tickets SET status = 'closed', resolution = ?, closed_at = ? WHERE ticket_id = ?",
        (resolution, ctx.now, ticket_id),
    )
    return {"ok": True}


@tool("write")
async def create_case(
    ctx: ToolContext,
    customer_id: str,
    kind: Literal["complaint", "fraud", "privacy", "bereavement"],
    description: str,
) -> dict[str, Any]:
    """Open a back-office case about a customer. For ordinary desk work use create_ticket.

    Args:
        customer_id: such as C-1001.
        kind: which back office takes it.
        description: what happened.
    """
    records.customer(ctx, customer_id)
    return {"ok": True, "case_id": desk.add(ctx, "cases", customer_id, kind, "open", description, ctx.now)}


@tool("write")
async def document_denial(
    ctx: ToolContext,
    account_id: str,
    request: Request,
    reason: Reason,
    article_id: str,
    details: str | None = None,
) -> dict[str, Any]:
    """Document that a customer's request was refused, and by which current policy article.

    Args:
        account_id: such as A-2001.
        request: what was asked for.
        reason: why it was refused.
        article_id: the article that demands it, such as FEE-LATE.
        details: anything else worth keeping.
    """
    records.account(ctx, account_id)
    desk.current_article(ctx, article_id)
    return {
        "ok": True,
        "denial_id": desk.add(ctx, "denials", account_id, request, reason, article_id, details, ctx.now),
    }


@tool("write")
async def request_approval(
    ctx: ToolContext,
    account_id: str,
    kind: Literal["credit", "refund", "arrangement", "fee_waiver"],
    amount: float,
) -> dict[str, Any]:
    """Ask a supervisor to approve something above the desk's limit. The duty manager's answer is the status; it may be
    pending.

    Args:
        account_id: such as A-2001.
        kind: what is to be approved.
        amount: dollars.
    """
    records.open_account(ctx, account_id)
    cents = records.cents_of(ctx, amount)
    found = ctx.one("SELECT answer FROM duty_answers WHERE account_id = ? AND kind = ?", (account_id, kind))
    status = "pending" if found is None else found["answer"]
    approval_id = desk.add(ctx, "approvals", account_id, kind, cents, status, ctx.now)
    return {"ok": True, "approval_id": approval_id, "status": status}


@tool("read")
async def list_approvals(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List supervisor approvals of an account, newest first, amounts in dollars.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    rows = ctx.all(
        "SELECT approval_id, kind, amount_cents, status, substr(requested_at, 1, 10) AS requested_on FROM approvals "
        "WHERE account_id = ? "
        "ORDER BY requested_at DESC, approval_id DESC LIMIT 10",
        (account_id,),
    )
    return [desk.in_dollars(row) for row in rows]


TOOLS: list[Tool] = [
    create_ticket,
    list_tickets,
    get_ticket,
    add_ticket_note,
    close_ticket,
    create_case,
    document_denial,
    request_approval,
    list_approvals,
]
