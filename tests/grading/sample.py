"""A small lexicon, a small world and makers of records that the tests of grading share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from journeyman.episode import CallRecord, Ended, Event, Transcript
from journeyman.task import EventKind, RowChange, Scalar, Speaker
from journeyman.world.lexicon import DenialForm, Lexicon, ProposalForm, Slot
from journeyman.world.schema import Table, create, read_tables

LEXICON = Lexicon(
    slots=[
        Slot("balance", "money", ["balance", "amount due", "past-due amount"]),
        Slot("charge", "money", ["charge", "charged", "payment of", "payment"], ask=["how much to pay"]),
        Slot("refund", "money", ["refund", "refunded"]),
        Slot("late_fee", "money", ["late fee"]),
        Slot("plan_fee", "money", ["monthly fee", "fee"]),
        Slot("due_date", "date", ["due date", "due on", "due by"]),
        Slot("visit", "date", ["appointment", "technician"]),
        Slot("line", "id", ["line"], pattern=r"LN-\d{4}"),
        Slot("ticket", "id", ["ticket"], pattern=r"TCK-\d{5}"),
        Slot("pin", "id", ["pin", "passcode"], pattern=r"\d{4}"),
        Slot(
            "method",
            "id",
            ["card", "payment method"],
            values={"PM-1": ["Visa ending in 4242"], "PM-2": ["default card"]},
        ),
        Slot("lines", "number", ["number of lines", "lines"]),
        Slot("discount", "percent", ["discount"]),
        Slot("phone", "phone", ["phone number", "callback number"]),
        Slot(
            "status", "choice", ["status", "line"], values={"active": ["active"], "suspended": ["suspended", "on hold"]}
        ),
        Slot("name", "choice", ["full name", "name"]),
    ],
    proposals=[
        ProposalForm("take_payment", ["charge", "take a payment"], {"amount_cents": "charge", "method": "method"}),
        ProposalForm("issue_refund", ["refund", "issue a refund"], {"amount_cents": "refund"}),
        ProposalForm("restore_line", ["restore", "reactivate"], {"line_id": "line"}),
        ProposalForm("book_visit", ["book", "schedule"], {"date": "visit"}),
    ],
    denials=[DenialForm("fee_waiver", ["waive the fee", "waiver"]), DenialForm("refund", ["refund", "money back"])],
)

SCHEMA = """
CREATE TABLE payments (id TEXT NOT NULL PRIMARY KEY, invoice_id TEXT NOT NULL, amount_cents INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'settled', note TEXT, created_at TEXT NOT NULL) STRICT;
CREATE TABLE invoices (id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, paid_cents INTEGER NOT NULL DEFAULT 0,
    updated_at TEXT) STRICT;
CREATE TABLE audit (id INTEGER NOT NULL PRIMARY KEY, text TEXT) STRICT;
"""


@dataclass(frozen=True, eq=False)
class SampleWorld:
    """What grading needs of a world."""

    tables: dict[str, Table] = field(default_factory=lambda: read_tables(create("sample", SCHEMA)))
    volatile: dict[str, list[str]] = field(
        default_factory=lambda: {"payments": ["note", "created_at"], "invoices": ["updated_at"]}
    )
    volatile_tables: list[str] = field(default_factory=lambda: ["audit"])
    touches: dict[str, list[str]] = field(default_factory=lambda: {"log": [], "set_name": ["name"]})
    lexicon: Lexicon = LEXICON
    transfer_tool: str = "transfer_to_human"


WORLD = SampleWorld()


def payment(number: int, invoice: str, cents: int, **more: Scalar) -> RowChange:
    """A payment that was inserted."""
    key = f"PAY-{number}"
    row = {"id": key, "invoice_id": invoice, "amount_cents": cents, "status": "settled", "note": "x", "created_at": "t"}
    return RowChange("payments", "insert", {"id": key}, {}, {**row, **more})


def paid(invoice: str, **new: Scalar) -> RowChange:
    """An invoice that was updated."""
    return RowChange("invoices", "update", {"id": invoice}, dict.fromkeys(new, "before"), new)


def call(
    index: int, tool: str, kind: str = "read", status: str = "ok", turn: int | None = None, **arguments: Any
) -> CallRecord:
    """One call; its turn is its index unless given."""
    return msgspec.convert(
        {
            "index": index,
            "turn": index if turn is None else turn,
            "tool": tool,
            "kind": kind,
            "arguments": arguments,
            "status": status,
            "result": "{}",
        },
        CallRecord,
    )


def event(order: int, kind: EventKind, by: Speaker, turn: int = 0, **more: Any) -> Event:
    """One dialogue event after `order` calls."""
    return Event(turn, kind, by, order, **more)


def transcript(
    calls: Sequence[CallRecord] = (),
    events: Sequence[Event] = (),
    changes: Sequence[RowChange] = (),
    ended: Ended = "left",
) -> Transcript:
    """An attempt without messages."""
    return Transcript([], list(calls), list(events), list(changes), ended)
