"""What the telecom tools do, worked out by hand on rows the test sets up."""

from __future__ import annotations

from typing import Any

import pytest
from telecom_desk import WORLD, account_rows, call, changed, insert, ok, session

from journeyman.worlds.telecom.secrets import pin_of, port_pin_of


def test_short_results_of_the_simple_tools() -> None:
    live = session()
    assert ok(live, "find_line", phone="555-0001") == {"line_id": "LN-8001", "status": "active", "roaming": "off"}
    assert ok(live, "find_account", phone="555-0001") == {
        "account_id": "A-8001",
        "customer_id": "C-8001",
        "status": "active",
    }
    assert ok(live, "get_balance", account_id="A-8001") == {"balance": 212.0, "past_due": 167.0}
    assert ok(live, "get_plan", line_id="LN-8001") == {"plan_id": "core", "monthly": 32.0, "data_gb": 10, "used_gb": 4}
    assert ok(live, "set_line_feature", line_id="LN-8001", feature="roaming", state="on") == {
        "ok": True,
        "roaming": "on",
    }
    assert changed(live) == {("lines", "LN-8001"): {"roaming": "on"}}
    assert call(live, "set_line_feature", line_id="LN-8001", feature="roaming", state="on").code == "invalid_state"
    assert call(live, "set_line_feature", line_id="LN-8002", feature="roaming", state="on").code == "inactive"


def test_the_past_due_payment_of_167_dollars() -> None:
    live = session()
    assert (
        ok(live, "search_policy", query="past-due payment with a saved method", limit=1)[0]["article_id"] == "PAY-SAVED"
    )
    methods = ok(live, "list_payment_methods", account_id="A-8001")
    assert methods[0] == {
        "method_id": "PM-8001",
        "label": "Visa 4242",
        "default": True,
        "status": "active",
        "expires": "2026-03",
    }
    assert ok(live, "check_payment_authorization", account_id="A-8001", amount=167) == {
        "authorized": True,
        "limit": 200.0,
    }
    assert ok(live, "validate_payment_method", method_id="PM-8001") == {"valid": True, "limit": 300.0}
    arguments = {"account_id": "A-8001", "method_id": "PM-8001", "invoice_id": "INV-8001"}
    assert call(live, "take_payment", amount=167.01, **arguments).code == "invalid_state"
    assert ok(live, "take_payment", amount=167.0, **arguments) == {
        "ok": True,
        "payment_id": "PAY-9001",
        "balance": 45.0,
    }
    rows = changed(live)
    assert rows[("accounts", "A-8001")] == {"balance_cents": 4500}
    assert rows[("invoices", "INV-8001")] == {"paid_cents": 16700, "status": "paid"}
    assert rows[("payments", "PAY-9001")]["amount_cents"] == 16700
    assert len(rows) == 3
    assert ok(live, "restore_line", line_id="LN-8002") == {"ok": True, "status": "active"}


def test_a_payment_without_invoice_fills_the_oldest_first() -> None:
    live = session()
    assert ok(live, "take_payment", account_id="A-8001", method_id="PM-8001", amount=180.0)["balance"] == 32.0
    rows = changed(live)
    assert rows[("invoices", "INV-8001")] == {"paid_cents": 16700, "status": "paid"}
    assert rows[("invoices", "INV-8002")] == {"paid_cents": 1300}


@pytest.mark.parametrize(("method", "reason"), [("PM-8002", "expired"), ("PM-8003", "blocked")])
def test_bad_methods_do_not_validate_and_are_declined(method: str, reason: str) -> None:
    live = session()
    assert ok(live, "validate_payment_method", method_id=method) == {"valid": False, "reason": reason}
    assert call(live, "take_payment", account_id="A-8001", method_id=method, amount=10.0).code == "declined"
    assert live.changes() == []


