"""Setup rows of storage that has arisen on a shipment, and of the goodwill that its client was given or not in 12 months."""

from __future__ import annotations

from journeyman.worlds.airline_cargo.families import pair
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case
from journeyman.worlds.airline_cargo.families.freight import Freight, Line, contract, fly, ship
from journeyman.worlds.airline_cargo.families.waiver_approval import storage_cents

STORAGE, USED = "CH-8011", "CH-8012"
RECENT = ("2025-09-14", "2025-11-20", "2026-01-17", "2026-03-06")
"""Days within 12 months of the task's."""
RATE = 28
"""Storage at Kholan, in cents a kg and day."""


def stored(case: Case) -> tuple[Freight, int]:
    """A shipment arrived at KHL on FL-8002 with one day of storage, CH-8011, below the desk's limit; returns it with the cents.

    No storage of the client's other waybills was waived within 12 months.
    """
    flown = fly(case, "HVP", "KHL", "B74F", "2026-05-07T14:00:00", 660, number=2, status="departed")
    line = Line(4, 80, 60, 60, case.rng.randrange(50, 120, 5) * 1000)
    freight = ship(
        case, [flown], [line], commodity="electronics", contract_id=contract(case), status="arrived", day="2026-05-08",
        booked_at="2026-05-04T10:20:00",
    )  # fmt: skip
    # Arrived on the 8th, free on the 9th and the 10th: the 11th is charged.
    cents = storage_cents(1, freight.chargeable_grams, RATE)
    case.setup.charge(STORAGE, freight.awb, "storage", cents, DAY)
    ours = "kind = 'storage' AND awb IN (SELECT awb FROM waybills WHERE client_id = ?)"
    case.setup.update_all("charges", ours, (case.home.client_id,), charged_on="2024-10-15")
    return freight, cents


def given(case: Case, freight: Freight, day: str) -> str:
    """A second shipment, delivered on `day`, whose storage CH-8012 was waived then; returns its number."""
    flown, receiver = freight.flights[0], str(case.setup.row("waybills", awb=freight.awb)["consignee_name"])
    earlier = pair.second(
        case, freight, flown, Line(6, 80, 60, 60, 70_000), day=day, status="delivered", issued_on=day, arrived_on=day,
        delivered_on=day, released_to=receiver,
    )  # fmt: skip
    case.setup.charge(USED, earlier, "storage", 88_00, day, waived_cents=88_00, status="waived")
    return earlier
