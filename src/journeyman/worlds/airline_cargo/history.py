"""The past of the base image: invoices, cases, claims, irregularities, storage, approvals, denials, messages."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.airline_cargo import catalogue as data

Row = dict[str, Any]
_SUMMARIES: dict[str, tuple[str, ...]] = {
    "amendment": ("New dimensions from the client", "Piece count differs from the booking", "Goods description to correct"),
    "booking": ("Asks for space next week", "Wants an earlier flight"),
    "claim": ("Two cartons crushed", "Goods arrived late"),
    "complaint": ("Nobody called back", "Truck waited three hours"),
    "billing": ("Asks why the fuel surcharge rose", "Storage disputed"),
    "release": ("Consignee has lost the release PIN",),
    "tracing": ("One piece not seen at destination", "No arrival notice"),
    "dangerous_goods": ("Declaration sent back unsigned",),
    "other": ("Asks for opening hours", "Wants a copy of the waybill"),
}  # fmt: skip
_NOTES = ("Called back, no answer", "Client sent a photo", "Waiting for the station", "Explained the charges")


def add_history(draft: Draft) -> None:
    """Add everything that happened before the image's day."""
    _invoices(draft)
    _cases(draft)
    _arrivals(draft)
    _claims(draft)
    _desk(draft)
    _contacts(draft)