@pytest.mark.parametrize(
    ("amount", "payer", "answer"),
    [
        (200.01, None, {"authorized": False, "reason": "over_limit", "limit": 200.0}),
        (10.0, "pat viewer", {"authorized": False, "reason": "no_payment_right"}),
        (10.0, "Nobody Here", {"authorized": False, "reason": "not_listed"}),
        (200.0, "TEST PERSON", {"authorized": True, "limit": 200.0}),
    ],
)
def test_payment_authorization(amount: float, payer: str | None, answer: dict[str, Any]) -> None:
    assert ok(session(), "check_payment_authorization", account_id="A-8001", amount=amount, payer_name=payer) == answer


def test_credits_above_fifty_dollars_spend_an_approval() -> None:
    live = session()
    credit = {"account_id": "A-8001", "reason": "billing_error"}
    assert call(live, "apply_credit", amount=50.01, **credit).code == "not_authorized"
    assert call(live, "apply_credit", amount=80.01, approval_id="AP-8001", **credit).code == "not_authorized"
    assert live.changes() == []
    assert ok(live, "apply_credit", amount=80.0, approval_id="AP-8001", **credit)["balance"] == 132.0
    assert changed(live)[("approvals", "AP-8001")] == {"status": "used"}
    assert call(live, "apply_credit", amount=60.0, approval_id="AP-8001", **credit).code == "not_authorized"
    assert ok(live, "apply_credit", amount=50.0, **credit)["balance"] == 82.0


def test_a_late_fee_is_waived_once_and_only_while_unpaid() -> None:
    live = session()
    assert ok(live, "waive_late_fee", invoice_id="INV-8001") == {"ok": True, "credit_id": "CR-9001", "amount": 10.0}
    rows = changed(live)
    assert rows[("invoices", "INV-8001")] == {"credited_cents": 1000}
    assert rows[("accounts", "A-8001")] == {"balance_cents": 20200}
    assert rows[("credits", "CR-9001")]["reason"] == "late_fee"
    assert call(live, "waive_late_fee", invoice_id="INV-8001").code == "invalid_state"
    assert call(live, "waive_late_fee", invoice_id="INV-8002").code == "not_found"
    paid = session()
    ok(paid, "take_payment", account_id="A-8001", method_id="PM-8001", amount=167.0)
    assert call(paid, "waive_late_fee", invoice_id="INV-8001").code == "invalid_state"


def test_refunds_above_one_hundred_dollars_need_approval() -> None:
    live = session()
    assert call(live, "refund_payment", payment_id="PAY-8001", amount=100.01).code == "not_authorized"
    assert ok(live, "refund_payment", payment_id="PAY-8001", amount=100) == {"ok": True, "refunded": 100.0}
    assert call(live, "refund_payment", payment_id="PAY-8001", amount=50.01).code == "invalid_state"
    assert changed(live) == {
        ("accounts", "A-8001"): {"balance_cents": 31200},
        ("payments", "PAY-8001"): {"refunded_cents": 10000},
    }


def test_arrangement_installments_are_rounded_up() -> None:
    live = session()
    arranged = ok(live, "create_payment_arrangement", account_id="A-8001", installments=3, first_due="2026-03-10")
    assert arranged == {"ok": True, "arrangement_id": "AR-9001", "installment": 55.67}
    assert (
        call(live, "create_payment_arrangement", account_id="A-8001", installments=2, first_due="2026-03-10").code
        == "invalid_state"
    )
    for first_due in ("2026-03-02", "10 March", "2026-02-30"):
        record = call(session(), "create_payment_arrangement", account_id="A-8001", installments=2, first_due=first_due)
        assert record.code == "invalid_argument"


