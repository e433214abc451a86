"""Contracts, credit accounts, invoices, holds. Amounts are decimal dollars; floor prices and bank data never leave."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records


@tool("read")
async def list_contracts(ctx: ToolContext, client_id: str) -> list[dict[str, Any]]:
    """List all contracts of a client, oldest first: id, status, dates. For the terms use get_contract.

    Args:
        client_id: such as CL-1001.
    """
    records.client(ctx, client_id)
    return ctx.all(
        "SELECT contract_id, status, valid_from, valid_to FROM contracts WHERE client_id = ? "
        "ORDER BY valid_from, contract_id",
        (client_id,),
    )


@tool("read")
async def get_contract(ctx: ToolContext, contract_id: str) -> dict[str, Any]:
    """Read the terms of one contract: volumetric divisor in cm3 per kg, discount, free days, cancellation, amendments.

    Args:
        contract_id: such as CT-3001.
    """
    row = records.contract(ctx, contract_id)
    kept = ("contract_id", "client_id", "status", "divisor", "discount_percent", "extra_free_days", "free_cancel_hours")
    return {key: row[key] for key in (*kept, "free_amendments", "valid_from", "valid_to")}


@tool("read")
async def get_credit_account(ctx: ToolContext, client_id: str) -> dict[str, Any]:
    """Read the credit account of a client: status, limit, balance and past-due sum in dollars.

    Args:
        client_id: such as CL-1001.
    """
    records.client(ctx, client_id)
    row = records.credit_account(ctx, client_id)
    if row is None:
        ctx.error("not_found", f"client {client_id} has no credit account: it pays in advance")
    return {
        "account_id": row["account_id"],
        "status": row["status"],
        "hold_reason": row["hold_reason"],
        "limit": desk.dollars(row["limit_cents"]),
        "balance": desk.dollars(row["balance_cents"]),
        "past_due": desk.dollars(_past_due_cents(ctx, row["account_id"])),
        "terms_days": row["terms_days"],
    }


@tool("read")
async def check_credit(ctx: ToolContext, client_id: str, amount: float) -> dict[str, Any]:
    """Check whether new freight fits a client's credit limit. Knows no tolerance; reserves nothing.

    Args:
        client_id: such as CL-1001.
        amount: dollars of new freight.
    """
    records.client(ctx, client_id)
    cents = records.cents_of(ctx, amount)
    row = records.credit_account(ctx, client_id)
    if row is None:
        return {"result": "no_account", "headroom": 0.0}
    headroom = row["limit_cents"] - row["balance_cents"]
    if row["status"] != "active":
        return {"result": row["status"], "headroom": desk.dollars(headroom)}
    return {"result": "ok" if cents <= headroom else "over_limit", "headroom": desk.dollars(headroom)}


@tool("read")
async def list_open_invoices(ctx: ToolContext, client_id: str) -> list[dict[str, Any]]:
    """List the invoices of a client that are not yet paid, oldest first, amounts due in dollars.

    Args:
        client_id: such as CL-1001.
    """
    records.client(ctx, client_id)
    rows = ctx.all(
        "SELECT i.invoice_id, i.total_cents - i.paid_cents AS due_cents, i.due_on, i.status FROM invoices i "
        "JOIN credit_accounts a USING (account_id) WHERE a.client_id = ? AND i.status != 'paid' "
        "ORDER BY i.due_on, i.invoice_id",
        (client_id,),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("write")
async def set_account_hold(
    ctx: ToolContext,
    account_id: str,
    state: Literal["on", "off"],
    reason: Literal["past_due", "over_limit", "fraud_review"] | None = None,
    approval_id: str | None = None,
) -> dict[str, Any]:
    """Put a credit account on hold or lift the hold. Lifting with invoices past due needs an approval over their sum.

    Args:
        account_id: such as CA-2001.
        state: the new state of the hold.
        reason: why, when the hold is set.
        approval_id: a manager's approval of kind credit_release, when the hold is lifted in spite of past-due invoices.
    """
    row = records.account(ctx, account_id)
    if row["status"] == "closed":
        ctx.error("inactive", f"account {account_id} is closed")
    if (row["status"] == "held") == (state == "on"):
        ctx.error("invalid_state", f"the hold of {account_id} is already {state}")
    if state == "on":
        if reason is None:
            ctx.error("invalid_argument", "argument `reason`: needed to set a hold")
        ctx.run(
            "UPDATE credit_accounts SET status = 'held', hold_reason = ? WHERE account_id = ?", (reason, account_id)
        )
        return {"ok": True, "status": "held"}
    if row["hold_reason"] == "fraud_review":
        ctx.error("not_authorized", f"the hold of {account_id} is a fraud review: only the security queue lifts it")
    past_due = _past_due_cents(ctx, account_id)
    if past_due or approval_id is not None:
        records.use_approval(ctx, approval_id, row["client_id"], "credit_release", past_due)
    ctx.run("UPDATE credit_accounts SET status = 'active', hold_reason = NULL WHERE account_id = ?", (account_id,))
    return {"ok": True, "status": "active"}


def _past_due_cents(ctx: ToolContext, account_id: str) -> int:
    row = ctx.one(
        "SELECT coalesce(sum(total_cents - paid_cents), 0) AS cents FROM invoices "
        "WHERE account_id = ? AND status = 'past_due'",
        (account_id,),
    )
    assert row is not None
    return int(row["cents"])


TOOLS: list[Tool] = [
    list_contracts,
    get_contract,
    get_credit_account,
    check_credit,
    list_open_invoices,
    set_account_hold,
]
