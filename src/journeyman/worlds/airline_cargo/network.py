"""Stations, routes, flights, aircraft, embargoes, containers. Weights in kg, heights in cm, times in minutes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.records import cubic, kilos

Product = Literal["general", "express", "perishable", "pharma", "live_animals"]
_PRODUCTS = ("general", "express", "perishable", "pharma", "live_animals")


@tool("read")
async def get_station_profile(ctx: ToolContext, station: str) -> dict[str, Any]:
    """Read the rules of one station: clock, cut-offs in minutes, piece limits in kg and cm, rooms, storage in dollars.

    Args:
        station: three letters such as HVP.
    """
    row = records.station(ctx, station)
    kept = ("dg_acceptance", "live_animals", "cold_room", "controlled_room", "freezer")
    rules = ("max_height_cm", "transit_minutes", "free_days")
    return {
        **{key: row[key] for key in ("station", "city", "country")},
        "utc_offset_minutes": row["utc_offset"],
        "cutoff_minutes": {product: row[f"cutoff_{product}"] for product in _PRODUCTS},
        **{key: row[key] for key in kept},
        "max_piece_kg": kilos(row["max_piece_grams"]),
        **{key: row[key] for key in rules},
        "storage_per_kg_day": desk.dollars(row["storage_cents_per_kg"]),
        "storage_minimum": desk.dollars(row["storage_minimum_cents"]),
        **{key: row[key] for key in ("weekend_closed", "amend_until", "advance_filing")},
    }


@tool("read", ordered=False)
async def list_stations(ctx: ToolContext, country: str | None = None) -> list[dict[str, Any]]:
    """List the stations: code, city, country.

    Args:
        country: only those of this country.
    """
    return ctx.all(
        "SELECT station, city, country FROM stations WHERE ? IS NULL OR lower(country) = lower(?) ORDER BY station",
        (country, country),
    )


@tool("read")
async def get_route(ctx: ToolContext, origin: str, destination: str) -> list[dict[str, Any]]:
    """List the ways from one station to another, direct or by one via station, with the aircraft flown on each leg.

    Args:
        origin: such as HVP.
        destination: such as KHL.
    """
    start, end = records.station(ctx, origin)["station"], records.station(ctx, destination)["station"]
    rows = ctx.all(
        "SELECT route_id, via, status FROM routes WHERE origin = ? AND destination = ? ORDER BY via IS NOT NULL, via",
        (start, end),
    )
    if not rows:
        ctx.error("not_found", f"no route from {start} to {end} with at most one via station")
    found = []
    for row in rows:
        stops = [start, end] if row["via"] is None else [start, row["via"], end]
        legs = [{"leg": f"{a}-{b}", "aircraft": _aircraft(ctx, a, b)} for a, b in pairwise(stops)]
        found.append({**row, "legs": legs})
    return found


def _aircraft(ctx: ToolContext, origin: str, destination: str) -> list[str]:
    rows = ctx.all(
        "SELECT DISTINCT aircraft FROM flights WHERE origin = ? AND destination = ? AND departs_at >= ? "
        "ORDER BY aircraft",
        (origin, destination, ctx.now),
    )
    return [row["aircraft"] for row in rows]


def _shown(row: desk.Row) -> dict[str, Any]:
    return {
        "flight_id": row["flight_id"],
        "number": row["number"],
        "aircraft": row["aircraft"],
        "departs_local": row["departs_local"][:16],
        "departs_utc": row["departs_at"][:16],
        "arrives_utc": row["arrives_at"][:16],
        "status": row["status"],
        "delay_minutes": row["delay_minutes"],
        "free_kg": kilos(row["capacity_grams"] - row["booked_grams"]),
        "free_cbm": cubic(row["capacity_l"] - row["booked_l"]),
    }


@tool("read")
async def list_flights(
    ctx: ToolContext, origin: str, destination: str, date: str | None = None
) -> list[dict[str, Any]]:
    """List the next direct flights between two stations, earliest first, with free room in kg and cbm.

    Args:
        origin: such as HVP.
        destination: such as KHL.
        date: only those that leave on this day by the origin's clock.
    """
    start, end = records.station(ctx, origin)["station"], records.station(ctx, destination)["station"]
    if date is not None:
        records.day(ctx, date, "date")
    rows = ctx.all(
        "SELECT * FROM flights WHERE origin = ? AND destination = ? AND departs_at >= ? "
        "AND (? IS NULL OR substr(departs_local, 1, 10) = ?) ORDER BY departs_at, flight_id LIMIT 8",
        (start, end, ctx.now, date, date),
    )
    return [_shown(row) for row in rows]


@tool("read")
async def get_flight(ctx: ToolContext, flight_id: str) -> dict[str, Any]:
    """Read one flight: stations, aircraft, times, delay, free room in kg and cbm.

    Args:
        flight_id: such as FL-5001.
    """
    row = records.flight(ctx, flight_id)
    return {"origin": row["origin"], "destination": row["destination"], **_shown(row)}


@tool("read")
async def check_cutoff(ctx: ToolContext, flight_id: str, product: Product) -> dict[str, Any]:
    """Work out the plain cut-off of a flight: scheduled departure less the origin's minutes. Knows no additions, delays, exceptions.

    Args:
        flight_id: such as FL-5001.
        product: what is tendered.
    """
    row = records.flight(ctx, flight_id)
    minutes = records.station(ctx, row["origin"])[f"cutoff_{product}"]
    return {
        "cutoff_minutes": minutes,
        "cutoff_local": records.later(row["departs_local"], -minutes)[:16],
        "cutoff_utc": records.later(row["departs_at"], -minutes)[:16],
        "now_utc": ctx.now[:16],
    }


@tool("read")
async def get_aircraft_limits(ctx: ToolContext, aircraft: str) -> dict[str, Any]:
    """Read what one piece may weigh (kg) and measure (cm) on an aircraft type, and whether it takes animals and pharma.

    Args:
        aircraft: such as B77F.
    """
    row = ctx.one("SELECT * FROM aircraft_types WHERE aircraft = upper(?)", (aircraft,))
    if row is None:
        ctx.error("not_found", f"no aircraft type {aircraft!r}; they are B74F, B77F, A31F, A33P, A32P, TRK")
    kept = ("max_height_cm", "max_length_cm", "live_animals", "pharma")
    head = {"aircraft": row["aircraft"], "kind": row["kind"], "max_piece_kg": kilos(row["max_piece_grams"])}
    return head | {key: row[key] for key in kept}


@tool("read", ordered=False)
async def list_embargoes(ctx: ToolContext, station: str, commodity: str | None = None) -> list[dict[str, Any]]:
    """List the embargoes of a station, past, present and announced, lifted ones too. A commodity of null means all goods.

    Args:
        station: such as HVP.
        commodity: only embargoes that name this commodity or all goods.
    """
    code = records.station(ctx, station)["station"]
    return ctx.all(
        "SELECT embargo_id, direction, commodity, starts_on, ends_on, status FROM embargoes WHERE station = ? "
        "AND (? IS NULL OR commodity IS NULL OR commodity = ?) ORDER BY starts_on, embargo_id",
        (code, commodity, commodity),
    )


@tool("read")
async def get_embargo(ctx: ToolContext, embargo_id: str) -> dict[str, Any]:
    """Read one embargo with its announcement, cause and exemption.

    Args:
        embargo_id: such as EM-101.
    """
    return records.embargo(ctx, embargo_id)


@tool("read", ordered=False)
async def list_containers(ctx: ToolContext, station: str) -> list[dict[str, Any]]:
    """List the containers with active cooling at a station.

    Args:
        station: such as HVP.
    """
    code = records.station(ctx, station)["station"]
    return ctx.all("SELECT container_id, kind, status FROM containers WHERE station = ? ORDER BY container_id", (code,))


TOOLS: list[Tool] = [
    get_station_profile,
    list_stations,
    get_route,
    list_flights,
    get_flight,
    check_cutoff,
    get_aircraft_limits,
    list_embargoes,
    get_embargo,
    list_containers,
]
