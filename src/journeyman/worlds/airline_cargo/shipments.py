"""Bookings and waybills of the base image with all that hangs on them: legs, pieces, houses, declarations, charges, events."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from journeyman.world.drafts import Draft
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.cargo import add_declaration, measure, temperature
from journeyman.worlds.airline_cargo.secrets import hashed, release_pin_of
from journeyman.worlds.airline_cargo.timetable import NOW, route_list
from journeyman.worlds.airline_cargo.weights import chargeable_grams

Row = dict[str, Any]
Route = tuple[str, str, str | None]
SHIPMENTS = 250
STATES = (
    ("issued", 42),
    ("accepted", 12),
    ("in_transit", 9),
    ("arrived", 18),
    ("delivered", 15),
    ("draft", 2),
    ("void", 2),
)
TRACKED = {
    "draft": (),
    "void": ("BKD",),
    "issued": ("BKD",),
    "accepted": ("BKD", "RCS"),
    "in_transit": ("BKD", "RCS", "DEP"),
    "arrived": ("BKD", "RCS", "DEP", "ARR", "RCF", "NFD"),
    "delivered": ("BKD", "RCS", "DEP", "ARR", "RCF", "NFD", "DLV"),
}  # fmt: skip


def checked(serial: int) -> str:
    """The air waybill number of a seven-digit serial: the last digit is the serial modulo 7."""
    return f"{data.PREFIX}-{serial:07d}{serial % 7}"


def add_shipments(draft: Draft) -> None:
    """Add every shipment, in order of its waybill number's drawing."""
    clients = [row for row in draft.rows["clients"] if row["status"] == "active"]
    gone = [row for row in draft.rows["clients"] if row["status"] == "inactive"]
    by_leg: dict[tuple[str, str], list[Row]] = {}
    for flight in draft.rows["flights"]:
        by_leg.setdefault((flight["origin"], flight["destination"]), []).append(flight)
    routes = [route for route in route_list() if route[:2] not in data.SUSPENDED]
    states, weights = zip(*STATES, strict=True)
    for awb in _numbers(draft):
        state = draft.rng.choices(states, weights)[0]
        # An inactive client still has old shipments.
        owner = draft.rng.choice(gone if state == "delivered" and draft.chance(0.2) else clients)
        while True:
            route = draft.rng.choice(routes)
            legs = _journey(draft, by_leg, route, state)
            if legs:
                break
        _shipment(draft, awb, state, owner, route, legs)


def _numbers(draft: Draft) -> list[str]:
    """Distinct numbers; every fifth has a look-alike with two neighbouring digits exchanged."""
    found: list[str] = []
    for serial in draft.rng.sample(range(4_010_000, 4_990_000), SHIPMENTS):
        if len(found) >= SHIPMENTS:
            break
        found.append(checked(serial))
        digits = list(str(serial))
        if len(found) % 5 == 0 and digits[4] != digits[5]:
            digits[4], digits[5] = digits[5], digits[4]
            found.append(checked(int("".join(digits))))
    return list(dict.fromkeys(found))[:SHIPMENTS]


def _journey(draft: Draft, by_leg: dict[tuple[str, str], list[Row]], route: Route, state: str) -> list[Row]:
    """Flights of a route that fit the state of a shipment; none if there are none."""
    origin, destination, via = route
    ends = [(origin, destination)] if via is None else [(origin, via), (via, destination)]
    first = [flight for flight in by_leg[ends[0]] if _fits_first(flight, state)]
    if not first:
        return []
    chosen = [draft.rng.choice(first)]
    if via is not None:
        ready = datetime.fromisoformat(chosen[0]["arrives_at"]) + timedelta(minutes=_transit(draft, via))
        last = ready + timedelta(days=3)
        onward = [
            flight for flight in by_leg[ends[1]]
            if ready.isoformat() <= flight["departs_at"] <= last.isoformat() and _fits_onward(flight, state)
        ]  # fmt: skip
        if not onward:
            return []
        chosen.append(onward[0])
    elif state == "in_transit" and chosen[0]["arrives_at"] <= NOW:
        return []
    if state in ("arrived", "delivered") and chosen[-1]["arrives_at"] >= NOW[:11]:
        return []
    return chosen


