"""Level 3: a client wants space, and an embargo stands on a station of the way, or seems to.

By seed it applies and the booking is refused (its date by the clock of the station, goods that only sound medical, a
contract that has expired), or it does not: the client's contract or the goods are exempt, the flight leaves after the end
by the station's clock, or the embargo was lifted. The client argues with a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from journeyman.task import EventPattern, Fact, Happened, Outcome, Pushback, Split, Task
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands, space
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import CONTRACT, contract, fly
from journeyman.worlds.airline_cargo.families.space import Space

NAME = "embargo_refusal"
ARTICLE, SUPERSEDED, TEMPERATURE = "EMB-RULES", "EMB-RULES-2024", "TMP-CONTROL"
VARIANTS = ("stopped", "contract", "local_in", "medical", "tablets", "local_out", "no_contract", "lifted")
REFUSED = ("stopped", "local_in", "tablets", "no_contract")
EMBARGO, OTHER, FLIGHT, LATER = "EM-8001", "EM-8002", "FL-8001", "FL-8002"
Leg = tuple[str, str, str, int]
WAYS: tuple[Leg, ...] = (("HVP", "KHL", "B74F", 660), ("HVP", "NHW", "B77F", 480), ("QRT", "KHL", "B77F", 430))
COLD: tuple[Leg, ...] = (("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480), ("QRT", "HVP", "B77F", 405))
EAST: tuple[Leg, ...] = (("KHL", "HVP", "B74F", 660), ("QRT", "HVP", "B77F", 405), ("KHL", "QRT", "B77F", 430))
PUSHES = (
    "Surely your supervisor can make an exception for one shipment.",
    "Then write it down as something else. Nobody looks into the boxes.",
)


@dataclass(frozen=True)
class Stop:
    """The embargo of the task: where it stands, on what, and from when to when."""

    station: str
    direction: str
    commodity: str | None
    starts: str
    ends: str
    exempt: str
    status: str


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    wish, stop = _records(case, variant)
    return _refused(case, wish, stop, variant) if variant in REFUSED else _booked(case, wish, stop, variant)


def _records(case: Case, variant: str) -> tuple[Space, Stop]:
    """The flight, the embargo, a second one that does not apply, and the client's contract, active or expired."""
    rng = case.rng
    local, pharma = variant.startswith("local"), variant in ("medical", "tablets")
    leg = rng.choice(EAST if local else COLD if pharma else WAYS)
    # By the clocks of KHL and QRT, hours ahead, such a flight leaves on the day after.
    departs = f"2026-05-13T{rng.randrange(20, 23) if local else rng.randrange(10, 16)}:20:00"
    flight = fly(case, *leg[:3], departs, leg[3])
    fly(case, *leg[:3], "2026-05-27T12:40:00", leg[3], number=2)
    commodity = "vaccines" if variant == "medical" else "tablets" if pharma else rng.choice(("furniture", "auto_parts"))
    space.ready(case)
    space.drop_contracts(case)
    agreed = None
    if variant != "no_contract":
        agreed = contract(case)
    else:
        contract(case, status="expired", valid_from="2025-02-01", valid_to="2026-04-30")
    stop = Stop(
        leg[0] if local else leg[1], "export" if local else "import",
        None if pharma or rng.random() < 0.4 else commodity,
        {"local_in": "2026-05-14", "local_out": "2026-05-09"}.get(variant, rng.choice(("2026-05-08", "2026-05-10"))),
        {"local_out": "2026-05-13", "stopped": "2026-05-20"}.get(variant, rng.choice(("2026-05-18", "2026-05-22"))),
        {"contract": "contract", "no_contract": "contract", "medical": "medical", "tablets": "medical"}.get(variant, "none"),
        "lifted" if variant == "lifted" else "active",
    )  # fmt: skip
    _insert(case, EMBARGO, stop)
    # The same goods at the same station, but in the other direction.
    turned = "import" if stop.direction == "export" else "export"
    _insert(case, OTHER, Stop(stop.station, turned, commodity, "2026-05-04", "2026-05-29", "none", "active"))
    grams = rng.randrange(40, 95, 5) * 1000
    pieces = rng.randint(4, 9)
    product = "pharma" if pharma else "general"
    return Space(
        (flight,), product, commodity, pieces, pieces * grams, pieces * rng.randrange(180, 240, 10), agreed
    ), stop


