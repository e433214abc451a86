"""Setup rows of a shipment made for one task: its number begins with 927-8, its flights, booking, contract and charges with 8001.

freight = ship(case, "HVP", "KHL", [fly(case, "HVP", "KHL", "B74F", "2026-05-12T20:00:00", 660)], pieces=6, ...)
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from journeyman.task import Scalar
from journeyman.worlds.airline_cargo.catalogue import CAPACITY, COMMODITIES, CONSIGNEE_STEMS, CONSIGNEE_TRADES
from journeyman.worlds.airline_cargo.families.deep import Case
from journeyman.worlds.airline_cargo.families.records import EVENTS
from journeyman.worlds.airline_cargo.secrets import hashed, release_pin_of, token_of
from journeyman.worlds.airline_cargo.shipments import checked
from journeyman.worlds.airline_cargo.timetable import OFFSETS
from journeyman.worlds.airline_cargo.weights import STANDARD_DIVISOR, chargeable_grams

BOOKING, CONTRACT, FREIGHT = "BK-8001", "CT-8001", "CH-8001"


@dataclass(frozen=True)
class Flight:
    """A flight made for the task. Times are ISO moments; `local` is the clock of the origin."""

    flight_id: str
    origin: str
    destination: str
    aircraft: str
    departs: str
    local: str
    arrives: str


@dataclass(frozen=True)
class Line:
    """Pieces of one size: centimetres, and grams of one piece."""

    pieces: int
    length: int
    width: int
    height: int
    grams: int

    @property
    def litres(self) -> int:
        """Volume of all pieces of the line, whole litres."""
        return self.pieces * self.length * self.width * self.height // 1000


@dataclass(frozen=True)
class Freight:
    """A waybill made for the task. Weights in grams, volume in litres; `divisor` is the contract's, or 6000."""

    awb: str
    origin: str
    destination: str
    flights: tuple[Flight, ...]
    contract_id: str | None
    divisor: int
    pieces: int
    weight_grams: int
    volume_l: int
    chargeable_grams: int


def moment(text: str, minutes: int) -> str:
    """An ISO moment some minutes later."""
    return (datetime.datetime.fromisoformat(text) + datetime.timedelta(minutes=minutes)).isoformat()


def hour(text: str) -> str:
    """The clock of an ISO moment, HH:MM."""
    return text[11:16]


def fly(
    case: Case,
    origin: str,
    destination: str,
    aircraft: str,
    departs: str,
    minutes: int,
    *,
    number: int = 1,
    free_grams: int | None = None,
    delay: int = 0,
    status: str = "",
) -> Flight:
    """Insert flight FL-800`number`.

    Args:
        departs: scheduled departure, UTC. minutes: time on the way.
        free_grams: what is left to sell; about half of the type's capacity if None.
        status: scheduled, or delayed where there is a `delay` in minutes, unless given.
    """
    made = Flight(
        f"FL-800{number}",
        origin,
        destination,
        aircraft,
        departs,
        moment(departs, OFFSETS[origin]),
        moment(departs, minutes),
    )
    tonnes, room = CAPACITY[aircraft]
    left = tonnes * 500 if free_grams is None else free_grams
    case.setup.insert(
        "flights", {"flight_id": made.flight_id}, number=f"MR80{number}", origin=origin, destination=destination,
        aircraft=aircraft, departs_local=made.local, departs_at=departs, arrives_at=made.arrives,
        capacity_grams=tonnes * 1000, booked_grams=tonnes * 1000 - left, capacity_l=room * 1000, booked_l=room * 400,
        status=status or ("delayed" if delay else "scheduled"), delay_minutes=delay,
    )  # fmt: skip
    return made


def contract(case: Case, *, divisor: int = STANDARD_DIVISOR, contract_id: str = CONTRACT, **terms: Scalar) -> str:
    """Insert an active contract of the caller's client, valid from 2026-02-01, later than any of the image; returns its id.

    `terms` override discount_percent (8), extra_free_days (0), free_cancel_hours (None), free_amendments (no) and the dates.
    """
    values: dict[str, Scalar] = {
        "status": "active", "discount_percent": 8, "extra_free_days": 0, "free_cancel_hours": None,
        "free_amendments": "no", "valid_from": "2026-02-01", "valid_to": "2027-01-31", **terms,
    }  # fmt: skip
    case.setup.insert(
        "contracts", {"contract_id": contract_id}, client_id=case.home.client_id, divisor=divisor,
        floor_price_note=token_of("floor", contract_id), **values,
    )  # fmt: skip
    return contract_id


