"""The base image: some 240 customers with everything that hangs on them, drawn from one seeded generator.

Nothing here reads a clock. Ids count up from a start of their own in each table and stay below 8000.
"""

from __future__ import annotations

from typing import Any

import apsw

from journeyman.world.drafts import Draft
from journeyman.world.secrets import CANARY
from journeyman.worlds.telecom import catalogue as data
from journeyman.worlds.telecom.history import add_history
from journeyman.worlds.telecom.invoicing import add_invoices
from journeyman.worlds.telecom.secrets import hashed, pin_of, port_pin_of

SEED = 20260302
ID_STARTS = {
    "customers": ("C", 1001),
    "accounts": ("A", 2001),
    "lines": ("LN", 1001),
    "invoices": ("INV", 3001),
    "payments": ("PAY", 4001),
    "payment_methods": ("PM", 5001),
    "tickets": ("TK", 6001),
}
PERSONAL, BUSINESS = 192, 48


def build(db: apsw.Connection) -> None:
    """Fill an empty database that has the schema."""
    draft = Draft(SEED, ID_STARTS)
    _catalogue(draft)
    phones = [f"555-{number:04d}" for number in range(100, 10_000)]
    draft.rng.shuffle(phones)
    for name, kind, place, status in _people(draft):
        _customer(draft, phones, name, kind, place, status)
    add_invoices(draft)
    add_history(draft)
    draft.write(db)


def _catalogue(draft: Draft) -> None:
    plan = ("plan_id", "name", "kind", "monthly_cents", "data_gb", "hotspot", "status")
    draft.add_all("plans", plan, data.PLANS)
    draft.add_all("addons", ("addon_id", "name", "monthly_cents", "status"), data.ADDONS)
    promotion = ("promotion_id", "name", "audience", "discount_cents", "months", "ends_on")
    draft.add_all("promotions", promotion, data.PROMOTIONS)
    for index, (city, _, _) in enumerate(data.CITIES):
        for part, technology in enumerate(("4G", "5G")):
            status = "down" if (index, part) == (3, 1) else "degraded" if (index, part) == (6, 0) else "up"
            draft.add("cells", cell_id=f"CL-{index + 1}{part + 1}", city=city, technology=technology, status=status)


Place = tuple[str, str, str]
Person = tuple[str, str, Place, str]


def _people(draft: Draft) -> list[Person]:
    """(name, kind, (street, city, postcode), status) of every customer, near-duplicates included."""
    rng = draft.rng
    pairs = [f"{first} {last}" for first in data.FIRST_NAMES for last in data.LAST_NAMES]
    names = rng.sample(pairs, PERSONAL - 24)
    people: list[Person] = []
    for name in names:
        people.append((name, "personal", _place(draft), "inactive" if draft.chance(0.06) else "active"))
    for name, _, place, _ in list(people[:24:3]):
        # The same name in another town; a relative at the same address; an old record of the same person.
        people.append((name, "personal", _place(draft, other_than=place[1]), "active"))
        relative = f"{rng.choice(data.FIRST_NAMES)} {name.split()[1]}"
        people.append((relative, "personal", place, "active"))
        people.append((_as_once_written(name), "personal", place, "inactive"))
    firms = [f"{stem} {trade}" for stem in data.BUSINESS_STEMS for trade in data.BUSINESS_TRADES]
    for index, firm in enumerate(rng.sample(firms, BUSINESS - 10)):
        place = _place(draft)
        people.append((firm, "business", place, "inactive" if draft.chance(0.05) else "active"))
        if index < 5:
            people.append((f"{firm} Group", "business", _place(draft), "active"))
            people.append((f"{firm} Ltd", "business", place, "active"))
    rng.shuffle(people)
    return people


def _place(draft: Draft, other_than: str = "") -> Place:
    city, stem, streets = draft.rng.choice([place for place in data.CITIES if place[0] != other_than])
    return f"{draft.rng.randint(1, 140)} {draft.rng.choice(streets)}", city, f"{stem}{draft.rng.randint(100, 999)}"


def _as_once_written(name: str) -> str:
    """The name as an old record has it: with a double letter typed once, else with an initial only."""
    for index in range(len(name) - 1, 0, -1):
        if name[index] == name[index - 1]:
            return name[:index] + name[index + 1 :]
    first, last = name.split()
    return f"{first[0]}. {last}"


def _customer(draft: Draft, phones: list[str], name: str, kind: str, place: Place, status: str) -> None:
    customer_id = draft.id("customers")
    host = "mailbox.example" if kind == "personal" else "work.example"
    street, city, postcode = place
    owner = draft.add(
        "customers",
        customer_id=customer_id,
        name=name,
        kind=kind,
        status=status,
        email=f"{name.lower().replace('.', '').replace(' ', '.')}{customer_id[-2:]}@{host}",
        phone="",
        street=street,
        city=city,
        postcode=postcode,
        marketing=draft.rng.choice(("yes", "no")),
        pin_hash=hashed(customer_id, pin_of(customer_id)),
    )
    if status == "inactive":
        states = ["closed"]
    else:
        states = ["suspended" if draft.chance(0.06) else "active"]
        if draft.chance(0.08 if kind == "personal" else 0.2):
            states.append("closed" if draft.chance(0.6) else "active")
    for state in states:
        _account(draft, phones, owner, state)
    first = next(row for row in draft.rows["lines"] if row["account_id"] == _first_account(draft, customer_id))
    owner["phone"] = phones.pop() if draft.chance(0.1) else first["phone"]


def _first_account(draft: Draft, customer_id: str) -> str:
    return next(str(row["account_id"]) for row in draft.rows["accounts"] if row["customer_id"] == customer_id)


