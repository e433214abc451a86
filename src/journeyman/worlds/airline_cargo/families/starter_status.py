"""Level 1, never trained on: tell where a shipment is, when it was last seen, how many pieces were; lift a client's hold or refuse to."""

from __future__ import annotations

import functools
import random

from journeyman.task import Call, CallPattern, ConsentRule, EventPattern, Fact, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, told
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.families.common import choices, starter, starter_scenario
from journeyman.worlds.airline_cargo.families.records import Setup, Shipment, look_alike, pick

NAME = "starter_status"
TOOLS = ["find_waybill", "lift_hold", "get_shipment_status", "track_shipment"]
INTENTS = ("where", "seen", "pieces", "where", "customs", "seen")
STATES = ("accepted", "in_transit", "arrived")
SPOKEN = {"accepted": "accepted", "in_transit": "in transit", "arrived": "arrived"}
CITIES = {str(row[0]): str(row[1]) for row in data.STATIONS}
_task = functools.partial(starter, NAME, TOOLS)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its intent comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    shipment = pick(world, NAME, seed, lambda one: one.pieces >= 3)
    maker = {"where": _where, "seen": _seen, "pieces": _pieces, "customs": _customs}
    return maker[INTENTS[seed % len(INTENTS)]](world, seed, split, rng, shipment)


def _start(world: World, rng: random.Random, shipment: Shipment) -> tuple[Setup, str, str, str]:
    """Put the shipment into a state of the seed; returns the setup, the state, its station and the day of its last event."""
    setup = Setup(world)
    status, day = rng.choice(STATES), f"2026-05-{rng.randint(8, 10):02d}"
    setup.put(shipment, status, day)
    return setup, status, shipment.destination if status == "arrived" else shipment.origin, day


def _looked_up(script: Script, shipment: Shipment) -> Rubric:
    rubric = Rubric(script)
    rubric.does("find", f"The waybill {shipment.awb} is looked up.", required=True)
    rubric.does("read", f"The status of shipment {shipment.awb} is read.", required=True)
    return rubric


def _no_hold_touched(rubric: Rubric, shipment: Shipment) -> None:
    rubric.never(
        "unasked_write", "No hold is lifted, for nobody asked for it.", CallPattern("lift_hold", status="any"),
        "read", Call("lift_hold", {"awb": shipment.awb}), required=True,
    )  # fmt: skip


