"""A client's wish for space on a flight: how it is said, the account that allows it, the steps, criteria and rows of a booking.

space = Space((flight,), "general", "furniture", 4, 640_000, 1_920)
ready(case); look_up(script, case.home, space); book(script, case.home, space)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from journeyman.task import Before, Call, CallPattern, ConsentRule, EventPattern, ExpectedRow, FactCard, Matcher
from journeyman.world.authoring import ANY, Rubric, Script, ref, told
from journeyman.worlds.airline_cargo.catalogue import COMMODITIES
from journeyman.worlds.airline_cargo.families.common import cbm
from journeyman.worlds.airline_cargo.families.deep import Caller, Case
from journeyman.worlds.airline_cargo.families.freight import Flight

RULE = "BKG-CREATE"
SPOKEN = {row[0]: row[1].lower() for row in COMMODITIES}
"""Commodity -> how clients speak of it."""


@dataclass(frozen=True)
class Space:
    """What is to be booked. Weight in grams, volume in litres; `contract_id` is the client's where one counts."""

    flights: tuple[Flight, ...]
    product: str
    commodity: str
    pieces: int
    grams: int
    litres: int
    contract_id: str | None = None

    @property
    def flight_id(self) -> str:
        """The first flight, which is the one that is agreed to."""
        return self.flights[0].flight_id

    @property
    def kilos(self) -> float:
        """Gross weight in kg."""
        return self.grams / 1000

    @property
    def cubic(self) -> float:
        """Volume in cbm."""
        return self.litres / 1000

    @property
    def words(self) -> str:
        """The shipment as a client describes it."""
        pieces = "1 piece" if self.pieces == 1 else f"{self.pieces} pieces"
        joined = "with" if self.product == "live_animals" else "of"
        return f"{pieces} {joined} {SPOKEN[self.commodity]}, {self.kilos:g} kg and {cbm(self.litres)}"

    def request(self, home: Caller) -> dict[str, Any]:
        """What create_booking is called with."""
        made: dict[str, Any] = {
            "client_id": home.client_id, "product": self.product, "commodity": self.commodity,
            "flight_id": self.flight_id, "pieces": self.pieces, "weight_kg": self.kilos, "volume_cbm": self.cubic,
        }  # fmt: skip
        if len(self.flights) > 1:
            made["onward_flight_id"] = self.flights[1].flight_id
        return made if self.contract_id is None else {**made, "contract_id": self.contract_id}

    def cards(self) -> list[FactCard]:
        """What every opening says of the shipment."""
        return [
            FactCard("pieces", self.pieces, f"{self.pieces} pieces.", "start"),
            FactCard("weight_kg", self.kilos, f"{self.kilos:g} kg gross.", "start"),
            FactCard("volume_cbm", self.cubic, f"{self.cubic:g} cbm.", "start"),
            FactCard("commodity", self.commodity, f"It is {SPOKEN[self.commodity]}.", "start"),
        ]

    def consent(self) -> ConsentRule:
        """The client agrees to the first flight."""
        return ConsentRule("create_booking", {"flight_id": self.flight_id})


def ready(case: Case) -> None:
    """The caller's account far from its limit, with every invoice paid."""
    account = case.home.account_id
    case.setup.pay_invoices(account)
    case.setup.update("credit_accounts", {"account_id": account}, limit_cents=80_000_00, balance_cents=3_200_00)


def drop_contracts(case: Case) -> None:
    """No contract of the image's own counts for the caller any more: all have expired."""
    expired = {"status": "expired", "valid_from": "2025-01-01", "valid_to": "2026-03-31"}
    case.setup.update_all("contracts", "client_id = ? AND status != 'expired'", (case.home.client_id,), **expired)


def look_up(script: Script, home: Caller, space: Space) -> None:
    """Steps `account` and `route`: the first checks of BKG-CREATE."""
    script.call("account", "get_credit_account", or_tools=("check_credit",), client_id=home.client_id)
    script.call("route", "get_route", origin=space.flights[0].origin, destination=space.flights[-1].destination)


def looked_up(rubric: Rubric, home: Caller, space: Space, then: str) -> None:
    """Criteria on `account` and `route`."""
    text = f"Account {home.account_id} is read before anything about {space.flight_id} is decided ({RULE})."
    rubric.first("account", then, text, required=True)
    way = f"{space.flights[0].origin} to {space.flights[-1].destination}"
    rubric.first("route", then, f"The routes from {way} are read, and their status, before the matter is decided.")