def _transit(draft: Draft, station: str) -> int:
    return int(next(row["transit_minutes"] for row in draft.rows["stations"] if row["station"] == station))


def _fits_first(flight: Row, state: str) -> bool:
    if state in ("in_transit", "arrived"):
        return bool(flight["status"] == "departed" and flight["departs_at"] > "2026-05-01")
    if state == "delivered":
        return bool(flight["status"] == "departed")
    if flight["status"] not in ("scheduled", "delayed"):
        return False
    hours = (datetime.fromisoformat(flight["departs_at"]) - datetime.fromisoformat(NOW)).total_seconds() / 3600
    return hours < 40 if state == "accepted" else hours > 5


def _fits_onward(flight: Row, state: str) -> bool:
    departed = bool(flight["status"] == "departed")
    return departed if state in ("arrived", "delivered") else not departed and flight["status"] != "cancelled"


def _shipment(draft: Draft, awb: str, state: str, owner: Row, route: Route, legs: list[Row]) -> None:
    origin, destination, via = route
    stops = [origin, destination] if via is None else [origin, via, destination]
    commodity, temp = _goods(draft, stops, legs)
    issued = min(_day(legs[0]["departs_at"], -draft.rng.randint(2, 6)), data.AS_OF)
    contract = _contract(draft, owner["client_id"], issued)
    lines = measure(draft, legs)
    totals = _totals(lines)
    booking_id = _booking(draft, state, owner, commodity, stops, legs, contract, totals)
    master = owner["kind"] == "forwarder" and commodity[2] == "general" and totals[0] >= 3 and draft.chance(0.5)
    row = _waybill(draft, awb, state, owner, commodity, totals, contract, master)
    row |= {
        "booking_id": booking_id,
        "origin": origin,
        "destination": destination,
        "temp_range": temp,
        "issued_on": issued,
        "arrived_on": _day(legs[-1]["arrives_at"], 0) if state in ("arrived", "delivered") else None,
    }
    if state == "delivered":
        row["delivered_on"] = min(_day(legs[-1]["arrives_at"], draft.rng.randint(0, 3)), "2026-05-10")
        row["released_to"] = row["notify_name"] or row["consignee_name"]
    for number, line in enumerate(lines, 1):
        draft.add("waybill_pieces", awb=awb, line_no=number, **line)
    if master:
        _houses(draft, row)
    add_declaration(draft, row, legs, stops)
    _handling(draft, row, lines)
    _charges(draft, row, contract)
    _track(draft, row, legs)


def _totals(lines: list[Row]) -> tuple[int, int, int]:
    """(pieces, weight in grams, volume in litres) of lines of pieces."""
    cm3 = sum(line["pieces"] * line["length_cm"] * line["width_cm"] * line["height_cm"] for line in lines)
    weight = sum(line["pieces"] * line["piece_grams"] for line in lines)
    return sum(line["pieces"] for line in lines), weight, cm3 // 1000


