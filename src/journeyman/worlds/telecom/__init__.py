"""Northline Telecom: the service desk of a mobile operator. `WORLD` is the business whole.

Amounts are integer cents in the database and decimal dollars in every tool. Generated ids start at 9001 in each table.
"""

from __future__ import annotations

from pathlib import Path

from journeyman.world import World
from journeyman.world.articles import load_articles
from journeyman.worlds.telecom import billing, crm, lines, messaging, network, payments, plans, policy, ticketing
from journeyman.worlds.telecom.families import FAMILIES
from journeyman.worlds.telecom.image import build
from journeyman.worlds.telecom.lexicon import LEXICON

DESK = (
    "You are the Northline Telecom desk. Read records and policy before you write, charge only with consent, "
    "answer in one short message."
)
VOLATILE = {
    "line_addons": ["added_at"],
    "invoice_copies": ["sent_at"],
    "payments": ["paid_at"],
    "payment_arrangements": ["created_at"],
    "credits": ["applied_at"],
    "approvals": ["requested_at"],
    "account_promotions": ["added_at"],
    "prorations": ["billed_at"],
    "tickets": ["summary", "opened_at", "closed_at"],
    "ticket_notes": ["body", "written_at"],
    "cases": ["description", "opened_at"],
    "disputes": ["opened_at"],
    "denials": ["details", "recorded_at"],
    "messages": ["body", "sent_at"],
    "interactions": ["summary", "logged_at"],
    "number_ports": ["requested_at"],
    "transfers": ["summary", "transferred_at"],
}
TICKET = ["ticket_id", "ticket_status"]
TOUCHES: dict[str, list[str]] = {
    "log_interaction": [],
    "create_ticket": TICKET,
    "add_ticket_note": [],
    "close_ticket": TICKET,
    "create_case": ["case_id"],
    "document_denial": [],
    "send_invoice_copy": [],
    "send_sms": [],
    "send_email": [],
    "update_contact": ["email", "phone"],
    "set_line_feature": ["roaming", "voicemail", "data_cap", "call_barring", "wifi_calling"],
    "set_autopay": ["autopay"],
    "set_bill_delivery": ["bill_delivery"],
    "open_dispute": ["dispute_id", "dispute_status", "dispute_amount", "decision_date"],
    "request_approval": ["approval_id", "approval_status"],
    "replace_sim": ["sim_id", "sim_kind", "line_status", "suspend_reason"],
    "send_port_pin": ["port_pin"],
    "request_port_out": ["port_id", "port_status", "carrier"],
    "resubmit_port_in": ["port_id", "port_status", "carrier"],
}
ID_FORMATS = {
    "payments": "PAY-{:04d}",
    "payment_arrangements": "AR-{:04d}",
    "invoice_copies": "CPY-{:04d}",
    "credits": "CR-{:04d}",
    "approvals": "AP-{:04d}",
    "prorations": "PRO-{:04d}",
    "tickets": "TK-{:04d}",
    "ticket_notes": "NT-{:04d}",
    "cases": "CS-{:04d}",
    "disputes": "DSP-{:04d}",
    "denials": "DN-{:04d}",
    "messages": "MSG-{:04d}",
    "interactions": "INT-{:04d}",
    "sims": "SIM-{:04d}",
    "number_ports": "PRT-{:04d}",
    "transfers": "TR-{:04d}",
}

WORLD = World(
    name="telecom",
    company="Northline Telecom",
    desk=DESK,
    schema=(Path(__file__).parent / "schema.sql").read_text(encoding="utf-8"),
    images={"base": build},
    tools=[
        *crm.TOOLS,
        *lines.TOOLS,
        *plans.TOOLS,
        *billing.TOOLS,
        *payments.TOOLS,
        *ticketing.TOOLS,
        *network.TOOLS,
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
        "customers": ["pin_hash"],
        "payment_methods": ["card_token"],
        "lines": ["port_pin_hash"],
        "sims": ["puk"],
    },
    id_formats=ID_FORMATS,
    id_start=dict.fromkeys(ID_FORMATS, 9001),
)
