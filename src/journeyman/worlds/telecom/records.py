"""What the tools share: looking a record up or failing with `not_found`, and dollars to and from cents."""

from __future__ import annotations

import datetime
from typing import Any

from journeyman.world import ToolContext

Row = dict[str, Any]

CREDIT_LIMIT_CENTS = 50_00
"""A clerk's credit above this needs a supervisor's approval."""
GOODWILL_LIMIT_CENTS = 20_00
"""The same for credits of reason goodwill."""
GOODWILL_MOST_CENTS = 50_00
"""No goodwill credit is higher, approval or not."""
WAIVER_LIMIT_CENTS = 25_00
"""A late fee above this needs a supervisor's approval to be waived."""
APPROVAL_DAYS = 14
"""An approval lapses so many days after it was requested."""
REFUND_LIMIT_CENTS = 100_00
"""A refund above this needs a supervisor's approval."""


def dollars(cents: int) -> float:
    """Cents as decimal dollars: the only form in which an amount leaves a tool."""
    return round(cents / 100, 2)


def cents_of(ctx: ToolContext, amount: float, argument: str = "amount") -> int:
    """A positive dollar amount as cents; `invalid_argument` below one cent, over a million or with part cents."""
    cents = round(amount * 100)
    if not 0 < cents <= 100_000_000 or abs(amount * 100 - cents) > 1e-4:
        ctx.error("invalid_argument", f"argument `{argument}`: expected dollars above 0 with at most 2 decimals")
    return cents


def customer(ctx: ToolContext, customer_id: str) -> Row:
    """The customer, or `not_found`."""
    row = ctx.one("SELECT * FROM customers WHERE customer_id = ?", (customer_id,))
    if row is None:
        ctx.error("not_found", f"no customer {customer_id!r}; customer ids look like C-1001")
    return row


def account(ctx: ToolContext, account_id: str) -> Row:
    """The account, or `not_found`."""
    row = ctx.one("SELECT * FROM accounts WHERE account_id = ?", (account_id,))
    if row is None:
        ctx.error("not_found", f"no account {account_id!r}; account ids look like A-2001")
    return row


def open_account(ctx: ToolContext, account_id: str) -> Row:
    """The account unless it is closed (`inactive`)."""
    row = account(ctx, account_id)
    if row["status"] == "closed":
        ctx.error("inactive", f"account {account_id} is closed")
    return row


def line(ctx: ToolContext, line_id: str) -> Row:
    """The line, or `not_found`."""
    row = ctx.one("SELECT * FROM lines WHERE line_id = ?", (line_id,))
    if row is None:
        ctx.error("not_found", f"no line {line_id!r}; line ids look like LN-1001")
    return row


def active_line(ctx: ToolContext, line_id: str) -> Row:
    """The line if it is active, else `inactive`."""
    row = line(ctx, line_id)
    if row["status"] != "active":
        ctx.error("inactive", f"line {line_id} is {row['status']}")
    return row


def invoice(ctx: ToolContext, invoice_id: str) -> Row:
    """The invoice with `due_cents`, or `not_found`."""
    row = ctx.one(
        "SELECT *, total_cents - paid_cents - credited_cents AS due_cents FROM invoices WHERE invoice_id = ?",
        (invoice_id,),
    )
    if row is None:
        ctx.error("not_found", f"no invoice {invoice_id!r}; invoice ids look like INV-3001")
    return row


def method(ctx: ToolContext, method_id: str) -> Row:
    """The payment method, or `not_found`."""
    row = ctx.one("SELECT * FROM payment_methods WHERE method_id = ?", (method_id,))
    if row is None:
        ctx.error("not_found", f"no payment method {method_id!r}; method ids look like PM-5001")
    return row


def ticket(ctx: ToolContext, ticket_id: str) -> Row:
    """The ticket, or `not_found`."""
    row = ctx.one("SELECT * FROM tickets WHERE ticket_id = ?", (ticket_id,))
    if row is None:
        ctx.error("not_found", f"no ticket {ticket_id!r}; ticket ids look like TK-6001")
    return row


def unpaid(ctx: ToolContext, account_id: str) -> list[Row]:
    """Open and past-due invoices, oldest first, with `due_cents`."""
    return ctx.all(
        "SELECT *, total_cents - paid_cents - credited_cents AS due_cents FROM invoices "
        "WHERE account_id = ? AND status IN ('open', 'past_due') ORDER BY due_on, invoice_id",
        (account_id,),
    )


def past_due_cents(ctx: ToolContext, account_id: str) -> int:
    """What is past its due date, in cents."""
    return sum(row["due_cents"] for row in unpaid(ctx, account_id) if row["status"] == "past_due")


def use_approval(ctx: ToolContext, approval_id: str | None, account_id: str, kind: str, cents: int) -> None:
    """Spend a supervisor's approval on one write.

    Raises:
        ToolError: `not_authorized` unless it is approved, unused, not lapsed, of this account and kind, and covers the amount.
    """
    row = None
    if approval_id is not None:
        row = ctx.one("SELECT * FROM approvals WHERE approval_id = ?", (approval_id,))
        if row is None:
            ctx.error("not_found", f"no approval {approval_id!r}; approval ids look like AP-9001")
    if row is None:
        ctx.error("not_authorized", f"${dollars(cents):.2f} needs a supervisor's approval (kind {kind})")
    age = datetime.date.fromisoformat(ctx.today) - datetime.date.fromisoformat(row["requested_at"][:10])
    if row["status"] == "approved" and age.days > APPROVAL_DAYS:
        ctx.error("not_authorized", f"approval {approval_id} has lapsed: it was requested {age.days} days ago")
    fits = row["account_id"] == account_id and row["kind"] == kind and row["amount_cents"] >= cents
    if row["status"] != "approved" or not fits:
        ctx.error(
            "not_authorized",
            f"approval {approval_id} is {row['status']}, kind {row['kind']}, account {row['account_id']}, "
            f"up to ${dollars(row['amount_cents']):.2f}: it does not cover this",
        )
    ctx.run("UPDATE approvals SET status = 'used' WHERE approval_id = ?", (approval_id,))


def move_balance(ctx: ToolContext, account_id: str, cents: int) -> float:
    """Add `cents` to what the account owes; the new balance in dollars."""
    ctx.run("UPDATE accounts SET balance_cents = balance_cents + ? WHERE account_id = ?", (cents, account_id))
    return dollars(account(ctx, account_id)["balance_cents"])


def method_fault(row: Row, today: str) -> str | None:
    """Why a payment method cannot be charged today, or None. A card is good through its month of expiry."""
    if row["status"] != "active":
        return str(row["status"])
    if row["expires"] is not None and row["expires"] < today[:7]:
        return "expired"
    return None


def is_date(text: str) -> bool:
    """Whether `text` is a calendar date as YYYY-MM-DD."""
    if len(text) != 10:
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
