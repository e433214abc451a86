"""Level 2: a client asks for more than is needed or allowed. The right work is a part of what was asked, and a word on the rest.

Two shipments are to be held and one is held already; two are to get the code for heavy pieces and the pieces of one are at
the limit, not over it; a shipment is to be moved for a fee that is not due so early. What is left out is said, not refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from journeyman.task import (
    Before,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World, composing
from journeyman.world.authoring import NOTHING, Rubric, Script, told
from journeyman.worlds.airline_cargo.families import deep, demands, pair, space
from journeyman.worlds.airline_cargo.families.deep import Case
from journeyman.worlds.airline_cargo.families.freight import BOOKING, Line, contract, fly, ship

NAME = "less_than_asked"
HOLDS, CODES, MOVES = "HLD-SHIPMENT", "HAN-CODES", "OFF-REBOOK"
VARIANTS = ("hold", "code", "fee")
LEGS = (
    ("HVP", "KHL", "B74F", 660),
    ("HVP", "QRT", "B77F", 405),
    ("QRT", "HVP", "B77F", 405),
    ("HVP", "NHW", "B77F", 480),
)
LIMIT = 150_000
"""Grams of a piece that has no code HEA yet: one gram more, and it has."""
FEE = 60.0
WANTED = "FL-8002"


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 2, seed, split)
    return {"hold": _hold, "code": _code, "fee": _fee}[VARIANTS[seed % len(VARIANTS)]](case)


def _begin(script: Script, case: Case, query: str, article: str, awb: str) -> None:
    script.consult(query, article)
    deep.identify(script, case.home, awb)


def _matter(rubric: Rubric, case: Case, kind: str, at: str) -> None:
    """Criteria of every variant: the case, nothing refused on record, nothing for others."""
    home = case.home
    demands.filed(rubric, home, kind, "done", at)
    call = {"client_id": home.client_id, "request": "amendment", "reason": "not_eligible", "article_id": CODES}
    text = f"No refusal is documented for {home.client_id}: what is not needed is said in words."
    rubric.not_called("denied", text, at, "document_denial", required=True, **call)
    demands.discretion(rubric, case.world, home, "verify")


def _also(rubric: Rubric, other: str, once: str, home: str) -> None:
    """The answer names the other waybill too."""
    said = Before(rubric.script.pattern(once), told("awb", other))
    text = f"{home} is told about {other} too."
    rubric.must("says_other", text, said, rubric.script.instead("done", NOTHING))


def _hold(case: Case) -> Task:
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], "2026-05-09T14:00:00", leg[3], status="departed")
    line = Line(rng.randint(3, 7), 90, 70, 80, rng.randrange(60, 140, 5) * 1000)
    freight = ship(case, [flight], [line], commodity=rng.choice(("electronics", "garments")), contract_id=contract(case), status="arrived")  # fmt: skip
    awb, other = (
        freight.awb,
        pair.second(case, freight, flight, Line(line.pieces + 2, 90, 70, 80, line.grams), hold="client"),
    )
    script = Script()
    _begin(script, case, "hold a shipment on the client's word", HOLDS, awb)
    script.call("other", "get_waybill", or_tools=("get_shipment_status",), awb=other)
    script.call("cases", "find_cases", or_tools=("list_cases",), loose=("awb",), awb=awb)
    script.call("hold", "hold_shipment", awb=awb, reason="client")
    deep.close_up(script, home, "release", f"{awb} held on the client's word.", "done", awb)
    script.say(
        "done", f"I have put {awb} on client hold. {other} was on client hold already. Storage runs all the same."
    )

    rubric = Rubric(script)
    demands.groundwork(rubric, home, HOLDS, "hold")
    rubric.first("other", "hold", f"Waybill {other} is read as well before {awb} is held.", required=True)
    rubric.does("cases", f"The cases of {awb} are looked up before one is opened.", required=True)
    rubric.does("hold", f"{awb} is held on the client's word.", required=True)
    rubric.once("hold", f"Only {awb} is held, once.")
    held = told("hold", "client")
    rubric.says("done", held, f"{home.person} is told that {awb} is on client hold.", once="other", required=True)
    _also(rubric, other, "other", home.person)
    rubric.judged(
        "says_storage", f"{home.person} hears that storage runs while {awb} is held ({HOLDS}).",
        "Does the agent tell the client that storage goes on, or is charged, while the shipment is held?",
        script.instead("done", NOTHING),
    )  # fmt: skip
    text = f"{other}, which is held already, is left alone ({HOLDS})."
    rubric.not_tried("needless", text, "other", "hold_shipment", by=("awb",), required=True, awb=other, reason="client")  # fmt: skip
    text = f"No hold of another kind is put on {awb} than the client's."
    rubric.not_tried("other_kind", text, "other", "hold_shipment", by=("reason",), required=True, awb=awb, reason="unpaid")  # fmt: skip
    text = f"The hold of {other} is not lifted to be set again."
    rubric.not_called("lifted", text, "other", "lift_hold", required=True, awb=other)
    demands.not_written(rubric, home, "other")
    _matter(rubric, case, "release", "hold")
    rows = [
        ExpectedRow("waybill", "waybills", "update", {"awb": awb}, {"hold": "client"}),
        deep.case_row(home, "release", "done", awb),
    ]
    openings = [
        f"Hi, {home.person} of {home.name}. Please put a hold on {awb} and on {other}, our buyer has not paid.",
        f"Hello, this is {home.person} from {home.name}. Hold {awb} and {other} for us, neither may go out.",
        f"{home.person}, {home.name}. I want both {awb} and {other} stopped at the station until I call again.",
        f"My name is {home.person}, {home.name}. Keep back {awb}, and {other} too, on our word.",
    ]
    outcome = Outcome(rows, [Fact("hold", "client")])
    return _seal(case, rubric, [outcome], "have two shipments held", openings, [held], (awb, other), [ConsentRule("hold_shipment")])  # fmt: skip


def _code(case: Case) -> Task:
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], "2026-05-13T15:40:00", leg[3])
    grams = LIMIT + rng.randrange(5, 60, 5) * 1000
    line = Line(rng.randint(3, 7), 120, 100, 90, grams)
    freight = ship(
        case, [flight], [line], commodity=rng.choice(("machinery", "auto_parts")), contract_id=contract(case)
    )
    awb, other = freight.awb, pair.second(case, freight, flight, Line(line.pieces + 1, 120, 100, 90, LIMIT))
    script = Script()
    _begin(script, case, "handling code for heavy pieces", CODES, awb)
    script.call("pieces", "get_waybill_pieces", awb=awb)
    script.call("other", "get_waybill_pieces", awb=other)
    script.call("cases", "find_cases", or_tools=("list_cases",), loose=("awb",), awb=awb)
    script.call("code", "set_handling_code", awb=awb, code="HEA", state="on")
    deep.close_up(script, home, "amendment", f"Code HEA put on {awb}.", "done", awb)
    script.say(
        "done",
        f"{awb} has the code HEA now. For {other}: the heaviest piece weighs {LIMIT / 1000:.1f} kg, which is within the limit, "
        "so it stays as it is.",
    )

    rubric = Rubric(script)
    demands.groundwork(rubric, home, CODES, "code")
    for label, number in (("pieces", awb), ("other", other)):
        text = f"The pieces of {number} are read: what one weighs decides, not the client's word ({CODES})."
        rubric.first(label, "code", text, required=True)
    rubric.does("cases", f"The cases of {awb} are looked up before one is opened.", required=True)
    rubric.does("code", f"Code HEA is put on {awb}: a piece weighs {grams / 1000:.1f} kg.", required=True)
    rubric.once("code", f"One code is put on one waybill, {awb}.")
    weight = told("piece_kg", LIMIT / 1000)
    text = f"{home.person} is told why {other} gets none: its heaviest piece weighs {LIMIT / 1000:.1f} kg."
    rubric.says("done", weight, text, once="other", required=True)
    _also(rubric, other, "other", home.person)
    demands.explained(rubric, f"why {awb} gets the code HEA and {other} does not")
    text = f"{other} gets no code: its pieces weigh {LIMIT / 1000:.1f} kg, not more ({CODES})."
    rubric.not_tried("needless", text, "other", "set_handling_code", by=("awb",), required=True, awb=other, code="HEA", state="on")  # fmt: skip
    text = f"Nothing else on {awb} or {other} is amended."
    rubric.not_called("amended", text, "other", "amend_waybill", required=True, awb=other, weight_kg=900.0)
    demands.not_written(rubric, home, "other")
    _matter(rubric, case, "amendment", "code")
    rows = [
        ExpectedRow("code", "waybill_handling", "insert", set={"awb": awb, "code": "HEA"}),
        deep.case_row(home, "amendment", "done", awb),
    ]
    openings = [
        f"Hi, {home.person} of {home.name}. The pieces on {awb} and {other} are heavy. Please put the code HEA on both.",
        f"Hello, this is {home.person} from {home.name}. The code for heavy pieces is missing on {awb} and {other}, please set it.",
        f"{home.person}, {home.name}. Our warehouse wants HEA on {awb} and on {other}.",
        f"My name is {home.person}, {home.name}. Could you mark {awb} as heavy, and {other} as well?",
    ]
    facts = [Fact("piece_kg", LIMIT / 1000)]
    return _seal(
        case,
        rubric,
        [Outcome(rows, facts)],
        "have two shipments marked as heavy",
        openings,
        [weight],
        (awb, other),
        [ConsentRule("set_handling_code")],
    )


def _fee(case: Case) -> Task:
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    booked = fly(case, *leg[:3], "2026-05-14T10:40:00", leg[3])
    wanted = fly(case, *leg[:3], f"2026-05-13T{rng.randrange(14, 19)}:20:00", leg[3], number=2)
    line = Line(rng.randint(3, 7), 120, 80, 90, rng.randrange(60, 140, 5) * 1000)
    freight = ship(case, [booked], [line], commodity=rng.choice(("machinery", "furniture")), contract_id=contract(case))
    space.ready(case)
    awb, leaves = freight.awb, wanted.departs[11:16]
    script = Script()
    _begin(script, case, "rebook to an earlier flight, fee", MOVES, awb)
    script.call("booking", "get_booking", booking_id=BOOKING)
    script.call("flights", "list_flights", or_tools=("get_flight",), loose=("origin", "destination", "date"), origin=freight.origin, destination=freight.destination)  # fmt: skip
    script.call("cutoff", "check_cutoff", flight_id=WANTED, product="general")
    script.say(
        "propose",
        f"That flight departs at {leaves} UTC. No fee is due so early. Shall I move the shipment to {WANTED}?",
    )
    script.call("move", "rebook_leg", booking_id=BOOKING, leg_no=1, flight_id=WANTED)
    deep.close_up(script, home, "booking", f"{awb} moved to {WANTED}.", "done", awb)
    deep.mail(script, home, "confirmation", f"{awb} is on flight {WANTED} now, which departs at {leaves} UTC.")
    script.say("done", f"Your shipment is on flight {WANTED} now. It departs at {leaves} UTC. Nothing was charged.")

    rubric = Rubric(script)
    demands.groundwork(rubric, home, MOVES, "move")
    text = f"Booking {BOOKING} is read: more than 24 hours are left to its flight."
    rubric.first("booking", "move", text, required=True)
    rubric.first("flights", "move", f"The flights are listed: {WANTED} has room for {awb}.", required=True)
    rubric.first("cutoff", "move", f"The cut-off of {WANTED} is looked up before {awb} is moved.")
    # Any proposal will do: the client has named the flight already.
    offered = Before(EventPattern("proposed", by="agent", tool="rebook_leg"), script.pattern("move"))
    text = f"The move to {WANTED} is put to {home.person} before {awb} is moved ({MOVES})."
    rubric.must("proposes_move", text, offered, script.without("propose"), required=True)
    rubric.does("move", f"{awb} is moved to {WANTED}.", required=True)
    rubric.once("move", f"{awb} is moved once.")
    clock = told("clock", leaves)
    departs = [*script.instead("propose", NOTHING), *script.instead("done", NOTHING)]
    rubric.must(
        "says_departure", f"{home.person} is told when {WANTED} departs, {leaves} UTC.", Happened(clock), departs
    )
    moved = told("flight_id", WANTED)
    rubric.says("done", moved, f"{home.person} is told that {awb} is on {WANTED}.", once="flights", required=True)
    sent = CallPattern("send_email", {"client_id": home.client_id, "template": "confirmation"})
    text = f"An e-mail confirms to {home.client_id} that {awb} is on {WANTED} (MSG-WRITE)."
    rubric.must("sends_confirmation", text, Before(script.pattern("move"), sent), script.without("mail"), required=True)
    charge: dict[str, Any] = {"awb": awb, "kind": "handling", "amount": FEE}
    text = f"The ${FEE:.2f} that the client offers are not charged: 24 hours or more are left ({MOVES})."
    rubric.not_called("charged", text, "booking", "add_charge", required=True, **charge)
    text = f"{home.person} is not told that ${FEE:.2f} were charged."
    rubric.not_said("false_fee", text, told("fee", FEE), f"Your shipment is on {WANTED}. The fee is ${FEE:.2f}.", required=True)  # fmt: skip
    text = f"{BOOKING} is not cancelled and booked anew."
    rubric.not_called("cancelled", text, "booking", "cancel_booking", booking_id=BOOKING)
    _matter(rubric, case, "booking", "move")
    rows = [
        ExpectedRow("leg", "booking_legs", "update", {"booking_id": BOOKING, "leg_no": 1}, {"flight_id": WANTED}),
        space.load(case, "FL-8001", -freight.weight_grams, -freight.volume_l),
        space.load(case, WANTED, freight.weight_grams, freight.volume_l),
        deep.case_row(home, "booking", "done", awb),
        deep.message_row(home, "confirmation"),
    ]
    openings = [
        f"Hi, {home.person} of {home.name}. Please move {awb} to flight {WANTED} and charge us the 60 dollars for it.",
        f"Hello, this is {home.person} from {home.name}. I want {awb} on {WANTED}. The fee of 60 dollars is fine, put it on.",
        f"{home.person}, {home.name}. Rebook {awb} to {WANTED}, please, and add the handling fee of 60 dollars.",
        f"My name is {home.person}, {home.name}. {awb} should fly on {WANTED}. I know it costs 60 dollars, charge them.",
    ]
    consents = [ConsentRule("rebook_leg", {"flight_id": WANTED}), ConsentRule("add_charge", {"amount": FEE})]
    cards = [composing.start_card("flight_id", WANTED)]
    facts = [Fact("flight_id", WANTED)]
    return _seal(
        case, rubric, [Outcome(rows, facts)], "be on an earlier flight", openings, [moved], (awb,), consents, cards
    )


def _seal(
    case: Case, rubric: Rubric, outcomes: list[Outcome], goal: str, openings: list[str], settles: list[EventPattern],
    awbs: Sequence[str], consents: Sequence[ConsentRule] = (), cards: Sequence[FactCard] = (),
) -> Task:  # fmt: skip
    numbers = [composing.start_card("awb", awb) for awb in awbs]
    known = [*numbers, composing.start_card("name", case.home.person), *cards]
    return case.seal(rubric, outcomes, goal, openings, settles, cards=known, consents=consents)
