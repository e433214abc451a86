"""What the tools share: looking a record up or failing with `not_found`, and people's units to and from the database's.

Tools speak kg, cbm and dollars; the database keeps grams, litres and cents.
"""

from __future__ import annotations

import datetime
import re

from journeyman.world import ToolContext, desk
from journeyman.world.desk import Row, by_id

WAIVER_LIMIT_CENTS = 150_00
"""A waiver of one charge above this needs a manager's approval."""
CLAIM_LIMIT_CENTS = 500_00
"""A claim settled above this needs a manager's approval."""
DISCOUNT_LIMIT_PERCENT = 5
"""A discount above this needs a manager's approval."""
DISCOUNT_MOST_PERCENT = 15
"""No discount is above this, whoever approves."""
_OF_CLIENT = "JOIN waybills w USING (awb)"

client = by_id("clients", "client_id", "client", "client ids look like CL-1001")
account = by_id("credit_accounts", "account_id", "credit account", "account ids look like CA-2001")
contract = by_id("contracts", "contract_id", "contract", "contract ids look like CT-3001")
flight = by_id("flights", "flight_id", "flight", "flight ids look like FL-5001, see list_flights")
booking = by_id("bookings", "booking_id", "booking", "booking ids look like BK-4001, see find_booking")
case = by_id("cases", "case_id", "case", "case ids look like CS-7001")
claim = by_id(f"claims c {_OF_CLIENT}", "c.claim_id", "claim", "claim ids look like CLM-1001", "c.*, w.client_id")
charge = by_id(
    f"charges c {_OF_CLIENT}",
    "c.charge_id",
    "charge",
    "charge ids look like CH-6001, see list_charges",
    "c.*, w.client_id",
)
declaration = by_id("dg_declarations", "declaration_id", "declaration", "declaration ids look like DG-1001")
house = by_id("house_waybills", "house_id", "house waybill", "see list_house_waybills")
embargo = by_id("embargoes", "embargo_id", "embargo", "see list_embargoes")
container = by_id("containers", "container_id", "container", "see list_containers")


def kilos(grams: int) -> float:
    """Grams as decimal kg."""
    return round(grams / 1000, 3)


def cubic(litres: int) -> float:
    """Litres as decimal cbm."""
    return round(litres / 1000, 3)


def cents_of(ctx: ToolContext, amount: float, argument: str = "amount") -> int:
    """A positive dollar amount as cents; `invalid_argument` below one cent, over ten million or with part cents."""
    return desk.whole(ctx, amount, "dollars", 2, 10_000_000_00, argument)


def grams_of(ctx: ToolContext, weight: float, argument: str = "weight_kg") -> int:
    """A weight in kg as grams; `invalid_argument` unless above 0, at most 500,000 and with at most 3 decimals."""
    return desk.whole(ctx, weight, "kg", 3, 500_000_000, argument)


def litres_of(ctx: ToolContext, volume: float, argument: str = "volume_cbm") -> int:
    """A volume in cbm as litres; `invalid_argument` unless above 0, at most 500,000 and with at most 3 decimals."""
    return desk.whole(ctx, volume, "cbm", 3, 500_000_000, argument)


def positive(ctx: ToolContext, count: int, argument: str = "pieces") -> int:
    """A count from 1 to 100,000, or `invalid_argument`."""
    return desk.between(ctx, argument, count, 1, 100_000)


def active_client(ctx: ToolContext, client_id: str) -> Row:
    """The client if it is active, else `inactive`."""
    row = client(ctx, client_id)
    if row["status"] != "active":
        ctx.error("inactive", f"client {client_id} is inactive")
    return row


def credit_account(ctx: ToolContext, client_id: str) -> Row | None:
    """The credit account of a client, or None."""
    return ctx.one("SELECT * FROM credit_accounts WHERE client_id = ? ORDER BY account_id LIMIT 1", (client_id,))


def station(ctx: ToolContext, code: str) -> Row:
    """The station by its code, in any case, or `not_found`."""
    row = ctx.one("SELECT * FROM stations WHERE station = upper(?)", (code,))
    if row is None:
        ctx.error("not_found", f"no station {code!r}; stations are three letters such as HVP, see list_stations")
    return row


