"""Invoices, credits, disputes and billing settings. Amounts are decimal dollars."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records


@tool("read")
async def get_balance(ctx: ToolContext, account_id: str) -> dict[str, Any]:
    """Read what an account owes in dollars, and how much of it is past due.

    Args:
        account_id: such as A-2001.
    """
    row = records.account(ctx, account_id)
    return {
        "balance": desk.dollars(row["balance_cents"]),
        "past_due": desk.dollars(records.past_due_cents(ctx, account_id)),
    }


@tool("read")
async def list_open_invoices(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List the invoices not yet paid, oldest first, amounts due in dollars.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    return [
        {"invoice_id": row["invoice_id"], "due": desk.dollars(row["due_cents"]), "status": row["status"]}
        for row in records.unpaid(ctx, account_id)
    ]


@tool("read")
async def list_invoices(ctx: ToolContext, account_id: str, limit: int = 6) -> list[dict[str, Any]]:
    """List all invoices, paid ones too, newest first, totals in dollars.

    Args:
        account_id: such as A-2001.
        limit: most invoices to return, 1 to 12.
    """
    records.account(ctx, account_id)
    desk.between(ctx, "limit", limit, 1, 12)
    rows = ctx.all(
        "SELECT invoice_id, period, total_cents, status FROM invoices WHERE account_id = ? "
        "ORDER BY period DESC, invoice_id DESC LIMIT ?",
        (account_id, limit),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("read")
async def get_invoice(ctx: ToolContext, invoice_id: str) -> dict[str, Any]:
    """Read one invoice with its items, amounts in dollars.

    Args:
        invoice_id: such as INV-3001.
    """
    row = records.invoice(ctx, invoice_id)
    items = ctx.all(
        "SELECT item_no AS no, kind, amount_cents FROM invoice_items WHERE invoice_id = ? ORDER BY item_no",
        (invoice_id,),
    )
    return {
        "invoice_id": invoice_id,
        "account_id": row["account_id"],
        "period": row["period"],
        "status": row["status"],
        "due_on": row["due_on"],
        "total": desk.dollars(row["total_cents"]),
        "due": desk.dollars(row["due_cents"]),
        "items": [desk.in_dollars(item) for item in items],
    }


@tool("read", ordered=False)
async def get_billing_summary(ctx: ToolContext, account_id: str) -> dict[str, Any]:
    """Read billing at a glance: balance and past due in dollars, settings, last payment, promotions.

    Args:
        account_id: such as A-2001.
    """
    row = records.account(ctx, account_id)
    last = ctx.one(
        "SELECT amount_cents, substr(paid_at, 1, 10) AS date, status FROM payments WHERE account_id = ? "
        "ORDER BY paid_at DESC, payment_id DESC LIMIT 1",
        (account_id,),
    )
    promotions = ctx.all(
        "SELECT promotion_id FROM account_promotions WHERE account_id = ? ORDER BY promotion_id", (account_id,)
    )
    return {
        "balance": desk.dollars(row["balance_cents"]),
        "past_due": desk.dollars(records.past_due_cents(ctx, account_id)),
        "open_invoices": len(records.unpaid(ctx, account_id)),
        "autopay": row["autopay"],
        "billing": row["billing"],
        "cycle_day": row["cycle_day"],
        "last_payment": last and desk.in_dollars(last),
        "promotions": [item["promotion_id"] for item in promotions],
    }


@tool("write")
async def send_invoice_copy(
    ctx: ToolContext, invoice_id: str, channel: Literal["email", "sms", "post"]
) -> dict[str, Any]:
    """Send the customer a copy of an invoice.

    Args:
        invoice_id: such as INV-3001.
        channel: how to send it.
    """
    if records.invoice(ctx, invoice_id)["status"] == "void":
        ctx.error("invalid_state", f"invoice {invoice_id} is void")
    return {"ok": True, "copy_id": desk.add(ctx, "invoice_copies", invoice_id, channel, ctx.now)}


@tool("read")
async def list_credits(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List the credits and waived fees of an account, newest first, in dollars.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    rows = ctx.all(
        "SELECT credit_id, amount_cents, reason, substr(applied_at, 1, 10) AS date FROM credits "
        "WHERE account_id = ? ORDER BY applied_at DESC, credit_id DESC LIMIT 12",
        (account_id,),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("write")
async def apply_credit(
    ctx: ToolContext,
    account_id: str,
    amount: float,
    reason: Literal["outage", "billing_error", "goodwill", "roaming"],
    approval_id: str | None = None,
) -> dict[str, Any]:
    """Credit an account; its balance falls at once. For late fees use waive_late_fee.

    Args:
        account_id: such as A-2001.
        amount: dollars; above 50.00 (goodwill: 20.00) an approval is needed.
        reason: why the credit is due.
        approval_id: a supervisor's approval of kind credit for this account.
    """
    records.open_account(ctx, account_id)
    cents = records.cents_of(ctx, amount)
    limit = records.GOODWILL_LIMIT_CENTS if reason == "goodwill" else records.CREDIT_LIMIT_CENTS
    if reason == "goodwill" and cents > records.GOODWILL_MOST_CENTS:
        ctx.error("not_eligible", f"goodwill is at most ${desk.dollars(records.GOODWILL_MOST_CENTS):.2f}")
    if cents > limit or approval_id is not None:
        records.use_approval(ctx, approval_id, account_id, "credit", cents)
    credit_id = desk.add(ctx, "credits", account_id, None, cents, reason, approval_id, ctx.now)
    return {"ok": True, "credit_id": credit_id, "balance": records.move_balance(ctx, account_id, -cents)}


@tool("write")
async def waive_late_fee(ctx: ToolContext, invoice_id: str, approval_id: str | None = None) -> dict[str, Any]:
    """Waive the whole late fee of an unpaid invoice.

    Args:
        invoice_id: such as INV-3001.
        approval_id: a supervisor's approval of kind fee_waiver, needed above 25.00 dollars.
    """
    row = records.invoice(ctx, invoice_id)
    fee = ctx.one(
        "SELECT sum(amount_cents) AS cents FROM invoice_items WHERE invoice_id = ? AND kind = 'late_fee'",
        (invoice_id,),
    )
    cents = (fee and fee["cents"]) or 0
    if cents == 0:
        ctx.error("not_found", f"invoice {invoice_id} has no late fee")
    if ctx.one("SELECT 1 AS has FROM credits WHERE invoice_id = ? AND reason = 'late_fee'", (invoice_id,)):
        ctx.error("invalid_state", f"the late fee of {invoice_id} is already waived")
    records.open_account(ctx, row["account_id"])
    if row["status"] not in ("open", "past_due") or row["due_cents"] < cents:
        ctx.error("invalid_state", f"invoice {invoice_id} is settled: its late fee is already paid")
    if cents > records.WAIVER_LIMIT_CENTS or approval_id is not None:
        records.use_approval(ctx, approval_id, row["account_id"], "fee_waiver", cents)
    credit_id = desk.add(ctx, "credits", row["account_id"], invoice_id, cents, "late_fee", approval_id, ctx.now)
    status = "paid" if row["due_cents"] == cents else row["status"]
    ctx.run(
        "UPDATE invoices SET credited_cents = credited_cents + ?, status = ? WHERE invoice_id = ?",
        (cents, status, invoice_id),
    )
    records.move_balance(ctx, row["account_id"], -cents)
    return {"ok": True, "credit_id": credit_id, "amount": desk.dollars(cents)}


@tool("write")
async def open_dispute(
    ctx: ToolContext,
    invoice_id: str,
    item_numbers: list[int],
    reason: Literal["not_mine", "wrong_amount", "cancelled_service", "duplicate"],
) -> dict[str, Any]:
    """Open a dispute over items of an invoice. One open dispute an invoice; the amount is the items' sum in dollars.

    Args:
        invoice_id: such as INV-3001.
        item_numbers: the `no` of each disputed item, from get_invoice.
        reason: what the customer says is wrong.
    """
    if records.invoice(ctx, invoice_id)["status"] == "void":
        ctx.error("invalid_state", f"invoice {invoice_id} is void")
    if ctx.one("SELECT 1 AS has FROM disputes WHERE invoice_id = ? AND status = 'open'", (invoice_id,)):
        ctx.error("invalid_state", f"invoice {invoice_id} already has an open dispute")
    if not item_numbers:
        ctx.error("invalid_argument", "argument `item_numbers`: at least one item")
    numbers = sorted(set(item_numbers))
    items = ctx.all("SELECT item_no, amount_cents FROM invoice_items WHERE invoice_id = ?", (invoice_id,))
    amounts = {item["item_no"]: item["amount_cents"] for item in items}
    for number in numbers:
        if number not in amounts:
            ctx.error("not_found", f"invoice {invoice_id} has no item {number}")
    cents = sum(amounts[number] for number in numbers)
    listed = ",".join(map(str, numbers))
    dispute_id = desk.add(ctx, "disputes", invoice_id, listed, cents, reason, "open", ctx.now)
    return {"ok": True, "dispute_id": dispute_id, "amount": desk.dollars(cents)}


@tool("read")
async def list_disputes(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List the disputes over invoices of an account, newest first, amounts in dollars.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    rows = ctx.all(
        "SELECT d.dispute_id, d.invoice_id, d.item_numbers, d.amount_cents, d.reason, d.status, "
        "substr(d.opened_at, 1, 10) AS opened_on FROM disputes d JOIN invoices USING (invoice_id) "
        "WHERE account_id = ? ORDER BY d.opened_at DESC, d.dispute_id DESC LIMIT 10",
        (account_id,),
    )
    return [
        {
            "dispute_id": row["dispute_id"],
            "invoice_id": row["invoice_id"],
            "items": [int(number) for number in row["item_numbers"].split(",")],
            "amount": desk.dollars(row["amount_cents"]),
            "reason": row["reason"],
            "status": row["status"],
            "opened_on": row["opened_on"],
        }
        for row in rows
    ]


@tool("write")
async def set_autopay(ctx: ToolContext, account_id: str, state: Literal["on", "off"]) -> dict[str, Any]:
    """Switch automatic payment by the default method on or off.

    Args:
        account_id: such as A-2001.
        state: the new state; on needs a valid default payment method.
    """
    row = records.open_account(ctx, account_id)
    if row["autopay"] == state:
        ctx.error("invalid_state", f"autopay of {account_id} is already {state}")
    if state == "on":
        default = ctx.one("SELECT * FROM payment_methods WHERE account_id = ? AND is_default = 1", (account_id,))
        if default is None or records.method_fault(default, ctx.today) is not None:
            ctx.error("not_eligible", f"account {account_id} has no valid default payment method")
    ctx.run("UPDATE accounts SET autopay = ? WHERE account_id = ?", (state, account_id))
    return {"ok": True, "autopay": state}


@tool("write")
async def set_bill_delivery(ctx: ToolContext, account_id: str, delivery: Literal["paper", "email"]) -> dict[str, Any]:
    """Choose how the monthly bill reaches the customer.

    Args:
        account_id: such as A-2001.
        delivery: on paper or by e-mail.
    """
    row = records.open_account(ctx, account_id)
    if row["billing"] == delivery:
        ctx.error("invalid_state", f"bills of {account_id} already go by {delivery}")
    ctx.run("UPDATE accounts SET billing = ? WHERE account_id = ?", (delivery, account_id))
    return {"ok": True, "billing": delivery}


TOOLS: list[Tool] = [
    get_balance,
    list_open_invoices,
    list_invoices,
    get_invoice,
    get_billing_summary,
    send_invoice_copy,
    list_credits,
    apply_credit,
    waive_late_fee,
    open_dispute,
    list_disputes,
    set_autopay,
    set_bill_delivery,
]
