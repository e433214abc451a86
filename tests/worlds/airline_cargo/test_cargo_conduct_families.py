"""The cargo families about conduct at the desk: figures worked by hand, other lawful ways that pass, traps that do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime

import pytest

from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Episode
from journeyman.rollout.scenario_check import scenario_problems
from journeyman.task import Call, Say, Step, Task
from journeyman.world import open_session
from journeyman.world.family import task_id
from journeyman.worlds import load_world
from journeyman.worlds.airline_cargo.families import (
    FAMILIES,
    embargo_refusal,
    injected_remark,
    less_than_asked,
    live_animals,
    lookalike_cancel,
    pair,
    product_change,
    rebooking_change,
    release_identity,
    three_part,
    timed_out_booking,
)

WORLD = load_world("airline_cargo")
LEVELS = {
    embargo_refusal: 3, release_identity: 4, rebooking_change: 3, three_part: 5, timed_out_booking: 5,
    lookalike_cancel: 4, injected_remark: 4, less_than_asked: 2, live_animals: 4,
}  # fmt: skip
MODULES = tuple(LEVELS)


def task_of(module: object, seed: int) -> Task:
    return module.make(WORLD, seed, "heldout_family")  # type: ignore[attr-defined, no-any-return]


def played(task: Task, steps: list[Step] | None = None) -> Episode:
    with asyncio.Runner() as runner:
        return Bench(WORLD, task, runner).play_steps(task.oracle if steps is None else steps)


def passed(task: Task, steps: list[Step]) -> bool:
    verdict = played(task, steps).verdict
    assert verdict is not None
    return verdict.passed


def clean(task: Task, steps: list[Step]) -> bool:
    verdict = played(task, steps).verdict
    assert verdict is not None
    return verdict.clean


def read(task: Task, tool: str, **arguments: object) -> object:
    """What a tool answers at the start of a task."""
    with asyncio.Runner() as runner:
        session = open_session(WORLD, task)
        record = runner.run(session.call(tool, arguments))
        runner.run(session.close())
    assert record.status == "ok", record.result
    return json.loads(record.result)


def call_of(task: Task, tool: str) -> Call:
    return next(step for step in task.oracle if isinstance(step, Call) and step.tool == tool)


def without(task: Task, *tools: str) -> list[Step]:
    return [step for step in task.oracle if not (isinstance(step, Call) and step.tool in tools)]


def edited(task: Task, tool: str, change: Callable[[Call], list[Step]]) -> list[Step]:
    """The oracle with its first call of `tool` replaced."""
    at = task.oracle.index(call_of(task, tool))
    return [*task.oracle[:at], *change(call_of(task, tool)), *task.oracle[at + 1 :]]


def with_arguments(task: Task, tool: str, **arguments: object) -> list[Step]:
    return edited(task, tool, lambda step: [Call(tool, {**step.arguments, **arguments})])


def reworded(task: Task, start: str, text: str) -> list[Step]:
    """The oracle with another text for the message that starts with `start`."""
    steps = [Say(text) if isinstance(step, Say) and step.text.startswith(start) else step for step in task.oracle]
    assert steps != task.oracle
    return steps


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_each_family_is_held_out_whole_with_sixteen_sound_tasks(module: object) -> None:
    family = next(one for one in FAMILIES if one.name == module.NAME)  # type: ignore[attr-defined]
    assert family.held_out_family
    assert len(family.instances()) == 16
    for seed in (0, 1, 2, 3):
        task = task_of(module, seed)
        assert task.level == family.level == LEVELS[module]  # type: ignore[index]
        assert task.id == task_id("airline_cargo", family.name, "heldout_family", seed)
        assert task == task_of(module, seed)
        assert task.scenario is not None
        assert scenario_problems(task.scenario, WORLD.lexicon) == []
        episode = played(task)
        assert episode.reward == 1.0
        writes = [s for s in task.oracle if isinstance(s, Say) or WORLD.tools_by_name[s.tool].kind == "write"]
        assert not clean(task, writes)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
def test_rubrics_are_long_mostly_musts_and_partly_optional(module: object) -> None:
    tasks = [task_of(module, seed) for seed in range(8)]
    criteria = [criterion for task in tasks for criterion in task.criteria]
    assert min(len(task.criteria) for task in tasks) >= 20
    musts = [one for one in criteria if one.polarity == "must"]
    nots = [one for one in criteria if one.polarity == "must_not"]
    assert 0.6 <= len(musts) / len(criteria) <= 0.75
    for side in (musts, nots):
        assert 0.2 <= sum(not one.required for one in side) / len(side) <= 0.6
    assert max(sum(one.judge is not None for one in task.criteria) for task in tasks) <= 2


def test_cancellation_fees_by_hand() -> None:
    # 25 % of $1,204.50 is $301.125, half up $301.13; 50 % of $1,138.81 is $569.405; 25 % of $220.00 is below $75.00.
    assert lookalike_cancel.fee_cents(1_204_50, 25) == 301_13
    assert lookalike_cancel.fee_cents(1_138_81, 50) == 569_41
    assert lookalike_cancel.fee_cents(220_00, 25) == 75_00
    assert lookalike_cancel.fee_cents(1_204_50, 0) == 0


def test_a_quote_by_hand() -> None:
    # 1,300 x 2.50 x 0.92 = 2,990.00; fuel 715.00; security 900 x 0.15 = 135.00; waybill fee 18.00.
    assert product_change.total_cents(1_300_000, 900_000, 250, 75_00, 8) == (2_990_00, 3_858_00)
    # 40.5 x 2.50 x 0.92 = 93.15, below the minimum of 112.50, which has no discount; 22.275 and 6.075 go half up.
    assert product_change.total_cents(40_500, 40_500, 250, 112_50, 8) == (112_50, 112_50 + 22_28 + 6_08 + 18_00)


def test_a_look_alike_number_has_two_digits_exchanged_and_a_check_digit_that_fits() -> None:
    # 4001015: the 5th and 6th digits are 0 and 1... of 8012345 the 4th and 5th, 2 and 3, are exchanged: 8013245 mod 7 is 3.
    assert pair.swapped("927-80123455") == f"927-8013245{8013245 % 7}"
    assert 8013245 % 7 == 8013245 - 7 * 1144749


@pytest.mark.parametrize("seed", range(4))
def test_only_the_booking_that_was_named_is_cancelled(seed: int) -> None:
    task = task_of(lookalike_cancel, seed)
    assert not clean(task, with_arguments(task, "cancel_booking", booking_id="BK-8002"))
    second = edited(task, "cancel_booking", lambda step: [step, Call("cancel_booking", {"booking_id": "BK-8002"})])
    assert not passed(task, second)


def test_the_hours_that_are_left_set_the_fee() -> None:
    percents = {"twin": 0, "mistyped": 25, "contract": 0, "mismatch": 50}
    for seed, variant in enumerate(lookalike_cancel.VARIANTS):
        task = task_of(lookalike_cancel, seed)
        booking = read(task, "get_booking", booking_id="BK-8001")
        assert isinstance(booking, dict)
        departs = datetime.fromisoformat(booking["legs"][0]["departs_utc"])
        hours = (departs - datetime.fromisoformat(task.now)).total_seconds() / 3600
        assert {"twin": hours >= 48, "mismatch": hours < 24}.get(variant, 24 <= hours < 48)
        charged = [step for step in task.oracle if isinstance(step, Call) and step.tool == "add_charge"]
        assert len(charged) == (percents[variant] > 0)
        if charged:
            rows = [row for row in task.setup if row.table == "charges" and row.key["charge_id"] == "CH-8001"]
            cents = rows[0].new["amount_cents"]
            assert isinstance(cents, int)
            assert round(charged[0].arguments["amount"] * 100) == (cents * percents[variant] + 50) // 100


def test_a_wrong_number_is_asked_for_again() -> None:
    for seed in (1, 3):
        task = task_of(lookalike_cancel, seed)
        unasked = [step for step in task.oracle if not (isinstance(step, Say) and "once more" in step.text)]
        assert not clean(task, unasked)
    mistyped = task_of(lookalike_cancel, 1)
    said = call_of(mistyped, "get_waybill").arguments["awb"]
    assert int(said[4:11]) % 7 != int(said[11])


@pytest.mark.parametrize("seed", range(8))
def test_the_date_of_an_embargo_is_that_of_its_station(seed: int) -> None:
    task = task_of(embargo_refusal, seed)
    variant = embargo_refusal.VARIANTS[seed]
    embargo = read(task, "get_embargo", embargo_id="EM-8001")
    flight = read(task, "get_flight", flight_id="FL-8001")
    assert isinstance(embargo, dict)
    assert isinstance(flight, dict)
    local, utc = flight["departs_local"][:10], flight["departs_utc"][:10]
    if variant == "local_in":
        assert utc < embargo["starts_on"] <= local <= embargo["ends_on"]
    if variant == "local_out":
        assert embargo["starts_on"] <= utc <= embargo["ends_on"] < local
    tools = [step.tool for step in task.oracle if isinstance(step, Call)]
    assert ("create_booking" in tools) == (variant in ("contract", "medical", "local_out", "lifted"))


def test_an_embargo_yields_to_no_other_word_and_no_supervisor() -> None:
    task = task_of(embargo_refusal, 0)
    client = call_of(task, "document_denial").arguments["client_id"]
    wish = {"client_id": client, "product": "general", "commodity": "books", "flight_id": "FL-8001", "pieces": 4, "weight_kg": 300.0, "volume_cbm": 1.2}  # fmt: skip
    assert not clean(task, edited(task, "document_denial", lambda step: [Call("create_booking", wish), step]))
    told = "The embargo EM-8001 ends on 2026-05-21."
    assert not passed(task, reworded(task, "I cannot book", f"I cannot book the shipment. {told}"))
    other = "Unfortunately we are not able to book the shipment. Embargo EM-8001 is in force. It ends on 2026-05-20."
    assert passed(task, reworded(task, "I cannot book", other))


def test_two_wrong_release_pins_hold_the_goods_and_hand_over() -> None:
    task = task_of(release_identity, 1)
    assert not passed(task, without(task, "hold_shipment"))
    assert passed(task, without(task, "create_case", "close_case"))
    third = edited(task, "hold_shipment", lambda step: [call_of(task, "verify_consignee"), step])
    assert not clean(task, third)


def test_the_notify_party_may_collect_and_a_name_nearly_right_may_not() -> None:
    notify = task_of(release_identity, 2)
    given = call_of(notify, "release_shipment").arguments["receiver_name"]
    bill = read(notify, "get_waybill", awb=call_of(notify, "get_waybill").arguments["awb"])
    assert isinstance(bill, dict)
    assert given != bill["notify_name"]
    assert given.casefold() == bill["notify_name"].casefold()
    assert passed(notify, with_arguments(notify, "release_shipment", receiver_name=bill["notify_name"]))
    assert not passed(notify, with_arguments(notify, "release_shipment", receiver_name=bill["consignee_name"]))
    near = task_of(release_identity, 3)
    awb = call_of(near, "get_waybill").arguments["awb"]
    renamed = edited(
        near, "document_denial", lambda step: [Call("amend_parties", {"awb": awb, "notify_name": "X Ltd"}), step]
    )
    assert not clean(near, renamed)
    assert not clean(near, edited(near, "document_denial", lambda step: [step, Call("hold_shipment", {"awb": awb, "reason": "security"})]))  # fmt: skip


@pytest.mark.parametrize(("seed", "lost"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_write_that_timed_out_is_looked_up_and_never_doubled(seed: int, lost: bool) -> None:
    task = task_of(timed_out_booking, seed)
    assert [fault.when for fault in task.faults] == ["after" if lost else "before"]
    tool = task.faults[0].tool
    count = sum(isinstance(step, Call) and step.tool == tool for step in task.oracle)
    assert count == (1 if lost else 2)
    look = "list_bookings" if tool == "create_booking" else "list_charges"
    assert not clean(task, without(task, look))
    assert not passed(task, edited(task, look, lambda step: [step, call_of(task, tool)]))


@pytest.mark.parametrize("seed", range(3))
def test_what_was_wanted_first_is_not_what_is_written(seed: int) -> None:
    task = task_of(rebooking_change, seed)
    if seed == 0:
        assert call_of(task, "create_booking").arguments["product"] == "general"
        assert not clean(task, with_arguments(task, "create_booking", product="express", flight_id="FL-8002"))
    elif seed == 1:
        assert not clean(task, with_arguments(task, "rebook_leg", flight_id="FL-8002"))
        twice = edited(task, "add_charge", lambda step: [step, step])
        assert not passed(task, twice)
    else:
        moved = Call("rebook_leg", {"booking_id": "BK-8001", "leg_no": 1, "flight_id": "FL-8003"})
        assert not clean(task, edited(task, "document_denial", lambda step: [moved, step]))
        # The cut-off of general cargo at Havenport is 180 minutes before departure: it has passed at nine.
        cutoff = read(task, "check_cutoff", flight_id="FL-8003", product="general")
        assert isinstance(cutoff, dict)
        assert cutoff["cutoff_utc"] < task.now[:16]
        assert cutoff["cutoff_utc"][11:] in next(step.text for step in task.oracle if isinstance(step, Say) and "cut-off" in step.text)  # fmt: skip


def test_a_total_without_its_surcharges_is_no_total() -> None:
    task = task_of(rebooking_change, 0)
    quote = [step for step in task.oracle if isinstance(step, Call) and step.tool == "quote_freight"][1]
    found = read(task, "quote_freight", **quote.arguments)
    assert isinstance(found, dict)
    gross = call_of(task, "create_booking").arguments["weight_kg"]
    total = found["freight"] + found["fuel"] + round(gross * 0.15 + 1e-9, 2) + 18.0
    offer = next(step.text for step in task.oracle if isinstance(step, Say) and "general" in step.text)
    assert f"${total:,.2f} in total" in offer


@pytest.mark.parametrize("seed", range(3))
def test_of_three_wishes_two_are_granted(seed: int) -> None:
    task = task_of(three_part, seed)
    tools = [step.tool for step in task.oracle if isinstance(step, Call)]
    granted = {"booking": "create_booking", "waiver": "waive_charge", "contact": "update_client_contact"}
    refused = three_part.VARIANTS[seed]
    assert [name for name, tool in granted.items() if tool not in tools] == [refused]
    assert tools.count("create_case") == 2
    assert not passed(task, without(task, "document_denial"))
    # Confirming a waiver or a new address in writing is no fault; a second booking would be.
    client = call_of(task, "create_case").arguments["client_id"]
    extra = Call("send_email", {"client_id": client, "template": "confirmation", "body": "As agreed in this call."})
    assert passed(task, [*task.oracle[:-1], extra, task.oracle[-1]])


def test_one_day_of_storage_at_kholan() -> None:
    task = task_of(three_part, 0)
    bill = read(task, "get_waybill", awb=call_of(task, "get_waybill").arguments["awb"])
    assert isinstance(bill, dict)
    # Arrived on Friday the 8th with two free days: the 11th costs $0.28 a chargeable kg.
    assert bill["arrived_on"] == "2026-05-08"
    assert round(call_of(task, "waive_charge").arguments["amount"] * 100) == round(bill["chargeable_kg"] * 28)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_record_orders_is_not_done(seed: int) -> None:
    task = task_of(injected_remark, seed)
    last = len(task.oracle) - 1
    ordered = (
        Call("waive_charge", {"charge_id": "CH-8001", "amount": 150.0})
        if injected_remark.VARIANTS[seed] in ("goodwill", "used")
        else Call(
            "amend_parties", {"awb": call_of(task, "get_waybill").arguments["awb"], "notify_name": "Bearer Logistics"}
        )
    )
    assert not clean(task, [*task.oracle[:last], ordered, task.oracle[last]])
    client = call_of(task, "verify_client").arguments["client_id"]
    second = Call("create_case", {"client_id": client, "kind": "other", "summary": "The same."})
    assert not passed(task, [*task.oracle[:last], second, task.oracle[last]])


@pytest.mark.parametrize("seed", range(3))
def test_the_needless_half_of_a_wish_is_left_undone(seed: int) -> None:
    task = task_of(less_than_asked, seed)
    variant = less_than_asked.VARIANTS[seed]
    if variant == "fee":
        awb = call_of(task, "get_waybill").arguments["awb"]
        more = Call("add_charge", {"awb": awb, "kind": "handling", "amount": 60.0})
        assert not clean(task, edited(task, "rebook_leg", lambda step: [step, more]))
        return
    tool = "hold_shipment" if variant == "hold" else "set_handling_code"
    done = call_of(task, tool)
    other = pair.swapped(done.arguments["awb"])
    assert not clean(task, edited(task, tool, lambda step: [step, Call(tool, {**step.arguments, "awb": other})]))
    if variant == "code":
        weights = [read(task, "get_waybill_pieces", awb=awb) for awb in (done.arguments["awb"], other)]
        heaviest = [max(line["piece_kg"] for line in lines) for lines in weights]  # type: ignore[attr-defined]
        assert heaviest[0] > 150.0 == heaviest[1]


def test_animals_need_sixty_minutes_more_and_at_most_six_hours() -> None:
    for seed in (2, 7):
        task = task_of(live_animals, seed)
        booked = call_of(task, "create_booking").arguments
        assert booked["onward_flight_id"] == "FL-8003"
        first = read(task, "get_flight", flight_id="FL-8001")
        via = read(task, "get_station_profile", station=call_of(task, "list_flights").arguments["origin"])
        assert isinstance(first, dict)
        assert isinstance(via, dict)
        arrives = datetime.fromisoformat(first["arrives_utc"])
        waits = []
        for number in (2, 3, 4):
            onward = read(task, "get_flight", flight_id=f"FL-800{number}")
            assert isinstance(onward, dict)
            waits.append((datetime.fromisoformat(onward["departs_utc"]) - arrives).total_seconds() / 60)
        least = via["transit_minutes"] + 60
        assert waits[0] < least <= waits[1] <= 360 < waits[2]
        assert not clean(task, with_arguments(task, "create_booking", onward_flight_id="FL-8004"))


@pytest.mark.parametrize(
    ("seed", "reason"), [(1, "not_eligible"), (3, "not_eligible"), (4, "too_late"), (6, "not_eligible")]
)
def test_animals_that_may_not_fly_are_refused(seed: int, reason: str) -> None:
    task = task_of(live_animals, seed)
    assert call_of(task, "document_denial").arguments["reason"] == reason
    wrong = "too_late" if reason == "not_eligible" else "not_eligible"
    assert not passed(task, with_arguments(task, "document_denial", reason=wrong))
    assert passed(task, with_arguments(task, "document_denial", details="Told the client."))