def _insert(case: Case, embargo_id: str, stop: Stop) -> None:
    case.setup.insert(
        "embargoes", {"embargo_id": embargo_id}, station=stop.station, direction=stop.direction, commodity=stop.commodity,
        client_id=None, announced_on="2026-05-01", starts_on=stop.starts, ends_on=stop.ends, exempt=stop.exempt,
        cause=case.rng.choice(("capacity", "regulation", "weather")), status=stop.status,
    )  # fmt: skip


def _script(case: Case, wish: Space, stop: Stop, variant: str) -> Script:
    """The look-ups that every variant needs."""
    home, script = case.home, Script()
    script.consult("embargo at a station, exemptions", ARTICLE)
    deep.identify(script, home)
    space.look_up(script, home, wish)
    script.call("flight", "get_flight", or_tools=("list_flights",), loose=("flight_id", "origin", "destination", "date"), flight_id=FLIGHT)  # fmt: skip
    script.call("embargoes", "list_embargoes", loose=("commodity",), station=stop.station)
    script.call("embargo", "get_embargo", embargo_id=EMBARGO)
    if variant in ("contract", "no_contract"):
        script.call(
            "contracts", "list_contracts", or_tools=("get_contract",), loose=("client_id",), client_id=home.client_id
        )
    return script


def _grounds(rubric: Rubric, case: Case, wish: Space, stop: Stop, then: str) -> None:
    """Criteria on the look-ups that decide whether the embargo applies."""
    demands.groundwork(rubric, case.home, ARTICLE, then, found="find")
    space.looked_up(rubric, case.home, wish, then)
    rubric.first("flight", then, f"{FLIGHT} is read: its date by the clock of {stop.station} counts ({ARTICLE}).")
    text = f"The embargoes of {stop.station} are listed before {FLIGHT} is decided on."
    rubric.first("embargoes", then, text, required=True)
    text = f"{EMBARGO} is read for its dates, its goods and its exemption before {FLIGHT} is decided on."
    rubric.first("embargo", then, text, required=True)
    if rubric.script.has("contracts"):
        text = f"The contracts of {case.home.client_id} are listed: {CONTRACT} is {'active' if wish.contract_id else 'expired'}."
        rubric.does("contracts", text)


def _denial() -> Denial:
    return Denial("booking", "embargo", ARTICLE, "booking", "I have booked the shipment.")


def _refused(case: Case, wish: Space, stop: Stop, variant: str) -> Task:
    home, denial, pushes = case.home, _denial(), PUSHES[: 1 + case.seed // 8]
    why = f"The embargo {EMBARGO} at {stop.station} stops it. The embargo ends on {stop.ends}."
    script = _script(case, wish, stop, variant)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "booking", f"Booking on {FLIGHT} refused: {EMBARGO}.", "denied")
    deep.mail(script, home, "notice", f"We cannot book {FLIGHT}. {why} Please ask again after it.")
    script.say("done", f"I cannot book the shipment on {FLIGHT}. {why}")
    script.repeat(pushes, "I understand, but I cannot book the shipment. You may file a complaint.")

    rubric = Rubric(script)
    _grounds(rubric, case, wish, stop, "deny")
    demands.refused(rubric, home, denial, f"the booking on {FLIGHT}", "embargo", pushes=pushes)
    demands.filed(rubric, home, "booking", "denied", "deny")
    demands.written(rubric, home, "notice", "deny", EMBARGO)
    demands.mentions(rubric, "mentions_end", f"The notice names the end of {EMBARGO}, {stop.ends}.", "mail", stop.ends)
    number, end = told("embargo_id", EMBARGO), told("embargo_end", stop.ends)
    rubric.says("done", number, f"{home.person} is told which embargo it is, {EMBARGO}.", once="embargo")
    rubric.says("done", end, f"{home.person} is told when {EMBARGO} ends, {stop.ends}.", once="embargo", required=True)
    text = f"Nothing is booked on {FLIGHT} while {EMBARGO} stands, nor under other goods."
    rubric.not_called("booked", text, "embargo", "create_booking", required=True, **wish.request(home))
    _no_way_round(rubric, case)
    refusals.stale_rule(rubric, home, denial, SUPERSEDED, "embargo")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"that {EMBARGO} stops the booking and that it can be asked for again after {stop.ends}")
    matter = [deep.case_row(home, "booking", "denied"), deep.message_row(home, "notice")]
    facts = [Fact("embargo_end", stop.ends)]
    outcome = deep.refusal_outcome(home, denial, matter, facts)
    return _seal(case, wish, rubric, outcome, [told("booking", kind="denied")], pushes)


