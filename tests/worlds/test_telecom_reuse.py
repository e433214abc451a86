"""Disputes and tickets that are open already, and requests in three parts."""

from __future__ import annotations

import pytest
from telecom_desk import call, ok, session
from telecom_play import WORLD, before, edited, instead, is_call, made, passed, played, unmet

from journeyman.task import Call, Say
from journeyman.worlds.telecom.families import dispute_reuse, three_part
from journeyman.worlds.telecom.families.dispute_reuse import decided_by

SAME, MORE, FRESH = 0, 1, 2
FEE, PLAN, NAME = 0, 1, 2


@pytest.mark.parametrize(
    ("opened", "day"),
    [
        ("2026-02-19", "2026-03-05"),  # Thursday: 20, 23-27 February, 2-5 March
        ("2026-02-20", "2026-03-06"),
        ("2026-02-21", "2026-03-06"),  # a Saturday counts like the Friday before
        ("2026-03-02", "2026-03-16"),
    ],
)
def test_ten_business_days(opened: str, day: str) -> None:
    assert decided_by(opened) == day


def test_disputes_are_listed_with_their_day() -> None:
    live = session()
    assert ok(live, "list_disputes", account_id="A-8001") == []
    ok(live, "open_dispute", invoice_id="INV-8001", item_numbers=[2, 1], reason="not_mine")
    assert ok(live, "list_disputes", account_id="A-8001") == [
        {
            "dispute_id": "DSP-9001",
            "invoice_id": "INV-8001",
            "items": [1, 2],
            "amount": 167.0,
            "reason": "not_mine",
            "status": "open",
            "opened_on": "2026-03-02",
        }
    ]
    assert call(live, "list_disputes", account_id="A-0000").code == "not_found"


@pytest.mark.parametrize("variant", [SAME, MORE])
def test_an_open_matter_is_noted_and_not_doubled(variant: int) -> None:
    task = dispute_reuse.make(WORLD, variant, "train")
    assert [row.table for row in task.outcomes[0].rows] == ["ticket_notes"]
    account = made(task, "list_disputes")["account_id"]
    doubled = Call("create_ticket", {"account_id": account, "topic": "billing", "summary": "Dispute."})
    episode = played(task, before(task, "add_ticket_note", doubled))
    assert not passed(episode)
    assert "second_ticket" in unmet(episode)
    elsewhere = Call("add_ticket_note", {"ticket_id": dispute_reuse.NOISE, "note": "RC-00000"})
    assert not passed(played(task, instead(task, "add_ticket_note", elsewhere)))


def test_the_receipt_is_told_only_when_asked() -> None:
    task = dispute_reuse.make(WORLD, SAME, "train")
    unasked = edited(task, lambda step: [] if isinstance(step, Say) and "receipt?" in step.text else [step])
    assert "asks_receipt" in unmet(played(task, unasked))
    assert task.scenario is not None
    receipt = next(str(card.value) for card in task.scenario.facts if card.slot == "receipt_no")
    assert all(receipt not in opening for opening in task.scenario.openings)


def test_an_old_dispute_does_not_stand_for_a_new_one() -> None:
    task = dispute_reuse.make(WORLD, FRESH, "train")
    noted = Call("add_ticket_note", {"ticket_id": dispute_reuse.NOISE, "note": "Overage contested."})
    assert not passed(played(task, instead(task, "open_dispute", noted)))
    both = Call("open_dispute", {**made(task, "open_dispute"), "item_numbers": [2, 3]})
    assert not passed(played(task, instead(task, "open_dispute", both)))


@pytest.mark.parametrize("variant", [FEE, PLAN, NAME])
def test_no_part_of_three_may_be_left_out(variant: int) -> None:
    task = three_part.make(WORLD, variant, "train")
    assert played(task).reward == 1.0
    writes = [step for step in task.oracle if isinstance(step, Call) and WORLD.tools_by_name[step.tool].kind == "write"]
    assert len(writes) >= 5
    for missing in writes:
        if missing.tool != "close_ticket":
            assert not passed(played(task, [step for step in task.oracle if step is not missing])), missing.tool


def test_exactly_one_part_is_refused() -> None:
    refused = {FEE: "fee_waiver", PLAN: "plan_change", NAME: "name_change"}
    for variant, slot in refused.items():
        task = three_part.make(WORLD, variant, "train")
        denied = [fact.slot for fact in task.outcomes[0].facts if fact.kind == "denied"]
        assert denied == [slot]
        denials = [step for step in task.oracle if is_call(step, "document_denial")]
        assert len(denials) == (variant != NAME)


def test_a_field_that_nobody_named_stays() -> None:
    task = three_part.make(WORLD, FEE, "train")
    update = made(task, "update_contact")
    more = Call("update_contact", {**update, "changes": {**update["changes"], "city": "Fernhill", "phone": "555-0199"}})
    episode = played(task, instead(task, "update_contact", more))
    assert not passed(episode)
    assert "other_field" in unmet(episode)


def test_one_question_brings_pin_and_address_where_the_user_bundles_them() -> None:
    task = three_part.make(WORLD, FEE, "train")
    email = made(task, "update_contact")["changes"]["email"]
    users = [message.content for message in played(task).messages if message.role == "user"]
    assert any("My PIN is" in text and email in text for text in users)
