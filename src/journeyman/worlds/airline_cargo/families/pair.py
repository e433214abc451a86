"""Setup rows of a second shipment beside the one that `freight.ship` made: the same client and way, other pieces and number."""

from __future__ import annotations

from journeyman.task import Scalar
from journeyman.worlds.airline_cargo.families.deep import Case
from journeyman.worlds.airline_cargo.families.freight import BOOKING, Flight, Freight, Line, track
from journeyman.worlds.airline_cargo.secrets import hashed, release_pin_of
from journeyman.worlds.airline_cargo.shipments import checked
from journeyman.worlds.airline_cargo.weights import chargeable_grams

SECOND, SECOND_FREIGHT = "BK-8002", "CH-8002"


def swapped(awb: str) -> str:
    """The number of a look-alike: two neighbouring digits exchanged, with a check digit that fits."""
    digits = list(awb[4:11])
    at = next(place for place in (3, 4, 2, 5) if digits[place] != digits[place + 1])
    digits[at], digits[at + 1] = digits[at + 1], digits[at]
    return checked(int("".join(digits)))


def second(
    case: Case, freight: Freight, flight: Flight, line: Line, *, day: str = "2026-05-10", **columns: Scalar
) -> str:
    """Insert the second shipment, BK-8002 with CH-8002, whose number looks like the first one's; returns the number.

    Args:
        line: its pieces, all of one size.
        day: of its last tracking event. columns: of its waybill, where they differ from the first one's.
    """
    setup, awb = case.setup, swapped(freight.awb)
    weight = line.pieces * line.grams
    sizes: dict[str, Scalar] = {"pieces": line.pieces, "weight_grams": weight, "volume_l": line.litres}
    booking = setup.row("bookings", booking_id=BOOKING) | sizes
    bill = setup.row("waybills", awb=freight.awb) | sizes
    bill |= {"booking_id": SECOND, "chargeable_grams": chargeable_grams(weight, line.litres, freight.divisor)}
    bill |= {"release_pin_hash": hashed(awb, release_pin_of(awb)), **columns}
    leg = setup.row("booking_legs", booking_id=BOOKING, leg_no=1)["status"]
    setup.insert("bookings", {"booking_id": SECOND}, **_without(booking, "booking_id"))
    setup.insert("booking_legs", {"booking_id": SECOND, "leg_no": 1}, flight_id=flight.flight_id, status=leg)
    setup.insert("waybills", {"awb": awb}, **_without(bill, "awb"))
    setup.insert(
        "waybill_pieces", {"awb": awb, "line_no": 1}, pieces=line.pieces, length_cm=line.length, width_cm=line.width,
        height_cm=line.height, piece_grams=line.grams,
    )  # fmt: skip
    setup.charge(SECOND_FREIGHT, awb, "freight", 1_100_00, "2026-05-07")
    track(case, awb, [flight], str(bill["status"]), line.pieces, day)
    return awb


def _without(row: dict[str, Scalar], key: str) -> dict[str, Scalar]:
    return {column: value for column, value in row.items() if column != key}