def ship(
    case: Case,
    flights: Sequence[Flight],
    lines: Sequence[Line],
    *,
    commodity: str = "machinery",
    volume_l: int | None = None,
    status: str = "issued",
    divisor: int = STANDARD_DIVISOR,
    contract_id: str | None = None,
    freight_cents: int = 1_200_00,
    booked_at: str = "2026-05-07T10:20:00",
    day: str = "2026-05-10",
    **columns: Scalar,
) -> Freight:
    """Insert a waybill of the caller's client on `flights`, with booking, legs, pieces, tracking and an open freight charge.

    Args:
        volume_l: the volume on the waybill where it is not that of the pieces.
        divisor: of the contract; the chargeable weight on the waybill is worked out with it.
        day: of the last tracking event, and of arrival or delivery.
        columns: further columns of the waybill.
    """
    rng, home = case.rng, case.home
    product = next(row[2] for row in COMMODITIES if row[0] == commodity)
    awb = checked(rng.randrange(8_010_000, 8_990_000))
    origin, destination = flights[0].origin, flights[-1].destination
    pieces, weight = sum(one.pieces for one in lines), sum(one.pieces * one.grams for one in lines)
    volume = sum(one.litres for one in lines) if volume_l is None else volume_l
    chargeable = chargeable_grams(weight, volume, divisor, product)
    arrived = status in ("arrived", "delivered")
    shared: dict[str, Scalar] = {
        "client_id": home.client_id, "contract_id": contract_id, "product": product, "commodity": commodity,
        "origin": origin, "destination": destination, "pieces": pieces, "weight_grams": weight, "volume_l": volume,
    }  # fmt: skip
    _book(case, flights, status, shared, booked_at)
    consignee = f"{rng.choice(CONSIGNEE_STEMS)} {rng.choice(CONSIGNEE_TRADES)}"
    values: dict[str, Scalar] = {
        **shared, "booking_id": BOOKING, "kind": "direct", "shipper_name": home.name, "consignee_name": consignee,
        "notify_name": None, "goods": next(row[1] for row in COMMODITIES if row[0] == commodity), "temp_range": "none",
        "chargeable_grams": chargeable, "declared_value_cents": None, "status": status, "hold": "none",
        "issued_on": booked_at[:10], "arrived_on": day if arrived else None,
        "delivered_on": day if status == "delivered" else None, "released_to": consignee if status == "delivered" else None,
        "release_pin_hash": hashed(awb, release_pin_of(awb)), **columns,
    }  # fmt: skip
    case.setup.insert("waybills", {"awb": awb}, **values)
    for number, one in enumerate(lines, 1):
        case.setup.insert(
            "waybill_pieces", {"awb": awb, "line_no": number}, pieces=one.pieces, length_cm=one.length,
            width_cm=one.width, height_cm=one.height, piece_grams=one.grams,
        )  # fmt: skip
    case.setup.charge(FREIGHT, awb, "freight", freight_cents, booked_at[:10])
    track(case, awb, flights, status, pieces, day)
    return Freight(awb, origin, destination, tuple(flights), contract_id, divisor, pieces, weight, volume, chargeable)


def _book(case: Case, flights: Sequence[Flight], status: str, shared: dict[str, Scalar], booked_at: str) -> None:
    """Insert the booking of a waybill and its legs; `shared`: the columns that both tables have."""
    arrived = status in ("arrived", "delivered")
    case.setup.insert(
        "bookings", {"booking_id": BOOKING}, **shared, status="flown" if arrived else "confirmed", priority="standard",
        discount_percent=0, container_id=None, booked_at=booked_at,
    )  # fmt: skip
    for number, flight in enumerate(flights, 1):
        leg = "flown" if arrived or (status == "in_transit" and number == 1) else "booked"
        case.setup.insert(
            "booking_legs", {"booking_id": BOOKING, "leg_no": number}, flight_id=flight.flight_id, status=leg
        )


def track(case: Case, awb: str, flights: Sequence[Flight], status: str, pieces: int, day: str) -> None:
    """Insert the tracking events of a status, all on one day but for the booking's."""
    for number, code in enumerate(EVENTS[status], 1):
        there = code in ("ARR", "RCF", "NFD", "DLV")
        case.setup.insert(
            "tracking_events", {"awb": awb, "event_no": number}, code=code,
            station=flights[-1].destination if there else flights[0].origin, pieces=pieces,
            happened_at="2026-05-07T11:00:00" if code == "BKD" else f"{day}T{number + 2:02d}:10:00",
        )  # fmt: skip


def earlier_case(
    case: Case, case_id: str, kind: str, summary: str, awb: str, *, status: str = "open", day: str = "2026-05-09"
) -> None:
    """Insert a case about the waybill, open or closed as done."""
    closed = status == "closed"
    case.setup.insert(
        "cases", {"case_id": case_id}, client_id=case.home.client_id, awb=awb, kind=kind, priority="normal",
        status=status, resolution="done" if closed else None, summary=summary, opened_at=f"{day}T14:20:00",
        closed_at=f"{day}T16:00:00" if closed else None,
    )  # fmt: skip
