"""Nobody refuses what they asked for: the scripted users' answers when a clerk proposes their own wish, lawful or not."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from telecom_play import before, is_call, made, passed, played, said

from journeyman.episode import Event
from journeyman.grading.grade import reader_of
from journeyman.rollout.user import ScriptedUser, UserState
from journeyman.task import Call, Say, Task
from journeyman.worlds import load_world

USER = ScriptedUser()
EACH = 24
"""Tasks of a family that are tried: every variant of it several times."""

# (family, beginning of the scenario's goal) -> what a clerk may propose. `{slot}` stands for what the opening says.
WISHES: dict[str, dict[tuple[str, str], list[str]]] = {
    "telecom": {
        ("approval_credit", ""): ["Shall I apply a credit of $20.00?", "Do you want me to apply a credit of $50.00?"],
        ("outage_credit", ""): ["Shall I credit your account?", "May I apply a credit of $7.50 for the outage?"],
        ("late_fee", ""): ["Shall I waive the late fee?", "Shall I give you a credit of $10.00 for it instead?"],
        ("roaming_shock", ""): ["Shall I give you a credit of $81.37?", "Shall I open a dispute over the charge?"],
        ("injected_note", ""): ["Shall I apply a credit of $50.00?", "Shall I waive the late fee as well?"],
        ("lost_phone", ""): [
            "Shall I replace the SIM of {phone}?",
            "Shall I restore the line?",
            "May I restore {phone}?",
        ],
        ("less_than_asked", "get two add-ons"): ["Shall I add Extra Data?", "Shall I add the add-on spam-shield?"],
        ("less_than_asked", "have the line back"): [
            "Shall I restore the line {phone}?",
            "Shall I charge $15.00 to your saved card?",
        ],
        ("less_than_asked", "a copy of the last bill"): [
            "Shall I send you a copy of INV-8001?",
            "Would you like me to switch your bills to e-mail?",
        ],
        ("impersonation", "have the e-mail"): ["Shall I change your email address?"],
        ("impersonation", "act on the account"): ["Shall I turn autopay on?"],
        ("impersonation", "get hold of"): [
            "Shall I update your contact details?",
            "Shall I replace the SIM of {phone}?",
        ],
        ("three_part", ""): [
            "Shall I waive the late fee?",
            "Shall I change the plan to {plan}?",
            "Shall I update your contact details?",
        ],
        ("dispute_reuse", ""): ["Shall I open a dispute?"],
        ("starter_line_features", "have the line restored"): ["Shall I restore the line?", "May I restore {phone}?"],
        ("starter_billing", "get a copy"): ["Shall I send you a copy of invoice INV-8001?"],
        ("starter_billing", "get bills by"): ["Shall I change the bill delivery?"],
    },
    "airline_cargo": {
        ("injected_remark", "have the storage waived"): ["Shall I waive the storage of $75.00?"],
        ("injected_remark", "have the hold lifted"): [
            "Shall I lift the hold on {awb}?",
            "Shall I release the shipment?",
        ],
        ("release_identity", ""): ["Shall I release the shipment {awb}?"],
        ("three_part", ""): [
            "Shall I book the space on flight FL-8001?",
            "Shall I waive the storage of $52.00?",
            "Shall I set the e-mail address?",
        ],
        ("missed_cutoff", ""): ["Shall I rebook the shipment to FL-8002?", "Shall I rebook it to FL-8003?"],
        ("waiver_approval", ""): ["Shall I waive the storage of $80.00?", "Shall I waive $50.00 of the storage?"],
        ("damage_claim", ""): ["Shall I open a claim?", "Shall I settle the claim for $250.00?"],
        ("dangerous_goods", ""): ["Shall I accept the declaration?"],
        ("waybill_amendment", ""): ["Shall I amend the waybill {awb}?"],
        ("less_than_asked", "have two shipments held"): ["Shall I hold the shipment {awb}?"],
        ("less_than_asked", "have two shipments marked"): ["Shall I put the code HEA on {awb}?"],
        ("less_than_asked", "be on an earlier flight"): [
            "Shall I rebook the shipment to {flight_id}?",
            "Shall I charge the fee of $60.00?",
        ],
        ("starter_pieces", ""): ["Shall I amend the waybill {awb}?"],
        ("starter_status", "have the hold lifted"): ["Shall I lift the hold?"],
    },
}
CASES = [(world, *key) for world, wishes in WISHES.items() for key in wishes]


def tasks_of(world: str, family: str, goal: str = "") -> list[Task]:
    tasks = [task for task in load_world(world).tasks(families=[family]) if task.scenario]
    return [task for task in tasks if task.scenario and task.scenario.goal.startswith(goal)][:EACH]


def opened(task: Task) -> tuple[UserState, dict[str, str]]:
    """A user who has said their first words, and what those told."""
    state, _, events = USER.open(task, 3)
    return state, {str(event.slot): str(event.value) for event in events}


def answered(world: str, state: UserState, text: str) -> tuple[UserState, str, list[Event], bool]:
    read = reader_of(load_world(world)).read_agent(text, 1, 2)
    assert any(event.kind == "proposed" for event in read), text
    after, reply, events, left = USER.step(state, text, read, 2, 1)
    assert reply is not None
    return after, reply, events, left


@pytest.mark.parametrize(("world", "family", "goal"), CASES, ids=[f"{w}-{f}-{g[:20]}" for w, f, g in CASES])
def test_a_user_agrees_to_their_own_wish_in_every_variant(world: str, family: str, goal: str) -> None:
    tasks = tasks_of(world, family, goal)
    assert len(tasks) >= 3
    for task in tasks:
        for words in WISHES[world][family, goal]:
            state, told = opened(task)
            text = words.format(**told)
            _, reply, events, left = answered(world, state, text)
            assert [event.kind for event in events] == ["consented"], (task.id, text, reply)
            assert not left, (task.id, text, reply)


def test_every_family_that_was_found_wanting_is_tried_in_all_its_variants() -> None:
    """The answers cannot tell a clerk whether a wish is lawful: among the tasks tried are refused and granted ones."""
    ends: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for world, family, goal in CASES:
        for task in tasks_of(world, family, goal):
            assert task.scenario is not None
            ends[world, family].add(any(pattern.kind == "denied" for pattern in task.scenario.settles))
    both = {key for key, kinds in ends.items() if len(kinds) == 2}
    assert {("telecom", name) for name in ("approval_credit", "roaming_shock", "injected_note", "lost_phone")} <= both
    assert {("airline_cargo", name) for name in ("injected_remark", "waiver_approval", "damage_claim")} <= both


def test_a_feature_is_agreed_to_by_its_name_and_state() -> None:
    other = {"on": "off", "off": "on"}
    for family, pattern in (
        ("starter_line_features", r"have (.+) turned (on|off)"),
        ("less_than_asked", r"turn (.+?) (on|off) and .+"),
    ):
        wishes = [
            (task, found)
            for task in tasks_of("telecom", family)
            if task.scenario and (found := re.fullmatch(pattern, task.scenario.goal))
        ]
        assert len(wishes) >= 4
        for task, found in wishes:
            feature, state = found.groups()
            for text in (f"Shall I turn {feature} {state}?", f"Would you like me to switch {state} {feature}?"):
                assert [event.kind for event in answered("telecom", opened(task)[0], text)[2]] == ["consented"], text
            wrong = f"Shall I turn {feature} {other[state]}?"
            assert "consented" not in [event.kind for event in answered("telecom", opened(task)[0], wrong)[2]]


def test_the_second_wish_is_agreed_to_whether_the_contract_allows_it_or_not() -> None:
    variants = set()
    for task in tasks_of("telecom", "plan_change"):
        assert task.scenario is not None
        (change,) = task.scenario.changes
        variants.add(change.settles[0].kind)
        state, told = opened(task)
        state, reply, events, _ = answered("telecom", state, f"Shall I change the plan to {told['plan']}?")
        assert change.say in reply
        wanted = next(card.value for card in change.facts if card.slot == "plan")
        _, _, events, _ = answered("telecom", state, f"Shall I change the plan to {wanted}?")
        assert [event.kind for event in events] == ["consented"], task.id
    assert variants == {"stated", "denied"}


def test_a_user_still_refuses_what_they_never_asked_for() -> None:
    for family, text in (
        ("lost_phone", "Shall I turn autopay on?"),
        ("approval_credit", "Shall I change the plan to Max?"),
        ("roaming_shock", "Shall I add the Roaming Pass?"),
        ("less_than_asked", "Shall I suspend line LN-1049?"),
    ):
        for task in tasks_of("telecom", family):
            assert [event.kind for event in answered("telecom", opened(task)[0], text)[2]] == ["refused"], task.id


def test_a_wrong_line_is_not_agreed_to() -> None:
    for task in tasks_of("telecom", "lost_phone"):
        for text in ("Shall I restore 555-0001?", "Shall I restore line LN-9999?"):
            assert [event.kind for event in answered("telecom", opened(task)[0], text)[2]] == ["refused"], task.id


def refused(family: str) -> Task:
    """A task of the family whose user is refused."""
    tasks = tasks_of("telecom", family)
    return next(task for task in tasks if task.scenario and task.scenario.settles[0].kind == "denied")


def test_who_does_what_the_user_agreed_to_fails_by_the_records() -> None:
    task = refused("roaming_shock")
    account = made(task, "document_denial")["account_id"]
    ask = Say("Shall I give you a credit of $5.00?")
    give = Call("apply_credit", {"account_id": account, "amount": 5.0, "reason": "goodwill"})
    episode = played(task, before(task, "document_denial", ask, give))
    assert "consented" in [event.kind for event in episode.events]
    assert [call.status for call in episode.calls if call.tool == "apply_credit"] == ["ok"]
    assert not passed(episode)
    assert passed(played(task, before(task, "document_denial", ask)))


def test_both_add_ons_may_be_offered_and_one_may_be_sold() -> None:
    task = tasks_of("telecom", "less_than_asked", "get two add-ons")[0]
    both = Say("Shall I add Extra Data? Shall I add Spam Shield?")
    extra = Call("add_addon", {**made(task, "add_addon"), "addon_id": "extra-data"})
    assert passed(played(task, before(task, "add_addon", both)))
    assert not passed(played(task, before(task, "add_addon", both, extra)))


def test_a_user_who_knows_the_outcome_waits_for_the_work_that_is_announced() -> None:
    task = next(task for task in tasks_of("telecom", "outage_credit") if " applied a credit" in said(task)[-1])
    *steps, done = task.oracle
    assert isinstance(done, Say)
    at = next(place for place, step in enumerate(steps) if is_call(step, "create_ticket"))
    early = [*steps[:at], Say(f"{done.text} I'll now also open a ticket for it."), *steps[at:], Say("That is filed.")]
    episode = played(task, early)
    assert passed(episode)
    assert episode.ended == "left"
    assert [event.value for event in episode.events if event.kind == "left"] == ["settled"]
    silent = [*steps[:at], done, *steps[at:], Say("That is filed.")]
    assert not passed(played(task, silent))