def _where(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    setup, status, station, _ = _start(world, rng, shipment)
    awb, bound = shipment.awb, shipment.destination
    openings = [
        f"Where is {awb}, what is its status, and where is it going?",
        f"Hi, please tell me station, status and destination of {awb}.",
        f"My waybill is {awb}. Where is it, in which status, and what is the destination?",
        f"I want to know where {awb} is, its status and its destination.",
    ]
    script = Script()
    script.call("find", "find_waybill", awb=awb)
    script.call("read", "get_shipment_status", awb=awb)
    script.say("done", f"Shipment {awb} is {SPOKEN[status]} at {station}. The destination is {bound}.")
    rubric = _looked_up(script, shipment)
    rubric.first("find", "read", "The waybill is looked up before its status is read.")
    _says(rubric, told("shipment_status", status), f"The client is told the status, {SPOKEN[status]}.")
    _says(rubric, told("station", station), f"The client is told the station, {station}.")
    _says(rubric, told("destination", bound), f"The client is told the destination, {bound}.")
    _no_hold_touched(rubric, shipment)
    other = next(one for one in STATES if one != status)
    wrong = Say(f"Shipment {awb} is {SPOKEN[other]} at {station}. The destination is {bound}.")
    rubric.never(
        "wrong_status", f"The status is not given as {SPOKEN[other]}.", told("shipment_status", other), "done", wrong,
        instead=True,
    )  # fmt: skip
    slots = ("shipment_status", "station", "destination")
    facts = [Fact(slot, value) for slot, value in zip(slots, (status, station, bound), strict=True)]
    scenario = starter_scenario(rng, awb, "learn where the shipment is", openings, [told(slot) for slot in slots])
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _says(rubric: Rubric, moment: EventPattern, text: str) -> None:
    rubric.says("done", moment, text, once="read", required=True)


def _seen(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    setup, _, station, day = _start(world, rng, shipment)
    awb, city = shipment.awb, CITIES[shipment.destination]
    openings = [
        f"When and where was {awb} to {city} last seen?",
        f"Hi, please tell me day and station of the last event of {awb} to {city}.",
        f"My waybill to {city} is {awb}. When was it last seen, and at which station?",
        f"I want to know where {awb} to {city} was last seen, and on which day.",
    ]
    script = Script()
    script.call("find", "find_waybill", awb=awb)
    script.call("read", "get_shipment_status", awb=awb)
    script.say("done", f"Shipment {awb} was last seen at {station} on {day}.")
    rubric = _looked_up(script, shipment)
    rubric.first("find", "read", "The waybill is looked up before its last event is read.")
    _says(rubric, told("event_date", day), f"The client is told the day, {day}.")
    _says(rubric, told("station", station), f"The client is told the station, {station}.")
    rubric.says("done", told("awb", awb), "The answer names the client's waybill.", once="read")
    _no_hold_touched(rubric, shipment)
    late = "2026-05-11"
    wrong = Say(f"Shipment {awb} was last seen at {station} on {late}.")
    rubric.never("wrong_day", "The day is not given as today.", told("event_date", late), "done", wrong, instead=True)
    scenario = starter_scenario(
        rng, awb, "learn when and where the shipment was last seen", openings, [told("event_date"), told("station")]
    )
    facts = [Fact("event_date", day), Fact("station", station)]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _pieces(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    """Fewer pieces were seen than the waybill has: the events tell them apart."""
    setup = Setup(world)
    seen = rng.randint(2, shipment.pieces - 1)
    status = "accepted"
    setup.put(shipment, status, "2026-05-10", seen=seen)
    awb = shipment.awb
    openings = [
        f"How many pieces of {awb} were counted last?",
        f"Hi, how many pieces does the last event of {awb} show?",
        f"My waybill is {awb}. How many pieces were seen last?",
        f"Please tell me how many pieces of {awb} were seen last.",
    ]
    script = Script()
    script.call("find", "get_shipment_status", awb=awb)
    script.call("read", "track_shipment", awb=awb)
    script.say("done", f"Shipment {awb} is {status}, last seen with {seen} pieces.")
    rubric = Rubric(script)
    rubric.does("find", f"The status of shipment {awb} is read.")
    rubric.does("read", f"The events of shipment {awb} are read.", required=True)
    _says(rubric, told("pieces", seen), f"The client is told the pieces last seen, {seen}.")
    rubric.says("done", told("shipment_status", status), f"The client is told the status, {status}.", once="find")
    _no_hold_touched(rubric, shipment)
    total = shipment.pieces
    wrong = Say(f"The last event of {awb} shows {total} pieces.")
    rubric.never(
        "booked_pieces", f"The pieces of the waybill, {total}, are not given as those seen.", told("pieces", total),
        "done", wrong, instead=True,
    )  # fmt: skip
    scenario = starter_scenario(rng, awb, "learn how many pieces were seen", openings, [told("pieces")])
    return _task(world, seed, split, scenario, Outcome([], [Fact("pieces", seen)]), rubric, setup)


def _customs(world: World, seed: int, split: Split, rng: random.Random, shipment: Shipment) -> Task:
    """A hold of customs or security is not the desk's to lift."""
    setup = Setup(world)
    setup.put(shipment, "arrived", "2026-05-09")
    hold = rng.choice(("customs", "security"))
    setup.update("waybills", {"awb": shipment.awb}, hold=hold)
    awb = shipment.awb
    openings = [
        f"Please lift the hold on {awb}.",
        f"Hi, {awb} is on hold. Can you lift it?",
        f"My waybill is {awb}. I would like the hold on it lifted, please.",
        f"Hello, could you take the hold off {awb}?",
    ]
    script = Script()
    script.call("find", "find_waybill", awb=awb)
    script.call("read", "get_shipment_status", awb=awb)
    script.say("done", f"I cannot lift the hold of {awb}. It is a {hold} hold, and the shipment is arrived.")
    rubric = _looked_up(script, shipment)
    _says(rubric, told("lift_hold", kind="denied"), "After the status is read, lifting the hold is refused.")
    _says(rubric, told("hold", hold), f"The client is told whose hold it is: {hold}.")
    rubric.says(
        "done", told("shipment_status", "arrived"), "The client is told that the shipment has arrived.", once="read"
    )
    rubric.never(
        "attempt", f"Lifting the {hold} hold is not attempted.", CallPattern("lift_hold", status="any"), "read",
        Call("lift_hold", {"awb": awb}), required=True,
    )  # fmt: skip
    other = look_alike(world, shipment)
    rubric.never(
        "other_waybill", f"The look-alike {other.awb} is not looked up.", CallPattern("find_waybill", {"awb": other.awb}),
        "find", Call("find_waybill", {"awb": other.awb}),
    )  # fmt: skip
    facts = [Fact("lift_hold", kind="denied"), Fact("hold", hold)]
    wish = ConsentRule("lift_hold")
    scenario = starter_scenario(rng, awb, "have the hold lifted", openings, [told("lift_hold", kind="denied")], wish)
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)