def _waybill(
    draft: Draft, awb: str, state: str, owner: Row, commodity: tuple[str, str, str, str], totals: tuple[int, int, int],
    contract: Row | None, master: bool,
) -> Row:  # fmt: skip
    """The waybill but for its journey, which the caller fills in."""
    rng, product = draft.rng, commodity[2]
    pieces, weight, volume = totals
    own = owner["kind"] == "shipper" or master
    valued = draft.chance(0.1) and product != "live_animals"
    return draft.add(
        "waybills",
        awb=awb,
        booking_id="",
        client_id=owner["client_id"],
        contract_id=contract["contract_id"] if contract else None,
        kind="master" if master else "direct",
        product=product,
        commodity=commodity[0],
        origin="",
        destination="",
        shipper_name=owner["name"] if own else f"{rng.choice(data.SHIPPER_STEMS)} Works",
        consignee_name=f"{rng.choice(data.CONSIGNEE_STEMS)} {rng.choice(data.CONSIGNEE_TRADES)}",
        notify_name=f"{rng.choice(data.CONSIGNEE_STEMS)} Brokers" if draft.chance(0.4) else None,
        goods="Consolidation as per list" if master else commodity[1],
        temp_range="none",
        pieces=pieces,
        weight_grams=weight,
        volume_l=volume,
        chargeable_grams=chargeable_grams(weight, volume, contract["divisor"] if contract else 6000, product),
        declared_value_cents=rng.randint(10, 160) * 1_000_00 if valued else None,
        status=state,
        hold=rng.choice(("customs", "client", "unpaid")) if state == "arrived" and draft.chance(0.12) else "none",
        issued_on="",
        arrived_on=None,
        delivered_on=None,
        released_to=None,
        release_pin_hash=hashed(awb, release_pin_of(awb)),
    )


def _goods(draft: Draft, stops: list[str], legs: list[Row]) -> tuple[tuple[str, str, str, str], str]:
    """A commodity that every station and aircraft of the journey takes, and its temperature range."""
    while True:
        commodity = draft.rng.choice(data.COMMODITIES)
        temp = temperature(draft, commodity[2], stops, legs)
        if temp is not None:
            return commodity, temp


def _booking(
    draft: Draft, state: str, owner: Row, commodity: tuple[str, str, str, str], stops: list[str], legs: list[Row],
    contract: Row | None, amounts: tuple[int, int, int],
) -> str:  # fmt: skip
    done = state in ("arrived", "delivered")
    status = "cancelled" if state == "void" else "flown" if done else "confirmed"
    medical = commodity[0] in ("vaccines", "blood_products", "lab_samples")
    booking_id = draft.id("bookings")
    draft.add(
        "bookings",
        booking_id=booking_id,
        client_id=owner["client_id"],
        product=commodity[2],
        commodity=commodity[0],
        origin=stops[0],
        destination=stops[-1],
        pieces=amounts[0],
        weight_grams=amounts[1],
        volume_l=amounts[2],
        status=status,
        priority="must_ride" if contract and medical and draft.chance(0.5) else "standard",
        contract_id=contract["contract_id"] if contract else None,
        discount_percent=0,
        container_id=None,
        booked_at=f"{min(_day(legs[0]['departs_at'], -draft.rng.randint(3, 9)), '2026-05-10')}T{draft.rng.randint(8, 16):02d}:20:00",
    )
    for number, flight in enumerate(legs, 1):
        flown = flight["status"] == "departed"
        leg = "cancelled" if status == "cancelled" else "flown" if flown else "booked"
        draft.add("booking_legs", booking_id=booking_id, leg_no=number, flight_id=flight["flight_id"], status=leg)
    return booking_id


def _contract(draft: Draft, client_id: str, issued: str) -> Row | None:
    """The contract that counted on the day of issue, or None."""
    valid = [
        row for row in draft.rows["contracts"]
        if row["client_id"] == client_id and row["status"] != "draft" and row["valid_from"] <= issued <= row["valid_to"]
    ]  # fmt: skip
    return max(valid, key=lambda row: row["valid_from"]) if valid else None


