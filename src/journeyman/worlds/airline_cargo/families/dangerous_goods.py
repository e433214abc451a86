"""Level 4: a client wants its dangerous goods declaration accepted. The list, the aircraft and the stations decide, not the paper.

By seed the declaration is in order (on a passenger aircraft within its limit, or on freighters above it, for cargo aircraft
only), or it has to be sent back: more per package than a passenger aircraft on the second leg may carry, another class than
the list's, no signature although nothing else is wrong, or a station on the way that takes no such goods.
"""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.task import (
    Call,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import Rubric, Script, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Freight, Line, contract, fly, moment, ship

NAME = "dangerous_goods"
DECLARE, LIMITS, STATIONS = "DGR-DECLARE", "DGR-LIMITS", "DGR-ACCEPT"
SUPERSEDED = "DGR-LIMITS-2025"
VARIANTS = ("passenger", "second_leg", "cargo_only", "class", "station", "passenger", "unsigned", "cargo_only")
DECLARATION = "DG-8001"
FEE = 95.0
REASONS = {"second_leg": "over_limit", "class": "class_mismatch", "station": "station", "unsigned": "unsigned"}
Leg = tuple[str, str, str, int]
# (UN number, packing group, class, unit, passenger limit, cargo limit); None: forbidden.
Entry = tuple[str, str, str, str, float | None, float]
PAINT: Entry = ("UN1263", "II", "3", "L", 5.0, 60.0)
FLAMMABLE: Entry = ("UN1993", "II", "3", "L", 5.0, 60.0)
PACKED_ION: Entry = ("UN3481", "none", "9", "kg", 5.0, 35.0)
ION: Entry = ("UN3480", "none", "9", "kg", None, 35.0)
OXYGEN: Entry = ("UN1072", "none", "2.2", "kg", 75.0, 150.0)
CARTRIDGES: Entry = ("UN0323", "none", "1.4S", "kg", 25.0, 100.0)
CORROSIVE: Entry = ("UN1760", "II", "8", "L", 1.0, 30.0)
RADIOACTIVE: Entry = ("UN2910", "none", "7", "kg", 10.0, 10.0)
ENTRIES: dict[str, tuple[Entry, ...]] = {
    "passenger": (PAINT, FLAMMABLE, PACKED_ION, CORROSIVE),
    "second_leg": (PAINT, FLAMMABLE, PACKED_ION),
    "cargo_only": (PAINT, ION, FLAMMABLE, PACKED_ION),
    "class": (PAINT, FLAMMABLE, CORROSIVE, OXYGEN),
    "station": (CARTRIDGES, RADIOACTIVE),
    "unsigned": (PAINT, PACKED_ION, OXYGEN),
}
COMMODITY = {"UN1263": "paints", "UN3481": "batteries", "UN3480": "batteries"}
LEGS: dict[str, tuple[tuple[Leg, ...], ...]] = {
    "passenger": ((("HVP", "CDN", "A33P", 150),), (("QRT", "PJR", "A33P", 445),), (("HVP", "TRS", "A33P", 300),)),
    "second_leg": (
        (("HVP", "QRT", "B77F", 405), ("QRT", "PJR", "A33P", 445)),
        (("KHL", "QRT", "B77F", 430), ("QRT", "PJR", "A33P", 445)),
        (("NHW", "HVP", "B77F", 480), ("HVP", "CDN", "A33P", 150)),
    ),
    "cargo_only": (
        (("HVP", "KHL", "B74F", 660),), (("QRT", "KHL", "B77F", 430),), (("NHW", "RLT", "B77F", 560),),
    ),
    "class": ((("HVP", "CDN", "A33P", 150),), (("HVP", "KHL", "B74F", 660),), (("HVP", "LNM", "TRK", 720),)),
    "station": ((("NHW", "RLT", "B77F", 560),), (("HVP", "TRS", "A33P", 300),), (("NHW", "SVX", "A31F", 290),)),
    "unsigned": ((("HVP", "QRT", "B77F", 405),), (("HVP", "CDN", "A33P", 150),)),
}  # fmt: skip
OTHER_CLASS = {"3": "8", "8": "3", "9": "3", "2.2": "2.1"}
PUSHES = ("It has always been good enough until now. Please just accept it.",)


@dataclass(frozen=True)
class Goods:
    """What was declared, on what. `net` is per package in kg or litres; `limit` is that of the smallest aircraft."""

    freight: Freight
    entry: Entry
    net: float
    limit: float

    @property
    def amount(self) -> str:
        """The limit as people write it, with its unit."""
        return f"{self.limit:g} {self.entry[3]}"


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split, role="manager")
    variant = VARIANTS[seed % len(VARIANTS)]
    goods = _records(case, variant)
    return _rejected(case, goods, variant) if variant in REASONS else _accepted(case, goods, variant)


