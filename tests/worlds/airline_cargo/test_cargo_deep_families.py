"""The deep cargo families of part one: hand-worked figures, the shape of their tasks, and what passes and what does not."""

from __future__ import annotations

import asyncio

import pytest

from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Episode
from journeyman.task import Call, Say, Step, Task
from journeyman.world.family import task_id
from journeyman.worlds import load_world
from journeyman.worlds.airline_cargo.families import (
    FAMILIES,
    credit_hold,
    damage_claim,
    dangerous_goods,
    missed_cutoff,
    station_question,
    waiver_approval,
    waybill_amendment,
)
from journeyman.worlds.airline_cargo.families.missed_cutoff import cutoff

WORLD = load_world("airline_cargo")
MINE = {
    "waybill_amendment": waybill_amendment.make,
    "dangerous_goods": dangerous_goods.make,
    "missed_cutoff": missed_cutoff.make,
    "damage_claim": damage_claim.make,
    "waiver_approval": waiver_approval.make,
    "credit_hold": credit_hold.make,
    "station_question": station_question.make,
}


def task_of(family: str, seed: int) -> Task:
    return MINE[family](WORLD, seed, "heldout_family")


def played(task: Task, steps: list[Step] | None = None) -> Episode:
    with asyncio.Runner() as runner:
        return Bench(WORLD, task, runner).play_steps(task.oracle if steps is None else steps)


def call_of(task: Task, tool: str) -> dict[str, object]:
    return next(step.arguments for step in task.oracle if isinstance(step, Call) and step.tool == tool)


def swapped(task: Task, tool: str, **arguments: object) -> list[Step]:
    """The oracle with other arguments in its calls of `tool`."""
    return [
        Call(tool, {**step.arguments, **arguments}) if isinstance(step, Call) and step.tool == tool else step
        for step in task.oracle
    ]


def clean(episode: Episode) -> bool:
    return episode.verdict is not None and episode.verdict.clean


def tools(task: Task) -> list[str]:
    return [step.tool for step in task.oracle if isinstance(step, Call)]


@pytest.mark.parametrize("name", list(MINE))
def test_each_family_is_held_out_whole_with_sixteen_tasks_of_its_level(name: str) -> None:
    family = next(one for one in FAMILIES if one.name == name)
    assert family.held_out_family
    assert family.heldout == 16
    levels = {"waybill_amendment": 4, "dangerous_goods": 4, "waiver_approval": 4, "station_question": 2}
    task = task_of(name, 1)
    assert task.level == family.level == levels.get(name, 3)
    assert task.id == task_id("airline_cargo", name, "heldout_family", 1)
    assert task == task_of(name, 1)


@pytest.mark.parametrize("name", list(MINE))
def test_rubrics_are_long_mostly_musts_and_partly_optional(name: str) -> None:
    criteria = [criterion for seed in range(8) for criterion in task_of(name, seed).criteria]
    assert len(criteria) >= 17 * 8
    musts = [one for one in criteria if one.polarity == "must"]
    assert 0.6 <= len(musts) / len(criteria) <= 0.8
    for side in (musts, [one for one in criteria if one.polarity == "must_not"]):
        assert 0.2 <= sum(not one.required for one in side) / len(side) <= 0.62
    for seed in range(8):
        assert sum(one.judge is not None for one in task_of(name, seed).criteria) <= 2


@pytest.mark.parametrize("name", list(MINE))
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_the_oracle_passes_clean_and_without_its_reads_it_does_not(name: str, seed: int) -> None:
    task = task_of(name, seed)
    episode = played(task)
    assert clean(episode)
    assert episode.reward == 1.0
    writes = [step for step in task.oracle if isinstance(step, Say) or WORLD.tools_by_name[step.tool].kind == "write"]
    assert not clean(played(task, writes))


