"""Goodwill and approvals: thresholds, the duty manager's answer, and what may not be done in its place."""

from __future__ import annotations

import pytest
from telecom_desk import account_rows, call, changed, insert, ok, session
from telecom_play import WORLD, before, instead, is_call, made, passed, played, unmet

from journeyman.task import Call, RowChange, Task
from journeyman.worlds.telecom.families import approval_credit
from journeyman.worlds.telecom.families.approval_credit import goodwill_cents

GRANTED, DECLINED, BELOW, PENDING = 0, 1, 2, 3


def task_of(variant: int, turn: int = 0) -> Task:
    return approval_credit.make(WORLD, variant + 4 * turn, "train")


def duty(kind: str, answer: str) -> RowChange:
    key = {"account_id": "A-8001", "kind": kind}
    return RowChange("duty_answers", "insert", dict(key), new={**key, "answer": answer})


@pytest.mark.parametrize(("broken", "cents"), [(0, 0), (1, 1000), (2, 2000), (3, 3000), (5, 5000), (6, 5000)])
def test_ten_dollars_a_promise_and_fifty_at_most(broken: int, cents: int) -> None:
    assert goodwill_cents(broken) == cents


def test_goodwill_has_limits_of_its_own() -> None:
    live = session()
    goodwill = {"account_id": "A-8001", "reason": "goodwill"}
    assert call(live, "apply_credit", amount=20.01, **goodwill).code == "not_authorized"
    assert call(live, "apply_credit", amount=50.01, approval_id="AP-8001", **goodwill).code == "not_eligible"
    assert live.changes() == []
    assert ok(live, "apply_credit", amount=20.0, **goodwill)["balance"] == 192.0
    assert ok(live, "apply_credit", amount=50.0, approval_id="AP-8001", **goodwill)["balance"] == 142.0
    assert changed(live)[("approvals", "AP-8001")] == {"status": "used"}
    assert ok(session(), "apply_credit", account_id="A-8001", amount=50.0, reason="outage")["balance"] == 162.0


def test_the_duty_manager_answers_with_the_request() -> None:
    asked = {"account_id": "A-8001", "kind": "credit", "amount": 30.0}
    waiting = ok(session(), "request_approval", **asked)
    assert waiting == {"ok": True, "approval_id": "AP-9001", "status": "pending"}
    granted = session([*account_rows(), duty("credit", "approved")])
    assert ok(granted, "request_approval", **asked)["status"] == "approved"
    assert ok(granted, "request_approval", **{**asked, "kind": "refund"})["status"] == "pending"
    spent = ok(granted, "apply_credit", account_id="A-8001", amount=30.0, reason="goodwill", approval_id="AP-9001")
    assert spent["balance"] == 182.0
    declined = session([*account_rows(), duty("credit", "rejected")])
    assert ok(declined, "request_approval", **asked)["status"] == "rejected"
    credit = {"account_id": "A-8001", "amount": 30.0, "reason": "goodwill", "approval_id": "AP-9001"}
    assert call(declined, "apply_credit", **credit).code == "not_authorized"


@pytest.mark.parametrize(("requested", "code"), [("2026-02-16", ""), ("2026-02-15", "not_authorized")])
def test_an_approval_lapses_after_fourteen_days(requested: str, code: str) -> None:
    approval = insert(
        "approvals", approval_id="AP-8002", account_id="A-8001", kind="credit", amount_cents=6000, status="approved",
        requested_at=f"{requested}T10:00:00",
    )  # fmt: skip
    live = session([*account_rows(), approval])
    credit = {"account_id": "A-8001", "amount": 60.0, "reason": "billing_error", "approval_id": "AP-8002"}
    assert call(live, "apply_credit", **credit).code == code


def test_four_installments_need_an_approval_of_the_whole_amount() -> None:
    plan = {"account_id": "A-8001", "first_due": "2026-03-10"}
    assert call(session(), "create_payment_arrangement", installments=4, **plan).code == "not_authorized"
    approval = insert(
        "approvals", approval_id="AP-8002", account_id="A-8001", kind="arrangement", amount_cents=16700, status="approved",
        requested_at="2026-03-01T10:00:00",
    )  # fmt: skip
    live = session([*account_rows(), approval])
    arranged = ok(live, "create_payment_arrangement", installments=4, approval_id="AP-8002", **plan)
    assert arranged["installment"] == 41.75
    assert changed(live)[("approvals", "AP-8002")] == {"status": "used"}


@pytest.mark.parametrize("variant", [GRANTED, DECLINED, BELOW, PENDING])
@pytest.mark.parametrize("turn", range(3))
def test_the_amount_counts_the_promises_in_the_notes(variant: int, turn: int) -> None:
    task = task_of(variant, turn)
    notes = [str(row.new["body"]) for row in task.setup if row.table == "ticket_notes"]
    broken = sum(note.startswith("Promised") and note.endswith(("made.", "came.", "sent.")) for note in notes)
    tool = "apply_credit" if variant == BELOW else "request_approval"
    assert made(task, tool)["amount"] == broken * 10.0
    assert (broken * 10 > 20) == (variant != BELOW)
    assert played(task).reward == 1.0


def test_no_smaller_credit_takes_the_place_of_a_declined_one() -> None:
    task = task_of(DECLINED)
    account = made(task, "request_approval")["account_id"]
    part = Call("apply_credit", {"account_id": account, "amount": 20.0, "reason": "goodwill"})
    episode = played(task, before(task, "document_denial", part))
    assert not passed(episode)
    assert "smaller" in unmet(episode)
    users = [message.content for message in played(task).messages if message.role == "user"]
    assert any("at least what you can decide" in text for text in users)


def test_nothing_is_credited_while_the_answer_is_awaited() -> None:
    task = task_of(PENDING)
    assert not any(is_call(step, "apply_credit") or is_call(step, "close_ticket") for step in task.oracle)
    account = made(task, "request_approval")["account_id"]
    part = Call("apply_credit", {"account_id": account, "amount": 20.0, "reason": "goodwill"})
    assert not passed(played(task, before(task, "create_ticket", part)))


def test_the_count_of_the_customer_is_not_the_count_of_the_notes() -> None:
    task = task_of(BELOW)
    credit = made(task, "apply_credit")
    more = Call("apply_credit", {**credit, "amount": credit["amount"] + 10.0})
    episode = played(task, instead(task, "apply_credit", more))
    assert not passed(episode)
    assert "claimed_amount" in unmet(episode)


def test_an_approval_below_the_limit_is_a_change_nobody_wanted() -> None:
    task = task_of(BELOW)
    credit = made(task, "apply_credit")
    asked = Call("request_approval", {"account_id": credit["account_id"], "kind": "credit", "amount": credit["amount"]})
    assert not passed(played(task, before(task, "apply_credit", asked)))
