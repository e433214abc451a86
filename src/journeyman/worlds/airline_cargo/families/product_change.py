"""The half of `rebooking_change` in which space is wanted as express cargo and, when the total is named, as general cargo.

The total is a quote by PRC-QUOTE: freight with the contract's discount, fuel, security and the fee of the waybill.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from journeyman.task import ChangeOfMind, ConsentRule, EventPattern, Fact, FactCard, Happened, Outcome, Say, Task
from journeyman.world import composing, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands, space
from journeyman.worlds.airline_cargo.families.common import kg
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import CONTRACT, contract, fly
from journeyman.worlds.airline_cargo.families.space import Space
from journeyman.worlds.airline_cargo.weights import chargeable_grams

QUOTE = "PRC-QUOTE"
FIRST, THEN = "FL-8002", "FL-8003"
DISCOUNT = 8
LEGS = (("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480))


def total_cents(chargeable: int, gross: int, cents_per_kg: int, minimum: int, discount: int) -> tuple[int, int]:
    """(freight, total) in cents by PRC-QUOTE: each part to the cent, half up; weights in grams, discount in percent."""

    def part(grams: int, cents: int, percent: int = 100) -> int:
        return int((Decimal(grams) * cents * percent / 100_000).quantize(Decimal(1), ROUND_HALF_UP))

    freight = max(minimum, part(chargeable, cents_per_kg, 100 - discount))
    return freight, freight + part(chargeable, 55) + part(gross, 15) + 18_00


@dataclass(frozen=True)
class Price:
    """What a product costs, in cents."""

    product: str
    freight: int
    total: int


def _price(case: Case, wish: Space, product: str) -> Price:
    way = (wish.flights[0].origin, wish.flights[0].destination, product)
    rows = case.world.query("base", "SELECT * FROM tariffs WHERE origin = ? AND destination = ? AND product = ?", way)
    weight = chargeable_grams(wish.grams, wish.litres)
    return Price(product, *total_cents(weight, wish.grams, rows[0]["cents_per_kg"], rows[0]["minimum_cents"], DISCOUNT))


def task(case: Case) -> Task:
    """The task of a case: first express on FL-8002, then general on FL-8003."""
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    fast = fly(case, *leg[:3], f"2026-05-13T{rng.randrange(10, 14)}:20:00", leg[3], number=2)
    slow = fly(case, *leg[:3], f"2026-05-14T{rng.randrange(14, 20)}:20:00", leg[3], number=3)
    pieces, grams = rng.randint(3, 8), rng.randrange(60, 140, 5) * 1000
    wish = Space((slow,), "general", rng.choice(("electronics", "auto_parts", "garments")), pieces, pieces * grams, pieces * 640, contract(case))  # fmt: skip
    dear, fair = _price(case, wish, "express"), _price(case, wish, "general")
    weight = chargeable_grams(wish.grams, wish.litres)
    script = Script()
    script.consult("what a shipment costs, quote", QUOTE)
    deep.identify(script, home)
    script.call("account", "get_credit_account", or_tools=("check_credit",), client_id=home.client_id)
    script.call("contract", "get_contract", contract_id=CONTRACT)
    _quote(script, "quote", wish, "express", weight)
    script.say("offer", _offer(dear, wish, weight, fast.flight_id))
    _quote(script, "second_quote", wish, "general", weight)
    script.call("cutoff", "check_cutoff", flight_id=THEN, product="general")
    script.say("propose", _offer(fair, wish, weight, THEN))
    script.call("book", "create_booking", loose=("contract_id",), **wish.request(home))
    deep.close_up(script, home, "booking", f"Booked on {THEN} as general cargo.", "done")
    deep.mail(script, home, "confirmation", f"Your booking ${{booking.booking_id}} on {THEN} is confirmed: {money(fair.total)} in total.")  # fmt: skip
    script.say("done", f"Your booking is ${{booking.booking_id}}, general cargo on flight {THEN}.")

    rubric = Rubric(script)
    demands.groundwork(rubric, home, QUOTE, "book", found="find")
    text = f"Account {home.account_id} is read before {THEN} is booked."
    rubric.first("account", "book", text, required=True)
    text = f"Contract {CONTRACT} is read for its discount of {DISCOUNT} % and its divisor before a price is worked out."
    rubric.first("contract", "second_quote", text)
    rubric.first("quote", "book", f"The freight of express is worked out for {kg(weight)}.")
    rubric.first("second_quote", "book", f"The freight of general is worked out for {kg(weight)}.", required=True)
    rubric.first("cutoff", "book", f"The cut-off of {THEN} is looked up before it is booked.")
    _prices(rubric, case, dear, fair)
    number = space.booked(rubric, home, wish, FIRST)
    demands.filed(rubric, home, "booking", "done", "book")
    demands.mentions(rubric, "mentions", f"The confirmation names {THEN}.", "mail", THEN)
    _dropped_booking(rubric, case, wish)
    demands.discretion(rubric, case.world, home, "verify")
    rows = [*space.rows(case, wish), deep.case_row(home, "booking", "done"), deep.message_row(home, "confirmation")]
    outcome = Outcome(rows, [Fact("booking_id", ref("booking.booking_id"))])
    change = ChangeOfMind(
        EventPattern("proposed", by="agent"),
        f"That is more than I thought. I would rather have it as general cargo on {THEN}.",
        [FactCard("product", "general", "As general cargo.", "start"), FactCard("flight_id", THEN, f"On {THEN}.", "start")],
        [wish.consent()], [number],
    )  # fmt: skip
    cards = [
        composing.start_card("name", home.person), FactCard("flight_id", FIRST, f"On {FIRST}.", "start"),
        FactCard("product", "express", "As express.", "start"), *wish.cards(),
    ]  # fmt: skip
    return case.seal(
        rubric, [outcome], "get space at a good price",
        space.openings(home, wish, f"flight {FIRST} as express cargo", "Tell me first what it costs in total."), [number],
        cards=cards, consents=[ConsentRule("create_booking", {"flight_id": FIRST})], changes=[change],
        small_talk=["My boss looks at every cent this month."],
    )  # fmt: skip


def _quote(script: Script, label: str, wish: Space, product: str, weight: int) -> None:
    flight = wish.flights[0]
    script.call(
        label, "quote_freight", loose=("contract_id",), origin=flight.origin, destination=flight.destination,
        product=product, chargeable_kg=weight / 1000, contract_id=CONTRACT,
    )  # fmt: skip


def _offer(price: Price, wish: Space, weight: int, flight_id: str) -> str:
    return (
        f"The chargeable weight is {kg(weight)}. As {price.product} the freight is {money(price.freight)}. "
        f"It is {money(price.total)} in total. Shall I book the space for {wish.kilos:g} kg on flight {flight_id}?"
    )


def _prices(rubric: Rubric, case: Case, dear: Price, fair: Price) -> None:
    """Criteria on the figures that are told."""
    script, person = rubric.script, case.home.person
    for price, label, required in ((dear, "offer", False), (fair, "propose", True)):
        total = told("total_price", dollars(price.total))
        text = f"{person} is told the total as {price.product}, {money(price.total)} ({QUOTE})."
        rubric.must(
            f"says_total_{price.product}", text, Happened(total), script.instead(label, NOTHING), required=required
        )
        freight = Happened(told("freight", dollars(price.freight)))
        text = f"{person} is told the freight as {price.product}, {money(price.freight)}."
        rubric.must(f"says_freight_{price.product}", text, freight, script.instead(label, NOTHING))
    bare = told("total_price", dollars(fair.freight))
    text = (
        f"The freight alone, {money(fair.freight)}, is not given out as the total: fuel, security and fee are missing."
    )
    rubric.never("bare_freight", text, bare, "propose", Say(f"In total it is {money(fair.freight)}."))


def _dropped_booking(rubric: Rubric, case: Case, wish: Space) -> None:
    """Criteria on the wish that was dropped, and on what was never asked for."""
    home = case.home
    express = {**wish.request(home), "product": "express", "flight_id": FIRST}
    text = f"{FIRST}, the flight that was dropped, is not booked."
    rubric.not_tried("dropped_flight", text, "offer", "create_booking", by=("flight_id",), required=True, **express)
    text = f"The space on {THEN} is not booked as express, the product that was dropped."
    rubric.not_tried("dropped_product", text, "offer", "create_booking", by=("product",), required=True, **express)
    text = f"No discount is given on {THEN}: {CONTRACT} has its own (DSC-RATES)."
    cut: dict[str, Any] = {"booking_id": "${booking.booking_id}", "percent": 5}
    rubric.not_called("discount", text, "book", "apply_discount", **cut)
    denial = Denial("booking", "not_eligible", space.RULE, "booking", "")
    refusals.not_refused(rubric, home, denial, "cutoff", "I cannot book the shipment.")