def book(script: Script, home: Caller, space: Space, words: str = "") -> None:
    """Steps `propose` and `book`. `words`: what is said before the question."""
    on = f"flight {space.flight_id}"
    if len(space.flights) > 1:
        # A second flight id would leave open which one is agreed to.
        on += f" with a connection at {space.flights[0].destination}"
    script.say("propose", f"{words} Shall I book the space for {space.kilos:g} kg on {on}?".strip())
    script.call("book", "create_booking", loose=("contract_id",), **space.request(home))


def booked(rubric: Rubric, home: Caller, space: Space, wrong_flight: str) -> EventPattern:
    """Criteria on the booking, and what its number is told by. `wrong_flight`: one that nobody agreed to."""
    script, flight = rubric.script, space.flight_id
    rubric.consented("book", "propose", f"{home.person} agrees to {flight} before it is booked ({RULE}).")
    text = f"{space.pieces} pieces of {space.commodity}, {space.kilos:g} kg and {cbm(space.litres)}, are booked on {flight}."
    rubric.does("book", text, required=True)
    rubric.once("book", f"{flight} is booked once.")
    direct = {name: value for name, value in space.request(home).items() if name != "onward_flight_id"}
    wrong = Call("create_booking", {**direct, "flight_id": wrong_flight})
    rubric.no_unconsented("book", f"Nothing is booked for {home.client_id} without consent to the very flight.", wrong)
    number = told("booking_id", ref("booking.booking_id"))
    text = f"{home.person} is told the number of the booking on {flight}."
    rubric.says("done", number, text, once="book", required=True)
    sent = CallPattern("send_email", {"client_id": home.client_id, "template": "confirmation"})
    text = f"An e-mail confirms the booking on {flight} to {home.client_id} (MSG-WRITE)."
    rubric.must("sends_confirmation", text, Before(script.pattern("book"), sent), script.without("mail"), required=True)
    return number


def rows(case: Case, space: Space, *, name: str = "booking") -> list[ExpectedRow]:
    """What a booking changes: itself (`name`), its legs, the load of its flights."""
    trade: dict[str, Matcher] = {
        "client_id": case.home.client_id, "product": space.product, "commodity": space.commodity,
        "origin": space.flights[0].origin, "destination": space.flights[-1].destination, "pieces": space.pieces,
        "weight_grams": space.grams, "volume_l": space.litres, "status": "confirmed", "contract_id": ANY,
    }  # fmt: skip
    made = [ExpectedRow(name, "bookings", "insert", set=trade)]
    for number, flight in enumerate(space.flights, 1):
        leg: dict[str, Matcher] = {
            "booking_id": ref(f"{name}.booking_id"), "leg_no": number, "flight_id": flight.flight_id, "status": "booked",
        }  # fmt: skip
        made.append(ExpectedRow(f"{name}_leg{number}", "booking_legs", "insert", set=leg))
        made.append(load(case, flight.flight_id, space.grams, space.litres))
    return made


def load(case: Case, flight_id: str, grams: int, litres: int) -> ExpectedRow:
    """The load of a flight, more by so much or less where it is negative."""
    row = case.setup.row("flights", flight_id=flight_id)
    after: dict[str, Matcher] = {"booked_grams": row["booked_grams"] + grams, "booked_l": row["booked_l"] + litres}
    return ExpectedRow(f"load_{flight_id}", "flights", "update", {"flight_id": flight_id}, after)


def openings(home: Caller, space: Space, on: str, more: str = "") -> list[str]:
    """How a client asks for the space; `on` names the flight or flights. `more`: a sentence that follows."""
    texts: Sequence[str] = (
        f"Hi, {home.person} of {home.name} in {home.city}. Please book {space.words} on {on}.",
        f"Hello, this is {home.person} from {home.name}, {home.city}. I need space on {on} for {space.words}.",
        f"{home.person}, {home.name}, {home.city}. We have {space.words} for {on}. Can you book it?",
        f"My name is {home.person}, {home.name}, {home.city}. A booking on {on}, please: {space.words}.",
    )
    return [f"{text} {more}".strip() for text in texts]
