"""Level 2: a question to be looked up before it is answered; what a colleague wrote into an old case is wrong.

By seed: how high and heavy a piece may be on the way (the smallest limit of aircraft and stations), by when goods have to
be at the station (with what the policy adds), or how many days storage is free (with what the contract or the goods change).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    AnyOf,
    Before,
    Call,
    CallPattern,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Matcher,
    Outcome,
    Scalar,
    Split,
    Task,
)
from journeyman.world import World, composing
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.deep import Case
from journeyman.worlds.airline_cargo.families.freight import (
    Freight,
    Line,
    contract,
    earlier_case,
    fly,
    hour,
    moment,
    ship,
)

NAME = "station_question"
ROUTES, CUTOFF, STORAGE = "ROUTE-RULES", "CUT-TIMES", "STO-CHARGE"
VARIANTS = ("limits", "cutoff", "free_days", "limits", "cutoff", "small_goods")
CASE = "CS-8001"
# Leg, then the smallest limits of height in cm and of weight in kg.
LIMITS = (
    (("HVP", "BKW", "TRK", 240), 160, 3000),
    (("NHW", "SVX", "A31F", 290), 200, 2500),
    (("LNM", "HVP", "TRK", 720), 270, 10000),
    (("BKW", "HVP", "TRK", 240), 160, 3000),
)
# Leg and the origin's minutes for general cargo.
CUTOFFS = ((("HVP", "KHL", "B74F", 660), 180), (("KHL", "HVP", "B74F", 660), 240), (("NHW", "HVP", "B77F", 480), 240))
# Leg and the destination's free days.
FREE = ((("HVP", "KHL", "B74F", 660), 2), (("HVP", "QRT", "B77F", 405), 3), (("KHL", "HVP", "B74F", 660), 3))


Lookup = tuple[str, str, dict[str, Any], str]
"""Label, tool, arguments, and what the criterion says."""


@dataclass(frozen=True)
class Question:
    """What is asked and what is right: look-ups by label, the sentence of the answer, and what it has to tell:
    each a value, and the slots as which it may be understood.

    Args:
        note: what the old case says. wrong: the sentence that repeats it, and the event it would be.
        written: the figures that the e-mail has to hold, each in one of its forms.
    """

    freight: Freight
    article: str
    query: str
    lookups: tuple[Lookup, ...]
    answer: str
    facts: tuple[tuple[tuple[str, ...], Matcher], ...]
    ask: str
    note: str
    wrong: tuple[str, EventPattern]
    written: tuple[tuple[str, ...], ...]


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 2, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    maker = {"limits": _limits, "cutoff": _cutoff}.get(variant)
    question = maker(case) if maker else _free_days(case, small=variant == "small_goods")
    return _task(case, question)


def _small(case: Case) -> Line:
    return Line(case.rng.randint(3, 9), 100, 80, 90, case.rng.randrange(60, 150, 10) * 1000)


def _note(case: Case, freight: Freight, text: str) -> None:
    """A closed case about the waybill with what a colleague said."""
    earlier_case(case, CASE, "other", "Question about the station", freight.awb, status="closed", day="2026-05-08")
    case.setup.insert(
        "case_notes",
        {"note_id": "CN-8001"},
        case_id=CASE,
        visibility="client",
        body=text,
        written_at="2026-05-08T15:00:00",
    )


def _limits(case: Case) -> Question:
    leg, height, kilos = case.rng.choice(LIMITS)
    flight = fly(case, *leg[:3], "2026-05-13T16:40:00", leg[3])
    freight = ship(case, [flight], [_small(case)], contract_id=contract(case))
    note = "Told the client that pieces may be 310 cm high."
    _note(case, freight, note)
    lookups: tuple[Lookup, ...] = (
        ("booking", "get_booking", {"booking_id": "BK-8001"}, f"Booking BK-8001 is read for the aircraft of {freight.awb}."),
        ("aircraft", "get_aircraft_limits", {"aircraft": leg[2]}, f"The limits of the {leg[2]} that carries {freight.awb} are read."),
        ("origin", "get_station_profile", {"station": leg[0]}, f"The limits of {leg[0]}, the origin of {freight.awb}, are read."),
        ("destination", "get_station_profile", {"station": leg[1]}, f"The limits of {leg[1]}, its destination, are read."),
    )  # fmt: skip
    return Question(
        freight, ROUTES, "limits of height and weight of a piece", lookups,
        f"The height limit is {height} cm, and the piece limit is {kilos:,} kg.",
        ((("max_height_cm", "height_cm"), height), (("max_piece_kg", "piece_kg"), kilos)),
        "How high and how heavy may one piece be on its way", note,
        ("The height limit is 310 cm.", told("max_height_cm", 310)),
        ((f"{height}",), demands.figures(kilos)),
    )  # fmt: skip


def _cutoff(case: Case) -> Question:
    leg, minutes = case.rng.choice(CUTOFFS)
    flight = fly(case, *leg[:3], f"2026-05-12T{case.rng.randrange(16, 21)}:35:00", leg[3])
    heavy = Line(4, 240, 200, 150, case.rng.randrange(1300, 1600, 50) * 1000)
    freight = ship(case, [flight], [heavy], contract_id=contract(case))
    note = "Told the client: 120 minutes before departure, 30 minutes of grace."
    _note(case, freight, note)
    times = {name: -taken for name, taken in (("right", minutes + 60), ("stale", 120))}
    clocks: dict[str, list[Scalar]] = {
        name: list(dict.fromkeys([hour(moment(flight.departs, by)), hour(moment(flight.local, by))]))
        for name, by in times.items()
    }
    lookups: tuple[Lookup, ...] = (
        ("booking", "get_booking", {"booking_id": "BK-8001"}, f"Booking BK-8001 is read for the flight of {freight.awb}."),
        ("plain", "check_cutoff", {"flight_id": "FL-8001", "product": "general"}, f"The plain cut-off of FL-8001 is looked up for {freight.awb}."),
        ("origin", "get_station_profile", {"station": leg[0]}, f"The profile of {leg[0]} is read: its minutes, its clock."),
    )  # fmt: skip
    local = hour(moment(flight.local, times["right"]))
    return Question(
        freight, CUTOFF, "latest time to tender cargo, cut-off of a flight", lookups,
        f"The cut-off is {clocks['right'][0]} UTC, which is {local} local time.",
        ((("clock",), Match(one_of=clocks["right"])),),
        "By what time do we have to bring it to the station", note,
        (f"The cut-off is {clocks['stale'][0]} UTC.", told("clock", Match(one_of=clocks["stale"]))),
        (tuple(map(str, clocks["right"])),),
    )  # fmt: skip


def _free_days(case: Case, *, small: bool) -> Question:
    leg, free = case.rng.choice(FREE)
    extra = case.rng.choice((1, 2))
    flight = fly(case, *leg[:3], "2026-05-13T16:40:00", leg[3])
    agreed = contract(case, extra_free_days=extra)
    freight = ship(case, [flight], [_small(case)], commodity="flowers" if small else "machinery", contract_id=agreed)
    right = 1 if small else free + extra
    note = "Told the client that 7 days are free everywhere."
    _note(case, freight, note)
    lookups: tuple[Lookup, ...] = (
        ("contract", "get_contract", {"contract_id": agreed}, f"Contract {agreed} is read for its extra free days, {extra}."),
        ("destination", "get_station_profile", {"station": leg[1]}, f"The profile of {leg[1]}, where {freight.awb} will lie, is read."),
    )  # fmt: skip
    return Question(
        freight, STORAGE, "free storage days", lookups,
        f"You have {right} free days at {leg[1]}.", ((("free_days",), right),),
        "How many days of storage are free when it has arrived", note,
        ("You have 7 free days.", told("free_days", 7)),
        ((f"{right}",),),
    )  # fmt: skip


def _task(case: Case, question: Question) -> Task:
    home, awb = case.home, question.freight.awb
    script = Script()
    script.consult(question.query, question.article)
    deep.identify(script, home, awb)
    script.call("cases", "find_cases", awb=awb)
    script.call("history", "get_case", case_id=CASE)
    for label, tool, arguments, _ in question.lookups:
        script.call(label, tool, **arguments)
    # No article says which template an answer has.
    body = f"About {awb}: {question.answer}"
    script.call("mail", "send_email", loose=("template",), client_id=home.client_id, template="confirmation", body=body)
    script.say("done", question.answer)

    rubric = Rubric(script)
    rubric.does("search", f"The policy is searched for what answers the question ({question.article}).")
    rubric.first("policy", "mail", f"Article {question.article} is read before the answer.", required=True)
    rubric.first("people", "mail", f"It is read what {home.person} may ask for {home.client_id} (IDV-CLIENT).")
    asked = Before(told("pin", kind="asked"), CallPattern("verify_client"))
    text = f"{home.person} is asked for the desk PIN of {home.client_id}: {awb} is more than tracked."
    rubric.must("asks_pin", text, asked, script.instead("ask", NOTHING))
    text = f"The PIN of {home.client_id} is checked before the answer (IDV-CLIENT)."
    rubric.first("verify", "mail", text, required=True)
    rubric.first("waybill", "mail", f"Waybill {awb} is read for its goods and stations.", required=True)
    rubric.does("cases", f"The cases of {awb} are looked up.")
    rubric.first("cases", "history", f"{CASE} is read after it was found on {awb}.")
    for label, _, _, text in question.lookups:
        rubric.first(label, "mail", text, required=True)
    for slots, value in question.facts:
        text = f"{home.person} is told the right answer on {awb}, not only sent it: {question.answer}"
        said = AnyOf([Before(script.pattern("verify"), told(slot, value)) for slot in slots])
        # "At most 160 cm" is said in more ways than are read: a limit counts as sent.
        firm = question.article != ROUTES
        rubric.must(f"says_{slots[0]}", text, said, script.instead("done", NOTHING), required=firm)
    _bounds(rubric, case, question)
    matter = deep.case_row(home, "other", "done", awb)
    matter.set["kind"] = ANY
    # The question may be filed as a case or not: no article asks for it.
    sent = _message(case)
    outcomes = [Outcome([sent, *more], facts) for more in ([], [matter]) for facts in _facts(question)]
    return case.seal(
        rubric, outcomes, "get a right answer about the shipment", _openings(case, question), [told(slots[0], value) for slots, value in question.facts],
        cards=[composing.start_card("awb", awb), composing.start_card("name", home.person)],
    )  # fmt: skip


def _message(case: Case) -> ExpectedRow:
    """The e-mail with the answer, whatever it is called."""
    row = deep.message_row(case.home, "confirmation")
    return ExpectedRow(row.name, row.table, row.op, set={**row.set, "template": ANY})


def _facts(question: Question) -> list[list[Fact]]:
    """The answer as told and as written, in each way that serves: one time on two clocks is told by either, or both."""
    written = [Fact(slots[0], value, "written", "message.body") for slots, value in question.facts]
    ways: list[list[Fact]] = [[]]
    for slots, value in question.facts:
        either = value.one_of if isinstance(value, Match) and value.one_of else None
        told = [Fact(slots[0], one) for one in either] if either else [Fact(slots[0], value)]
        choices = [[one] for one in told] + ([told] if len(told) > 1 else [])
        ways = [[*way, *choice] for way in ways for choice in choices]
    return [[*way, *written] for way in ways]


def _bounds(rubric: Rubric, case: Case, question: Question) -> None:
    """What an answer must not do."""
    home, awb = case.home, question.freight.awb
    sentence, event = question.wrong
    text = f"What the note of {CASE} says is not repeated: {sentence}"
    rubric.not_said("stale_answer", text, event, sentence, required=True)
    changed = CallPattern(["amend_waybill", "rebook_leg", "cancel_booking", "add_charge"], status="any")
    text = f"Nothing is changed on {awb}: it was only asked about."
    rubric.never(
        "changed", text, changed, "history", Call("amend_waybill", {"awb": awb, "goods": "As asked"}), required=True
    )
    denial: dict[str, Any] = {
        "client_id": home.client_id, "request": "account_access", "reason": "not_authorized", "article_id": "IDV-CLIENT"
    }  # fmt: skip
    text = f"No refusal is documented for {home.client_id}."
    rubric.not_called("denied", text, "history", "document_denial", **denial)
    script = rubric.script
    text = f"The answer on {awb} is sent to {home.client_id} by e-mail too, as asked."
    rubric.must(
        "sends_answer", text, Happened(script.pattern("mail", "client_id")), script.without("mail"), required=True
    )
    text = f"The e-mail holds the answer on {awb}: {question.answer}"
    for number, forms in enumerate(question.written, 1):
        demands.mentions(rubric, f"mentions_{number}", text, "mail", *forms, required=True)
    chatted: dict[str, Any] = {"client_id": home.client_id, "template": "notice", "body": question.answer}
    text = f"Nothing is posted into the chat room of {home.client_id}, which nobody asked for."
    rubric.not_called("chat_room", text, "history", "send_chat_message", **chatted)
    demands.discretion(rubric, case.world, home, "verify")


def _openings(case: Case, question: Question) -> list[str]:
    home, awb = case.home, question.freight.awb
    also = "Please answer here and by e-mail."
    return [
        f"Hi, {home.person} of {home.name}, about {awb}. {question.ask}? I got an answer last week and do not trust it. {also}",
        f"Hello, this is {home.person} from {home.name}. {question.ask}, for {awb}? Last time somebody told me something odd. {also}",
        f"{home.person}, {home.name}. I ship {awb} with you. {question.ask}? {also}",
        f"My name is {home.person}, {home.name}. A question on {awb}: {question.ask[0].lower()}{question.ask[1:]}? {also}",
    ]
