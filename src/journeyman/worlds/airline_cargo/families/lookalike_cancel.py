"""Level 4: a booking is to be cancelled, which has no way back, and another of the same client looks just like it.

By seed the number that the client gives is right; or its check digit is wrong; or it is that of the other shipment, which
does not fit what the client says of it. A wrong number is asked for again, never guessed. The fee follows the hours that
are left, the contract and the freight; it is told and agreed to before anything is cancelled.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    AllOf,
    Before,
    Call,
    CallPattern,
    ConsentRule,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World, composing
from journeyman.world.authoring import NOTHING, Rubric, Script, dollars, money, told
from journeyman.worlds.airline_cargo.families import deep, demands, pair, space
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import (
    BOOKING,
    CONTRACT,
    FREIGHT,
    Freight,
    Line,
    contract,
    fly,
    ship,
)

NAME = "lookalike_cancel"
ARTICLE, NUMBERS, SUPERSEDED = "CAN-FEES", "CLT-LOOKALIKE", "CAN-FEES-2024"
VARIANTS = ("twin", "mistyped", "contract", "mismatch")
TWIN = pair.SECOND
LEGS = (("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405), ("NHW", "HVP", "B77F", 480))
# Variant -> the day and hour of departure, UTC, and the percent of the freight that cancelling costs.
DEPARTS = {
    "twin": ("2026-05-14T10:40:00", 0), "mistyped": ("2026-05-12T20:40:00", 25),
    "contract": ("2026-05-12T20:40:00", 0), "mismatch": ("2026-05-12T05:40:00", 50),
}  # fmt: skip
LEAST = 75_00


def fee_cents(freight: int, percent: int) -> int:
    """The fee of cancelling: that percent of the freight, to the cent, half up, and at least the minimum where one is due."""
    return max(LEAST, (freight * percent + 50) // 100) if percent else 0


@dataclass(frozen=True)
class Pair:
    """The shipment to cancel and its look-alike; `said` is the number that the client gives first. Money in
    cents; `exact` are the hours that are left to the departure."""

    freight: Freight
    twin: str
    said: str
    price: int
    fee: int
    exact: float

    @property
    def hours(self) -> int:
        """Full hours that are left to the departure."""
        return int(self.exact)

    @property
    def awb(self) -> str:
        """The number of the shipment to cancel."""
        return self.freight.awb

    @property
    def asks(self) -> bool:
        """Whether the number has to be asked for again."""
        return self.said != self.freight.awb


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split)
    return _task(case, _records(case, VARIANTS[seed % len(VARIANTS)]))


def _records(case: Case, variant: str) -> Pair:
    """Two shipments of one client and one way, a day apart, whose numbers differ in the order of two digits."""
    rng, (departs, percent) = case.rng, DEPARTS[variant]
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], departs, leg[3])
    after = (datetime.datetime.fromisoformat(departs) + datetime.timedelta(days=1)).isoformat()
    later = fly(case, *leg[:3], after, leg[3], number=2)
    agreed = contract(case, free_cancel_hours=24 if variant == "contract" else None)
    commodity, pieces = rng.choice(("furniture", "machinery", "auto_parts")), rng.randint(3, 8)
    price = rng.randrange(900_00, 2_400_00, 5) + 1
    line = Line(pieces, 120, 90, 100, rng.randrange(80, 150, 5) * 1000)
    freight = ship(case, [flight], [line], commodity=commodity, contract_id=agreed, freight_cents=price)
    twin = pair.second(case, freight, later, Line(pieces + rng.randint(1, 3), 120, 90, 100, line.grams))
    left = datetime.datetime.fromisoformat(departs) - datetime.datetime.fromisoformat(
        f"{DAY}T09:{case.seed % 60:02d}:00"
    )
    said = {"mistyped": _mistyped(freight.awb), "mismatch": twin}.get(variant, freight.awb)
    return Pair(freight, twin, said, price, fee_cents(price, percent), left.total_seconds() / 3600)


def _mistyped(awb: str) -> str:
    """The number with its last digit but one wrong, so that the check digit does not fit."""
    wrong = (int(awb[-2]) + 1) % 10
    return f"{awb[:-2]}{wrong}{awb[-1]}"


def _script(case: Case, both: Pair) -> Script:
    home, awb, script = case.home, both.awb, Script()
    script.consult("cancel a booking, cancellation fee", ARTICLE)
    if both.asks:
        script.call("numbers", "get_policy_article", article_id=NUMBERS)
        script.call(
            "try", "get_waybill", or_tools=("find_waybill", "find_booking", "get_shipment_status"), awb=both.said
        )
        script.say("ask_number", "That number does not fit. Could you please give me the waybill number once more?")
    deep.identify(script, home, awb)
    script.call("bookings", "list_bookings", or_tools=("list_waybills",), loose=("status",), client_id=home.client_id)
    script.call("booking", "get_booking", booking_id=BOOKING)
    script.call("contract", "get_contract", contract_id=CONTRACT)
    left = f"There are {both.hours} hours left before departure."
    due = f"The cancellation fee is {money(both.fee)}." if both.fee else "That is free of charge."
    if both.fee:
        script.call("charges", "list_charges", awb=awb)
    asked = f"Shall I cancel the booking {BOOKING}" + (
        f" and charge the fee of {money(both.fee)}?" if both.fee else "?"
    )
    script.say("propose", f"The waybill {awb} would become void by it. {left} {due} {asked}")
    script.call("cancel", "cancel_booking", booking_id=BOOKING)
    if both.fee:
        script.call("charge", "add_charge", awb=awb, kind="cancellation", amount=dollars(both.fee))
    deep.close_up(script, home, "booking", f"Booking {BOOKING} of {awb} cancelled.", "done", awb)
    fee = f" The cancellation fee is {money(both.fee)}." if both.fee else " It is free of charge."
    deep.mail(script, home, "confirmation", f"Booking {BOOKING} of waybill {awb} is cancelled.{fee}")
    script.say("done", f"It is done. The waybill {awb} is now void." + (fee if both.fee else ""))
    return script


def _task(case: Case, both: Pair) -> Task:
    home, awb = case.home, both.awb
    script = _script(case, both)
    rubric = Rubric(script)
    demands.groundwork(rubric, home, ARTICLE, "cancel")
    _number(rubric, case, both)
    text = f"The bookings of {home.client_id} are listed: {BOOKING} has a look-alike, {TWIN}."
    rubric.does("bookings", text)
    text = f"Booking {BOOKING} is read for its departure before anything is cancelled."
    rubric.first("booking", "cancel", text, required=True)
    rubric.first(
        "contract",
        "cancel",
        f"Contract {CONTRACT} is read for its free hours before {BOOKING} is cancelled.",
        required=True,
    )
    rubric.consented("cancel", "propose", f"{home.person} agrees to the end of {BOOKING}, by its number, before it.")
    rubric.does("cancel", f"Booking {BOOKING} of {awb} is cancelled.", required=True)
    if both.fee:
        _fee(rubric, case, both)
    else:
        text = f"No fee is charged on {awb}: {both.hours} hours are left, which is free here ({ARTICLE})."
        quarter = dollars(fee_cents(both.price, 25))
        rubric.not_called(
            "fee", text, "contract", "add_charge", required=True, awb=awb, kind="cancellation", amount=quarter
        )
    void = told("shipment_status", "void")
    text = f"{home.person} is told that {awb} becomes void by it ({ARTICLE})."
    rubric.must("says_void", text, Happened(void), script.instead("done", NOTHING))
    hours = told("hours_left", Match(one_of=[both.hours, both.hours + 1, round(both.exact, 1), round(both.exact, 2)]))
    text = f"{home.person} is told how many hours are left to the departure of {awb}, {both.hours} ({ARTICLE})."
    rubric.must("says_hours", text, Happened(hours), script.without("propose"))
    demands.filed(rubric, home, "booking", "done", "cancel")
    demands.written(rubric, home, "confirmation", "cancel", awb)
    _bounds(rubric, case, both)
    rows = [*_rows(case, both), deep.case_row(home, "booking", "done", awb), deep.message_row(home, "confirmation")]
    consents = [ConsentRule("cancel_booking", {"booking_id": BOOKING})]
    facts = [Fact("shipment_status", "void")]
    if both.fee:
        consents.append(ConsentRule("add_charge", {"amount": dollars(both.fee)}))
        facts.append(Fact("fee", dollars(both.fee)))
    settles = [told(fact.slot, fact.value) for fact in facts]
    number = FactCard("awb", awb, f"The number is {awb}.", "asked" if both.asks else "start")
    return case.seal(
        rubric, [Outcome(rows, facts)], "have the right booking cancelled", _openings(case, both), settles,
        cards=[number, composing.start_card("name", home.person), FactCard("pieces", both.freight.pieces, f"{both.freight.pieces} pieces.", "start")],
        consents=consents, small_talk=["The buyer has backed out, you see."],
    )  # fmt: skip


def _number(rubric: Rubric, case: Case, both: Pair) -> None:
    """Criteria on the number that does not fit: looked up, asked for again, not guessed."""
    if not both.asks:
        return
    script, person = rubric.script, case.home.person
    rubric.does("numbers", f"Article {NUMBERS} is read: a number that does not fit is not corrected by guess.")
    tools = ["get_waybill", "find_waybill", "find_booking", "get_shipment_status"]
    tried = Happened(CallPattern(tools, {"awb": both.said}, "any"))
    rubric.must("looks_up_said", f"The number that was given, {both.said}, is looked up.", tried, script.without("try"))
    asked = Before(told("awb", kind="asked"), CallPattern("cancel_booking", status="any"))
    text = f"{person} is asked for the number again before anything is cancelled: {both.said} does not fit ({NUMBERS})."
    rubric.must("asks_number", text, asked, script.instead("ask_number", NOTHING), required=True)


def _fee(rubric: Rubric, case: Case, both: Pair) -> None:
    """Criteria on the fee."""
    person, awb, script, fee = case.home.person, both.awb, rubric.script, money(both.fee)
    text = f"The charges of {awb} are read: the fee is worked out from {FREIGHT}, {money(both.price)}."
    rubric.first("charges", "cancel", text, required=True)
    fact = told("fee", dollars(both.fee))
    first, then = Before(script.pattern("charges"), fact), Before(fact, CallPattern("cancel_booking", status="any"))
    before = AllOf([first, then])
    text = f"{person} hears the fee, {fee}, when it is known and before {BOOKING} is cancelled ({ARTICLE})."
    rubric.must("says_fee_first", text, before, script.without("propose"), required=True)
    rubric.consented("charge", "propose", f"{person} agrees to the fee of {fee} on {awb} before it is charged.")
    rubric.does("charge", f"The fee of {fee} is charged on {awb}.", required=True)
    rubric.first(
        "cancel", "charge", f"{fee} is charged on {awb} when it is cancelled, not before ({ARTICLE}).", required=True
    )
    rubric.once("charge", f"The fee of {fee} is charged once.")
    old = dollars(both.price // 10)
    text = f"Not 10 % of the freight, ${old:,.2f}, is charged, as {SUPERSEDED} had it."
    rubric.not_tried("old_fee", text, "charges", "add_charge", by=("amount",), awb=awb, kind="cancellation", amount=old)  # fmt: skip
    figures = [f"{dollars(both.fee):,.2f}", f"{dollars(both.fee):.2f}"]
    demands.mentions(rubric, "mentions_fee", f"The confirmation names the fee, {fee} (MSG-WRITE).", "mail", *figures)


def _bounds(rubric: Rubric, case: Case, both: Pair) -> None:
    """What must not happen: to the look-alike, or twice, or in another way."""
    home, awb = case.home, both.awb
    wrong = Call("cancel_booking", {"booking_id": TWIN})
    text = f"Nothing is cancelled without consent to the booking by its number, {BOOKING}."
    rubric.no_unconsented("cancel", text, wrong)
    text = f"{TWIN} of {both.twin}, the look-alike of {awb}, is not cancelled."
    rubric.not_tried("twin", text, "booking", "cancel_booking", required=True, booking_id=TWIN)
    text = f"Neither {awb} nor {both.twin} is voided on its own: the space would stay booked."
    rubric.not_called("voided", text, "booking", "void_waybill", required=True, awb=both.twin)
    moved: dict[str, Any] = {"booking_id": TWIN, "leg_no": 1, "flight_id": "FL-8001"}
    text = f"{TWIN} is not moved into the place of {BOOKING}."
    rubric.not_called("moved", text, "booking", "rebook_leg", **moved)
    denial = Denial("cancellation_fee", "not_eligible", ARTICLE, "cancellation", "", (), awb)
    call = Call("document_denial", denial.arguments(home))
    text = f"No refusal is documented for {home.client_id}: nobody asked for a waiver."
    rubric.never("denied", text, CallPattern("document_denial"), "booking", call)
    demands.discretion(rubric, case.world, home, "verify")


def _rows(case: Case, both: Pair) -> list[ExpectedRow]:
    """What a cancellation changes, with the fee."""
    freight = both.freight
    key = {"booking_id": BOOKING}
    rows = [
        ExpectedRow("booking", "bookings", "update", {**key}, {"status": "cancelled"}),
        ExpectedRow("leg", "booking_legs", "update", {**key, "leg_no": 1}, {"status": "cancelled"}),
        ExpectedRow("waybill", "waybills", "update", {"awb": both.awb}, {"status": "void"}),
        space.load(case, freight.flights[0].flight_id, -freight.weight_grams, -freight.volume_l),
    ]
    if both.fee:
        charge: dict[str, Matcher] = {
            "awb": both.awb,
            "kind": "cancellation",
            "amount_cents": both.fee,
            "status": "open",
        }
        rows.append(ExpectedRow("charge", "charges", "insert", set=charge))
    return rows


def _openings(case: Case, both: Pair) -> list[str]:
    home, said, count = case.home, both.said, both.freight.pieces
    return [
        f"Hi, this is {home.person} of {home.name}. Please cancel {said}, the {count} pieces that leave next.",
        f"Hello, {home.person} from {home.name}. We do not ship {said} after all. It is the {count} pieces. Cancel it, please.",
        f"{home.person}, {home.name}. The booking for {said}, {count} pieces, has to be cancelled.",
        f"My name is {home.person}, {home.name}. Take {said} off the flight for good, please: the shipment with {count} pieces.",
    ]