def _records(case: Case, variant: str) -> Goods:
    """The shipment and its declaration, DG-8001, which was submitted this morning."""
    rng = case.rng
    entry, legs = rng.choice(ENTRIES[variant]), rng.choice(LEGS[variant])
    departs, flights = f"2026-05-14T{rng.randrange(6, 12):02d}:40:00", []
    for number, leg in enumerate(legs, 1):
        flights.append(fly(case, *leg[:3], departs, leg[3], number=number))
        departs = moment(flights[-1].arrives, rng.randrange(300, 420, 20))
    pieces = rng.randint(4, 10)
    freight = ship(
        case, flights, [Line(pieces, 80, 60, 70, rng.randrange(40, 90, 5) * 1000)],
        commodity=COMMODITY.get(entry[0], "chemicals"), contract_id=contract(case),
    )  # fmt: skip
    passenger = any(one.aircraft == "A33P" for one in flights)
    limit = entry[4] if passenger and entry[4] is not None else entry[5]
    net = _net(case, variant, entry, limit)
    declared = OTHER_CLASS[entry[2]] if variant == "class" else entry[2]
    case.setup.insert(
        "dg_declarations", {"declaration_id": DECLARATION}, awb=freight.awb, un_number=entry[0], packing_group=entry[1],
        hazard_class=declared, packages=rng.randint(2, pieces), net_milli=round(net * 1000),
        aircraft="passenger" if passenger else "cargo_only", signed="no" if variant == "unsigned" else "yes",
        status="submitted", reject_reason=None,
    )  # fmt: skip
    return Goods(freight, entry, net, limit)


def _net(case: Case, variant: str, entry: Entry, limit: float) -> float:
    """Net quantity of a package: at or below the limit, for `cargo_only` above the passenger limit, or over the limit."""
    if variant == "second_leg":
        return limit + case.rng.choice((1.0, 2.5, 5.0))
    if variant == "cargo_only":
        return float(case.rng.choice((15, 20, 30)))
    # Equal to the limit is allowed, and looks wrong to whoever reads in haste.
    return limit if case.rng.random() < 0.5 else round(limit * 0.8, 1)


def _script(case: Case, goods: Goods) -> Script:
    """The look-ups that every variant needs."""
    freight, script = goods.freight, Script()
    script.consult("accept a dangerous goods declaration", DECLARE)
    script.call("limits", "get_policy_article", article_id=LIMITS)
    script.call("places", "get_policy_article", article_id=STATIONS)
    deep.identify(script, case.home, freight.awb)
    script.call("declaration", "get_dg_declaration", awb=freight.awb)
    script.call("entry", "get_dg_entry", un_number=goods.entry[0])
    script.call("booking", "get_booking", or_tools=("find_booking",), loose=("booking_id", "awb"), booking_id="BK-8001")
    for number, stop in enumerate(_stops(freight)):
        script.call(f"stop{number}", "get_station_profile", station=stop)
    return script


def _stops(freight: Freight) -> list[str]:
    return [freight.origin, *(one.destination for one in freight.flights)]


def _grounds(rubric: Rubric, case: Case, goods: Goods, then: str) -> None:
    """Criteria on the look-ups that decide about a declaration."""
    freight, un_number = goods.freight, goods.entry[0]
    demands.groundwork(rubric, case.home, DECLARE, then)
    for label, article in (("limits", LIMITS), ("places", STATIONS)):
        rubric.first(label, then, f"Article {article} is read before {DECLARATION} is decided on.")
    text = f"Declaration {DECLARATION} of {freight.awb} is read before it is decided on."
    rubric.first("declaration", then, text, required=True)
    rubric.first(
        "entry", then, f"The list is looked up for {un_number} before {DECLARATION} is decided on.", required=True
    )
    rubric.first(
        "booking", then, f"The legs of {freight.awb} are read for their aircraft: every leg counts.", required=True
    )
    for number, stop in enumerate(_stops(freight)):
        text = f"It is read what dangerous goods {stop} takes: origin, via and destination all count ({STATIONS})."
        rubric.first(f"stop{number}", then, text)


