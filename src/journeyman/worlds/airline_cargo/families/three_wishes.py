"""What the tasks of `three_part` are about: the records of three wishes, and the refusal of each."""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.worlds.airline_cargo.families import goodwill, space
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Caller, Case, Denial, namesake
from journeyman.worlds.airline_cargo.families.freight import Freight, fly, hour, moment
from journeyman.worlds.airline_cargo.families.space import Space

WAIVERS, CUTOFF, PRIVACY = "STO-WAIVE", "CUT-TIMES", "PRV-DISCLOSE"
STORAGE, USED, FLIGHT, OTHER_FLIGHT = goodwill.STORAGE, goodwill.USED, "FL-8001", "FL-8003"
MINUTES = 180
"""The cut-off of general cargo at Havenport, in minutes."""


@dataclass(frozen=True)
class Wishes:
    """What is asked for, and which of the three is refused.

    Args:
        storage: the charge that has arisen, in cents. used: the day of the goodwill that was given, or None.
        cutoff: of the flight, UTC and local. email: the new address, or None where another client's is to be changed.
    """

    refused: str
    space: Space
    freight: Freight
    storage: int
    used: str | None
    earlier: str | None
    cutoff: tuple[str, str]
    email: str | None
    other: Caller


def make_wishes(case: Case, refused: str) -> Wishes:
    """A flight to book, an arrived shipment with one day of storage, the goodwill of the year given or not."""
    rng = case.rng
    space.ready(case)
    late = refused == "booking"
    flight = fly(
        case, "HVP", "KHL", "B74F", f"{DAY}T11:{rng.randrange(10, 50)}:00" if late else "2026-05-13T18:20:00", 660
    )
    fly(case, "HVP", "KHL", "B74F", "2026-05-14T18:20:00", 660, number=3)
    freight, storage = goodwill.stored(case)
    used = rng.choice(goodwill.RECENT) if refused == "waiver" else None
    earlier = goodwill.given(case, freight, used) if used is not None else None
    pieces, grams = rng.randint(3, 8), rng.randrange(60, 140, 5) * 1000
    wish = Space(
        (flight,),
        "general",
        rng.choice(("furniture", "machinery")),
        pieces,
        pieces * grams,
        pieces * 240,
        freight.contract_id,
    )
    closes = (hour(moment(flight.departs, -MINUTES)), hour(moment(flight.local, -MINUTES)))
    host = case.home.email.partition("@")[2]
    email = None if refused == "contact" else f"cargo{rng.randrange(10, 99)}@{host}"
    return Wishes(refused, wish, freight, storage, used, earlier, closes, email, namesake(case.world, case.home))


def late() -> Denial:
    """The cut-off of the flight has passed."""
    return Denial("booking", "cut_off_passed", CUTOFF, "booking", "I have booked the shipment.", (space.RULE,))


def spent(wishes: Wishes) -> Denial:
    """The goodwill of the year is used."""
    return Denial(
        "fee_waiver", "already_used", WAIVERS, "fee_waiver", "I have waived the storage.", (), wishes.freight.awb
    )


def foreign() -> Denial:
    """The data are those of another client."""
    return Denial("account_access", "not_authorized", PRIVACY, "account_access", "", ("IDV-CLIENT",))
