"""What the tools share: looking a record up or failing with `not_found`, states, balances and approvals."""

from __future__ import annotations

from journeyman.world import ToolContext, desk
from journeyman.world.desk import Row, by_id

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

DUE = "*, total_cents - paid_cents - credited_cents AS due_cents"
"""The columns of an invoice, with what is left to pay."""

customer = by_id("customers", "customer_id", "customer", "customer ids look like C-1001")
account = by_id("accounts", "account_id", "account", "account ids look like A-2001")
line = by_id("lines", "line_id", "line", "line ids look like LN-1001")
invoice = by_id("invoices", "invoice_id", "invoice", "invoice ids look like INV-3001", DUE)
method = by_id("payment_methods", "method_id", "payment method", "method ids look like PM-5001")
payment = by_id("payments", "payment_id", "payment", "payment ids look like PAY-4001")
ticket = by_id("tickets", "ticket_id", "ticket", "ticket ids look like TK-6001")
port = by_id("number_ports", "port_id", "port request", "port request ids look like PRT-1001")
plan = by_id("plans", "plan_id", "plan", "see list_plans")
addon = by_id("addons", "addon_id", "add-on", "see list_addons")


def cents_of(ctx: ToolContext, amount: float, argument: str = "amount") -> int:
    """A positive dollar amount as cents; `invalid_argument` below one cent, over a million or with part cents."""
    return desk.whole(ctx, amount, "dollars", 2, 1_000_000_00, argument)


def open_account(ctx: ToolContext, account_id: str) -> Row:
    """The account unless it is closed (`inactive`)."""
    row = account(ctx, account_id)
    if row["status"] == "closed":
        ctx.error("inactive", f"account {account_id} is closed")
    return row


def active_line(ctx: ToolContext, line_id: str) -> Row:
    """The line if it is active, else `inactive`."""
    row = line(ctx, line_id)
    if row["status"] != "active":
        ctx.error("inactive", f"line {line_id} is {row['status']}")
    return row


def unpaid(ctx: ToolContext, account_id: str) -> list[Row]:
    """Open and past-due invoices, oldest first, with `due_cents`."""
    return ctx.all(
        f"SELECT {DUE} FROM invoices "
        "WHERE account_id = ? AND status IN ('open', 'past_due') ORDER BY due_on, invoice_id",
        (account_id,),
    )


def past_due_cents(ctx: ToolContext, account_id: str) -> int:
    """What is past its due date, in cents."""
    return sum(row["due_cents"] for row in unpaid(ctx, account_id) if row["status"] == "past_due")


def use_approval(ctx: ToolContext, approval_id: str | None, account_id: str, kind: str, cents: int) -> None:
    """Spend a supervisor's approval for the account on one write: see `desk.use_approval`."""
    desk.use_approval(
        ctx, approval_id, kind, cents, owner="account_id", id=account_id, of="supervisor", days=APPROVAL_DAYS
    )


def move_balance(ctx: ToolContext, account_id: str, cents: int) -> float:
    """Add `cents` to what the account owes; the new balance in dollars."""
    ctx.run("UPDATE accounts SET balance_cents = balance_cents + ? WHERE account_id = ?", (cents, account_id))
    return desk.dollars(account(ctx, account_id)["balance_cents"])


def method_fault(row: Row, today: str) -> str | None:
    """Why a payment method cannot be charged today, or None. A card is good through its month of expiry."""
    if row["status"] != "active":
        return str(row["status"])
    if row["expires"] is not None and row["expires"] < today[:7]:
        return "expired"
    return None
