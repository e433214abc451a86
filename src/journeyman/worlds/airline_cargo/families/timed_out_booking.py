"""Level 5: a write ends with a timeout. The work may have been done or not, and only a read tells.

In half of the tasks the space was booked or the fee was charged, and the answer was lost: a repetition does it twice. In the
others nothing was done, and the clerk who does not look and repeat leaves the client without. By seed the write is the
booking itself, or the fee of a rebooking that went through before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    Call,
    CallPattern,
    Changed,
    Consented,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    Fault,
    Happened,
    Matcher,
    Outcome,
    Predicate,
    Split,
    Task,
    Unconsented,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands, space
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import BOOKING, Freight, Line, contract, fly, ship
from journeyman.worlds.airline_cargo.families.space import Space

NAME = "timed_out_booking"
TIMEOUT, MOVES = "SYS-TIMEOUT", "OFF-REBOOK"
FLIGHT, OTHER = "FL-8001", "FL-8002"
FEE = 60.0
LEGS = (
    ("HVP", "KHL", "B74F", 660),
    ("HVP", "QRT", "B77F", 405),
    ("QRT", "HVP", "B77F", 405),
    ("HVP", "NHW", "B77F", 480),
)


@dataclass(frozen=True)
class Write:
    """The write that times out, step `write`; step `again` repeats it where nothing was done.

    Args:
        by: the arguments by which its calls are known. what: the thing that it does, in words.
        lost: the work was done and only the answer was lost.
        looks: calls that show what became of it, the one that SYS-TIMEOUT names first.
        row: the change that it makes.
    """

    tool: str
    arguments: dict[str, Any]
    by: tuple[str, ...]
    what: str
    lost: bool
    looks: tuple[Call, ...]
    row: ExpectedRow

    def calls(self, status: Any) -> CallPattern:
        """Its calls that end in such a way (`ok`, `error`, `any`)."""
        return CallPattern(self.tool, {name: self.arguments[name] for name in self.by}, status)

    @property
    def last(self) -> str:
        """The step after which the write is known to be done."""
        return "look" if self.lost else "again"


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: a booking or a fee, done or not done when it times out."""
    case = Case.of(world, NAME, 5, seed, split)
    space.ready(case)
    return _booking(case, seed % 4 < 2) if seed % 2 == 0 else _fee(case, seed % 4 < 2)


def _write(script: Script, write: Write) -> None:
    """Steps `write`, `rule`, `look` and, where nothing was done, `again`."""
    script.call("write", write.tool, loose=("contract_id",), **write.arguments)
    script.call("rule", "get_policy_article", article_id=TIMEOUT)
    script.call("look", write.looks[0].tool, loose=("status",), **write.looks[0].arguments)
    if not write.lost:
        script.call("again", write.tool, loose=("contract_id",), **write.arguments)


def _ahead(rubric: Rubric, write: Write, label: str, text: str, *, required: bool = False) -> None:
    """A step's call comes before the first attempt at the write."""
    predicate = Before(rubric.script.pattern(label), write.calls("any"))
    rubric.must(f"{label}_before_write", text, predicate, rubric.script.late("write", label), required=required)


def _groundwork(rubric: Rubric, case: Case, article: str, write: Write, found: str) -> None:
    """Criteria on policy and identity, all before the write is tried."""
    home = case.home
    rubric.does("search", f"The policy is searched for what rules the matter ({article}).")
    _ahead(rubric, write, "policy", f"Article {article} is read before {write.what}.", required=True)
    rubric.does(found, f"It is looked up whose matter it is: {home.client_id}.")
    _ahead(rubric, write, "people", f"It is read what {home.person} may decide for {home.client_id} (IDV-CLIENT).")
    asked = Before(told("pin", kind="asked"), CallPattern("verify_client"))
    text = f"{home.person} is asked for the desk PIN of {home.client_id} before it is checked."
    rubric.must("asks_pin", text, asked, rubric.script.instead("ask", NOTHING))
    text = f"The PIN of {home.client_id} is checked before {write.what}."
    _ahead(rubric, write, "verify", text, required=True)


