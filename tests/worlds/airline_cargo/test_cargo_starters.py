"""The cargo starters: small, lawful, held out whole, and read as they are meant."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from cargo_desk import WORLD

from journeyman.curriculum.lint import lint_world
from journeyman.curriculum.lint_bench import Bench
from journeyman.grading.dialogue import Reader
from journeyman.task import Call, Say, Task
from journeyman.worlds.airline_cargo.families.common import cbm, kg
from journeyman.worlds.airline_cargo.families.records import Setup, look_alike, shipments

STARTERS = ["starter_status", "starter_pieces"]
READER = Reader(WORLD.lexicon)


def tasks() -> list[Task]:
    return WORLD.tasks(families=STARTERS)


def test_every_family_is_held_out_whole() -> None:
    assert all(family.held_out_family for family in WORLD.families)
    assert Counter(task.family for task in tasks()) == {"starter_status": 20, "starter_pieces": 20}
    assert {task.split for task in tasks()} == {"heldout_family"}


def test_starters_are_small_and_have_several_intents() -> None:
    for task in tasks():
        assert task.level == 1
        assert 2 <= sum(isinstance(step, Call) for step in task.oracle) <= 4
        assert 5 <= len(task.criteria) <= 9
        assert task.tools is not None
        assert len(task.tools) == 4
        assert isinstance(task.oracle[-1], Say)
    for family in STARTERS:
        kinds = {tuple(one.id for one in task.criteria) for task in tasks() if task.family == family}
        assert len(kinds) >= 3


def test_one_starter_of_each_kind_passes_lint() -> None:
    kinds: dict[object, Task] = {}
    for task in tasks():
        kinds.setdefault((task.family, tuple(criterion.id for criterion in task.criteria)), task)
    assert len(kinds) == 7
    assert lint_world(WORLD, tasks=list(kinds.values())).findings == []


def test_starter_episodes_fit_into_400_tokens() -> None:
    pytest.importorskip("tokenizers")
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.rollout.chatml import ChatMLRenderer

    renderer = ChatMLRenderer(load_tokenizer("smollm2-135m-instruct"))
    with asyncio.Runner() as runner:
        for task in tasks():
            episode = Bench(WORLD, task, runner).play_steps(task.oracle)
            # The user's goodbye comes after the last token that matters.
            assert len(renderer.start(episode.messages[:-1])) <= 400, task.id


def test_setup_puts_a_shipment_into_each_status_with_its_events() -> None:
    shipment = next(one for one in shipments(WORLD) if one.legs == 2 and one.pieces >= 3)
    for status, events in (("issued", 1), ("accepted", 2), ("in_transit", 3), ("arrived", 6), ("delivered", 7)):
        setup = Setup(WORLD)
        setup.put(shipment, status, "2026-05-09", seen=2)
        row = setup.row("waybills", awb=shipment.awb)
        assert (row["status"], row["hold"]) == (status, "none")
        assert (row["arrived_on"] is not None) == (status in ("arrived", "delivered"))
        last = setup.row("tracking_events", awb=shipment.awb, event_no=events)
        assert last["pieces"] == 2
        assert last["happened_at"].startswith("2026-05-09")


def test_look_alikes_differ_in_few_digits() -> None:
    apart = [
        sum(a != b for a, b in zip(one.digits, look_alike(WORLD, one).digits, strict=True)) for one in shipments(WORLD)
    ]
    assert min(apart) <= 3
    assert sum(count <= 3 for count in apart) >= 30


def test_weights_and_volumes_are_written_as_people_write_them() -> None:
    assert (kg(1_300_000), kg(940_500), cbm(7_800), cbm(7_812), cbm(8_000)) == (
        "1,300.0 kg", "940.5 kg", "7.8 cbm", "7.812 cbm", "8 cbm",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (
            "Waybill 927-40159383 now has a chargeable weight of 1,300.0 kg and a volume of 7.8 cbm.",
            [("stated", "awb", "927-40159383"), ("stated", "chargeable_kg", 1300.0), ("stated", "volume_cbm", 7.8)],
        ),
        (
            "Your gross weight of 940 kg stays; the chargeable weight is 1,300 kg.",
            [("stated", "weight_kg", 940), ("stated", "chargeable_kg", 1300)],
        ),
        ("What is your desk PIN?", [("asked", "pin", None)]),
        ("Could you tell me the release PIN, please?", [("asked", "release_pin", None)]),
        (
            "I cannot amend the waybill. The status is in transit.",
            [("denied", "amendment", None), ("stated", "shipment_status", "in_transit")],
        ),
        (
            "It is at Lundmark. The destination is KHL.",
            [("stated", "station", "LNM"), ("stated", "destination", "KHL")],
        ),
        ("The claim is capped: the liability cap is $3,537.60.", [("stated", "liability_cap", 3537.6)]),
        ("The limit per package is 5 kg.", [("stated", "dg_limit_kg", 5)]),
        ("The weight could not be changed to 1,302.6 kg chargeable.", [("denied", "amendment", None)]),
    ],
)
def test_the_desks_words_are_read(text: str, events: list[tuple[str, str, object]]) -> None:
    found = [(event.kind, event.slot, event.value) for event in READER.read_agent(text, 0, 0)]
    assert [one for one in found if one in events] == events
    assert len(found) == len(events)


def test_a_proposal_carries_the_figures_it_asks_consent_for() -> None:
    text = "Shall I amend waybill 927-40159383 to a chargeable weight of 1,300 kg and a volume of 7.8 cbm?"
    events = READER.read_agent(text, 0, 0)
    assert [(event.kind, event.tool, event.arguments) for event in events] == [
        ("proposed", "amend_waybill", {"awb": "927-40159383", "chargeable_kg": 1300, "volume_cbm": 7.8})
    ]
