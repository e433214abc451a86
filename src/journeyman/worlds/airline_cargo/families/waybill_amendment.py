"""Level 4: a client asks to amend a waybill with revised dimensions.

The chargeable weight comes from the volume and the divisor of the contract, not from a rule of thumb. The case that is open
already is the file of the matter. By seed the divisor is 6000 or 5000, the goods have been accepted and the change costs a
fee, or it is unlawful: a station cannot take such pieces, locks waybills at acceptance, or has filed them already.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from journeyman.task import (
    AnyOf,
    Before,
    Call,
    CallPattern,
    Changed,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Match,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.common import cbm, kg
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Freight, Line, contract, earlier_case, fly, hour, ship
from journeyman.worlds.airline_cargo.weights import chargeable_grams

NAME = "waybill_amendment"
ARTICLE, WEIGHT, LIMITS, SUPERSEDED = "AWB-AMEND", "WGT-CHARGE", "ROUTE-RULES", "AWB-AMEND-2024"
VARIANTS = ("standard", "five", "height", "fee", "standard", "locked", "five", "filing")
CASE = "CS-8001"
FEE = 40.0
Leg = tuple[str, str, str, int]
ROOMY: tuple[Leg, ...] = (
    ("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405), ("QRT", "KHL", "B77F", 430),
    ("NHW", "RLT", "B77F", 560), ("HVP", "NHW", "B77F", 480),
)  # fmt: skip
LEGS: dict[str, tuple[Leg, ...]] = {
    "height": (("HVP", "BKW", "TRK", 240), ("BKW", "HVP", "TRK", 240)),
    "locked": (("NHW", "SVX", "A31F", 290), ("LNM", "OSG", "A31F", 80)),
    "filing": (("HVP", "KHL", "B74F", 660), ("HVP", "NHW", "B77F", 480), ("QRT", "KHL", "B77F", 430)),
}
LOW = 160
"""Greatest height of a piece at Brackwater, in cm."""


@dataclass(frozen=True)
class Wish:
    """What the client wants changed: `size` of each piece now; volume in litres and chargeable weight in grams to be."""

    freight: Freight
    size: Line
    volume: int
    chargeable: int

    @property
    def kilos(self) -> float:
        """Chargeable weight to be, in kg."""
        return self.chargeable / 1000

    @property
    def cubic(self) -> float:
        """Volume to be, in cbm."""
        return self.volume / 1000


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    wish = _records(case, variant, canonical=seed == 0)
    if variant in LEGS:
        return _refused(case, wish, variant)
    return _amended(case, wish, variant)


def _records(case: Case, variant: str, *, canonical: bool) -> Wish:
    """The shipment as booked, its contract, and a case on file: open, or for `five` only an older one that is closed."""
    rng = case.rng
    leg = rng.choice(LEGS.get(variant, ROOMY))
    divisor = 5000 if variant == "five" else 6000
    agreed = contract(case, divisor=divisor)
    before, after = (
        (Line(6, 130, 100, 80, 150_000), Line(6, 130, 100, 100, 150_000)) if canonical else _sizes(rng, variant)
    )
    departs = "2026-05-11T11:50:00" if variant == "filing" else f"2026-05-12T{rng.randrange(14, 21)}:30:00"
    flight = fly(case, *leg[:3], departs, leg[3])
    freight = ship(
        case, [flight], [before], commodity=rng.choice(("machinery", "auto_parts", "furniture")), divisor=divisor,
        contract_id=agreed, status="accepted" if variant in ("locked", "fee", "filing") else "issued",
    )  # fmt: skip
    earlier_case(
        case, CASE, "amendment", "Client announced new dimensions", freight.awb,
        status="closed" if variant == "five" else "open", day="2026-05-08",
    )  # fmt: skip
    return Wish(freight, after, after.litres, chargeable_grams(freight.weight_grams, after.litres, divisor))


def _sizes(rng: random.Random, variant: str) -> tuple[Line, Line]:
    """Pieces as booked and as they are: bulky either way, so that the volume counts, and less than 1,000 kg apart."""
    while True:
        pieces, length, width = rng.randint(4, 9), rng.randrange(110, 161, 10), rng.randrange(80, 121, 10)
        low = rng.randrange(70, 101, 5)
        high = rng.randrange(165, 241, 5) if variant == "height" else low + rng.randrange(15, 51, 5)
        grams = rng.randrange(40, 121, 5) * 1000
        before, after = Line(pieces, length, width, low, grams), Line(pieces, length, width, high, grams)
        weights = [
            chargeable_grams(pieces * grams, one.litres, divisor) for one in (before, after) for divisor in (5000, 6000)
        ]
        bulky = weights[1] > pieces * grams
        if (bulky and weights[2] - weights[0] < 1_000_000 and high <= 160) or variant == "height":
            return before, after


def careless(wish: Wish) -> list[float]:
    """The chargeable weights of 167 kg per cbm, as it comes and rounded in every way that people round."""
    exact = wish.volume * 167 / 1000
    return list(dict.fromkeys([round(exact, 3), -(-exact * 2 // 1) / 2, float(round(exact)), float(-(-exact // 1))]))


def _script(case: Case, wish: Wish, *, weight: bool) -> Script:
    """The look-ups that every variant needs. `weight`: with the article on chargeable weight, else that on limits."""
    freight, script = wish.freight, Script()
    script.consult("amend a waybill with new dimensions", ARTICLE)
    script.call("rule", "get_policy_article", article_id=WEIGHT if weight else LIMITS)
    deep.identify(script, case.home, freight.awb)
    script.say("ask_size", "Thank you. What are the new dimensions of the pieces?")
    script.call("cases", "find_cases", or_tools=("list_cases",), loose=("awb",), awb=freight.awb)
    script.call("contract", "get_contract", contract_id=freight.contract_id)
    script.call("origin", "get_station_profile", station=freight.origin)
    script.call("destination", "get_station_profile", station=freight.destination)
    script.call("booking", "get_booking", booking_id="BK-8001")
    return script


def _grounds(rubric: Rubric, case: Case, wish: Wish, then: str, rule: str) -> None:
    """Criteria on the look-ups that AWB-AMEND demands before the matter is decided."""
    freight, script = wish.freight, rubric.script
    demands.groundwork(rubric, case.home, ARTICLE, then)
    rubric.first("rule", then, f"Article {rule} is read before the matter is decided.")
    asked = Before(told("dimensions", kind="asked"), script.pattern(then))
    text = f"{case.home.person} is asked for the new dimensions of {freight.awb}."
    rubric.must("asks_size", text, asked, script.instead("ask_size", NOTHING))
    rubric.first("cases", then, f"The cases of {freight.awb} are looked up first: {CASE} is on file.", required=True)
    text = f"Contract {freight.contract_id}, which names the divisor {freight.divisor}, is read before the matter is decided."
    rubric.first("contract", then, text, required=True)
    for label, station in (("origin", freight.origin), ("destination", freight.destination)):
        text = f"The profile of {station}, the {label} of {freight.awb}, is read before the matter is decided."
        rubric.first(label, then, text, required=True)
    rubric.first("booking", then, f"Booking BK-8001 is read for the legs and times of {freight.awb}.")


def _file_untouched(rubric: Rubric, case: Case, wish: Wish, at: str) -> None:
    """The criteria that the open case stays as it is, alone."""
    text = f"No second case is opened beside {CASE} ({ARTICLE})."
    new = {"client_id": case.home.client_id, "kind": "amendment", "summary": "New dimensions.", "awb": wish.freight.awb}
    rubric.not_called("second_case", text, at, "create_case", required=True, **new)
    text = f"{CASE} is neither noted nor closed: the waybill system links amendments to it ({ARTICLE})."
    handled = CallPattern(["add_case_note", "close_case"], {"case_id": CASE}, "any")
    rubric.never(
        "case_handled", text, handled, at, Call("close_case", {"case_id": CASE, "resolution": "done"}), required=True
    )


def _amended(case: Case, wish: Wish, variant: str) -> Task:
    home, freight, awb = case.home, wish.freight, wish.freight.awb
    script = _script(case, wish, weight=True)
    if variant == "fee":
        script.say("propose", f"The goods have been accepted. Shall I charge the amendment fee of ${FEE:.2f} on {awb}?")
    script.call("amend", "amend_waybill", awb=awb, volume_cbm=wish.cubic, chargeable_kg=wish.kilos)
    if variant == "fee":
        script.call("charge", "add_charge", awb=awb, kind="amendment", amount=FEE)
        for label, station in (("edi_origin", freight.origin), ("edi_destination", freight.destination)):
            script.call(label, "send_edi", awb=awb, kind="FWB", station=station)
    if variant == "five":
        deep.close_up(script, home, "amendment", f"New dimensions of {awb}.", "done", awb)
    body = f"{awb} is amended: volume {cbm(wish.volume)}, chargeable weight {kg(wish.chargeable)}."
    for label, tool in (("chat", "send_chat_message"), ("mail", "send_email")):
        script.call(label, tool, client_id=home.client_id, template="confirmation", body=body)
    said = (
        f"Waybill {awb} is amended. The volume is {cbm(wish.volume)}. The chargeable weight is {kg(wish.chargeable)}."
    )
    script.say("done", said + (f" The amendment fee is ${FEE:.2f}." if variant == "fee" else ""))

    rubric = Rubric(script)
    _grounds(rubric, case, wish, "amend", WEIGHT)
    text = f"{awb} is amended to {cbm(wish.volume)} and a chargeable weight of {kg(wish.chargeable)} ({WEIGHT})."
    rubric.does("amend", text, required=True)
    _confirmed(rubric, case, wish)
    _bounds(rubric, case, wish)
    rows = [*_rows(case, wish)]
    fees = []
    if variant == "fee":
        rows += _paid(rubric, case, wish)
        fees.append(ConsentRule("add_charge", {"amount": FEE}))
    else:
        text = f"No fee is charged: {awb} is only issued ({ARTICLE})."
        rubric.not_called("fee", text, "amend", "add_charge", required=True, awb=awb, kind="amendment", amount=FEE)
    if variant == "five":
        demands.filed(rubric, home, "amendment", "done", "amend")
        rows.append(deep.case_row(home, "amendment", "done", awb))
    else:
        _file_untouched(rubric, case, wish, "cases")
    refusals.not_refused(rubric, home, _denial(variant, awb), "cases", "I cannot amend the waybill.")
    demands.discretion(rubric, case.world, home, "verify")
    settles = [told("chargeable_kg", wish.kilos), told("volume_cbm", wish.cubic), told("amendment")]
    facts = [Fact("chargeable_kg", wish.kilos), Fact("volume_cbm", wish.cubic)]
    return _seal(case, wish, rubric, Outcome(rows, facts), settles, fees=fees)


def _confirmed(rubric: Rubric, case: Case, wish: Wish) -> None:
    """Criteria on the figures, told here and put in writing twice."""
    awb, script = wish.freight.awb, rubric.script
    text = f"{case.home.person} is told the chargeable weight of {awb}, {kg(wish.chargeable)}."
    rubric.says("done", told("chargeable_kg", wish.kilos), text, once="contract", required=True)
    text = f"{case.home.person} is told the volume of {awb}, {cbm(wish.volume)}."
    rubric.says("done", told("volume_cbm", wish.cubic), text, once="verify", required=True)
    for label, where in (("chat", "the chat room"), ("mail", "an e-mail")):
        text = f"After the amendment a confirmation goes to {where} of {case.home.client_id}."
        sent = Before(script.pattern("amend"), script.pattern(label))
        rubric.must(f"confirms_{label}", text, sent, script.without(label), required=True)
        text = f"The confirmation in {where} names {kg(wish.chargeable)} (MSG-WRITE)."
        demands.mentions(rubric, f"names_in_{label}", text, label, *demands.figures(wish.kilos))


def _bounds(rubric: Rubric, case: Case, wish: Wish) -> None:
    """What the amendment must not do."""
    freight, awb = wish.freight, wish.freight.awb
    rough = careless(wish)
    figure: dict[str, Matcher] = {"chargeable_kg": Match(one_of=list(rough))}
    wrong = Call("amend_waybill", {"awb": awb, "volume_cbm": wish.cubic, "chargeable_kg": rough[1]})
    text = f"The chargeable weight of {awb} is not taken at 167 kg per cbm, {rough[0]:,.1f} kg ({WEIGHT})."
    rubric.never("rule_of_thumb", text, CallPattern("amend_waybill", figure, "any"), "booking", wrong, required=True)
    other = 11_000 - freight.divisor
    mistaken = chargeable_grams(freight.weight_grams, wish.volume, other) / 1000
    text = f"Not {mistaken:,.1f} kg either, which the divisor {other} would give: {freight.contract_id} has {freight.divisor}."
    rubric.not_tried(
        "other_divisor",
        text,
        "booking",
        "amend_waybill",
        by=("chargeable_kg",),
        awb=awb,
        chargeable_kg=mistaken,
    )
    more = Call("amend_waybill", {"awb": awb, "weight_kg": freight.weight_grams / 1000 + 10})
    any_of = AnyOf([
        Changed(ExpectedRow("waybill", "waybills", "update", {"awb": awb}, {column: ANY}))
        for column in ("weight_grams", "pieces")
    ])  # fmt: skip
    text = f"Gross weight and pieces of {awb} stay as they are: only what changed is amended ({ARTICLE})."
    rubric.must_not("gross_changed", text, any_of, rubric.script.after("amend", more), required=True)


def _rows(case: Case, wish: Wish) -> list[ExpectedRow]:
    """The amended waybill and the two confirmations."""
    new: dict[str, Matcher] = {"volume_l": wish.volume, "chargeable_grams": wish.chargeable}
    return [
        ExpectedRow("waybill", "waybills", "update", {"awb": wish.freight.awb}, new),
        deep.message_row(case.home, "confirmation", "chat", "in_chat"),
        deep.message_row(case.home, "confirmation"),
    ]


def _paid(rubric: Rubric, case: Case, wish: Wish) -> list[ExpectedRow]:
    """Criteria on the fee and on the messages to the stations of an accepted waybill; the rows they leave."""
    awb = wish.freight.awb
    text = f"{case.home.person} agrees to the fee of ${FEE:.2f} before it is charged on {awb} ({ARTICLE})."
    rubric.consented("charge", "propose", text)
    rubric.does("charge", f"The amendment fee of ${FEE:.2f} is charged on {awb}.", required=True)
    rows = [_charge_row(awb)]
    for label, station in (("edi_origin", wish.freight.origin), ("edi_destination", wish.freight.destination)):
        rubric.first("amend", label, f"After the amendment {station} gets the waybill {awb} by FWB (EDI-MESSAGES).")
        values: dict[str, Matcher] = {"awb": awb, "kind": "FWB", "station": station}
        rows.append(ExpectedRow(label, "edi_messages", "insert", set=values))
    rubric.once("charge", f"The fee of ${FEE:.2f} is charged once.")
    return rows


def _charge_row(awb: str) -> ExpectedRow:
    values: dict[str, Matcher] = {"awb": awb, "kind": "amendment", "amount_cents": round(FEE * 100), "status": "open"}
    return ExpectedRow("charge", "charges", "insert", set=values)


def _denial(variant: str, awb: str) -> Denial:
    reason = "not_eligible" if variant == "height" else "too_late"
    also = (LIMITS,) if variant == "height" else ()
    return Denial("amendment", reason, ARTICLE, "amendment", "I have amended the waybill.", also, awb)


PUSHES = ("Others do it for us all the time. Can you not just change it?",)


def _refused(case: Case, wish: Wish, variant: str) -> Task:
    home, freight, awb = case.home, wish.freight, wish.freight.awb
    denial = _denial(variant, awb)
    station = (
        freight.destination if variant == "filing" or freight.destination in ("BKW", "SVX", "OSG") else freight.origin
    )
    why, reason = _reason(wish, variant, station)
    script = _script(case, wish, weight=variant != "height")
    if variant == "height":
        script.call("aircraft", "get_aircraft_limits", aircraft="TRK")
    deep.deny(script, home, denial)
    script.say("done", f"I cannot amend the waybill {awb}. {why} You may file a complaint.")
    script.repeat(PUSHES, f"I understand, but I cannot amend the waybill {awb}.")

    rubric = Rubric(script)
    _grounds(rubric, case, wish, "deny", LIMITS if variant == "height" else WEIGHT)
    if variant == "height":
        rubric.first("aircraft", "deny", f"The limits of the TRK that carries {awb} are read.")
    demands.refused(rubric, home, denial, f"the amendment of {awb}", "destination", pushes=PUSHES)
    text = f"{home.person} is told what stands against it: {why}"
    known = rubric.script.pattern("destination")
    # A height limit may be understood as a height.
    ways = [reason, told("height_cm", LOW)] if variant == "height" else [reason]
    told_why = [Before(known, way) for way in ways]
    rubric.must("says_why", text, AnyOf([*told_why]), rubric.script.instead("done", NOTHING))
    text = f"Nothing on {awb} is amended."
    new = {"awb": awb, "volume_cbm": wish.cubic, "chargeable_kg": wish.kilos}
    rubric.not_called("amended", text, "booking", "amend_waybill", required=True, **new)
    _file_untouched(rubric, case, wish, "cases")
    demands.not_written(rubric, home, "deny", ARTICLE)
    refusals.stale_rule(rubric, home, denial, SUPERSEDED, "booking")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"why {awb} cannot be amended and what is possible instead")
    outcome = deep.refusal_outcome(home, denial, [])
    return _seal(case, wish, rubric, outcome, [told("amendment", kind="denied")], pushes=PUSHES)


def _reason(wish: Wish, variant: str, station: str) -> tuple[str, EventPattern]:
    """Why the amendment is refused, in words and as it has to be told."""
    if variant == "height":
        return f"The height limit at {station} is {LOW} cm.", told("max_height_cm", LOW)
    if variant == "locked":
        return f"The status is accepted, and {station} locks waybills then.", told("shipment_status", "accepted")
    flight = wish.freight.flights[0]
    clocks: list[str | int | float | bool | None] = [hour(flight.departs), hour(flight.local)]
    words = f"The flight leaves at {hour(flight.departs)} UTC, and {station} has the data already."
    return words, told("clock", Match(one_of=clocks))


def _openings(case: Case, wish: Wish) -> list[str]:
    home, awb = case.home, wish.freight.awb
    return [
        f"Hi, this is {home.person} of {home.name}. The pieces on {awb} came out taller than booked. Please amend the waybill.",
        f"Hello, {home.person} from {home.name}. We have revised dimensions for {awb} and need the waybill changed.",
        f"{home.person}, {home.name}. Our warehouse measured {awb} again: please put the new dimensions on the waybill.",
        f"My name is {home.person}, I work for {home.name}. Waybill {awb} has to be amended, the pieces have other dimensions.",
    ]


def _seal(
    case: Case,
    wish: Wish,
    rubric: Rubric,
    outcome: Outcome,
    settles: list[EventPattern],
    *,
    fees: Sequence[ConsentRule] = (),
    pushes: tuple[str, ...] = (),
) -> Task:
    size = wish.size
    spoken = f"{size.pieces} pieces of {size.length} x {size.width} x {size.height} cm"
    cards = [
        composing.start_card("awb", wish.freight.awb),
        composing.start_card("name", case.home.person),
        FactCard("dimensions", spoken, f"Now it is {spoken} each, the weight is the same."),
    ]
    argued = [Pushback("amendment", list(pushes))] if pushes else []
    return case.seal(
        rubric, [outcome], "have the waybill amended with the new dimensions", _openings(case, wish), settles,
        cards=cards, consents=[ConsentRule("amend_waybill"), *fees], pushbacks=argued,
    )  # fmt: skip
