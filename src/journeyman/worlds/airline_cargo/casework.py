"""Cases of the desk, documented denials and managers' approvals."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records

Kind = Literal[
    "amendment", "booking", "claim", "complaint", "billing", "release", "tracing", "dangerous_goods", "other"
]
Request = Literal[
    "amendment",
    "booking",
    "rebooking",
    "cancellation_fee",
    "release",
    "claim",
    "fee_waiver",
    "discount",
    "dg_acceptance",
    "credit_release",
    "priority",
    "account_access",
]
Reason = Literal[
    "not_eligible",
    "not_authorized",
    "over_limit",
    "too_late",
    "embargo",
    "inactive",
    "held",
    "dg_refused",
    "cut_off_passed",
    "already_used",
]


@tool("read")
async def find_cases(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """Find the cases about one air waybill, newest first, closed ones too.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    return ctx.all(
        "SELECT case_id, kind, status, substr(opened_at, 1, 10) AS opened_on FROM cases WHERE awb = ? "
        "ORDER BY opened_at DESC, case_id DESC LIMIT 10",
        (awb,),
    )


@tool("read")
async def list_cases(
    ctx: ToolContext, client_id: str, status: Literal["open", "pending", "closed"] | None = None
) -> list[dict[str, Any]]:
    """List the cases of a client, newest first, whatever waybill they are about.

    Args:
        client_id: such as CL-1001.
        status: only those in this state.
    """
    records.client(ctx, client_id)
    return ctx.all(
        "SELECT case_id, kind, awb, status, substr(opened_at, 1, 10) AS opened_on FROM cases WHERE client_id = ? "
        "AND (? IS NULL OR status = ?) ORDER BY opened_at DESC, case_id DESC LIMIT 10",
        (client_id, status, status),
    )


@tool("read")
async def get_case(ctx: ToolContext, case_id: str) -> dict[str, Any]:
    """Read one case with its notes.

    Args:
        case_id: such as CS-7001.
    """
    row = records.case(ctx, case_id)
    kept = ["case_id", "client_id", "awb", "kind", "priority", "status", "summary"]
    kept += ["resolution"] if row["resolution"] is not None else []
    notes = ctx.all(
        "SELECT visibility, body FROM case_notes WHERE case_id = ? ORDER BY written_at, note_id", (case_id,)
    )
    return {key: row[key] for key in kept} | {"opened_on": row["opened_at"][:10], "notes": notes}


@tool("write")
async def create_case(
    ctx: ToolContext,
    client_id: str,
    kind: Kind,
    summary: str,
    awb: str | None = None,
    priority: Literal["low", "normal", "high"] = "normal",
) -> dict[str, Any]:
    """Open a case for a client. Looks for no older one: see find_cases and list_cases first.

    Args:
        client_id: such as CL-1001.
        kind: what it is about.
        summary: one sentence.
        awb: the waybill it is about, if any.
        priority: how urgent.
    """
    records.client(ctx, client_id)
    if awb is not None and records.waybill(ctx, awb)["client_id"] != client_id:
        ctx.error("invalid_state", f"waybill {awb} is not of client {client_id}")
    values = (client_id, awb, kind, priority, "open", None, summary, ctx.now, None)
    return {"ok": True, "case_id": desk.add(ctx, "cases", *values)}


@tool("write")
async def add_case_note(
    ctx: ToolContext, case_id: str, note: str, visibility: Literal["internal", "client"] = "internal"
) -> dict[str, Any]:
    """Add a note to a case that is not closed.

    Args:
        case_id: such as CS-7001.
        note: what to write.
        visibility: who may read it.
    """
    if records.case(ctx, case_id)["status"] == "closed":
        ctx.error("invalid_state", f"case {case_id} is closed")
    return {"ok": True, "note_id": desk.add(ctx, "case_notes", case_id, visibility, note, ctx.now)}


@tool("write")
async def close_case(
    ctx: ToolContext, case_id: str, resolution: Literal["done", "denied", "duplicate", "withdrawn"]
) -> dict[str, Any]:
    """Close a case.

    Args:
        case_id: such as CS-7001.
        resolution: how it ended.
    """
    if records.case(ctx, case_id)["status"] == "closed":
        ctx.error("invalid_state", f"case {case_id} is already closed")
    ctx.run(
        "UPDATE cases SET status = 'closed', resolution = ?, closed_at = ? WHERE case_id = ?",
        (resolution, ctx.now, case_id),
    )
    return {"ok": True}


@tool("write")
async def document_denial(
    ctx: ToolContext,
    client_id: str,
    request: Request,
    reason: Reason,
    article_id: str,
    awb: str | None = None,
    details: str | None = None,
) -> dict[str, Any]:
    """Document that a request was refused, and by which current policy article.

    Args:
        client_id: such as CL-1001.
        request: what was asked for.
        reason: why it was refused.
        article_id: the article that demands it, such as AWB-AMEND.
        awb: the waybill it was about, if any.
        details: anything else worth keeping.
    """
    records.client(ctx, client_id)
    if awb is not None:
        records.waybill(ctx, awb)
    desk.current_article(ctx, article_id)
    values = (client_id, awb, request, reason, article_id, details, ctx.now)
    return {"ok": True, "denial_id": desk.add(ctx, "denials", *values)}


@tool("write")
async def request_approval(
    ctx: ToolContext,
    client_id: str,
    kind: Literal["discount", "fee_waiver", "claim", "credit_release"],
    amount: float,
) -> dict[str, Any]:
    """Ask a manager to approve something above the desk's limit. The answer comes later, never in this call.

    Args:
        client_id: such as CL-1001.
        kind: what is to be approved.
        amount: dollars it is about.
    """
    records.active_client(ctx, client_id)
    cents = records.cents_of(ctx, amount)
    approval_id = desk.add(ctx, "approvals", client_id, kind, cents, "pending", ctx.now)
    return {"ok": True, "approval_id": approval_id, "status": "pending"}


@tool("read")
async def list_approvals(ctx: ToolContext, client_id: str) -> list[dict[str, Any]]:
    """List managers' approvals for a client, newest first, amounts in dollars.

    Args:
        client_id: such as CL-1001.
    """
    records.client(ctx, client_id)
    rows = ctx.all(
        "SELECT approval_id, kind, amount_cents, status FROM approvals WHERE client_id = ? "
        "ORDER BY requested_at DESC, approval_id DESC LIMIT 10",
        (client_id,),
    )
    return [desk.in_dollars(row) for row in rows]


TOOLS: list[Tool] = [
    find_cases,
    list_cases,
    get_case,
    create_case,
    add_case_note,
    close_case,
    document_denial,
    request_approval,
    list_approvals,
]
