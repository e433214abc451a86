"""A telecom account with one of everything, a session on it, and a valid call for every tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from journeyman.episode import CallRecord
from journeyman.task import Outcome, RowChange, Task
from journeyman.world import WorldSession, open_session
from journeyman.worlds import load_world

WORLD = load_world("telecom")
KEYS = {
    "customers": "customer_id",
    "accounts": "account_id",
    "account_contacts": "contact_id",
    "lines": "line_id",
    "devices": "device_id",
    "invoices": "invoice_id",
    "payments": "payment_id",
    "payment_methods": "method_id",
    "credits": "credit_id",
    "approvals": "approval_id",
    "tickets": "ticket_id",
    "number_ports": "port_id",
}


def insert(table: str, **values: Any) -> RowChange:
    keys = ("invoice_id", "item_no") if table == "invoice_items" else (KEYS[table],)
    return RowChange(table, "insert", {key: values[key] for key in keys}, new=values)


def account_rows() -> list[RowChange]:
    """One customer with one of everything: 167.00 past due on INV-8001 (late fee 10.00), 45.00 open on INV-8002."""
    invoice = {"account_id": "A-8001", "paid_cents": 0, "credited_cents": 0, "issued_on": "2026-01-05"}
    method = {"account_id": "A-8001", "kind": "card", "brand": "Visa", "limit_cents": 30000, "card_token": "CANARY-t"}
    line = {"account_id": "A-8001", "roaming": "off", "voicemail": "on", "data_cap": "off", "call_barring": "off"}
    line |= {
        "wifi_calling": "off",
        "plan_id": "core",
        "activated_on": "2024-01-01",
        "used_gb": 4,
        "port_pin_hash": "CANARY-p",
    }
    return [
        insert("customers", customer_id="C-8001", name="Test Person", kind="personal", status="active", email="t@x.example",
               phone="555-0001", street="1 Mill Lane", city="Castlemere", postcode="43111", marketing="no", pin_hash="CANARY-h"),
        insert("accounts", account_id="A-8001", customer_id="C-8001", status="active", balance_cents=21200, cycle_day=5,
               autopay="off", billing="paper", opened_on="2024-01-01"),
        insert("account_contacts", contact_id="CT-8001", account_id="A-8001", name="Test Person", role="owner", payment_limit_cents=20000),
        insert("account_contacts", contact_id="CT-8002", account_id="A-8001", name="Pat Viewer", role="viewer", payment_limit_cents=0),
        insert("lines", line_id="LN-8001", phone="555-0001", status="active", **line),
        insert("lines", line_id="LN-8002", phone="555-0002", status="suspended", suspend_reason="nonpayment", **line),
        insert("devices", device_id="DV-8001", line_id="LN-8001", model="Nova 8", purchased_on="2024-09-03", remaining_cents=6000, status="in_use"),
        insert("invoices", invoice_id="INV-8001", period="2026-01", due_on="2026-01-26", total_cents=16700, status="past_due", **invoice),
        insert("invoice_items", invoice_id="INV-8001", item_no=1, kind="plan", line_id="LN-8001", amount_cents=15700),
        insert("invoice_items", invoice_id="INV-8001", item_no=2, kind="late_fee", amount_cents=1000),
        insert("invoices", invoice_id="INV-8002", period="2026-02", due_on="2026-03-20", total_cents=4500, status="open", **invoice),
        insert("payment_methods", method_id="PM-8001", last4="4242", expires="2026-03", is_default=1, status="active", **method),
        insert("payment_methods", method_id="PM-8002", last4="1111", expires="2026-02", is_default=0, status="active", **method),
        insert("payment_methods", method_id="PM-8003", last4="2222", expires="2028-01", is_default=0, status="blocked", **method),
        insert("payments", payment_id="PAY-8001", account_id="A-8001", method_id="PM-8001", source="saved_method",
               amount_cents=15000, refunded_cents=0, status="posted", paid_at="2026-02-20T10:00:00"),
        insert("approvals", approval_id="AP-8001", account_id="A-8001", kind="credit", amount_cents=8000, status="approved", requested_at="2026-03-01T10:00:00"),
        insert("number_ports", port_id="PRT-8001", line_id="LN-8001", direction="in", carrier="Telora", status="rejected", requested_at="2026-02-20T10:00:00"),
        insert("tickets", ticket_id="TK-8001", account_id="A-8001", topic="billing", priority="normal", status="open", summary="s", opened_at="2026-02-01T10:00:00"),
    ]  # fmt: skip


def session(setup: list[RowChange] | None = None) -> WorldSession:
    task = Task(
        id="telecom/test/train-000", world="telecom", world_version=WORLD.version, family="test", level=1, split="train",
        now="2026-03-02T09:15:00", image="base", request="r", outcomes=[Outcome()], criteria=[], oracle=[],
        setup=account_rows() if setup is None else setup,
    ).sealed()  # fmt: skip
    return open_session(WORLD, task)


def call(live: WorldSession, tool: str, **arguments: Any) -> CallRecord:
    return asyncio.run(live.call(tool, arguments))


def ok(live: WorldSession, tool: str, **arguments: Any) -> Any:
    record = call(live, tool, **arguments)
    assert record.status == "ok", record.result
    return json.loads(record.result)


def changed(live: WorldSession) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row.table, str(next(iter(row.key.values())))): row.new for row in live.changes()}


VALID: dict[str, dict[str, Any]] = {
    "find_customer": {"name": "test per"},
    "get_customer": {"customer_id": "C-8001"},
    "get_customer_profile_v2": {"customer_id": "C-8001", "include": ["accounts", "contacts", "cases", "interactions", "messages"]},
    "verify_identity": {"customer_id": "C-8001", "pin": "0000"},
    "find_account": {"phone": "555-0001"},
    "get_account": {"account_id": "A-8001"},
    "update_contact": {"customer_id": "C-8001", "changes": {"email": "new@x.example"}},
    "log_interaction": {"customer_id": "C-8001", "channel": "chat", "summary": "s"},
    "find_line": {"phone": "555-0001"},
    "get_line": {"line_id": "LN-8001"},
    "get_line_status": {"line_id": "LN-8002"},
    "list_lines": {"account_id": "A-8001"},
    "set_line_feature": {"line_id": "LN-8001", "feature": "roaming", "state": "on"},
    "suspend_line": {"line_id": "LN-8001", "reason": "lost"},
    "restore_line": {"line_id": "LN-8002"},
    "check_upgrade_eligibility": {"line_id": "LN-8001"},
    "get_plan": {"line_id": "LN-8001"},
    "list_plans": {"kind": "personal"},
    "change_plan": {"line_id": "LN-8001", "plan_id": "max"},
    "bill_proration": {"line_id": "LN-8001", "amount": 4.33, "direction": "charge"},
    "list_addons": {"line_id": "LN-8001"},
    "add_addon": {"line_id": "LN-8001", "addon_id": "roam-pass"},
    "remove_addon": {"line_id": "LN-8001", "addon_id": "roam-pass"},
    "get_balance": {"account_id": "A-8001"},
    "list_open_invoices": {"account_id": "A-8001"},
    "list_invoices": {"account_id": "A-8001"},
    "get_invoice": {"invoice_id": "INV-8001"},
    "get_billing_summary": {"account_id": "A-8001"},
    "send_invoice_copy": {"invoice_id": "INV-8001", "channel": "email"},
    "list_credits": {"account_id": "A-8001"},
    "apply_credit": {"account_id": "A-8001", "amount": 5, "reason": "outage"},
    "waive_late_fee": {"invoice_id": "INV-8001"},
    "open_dispute": {"invoice_id": "INV-8001", "item_numbers": [2, 1], "reason": "not_mine"},
    "list_disputes": {"account_id": "A-8001"},
    "set_autopay": {"account_id": "A-8001", "state": "on"},
    "set_bill_delivery": {"account_id": "A-8001", "delivery": "email"},
    "list_payment_methods": {"account_id": "A-8001"},
    "check_payment_authorization": {"account_id": "A-8001", "amount": 167.0},
    "validate_payment_method": {"method_id": "PM-8001"},
    "take_payment": {"account_id": "A-8001", "method_id": "PM-8001", "amount": 167.0},
    "post_payment": {"account_id": "A-8001", "amount": 45.0, "source": "cash", "reference": "R1"},
    "list_payments": {"account_id": "A-8001"},
    "set_default_payment_method": {"account_id": "A-8001", "method_id": "PM-8003"},
    "refund_payment": {"payment_id": "PAY-8001", "amount": 20.5},
    "create_payment_arrangement": {"account_id": "A-8001", "installments": 3, "first_due": "2026-03-10"},
    "list_payment_arrangements": {"account_id": "A-8001"},
    "create_ticket": {"account_id": "A-8001", "topic": "sim", "summary": "s", "line_id": "LN-8001", "priority": "high"},
    "list_tickets": {"account_id": "A-8001", "status": "open"},
    "get_ticket": {"ticket_id": "TK-8001"},
    "add_ticket_note": {"ticket_id": "TK-8001", "note": "n"},
    "close_ticket": {"ticket_id": "TK-8001", "resolution": "denied"},
    "create_case": {"customer_id": "C-8001", "kind": "complaint", "description": "d"},
    "document_denial": {"account_id": "A-8001", "request": "fee_waiver", "reason": "already_used", "article_id": "FEE-LATE"},
    "request_approval": {"account_id": "A-8001", "kind": "credit", "amount": 80.0},
    "list_approvals": {"account_id": "A-8001"},
    "check_outage": {"city": "castlemere"},
    "run_line_test": {"line_id": "LN-8001"},
    "replace_sim": {"line_id": "LN-8001", "kind": "esim"},
    "get_port_status": {"phone": "555-0001"},
    "list_port_requests": {"line_id": "LN-8001"},
    "resubmit_port_in": {"port_id": "PRT-8001", "port_pin": "123456"},
    "send_port_pin": {"line_id": "LN-8001"},
    "request_port_out": {"line_id": "LN-8001", "carrier": "Telora", "port_pin": "000000"},
    "send_sms": {"customer_id": "C-8001", "template": "notice", "body": "b"},
    "send_email": {"customer_id": "C-8001", "template": "receipt", "body": "b"},
    "search_policy": {"query": "waive a late fee"},
    "get_policy_article": {"article_id": "PAY-SAVED"},
    "transfer_to_human": {"queue": "fraud", "summary": "s"},
}  # fmt: skip
# Calls of VALID whose arguments are well formed and that the records refuse: the code they must give.
REFUSED = {
    "restore_line": "not_eligible",
    "remove_addon": "not_found",
    "set_default_payment_method": "declined",
    "request_port_out": "declined",
}