def _account(draft: Draft, phones: list[str], owner: dict[str, Any], status: str) -> None:
    account_id = draft.id("accounts")
    opened = draft.date(2019, 2024)
    draft.add(
        "accounts",
        account_id=account_id,
        customer_id=owner["customer_id"],
        status=status,
        balance_cents=0,
        cycle_day=draft.rng.choice((1, 5, 8, 12, 15, 20, 24)),
        autopay="on" if draft.chance(0.3) and status == "active" else "off",
        billing="email" if draft.chance(0.7) else "paper",
        opened_on=opened,
        closed_on=draft.date(2025, 2025) if status == "closed" else None,
    )
    _contacts(draft, account_id, owner)
    _methods(draft, account_id, owner["kind"])
    count = draft.rng.choices((1, 2, 3, 4), (62, 28, 8, 2) if owner["kind"] == "personal" else (30, 40, 20, 10))[0]
    for _ in range(count):
        _line(draft, phones.pop(), account_id, owner["kind"], status, opened)


def _contacts(draft: Draft, account_id: str, owner: dict[str, Any]) -> None:
    limit = 500_00 if owner["kind"] == "personal" else 2_000_00
    entries = [(owner["name"], "owner", limit)]
    if owner["kind"] == "business" or draft.chance(0.3):
        last = owner["name"].split()[-1] if owner["kind"] == "personal" else draft.rng.choice(data.LAST_NAMES)
        role = draft.rng.choice(("payer", "manager", "viewer"))
        limits = {"payer": 150_00, "manager": 300_00, "viewer": 0}
        entries.append((f"{draft.rng.choice(data.FIRST_NAMES)} {last}", role, limits[role]))
    for name, role, most in entries:
        draft.add(
            "account_contacts",
            contact_id=draft.id("account_contacts", "CT"),
            account_id=account_id,
            name=name,
            role=role,
            payment_limit_cents=most,
        )


def _methods(draft: Draft, account_id: str, kind: str) -> None:
    rng = draft.rng
    count = rng.choices((0, 1, 2, 3), (6, 40, 38, 16))[0]
    for index in range(count):
        method_id = draft.id("payment_methods")
        bank = draft.chance(0.25)
        state = rng.choices(("active", "stale", "expired", "blocked"), (76, 8, 9, 7))[0]
        late = state in ("stale", "expired")
        expires = f"2025-{rng.randint(3, 12):02d}" if late else f"{rng.randint(2026, 2029)}-{rng.randint(4, 12):02d}"
        draft.add(
            "payment_methods",
            method_id=method_id,
            account_id=account_id,
            kind="bank" if bank else "card",
            brand=rng.choice(data.BANKS if bank else data.CARD_BRANDS),
            last4=f"{rng.randint(1000, 9999)}",
            expires=None if bank else expires,
            is_default=int(index == 0),
            status="active" if state == "stale" or (bank and late) else state,
            limit_cents=rng.choice((300_00, 500_00, 800_00)) if kind == "personal" else 2_500_00,
            card_token=f"{CANARY}tok{rng.getrandbits(48):012x}",
        )


def _line(draft: Draft, phone: str, account_id: str, kind: str, account_status: str, opened: str) -> None:
    rng = draft.rng
    line_id = draft.id("lines")
    status, reason = account_status, None
    if account_status == "suspended":
        reason = "nonpayment"
    elif account_status == "active":
        status = rng.choices(("active", "suspended", "closed"), (90, 6, 4))[0]
        reason = rng.choice(("lost", "stolen", "vacation")) if status == "suspended" else None
    choices = [plan for plan in data.PLANS if plan[2] == kind]
    plan = rng.choices(choices, [2 if choice[6] == "current" else 1 for choice in choices])[0]
    activated = max(opened, draft.date(2021, 2025))
    term = draft.chance(0.4) and status != "closed"
    draft.add(
        "lines",
        line_id=line_id,
        account_id=account_id,
        phone=phone,
        plan_id=plan[0],
        status=status,
        suspend_reason=reason,
        roaming="on" if draft.chance(0.35) else "off",
        voicemail="on" if draft.chance(0.7) else "off",
        data_cap="on" if draft.chance(0.4) else "off",
        call_barring="on" if draft.chance(0.2) else "off",
        wifi_calling="on" if draft.chance(0.5) else "off",
        activated_on=activated,
        contract_end=f"2026-{rng.randint(4, 12):02d}-{rng.randint(1, 28):02d}" if term else None,
        used_gb=rng.randint(0, plan[4] + 2) if status == "active" else 0,
        port_pin_hash=hashed(line_id, port_pin_of(line_id)),
    )
    if status != "closed" and draft.chance(0.35):
        addon = rng.choices(data.ADDONS, (4, 3, 4, 3, 3, 1))[0]
        draft.add(
            "line_addons", line_id=line_id, addon_id=addon[0], added_at=f"{max(activated, '2025-03-01')}T10:00:00"
        )
    draft.add(
        "sims",
        sim_id=draft.id("sims", "SIM"),
        line_id=line_id,
        kind=rng.choice(("physical", "esim")),
        status="blocked" if reason in ("lost", "stolen") else "active",
        puk=f"{CANARY}puk{rng.getrandbits(32):08x}",
    )
    if draft.chance(0.55):
        bought = max(activated, draft.date(2023, 2025))
        months = (2026 - int(bought[:4])) * 12 + 3 - int(bought[5:7])
        draft.add(
            "devices",
            device_id=draft.id("devices", "DV"),
            line_id=line_id,
            model=rng.choice(data.DEVICES),
            purchased_on=bought,
            remaining_cents=max(0, 24 - months) * 20_00,
            status="lost" if reason in ("lost", "stolen") else "in_use",
        )