def bookable_flight(ctx: ToolContext, flight_id: str, weight_grams: int, volume_l: int) -> Row:
    """The flight if it is still to leave, not closed, and has room; else `invalid_state` or `no_capacity`."""
    row = flight(ctx, flight_id)
    if row["status"] not in ("scheduled", "delayed"):
        ctx.error("invalid_state", f"flight {flight_id} is {row['status']}")
    if leaves_at(row) <= ctx.now:
        ctx.error("invalid_state", f"flight {flight_id} has left")
    free_grams, free_l = row["capacity_grams"] - row["booked_grams"], row["capacity_l"] - row["booked_l"]
    if weight_grams > free_grams or volume_l > free_l:
        ctx.error(
            "no_capacity", f"flight {flight_id} has {kilos(free_grams)} kg and {cubic(free_l)} cbm free: not enough"
        )
    return row


def leaves_at(row: Row) -> str:
    """When a flight really departs, in UTC: as scheduled plus its delay."""
    return later(row["departs_at"], row["delay_minutes"])


def later(moment: str, minutes: int) -> str:
    """An ISO moment some minutes later."""
    return (datetime.datetime.fromisoformat(moment) + datetime.timedelta(minutes=minutes)).isoformat()


def live_booking(ctx: ToolContext, booking_id: str) -> Row:
    """The booking if it is confirmed or waitlisted, else `invalid_state`."""
    row = booking(ctx, booking_id)
    if row["status"] not in ("confirmed", "waitlisted"):
        ctx.error("invalid_state", f"booking {booking_id} is {row['status']}")
    return row


def legs(ctx: ToolContext, booking_id: str) -> list[Row]:
    """The legs of a booking with their flights, in order."""
    return ctx.all(
        "SELECT l.leg_no, l.status AS leg_status, f.* FROM booking_legs l JOIN flights f USING (flight_id) "
        "WHERE l.booking_id = ? ORDER BY l.leg_no",
        (booking_id,),
    )


def leg(ctx: ToolContext, booking_id: str, leg_no: int) -> Row:
    """One leg of a booking, or `not_found`."""
    row = next((row for row in legs(ctx, booking_id) if row["leg_no"] == leg_no), None)
    if row is None:
        ctx.error("not_found", f"booking {booking_id} has no leg {leg_no}")
    return row


def move_load(ctx: ToolContext, flight_id: str, weight_grams: int, volume_l: int) -> None:
    """Add to what a flight has booked; negative amounts give it back."""
    # Flights carry more than the desk's own bookings: giving back never goes below nothing.
    ctx.run(
        "UPDATE flights SET booked_grams = max(0, booked_grams + ?), booked_l = max(0, booked_l + ?) WHERE flight_id = ?",
        (weight_grams, volume_l, flight_id),
    )


def waybill(ctx: ToolContext, awb: str) -> Row:
    """The waybill, or `not_found` with what is wrong with the number."""
    row = ctx.one("SELECT * FROM waybills WHERE awb = ?", (awb,))
    if row is None:
        number = re.fullmatch(r"927-(\d{7})(\d)", awb, re.ASCII)
        if number and int(number[1]) % 7 != int(number[2]):
            ctx.error("not_found", f"no waybill {awb!r}: its check digit is wrong, so a digit is mistyped")
        ctx.error("not_found", f"no waybill {awb!r}; numbers look like 927-40010154")
    return row


def tariff(ctx: ToolContext, origin: str, destination: str, product: str) -> Row:
    """The tariff of a pair of stations and a product, or `not_found`."""
    station(ctx, origin)
    station(ctx, destination)
    row = ctx.one(
        "SELECT * FROM tariffs WHERE origin = upper(?) AND destination = upper(?) AND product = ?",
        (origin, destination, product),
    )
    if row is None:
        ctx.error("not_found", f"no {product} tariff from {origin.upper()} to {destination.upper()}")
    return row


def use_approval(ctx: ToolContext, approval_id: str | None, client_id: str, kind: str, cents: int) -> None:
    """Spend a manager's approval for the client on one write: see `desk.use_approval`."""
    desk.use_approval(ctx, approval_id, kind, cents, owner="client_id", id=client_id, of="manager")


def day(ctx: ToolContext, text: str, argument: str) -> str:
    """A calendar date as YYYY-MM-DD, or `invalid_argument`."""
    if not desk.is_date(text):
        ctx.error("invalid_argument", f"argument `{argument}`: expected a date such as 2026-05-11")
    return text


def days_between(first: str, last: str) -> int:
    """Calendar days from one ISO date to another."""
    return (datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first)).days
