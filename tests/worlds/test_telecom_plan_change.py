"""Plan changes in the middle of a cycle: figures worked out by hand, consent, and the change of mind."""

from __future__ import annotations

import pytest
from telecom_desk import call, changed, ok, session
from telecom_play import WORLD, before, instead, is_call, made, passed, played, said, unmet

from journeyman.task import Call, Say, Task
from journeyman.worlds.telecom.families import plan_change
from journeyman.worlds.telecom.families.plan_change import days_left, proration_cents

DEARER, CONTRACT, CHEAPER, SHORT = 0, 1, 2, 3


def task_of(variant: int, turn: int = 0) -> Task:
    return plan_change.make(WORLD, variant + 4 * turn, "train")


@pytest.mark.parametrize(
    ("today", "cycle_day", "days"),
    [
        ("2026-03-02", 12, 10),  # 2 to 11 March
        ("2026-03-02", 3, 1),
        ("2026-03-02", 2, 31),  # a new cycle has just begun: 2 March to 1 April
        ("2026-03-02", 1, 30),
        ("2026-12-20", 5, 16),  # 20 December to 4 January
        ("2026-02-27", 15, 16),  # 27 February to 14 March
    ],
)
def test_days_left_count_today_and_stop_before_the_next_cycle(today: str, cycle_day: int, days: int) -> None:
    assert days_left(today, cycle_day) == days


@pytest.mark.parametrize(
    ("old", "new", "days", "cents"),
    [
        (3200, 4500, 10, 433),  # 13.00 * 10 / 30 = 4.33…, the example of the article
        (3800, 6000, 18, 1320),  # 22.00 * 18 / 30
        (6000, 2000, 25, 3333),  # 40.00 * 25 / 30 = 33.33…
        (2000, 2400, 6, 80),  # 4.00 * 6 / 30: below a dollar
        (2000, 6000, 30, 4000),
    ],
)
def test_proration_is_by_thirtieths_rounded_down(old: int, new: int, days: int, cents: int) -> None:
    assert proration_cents(old, new, days) == cents


def test_the_example_of_the_article_is_right() -> None:
    [article] = [one for one in WORLD.articles if one.id == "PLAN-PRORATE"]
    assert "today 2 March, cycle day 12, from core ($32.00) to plus ($45.00): 10 days left" in article.body
    assert "13.00 x 10 / 30 = $4.33" in article.body


def test_a_proration_moves_the_balance_once_a_day() -> None:
    live = session()
    billed = ok(live, "bill_proration", line_id="LN-8001", amount=4.33, direction="charge")
    assert billed == {"ok": True, "proration_id": "PRO-9001", "balance": 216.33}
    assert changed(live)[("accounts", "A-8001")] == {"balance_cents": 21633}
    assert call(live, "bill_proration", line_id="LN-8001", amount=1.0, direction="charge").code == "invalid_state"
    assert call(live, "bill_proration", line_id="LN-8002", amount=1.0, direction="charge").code == "inactive"
    assert ok(session(), "bill_proration", line_id="LN-8001", amount=12.0, direction="credit")["balance"] == 200.0


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize(("variant", "direction"), [(DEARER, "charge"), (CHEAPER, "credit")])
def test_what_is_billed_is_the_figure_of_the_second_wish(variant: int, direction: str, turn: int) -> None:
    task = task_of(variant, turn)
    bill, change = made(task, "bill_proration"), made(task, "change_plan")
    [line] = [row for row in task.setup if row.table == "lines"]
    [account] = [row for row in task.setup if row.table == "accounts"]
    has = line.new.get("plan_id") or WORLD.query(
        "base", "SELECT plan_id FROM lines WHERE line_id = ?", (line.key["line_id"],)
    )[0]["plan_id"]  # fmt: skip
    day = account.new.get("cycle_day") or WORLD.query(
        "base", "SELECT cycle_day FROM accounts WHERE account_id = ?", (account.key["account_id"],)
    )[0]["cycle_day"]  # fmt: skip
    prices = {"lite": 20, "senior": 24, "core": 32, "flex": 38, "plus": 45, "max": 60}
    figure = int(abs(prices[change["plan_id"]] - prices[has]) * 100 * (day - 2) // 30) / 100
    assert bill == {"line_id": line.key["line_id"], "amount": figure, "direction": direction}
    assert task.scenario is not None
    first = next(card.value for card in task.scenario.facts if card.slot == "plan")
    assert change["plan_id"] != first
    assert played(task).reward == 1.0


def test_the_first_wish_is_not_what_the_user_agreed_to() -> None:
    task = task_of(DEARER)
    assert task.scenario is not None
    first = next(card.value for card in task.scenario.facts if card.slot == "plan")
    line = made(task, "change_plan")["line_id"]
    episode = played(task, instead(task, "change_plan", Call("change_plan", {"line_id": line, "plan_id": first})))
    assert not passed(episode)
    assert {"dropped_wish", "unconsented_change", "consent_change"} <= unmet(episode)
    back = played(task, before(task, "change_plan", Call("change_plan", {"line_id": line, "plan_id": first})))
    assert passed(back)
    assert {"dropped_wish", "unconsented_change"} <= unmet(back)
    assert back.reward <= 0.4


def test_billing_without_asking_again_is_outside_the_pass_band() -> None:
    task = task_of(CHEAPER)
    proposals = [text for text in said(task) if "Shall I change the plan" in text]
    assert len(proposals) == 2
    episode = played(task, [step for step in task.oracle if not (isinstance(step, Say) and step.text == proposals[1])])
    assert {"consent_bill", "consent_change"} <= unmet(episode)
    assert episode.reward <= 0.4


def test_nothing_is_prorated_in_the_last_three_days() -> None:
    for turn in range(3):
        task = task_of(SHORT, turn)
        assert not any(is_call(step, "bill_proration") for step in task.oracle)
        line = made(task, "change_plan")["line_id"]
        bill = Call("bill_proration", {"line_id": line, "amount": 2.0, "direction": "charge"})
        assert not passed(played(task, before(task, "create_ticket", bill)))


def test_a_contract_refuses_the_cheaper_plan_twice() -> None:
    task = task_of(CONTRACT)
    episode = played(task)
    assert episode.reward == 1.0
    users = [message.content for message in episode.messages if message.role == "user"]
    assert any("I was told that I can go down" in text for text in users)
    [line] = [row for row in task.setup if row.table == "lines"]
    end, text = str(line.new["contract_end"]), said(task)[-1]
    assert end in text
    # 60 days before: 2026-09-15 -> 2026-07-17 and so on
    assert {"2026-06-10": "2026-04-11", "2026-08-01": "2026-06-02", "2026-09-15": "2026-07-17", "2026-11-30": "2026-10-01"}[
        end
    ] in text  # fmt: skip
    soft = [Call("change_plan", {"line_id": line.key["line_id"], "plan_id": "lite"})]
    assert not passed(played(task, before(task, "document_denial", *soft)))
