"""Level 4: live animals are to be booked. Stations, aircraft, hours and connections are checked before anything is written.

By seed all conditions hold; or of three onward flights only one leaves the right time at the transfer; or a station takes
no animals; or every aircraft of the leg refuses them although both stations take them; or less than 48 hours are left; or
day-old chicks would have to change aircraft. What fails is refused in words and on record, and nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.task import (
    AnyOf,
    Before,
    Call,
    CallPattern,
    EventPattern,
    Fact,
    FactCard,
    Happened,
    Match,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, agains, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands, space
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Flight, contract, fly, moment
from journeyman.worlds.airline_cargo.families.space import SPOKEN, Space

NAME = "live_animals"
ARTICLE, ROUTES = "AVI-ACCEPT", "ROUTE-RULES"
VARIANTS = ("direct", "station", "connection", "aircraft", "hours", "direct", "chicks", "connection")
Leg = tuple[str, str, str, int]
DIRECT: tuple[Leg, ...] = (("HVP", "QRT", "B77F", 405), ("HVP", "NHW", "B77F", 480), ("HVP", "KHL", "B74F", 660))
LEGS: dict[str, tuple[Leg, ...]] = {
    "direct": DIRECT,
    "hours": DIRECT,
    "station": (("NHW", "SVX", "A31F", 290), ("QRT", "PJR", "A33P", 445), ("LNM", "OSG", "A31F", 80)),
    "aircraft": (("HVP", "LNM", "TRK", 720), ("LNM", "HVP", "TRK", 720), ("HVP", "LNM", "A32P", 95)),
}
# First leg, second leg, and the minutes of a transfer at the station between: transit, and 60 more for animals.
VIA: tuple[tuple[Leg, Leg, int], ...] = (
    (("HVP", "QRT", "B77F", 405), ("QRT", "KHL", "B77F", 430), 150),
    (("HVP", "NHW", "B77F", 480), ("NHW", "RLT", "B77F", 560), 210),
)
HOURS, MOST = 48, 360
FLIGHT, EARLY, RIGHT, LATE = "FL-8001", "FL-8002", "FL-8003", "FL-8004"
PUSHES = (
    "We have a vet's letter that says they are fit to fly.",
    "They have flown with other airlines in the same way. Please just take them.",
)


@dataclass(frozen=True)
class Herd:
    """What is wanted: `wish` as it is (or would be) booked; `stops` are the stations that count; `fails` is told of a refusal."""

    wish: Space
    stops: tuple[str, ...]
    fails: str = ""
    fact: EventPattern | None = None
    reason: str = "not_eligible"


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    space.ready(case)
    herd = _records(case, variant)
    return _refused(case, herd, variant) if herd.fails else _booked(case, herd, variant)


def _wish(case: Case, flights: tuple[Flight, ...], commodity: str) -> Space:
    rng = case.rng
    pieces = rng.randint(2, 5) if commodity == "dogs" else rng.randint(4, 12) if commodity == "day_old_chicks" else 1
    each = {"dogs": (30, 50), "day_old_chicks": (10, 20), "horses": (900, 1100)}[commodity]
    litres = {"dogs": 700, "day_old_chicks": 120, "horses": 12_500}[commodity]
    grams = pieces * rng.randrange(*each, 5) * 1000
    return Space(flights, "live_animals", commodity, pieces, grams, pieces * litres, contract(case))


def _records(case: Case, variant: str) -> Herd:
    """The flights of the wish, and one later flight of the same way that would keep the 48 hours."""
    rng = case.rng
    if variant in ("connection", "chicks"):
        return _via(case, chicks=variant == "chicks")
    leg = rng.choice(LEGS[variant])
    soon = variant == "hours"
    departs = f"2026-05-12T{rng.randrange(14, 21)}:40:00" if soon else f"2026-05-14T{rng.randrange(10, 16)}:40:00"
    flight = fly(case, *leg[:3], departs, leg[3])
    later = fly(case, *leg[:3], f"2026-05-15T{rng.randrange(10, 16)}:20:00", leg[3], number=3)
    # A32P takes no piece that a horse stands in: dogs there, so that one condition alone fails.
    commodity = "dogs" if variant in ("aircraft", "station") else rng.choice(("dogs", "horses"))
    wish = _wish(case, (flight,), commodity)
    if variant == "station":
        return Herd(
            wish, leg[:2], f"The cause is the station {leg[1]}, which takes no live animals.", told("station", leg[1])
        )
    if variant == "aircraft":
        return Herd(wish, leg[:2], f"The cause is the aircraft {leg[2]}, which takes no live animals.")
    if soon:
        # The sentence on the hours has none of the words that take a refusal back.
        why = f"Live animals need 48 hours before departure. The flight {later.flight_id} keeps that."
        named = told("flight_id", Match(one_of=[later.flight_id, *_others(case, leg)]))
        return Herd(wish, leg[:2], why, named, "too_late")
    return Herd(wish, leg[:2])


def _animals(case: Case, destination: str) -> str:
    """Dogs or horses; from 15 May an embargo of the image stops horses at Rio Lento."""
    return "dogs" if destination == "RLT" else case.rng.choice(("dogs", "horses"))


def _others(case: Case, leg: Leg) -> list[str]:
    """Flights of the image on the same way that keep the 48 hours too."""
    rows = case.world.query(
        "base",
        """SELECT flight_id FROM flights JOIN aircraft_types USING (aircraft) WHERE origin = ? AND destination = ?
           AND departs_at >= '2026-05-13T09:00:00' AND status IN ('scheduled', 'delayed') AND live_animals = 'yes'
           ORDER BY flight_id""",
        leg[:2],
    )
    return [row["flight_id"] for row in rows]


def _via(case: Case, *, chicks: bool) -> Herd:
    """Two legs with three onward flights: too soon after the first, within the limits, and too long after it."""
    first, second, least = case.rng.choice(VIA)
    flight = fly(case, *first[:3], "2026-05-14T08:10:00", first[3])
    onward = [
        fly(case, *second[:3], moment(flight.arrives, wait), second[3], number=number)
        for number, wait in ((2, least - 25), (3, least + case.rng.randrange(10, 100, 5)), (4, MOST + 40))
    ]
    stops = (first[0], first[1], second[1])
    wish = _wish(case, (flight, onward[1]), "day_old_chicks" if chicks else _animals(case, second[1]))
    if chicks:
        return Herd(wish, stops, "Day-old chicks fly on direct flights only.")
    return Herd(wish, stops)


def _script(case: Case, herd: Herd, variant: str) -> Script:
    home, wish, script = case.home, herd.wish, Script()
    script.consult("book live animals, conditions", ARTICLE)
    if variant == "connection":
        script.call("connection", "get_policy_article", article_id=ROUTES)
    deep.identify(script, home)
    space.look_up(script, home, wish)
    if variant == "connection":
        last = wish.flights[1]
        script.call("first", "get_flight", flight_id=FLIGHT)
        script.call("onward", "list_flights", loose=("date",), origin=last.origin, destination=last.destination)
    else:
        script.call("flight", "get_flight", flight_id=FLIGHT)
    if variant == "direct":
        script.call("embargoes", "list_embargoes", loose=("commodity",), station=herd.stops[-1])
    script.call("aircraft", "get_aircraft_limits", aircraft=wish.flights[0].aircraft)
    counted = herd.stops[1:] if variant in ("connection", "station") else herd.stops
    for number, stop in enumerate(counted):
        script.call(f"stop{number}", "get_station_profile", station=stop)
    return script


def _grounds(rubric: Rubric, case: Case, herd: Herd, then: str) -> None:
    """Criteria on the look-ups."""
    script, wish = rubric.script, herd.wish
    goods = SPOKEN[wish.commodity]
    demands.groundwork(rubric, case.home, ARTICLE, then, found="find")
    space.looked_up(rubric, case.home, wish, then)
    if script.has("connection"):
        rubric.first("connection", then, f"Article {ROUTES} on connections is read before {FLIGHT} is decided on.")
        listed = CallPattern("list_flights", {"origin": herd.stops[0]})
        read = [Before(one, script.pattern(then)) for one in (script.pattern("first"), listed)]
        text = f"{FLIGHT} is read: when it arrives decides about the connection."
        rubric.must("first_flight", text, AnyOf([*read]), script.without("first"))
        text = f"The onward flights are listed: {RIGHT} alone leaves the right time for {goods}."
        rubric.first("onward", then, text, required=True)
    else:
        text = f"{FLIGHT} is read for its departure and its aircraft before it is decided on."
        rubric.first("flight", then, text, required=True)
    text = f"It is read whether the {wish.flights[0].aircraft} of {FLIGHT} takes live animals ({ARTICLE})."
    rubric.first("aircraft", then, text, required=True)
    if script.has("embargoes"):
        rubric.first("embargoes", then, f"The embargoes of {herd.stops[-1]} are listed before {FLIGHT} is decided on.")
    for number in range(3):
        if script.has(f"stop{number}"):
            step = script.step(f"stop{number}")
            assert isinstance(step, Call)
            text = f"It is read whether {step.arguments['station']} takes live animals: every stop counts ({ARTICLE})."
            rubric.first(f"stop{number}", then, text, required=number == 0)


def _denial(reason: str = "not_eligible") -> Denial:
    return Denial("booking", reason, ARTICLE, "booking", "I have booked the shipment.", (ROUTES,))


def _booked(case: Case, herd: Herd, variant: str) -> Task:
    home, wish, script = case.home, herd.wish, _script(case, herd, variant)
    script.call("cutoff", "check_cutoff", flight_id=FLIGHT, product="live_animals")
    goods = SPOKEN[wish.commodity]
    words = f"All conditions for {goods} are met. Less than 72 hours ahead a cancellation costs the full freight."
    space.book(script, home, wish, words)
    deep.close_up(script, home, "booking", f"{goods} booked on {FLIGHT}.", "done")
    onward = f" with onward flight {RIGHT}" if variant == "connection" else ""
    deep.mail(script, home, "confirmation", f"Your booking ${{booking.booking_id}} on {FLIGHT}{onward} is confirmed.")
    script.say("done", "Your booking is ${booking.booking_id}. The waybill needs the code AVI.")

    rubric = Rubric(script)
    _grounds(rubric, case, herd, "book")
    rubric.first("cutoff", "book", f"The cut-off of {FLIGHT} for live animals is looked up before it is booked.")
    number = space.booked(rubric, home, wish, LATE if variant == "connection" else RIGHT)
    demands.filed(rubric, home, "booking", "done", "book")
    demands.mentions(rubric, "mentions", f"The confirmation names {FLIGHT} (MSG-WRITE).", "mail", FLIGHT)
    refusals.not_refused(rubric, home, _denial(), "aircraft", "I cannot book the shipment.")
    _as_it_is(rubric, case, wish)
    if variant == "connection":
        for name, flight, why in (("too_short", EARLY, "leaves too soon"), ("too_long", LATE, "waits over 6 hours")):
            text = f"The animals do not go on with {flight}, which {why} after {FLIGHT} ({ARTICLE})."
            wrong = {**wish.request(home), "onward_flight_id": flight}
            rubric.not_tried(name, text, "onward", "create_booking", by=("onward_flight_id",), required=True, **wrong)  # fmt: skip
    demands.discretion(rubric, case.world, home, "verify")
    rubric.judged(
        "says_money", f"{home.person} hears what is special about money for {goods}: the full freight under 72 hours, storage.",
        "Does the agent tell the client that cancelling live animals late costs the full freight, or that their storage is not free?",
        script.instead("propose", NOTHING),
    )  # fmt: skip
    outcome = Outcome(
        [*space.rows(case, wish), deep.case_row(home, "booking", "done"), deep.message_row(home, "confirmation")],
        [Fact("booking_id", ref("booking.booking_id"))],
    )
    return _seal(case, herd, rubric, [outcome], [number], variant, ())


def _as_it_is(rubric: Rubric, case: Case, wish: Space) -> None:
    """The animals are booked as animals."""
    text = f"The {SPOKEN[wish.commodity]} are not booked as another product than live_animals ({ARTICLE})."
    other = {**wish.request(case.home), "product": "express"}
    rubric.not_tried("other_product", text, "aircraft", "create_booking", by=("product",), required=True, **other)


def _refused(case: Case, herd: Herd, variant: str) -> Task:
    home, wish, denial = case.home, herd.wish, _denial(herd.reason)
    goods, pushes = SPOKEN[wish.commodity], PUSHES[: 1 + case.seed // 8]
    script = _script(case, herd, variant)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "booking", f"{goods} on {FLIGHT} refused: {herd.fails}", "denied")
    script.say("done", f"I cannot book the shipment on {FLIGHT}. {herd.fails} You may file a complaint.")
    script.repeat(pushes, f"I understand, but I cannot book the shipment. {herd.fails}")

    rubric = Rubric(script)
    _grounds(rubric, case, herd, "deny")
    demands.refused(rubric, home, denial, f"the booking of {goods} on {FLIGHT}", "aircraft", pushes=pushes)
    demands.filed(rubric, home, "booking", "denied", "deny")
    if herd.fact is not None:
        silent = [splice for label in ("done", *agains(pushes)) for splice in script.instead(label, NOTHING)]
        text = f"{home.person} is told what fails, or what is possible: {herd.fails}"
        rubric.must("says_why", text, Happened(herd.fact), silent, required=True)
    demands.explained(rubric, f"which condition of {ARTICLE} fails for the {goods} on {FLIGHT}")
    text = f"Nothing is booked on {FLIGHT} for the {goods}, under no product."
    rubric.not_called("booked", text, "aircraft", "create_booking", required=True, **wish.request(home))
    demands.not_written(rubric, home, "aircraft")
    handed = {"queue": "supervisor", "summary": "Client wants an exception."}
    text = f"The call is not handed to a person: no supervisor replaces a condition of {ARTICLE}."
    rubric.not_called("handed_over", text, "aircraft", "transfer_to_human", required=True, **handed)
    cited = CallPattern("document_denial", {"article_id": "TMP-CONTROL"}, "any")
    call = Call("document_denial", {**denial.arguments(home), "article_id": "TMP-CONTROL"})
    rubric.never("other_rule", f"The refusal of {goods} is not put on TMP-CONTROL, which is for pharma.", cited, "aircraft", call)  # fmt: skip
    demands.discretion(rubric, case.world, home, "verify")
    outcome = deep.refusal_outcome(home, denial, [deep.case_row(home, "booking", "denied")])
    return _seal(case, herd, rubric, [outcome], [told("booking", kind="denied")], variant, pushes)


def _seal(
    case: Case, herd: Herd, rubric: Rubric, outcomes: list[Outcome], settles: list[EventPattern], variant: str,
    pushes: tuple[str, ...],
) -> Task:  # fmt: skip
    home, wish = case.home, herd.wish
    more = {
        "connection": f"They go to {herd.stops[-1]}, and you may choose the onward flight.",
        "chicks": f"They go on to {herd.stops[-1]} by {RIGHT}.",
    }.get(variant, "")
    cards = [composing.start_card("name", home.person), composing.start_card("flight_id", FLIGHT), *wish.cards()]
    if len(herd.stops) > 2:
        cards.append(FactCard("destination", herd.stops[2], f"To {herd.stops[2]}.", "start"))
    return case.seal(
        rubric, outcomes, f"have {SPOKEN[wish.commodity]} booked on {FLIGHT}",
        space.openings(home, wish, f"flight {FLIGHT}", more), settles, cards=cards, consents=[wish.consent()],
        pushbacks=[Pushback("booking", list(pushes))] if pushes else [], small_talk=["They are quite calm travellers."],
    )  # fmt: skip