def test_disputes_sum_the_items_once() -> None:
    live = session()
    opened = ok(live, "open_dispute", invoice_id="INV-8001", item_numbers=[2, 1, 2], reason="duplicate")
    assert opened == {"ok": True, "dispute_id": "DSP-9001", "amount": 167.0}
    assert changed(live)[("disputes", "DSP-9001")]["item_numbers"] == "1,2"
    assert (
        call(live, "open_dispute", invoice_id="INV-8001", item_numbers=[1], reason="duplicate").code == "invalid_state"
    )
    assert (
        call(session(), "open_dispute", invoice_id="INV-8001", item_numbers=[3], reason="duplicate").code == "not_found"
    )


@pytest.mark.parametrize("amount", [0, -5, 0.001, 12.345, 1e9])
def test_amounts_that_are_no_dollars_and_cents(amount: float) -> None:
    assert (
        call(session(), "apply_credit", account_id="A-8001", amount=amount, reason="outage").code == "invalid_argument"
    )


def test_upgrade_needs_eighteen_full_months_and_nothing_past_due() -> None:
    # 2024-09-03 to 2026-03-02 is a day short of 18 months.
    facts = {"eligible": False, "months_owned": 17, "remaining": 60.0, "past_due": 167.0}
    assert ok(session(), "check_upgrade_eligibility", line_id="LN-8001") == facts
    rows = [row for row in account_rows() if row.table not in ("invoices", "invoice_items", "devices")]
    device = insert("devices", device_id="DV-8001", line_id="LN-8001", model="Nova 8", purchased_on="2024-09-02", remaining_cents=6000, status="in_use")  # fmt: skip
    eligible = {"eligible": True, "months_owned": 18, "remaining": 60.0, "past_due": 0.0}
    assert ok(session([*rows, device]), "check_upgrade_eligibility", line_id="LN-8001") == eligible


def test_plans_refuse_retired_and_wrong_kind() -> None:
    live = session()
    assert call(live, "change_plan", line_id="LN-8001", plan_id="saver").code == "not_eligible"
    assert call(live, "change_plan", line_id="LN-8001", plan_id="biz-max").code == "not_eligible"
    assert call(live, "change_plan", line_id="LN-8001", plan_id="core").code == "invalid_state"
    assert call(live, "change_plan", line_id="LN-8002", plan_id="max").code == "inactive"
    assert ok(live, "change_plan", line_id="LN-8001", plan_id="max") == {"ok": True, "plan_id": "max", "monthly": 60.0}


def test_a_denial_cites_a_current_article() -> None:
    live = session()
    denial = {"account_id": "A-8001", "request": "fee_waiver", "reason": "already_used"}
    assert call(live, "document_denial", article_id="FEE-LATE-2023", **denial).code == "invalid_state"
    assert call(live, "document_denial", article_id="NO-SUCH", **denial).code == "not_found"
    assert ok(live, "document_denial", article_id="FEE-LATE", **denial) == {"ok": True, "denial_id": "DN-9001"}


def test_pins_open_what_they_should_and_nothing_else() -> None:
    live = session([])
    row = WORLD.query(
        "base", "SELECT customer_id, line_id FROM lines JOIN accounts USING (account_id) WHERE lines.status = 'active' "
        "AND line_id NOT IN (SELECT line_id FROM number_ports) ORDER BY line_id LIMIT 1"
    )[0]  # fmt: skip
    customer, line = row["customer_id"], row["line_id"]
    wrong = f"{(int(pin_of(customer)) + 1) % 10000:04d}"
    assert ok(live, "verify_identity", customer_id=customer, pin=pin_of(customer)) == {"verified": True}
    assert ok(live, "verify_identity", customer_id=customer, pin=wrong) == {"verified": False}
    assert call(live, "request_port_out", line_id=line, carrier="Telora", port_pin=pin_of(customer)).code == "declined"
    assert (
        ok(live, "request_port_out", line_id=line, carrier="Telora", port_pin=port_pin_of(line))["port_id"]
        == "PRT-9001"
    )
    assert (
        call(live, "request_port_out", line_id=line, carrier="Telora", port_pin=port_pin_of(line)).code
        == "invalid_state"
    )
