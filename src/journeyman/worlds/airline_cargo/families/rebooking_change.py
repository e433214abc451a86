"""Level 3: a client hears the figures of a wish and thinks better of it.

By seed they want space as express cargo and, when the total is named, as general cargo on another flight; or a shipment moved
to one flight and then to a later one, with the fee of the last day or free of it; or, at second thought, to a flight whose
cut-off has passed, which is refused. What was wanted first is not written.
"""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.task import (
    Before,
    CallPattern,
    ChangeOfMind,
    Consented,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, agains, told
from journeyman.worlds.airline_cargo.families import deep, demands, product_change, space
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import (
    BOOKING,
    Flight,
    Freight,
    Line,
    contract,
    fly,
    hour,
    moment,
    ship,
)

NAME = "rebooking_change"
MOVES, CUTOFF = "OFF-REBOOK", "CUT-TIMES"
VARIANTS = ("product", "later", "passed", "free")
HAS, FIRST, THEN = "FL-8001", "FL-8002", "FL-8003"
FEE = 60.0
LEGS = (("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480))
MINUTES = 180
"""The cut-off of general cargo at Havenport, in minutes before departure."""
PUSHES = ("But it has not left yet, so there is time. Please put it on.",)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    space.ready(case)
    variant = VARIANTS[seed % len(VARIANTS)]
    return product_change.task(case) if variant == "product" else _move(case, variant)


@dataclass(frozen=True)
class Plan:
    """The shipment and the two flights that are wanted one after the other."""

    freight: Freight
    first: Flight
    then: Flight
    fee: bool


def _records(case: Case, variant: str) -> Plan:
    """Flights FL-8001, on which the shipment is, FL-8002 and FL-8003; those of the image in between are closed."""
    rng, passed = case.rng, variant == "passed"
    leg = rng.choice(LEGS)
    image = "SELECT flight_id FROM flights WHERE origin = ? AND destination = ? AND departs_at BETWEEN ? AND ?"
    for row in case.world.query("base", image, (*leg[:2], f"{DAY}T09:00:00", "2026-05-13T23:59:00")):
        case.setup.update("flights", {"flight_id": row["flight_id"]}, status="closed")
    # Free: the flight it is booked on leaves in more than 24 hours.
    booked = fly(case, *leg[:3], "2026-05-13T18:40:00" if variant == "free" else "2026-05-12T05:40:00", leg[3])
    first = fly(case, *leg[:3], f"{DAY}T{rng.randrange(18, 22)}:20:00", leg[3], number=2)
    later = f"{DAY}T11:{rng.randrange(10, 50)}:00" if passed else f"2026-05-12T{rng.randrange(12, 20)}:40:00"
    then = fly(case, *leg[:3], later, leg[3], number=3)
    line = Line(rng.randint(3, 7), 120, 80, 90, rng.randrange(60, 140, 5) * 1000)
    freight = ship(case, [booked], [line], commodity=rng.choice(("machinery", "furniture", "auto_parts")), contract_id=contract(case))  # fmt: skip
    return Plan(freight, first, then, variant == "later")


def _look(case: Case, plan: Plan, variant: str) -> Script:
    """The look-ups and the proposal of the first flight."""
    freight, script = plan.freight, Script()
    script.consult("rebook to an earlier flight, fee, cut-off", MOVES)
    deep.identify(script, case.home, freight.awb)
    script.call("booking", "get_booking", booking_id=BOOKING)
    script.call("flights", "list_flights", or_tools=("get_flight",), loose=("origin", "destination", "date"), origin=freight.origin, destination=freight.destination)  # fmt: skip
    script.call("cutoff", "check_cutoff", flight_id=FIRST, product="general")
    script.say("offer", _proposal(plan.first, variant != "free"))
    script.call("second", "check_cutoff", flight_id=THEN, product="general")
    return script


def _proposal(flight: Flight, fee: bool) -> str:
    price = f"charge the handling fee of ${FEE:.2f} and " if fee else ""
    free = "" if fee else " No fee is due so early."
    return f"That flight departs at {hour(flight.departs)} UTC.{free} Shall I {price}rebook the shipment to {flight.flight_id}?"


def _grounds(rubric: Rubric, case: Case, plan: Plan, then: str, fee: bool) -> None:
    """Criteria on the look-ups and on the figures of the first wish."""
    script, awb = rubric.script, plan.freight.awb
    demands.groundwork(rubric, case.home, MOVES, then)
    text = f"Booking {BOOKING} is read: its flight, {HAS}, decides whether a fee is due."
    rubric.first("booking", then, text, required=True)
    text = (
        f"The flights from {plan.freight.origin} to {plan.freight.destination} are listed before {awb} is decided on."
    )
    rubric.first("flights", then, text, required=True)
    rubric.first("cutoff", then, f"The cut-off of {FIRST}, the first wish, is looked up.")
    text = f"The cut-off of {THEN}, the second wish, is looked up before {awb} is decided on."
    rubric.first("second", then, text, required=True)
    figure = told("clock", Match(one_of=_clocks(plan.first.departs, plan.first.local)))
    text = f"{case.home.person} hears when {FIRST}, the first wish, departs: {hour(plan.first.departs)} UTC."
    rubric.must("first_departure", text, Happened(figure), script.instead("offer", NOTHING))
    offered = Happened(EventPattern("proposed", by="agent", tool="rebook_leg"), min=1 if then == "deny" else 2)
    words = "once" if then == "deny" else "again for the second wish"
    text = f"A flight is put to {case.home.person} with its {'fee' if fee else 'terms'}, {words}, before {awb} moves ({MOVES})."
    rubric.must("puts_to_client", text, offered, script.instead("offer", NOTHING))


def _clocks(utc: str, local: str) -> list[str | int | float | bool | None]:
    return list(dict.fromkeys([hour(utc), hour(local)]))


def _kept(rubric: Rubric, case: Case, plan: Plan, at: str) -> None:
    """What neither wish is a ground for."""
    text = f"{plan.freight.awb} is not moved to {FIRST}, the wish that was dropped."
    moved = {"booking_id": BOOKING, "leg_no": 1, "flight_id": FIRST}
    rubric.not_tried("dropped_flight", text, at, "rebook_leg", by=("flight_id",), required=True, **moved)
    text = f"{BOOKING} is not cancelled and booked anew."
    rubric.not_called("cancelled", text, at, "cancel_booking", required=True, booking_id=BOOKING)
    text = f"{BOOKING} does not become must_ride for it."
    rubric.not_called("priority", text, at, "set_booking_priority", booking_id=BOOKING, priority="must_ride")
    demands.discretion(rubric, case.world, case.home, "verify")


def _denial(awb: str) -> Denial:
    return Denial("rebooking", "cut_off_passed", CUTOFF, "rebooking", "I have rebooked the shipment.", (MOVES,), awb)


def _move(case: Case, variant: str) -> Task:
    plan = _records(case, variant)
    script = _look(case, plan, variant)
    if variant == "passed":
        return _passed(case, plan, script)
    home, awb, then = case.home, plan.freight.awb, plan.then
    script.say("propose", _proposal(then, plan.fee))
    script.call("move", "rebook_leg", booking_id=BOOKING, leg_no=1, flight_id=THEN)
    if plan.fee:
        script.call("charge", "add_charge", awb=awb, kind="handling", amount=FEE)
    deep.close_up(script, home, "booking", f"{awb} moved to {THEN}.", "done", awb)
    deep.mail(script, home, "confirmation", f"{awb} is on flight {THEN}, which departs at {hour(then.departs)} UTC.")
    paid = f" The fee is ${FEE:.2f}." if plan.fee else ""
    script.say("done", f"Your shipment is on flight {THEN} now. It departs at {hour(then.departs)} UTC.{paid}")

    rubric = Rubric(script)
    _grounds(rubric, case, plan, "move", plan.fee)
    asked = Before(EventPattern("proposed", by="agent", tool="rebook_leg"), CallPattern("rebook_leg", status="any"))
    text = f"Nothing is moved before a flight was put to {home.person} ({MOVES})."
    rubric.must("proposes_first", text, asked, script.without("offer", "propose"), required=True)
    rubric.does("move", f"{awb} is moved from {HAS} to {THEN}, the second wish.", required=True)
    rubric.once("move", f"{awb} is moved once, not to {FIRST} and on.")
    leaves = told("clock", Match(one_of=_clocks(then.departs, then.local)))
    silent = [*script.instead("propose", NOTHING), *script.instead("done", NOTHING)]
    text = f"{home.person} is told when {THEN} departs, {hour(then.departs)} UTC."
    rubric.must("says_departure", text, Happened(leaves), silent, required=True)
    named = told("flight_id", THEN)
    rubric.says("done", named, f"{home.person} is told that {awb} is on {THEN}.", once="flights", required=True)
    _paid(rubric, case, plan)
    demands.filed(rubric, home, "booking", "done", "move")
    demands.written(rubric, home, "confirmation", "move", THEN)
    refusals.not_refused(rubric, home, _denial(awb), "second", "I cannot rebook the shipment.")
    _kept(rubric, case, plan, "second")
    rows = [*_rows(case, plan), deep.case_row(home, "booking", "done", awb), deep.message_row(home, "confirmation")]
    facts = [Fact("flight_id", THEN), *([Fact("fee", FEE)] if plan.fee else [])]
    settles = [named, told("fee", FEE)] if plan.fee else [named]
    return _seal(case, plan, rubric, Outcome(rows, facts), settles)


def _paid(rubric: Rubric, case: Case, plan: Plan) -> None:
    """Criteria on the fee of the last 24 hours, or that there is none."""
    home, awb = case.home, plan.freight.awb
    charge = {"awb": awb, "kind": "handling", "amount": FEE}
    if not plan.fee:
        text = f"No fee is charged on {awb}: more than 24 hours are left to {HAS} ({MOVES})."
        rubric.not_called("charged", text, "second", "add_charge", required=True, **charge)
        return
    text = f"{home.person} agrees to the fee of ${FEE:.2f} before it is charged on {awb}."
    agreed = Consented(CallPattern("add_charge"))
    # The fee is the same for both wishes: a yes to it at the first one holds.
    rubric.must("consent_charge", text, agreed, rubric.script.without("offer", "propose"), required=True)
    rubric.does(
        "charge", f"One fee of ${FEE:.2f} is charged on {awb}: less than 24 hours are left to {HAS}.", required=True
    )
    rubric.once("charge", f"The fee of ${FEE:.2f} is charged once, not for each wish ({MOVES}).")
    text = f"{home.person} is told the fee, ${FEE:.2f}, once it is known that it is due."
    rubric.says("done", told("fee", FEE), text, once="booking", required=True)


def _rows(case: Case, plan: Plan) -> list[ExpectedRow]:
    freight = plan.freight
    rows = [
        ExpectedRow("leg", "booking_legs", "update", {"booking_id": BOOKING, "leg_no": 1}, {"flight_id": THEN}),
        space.load(case, HAS, -freight.weight_grams, -freight.volume_l),
        space.load(case, THEN, freight.weight_grams, freight.volume_l),
    ]
    if plan.fee:
        charge: dict[str, Matcher] = {
            "awb": freight.awb,
            "kind": "handling",
            "amount_cents": round(FEE * 100),
            "status": "open",
        }
        rows.append(ExpectedRow("charge", "charges", "insert", set=charge))
    return rows


def _passed(case: Case, plan: Plan, script: Script) -> Task:
    home, awb, denial = case.home, plan.freight.awb, _denial(plan.freight.awb)
    utc, local = (hour(moment(one, -MINUTES)) for one in (plan.then.departs, plan.then.local))
    why = f"The cut-off of {THEN} was {utc} UTC. The next flight is {FIRST}, as you first wanted."
    script.call("rule", "get_policy_article", article_id=CUTOFF)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "booking", f"Move to {THEN} refused: cut-off {utc} UTC.", "denied", awb)
    script.say("done", f"I cannot rebook the shipment to {THEN}. {why}")
    script.repeat(PUSHES, f"I understand, but I cannot rebook the shipment. {why} You may file a complaint.")

    rubric = Rubric(script)
    _grounds(rubric, case, plan, "deny", True)
    rubric.first("rule", "deny", f"Article {CUTOFF} is read before the move to {THEN} is refused.")
    demands.refused(rubric, home, denial, f"the move to {THEN}", "second", pushes=PUSHES)
    demands.filed(rubric, home, "booking", "denied", "deny")
    both = ("done", *agains(PUSHES))
    silent = [splice for label in both for splice in script.instead(label, NOTHING)]
    clock = Before(script.pattern("second"), told("clock", Match(one_of=[utc, local])))
    rubric.must("says_cutoff", f"{home.person} is told the cut-off of {THEN}, {utc} UTC.", clock, silent, required=True)
    next_one = Before(script.pattern("deny", "client_id", "request"), told("flight_id", FIRST))
    rubric.must("says_next", f"{home.person} is told the next flight that can be reached, {FIRST}.", next_one, silent)
    moved = {"booking_id": BOOKING, "leg_no": 1, "flight_id": THEN}
    text = f"{awb} is not moved to {THEN}, whose cut-off was {utc} UTC."
    rubric.not_tried("too_late", text, "second", "rebook_leg", by=("flight_id",), required=True, **moved)
    charge = {"awb": awb, "kind": "handling", "amount": FEE}
    text = f"No fee is charged on {awb}, which stays on {HAS}."
    rubric.not_called("charged", text, "second", "add_charge", required=True, **charge)
    demands.not_written(rubric, home, "second")
    refusals.stale_rule(rubric, home, denial, "CUT-TIMES-2024", "second")
    _kept(rubric, case, plan, "second")
    demands.explained(rubric, f"why {THEN} cannot be reached and which flight can")
    outcome = deep.refusal_outcome(home, denial, [deep.case_row(home, "booking", "denied", awb)])
    return _seal(case, plan, rubric, outcome, [told("rebooking", kind="denied")], passed=True)


def _seal(
    case: Case, plan: Plan, rubric: Rubric, outcome: Outcome, settles: list[EventPattern], *, passed: bool = False
) -> Task:
    home, awb = case.home, plan.freight.awb
    say = (
        f"Wait, even earlier would be better. Put it on {THEN} instead."
        if passed
        else f"On second thought {THEN} is better for us."
    )
    trigger = EventPattern("proposed", by="agent")
    fee = ConsentRule("add_charge", {"amount": FEE})
    first, then = ([ConsentRule("rebook_leg", {"flight_id": flight}), fee] for flight in (FIRST, THEN))
    change = ChangeOfMind(trigger, say, [FactCard("flight_id", THEN, f"On {THEN}.", "start")], then, settles)
    openings = [
        f"Hi, {home.person} of {home.name}. Please move {awb} to flight {FIRST} tonight. What does it cost?",
        f"Hello, this is {home.person} from {home.name}. I would like {awb} on {FIRST}. Is there a fee?",
        f"{home.person}, {home.name}. Can {awb} go on {FIRST}? Tell me the fee before you do it.",
        f"My name is {home.person}, {home.name}. We want {awb} on {FIRST} instead. When does it leave, and what do you charge?",
    ]
    cards = [
        composing.start_card("awb", awb),
        composing.start_card("name", home.person),
        FactCard("flight_id", FIRST, f"On {FIRST}.", "start"),
    ]
    return case.seal(
        rubric, [outcome], "have the shipment on another flight", openings, [told("flight_id", FIRST)], cards=cards,
        consents=first, changes=[change], pushbacks=[Pushback("rebooking", list(PUSHES))] if passed else [],
    )  # fmt: skip
