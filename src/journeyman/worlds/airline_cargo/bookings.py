"""Bookings: making, moving, offloading, cancelling. Weights in kg, volumes in cbm, times in UTC unless named local.

Checks what a booking system checks: client, account, flights, room. Embargoes, cut-offs, connections, limits of pieces,
dangerous goods, temperatures and credit limits are the desk's to know.
"""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.records import cubic, kilos

Product = Literal["general", "express", "perishable", "pharma", "live_animals"]


def _shown_leg(row: desk.Row) -> dict[str, Any]:
    return {
        "leg_no": row["leg_no"],
        "status": row["leg_status"],
        "flight_id": row["flight_id"],
        "number": row["number"],
        "origin": row["origin"],
        "destination": row["destination"],
        "aircraft": row["aircraft"],
        "departs_local": row["departs_local"][:16],
        "departs_utc": row["departs_at"][:16],
        "arrives_utc": row["arrives_at"][:16],
    }


@tool("read")
async def find_booking(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Find the booking of an air waybill.

    Args:
        awb: such as 927-40010154.
    """
    row = records.booking(ctx, records.waybill(ctx, awb)["booking_id"])
    return {key: row[key] for key in ("booking_id", "client_id", "product", "status")}


@tool("read")
async def get_booking(ctx: ToolContext, booking_id: str) -> dict[str, Any]:
    """Read one booking with its legs: weight in kg, volume in cbm.

    Args:
        booking_id: such as BK-4001.
    """
    row = records.booking(ctx, booking_id)
    kept = ("booking_id", "client_id", "product", "commodity", "origin", "destination", "pieces")
    return {
        **{key: row[key] for key in kept},
        "weight_kg": kilos(row["weight_grams"]),
        "volume_cbm": cubic(row["volume_l"]),
        **{key: row[key] for key in ("status", "priority", "contract_id", "discount_percent", "container_id")},
        "booked_utc": row["booked_at"][:16],
        "legs": [_shown_leg(leg) for leg in records.legs(ctx, booking_id)],
    }


@tool("read")
async def list_bookings(
    ctx: ToolContext,
    client_id: str,
    status: Literal["confirmed", "waitlisted", "cancelled", "no_show", "flown"] | None = None,
) -> list[dict[str, Any]]:
    """List the bookings of a client, newest first.

    Args:
        client_id: such as CL-1001.
        status: only those in this state.
    """
    records.client(ctx, client_id)
    return ctx.all(
        "SELECT b.booking_id, w.awb, b.product, b.origin, b.destination, b.status FROM bookings b "
        "LEFT JOIN waybills w USING (booking_id) WHERE b.client_id = ? AND (? IS NULL OR b.status = ?) "
        "ORDER BY b.booked_at DESC, b.booking_id DESC LIMIT 12",
        (client_id, status, status),
    )


@tool("write")
async def create_booking(
    ctx: ToolContext,
    client_id: str,
    product: Product,
    commodity: str,
    flight_id: str,
    pieces: int,
    weight_kg: float,
    volume_cbm: float,
    onward_flight_id: str | None = None,
    contract_id: str | None = None,
) -> dict[str, Any]:
    """Book space on one flight or two connecting ones. The system checks the account, the flights and their room only.

    Args:
        client_id: such as CL-1001.
        product: what is sold.
        commodity: such as garments or vaccines.
        flight_id: first flight, such as FL-5001.
        pieces: number of pieces.
        weight_kg: gross weight in kg.
        volume_cbm: volume in cbm.
        onward_flight_id: second flight, from where the first one ends.
        contract_id: the client's contract that applies, if any.
    """
    records.active_client(ctx, client_id)
    account = records.credit_account(ctx, client_id)
    if account is None:
        ctx.error("not_eligible", f"client {client_id} has no credit account: it pays in advance at a station")
    if account["status"] != "active":
        ctx.error("inactive", f"the credit account of {client_id} is {account['status']}")
    if ctx.one("SELECT 1 AS has FROM commodities WHERE commodity = ?", (commodity,)) is None:
        ctx.error("not_found", f"no commodity {commodity!r}; they look like garments, batteries, vaccines")
    if contract_id is not None and records.contract(ctx, contract_id)["client_id"] != client_id:
        ctx.error("invalid_state", f"contract {contract_id} is not of client {client_id}")
    records.positive(ctx, pieces)
    grams, litres = records.grams_of(ctx, weight_kg), records.litres_of(ctx, volume_cbm)
    chosen = [flight_id] if onward_flight_id is None else [flight_id, onward_flight_id]
    flights = [records.bookable_flight(ctx, one, grams, litres) for one in chosen]
    if len(flights) == 2:
        _connected(ctx, flights[0], flights[1])
    booking_id = desk.add(
        ctx, "bookings", client_id, product, commodity, flights[0]["origin"], flights[-1]["destination"], pieces, grams,
        litres, "confirmed", "standard", contract_id, 0, None, ctx.now,
    )  # fmt: skip
    for number, flight in enumerate(flights, 1):
        ctx.run("INSERT INTO booking_legs VALUES (?, ?, ?, 'booked')", (booking_id, number, flight["flight_id"]))
        records.move_load(ctx, flight["flight_id"], grams, litres)
    return {"ok": True, "booking_id": booking_id, "status": "confirmed"}


def _connected(ctx: ToolContext, first: desk.Row, second: desk.Row) -> None:
    if first["destination"] != second["origin"] or first["origin"] == second["destination"]:
        ctx.error("invalid_state", f"flight {second['flight_id']} does not go on from {first['destination']}")
    if records.later(first["arrives_at"], first["delay_minutes"]) > records.leaves_at(second):
        ctx.error("invalid_state", f"flight {second['flight_id']} leaves before {first['flight_id']} is there")


@tool("write")
async def cancel_booking(ctx: ToolContext, booking_id: str) -> dict[str, Any]:
    """Cancel a booking that has not been accepted at the station; its waybill becomes void. Charges nothing by itself.

    Args:
        booking_id: such as BK-4001.
    """
    row = records.live_booking(ctx, booking_id)
    bill = ctx.one("SELECT awb, status FROM waybills WHERE booking_id = ?", (booking_id,))
    if bill is not None and bill["status"] not in ("draft", "issued"):
        ctx.error("invalid_state", f"waybill {bill['awb']} is {bill['status']}: the goods have been accepted")
    for leg in records.legs(ctx, booking_id):
        if leg["leg_status"] == "booked":
            records.move_load(ctx, leg["flight_id"], -row["weight_grams"], -row["volume_l"])
    ctx.run("UPDATE booking_legs SET status = 'cancelled' WHERE booking_id = ?", (booking_id,))
    ctx.run("UPDATE bookings SET status = 'cancelled' WHERE booking_id = ?", (booking_id,))
    ctx.run("UPDATE waybills SET status = 'void' WHERE booking_id = ?", (booking_id,))
    return {"ok": True, "status": "cancelled", "waybill_voided": bill is not None}


@tool("write")
async def rebook_leg(ctx: ToolContext, booking_id: str, leg_no: int, flight_id: str) -> dict[str, Any]:
    """Move one leg of a booking to another flight between the same stations, with room for it.

    Args:
        booking_id: such as BK-4001.
        leg_no: 1 for the first leg, 2 for the onward one.
        flight_id: the new flight.
    """
    row = records.live_booking(ctx, booking_id)
    old = records.leg(ctx, booking_id, leg_no)
    if old["leg_status"] not in ("booked", "offloaded"):
        ctx.error("invalid_state", f"leg {leg_no} of {booking_id} is {old['leg_status']}")
    if flight_id == old["flight_id"] and old["leg_status"] == "booked":
        ctx.error("invalid_state", f"leg {leg_no} is already on {flight_id}")
    new = records.bookable_flight(ctx, flight_id, row["weight_grams"], row["volume_l"])
    if (new["origin"], new["destination"]) != (old["origin"], old["destination"]):
        ctx.error("invalid_state", f"flight {flight_id} does not go from {old['origin']} to {old['destination']}")
    if old["leg_status"] == "booked":
        records.move_load(ctx, old["flight_id"], -row["weight_grams"], -row["volume_l"])
    records.move_load(ctx, flight_id, row["weight_grams"], row["volume_l"])
    ctx.run(
        "UPDATE booking_legs SET flight_id = ?, status = 'booked' WHERE booking_id = ? AND leg_no = ?",
        (flight_id, booking_id, leg_no),
    )
    return {"ok": True, "flight_id": flight_id, "departs_utc": new["departs_at"][:16]}


@tool("write")
async def offload_leg(ctx: ToolContext, booking_id: str, leg_no: int) -> dict[str, Any]:
    """Take a booking off a flight to make room. A must_ride booking cannot be offloaded. Does not look for another flight.

    Args:
        booking_id: such as BK-4001.
        leg_no: 1 for the first leg, 2 for the onward one.
    """
    row = records.live_booking(ctx, booking_id)
    leg = records.leg(ctx, booking_id, leg_no)
    if leg["leg_status"] != "booked":
        ctx.error("invalid_state", f"leg {leg_no} of {booking_id} is {leg['leg_status']}")
    if row["priority"] == "must_ride":
        ctx.error("not_authorized", f"booking {booking_id} is must_ride: it is not offloaded")
    records.move_load(ctx, leg["flight_id"], -row["weight_grams"], -row["volume_l"])
    ctx.run("UPDATE booking_legs SET status = 'offloaded' WHERE booking_id = ? AND leg_no = ?", (booking_id, leg_no))
    return {"ok": True, "freed_kg": kilos(row["weight_grams"]), "freed_cbm": cubic(row["volume_l"])}


@tool("write")
async def set_booking_priority(
    ctx: ToolContext, booking_id: str, priority: Literal["standard", "must_ride"]
) -> dict[str, Any]:
    """Set whether a booking may be offloaded (standard) or not (must_ride).

    Args:
        booking_id: such as BK-4001.
        priority: the new priority.
    """
    row = records.live_booking(ctx, booking_id)
    if row["priority"] == priority:
        ctx.error("invalid_state", f"booking {booking_id} is already {priority}")
    ctx.run("UPDATE bookings SET priority = ? WHERE booking_id = ?", (priority, booking_id))
    return {"ok": True, "priority": priority}


@tool("write")
async def apply_discount(
    ctx: ToolContext, booking_id: str, percent: int, approval_id: str | None = None
) -> dict[str, Any]:
    """Give a discount off the tariff on a booking without a contract. Above 5 percent an approval is needed, above 15 none helps.

    Args:
        booking_id: such as BK-4001.
        percent: whole percent, 1 to 15.
        approval_id: a manager's approval of kind discount for this client.
    """
    row = records.live_booking(ctx, booking_id)
    desk.between(ctx, "percent", percent, 1, records.DISCOUNT_MOST_PERCENT)
    if row["contract_id"] is not None:
        ctx.error("not_eligible", f"booking {booking_id} runs on contract {row['contract_id']}: no further discount")
    if percent > records.DISCOUNT_LIMIT_PERCENT or approval_id is not None:
        records.use_approval(ctx, approval_id, row["client_id"], "discount", _discount_cents(ctx, booking_id, percent))
    ctx.run("UPDATE bookings SET discount_percent = ? WHERE booking_id = ?", (percent, booking_id))
    return {"ok": True, "discount_percent": percent}


def _discount_cents(ctx: ToolContext, booking_id: str, percent: int) -> int:
    """What a discount costs, from the open freight of the booking's waybill; one cent where there is none yet."""
    freight = ctx.one(
        "SELECT c.amount_cents FROM charges c JOIN waybills w USING (awb) "
        "WHERE w.booking_id = ? AND c.kind = 'freight' AND c.status = 'open'",
        (booking_id,),
    )
    return max(1, freight["amount_cents"] * percent // 100) if freight else 1


@tool("write")
async def reserve_container(ctx: ToolContext, booking_id: str, container_id: str) -> dict[str, Any]:
    """Reserve a container with active cooling for a booking, at the booking's origin. Charges nothing by itself.

    Args:
        booking_id: such as BK-4001.
        container_id: such as RKN-1001, from list_containers.
    """
    row = records.live_booking(ctx, booking_id)
    box = records.container(ctx, container_id)
    if box["status"] != "available" or box["station"] != row["origin"]:
        ctx.error("invalid_state", f"container {container_id} is {box['status']} at {box['station']}")
    if row["container_id"] is not None:
        ctx.error("invalid_state", f"booking {booking_id} has container {row['container_id']}")
    ctx.run("UPDATE containers SET status = 'reserved' WHERE container_id = ?", (container_id,))
    ctx.run("UPDATE bookings SET container_id = ? WHERE booking_id = ?", (container_id, booking_id))
    return {"ok": True, "container_id": container_id}


TOOLS: list[Tool] = [
    find_booking,
    get_booking,
    list_bookings,
    create_booking,
    cancel_booking,
    rebook_leg,
    offload_leg,
    set_booking_priority,
    apply_discount,
    reserve_container,
]