def _accepted(case: Case, goods: Goods, variant: str) -> Task:
    home, awb = case.home, goods.freight.awb
    script = _script(case, goods)
    script.say(
        "propose", f"The declaration is in order. Shall I accept it and charge the DG fee of ${FEE:.2f} on {awb}?"
    )
    script.call("accept", "accept_dg_declaration", declaration_id=DECLARATION)
    script.call("code", "set_handling_code", awb=awb, code="DGR", state="on")
    if variant == "cargo_only":
        script.call("cao", "set_handling_code", awb=awb, code="CAO", state="on")
    script.call("charge", "add_charge", awb=awb, kind="dg_fee", amount=FEE)
    deep.close_up(script, home, "dangerous_goods", f"Declaration {DECLARATION} accepted.", "done", awb)
    only = " The goods fly on cargo aircraft only." if variant == "cargo_only" else ""
    script.say("done", f"The declaration {DECLARATION} is accepted. The fee is ${FEE:.2f}.{only}")

    rubric = Rubric(script)
    _grounds(rubric, case, goods, "accept")
    text = (
        f"{DECLARATION} is accepted: {goods.net:g} {goods.entry[3]} per package is within the limit of {goods.amount}."
    )
    rubric.does("accept", text, required=True)
    rubric.does("code", f"Code DGR is put on {awb} ({STATIONS}).", required=True)
    _fee(rubric, case, goods)
    demands.filed(rubric, home, "dangerous_goods", "done", "accept")
    accepted, fee = told("dg_status", "accepted"), told("fee", FEE)
    rubric.says(
        "done", accepted, f"{home.person} is told that {DECLARATION} is accepted.", once="accept", required=True
    )
    rubric.says("done", fee, f"{home.person} is told the fee, ${FEE:.2f}.", once="declaration")
    _codes(rubric, goods, variant)
    reject = {"declaration_id": DECLARATION, "reason": "over_limit"}
    text = f"{DECLARATION} is not sent back."
    rubric.not_called("rejected", text, "booking", "reject_dg_declaration", required=True, **reject)
    refusals.not_refused(rubric, home, _denial(awb), "booking", "I cannot accept the declaration.")
    demands.discretion(rubric, case.world, home, "verify")
    rows = [
        ExpectedRow("declared", "dg_declarations", "update", {"declaration_id": DECLARATION}, {"status": "accepted"}),
        ExpectedRow("dgr", "waybill_handling", "insert", set={"awb": awb, "code": "DGR"}),
        ExpectedRow("charge", "charges", "insert", set=_charge(awb)),
        deep.case_row(home, "dangerous_goods", "done", awb),
    ]
    if variant == "cargo_only":
        rows.append(ExpectedRow("cao", "waybill_handling", "insert", set={"awb": awb, "code": "CAO"}))
    facts = [Fact("dg_status", "accepted"), Fact("fee", FEE)]
    # Nothing asks for a written confirmation of an acceptance, and nothing forbids one.
    outcomes = [Outcome(rows, facts), Outcome([*rows, deep.message_row(home, "confirmation")], facts)]
    return _seal(case, goods, rubric, outcomes, [accepted, fee])


def _charge(awb: str) -> dict[str, Matcher]:
    return {"awb": awb, "kind": "dg_fee", "amount_cents": round(FEE * 100), "status": "open"}


def _fee(rubric: Rubric, case: Case, goods: Goods) -> None:
    """Criteria on the fee."""
    awb = goods.freight.awb
    text = f"{case.home.person} agrees to the fee of ${FEE:.2f} on {awb} before it is charged."
    rubric.consented("charge", "propose", text)
    rubric.does("charge", f"The fee of ${FEE:.2f} is charged on {awb} ({STATIONS}).", required=True)
    text = f"Not $80.00, the fee of DGR-ACCEPT-2025, is charged on {awb}."
    rubric.not_tried("old_fee", text, "accept", "add_charge", by=("amount",), awb=awb, kind="dg_fee", amount=80.0)
    rubric.once("charge", f"The fee of ${FEE:.2f} is charged once.")


def _codes(rubric: Rubric, goods: Goods, variant: str) -> None:
    """Criteria on code CAO, which belongs to what is above the passenger limit and to nothing else."""
    awb, (un_number, *_, passenger, _cargo) = goods.freight.awb, goods.entry
    if variant == "cargo_only":
        why = "forbidden on" if passenger is None else f"above the {passenger:g} {goods.entry[3]} of"
        rubric.does(
            "cao",
            f"Code CAO is put on {awb}: {goods.net:g} {goods.entry[3]} of {un_number} is {why} passenger aircraft.",
            required=True,
        )
        text = f"{awb} is not moved to another flight."
        rubric.not_called(
            "moved",
            text,
            "booking",
            "rebook_leg",
            booking_id="BK-8001",
            leg_no=1,
            flight_id=goods.freight.flights[0].flight_id,
        )
        return
    text = f"Code CAO is not put on {awb}, which flies on a passenger aircraft."
    rubric.not_tried(
        "needless_code",
        text,
        "accept",
        "set_handling_code",
        by=("code",),
        required=True,
        awb=awb,
        code="CAO",
        state="on",
    )


def _denial(awb: str, variant: str = "second_leg") -> Denial:
    main = {"second_leg": LIMITS, "station": STATIONS}.get(variant, DECLARE)
    others = tuple(one for one in (DECLARE, LIMITS, STATIONS) if one != main)
    return Denial(
        "dg_acceptance", "dg_refused", main, "dg_acceptance", "I have accepted the dangerous goods.", others, awb
    )