def _on(draft: Draft, first: str, last: str = "2026-05-08") -> str:
    """A day from `first` to `last`."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return (start + timedelta(days=draft.rng.randint(0, (end - start).days))).isoformat()


def _at(draft: Draft, first: str, last: str = "2026-05-08") -> str:
    return f"{_on(draft, first, last)}T{draft.rng.randint(7, 17):02d}:{draft.rng.randint(0, 59):02d}:00"


def _invoices(draft: Draft) -> None:
    """Monthly invoices; what is unpaid is the account's balance, and a hold for past_due has an invoice past due."""
    for account in draft.rows["credit_accounts"]:
        owed = 0
        for issued in ("2026-02-28", "2026-03-31", "2026-04-30"):
            due = (date.fromisoformat(issued) + timedelta(days=account["terms_days"])).isoformat()
            total = draft.rng.randint(400_00, account["limit_cents"] // 8)
            late = issued == "2026-02-28" and account["hold_reason"] == "past_due"
            status = "past_due" if late else "open" if due > data.AS_OF and account["status"] != "closed" else "paid"
            paid = total if status == "paid" else draft.rng.choice((0, 0, total // 2))
            owed += total - paid
            draft.add(
                "invoices",
                invoice_id=draft.id("invoices"),
                account_id=account["account_id"],
                total_cents=total,
                paid_cents=paid,
                issued_on=issued,
                due_on=due,
                status=status,
            )
        account["balance_cents"] = owed


def _cases(draft: Draft) -> None:
    waybills = [row for row in draft.rows["waybills"] if row["status"] not in ("draft", "void")]
    for row in draft.rng.sample(waybills, 90):
        kind = draft.rng.choice(list(_SUMMARIES))
        status = draft.rng.choices(("open", "pending", "closed"), (30, 15, 55))[0]
        stale = status == "open" and draft.chance(0.15)
        opened = _at(draft, "2025-08-01", "2025-10-20") if stale else _at(draft, "2026-04-20")
        case = draft.add(
            "cases",
            case_id=draft.id("cases"),
            client_id=row["client_id"],
            awb=None if stale or kind == "other" else row["awb"],
            kind=kind,
            priority=draft.rng.choice(("normal", "normal", "high", "low")),
            status=status,
            resolution=draft.rng.choice(("done", "done", "denied", "withdrawn")) if status == "closed" else None,
            summary=draft.rng.choice(_SUMMARIES[kind]),
            opened_at=opened,
            closed_at=f"{opened[:10]}T18:30:00" if status == "closed" else None,
        )
        if draft.chance(0.5):
            draft.add(
                "case_notes",
                note_id=draft.id("case_notes", "CN"),
                case_id=case["case_id"],
                visibility="internal",
                body=draft.rng.choice(_NOTES),
                written_at=f"{opened[:11]}18:00:00",
            )


def _arrivals(draft: Draft) -> None:
    """Storage of delivered shipments, some of it waived; offloads and damage on the way."""
    delivered = [row for row in draft.rows["waybills"] if row["status"] == "delivered"]
    for index, row in enumerate(draft.rng.sample(delivered, 14)):
        cents = draft.rng.randint(30, 200) * 1_00
        waived = index % 4 == 0
        draft.add(
            "charges",
            charge_id=draft.id("charges"),
            awb=row["awb"],
            kind="storage",
            amount_cents=cents,
            waived_cents=cents if waived else 0,
            status="waived" if waived else "paid",
            approval_id=None,
            charged_on=row["delivered_on"],
        )
    moved = [
        row for row in draft.rows["waybills"] if row["status"] in ("accepted", "in_transit", "arrived", "delivered")
    ]
    for row in draft.rng.sample(moved, 26):
        early = row["status"] in ("accepted", "in_transit")
        choices = (
            ("offloaded", "poor_packing") if early else ("damaged", "damaged", "missing", "misrouted", "poor_packing")
        )
        kind = draft.rng.choice(choices)
        at_origin = early or kind == "poor_packing"
        draft.add(
            "irregularities",
            irregularity_id=draft.id("irregularities"),
            awb=row["awb"],
            station=row["origin"] if at_origin else row["destination"],
            kind=kind,
            pieces=draft.rng.randint(1, min(3, row["pieces"])),
            status=draft.rng.choice(("open", "closed")),
            reported_at=f"{row['arrived_on'] or '2026-05-10'}T{draft.rng.randint(6, 19):02d}:15:00" if not at_origin
            else f"{min(row['issued_on'], '2026-05-10')}T17:30:00",
        )  # fmt: skip


def _claims(draft: Draft) -> None:
    delivered = {row["awb"]: row for row in draft.rows["waybills"] if row["status"] == "delivered"}
    broken = [
        row for row in draft.rows["irregularities"] if row["awb"] in delivered and row["kind"] in ("damaged", "missing")
    ]
    for index, odd in enumerate(broken[:8]):
        row = delivered[odd["awb"]]
        status = ("open", "settled", "rejected")[index % 3]
        weight = max(1000, row["weight_grams"] * odd["pieces"] // row["pieces"] // 1000 * 1000)
        claimed = draft.rng.randint(3, 60) * 50_00
        draft.add(
            "claims",
            claim_id=draft.id("claims"),
            awb=row["awb"],
            kind="damage" if odd["kind"] == "damaged" else "shortage",
            weight_grams=weight,
            claimed_cents=claimed,
            settled_cents=min(claimed, weight * 22 * 134 // 1000, 500_00) if status == "settled" else 0,
            notice_on=min("2026-05-08", (date.fromisoformat(row["delivered_on"]) + timedelta(days=4)).isoformat()),
            status=status,
            reject_reason="no_damage" if status == "rejected" else None,
            approval_id=None,
        )


def _desk(draft: Draft) -> None:
    active = [row for row in draft.rows["clients"] if row["status"] == "active"]
    for row in draft.rng.sample(active, 16):
        draft.add(
            "approvals",
            approval_id=draft.id("approvals"),
            client_id=row["client_id"],
            kind=draft.rng.choice(("discount", "fee_waiver", "claim", "credit_release")),
            amount_cents=draft.rng.randint(6, 60) * 50_00,
            status=draft.rng.choices(("used", "rejected", "pending", "approved"), (5, 4, 3, 2))[0],
            requested_at=_at(draft, "2026-01-10"),
        )
    for row in draft.rng.sample(draft.rows["waybills"], 14):
        request, reason, article = draft.rng.choice(
            (
                ("amendment", "too_late", "AWB-AMEND"),
                ("claim", "too_late", "CLM-NOTICE"),
                ("booking", "embargo", "EMB-RULES"),
                ("booking", "held", "CRD-HOLD"),
                ("fee_waiver", "already_used", "STO-WAIVE"),
            )
        )
        draft.add(
            "denials",
            denial_id=draft.id("denials", "DN"),
            client_id=row["client_id"],
            awb=row["awb"],
            request=request,
            reason=reason,
            article_id=article,
            details=None,
            recorded_at=_at(draft, "2026-02-01"),
        )


def _contacts(draft: Draft) -> None:
    active = [row for row in draft.rows["clients"] if row["status"] == "active"]
    for row in draft.rng.sample(active, 50):
        draft.add(
            "interactions",
            interaction_id=draft.id("interactions", "INT"),
            client_id=row["client_id"],
            channel=draft.rng.choice(("phone", "chat", "email", "edi")),
            summary=draft.rng.choice(_SUMMARIES[draft.rng.choice(list(_SUMMARIES))]),
            logged_at=_at(draft, "2026-03-01"),
        )
    for row in draft.rng.sample(active, 50):
        draft.add(
            "messages",
            message_id=draft.id("messages", "MSG"),
            client_id=row["client_id"],
            channel=draft.rng.choice(("chat", "email")),
            template=draft.rng.choice(("confirmation", "notice", "reminder", "quote")),
            body="Please find the details in your portal",
            sent_at=_at(draft, "2026-03-01"),
        )
    sent = [row for row in draft.rows["waybills"] if row["status"] not in ("draft", "void")]
    for row in draft.rng.sample(sent, 40):
        draft.add(
            "edi_messages",
            edi_id=draft.id("edi_messages", "EDI"),
            awb=row["awb"],
            kind="FHL" if row["kind"] == "master" else draft.rng.choice(("FWB", "FSU")),
            station=row["destination"],
            sent_at=f"{row['issued_on']}T19:00:00",
        )