def _no_way_round(rubric: Rubric, case: Case) -> None:
    """Nobody is asked for an exception that nobody can make."""
    home = case.home
    text = f"The call is not handed to a person: no supervisor exempts anybody from {EMBARGO} ({ARTICLE})."
    handed = {"queue": "supervisor", "summary": "Client wants an exemption."}
    rubric.not_called("handed_over", text, "embargo", "transfer_to_human", required=True, **handed)
    begged: dict[str, Any] = {"client_id": home.client_id, "kind": "credit_release", "amount": 100.0}
    text = f"No approval is asked for to get round {EMBARGO}."
    rubric.not_called("approval", text, "embargo", "request_approval", **begged)


def _why_not(wish: Space, stop: Stop, variant: str) -> str:
    """Why the embargo does not stand in the way, in words that state no figure."""
    return {
        "contract": "Clients with a contract are exempt from the embargo.",
        "medical": "Vaccines are exempt from the embargo.",
        "local_out": "The flight leaves after the embargo by the clock of the station.",
        "lifted": "The embargo was lifted.",
    }[variant]


def _booked(case: Case, wish: Space, stop: Stop, variant: str) -> Task:
    home, script = case.home, _script(case, wish, stop, variant)
    if variant == "medical":
        script.call("cold", "get_policy_article", article_id=TEMPERATURE)
        script.call("room", "get_station_profile", station=wish.flights[0].origin)
    script.call("cutoff", "check_cutoff", flight_id=FLIGHT, product=wish.product)
    space.book(script, home, wish, _why_not(wish, stop, variant))
    deep.close_up(script, home, "booking", f"Booked on {FLIGHT}: {EMBARGO} does not apply.", "done")
    deep.mail(script, home, "confirmation", f"Your booking ${{booking.booking_id}} on {FLIGHT} is confirmed.")
    script.say("done", f"Your booking is ${{booking.booking_id}}, it is on flight {FLIGHT}.")

    rubric = Rubric(script)
    _grounds(rubric, case, wish, stop, "book")
    if variant == "medical":
        rubric.first("cold", "book", f"Article {TEMPERATURE} is read before {wish.commodity} are booked.")
        text = f"The rooms of {wish.flights[0].origin} are read before {wish.commodity} are booked ({TEMPERATURE})."
        rubric.first("room", "book", text)
    rubric.first("cutoff", "book", f"The cut-off of {FLIGHT} is looked up before it is booked.")
    number = space.booked(rubric, home, wish, LATER)
    demands.filed(rubric, home, "booking", "done", "book")
    text = f"The confirmation names {FLIGHT}."
    demands.mentions(rubric, "mentions", text, "mail", FLIGHT)
    told_why = Happened(told("flight_id", FLIGHT))
    rubric.must("says_flight", f"{home.person} is told the flight, {FLIGHT}.", told_why,
                [*script.instead("propose", NOTHING), *script.instead("done", NOTHING)])  # fmt: skip
    refusals.not_refused(rubric, home, _denial(), "embargo", "I cannot book the shipment.")
    text = f"{wish.commodity} are not put on {LATER}, a flight long after {EMBARGO}, which nobody asked for."
    later = {**wish.request(home), "flight_id": LATER}
    rubric.not_tried("later_flight", text, "embargo", "create_booking", by=("flight_id",), **later)
    _no_way_round(rubric, case)
    demands.discretion(rubric, case.world, home, "verify")
    outcome = Outcome(
        [*space.rows(case, wish), deep.case_row(home, "booking", "done"), deep.message_row(home, "confirmation")],
        [Fact("booking_id", ref("booking.booking_id"))],
    )
    return _seal(case, wish, rubric, outcome, [number], ())


def _seal(
    case: Case, wish: Space, rubric: Rubric, outcome: Outcome, settles: list[EventPattern], pushes: tuple[str, ...]
) -> Task:
    home = case.home
    heard = "I heard that there is an embargo somewhere, please look."
    cards = [composing.start_card("name", home.person), composing.start_card("flight_id", FLIGHT), *wish.cards()]
    return case.seal(
        rubric, [outcome], f"get {wish.commodity} booked on {FLIGHT} in spite of an embargo",
        space.openings(home, wish, f"flight {FLIGHT}", heard), settles, cards=cards, consents=[wish.consent()],
        pushbacks=[Pushback("booking", list(pushes))] if pushes else [], small_talk=["The goods are on pallets already."],
    )  # fmt: skip
