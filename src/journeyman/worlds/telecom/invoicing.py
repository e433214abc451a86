"""Invoices of the base image with their items and payments, and the balances that follow from them.

Three monthly invoices an account, the last issued in February 2026. An unpaid invoice past its due date is `past_due`;
the invoice after a late one carries a late fee, by the rule of the policy article FEE-LATE.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.telecom import catalogue as data

PERIODS = ("2025-12", "2026-01", "2026-02")
DAYS_TO_PAY = 21
Row = dict[str, Any]

_PRICES = {plan[0]: plan[3] for plan in data.PLANS}
_ADDON_PRICES = {addon[0]: addon[2] for addon in data.ADDONS}


def late_fee_cents(kind: str, overdue_cents: int) -> int:
    """The late fee for an overdue amount: 10 dollars below 100, else 25; 35 for business customers."""
    if kind == "business":
        return 35_00
    return 10_00 if overdue_cents < 100_00 else 25_00


def add_invoices(draft: Draft) -> None:
    """Invoice every account and set its balance."""
    kinds = {row["customer_id"]: row["kind"] for row in draft.rows["customers"]}
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in draft.rows["lines"]:
        lines[row["account_id"]].append(row)
    addons = {row["line_id"]: row["addon_id"] for row in draft.rows["line_addons"]}
    financed = {row["line_id"] for row in draft.rows["devices"] if row["remaining_cents"] > 0}
    methods: dict[str, str] = {}
    for row in draft.rows["payment_methods"]:
        methods.setdefault(row["account_id"], row["method_id"])
    for account in draft.rows["accounts"]:
        kind = kinds[account["customer_id"]]
        unpaid = _unpaid_count(draft, account)
        periods = PERIODS[:1] if account["status"] == "closed" else PERIODS
        overdue = 0
        for index, period in enumerate(periods):
            charges = _charges(draft, lines[account["account_id"]], addons, financed)
            if overdue:
                charges.append(("late_fee", None, late_fee_cents(kind, overdue)))
            is_unpaid = index >= len(periods) - unpaid
            row = _invoice(draft, account, period, charges, is_unpaid)
            if is_unpaid:
                account["balance_cents"] += row["total_cents"] - row["paid_cents"]
                overdue = row["total_cents"] - row["paid_cents"] if row["status"] == "past_due" else 0
            if row["paid_cents"]:
                _payment(draft, account, row, methods.get(account["account_id"]))


def _unpaid_count(draft: Draft, account: Row) -> int:
    if account["status"] == "closed":
        return int(draft.chance(0.25))
    if account["status"] == "suspended":
        return 3
    if account["autopay"] == "on":
        return 0 if account["cycle_day"] < 9 else 1
    return draft.rng.choices((0, 1, 2, 3), (40, 34, 20, 6))[0]


def _charges(
    draft: Draft, lines: list[Row], addons: dict[str, str], financed: set[str]
) -> list[tuple[str, str | None, int]]:
    charges: list[tuple[str, str | None, int]] = []
    for line in lines:
        if line["status"] == "closed" and len(lines) > 1:
            continue
        charges.append(("plan", line["line_id"], _PRICES[line["plan_id"]]))
        if line["line_id"] in addons:
            charges.append(("addon", line["line_id"], _ADDON_PRICES[addons[line["line_id"]]]))
        if line["line_id"] in financed:
            charges.append(("device", line["line_id"], 20_00))
    first = lines[0]["line_id"]
    if draft.chance(0.08):
        charges.append(("roaming", first, draft.rng.randint(300, 6_000)))
    if draft.chance(0.08):
        charges.append(("overage", first, draft.rng.randint(1, 4) * 5_00))
    charges = charges or [("plan", first, 20_00)]
    charges.append(("tax", None, sum(charge[2] for charge in charges) * 6 // 100))
    return charges


def _invoice(draft: Draft, account: Row, period: str, charges: list[tuple[str, str | None, int]], unpaid: bool) -> Row:
    invoice_id = draft.id("invoices")
    issued = date(int(period[:4]), int(period[5:]), account["cycle_day"])
    due = (issued + timedelta(days=DAYS_TO_PAY)).isoformat()
    total = sum(charge[2] for charge in charges)
    part = total // 3 if unpaid and draft.chance(0.08) else 0
    row = draft.add(
        "invoices",
        invoice_id=invoice_id,
        account_id=account["account_id"],
        period=period,
        issued_on=issued.isoformat(),
        due_on=due,
        total_cents=total,
        paid_cents=part if unpaid else total,
        credited_cents=0,
        status=("past_due" if due < data.AS_OF else "open") if unpaid else "paid",
    )
    for number, (kind, line_id, cents) in enumerate(charges, 1):
        draft.add(
            "invoice_items", invoice_id=invoice_id, item_no=number, kind=kind, line_id=line_id, amount_cents=cents
        )
    return row


def _payment(draft: Draft, account: Row, invoice: Row, method_id: str | None) -> None:
    source = "autopay" if account["autopay"] == "on" else draft.rng.choice(("saved_method", "saved_method", "check"))
    by_method = method_id is not None and source != "check"
    paid = date.fromisoformat(invoice["issued_on"]) + timedelta(days=draft.rng.randint(2, 20))
    draft.add(
        "payments",
        payment_id=draft.id("payments"),
        account_id=account["account_id"],
        invoice_id=invoice["invoice_id"],
        method_id=method_id if by_method else None,
        source=source if by_method else "check",
        amount_cents=invoice["paid_cents"],
        refunded_cents=0,
        reference=None if by_method else f"CHK{draft.rng.randint(1000, 9999)}",
        status="posted",
        paid_at=f"{min(paid.isoformat(), '2026-03-01')}T12:00:00",
    )