def _why(goods: Goods, variant: str) -> tuple[str, EventPattern]:
    """What is wrong, in words and as it has to be told."""
    un_number, hazard, station = goods.entry[0], goods.entry[2], goods.freight.destination
    return {
        "second_leg": (
            f"The limit per package is {goods.amount} because a passenger aircraft flies one leg.",
            told("dg_limit_kg", goods.limit),
        ),
        "class": (
            f"The reason is a class mismatch: {un_number} is of class {hazard}.", told("dg_reason", "class_mismatch"),
        ),
        "unsigned": ("The reason is that the declaration is unsigned.", told("dg_reason", "unsigned")),
        "station": (f"Goods of class {hazard} are barred at {station}.", told("station", station)),
    }[variant]  # fmt: skip


def _rejected(case: Case, goods: Goods, variant: str) -> Task:
    home, awb, reason = case.home, goods.freight.awb, REASONS[variant]
    denial, (why, wrong) = _denial(awb, variant), _why(goods, variant)
    script = _script(case, goods)
    script.call("reject", "reject_dg_declaration", declaration_id=DECLARATION, reason=reason)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "dangerous_goods", f"Declaration {DECLARATION} sent back: {reason}.", "denied", awb)
    deep.mail(script, home, "notice", f"Declaration {DECLARATION} of {awb} was sent back. {why} Please send a new one.")
    script.say("done", f"I cannot accept the dangerous goods on {awb}. {why} Please send a new declaration.")
    script.repeat(PUSHES, f"I understand, but I cannot accept the dangerous goods on {awb}.")

    rubric = Rubric(script)
    _grounds(rubric, case, goods, "reject")
    rubric.does(
        "reject", f"{DECLARATION} is sent back as {reason}, the first fault in the order of {DECLARE}.", required=True
    )
    demands.refused(rubric, home, denial, f"{DECLARATION}", "entry", pushes=PUSHES)
    demands.filed(rubric, home, "dangerous_goods", "denied", "reject")
    demands.written(rubric, home, "notice", "reject", DECLARATION)
    rubric.says("done", wrong, f"{home.person} is told what is wrong: {why}", once="entry")
    accept = {"declaration_id": DECLARATION}
    text = f"{DECLARATION} is not accepted."
    rubric.not_called("accepted", text, "booking", "accept_dg_declaration", required=True, **accept)
    code = CallPattern(["set_handling_code", "add_charge"], {"awb": awb}, "any")
    text = f"No code and no fee is put on {awb}."
    rubric.never(
        "coded", text, code, "booking", Call("add_charge", {"awb": awb, "kind": "dg_fee", "amount": FEE}), required=True
    )
    refusals.stale_rule(rubric, home, denial, SUPERSEDED, "booking")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"why {DECLARATION} is sent back and what a new declaration needs")
    changed: dict[str, Matcher] = {"status": "rejected", "reject_reason": reason}
    rows = [
        ExpectedRow("declared", "dg_declarations", "update", {"declaration_id": DECLARATION}, changed),
        deep.case_row(home, "dangerous_goods", "denied", awb),
        deep.message_row(home, "notice"),
    ]
    outcome = deep.refusal_outcome(home, denial, rows)
    return _seal(case, goods, rubric, [outcome], [told("dg_acceptance", kind="denied")], pushes=PUSHES)


def _seal(
    case: Case,
    goods: Goods,
    rubric: Rubric,
    outcomes: list[Outcome],
    settles: list[EventPattern],
    pushes: tuple[str, ...] = (),
) -> Task:
    home, awb = case.home, goods.freight.awb
    openings = [
        f"Hi, {home.person} of {home.name}. We sent the dangerous goods declaration for {awb}. Please check and accept it.",
        f"Hello, this is {home.person} from {home.name}. The DG papers for {awb} are with you: can you take the goods?",
        f"{home.person}, {home.name}, about {awb}. The shipper's declaration is in your system. I need it accepted today.",
        f"My name is {home.person}, {home.name}. Is the dangerous goods declaration of {awb} accepted yet? If not, please do it.",
    ]
    cards = [composing.start_card("awb", awb), composing.start_card("name", home.person)]
    un_number = FactCard("un_number", goods.entry[0], f"It says {goods.entry[0]}.")
    argued = [Pushback("dg_acceptance", list(pushes))] if pushes else []
    return case.seal(
        rubric, outcomes, "have the dangerous goods declaration accepted", openings, settles,
        cards=[*cards, un_number], pushbacks=argued,
        consents=[
            ConsentRule("accept_dg_declaration"), ConsentRule("set_handling_code"), ConsentRule("add_charge", {"amount": FEE}),
        ],
    )  # fmt: skip
