"""Flights, routes and tariffs of the base image, from the legs of the catalogue."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.airline_cargo import catalogue as data

OFFSETS = {str(row[0]): int(row[3]) for row in data.STATIONS}
"""Minutes that each station's clock is ahead of UTC."""
NOW = f"{data.AS_OF}T09:00:00"
FIRST_DAY, DAYS = "2026-05-05", 13
OLD_DAYS = ("2026-03-24", "2026-04-21")
"""Days of long gone flights, for shipments delivered weeks ago."""
Row = dict[str, Any]


def add_flights(draft: Draft) -> None:
    """Add the flights of two weeks and some older ones, every route, every tariff."""
    number = 400
    for index, (one, other, services) in enumerate(data.LEGS):
        for part, (aircraft, hour, minutes, every) in enumerate(services):
            for origin, destination, leaves in ((one, other, hour), (other, one, (hour + 9) % 24)):
                number += 1
                if part == 0:
                    for day in OLD_DAYS:
                        _flight(draft, number, origin, destination, aircraft, day, leaves, minutes)
                # Services of one leg take turns; those of the same frequency on neighbouring legs too.
                for later in range((index + part) % every, DAYS, every):
                    date = (datetime.fromisoformat(FIRST_DAY) + timedelta(days=later)).date().isoformat()
                    _flight(draft, number, origin, destination, aircraft, date, leaves, minutes)
    _routes(draft)
    _tariffs(draft)


def _flight(
    draft: Draft, number: int, origin: str, destination: str, aircraft: str, day: str, hour: int, minutes: int
) -> None:
    local = datetime.fromisoformat(f"{day}T{hour:02d}:{(number * 5) % 60:02d}:00")
    departs = local - timedelta(minutes=OFFSETS[origin])
    tonnes, room = data.CAPACITY[aircraft]
    filled = draft.rng.choice((0.45, 0.6, 0.7, 0.8, 0.9, 0.985))
    status, delay = "scheduled", 0
    if departs.isoformat() < NOW:
        status = "departed"
    elif draft.chance(0.12):
        status = draft.rng.choice(("delayed", "delayed", "closed", "cancelled"))
        delay = draft.rng.choice((45, 90, 180, 420)) if status == "delayed" else 0
    draft.add(
        "flights",
        flight_id=draft.id("flights"),
        number=f"MR{number}",
        origin=origin,
        destination=destination,
        aircraft=aircraft,
        departs_local=local.isoformat(),
        departs_at=departs.isoformat(),
        arrives_at=(departs + timedelta(minutes=minutes)).isoformat(),
        capacity_grams=tonnes * 1000,
        booked_grams=round(tonnes * filled) * 1000,
        capacity_l=room * 1000,
        booked_l=round(room * filled * 0.97) * 1000,
        status=status,
        delay_minutes=delay,
    )


def _pairs() -> list[tuple[str, str]]:
    return [pair for one, other, _ in data.LEGS for pair in ((one, other), (other, one))]


def route_list() -> list[tuple[str, str, str | None]]:
    """(origin, destination, via) of every route: each leg, and each pair that two legs join at a hub."""
    legs = _pairs()
    direct: list[tuple[str, str, str | None]] = [(origin, destination, None) for origin, destination in legs]
    joined: list[tuple[str, str, str | None]] = [
        (first[0], second[1], hub)
        for hub in data.HUBS
        for first in legs
        for second in legs
        if first[1] == hub == second[0] and first[0] != second[1]
    ]
    return direct + joined


def _routes(draft: Draft) -> None:
    for origin, destination, via in route_list():
        status = "suspended" if (origin, destination) in data.SUSPENDED else "open"
        draft.add("routes", route_id=draft.id("routes"), origin=origin, destination=destination, via=via, status=status)


def _tariffs(draft: Draft) -> None:
    """One tariff a pair and product; a connection costs what its shorter way costs, less a tenth."""
    minutes = {
        (a, b): services[0][2] if services[0][0] != "TRK" else services[0][2] // 3
        for one, other, services in data.LEGS
        for a, b in ((one, other), (other, one))
    }
    prices: dict[tuple[str, str], int] = {}
    for origin, destination, via in route_list():
        if via is None:
            cents = 60 + minutes[(origin, destination)] // 3
        else:
            cents = round((120 + minutes[(origin, via)] // 3 + minutes[(via, destination)] // 3) * 0.9)
        pair = (origin, destination)
        prices[pair] = min(cents, prices.get(pair, cents))
    for (origin, destination), cents in prices.items():
        # Pharma and animals are not quoted where they cannot go.
        for product in data.PRODUCTS[:4] if {"OSG", "BKW"} & {origin, destination} else data.PRODUCTS:
            price = round(cents * data.PRODUCT_PRICE[product] / 100)
            draft.add(
                "tariffs",
                origin=origin,
                destination=destination,
                product=product,
                cents_per_kg=price,
                minimum_cents=max(75_00, price * 45),
            )
