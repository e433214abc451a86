"""Level 3: a client wants its shipment on an earlier flight today. Whether that one can still be reached is a matter of minutes.

The system's cut-off is the plain one: what heavy shipments and dangerous goods need on top, and what a delay gives back, is
in the policy, and the clocks of desk and station differ. By seed the cut-off has passed although the plain one has not, or
it looks passed and has not. Where it has, the wish is refused and the shipment goes on the next flight with room.
"""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.task import (
    AnyOf,
    Before,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Matcher,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Flight, Freight, Line, contract, fly, hour, moment, ship

NAME = "missed_cutoff"
ARTICLE, REBOOK, SUPERSEDED = "CUT-TIMES", "OFF-REBOOK", "CUT-TIMES-2024"
VARIANTS = ("heavy", "delayed", "dangerous", "west", "east", "short_delay", "heavy", "west")
BOOKED, WANTED, FULL, NEXT = "FL-8001", "FL-8002", "FL-8003", "FL-8004"
FEE = 60.0
# Variant -> (origin, destination, aircraft, minutes on the way), departure of the wanted flight in UTC, its delay,
# the origin's minutes for the product, and the minutes on top.
Plan = tuple[tuple[tuple[str, str, str, int], ...], str, int, int, int]
PLANS: dict[str, Plan] = {
    "heavy": ((("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405)), "12:50", 0, 180, 60),
    "dangerous": ((("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405)), "12:00", 0, 90, 120),
    "east": ((("KHL", "HVP", "B74F", 660), ("KHL", "QRT", "B77F", 430)), "12:30", 0, 240, 0),
    "west": ((("NHW", "HVP", "B77F", 480), ("NHW", "RLT", "B77F", 560)), "14:00", 0, 240, 0),
    "delayed": ((("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480)), "11:30", 120, 180, 0),
    "short_delay": ((("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480)), "11:30", 45, 180, 0),
}
LAWFUL = ("delayed", "west")


@dataclass(frozen=True)
class Wish:
    """The shipment, the flight it is wanted on, the one it goes on, and the moment of the cut-off, UTC."""

    freight: Freight
    wanted: Flight
    taken: Flight
    cutoff: str
    why: str


def cutoff(departs: str, delay: int, minutes: int, extra: int) -> str:
    """The moment of the cut-off: a delay counts from 60 minutes on; `extra` are the additions in minutes."""
    return moment(departs, (delay if delay >= 60 else 0) - minutes - min(extra, 180))


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    return _task(case, _records(case, variant), variant in LAWFUL)


def _records(case: Case, variant: str) -> Wish:
    """Four flights of one leg in 24 hours, the shipment on the last; those of the image in between are closed."""
    legs, clock, delay, minutes, extra = PLANS[variant]
    origin, destination, _, way = leg = case.rng.choice(legs)
    image = "origin = ? AND destination = ? AND departs_at BETWEEN ? AND ?"
    case.setup.update_all(
        "flights", image, (origin, destination, f"{DAY}T09:00:00", "2026-05-12T05:30:00"), status="closed"
    )
    booked = fly(case, *leg[:3], "2026-05-12T05:30:00", way, number=1)
    wanted = fly(case, *leg[:3], f"{DAY}T{clock}:00", way, number=2, delay=delay)
    fly(case, *leg[:3], f"{DAY}T17:{case.rng.randrange(10, 60)}:00", way, number=3, free_grams=150_000)
    last = fly(case, *leg[:3], f"{DAY}T22:{case.rng.randrange(10, 60)}:00", way, number=4)
    heavy = variant == "heavy"
    line = (
        Line(4, 240, 200, 150, case.rng.randrange(1300, 1600, 50) * 1000)
        if heavy
        else Line(case.rng.randint(3, 8), 120, 80, 90, case.rng.randrange(60, 140, 10) * 1000)
    )
    freight = ship(
        case, [booked], [line], commodity="spare_parts" if variant == "dangerous" else case.rng.choice(("machinery", "auto_parts")),
        contract_id=contract(case),
    )  # fmt: skip
    if variant == "dangerous":
        _declared(case, freight)
    moved = [f"A delay of {delay} minutes does not move it."] if variant == "short_delay" else []
    added = {
        "heavy": [f"{freight.weight_grams / 1000:,.1f} kg gross needs 60 minutes more."],
        "dangerous": ["Dangerous goods need 120 minutes more."],
    }
    why = " ".join([*moved, *added.get(variant, [])])
    return Wish(
        freight, wanted, wanted if variant in LAWFUL else last, cutoff(wanted.departs, delay, minutes, extra), why
    )


def _declared(case: Case, freight: Freight) -> None:
    """Dangerous goods, accepted: code DGR on the waybill says so."""
    case.setup.insert("waybill_handling", {"awb": freight.awb, "code": "DGR"})
    case.setup.insert(
        "dg_declarations", {"declaration_id": "DG-8001"}, awb=freight.awb, un_number="UN3481", packing_group="none",
        hazard_class="9", packages=2, net_milli=4000, aircraft="cargo_only", signed="yes", status="accepted", reject_reason=None,
    )  # fmt: skip


def _clocks(utc: str, flight: Flight) -> list[str | int | float | bool | None]:
    """A moment by the desk's clock and by the station's."""
    ahead = int(_minutes(flight.local) - _minutes(flight.departs))
    return list(dict.fromkeys([hour(utc), hour(moment(utc, ahead))]))


def _minutes(text: str) -> int:
    return int(text[8:10]) * 1440 + int(text[11:13]) * 60 + int(text[14:16])


def _denial(awb: str) -> Denial:
    return Denial("rebooking", "cut_off_passed", ARTICLE, "rebooking", "I have rebooked the shipment.", (REBOOK,), awb)


def _script(case: Case, wish: Wish, lawful: bool) -> Script:
    home, freight, taken = case.home, wish.freight, wish.taken
    product = "express" if _is_express(case) else "general"
    script = Script()
    script.consult("cut-off of a flight, rebook to an earlier flight", ARTICLE)
    script.call("rule", "get_policy_article", article_id=REBOOK)
    deep.identify(script, home, freight.awb)
    script.call("booking", "get_booking", booking_id="BK-8001")
    script.call("flights", "list_flights", loose=("date",), origin=freight.origin, destination=freight.destination)
    script.call("cutoff", "check_cutoff", flight_id=WANTED, product=product)
    script.call("station", "get_station_profile", station=freight.origin)
    known = f"The cut-off of {WANTED} {'is' if lawful else 'was'} {hour(wish.cutoff)} UTC."
    if not lawful:
        deep.deny(script, home, _denial(freight.awb))
        script.say(
            "no",
            f"I cannot rebook the shipment to {WANTED}. {known} {wish.why}".strip()
            + f" The next flight with room is {taken.flight_id}. Shall I rebook it to {taken.flight_id} and charge the handling fee of ${FEE:.2f}?",
        )
    else:
        script.say(
            "no", f"{known} It is still open. Shall I rebook it to {WANTED} and charge the handling fee of ${FEE:.2f}?"
        )
    script.call("rebook", "rebook_leg", booking_id="BK-8001", leg_no=1, flight_id=taken.flight_id)
    script.call("charge", "add_charge", awb=freight.awb, kind="handling", amount=FEE)
    deep.close_up(script, home, "booking", f"{freight.awb} moved to {taken.flight_id}.", "done", freight.awb)
    leaves = f"departs at {hour(taken.departs)} UTC"
    deep.mail(script, home, "confirmation", f"{freight.awb} is on flight {taken.flight_id}, which {leaves}.")
    script.say("done", f"I have moved the shipment to flight {taken.flight_id}. It {leaves}. The fee is ${FEE:.2f}.")
    return script


def _is_express(case: Case) -> bool:
    """Whether the shipment of the case is express cargo."""
    return bool(case.setup.row("bookings", booking_id="BK-8001")["product"] == "express")


def _task(case: Case, wish: Wish, lawful: bool) -> Task:
    home, freight, awb = case.home, wish.freight, wish.freight.awb
    script = _script(case, wish, lawful)
    rubric = Rubric(script)
    first = "rebook" if lawful else "deny"
    demands.groundwork(rubric, home, ARTICLE, first)
    rubric.first("rule", "rebook", f"Article {REBOOK} is read before {awb} is moved.")
    rubric.first("booking", first, f"Booking BK-8001 of {awb} is read: it is on {BOOKED} now.")
    rubric.first(
        "flights", first, f"The flights from {freight.origin} to {freight.destination} are listed.", required=True
    )
    rubric.first(
        "cutoff", first, f"The plain cut-off of {WANTED} is looked up before the matter is decided.", required=True
    )
    rubric.first("station", first, f"The profile of {freight.origin} is read: its clock is not the desk's.")
    _moved(rubric, case, wish)
    clock = told("clock", Match(one_of=_clocks(wish.cutoff, wish.wanted)))
    text = f"{home.person} is told the cut-off of {WANTED} with what the policy adds: {hour(wish.cutoff)} UTC."
    rubric.must("says_cutoff", text, Before(script.pattern("cutoff"), clock), script.instead("no", NOTHING))
    if lawful:
        refusals.not_refused(rubric, home, _denial(awb), "station", "I cannot rebook the shipment.")
    else:
        _refused(rubric, case, wish)
    demands.filed(rubric, home, "booking", "done", "rebook")
    demands.discretion(rubric, case.world, home, "verify")
    rows = _rows(case, wish)
    if not lawful:
        rows = [_denial(awb).row(home), *rows]
    outcome = Outcome([*rows, deep.message_row(home, "confirmation")], [Fact("rebooking", True)])
    return case.seal(
        rubric, [outcome], f"get the shipment on {WANTED}, or else on the next flight that is possible", _openings(case, wish),
        [told("rebooking")],
        cards=[composing.start_card("awb", awb), composing.start_card("name", home.person), composing.start_card("flight_id", WANTED)],
        consents=[ConsentRule("add_charge", {"amount": FEE}), ConsentRule("rebook_leg", {"flight_id": ANY})],
        small_talk=["The truck left our warehouse an hour ago."],
    )  # fmt: skip


def _moved(rubric: Rubric, case: Case, wish: Wish) -> None:
    """Criteria on the move, the fee, and what is told of both."""
    home, awb, taken, script = case.home, wish.freight.awb, wish.taken, rubric.script
    rubric.does("rebook", f"{awb} is moved from {BOOKED} to {taken.flight_id}.", required=True)
    agreed = [
        Before(EventPattern("consented", by="user", tool=tool), script.pattern("rebook"))
        for tool in ("rebook_leg", "add_charge")
    ]
    text = f"{home.person} agrees before {awb} is moved to {taken.flight_id} ({REBOOK})."
    rubric.must("consent_rebook", text, AnyOf([*agreed]), script.instead("no", NOTHING), required=True)
    rubric.consented("charge", "no", f"{home.person} agrees to the fee of ${FEE:.2f} before it is charged on {awb}.")
    rubric.does(
        "charge", f"The handling fee of ${FEE:.2f} is charged: less than 24 hours are left ({REBOOK}).", required=True
    )
    rubric.once("charge", f"The fee of ${FEE:.2f} is charged once.")
    named = told("flight_id", taken.flight_id)
    text = f"{home.person} is told the flight that {awb} goes on, {taken.flight_id}."
    silent = [*script.instead("no", NOTHING), *script.instead("done", NOTHING)]
    rubric.must("says_flight", text, Before(script.pattern("flights"), named), silent, required=True)
    text = f"{home.person} is told the fee of ${FEE:.2f} for moving {awb}."
    rubric.must("says_fee", text, Before(script.pattern("booking"), told("fee", FEE)), silent)
    leaves = told("clock", Match(one_of=_clocks(taken.departs, taken)))
    text = (
        f"{home.person} is told when {taken.flight_id} departs, {hour(taken.departs)} UTC or {hour(taken.local)} local."
    )
    rubric.must("says_departure", text, Happened(leaves), script.instead("done", NOTHING), required=True)
    sent = CallPattern("send_email", {"client_id": home.client_id, "template": "confirmation"})
    text = f"An e-mail confirms to {home.client_id} that {awb} is on {taken.flight_id}."
    rubric.must(
        "sends_confirmation", text, Before(script.pattern("rebook"), sent), script.without("mail"), required=True
    )
    _other_ways(rubric, awb)


def _other_ways(rubric: Rubric, awb: str) -> None:
    """The criteria that neither a full flight nor a priority is tried."""
    text = f"{awb} is not put on {FULL}, which has no room for it."
    rubric.not_tried(
        "full_flight",
        text,
        "station",
        "rebook_leg",
        by=("flight_id",),
        required=True,
        booking_id="BK-8001",
        leg_no=1,
        flight_id=FULL,
    )
    text = f"{awb} does not become must_ride: that opens no cut-off ({ARTICLE})."
    rubric.not_called(
        "priority",
        text,
        "station",
        "set_booking_priority",
        required=True,
        booking_id="BK-8001",
        priority="must_ride",
    )


def _refused(rubric: Rubric, case: Case, wish: Wish) -> None:
    """Criteria on the refusal of the flight that was wanted."""
    home, awb, denial, script = case.home, wish.freight.awb, _denial(wish.freight.awb), rubric.script
    text = f"The refusal is documented: {denial.request}, {denial.reason}, {ARTICLE}."
    rubric.does("deny", text, required=True)
    # "It is too late for that flight" refuses as well.
    words = (told("rebooking", kind="denied"), told("cutoff_state", "passed"))
    refusal = AnyOf([Before(script.pattern("cutoff"), one) for one in words])
    text = f"After the look-up {home.person} is told that {awb} cannot be moved to {WANTED}."
    rubric.must("says_denied_rebooking", text, refusal, script.instead("no", NOTHING), required=True)
    text = f"{awb} is not moved to {WANTED}, whose cut-off was {hour(wish.cutoff)} UTC."
    rubric.not_tried("too_late", text, "station", "rebook_leg",
        by=("flight_id",), required=True, booking_id="BK-8001", leg_no=1, flight_id=WANTED,
    )  # fmt: skip
    refusals.stale_rule(rubric, home, denial, SUPERSEDED, "station")


def _rows(case: Case, wish: Wish) -> list[ExpectedRow]:
    """What moving the shipment changes."""
    freight, setup = wish.freight, case.setup
    rows = []
    for flight_id, sign in ((BOOKED, -1), (wish.taken.flight_id, 1)):
        row = setup.row("flights", flight_id=flight_id)
        load: dict[str, Matcher] = {
            "booked_grams": row["booked_grams"] + sign * freight.weight_grams,
            "booked_l": row["booked_l"] + sign * freight.volume_l,
        }
        rows.append(ExpectedRow(f"load_{flight_id}", "flights", "update", {"flight_id": flight_id}, load))
    charge: dict[str, Matcher] = {
        "awb": freight.awb,
        "kind": "handling",
        "amount_cents": round(FEE * 100),
        "status": "open",
    }
    matter = deep.case_row(case.home, "booking", "done", freight.awb)
    return [
        ExpectedRow(
            "leg", "booking_legs", "update", {"booking_id": "BK-8001", "leg_no": 1}, {"flight_id": wish.taken.flight_id}
        ),
        *rows,
        ExpectedRow("charge", "charges", "insert", set=charge),
        matter,
    ]


def _openings(case: Case, wish: Wish) -> list[str]:
    home, awb = case.home, wish.freight.awb
    return [
        f"Hi, {home.person} of {home.name}. Please move {awb} up to flight {WANTED} today. If that is too late, take the next one that works.",
        f"Hello, this is {home.person} from {home.name}. I want {awb} on {WANTED} today, or else on the next flight with room.",
        f"{home.person}, {home.name}. Can {awb} still make {WANTED}? If not, put it on the next possible flight, please.",
        f"My name is {home.person}, {home.name}. We need {awb} earlier: {WANTED} if it can still be reached, otherwise the one after it.",
    ]
