"""Which records a task is about, and the setup rows that put them into the state it needs.

The world is held out whole, so its clients need no dealing to splits. A shipment may appear in several tasks, each time
in another state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from journeyman.codec import seed_of
from journeyman.task import Scalar
from journeyman.world import World, setup

EVENTS = {
    "issued": ("BKD",),
    "accepted": ("BKD", "RCS"),
    "in_transit": ("BKD", "RCS", "DEP"),
    "arrived": ("BKD", "RCS", "DEP", "ARR", "RCF", "NFD"),
    "delivered": ("BKD", "RCS", "DEP", "ARR", "RCF", "NFD", "DLV"),
}
"""The tracking events that a waybill of each status has."""
_AT_DESTINATION = frozenset({"ARR", "RCF", "NFD", "DLV"})


@dataclass(frozen=True)
class Shipment:
    """A waybill with its client, contract and booking. Weights in grams, volume in litres; `divisor` is the contract's, or 6000."""

    awb: str
    booking_id: str
    client_id: str
    client: str
    client_kind: str
    contract_id: str | None
    divisor: int
    kind: str
    product: str
    commodity: str
    origin: str
    destination: str
    consignee_name: str
    notify_name: str | None
    pieces: int
    weight_grams: int
    volume_l: int
    chargeable_grams: int
    status: str
    legs: int

    @property
    def digits(self) -> str:
        """The digits of the waybill number after the airline's prefix."""
        return self.awb.partition("-")[2]


@functools.lru_cache(maxsize=4)
def shipments(world: World) -> tuple[Shipment, ...]:
    """Every waybill of an active client that is neither a draft nor void, by number."""
    rows = world.query(
        "base",
        """SELECT w.awb, w.booking_id, w.client_id, c.name AS client, c.kind AS client_kind, w.contract_id,
                  coalesce(t.divisor, 6000) AS divisor, w.kind, w.product, w.commodity, w.origin, w.destination,
                  w.consignee_name, w.notify_name, w.pieces, w.weight_grams, w.volume_l, w.chargeable_grams, w.status,
                  (SELECT count(*) FROM booking_legs l WHERE l.booking_id = w.booking_id) AS legs
           FROM waybills w JOIN clients c USING (client_id) LEFT JOIN contracts t ON t.contract_id = w.contract_id
           WHERE c.status = 'active' AND w.status NOT IN ('draft', 'void') ORDER BY w.awb""",
        (),
    )
    return tuple(msgspec.convert(row, Shipment) for row in rows)


def pick(world: World, family: str, seed: int, fits: Callable[[Shipment], bool] = lambda _: True) -> Shipment:
    """The shipment of a task: families start at different places and walk through those that fit, in order of number.

    Raises:
        LookupError: no shipment fits.
    """
    pool = [one for one in shipments(world) if fits(one)]
    if not pool:
        raise LookupError(f"family {family}: no shipment of the image fits")
    return pool[(seed_of("airline_cargo", family) + seed) % len(pool)]


def look_alike(world: World, shipment: Shipment) -> Shipment:
    """The waybill that a careless clerk may take for this one: the number with fewest other digits, the nearest of those."""
    pool = [one for one in shipments(world) if one.awb != shipment.awb]
    return min(pool, key=lambda one: (_differences(one, shipment), abs(int(one.digits) - int(shipment.digits))))


def _differences(one: Shipment, other: Shipment) -> int:
    return sum(a != b for a, b in zip(one.digits, other.digits, strict=True))


def contact(world: World, client_id: str, role: str) -> str | None:
    """Name of the first person of a client with a role, or None."""
    rows = world.query(
        "base",
        "SELECT name FROM client_contacts WHERE client_id = ? AND role = ? ORDER BY contact_id LIMIT 1",
        (client_id, role),
    )
    return str(rows[0]["name"]) if rows else None


class Setup(setup.Setup):
    """Setup rows of a cargo task."""

    def put(self, shipment: Shipment, status: str, day: str = "2026-05-10", *, seen: int | None = None) -> None:
        """Put a shipment into a status, with the tracking events that belong to it.

        Args:
            day: date of the last event, and of arrival or delivery.
            seen: pieces of the last event, if not all.
        """
        arrived = status in ("arrived", "delivered")
        self.update(
            "waybills",
            {"awb": shipment.awb},
            status=status,
            hold="none",
            arrived_on=day if arrived else None,
            delivered_on=day if status == "delivered" else None,
            released_to=shipment.consignee_name if status == "delivered" else None,
        )
        had = self.world.query("base", "SELECT event_no FROM tracking_events WHERE awb = ?", (shipment.awb,))
        codes = EVENTS[status]
        for number in range(1, max(len(had), len(codes)) + 1):
            key: dict[str, Scalar] = {"awb": shipment.awb, "event_no": number}
            if number > len(codes):
                self.delete("tracking_events", key)
                continue
            code, last = codes[number - 1], number == len(codes)
            values: dict[str, Scalar] = {
                "code": code,
                "station": shipment.destination if code in _AT_DESTINATION else shipment.origin,
                "pieces": shipment.pieces if seen is None or not last else seen,
                "happened_at": f"{day}T{7 + number:02d}:10:00",
            }
            if number <= len(had):
                self.update("tracking_events", key, **values)
            else:
                self.insert("tracking_events", key, **values)
        flown = status in ("in_transit", "arrived", "delivered")
        for leg in range(1, shipment.legs + 1):
            leg_flown = flown and (leg == 1 or arrived)
            key = {"booking_id": shipment.booking_id, "leg_no": leg}
            self.update("booking_legs", key, status="flown" if leg_flown else "booked")
        self.update("bookings", {"booking_id": shipment.booking_id}, status="flown" if arrived else "confirmed")

    def close_cases(self, shipment: Shipment) -> None:
        """Close every case of the shipment's client, so that none of the image's own is in the way."""
        closed = {"status": "closed", "resolution": "done", "closed_at": "2026-05-08T17:00:00"}
        self.update_all("cases", "client_id = ? AND status != 'closed'", (shipment.client_id,), **closed)

    def pay_invoices(self, account_id: str) -> None:
        """Pay every open invoice of an account; its balance stays as it is."""
        unpaid = "SELECT * FROM invoices WHERE account_id = ? AND status != 'paid'"
        for row in self.world.query("base", unpaid, (account_id,)):
            key: dict[str, Scalar] = {"invoice_id": row["invoice_id"]}
            self.update("invoices", key, status="paid", paid_cents=row["total_cents"])

    def use_up_approvals(self, client_id: str, kind: str) -> None:
        """No approval of the image's own serves the client any more."""
        self.update_all("approvals", "client_id = ? AND kind = ?", (client_id, kind), status="used")

    def open_case(self, case_id: str, shipment: Shipment, kind: str, summary: str, day: str = "2026-05-10") -> None:
        """Add an open case about the shipment."""
        self.insert(
            "cases",
            {"case_id": case_id},
            client_id=shipment.client_id,
            awb=shipment.awb,
            kind=kind,
            priority="normal",
            status="open",
            resolution=None,
            summary=summary,
            opened_at=f"{day}T14:20:00",
            closed_at=None,
        )

    def charge(
        self, charge_id: str, awb: str, kind: str, cents: int, day: str = "2026-05-08", **values: Scalar
    ) -> None:
        """Add an open charge; `values` override columns such as status or waived_cents."""
        columns: dict[str, Scalar] = {"waived_cents": 0, "status": "open", "approval_id": None, **values}
        self.insert(
            "charges", {"charge_id": charge_id}, awb=awb, kind=kind, amount_cents=cents, charged_on=day, **columns
        )
