"""Payment methods, payments, refunds and payment arrangements. Never returns a card token."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records

MOST_INSTALLMENTS = 3
"""More installments need a supervisor's approval."""


@tool("read", ordered=False)
async def list_payment_methods(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List the saved payment methods of an account. The status shown may be stale: see validate_payment_method.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    rows = ctx.all(
        "SELECT method_id, brand, last4, is_default, status, expires FROM payment_methods "
        "WHERE account_id = ? AND status != 'removed' ORDER BY method_id",
        (account_id,),
    )
    shown = []
    for row in rows:
        item = {
            "method_id": row["method_id"],
            "label": f"{row['brand']} {row['last4']}",
            "default": row["is_default"] == 1,
            "status": row["status"],
        }
        shown.append(item if row["expires"] is None else item | {"expires": row["expires"]})
    return shown


@tool("read")
async def check_payment_authorization(
    ctx: ToolContext, account_id: str, amount: float, payer_name: str | None = None
) -> dict[str, Any]:
    """Check whether a person may pay an amount on an account. Limits are dollars a payment.

    Args:
        account_id: such as A-2001.
        amount: dollars.
        payer_name: full name of who pays; default: the owner.
    """
    row = records.account(ctx, account_id)
    cents = records.cents_of(ctx, amount)
    if row["status"] == "closed" and row["balance_cents"] <= 0:
        return {"authorized": False, "reason": "account_closed"}
    contact = ctx.one(
        "SELECT role, payment_limit_cents FROM account_contacts WHERE account_id = ? "
        "AND CASE WHEN ? IS NULL THEN role = 'owner' ELSE lower(name) = lower(?) END ORDER BY contact_id",
        (account_id, payer_name, payer_name),
    )
    if contact is None:
        return {"authorized": False, "reason": "not_listed"}
    if contact["role"] == "viewer":
        return {"authorized": False, "reason": "no_payment_right"}
    limit = desk.dollars(contact["payment_limit_cents"])
    if cents > contact["payment_limit_cents"]:
        return {"authorized": False, "reason": "over_limit", "limit": limit}
    return {"authorized": True, "limit": limit}


@tool("read")
async def validate_payment_method(ctx: ToolContext, method_id: str) -> dict[str, Any]:
    """Validate a saved payment method with its issuer as of today. Moves no money; the limit is dollars a payment.

    Args:
        method_id: such as PM-5001.
    """
    row = records.method(ctx, method_id)
    fault = records.method_fault(row, ctx.today)
    if fault is not None:
        return {"valid": False, "reason": fault}
    return {"valid": True, "limit": desk.dollars(row["limit_cents"])}


@tool("write")
async def take_payment(
    ctx: ToolContext, account_id: str, method_id: str, amount: float, invoice_id: str | None = None
) -> dict[str, Any]:
    """Charge a saved payment method now. For money that has already arrived use post_payment.

    Args:
        account_id: such as A-2001.
        method_id: a method of this account, such as PM-5001.
        amount: dollars, at most what is due.
        invoice_id: the invoice to pay; default: the oldest unpaid ones first.
    """
    records.account(ctx, account_id)
    row = records.method(ctx, method_id)
    if row["account_id"] != account_id:
        ctx.error("invalid_state", f"payment method {method_id} is not of account {account_id}")
    cents = records.cents_of(ctx, amount)
    due = _due(ctx, account_id, invoice_id, cents)
    fault = records.method_fault(row, ctx.today)
    if fault is not None:
        ctx.error("declined", f"payment method {method_id} is {fault}")
    if cents > row["limit_cents"]:
        ctx.error("declined", f"over the limit of {method_id}, ${desk.dollars(row['limit_cents']):.2f} a payment")
    return _settle(ctx, account_id, due, cents, (invoice_id, method_id, "saved_method", None))


@tool("write")
async def post_payment(
    ctx: ToolContext, account_id: str, amount: float, source: Literal["cash", "check", "wire"], reference: str
) -> dict[str, Any]:
    """Record money that has already arrived outside the card system. Charges nothing.

    Args:
        account_id: such as A-2001.
        amount: dollars received, at most what is due.
        source: how the money came.
        reference: receipt, check or transfer number.
    """
    records.account(ctx, account_id)
    desk.filled(ctx, "reference", reference)
    cents = records.cents_of(ctx, amount)
    due = _due(ctx, account_id, None, cents)
    return _settle(ctx, account_id, due, cents, (None, None, source, reference))


@tool("read")
async def list_payments(ctx: ToolContext, account_id: str, limit: int = 5) -> list[dict[str, Any]]:
    """List payments, newest first, amounts in dollars.

    Args:
        account_id: such as A-2001.
        limit: most payments to return, 1 to 12.
    """
    records.account(ctx, account_id)
    desk.between(ctx, "limit", limit, 1, 12)
    rows = ctx.all(
        "SELECT payment_id, amount_cents, substr(paid_at, 1, 10) AS date, status, source FROM payments "
        "WHERE account_id = ? ORDER BY paid_at DESC, payment_id DESC LIMIT ?",
        (account_id, limit),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("write")
async def set_default_payment_method(ctx: ToolContext, account_id: str, method_id: str) -> dict[str, Any]:
    """Make a saved method the default of its account.

    Args:
        account_id: such as A-2001.
        method_id: a method of this account, such as PM-5001.
    """
    records.open_account(ctx, account_id)
    row = records.method(ctx, method_id)
    if row["account_id"] != account_id:
        ctx.error("invalid_state", f"payment method {method_id} is not of account {account_id}")
    if row["is_default"] == 1:
        ctx.error("invalid_state", f"{method_id} is already the default")
    fault = records.method_fault(row, ctx.today)
    if fault is not None:
        ctx.error("declined", f"payment method {method_id} is {fault}")
    ctx.run("UPDATE payment_methods SET is_default = 0 WHERE account_id = ? AND is_default = 1", (account_id,))
    ctx.run("UPDATE payment_methods SET is_default = 1 WHERE method_id = ?", (method_id,))
    return {"ok": True}


@tool("write")
async def refund_payment(
    ctx: ToolContext, payment_id: str, amount: float, approval_id: str | None = None
) -> dict[str, Any]:
    """Send money of a posted payment back to where it came from; the account then owes that much more.

    Args:
        payment_id: such as PAY-4001.
        amount: dollars, at most what is left of the payment; above 100.00 an approval is needed.
        approval_id: a supervisor's approval of kind refund for this account.
    """
    row = records.payment(ctx, payment_id)
    if row["status"] != "posted":
        ctx.error("invalid_state", f"payment {payment_id} is {row['status']}")
    cents = records.cents_of(ctx, amount)
    left = row["amount_cents"] - row["refunded_cents"]
    if cents > left:
        ctx.error("invalid_state", f"only ${desk.dollars(left):.2f} of {payment_id} can be refunded")
    if cents > records.REFUND_LIMIT_CENTS or approval_id is not None:
        records.use_approval(ctx, approval_id, row["account_id"], "refund", cents)
    ctx.run(
        "UPDATE payments SET refunded_cents = refunded_cents + ?, status = ? WHERE payment_id = ?",
        (cents, "refunded" if cents == left else "posted", payment_id),
    )
    records.move_balance(ctx, row["account_id"], cents)
    return {"ok": True, "refunded": desk.dollars(cents)}


@tool("write")
async def create_payment_arrangement(
    ctx: ToolContext, account_id: str, installments: int, first_due: str, approval_id: str | None = None
) -> dict[str, Any]:
    """Spread the whole past-due amount over equal monthly installments, in dollars.

    Args:
        account_id: such as A-2001.
        installments: how many, 2 to 6; above 3, and for business accounts, an approval is needed.
        first_due: date of the first, YYYY-MM-DD, after today.
        approval_id: a supervisor's approval of kind arrangement for this account over the past-due amount.
    """
    owner = records.customer(ctx, records.open_account(ctx, account_id)["customer_id"])
    desk.between(ctx, "installments", installments, 2, 6)
    if not desk.is_date(first_due) or first_due <= ctx.today:
        ctx.error("invalid_argument", "argument `first_due`: a date after today, YYYY-MM-DD")
    cents = records.past_due_cents(ctx, account_id)
    if cents == 0:
        ctx.error("invalid_state", f"nothing is past due on {account_id}")
    active = "SELECT 1 AS has FROM payment_arrangements WHERE account_id = ? AND status = 'active'"
    if ctx.one(active, (account_id,)):
        ctx.error("invalid_state", f"account {account_id} already has an active arrangement")
    if installments > MOST_INSTALLMENTS or owner["kind"] == "business" or approval_id is not None:
        records.use_approval(ctx, approval_id, account_id, "arrangement", cents)
    values = (account_id, cents, installments, first_due, "active", ctx.now)
    arrangement_id = desk.add(ctx, "payment_arrangements", *values)
    # Rounded up to a cent: the last installment is smaller by the difference.
    return {"ok": True, "arrangement_id": arrangement_id, "installment": desk.dollars(-(-cents // installments))}


@tool("read")
async def list_payment_arrangements(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List payment arrangements, newest first, amounts in dollars.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    rows = ctx.all(
        "SELECT arrangement_id, amount_cents, installments, first_due, status FROM payment_arrangements "
        "WHERE account_id = ? ORDER BY created_at DESC, arrangement_id DESC",
        (account_id,),
    )
    return [desk.in_dollars(row) for row in rows]


def _due(ctx: ToolContext, account_id: str, invoice_id: str | None, cents: int) -> list[desk.Row]:
    """The invoices a payment of `cents` goes to; `invalid_state` where it is more than they are due."""
    if invoice_id is None:
        due = records.unpaid(ctx, account_id)
    else:
        row = records.invoice(ctx, invoice_id)
        if row["account_id"] != account_id:
            ctx.error("invalid_state", f"invoice {invoice_id} is not of account {account_id}")
        if row["status"] not in ("open", "past_due"):
            ctx.error("invalid_state", f"invoice {invoice_id} is {row['status']}")
        due = [row]
    total = sum(row["due_cents"] for row in due)
    if cents > total:
        ctx.error("invalid_state", f"only ${desk.dollars(total):.2f} is due")
    return due


def _settle(
    ctx: ToolContext,
    account_id: str,
    due: list[desk.Row],
    cents: int,
    origin: tuple[str | None, str | None, str, str | None],
) -> dict[str, Any]:
    """Insert the payment, fill the invoices in order, lower the balance. `origin`: invoice, method, source, reference."""
    invoice_id, method_id, source, reference = origin
    values = (account_id, invoice_id, method_id, source, cents, 0, reference, "posted", ctx.now)
    payment_id = desk.add(ctx, "payments", *values)
    left = cents
    for row in due:
        part = min(left, row["due_cents"])
        if part == 0:
            break
        ctx.run(
            "UPDATE invoices SET paid_cents = paid_cents + ?, status = ? WHERE invoice_id = ?",
            (part, "paid" if part == row["due_cents"] else row["status"], row["invoice_id"]),
        )
        left -= part
    return {"ok": True, "payment_id": payment_id, "balance": records.move_balance(ctx, account_id, -cents)}


TOOLS: list[Tool] = [
    list_payment_methods,
    check_payment_authorization,
    validate_payment_method,
    take_payment,
    post_payment,
    list_payments,
    set_default_payment_method,
    refund_payment,
    create_payment_arrangement,
    list_payment_arrangements,
]
