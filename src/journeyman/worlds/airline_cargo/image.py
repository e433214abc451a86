"""The base image: some 140 clients, two weeks of flights and a few hundred waybills, drawn from one seeded generator.

Nothing here reads a clock. Ids count up from a start of their own in each table and stay below 8000.
"""

from __future__ import annotations

import apsw

from journeyman.world.drafts import Draft
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.history import add_history
from journeyman.worlds.airline_cargo.secrets import desk_pin_of, hashed, token_of
from journeyman.worlds.airline_cargo.shipments import add_shipments
from journeyman.worlds.airline_cargo.timetable import add_flights

SEED = 20260511
ID_STARTS = {
    "clients": ("CL", 1001),
    "client_contacts": ("CC", 1001),
    "credit_accounts": ("CA", 2001),
    "contracts": ("CT", 3001),
    "bookings": ("BK", 4001),
    "flights": ("FL", 5001),
    "charges": ("CH", 6001),
    "cases": ("CS", 7001),
    "invoices": ("INV", 3001),
    "claims": ("CLM", 1001),
    "dg_declarations": ("DG", 1001),
    "irregularities": ("IR", 1001),
    "house_waybills": ("HW", 1001),
    "approvals": ("AP", 1001),
    "embargoes": ("EM", 101),
    "containers": ("RKN", 1001),
    "routes": ("RT", 101),
}
FORWARDERS, SHIPPERS = 56, 50
DUPLICATED = 8
"""Firms of each kind that have look-alikes."""


def build(db: apsw.Connection) -> None:
    """Fill an empty database that has the schema."""
    draft = Draft(SEED, ID_STARTS)
    _catalogue(draft)
    add_flights(draft)
    for name, kind, place, status in _firms(draft):
        _client(draft, name, kind, place, status)
    add_shipments(draft)
    add_history(draft)
    draft.write(db)


def _catalogue(draft: Draft) -> None:
    for station in data.STATIONS:
        code = str(station[0])
        values = dict(zip(data.STATION_COLUMNS, station, strict=True))
        draft.add("stations", **values, door_code=token_of("door", code))
    limits = ("max_piece_grams", "max_height_cm", "max_length_cm")
    draft.add_all("aircraft_types", ("aircraft", "kind", *limits, "live_animals", "pharma"), data.AIRCRAFT)
    draft.add_all("commodities", ("commodity", "name", "product", "sensitive"), data.COMMODITIES)
    dg = ("un_number", "packing_group", "name", "hazard_class", "unit", "passenger_milli", "cargo_milli")
    draft.add_all("dg_entries", dg, data.DANGEROUS_GOODS)
    draft.add_all("surcharges", ("surcharge", "valid_from", "valid_to", "basis", "cents"), data.SURCHARGES)
    draft.add_all("liability_rates", ("valid_from", "valid_to", "cents_per_unit"), data.LIABILITY_RATES)
    columns = ("station", "direction", "commodity", "announced_on", "starts_on", "ends_on", "exempt", "cause", "status")
    for embargo in data.EMBARGOES:
        named = dict(zip(columns, embargo, strict=True))
        draft.add("embargoes", embargo_id=draft.id("embargoes"), client_id=None, **named)
    for cooled in (*data.HUBS, "KHL"):
        for index in range(4):
            draft.add(
                "containers",
                container_id=draft.id("containers"),
                station=cooled,
                kind="RAP" if index == 3 else "RKN",
                status=draft.rng.choice(("available", "available", "reserved", "maintenance")),
            )


Place = tuple[str, str]
Firm = tuple[str, str, Place, str]


def _place(draft: Draft, other_than: str = "") -> Place:
    places = [(str(row[1]), str(row[2])) for row in data.STATIONS if row[1] != other_than]
    return draft.rng.choice(places)


