"""What the shipments of the base image are made of: pieces that fit their aircraft, temperatures, dangerous goods."""

from __future__ import annotations

from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.airline_cargo import catalogue as data

Row = dict[str, Any]
ROOMS = {"cold": "cold_room", "controlled": "controlled_room", "frozen": "freezer"}
AIRCRAFT = {row[0]: row for row in data.AIRCRAFT}
DECLARED = {
    "batteries": ("UN3480", "UN3481", "UN3091"),
    "paints": ("UN1263",),
    "chemicals": ("UN1760", "UN1993", "UN1170"),
}


def measure(draft: Draft, legs: list[Row]) -> list[Row]:
    """One or two lines of pieces that may ride on every flight of `legs`."""
    types = [AIRCRAFT[flight["aircraft"]] for flight in legs]
    heaviest, tallest = min(t[2] for t in types), min(t[3] for t in types)
    small = heaviest < 100_000
    lines = []
    for _ in range(draft.rng.choice((1, 1, 2))):
        length, width = (draft.rng.randrange(40, 121, 5) for _ in range(2))
        height = draft.rng.randrange(30, 96, 5) if small else draft.rng.randrange(60, min(tallest, 220) - 4, 5)
        if not small:
            length = draft.rng.randrange(80, 241, 10)
        density = draft.rng.randint(110, 330)
        grams = length * width * height * density // 1_000_000 * 1000 + 1000
        lines.append(
            {
                "pieces": draft.rng.randint(1, 12 if small else 6),
                "length_cm": length,
                "width_cm": width,
                "height_cm": height,
                "piece_grams": min(grams, heaviest - 5_000, 2_400_000),
            }
        )
    return lines


def temperature(draft: Draft, product: str, stops: list[str], legs: list[Row]) -> str | None:
    """The range a product is kept at on its way (`none` for most), or None where it cannot go that way."""
    stations = [row for row in draft.rows["stations"] if row["station"] in stops]
    types = [AIRCRAFT[flight["aircraft"]] for flight in legs]
    if product == "live_animals":
        lawful = all(row["live_animals"] == "yes" for row in stations) and all(t[5] == "yes" for t in types)
        return "none" if lawful else None
    if product != "pharma":
        return "none"
    if any(t[6] == "no" for t in types):
        return None
    ranges = [name for name, room in ROOMS.items() if all(row[room] == "yes" for row in stations)]
    return draft.rng.choice(ranges) if ranges else None


def add_declaration(draft: Draft, waybill: Row, legs: list[Row], stops: list[str]) -> None:
    """Add the shipper's declaration of a waybill whose commodity is dangerous, where the stations take it."""
    numbers = DECLARED.get(waybill["commodity"])
    stations = [row for row in draft.rows["stations"] if row["station"] in stops]
    if numbers is None or waybill["kind"] == "master" or any(row["dg_acceptance"] == "none" for row in stations):
        return
    number = draft.rng.choice(numbers)
    entry = draft.rng.choice([row for row in data.DANGEROUS_GOODS if row[0] == number])
    passenger = any(AIRCRAFT[flight["aircraft"]][1] == "passenger" for flight in legs)
    limit = entry[5] if passenger else entry[6]
    fits = limit is not None
    net = (limit or entry[6] or 1000) * draft.rng.choice((20, 50, 80, 100)) // 100
    submitted = waybill["status"] in ("draft", "issued")
    draft.add(
        "dg_declarations",
        declaration_id=draft.id("dg_declarations"),
        awb=waybill["awb"],
        un_number=number,
        packing_group=entry[1],
        hazard_class=entry[3],
        packages=draft.rng.randint(1, waybill["pieces"]),
        net_milli=net,
        aircraft="passenger" if passenger and fits else "cargo_only",
        signed="yes" if not submitted or draft.chance(0.85) else "no",
        status="submitted" if submitted else "accepted" if fits else "rejected",
        reject_reason=None if submitted or fits else "aircraft",
    )
