"""The past of the base image: tickets, credits, approvals, arrangements, messages, outages, ports, denials."""

from __future__ import annotations

from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.telecom import catalogue as data

Row = dict[str, Any]

_SUMMARIES: dict[str, tuple[str, ...]] = {
    "billing": ("Asks why the bill went up", "Wants an invoice explained", "Disputes a roaming charge"),
    "network": ("No signal at home", "Calls drop indoors", "Slow data in the evening"),
    "device": ("Phone does not charge", "Asks about an upgrade", "Screen replaced, wants a quote"),
    "sim": ("eSIM will not activate", "SIM card damaged"),
    "porting": ("Number has not arrived yet", "Asks how to move the number"),
    "plan": ("Wants a cheaper plan", "Asks about shared data"),
    "other": ("Asks for store hours", "Wants the contract copy"),
}
_NOTES = ("Called back, no answer", "Customer sent a photo", "Waiting for the field team", "Explained the charges")


def add_history(draft: Draft) -> None:
    """Add everything that happened before the image's day."""
    accounts = [row for row in draft.rows["accounts"] if row["status"] != "closed"]
    lines = {row["account_id"]: row["line_id"] for row in draft.rows["lines"]}
    _tickets(draft, accounts, lines)
    _credits(draft, accounts)
    _arrangements(draft, accounts)
    _back_office(draft, accounts)
    _contacts(draft, accounts)
    _network(draft, accounts, lines)


def _at(draft: Draft, earliest: str, latest: str = "2026-03-01") -> str:
    """A moment between two days of the years 2024 to 2026."""
    day = draft.date(int(earliest[:4]), int(latest[:4]))
    day = min(max(day, earliest), latest)
    return f"{day}T{draft.rng.randint(8, 17):02d}:{draft.rng.randint(0, 59):02d}:00"


def _tickets(draft: Draft, accounts: list[Row], lines: dict[str, str]) -> None:
    for account in draft.rng.sample(accounts, 90):
        topic = draft.rng.choice(list(_SUMMARIES))
        status = draft.rng.choices(("open", "pending", "closed"), (30, 15, 55))[0]
        # Every tenth open ticket is stale: opened a year ago and never touched.
        opened = _at(draft, "2024-06-01", "2025-02-28") if draft.chance(0.1) else _at(draft, "2025-10-01")
        row = draft.add(
            "tickets",
            ticket_id=draft.id("tickets"),
            account_id=account["account_id"],
            line_id=lines[account["account_id"]] if topic in ("network", "device", "sim", "porting") else None,
            topic=topic,
            priority=draft.rng.choices(("low", "normal", "high"), (2, 6, 2))[0],
            status=status,
            resolution=draft.rng.choice(("solved", "solved", "no_fault", "duplicate")) if status == "closed" else None,
            summary=draft.rng.choice(_SUMMARIES[topic]),
            opened_at=opened,
            closed_at=_at(draft, opened[:10]) if status == "closed" else None,
        )
        if draft.chance(0.5):
            draft.add(
                "ticket_notes",
                note_id=draft.id("ticket_notes", "NT"),
                ticket_id=row["ticket_id"],
                visibility="internal",
                body=draft.rng.choice(_NOTES),
                written_at=opened[:11] + "18:00:00",
            )


def _credits(draft: Draft, accounts: list[Row]) -> None:
    """Credits long absorbed by paid invoices: a third are late fees waived, some within twelve months, some before."""
    for index, account in enumerate(draft.rng.sample(accounts, 54)):
        reason = "late_fee" if index % 3 == 0 else draft.rng.choice(("outage", "billing_error", "goodwill", "roaming"))
        recent = index % 2 == 0
        draft.add(
            "credits",
            credit_id=draft.id("credits", "CR"),
            account_id=account["account_id"],
            invoice_id=None,
            amount_cents=10_00 if reason == "late_fee" else draft.rng.randint(2, 10) * 5_00,
            reason=reason,
            approval_id=None,
            applied_at=_at(draft, "2025-05-01", "2026-02-27") if recent else _at(draft, "2024-03-01", "2025-01-31"),
        )
    for account in draft.rng.sample(accounts, 14):
        draft.add(
            "approvals",
            approval_id=draft.id("approvals", "AP"),
            account_id=account["account_id"],
            kind=draft.rng.choice(("credit", "refund", "arrangement", "fee_waiver")),
            amount_cents=draft.rng.randint(6, 20) * 10_00,
            status=draft.rng.choices(("used", "rejected", "pending", "approved"), (5, 4, 2, 1))[0],
            requested_at=_at(draft, "2025-08-01"),
        )


def _arrangements(draft: Draft, accounts: list[Row]) -> None:
    for index, account in enumerate(draft.rng.sample(accounts, 16)):
        active = index < 4 and account["balance_cents"] > 0
        draft.add(
            "payment_arrangements",
            arrangement_id=draft.id("payment_arrangements", "AR"),
            account_id=account["account_id"],
            amount_cents=account["balance_cents"] if active else draft.rng.randint(8, 30) * 10_00,
            installments=draft.rng.choice((2, 3)),
            first_due="2026-03-10" if active else "2025-09-15",
            status="active" if active else draft.rng.choice(("completed", "completed", "broken")),
            created_at="2026-02-24T11:00:00" if active else "2025-09-01T11:00:00",
        )
    for account in draft.rng.sample(accounts, 30):
        draft.add(
            "account_promotions",
            account_id=account["account_id"],
            promotion_id=draft.rng.choice(("LOYAL5", "WINTER25", "FAMILY4")),
            added_at=_at(draft, "2025-06-01"),
        )