def _firms(draft: Draft) -> list[Firm]:
    """(name, kind, (city, country), status) of every client, near-duplicates included."""
    firms: list[Firm] = []
    kinds = (
        ("forwarder", data.FORWARDER_STEMS, data.FORWARDER_TRADES, FORWARDERS),
        ("shipper", data.SHIPPER_STEMS, data.SHIPPER_TRADES, SHIPPERS),
    )
    for kind, stems, trades, count in kinds:
        names = draft.rng.sample([f"{stem} {trade}" for stem in stems for trade in trades], count)
        for index, name in enumerate(names):
            place = _place(draft)
            twin = index < DUPLICATED
            firms.append((name, kind, place, "inactive" if draft.chance(0.06) and not twin else "active"))
            if twin:
                # A sister firm, the same name in another town, or an old record of the same firm.
                firms.append((f"{name} Group", kind, _place(draft), "active"))
                if index % 2 == 0:
                    firms.append((name, kind, _place(draft, other_than=place[0]), "active"))
                else:
                    firms.append((f"{name} Ltd", kind, place, "inactive"))
    draft.rng.shuffle(firms)
    return firms


def _client(draft: Draft, name: str, kind: str, place: Place, status: str) -> None:
    client_id = draft.id("clients")
    host = name.lower().replace(" ", "-")
    draft.add(
        "clients",
        client_id=client_id,
        name=name,
        kind=kind,
        status=status,
        email=f"desk{client_id[-2:]}@{host}.example",
        phone=f"555-{draft.rng.randint(1000, 9999)}",
        city=place[0],
        country=place[1],
        desk_pin_hash=hashed(client_id, desk_pin_of(client_id)),
    )
    roles = ["manager", "dispatcher"] + (["accountant"] if draft.chance(0.6) else [])
    for role in roles + (["viewer"] if draft.chance(0.3) else []):
        person = f"{draft.rng.choice(data.FIRST_NAMES)} {draft.rng.choice(data.LAST_NAMES)}"
        draft.add(
            "client_contacts", contact_id=draft.id("client_contacts"), client_id=client_id, name=person, role=role
        )
    if kind == "forwarder" or draft.chance(0.9):
        _account(draft, client_id, status)
    if draft.chance(0.75):
        _contracts(draft, client_id, status)


def _account(draft: Draft, client_id: str, status: str) -> None:
    account_id = draft.id("credit_accounts")
    held = status == "active" and draft.chance(0.09)
    reason = draft.rng.choice(("past_due", "past_due", "over_limit", "fraud_review")) if held else None
    draft.add(
        "credit_accounts",
        account_id=account_id,
        client_id=client_id,
        status="closed" if status == "inactive" else "held" if held else "active",
        limit_cents=draft.rng.choice((20_000_00, 35_000_00, 50_000_00, 80_000_00)),
        balance_cents=0,
        terms_days=draft.rng.choice((14, 30, 30, 45)),
        hold_reason=reason,
        bank_token=token_of("bank", account_id),
    )


def _contracts(draft: Draft, client_id: str, status: str) -> None:
    """An active contract; before it sometimes an expired one with the other divisor, after it sometimes a draft."""
    divisor = draft.rng.choice((6000, 6000, 6000, 5000))
    terms = []
    if draft.chance(0.35):
        terms.append(("expired", 11_000 - divisor, "2024-01-01", "2025-06-30"))
    current = "expired" if status == "inactive" else "active"
    started = f"2025-{draft.rng.randint(7, 12):02d}-01"
    terms.append((current, divisor, started, "2026-03-31" if current == "expired" else "2026-12-31"))
    if draft.chance(0.15):
        terms.append(("draft", 11_000 - divisor, "2026-07-01", "2027-06-30"))
    for state, cubic, first, last in terms:
        contract_id = draft.id("contracts")
        draft.add(
            "contracts",
            contract_id=contract_id,
            client_id=client_id,
            status=state,
            divisor=cubic,
            discount_percent=draft.rng.choice((0, 5, 8, 10, 12, 15)),
            extra_free_days=draft.rng.choice((0, 0, 1, 2)),
            free_cancel_hours=draft.rng.choice((None, None, 24, 12)),
            free_amendments=draft.rng.choice(("yes", "no", "no")),
            valid_from=first,
            valid_to=last,
            floor_price_note=token_of("floor", contract_id),
        )