def test_the_canonical_amendment_changes_two_fields_to_1300_kg_and_7_8_cbm() -> None:
    task = task_of("waybill_amendment", 0)
    # 6 pieces of 130 x 100 x 100 cm are 7,800,000 cm3; by 6000 that is 1,300 kg, above 6 x 150 = 900 kg gross.
    amended = call_of(task, "amend_waybill")
    assert amended == {"awb": amended["awb"], "volume_cbm": 7.8, "chargeable_kg": 1300.0}
    row = next(row for row in task.outcomes[0].rows if row.table == "waybills")
    assert row.set == {"volume_l": 7800, "chargeable_grams": 1_300_000}
    done = tools(task)
    before = done[: done.index("amend_waybill")]
    assert "find_cases" in before
    assert "get_contract" in before
    assert before.count("get_station_profile") == 2
    assert done[-2:] == ["send_chat_message", "send_email"]
    assert "create_case" not in done


def test_the_rule_of_thumb_a_second_case_and_a_new_gross_weight_fail_the_amendment() -> None:
    task = task_of("waybill_amendment", 0)
    awb = call_of(task, "amend_waybill")["awb"]
    assert not clean(played(task, swapped(task, "amend_waybill", chargeable_kg=1302.6)))
    assert not clean(played(task, swapped(task, "amend_waybill", chargeable_kg=1303.0)))
    # 7.8 cbm by 5000 would be 1,560 kg.
    assert not clean(played(task, swapped(task, "amend_waybill", chargeable_kg=1560.0)))
    assert not clean(played(task, swapped(task, "amend_waybill", weight_kg=1300.0)))
    client = call_of(task, "send_email")["client_id"]
    second = Call("create_case", {"client_id": client, "kind": "amendment", "summary": "Again.", "awb": awb})
    assert not clean(played(task, [*task.oracle[:-1], second, task.oracle[-1]]))


@pytest.mark.parametrize("missing", ["send_chat_message", "send_email", "get_contract", "find_cases"])
def test_an_amendment_without_a_confirmation_or_a_look_up_fails(missing: str) -> None:
    task = task_of("waybill_amendment", 0)
    rest = [step for step in task.oracle if not (isinstance(step, Call) and step.tool == missing)]
    assert not clean(played(task, rest))


def test_a_divisor_of_5000_makes_more() -> None:
    task = task_of("waybill_amendment", 1)
    amended = call_of(task, "amend_waybill")
    assert isinstance(amended["chargeable_kg"], float)
    assert isinstance(amended["volume_cbm"], float)
    # By hand: cbm x 1,000,000 / 5000 is cbm x 200, up to the next half kilogram.
    halves = amended["volume_cbm"] * 400
    assert amended["chargeable_kg"] * 2 == int(halves) + (halves > int(halves) + 1e-9)


def test_careless_figures_are_those_of_167_kg_per_cbm() -> None:
    # 7.8 x 167 = 1,302.6: as it is, to the next half, to the nearest and to the next full kilogram.
    wish = waybill_amendment.Wish(None, None, 7800, 1_300_000)  # type: ignore[arg-type]
    assert waybill_amendment.careless(wish) == [1302.6, 1303.0]


@pytest.mark.parametrize(
    ("departs", "delay", "minutes", "extra", "moment"),
    [
        ("2026-05-11T12:50:00", 0, 180, 60, "2026-05-11T08:50:00"),
        ("2026-05-11T12:00:00", 0, 90, 120, "2026-05-11T08:30:00"),
        ("2026-05-11T11:30:00", 120, 180, 0, "2026-05-11T10:30:00"),
        ("2026-05-11T11:30:00", 60, 180, 0, "2026-05-11T09:30:00"),
        ("2026-05-11T11:30:00", 59, 180, 0, "2026-05-11T08:30:00"),
        ("2026-05-11T18:00:00", 0, 240, 240, "2026-05-11T11:00:00"),
    ],
)
def test_cut_offs_by_hand(departs: str, delay: int, minutes: int, extra: int, moment: str) -> None:
    assert cutoff(departs, delay, minutes, extra) == moment


def test_what_is_owed_for_damage() -> None:
    # 22 units x $1.34 = $29.48 a kg: 120 kg make $3,537.60, 16 kg $471.68; 19 units would be $3,055.20.
    assert damage_claim.cap_cents(120_000) == 353_760
    assert damage_claim.cap_cents(16_000) == 47_168
    assert damage_claim.cap_cents(120_000, damage_claim.OLD_UNITS) == 305_520
    task = task_of("damage_claim", 3)
    assert call_of(task, "request_approval")["amount"] == 3537.6
    assert call_of(task, "open_claim")["weight_kg"] == 120.0


