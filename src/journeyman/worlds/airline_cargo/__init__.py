"""Meridian Air Cargo: the booking and waybill desk of a freight airline. `WORLD` is the business whole.

In the database weight is grams, volume litres and money cents; tools speak kg, cbm and dollars. Generated ids start at 9001.
"""

from __future__ import annotations

from pathlib import Path

from journeyman.world import World
from journeyman.world.articles import load_articles
from journeyman.worlds.airline_cargo import (
    bookings,
    casework,
    claims,
    credit,
    crm,
    dangerous,
    messaging,
    network,
    policy,
    pricing,
    release,
    tracking,
    waybills,
)
from journeyman.worlds.airline_cargo.families import FAMILIES
from journeyman.worlds.airline_cargo.image import build
from journeyman.worlds.airline_cargo.lexicon import LEXICON

DESK = (
    "You are the Meridian Air Cargo desk. Read records and policy before you write, charge only with consent, "
    "answer in one short message."
)
VOLATILE = {
    "bookings": ["booked_at"],
    "approvals": ["requested_at"],
    "charges": ["charged_on"],
    "irregularities": ["reported_at"],
    "cases": ["summary", "opened_at", "closed_at"],
    "case_notes": ["body", "written_at"],
    "denials": ["details", "recorded_at"],
    "messages": ["body", "sent_at"],
    "edi_messages": ["sent_at"],
    "interactions": ["summary", "logged_at"],
    "transfers": ["summary", "transferred_at"],
}
TOUCHES: dict[str, list[str]] = {
    "log_interaction": [],
    "create_case": ["case_id", "case_status"],
    "add_case_note": [],
    "close_case": ["case_id", "case_status"],
    "document_denial": [],
    "send_chat_message": [],
    "send_email": [],
    "send_edi": [],
    "update_client_contact": ["email"],
    "set_booking_priority": ["priority"],
    "report_irregularity": ["irregularity_id"],
    "request_approval": ["approval_id", "approval_status", "approval_amount"],
    "open_claim": ["claim_id", "claim_status", "claim_amount", "approval_status"],
    "reject_claim": ["claim_status"],
}
ID_FORMATS = {
    "bookings": "BK-{:04d}",
    "charges": "CH-{:04d}",
    "approvals": "AP-{:04d}",
    "irregularities": "IR-{:04d}",
    "claims": "CLM-{:04d}",
    "cases": "CS-{:04d}",
    "case_notes": "CN-{:04d}",
    "denials": "DN-{:04d}",
    "messages": "MSG-{:04d}",
    "edi_messages": "EDI-{:04d}",
    "interactions": "INT-{:04d}",
    "transfers": "TR-{:04d}",
}

WORLD = World(
    name="airline_cargo",
    company="Meridian Air Cargo",
    desk=DESK,
    schema=(Path(__file__).parent / "schema.sql").read_text(encoding="utf-8"),
    images={"base": build},
    tools=[
        *crm.TOOLS,
        *credit.TOOLS,
        *bookings.TOOLS,
        *waybills.TOOLS,
        *release.TOOLS,
        *network.TOOLS,
        *dangerous.TOOLS,
        *pricing.TOOLS,
        *tracking.TOOLS,
        *casework.TOOLS,
        *claims.TOOLS,
        *messaging.TOOLS,
        *policy.TOOLS,
    ],
    articles=load_articles(Path(__file__).parent / "articles"),
    families=FAMILIES,
    lexicon=LEXICON,
    transfer_tool="transfer_to_human",
    volatile=VOLATILE,
    volatile_tables=["interactions"],
    touches=TOUCHES,
    secret={
        "clients": ["desk_pin_hash"],
        "credit_accounts": ["bank_token"],
        "contracts": ["floor_price_note"],
        "stations": ["door_code"],
        "waybills": ["release_pin_hash"],
    },
    id_formats=ID_FORMATS,
    id_start=dict.fromkeys(ID_FORMATS, 9001),
)
