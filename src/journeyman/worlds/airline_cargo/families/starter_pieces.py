"""Level 1, never trained on: correct the number of pieces of a waybill, or tell why it stands (article AWB-PIECES)."""

from __future__ import annotations

import functools
import random

from journeyman.task import Call, CallPattern, ConsentRule, ExpectedRow, Fact, Match, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, told
from journeyman.worlds.airline_cargo.families.common import choices, starter, starter_scenario
from journeyman.worlds.airline_cargo.families.records import Setup, Shipment, look_alike, pick

NAME = "starter_pieces"
TOOLS = ["find_waybill", "amend_waybill", "void_waybill", "get_shipment_status"]
INTENTS = ("change", "late", "change", "same", "change", "late")
SPOKEN = {"accepted": "accepted", "in_transit": "in transit", "arrived": "arrived"}
_task = functools.partial(starter, NAME, TOOLS)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its intent comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    shipment = pick(world, NAME, seed, lambda one: one.kind == "direct" and one.pieces >= 2)
    maker = {"change": _change, "late": _late, "same": _same}
    return maker[INTENTS[seed % len(INTENTS)]](world, seed, split, rng, shipment)


def _openings(awb: str, pieces: int) -> list[str]:
    return [
        f"Please correct {awb} to {pieces} pieces.",
        f"Hi, {awb} should have {pieces} pieces. Can you put that right?",
        f"My waybill is {awb}. It is {pieces} pieces, please correct the number.",
        f"Hello, could you change the number of pieces on {awb} to {pieces}?",
    ]


def _rubric(script: Script, shipment: Shipment) -> Rubric:
    rubric = Rubric(script)
    if script.has("find"):
        rubric.does("find", f"The waybill {shipment.awb} is looked up.", required=True)
    rubric.does("read", f"The status and pieces of {shipment.awb} are read.", required=True)
    return rubric


def _other_number(rng: random.Random, pieces: int) -> int:
    return rng.choice([count for count in range(2, pieces + 6) if count != pieces])


def _change(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    setup = Setup(world)
    setup.put(shipment, "issued", "2026-05-10")
    other = look_alike(world, shipment)
    setup.put(other, "issued", "2026-05-10")
    setup.update("waybills", {"awb": other.awb}, pieces=shipment.pieces)
    awb, wanted = shipment.awb, _other_number(rng, shipment.pieces)
    script = Script()
    script.call("read", "get_shipment_status", awb=awb)
    script.call("amend", "amend_waybill", awb=awb, pieces=wanted)
    script.say("done", f"Waybill {awb} now has {wanted} pieces.")
    rubric = _rubric(script, shipment)
    rubric.first("read", "amend", "The status is read before the waybill is amended.", required=True)
    rubric.does("amend", f"Waybill {awb} is corrected to {wanted} pieces.", required=True)
    rubric.says(
        "done", told("pieces", wanted), f"After the correction the client is told the new number, {wanted}.",
        once="amend", required=True,
    )  # fmt: skip
    rubric.says("done", told("awb", awb), "The outcome names the client's waybill.", once="amend")
    step = Call("amend_waybill", {"awb": other.awb, "pieces": wanted})
    pattern = CallPattern("amend_waybill", {"awb": other.awb})
    rubric.never("other_waybill", f"The look-alike {other.awb} is not amended.", pattern, "amend", step, required=True)
    rubric.once("amend", "The waybill is amended once, not again.")
    row = ExpectedRow("waybill", "waybills", "update", {"awb": awb}, {"pieces": wanted})
    scenario = starter_scenario(
        rng, awb, f"have the pieces corrected to {wanted}", _openings(awb, wanted), [told("pieces")],
        _agreed(wanted),
    )  # fmt: skip
    return _task(world, seed, split, scenario, Outcome([row], [Fact("pieces", wanted)]), rubric, setup)


def _agreed(pieces: int) -> ConsentRule:
    return ConsentRule("amend_waybill", {"pieces": Match(one_of=[pieces, None])})


def _late(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    """The scale has counted: the number stands."""
    setup = Setup(world)
    status = rng.choice(("accepted", "in_transit", "arrived"))
    setup.put(shipment, status, "2026-05-10")
    awb, wanted = shipment.awb, _other_number(rng, shipment.pieces)
    script = Script()
    script.call("find", "find_waybill", awb=awb)
    script.call("read", "get_shipment_status", awb=awb)
    script.say("done", f"I cannot change the pieces of {awb}. The status is {SPOKEN[status]}.")
    rubric = _rubric(script, shipment)
    rubric.says(
        "done", told("amendment", kind="denied"), "After the status is read, the correction is refused.", once="read",
        required=True,
    )  # fmt: skip
    rubric.says(
        "done", told("shipment_status", status), f"The client is told the status, {SPOKEN[status]}.", once="read",
        required=True,
    )  # fmt: skip
    attempt = Call("amend_waybill", {"awb": awb, "pieces": wanted})
    rubric.never(
        "attempt", f"The {SPOKEN[status]} waybill is not touched.", CallPattern("amend_waybill", status="any"), "read",
        attempt, required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", f"The client is not told that it has {wanted} pieces.", told("pieces", wanted), "done",
        Say(f"Waybill {awb} now has {wanted} pieces."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, awb, f"have the pieces corrected to {wanted}", _openings(awb, wanted), [told("amendment", kind="denied")],
        _agreed(wanted),
    )  # fmt: skip
    facts = [Fact("amendment", kind="denied"), Fact("shipment_status", status)]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _same(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    """The waybill already says what the client wants: nothing is to be changed."""
    setup = Setup(world)
    setup.put(shipment, "issued", "2026-05-10")
    awb, pieces = shipment.awb, shipment.pieces
    script = Script()
    script.call("find", "find_waybill", awb=awb)
    script.call("read", "get_shipment_status", awb=awb)
    script.say("done", f"Waybill {awb} already has {pieces} pieces. The status is issued.")
    rubric = _rubric(script, shipment)
    rubric.first("find", "read", "The waybill is looked up before its pieces are read.")
    rubric.says(
        "done", told("pieces", pieces), f"After the look-up the client is told the number on file, {pieces}.",
        once="read", required=True,
    )  # fmt: skip
    rubric.says(
        "done", told("shipment_status", "issued"), "The client is told that the waybill is issued.", once="read"
    )
    wrong = _other_number(rng, pieces)
    rubric.never(
        "needless_write", "Nothing is amended: the number is right.", CallPattern("amend_waybill"), "read",
        Call("amend_waybill", {"awb": awb, "pieces": wrong}), required=True,
    )  # fmt: skip
    rubric.never(
        "wrong_number", f"The number is not given as {wrong}.", told("pieces", wrong), "done",
        Say(f"Waybill {awb} now has {wrong} pieces."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, awb, f"have {pieces} pieces on file", _openings(awb, pieces), [told("pieces")], _agreed(pieces)
    )
    return _task(world, seed, split, scenario, Outcome([], [Fact("pieces", pieces)]), rubric, setup)