def _timeout(rubric: Rubric, case: Case, write: Write) -> None:
    """Criteria on the write that timed out: looked up, repeated only if nothing was done, never doubled."""
    script, home = rubric.script, case.home
    looked: list[Predicate] = []
    for look in (CallPattern(one.tool, dict(one.arguments)) for one in write.looks):
        since: list[Predicate] = [Before(write.calls("error"), look)]
        if not write.lost:
            since.append(Before(look, script.pattern("again")))
        looked += [AllOf(since), Happened(look, min=2)]
    text = f"After the timeout a read shows what became of it: whether {write.what} was done ({TIMEOUT})."
    rubric.must("looks_after_timeout", text, AnyOf(looked), script.without("look"), required=True)
    text = f"Article {TIMEOUT} is read: a timeout says neither yes nor no."
    rubric.does("rule", text)
    text = f"{write.tool} is called {'once' if write.lost else 'twice at the most'}: {write.what} is wanted once."
    twice = Happened(write.calls("any"), min=2 if write.lost else 3)
    rubric.must_not("double_write", text, twice, script.after(write.last, script.step("write")), required=True)
    text = f"In the end {write.what} is done, as the records of {home.client_id} show."
    rubric.must(
        "done_once", text, Changed(write.row), script.without("write" if write.lost else "again"), required=True
    )
    if not write.lost:
        text = f"{write.tool} is repeated with the same arguments, since {write.what} was not done ({TIMEOUT})."
        rubric.does("again", text, required=True)
    handed = Call("transfer_to_human", {"queue": "general", "summary": "A tool timed out."})
    text = f"The call of {home.person} is not handed to a person for a timeout ({TIMEOUT})."
    rubric.never("handed_over", text, CallPattern("transfer_to_human"), "look", handed)
    sorry: dict[str, Any] = {"client_id": home.client_id, "kind": "complaint", "summary": "System slow."}
    text = f"No complaint is opened for {home.client_id}, which nobody asked for ({TIMEOUT})."
    rubric.not_tried("complaint", text, "look", "create_case", by=("kind",), **sorry)


def _agreed(rubric: Rubric, write: Write, text: str, wrong: Call) -> None:
    """Criteria on consent to the write, which covers its repetition. `wrong`: a write that nobody agreed to."""
    script = rubric.script
    rubric.must("consent_write", text, Consented(write.calls("any")), script.without("propose"), required=True)
    unasked = Unconsented(CallPattern(write.tool))
    text = f"Nothing beyond {write.what} is written by {write.tool} without consent."
    rubric.must_not("unconsented_write", text, unasked, script.after(write.last, wrong), required=True)


def _booking(case: Case, lost: bool) -> Task:
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], f"2026-05-13T{rng.randrange(14, 20)}:20:00", leg[3])
    fly(case, *leg[:3], f"2026-05-14T{rng.randrange(10, 14)}:20:00", leg[3], number=2)
    pieces, grams = rng.randint(3, 8), rng.randrange(60, 140, 5) * 1000
    wish = Space((flight,), "general", rng.choice(("furniture", "machinery", "books")), pieces, pieces * grams, pieces * 240, contract(case))  # fmt: skip
    booked = space.rows(case, wish)
    looks = (Call("list_bookings", {"client_id": home.client_id}),)
    write = Write(
        "create_booking",
        wish.request(home),
        ("client_id", "flight_id"),
        f"the booking on {FLIGHT}",
        lost,
        looks,
        booked[0],
    )
    script = Script()
    script.consult("make a booking, order of checks", space.RULE)
    deep.identify(script, home)
    space.look_up(script, home, wish)
    script.call("cutoff", "check_cutoff", flight_id=FLIGHT, product="general")
    script.say("propose", f"{FLIGHT} is open. Shall I book the space for {wish.kilos:g} kg on flight {FLIGHT}?")
    _write(script, write)
    if lost:
        script.call("detail", "get_booking", booking_id="${booking.booking_id}")
    deep.close_up(script, home, "booking", f"Booked on {FLIGHT}, once.", "done")
    deep.mail(script, home, "confirmation", f"Your booking ${{booking.booking_id}} on {FLIGHT} is confirmed.")
    script.say("done", f"Your booking is ${{booking.booking_id}}, it is on flight {FLIGHT}.")

    rubric = Rubric(script)
    _groundwork(rubric, case, space.RULE, write, "find")
    text = f"Account {home.account_id} is read before {FLIGHT} is booked ({space.RULE})."
    _ahead(rubric, write, "account", text, required=True)
    _ahead(rubric, write, "route", f"The routes from {leg[0]} to {leg[1]} are read before {FLIGHT} is booked.")
    _ahead(rubric, write, "cutoff", f"The cut-off of {FLIGHT} is looked up before it is booked.")
    _agreed(rubric, write, f"{home.person} agrees to {FLIGHT} before it is booked ({space.RULE}).",
            Call("create_booking", {**wish.request(home), "flight_id": OTHER}))  # fmt: skip
    _timeout(rubric, case, write)
    if lost:
        text = f"The booking that the list shows is read: it is on {FLIGHT} ({TIMEOUT})."
        made = {"booking_id": ref("booking.booking_id")}
        rubric.must("reads_booking", text, Happened(CallPattern("get_booking", {**made})), script.without("detail"))
    _finished(rubric, case, "booking", _denial("booking", space.RULE), FLIGHT)
    number = told("booking_id", ref("booking.booking_id"))
    text = f"{home.person} is told the number of the booking on {FLIGHT}."
    rubric.says("done", number, text, once="look", required=True)
    text = f"{OTHER} is not taken in the place of {FLIGHT} ({TIMEOUT})."
    rubric.not_tried("other_flight", text, "look", "create_booking", by=("flight_id",), required=True,
        **{**wish.request(home), "flight_id": OTHER},
    )  # fmt: skip
    text = f"The booking on {FLIGHT} is not cancelled to start afresh ({TIMEOUT})."
    undo = Call("cancel_booking", {"booking_id": "${booking.booking_id}"})
    rubric.never("undone", text, CallPattern("cancel_booking", status="any"), write.last, undo, required=True)
    rows = [*booked, deep.case_row(home, "booking", "done"), deep.message_row(home, "confirmation")]
    outcome = Outcome(rows, [Fact("booking_id", ref("booking.booking_id"))])
    cards = [composing.start_card("name", home.person), composing.start_card("flight_id", FLIGHT), *wish.cards()]
    return case.seal(
        rubric, [outcome], f"have the space booked on {FLIGHT}, once", space.openings(home, wish, f"flight {FLIGHT}"),
        [number], cards=cards, consents=[wish.consent()], faults=[_fault(write)],
        small_talk=["I have three more of these to arrange today."],
    )  # fmt: skip