def _back_office(draft: Draft, accounts: list[Row]) -> None:
    for account in draft.rng.sample(accounts, 14):
        draft.add(
            "cases",
            case_id=draft.id("cases", "CS"),
            customer_id=account["customer_id"],
            kind=draft.rng.choice(("complaint", "complaint", "fraud", "privacy", "bereavement")),
            status=draft.rng.choice(("open", "closed", "closed")),
            description="See the attached letter",
            opened_at=_at(draft, "2025-06-01"),
        )
    for account in draft.rng.sample(accounts, 10):
        request, reason, article = draft.rng.choice(
            (
                ("fee_waiver", "already_used", "FEE-LATE"),
                ("refund", "too_late", "REF-PAYMENT"),
                ("roaming", "inactive", "ROAM-ENABLE"),
                ("device_upgrade", "not_eligible", "DEV-UPGRADE"),
            )
        )
        draft.add(
            "denials",
            denial_id=draft.id("denials", "DN"),
            account_id=account["account_id"],
            request=request,
            reason=reason,
            article_id=article,
            details=None,
            recorded_at=_at(draft, "2025-07-01"),
        )
    invoices = [row for row in draft.rows["invoices"] if row["status"] != "void"]
    for row in draft.rng.sample(invoices, 8):
        first = next(item for item in draft.rows["invoice_items"] if item["invoice_id"] == row["invoice_id"])
        draft.add(
            "disputes",
            dispute_id=draft.id("disputes", "DSP"),
            invoice_id=row["invoice_id"],
            item_numbers="1",
            amount_cents=first["amount_cents"],
            reason=draft.rng.choice(("not_mine", "wrong_amount", "cancelled_service")),
            status=draft.rng.choice(("upheld", "rejected", "open")),
            opened_at=_at(draft, "2026-02-01"),
        )


def _contacts(draft: Draft, accounts: list[Row]) -> None:
    for account in draft.rng.sample(accounts, 60):
        draft.add(
            "interactions",
            interaction_id=draft.id("interactions", "INT"),
            customer_id=account["customer_id"],
            channel=draft.rng.choice(("phone", "chat", "email", "store")),
            summary=draft.rng.choice(_SUMMARIES[draft.rng.choice(list(_SUMMARIES))]),
            logged_at=_at(draft, "2025-09-01"),
        )
    for account in draft.rng.sample(accounts, 50):
        draft.add(
            "messages",
            message_id=draft.id("messages", "MSG"),
            customer_id=account["customer_id"],
            channel=draft.rng.choice(("sms", "email")),
            template=draft.rng.choice(("reminder", "receipt", "notice")),
            body="Your monthly bill is ready",
            sent_at=_at(draft, "2025-11-01"),
        )
    for row in draft.rng.sample(draft.rows["invoices"], 24):
        draft.add(
            "invoice_copies",
            copy_id=draft.id("invoice_copies", "CPY"),
            invoice_id=row["invoice_id"],
            channel=draft.rng.choice(("email", "sms", "post")),
            sent_at=f"{row['issued_on']}T15:00:00",
        )


def _network(draft: Draft, accounts: list[Row], lines: dict[str, str]) -> None:
    # (cell, kind, hours, started, status): lengths on both sides of the article's thresholds.
    for cell, kind, hours, started, status in (
        ("CL-41", "planned", 3, "2026-02-10T01:00:00", "resolved"),
        ("CL-42", "fault", 30, "2026-03-01T06:00:00", "ongoing"),
        ("CL-71", "fault", 9, "2026-03-01T20:00:00", "ongoing"),
        ("CL-11", "fault", 52, "2026-02-17T04:00:00", "resolved"),
        ("CL-22", "fault", 26, "2026-02-20T13:00:00", "resolved"),
        ("CL-31", "planned", 6, "2026-02-24T00:00:00", "resolved"),
        ("CL-51", "fault", 5, "2026-02-26T09:00:00", "resolved"),
        ("CL-62", "fault", 80, "2026-01-12T07:00:00", "resolved"),
        ("CL-82", "planned", 30, "2026-02-14T00:00:00", "resolved"),
    ):
        draft.add(
            "outages",
            outage_id=draft.id("outages", "OUT"),
            cell_id=cell,
            kind=kind,
            hours=hours,
            started_at=started,
            status=status,
        )
    for index, account in enumerate(draft.rng.sample(accounts, 12)):
        draft.add(
            "number_ports",
            port_id=draft.id("number_ports", "PRT"),
            line_id=lines[account["account_id"]],
            direction="out" if index % 3 == 0 else "in",
            carrier=draft.rng.choice(data.CARRIERS),
            status="requested" if index < 2 else draft.rng.choice(("completed", "rejected", "cancelled")),
            requested_at=_at(draft, "2025-12-01"),
        )