def _houses(draft: Draft, master: Row) -> None:
    """Split a master into two to four houses whose sums are exactly its own."""
    count = draft.rng.randint(2, min(4, master["pieces"]))
    pieces, weight = master["pieces"], master["weight_grams"]
    for left in range(count, 0, -1):
        part = pieces if left == 1 else max(1, pieces // left)
        grams = weight if left == 1 else weight * part // pieces // 1000 * 1000
        pieces, weight = pieces - part, weight - grams
        draft.add(
            "house_waybills",
            house_id=draft.id("house_waybills"),
            awb=master["awb"],
            shipper_name=f"{draft.rng.choice(data.SHIPPER_STEMS)} {draft.rng.choice(data.SHIPPER_TRADES)}",
            consignee_name=f"{draft.rng.choice(data.CONSIGNEE_STEMS)} {draft.rng.choice(data.CONSIGNEE_TRADES)}",
            goods=draft.rng.choice([row[1] for row in data.COMMODITIES if row[2] == "general"]),
            pieces=part,
            weight_grams=grams,
        )


_CODE_OF = {
    "perishable": "PER",
    "pharma": "PIL",
    "live_animals": "AVI",
    "cold": "COL",
    "controlled": "CRT",
    "frozen": "FRO",
}
"""Handling code of a product or a temperature range."""


def _handling(draft: Draft, row: Row, lines: list[Row]) -> None:
    codes = {_CODE_OF[key] for key in (row["product"], row["temp_range"]) if key in _CODE_OF}
    if any(line["piece_grams"] > 150_000 for line in lines):
        codes.add("HEA")
    if any(line["length_cm"] > 300 for line in lines):
        codes.add("BIG")
    if (row["declared_value_cents"] or 0) > 100_000_00:
        codes.add("VAL")
    declared = [one for one in draft.rows["dg_declarations"] if one["awb"] == row["awb"]]
    if declared and declared[0]["status"] == "accepted":
        codes |= {"DGR", "CAO"} if declared[0]["aircraft"] == "cargo_only" else {"DGR"}
    for code in sorted(codes):
        draft.add("waybill_handling", awb=row["awb"], code=code)


def _charges(draft: Draft, row: Row, contract: Row | None) -> None:
    """Freight with the contract's discount, and the surcharges of the day of issue."""
    if row["status"] in ("draft", "void"):
        return
    pair = (row["origin"], row["destination"], row["product"])
    found = [t for t in draft.rows["tariffs"] if (t["origin"], t["destination"], t["product"]) == pair]
    price = found[0]["cents_per_kg"] if found else 250
    least = found[0]["minimum_cents"] if found else 100_00
    discount = contract["discount_percent"] if contract else 0
    kilos, gross = row["chargeable_grams"] / 1000, row["weight_grams"] / 1000
    fuel = 55 if row["issued_on"] >= "2026-04-01" else 48
    amounts = {
        "freight": max(least, round(kilos * price * (100 - discount) / 100)),
        "fuel": round(kilos * fuel),
        "security": round(gross * 15),
        "waybill_fee": 18_00,
    }
    paid = row["status"] == "delivered" and draft.chance(0.8)
    for kind, cents in amounts.items():
        draft.add(
            "charges",
            charge_id=draft.id("charges"),
            awb=row["awb"],
            kind=kind,
            amount_cents=max(1, cents),
            waived_cents=0,
            status="paid" if paid else "open",
            approval_id=None,
            charged_on=row["issued_on"],
        )


def _track(draft: Draft, row: Row, legs: list[Row]) -> None:
    first, last = legs[0], legs[-1]
    moments = {
        "BKD": (row["origin"], f"{_day(first['departs_at'], -2)}T09:40:00"),
        "RCS": (row["origin"], _later(first["departs_at"], -300)),
        "DEP": (row["origin"], first["departs_at"]),
        "ARR": (row["destination"], last["arrives_at"]),
        "RCF": (row["destination"], _later(last["arrives_at"], 90)),
        "NFD": (row["destination"], _later(last["arrives_at"], 150)),
        "DLV": (row["destination"], f"{row['delivered_on']}T20:10:00"),
    }
    for number, code in enumerate(TRACKED[row["status"]], 1):
        station, at = moments[code]
        if at > NOW:
            at = "2026-05-11T08:05:00" if code != "BKD" else "2026-05-10T15:30:00"
        draft.add(
            "tracking_events",
            awb=row["awb"], event_no=number, code=code, station=station, pieces=row["pieces"], happened_at=at,
        )  # fmt: skip


def _day(moment: str, days: int) -> str:
    return (date.fromisoformat(moment[:10]) + timedelta(days=days)).isoformat()


def _later(moment: str, minutes: int) -> str:
    return (datetime.fromisoformat(moment) + timedelta(minutes=minutes)).isoformat()