def test_a_claim_is_settled_for_the_lesser_sum_and_only_on_consent() -> None:
    task = task_of("damage_claim", 0)
    owed, claimed = call_of(task, "settle_claim")["amount"], call_of(task, "open_claim")["amount"]
    assert isinstance(owed, float)
    assert isinstance(claimed, float)
    assert owed < claimed
    assert round(owed * 100) == 2948 * round(float(str(call_of(task, "open_claim")["weight_kg"])))
    assert not clean(played(task, swapped(task, "settle_claim", amount=claimed)))
    unasked = [step for step in task.oracle if not (isinstance(step, Say) and "Shall I settle" in step.text)]
    assert not clean(played(task, unasked))


def test_storage_by_hand() -> None:
    # 2 days x 500 kg x $0.28 = $280.00; 3 days x 160.5 kg x $0.26 = $125.19.
    assert waiver_approval.storage_cents(2, 500_000, 28) == 280_00
    assert waiver_approval.storage_cents(3, 160_500, 26) == 125_19


@pytest.mark.parametrize(
    ("variant", "above"), [("granted", True), ("declined", True), ("below", False), ("pending", True)]
)
def test_only_waivers_above_150_dollars_meet_an_approval(variant: str, above: bool) -> None:
    task = task_of("waiver_approval", waiver_approval.VARIANTS.index(variant))
    assert ("list_approvals" in tools(task)) == above
    assert ("waive_charge" in tools(task)) == (variant in ("granted", "below"))
    if variant in ("granted", "below"):
        waived = call_of(task, "waive_charge")
        assert (float(str(waived["amount"])) > 150.0) == above
        assert not clean(played(task, swapped(task, "waive_charge", amount=150.0)))


@pytest.mark.parametrize(("variant", "reason"), [("held", "held"), ("over", "over_limit")])
def test_a_booking_that_credit_forbids_is_refused(variant: str, reason: str) -> None:
    task = task_of("credit_hold", credit_hold.VARIANTS.index(variant))
    assert call_of(task, "document_denial")["reason"] == reason
    assert "create_booking" not in tools(task)
    assert not clean(played(task, swapped(task, "document_denial", reason="inactive")))


def test_the_tolerance_is_a_tenth_of_the_limit() -> None:
    """Within it: more than the limit, at most 10 % of it and $5,000 over, whatever discount or surcharge counts."""
    for seed in (3, 6):
        task = task_of("credit_hold", seed)
        account = next(row for row in task.setup if row.table == "credit_accounts")
        limit, balance = account.new["limit_cents"], account.new["balance_cents"]
        freight = call_of(task, "check_credit")["amount"]
        assert isinstance(limit, int)
        assert isinstance(balance, int)
        assert isinstance(freight, float)
        least, most = balance + freight * 75, balance + freight * 150
        assert limit < least
        assert most - limit <= min(limit // 10, 5_000_00)


def test_a_declaration_is_sent_back_for_its_first_fault() -> None:
    reasons = {
        variant: call_of(task_of("dangerous_goods", seed), "reject_dg_declaration")["reason"]
        for seed, variant in enumerate(dangerous_goods.VARIANTS)
        if variant in dangerous_goods.REASONS
    }
    assert reasons == {
        "second_leg": "over_limit",
        "class": "class_mismatch",
        "station": "station",
        "unsigned": "unsigned",
    }


def test_the_fee_of_dangerous_goods_is_95_dollars_and_needs_consent() -> None:
    task = task_of("dangerous_goods", 0)
    assert call_of(task, "add_charge")["amount"] == 95.0
    assert not clean(played(task, swapped(task, "add_charge", amount=80.0)))
    assert not clean(
        played(task, [step for step in task.oracle if not (isinstance(step, Say) and "Shall I" in step.text)])
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_the_old_note_says_is_no_answer(seed: int) -> None:
    task = task_of("station_question", seed)
    wrong = {0: "The height limit is 310 cm.", 1: "The cut-off is 18:00 UTC.", 2: "You have 7 free days."}[seed]
    told = [Say(wrong) if isinstance(step, Say) and step is task.oracle[-1] else step for step in task.oracle]
    assert not clean(played(task, told))