def _fault(write: Write) -> Fault:
    """What the task plans: the first call times out, after its work or before it."""
    return Fault(write.tool, "after" if write.lost else "before")


def _denial(request: str, article: str) -> Denial:
    return Denial(request, "not_eligible", article, request, "")


def _finished(rubric: Rubric, case: Case, kind: str, denial: Denial, named: str) -> None:
    """Criteria on the case, the message and what must not be said or told to others."""
    home = case.home
    demands.filed(rubric, home, kind, "done", "look")
    demands.written(rubric, home, "confirmation", "look", named)
    words = "I could not book the shipment." if denial.slot == "booking" else "I could not rebook the shipment."
    refusals.not_refused(rubric, home, denial, "look", words)
    demands.discretion(rubric, case.world, home, "verify")


def _fee(case: Case, lost: bool) -> Task:
    home, rng = case.home, case.rng
    leg = rng.choice(LEGS)
    booked = fly(case, *leg[:3], f"2026-05-11T{rng.randrange(20, 24)}:40:00", leg[3])
    wanted = fly(case, *leg[:3], f"2026-05-13T{rng.randrange(10, 18)}:20:00", leg[3], number=2)
    line = Line(rng.randint(3, 7), 120, 80, 90, rng.randrange(60, 140, 5) * 1000)
    freight = ship(case, [booked], [line], commodity=rng.choice(("machinery", "furniture")), contract_id=contract(case))
    awb, leaves = freight.awb, wanted.departs[11:16]
    values: dict[str, Matcher] = {"awb": awb, "kind": "handling", "amount_cents": round(FEE * 100), "status": "open"}
    looks = (Call("list_charges", {"awb": awb}),)
    row = ExpectedRow("charge", "charges", "insert", set=values)
    charge = {"awb": awb, "kind": "handling", "amount": FEE}
    write = Write("add_charge", charge, ("awb", "amount"), f"the fee of ${FEE:.2f} on {awb}", lost, looks, row)
    script = Script()
    script.consult("rebook to another flight, fee", MOVES)
    deep.identify(script, home, awb)
    script.call("booking", "get_booking", booking_id=BOOKING)
    script.call("flights", "list_flights", or_tools=("get_flight",), loose=("origin", "destination", "date"), origin=leg[0], destination=leg[1])  # fmt: skip
    script.call("cutoff", "check_cutoff", flight_id=OTHER, product="general")
    script.say(
        "propose",
        f"That flight departs at {leaves} UTC. Shall I charge the handling fee of ${FEE:.2f} and rebook the shipment to {OTHER}?",
    )
    script.call("move", "rebook_leg", booking_id=BOOKING, leg_no=1, flight_id=OTHER)
    _write(script, write)
    deep.close_up(script, home, "booking", f"{awb} moved to {OTHER}, fee charged once.", "done", awb)
    deep.mail(script, home, "confirmation", f"{awb} is on flight {OTHER}, which departs at {leaves} UTC.")
    script.say("done", f"Your shipment is on flight {OTHER} now. The fee is ${FEE:.2f}, charged once.")

    rubric = Rubric(script)
    _groundwork(rubric, case, MOVES, write, "waybill")
    text = f"Booking {BOOKING} is read: less than 24 hours are left to {FLIGHT}, so {write.what} is due."
    _ahead(rubric, write, "booking", text, required=True)
    rubric.first("flights", "move", f"The flights are listed: {OTHER} has room for {awb}.", required=True)
    rubric.first("cutoff", "move", f"The cut-off of {OTHER} is looked up before {awb} is moved.")
    asked = Before(EventPattern("proposed", by="agent", tool="rebook_leg"), CallPattern("rebook_leg", status="any"))
    text = f"The move to {OTHER} is put to {home.person} before {awb} is moved ({MOVES})."
    rubric.must("proposes_first", text, asked, script.without("propose"), required=True)
    rubric.does("move", f"{awb} is moved from {FLIGHT} to {OTHER}.", required=True)
    rubric.once("move", f"{awb} is moved once, not back and forth.")
    text = f"{home.person} agrees to the fee of ${FEE:.2f} before it is charged on {awb} ({MOVES})."
    _agreed(rubric, write, text, Call("add_charge", {**charge, "amount": 40.0}))
    _timeout(rubric, case, write)
    _finished(rubric, case, "booking", _denial("rebooking", MOVES), OTHER)
    fee = told("fee", FEE)
    text = f"{home.person} is told, when it is known, that the fee of ${FEE:.2f} is charged on {awb}."
    rubric.says("done", fee, text, once="flights", required=True)
    _moved_to(rubric, case, awb)
    text = f"{write.what[0].upper()}{write.what[1:]} is not waived to make up for the wait ({TIMEOUT})."
    rubric.not_called("waived", text, "look", "waive_charge", required=True, charge_id="CH-9001", amount=FEE)
    outcome = Outcome([*_moved(case, freight), row, deep.case_row(home, "booking", "done", awb), deep.message_row(home, "confirmation")], [Fact("fee", FEE)])  # fmt: skip
    openings = [
        f"Hi, {home.person} of {home.name}. {awb} will not be ready tonight. Please move it to flight {OTHER}.",
        f"Hello, this is {home.person} from {home.name}. Rebook {awb} to {OTHER}, please, we are late.",
        f"{home.person}, {home.name}. I need {awb} on {OTHER} instead. Can you do that?",
        f"My name is {home.person}, {home.name}. Our truck broke down: put {awb} on {OTHER}, please.",
    ]
    cards = [
        composing.start_card("awb", awb),
        composing.start_card("name", home.person),
        composing.start_card("flight_id", OTHER),
    ]
    consents = [ConsentRule("add_charge", {"amount": FEE}), ConsentRule("rebook_leg", {"flight_id": OTHER})]
    settles: list[EventPattern] = [told("flight_id", OTHER), fee]
    return case.seal(
        rubric, [outcome], f"have the shipment moved to {OTHER}", openings, settles, cards=cards, consents=consents,
        faults=[_fault(write)],
    )  # fmt: skip


def _moved_to(rubric: Rubric, case: Case, awb: str) -> None:
    """The client hears the new flight."""
    text = f"{case.home.person} is told that {awb} is on {OTHER} now."
    rubric.says("done", told("flight_id", OTHER), text, once="move")


def _moved(case: Case, freight: Freight) -> list[ExpectedRow]:
    """What the rebooking changes."""
    return [
        ExpectedRow("leg", "booking_legs", "update", {"booking_id": BOOKING, "leg_no": 1}, {"flight_id": OTHER}),
        space.load(case, FLIGHT, -freight.weight_grams, -freight.volume_l),
        space.load(case, OTHER, freight.weight_grams, freight.volume_l),
    ]
