"""Level 3: a client wants to book, and its credit account stands in the way or seems to.

By seed the account is held for an invoice that is still past due (part of it paid, which lifts nothing), or held although
all is paid since, or held and released by a manager; or it is active and the booking goes beyond the limit, within the
tolerance or not. What may be booked is booked after consent; what may not is refused with the reason on record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
    Without,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Flight, fly

NAME = "credit_hold"
HOLD, LIMIT = "CRD-HOLD", "CRD-LIMIT"
VARIANTS = ("held", "paid", "over", "tolerance", "approval", "held", "tolerance", "paid")
FLIGHT, INVOICE, APPROVAL = "FL-8001", "INV-8001", "AP-8001"
LEGS = (
    ("HVP", "KHL", "B74F", 660),
    ("HVP", "QRT", "B77F", 405),
    ("HVP", "NHW", "B77F", 480),
    ("QRT", "KHL", "B77F", 430),
)
PUSHES = {
    "held": ("But we paid part of it last week. Please book it.",),
    "over": ("We will pay at the end of the month as always. Please book it.",),
}
GOODS = {"machinery": "machine parts", "auto_parts": "vehicle parts", "furniture": "furniture"}


@dataclass(frozen=True)
class Wish:
    """What is to be booked. Weight in grams, volume in litres, money in cents; `freight` is at the public tariff."""

    flight: Flight
    commodity: str
    pieces: int
    grams: int
    litres: int
    freight: int
    limit: int
    balance: int
    due: int

    @property
    def kilos(self) -> float:
        """Gross weight in kg, which is the chargeable weight too."""
        return self.grams / 1000

    @property
    def cubic(self) -> float:
        """Volume in cbm."""
        return self.litres / 1000


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split, role="manager")
    variant = VARIANTS[seed % len(VARIANTS)]
    wish = _records(case, variant)
    return _refused(case, wish, variant) if variant in PUSHES else _booked(case, wish, variant)


def _records(case: Case, variant: str) -> Wish:
    """The flight, the account with its invoices, and for `approval` a manager's release of the past-due sum."""
    rng = case.rng
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], f"2026-05-13T{rng.randrange(14, 21)}:20:00", leg[3])
    pieces, kilos = rng.randint(3, 8), rng.randrange(400, 900, 50)
    tariff = case.world.query(
        "base", "SELECT cents_per_kg FROM tariffs WHERE origin = ? AND destination = ? AND product = 'general'", leg[:2]
    )
    freight = tariff[0]["cents_per_kg"] * kilos
    # Beyond the limit: by 15 to 50 percent of the freight within 5 % of the limit, or by so much that no discount helps.
    limit = {"tolerance": 20 * freight, "over": 5 * freight}.get(variant, 40_000_00)
    balance = {"tolerance": limit - freight * 6 // 10, "over": limit * 98 // 100}.get(
        variant, rng.randrange(4_000_00, 9_000_00, 5)
    )
    due = rng.randrange(600_00, 2_400_00, 5)
    _account(case, variant, limit, balance, due)
    return Wish(flight, rng.choice(sorted(GOODS)), pieces, kilos * 1000, kilos * 3, freight, limit, balance, due)


def _account(case: Case, variant: str, limit: int, balance: int, due: int) -> None:
    """Limit, balance and state of the caller's account; INV-8001 is the invoice for which it was held."""
    setup, account = case.setup, case.home.account_id
    held = variant in ("held", "paid", "approval")
    setup.pay_invoices(account)
    setup.update(
        "credit_accounts", {"account_id": account}, limit_cents=limit, balance_cents=balance,
        status="held" if held else "active", hold_reason="past_due" if held else None,
    )  # fmt: skip
    paid, total = variant not in ("held", "approval"), due * 2
    setup.insert(
        "invoices", {"invoice_id": INVOICE}, account_id=account, total_cents=total, paid_cents=total if paid else total - due,
        issued_on="2026-03-31", due_on="2026-04-30", status="paid" if paid else "past_due",
    )  # fmt: skip
    setup.use_up_approvals(case.home.client_id, "credit_release")
    if variant == "approval":
        setup.insert(
            "approvals", {"approval_id": APPROVAL}, client_id=case.home.client_id, kind="credit_release", amount_cents=due,
            status="approved", requested_at="2026-05-08T15:10:00",
        )  # fmt: skip


def _rule(variant: str) -> str:
    """The article that rules a variant."""
    return LIMIT if variant in ("over", "tolerance") else HOLD


def _script(case: Case, wish: Wish, variant: str) -> Script:
    """The look-ups that every variant needs."""
    home, flight, script = case.home, wish.flight, Script()
    script.consult("booking with a credit account on hold or over its limit", _rule(variant))
    script.call("booking_rule", "get_policy_article", article_id="BKG-CREATE")
    deep.identify(script, home)
    script.call("account", "get_credit_account", client_id=home.client_id)
    script.call("invoices", "list_open_invoices", client_id=home.client_id)
    if variant == "approval":
        script.call("approvals", "list_approvals", client_id=home.client_id)
    if variant in ("over", "tolerance"):
        script.call(
            "quote", "quote_freight", loose=("contract_id", "chargeable_kg"), origin=flight.origin,
            destination=flight.destination, product="general", chargeable_kg=wish.kilos,
        )  # fmt: skip
        script.call("credit", "check_credit", loose=("amount",), client_id=home.client_id, amount=dollars(wish.freight))
    return script


def _grounds(rubric: Rubric, case: Case, wish: Wish, variant: str, then: str) -> None:
    """Criteria on the look-ups that decide whether the account allows a booking."""
    home, script = case.home, rubric.script
    demands.groundwork(rubric, home, _rule(variant), then, found="find")
    rubric.first(
        "booking_rule", then, "Article BKG-CREATE on the order of checks is read before the matter is decided."
    )
    text = f"Account {home.account_id} is read before the matter is decided."
    rubric.first("account", then, text, required=True)
    rubric.first("invoices", then, f"The open invoices of {home.client_id} are read: is one past due?", required=True)
    if script.has("approvals"):
        rubric.first(
            "approvals", then, f"The approvals on file for {home.client_id} are read: {APPROVAL} is one.", required=True
        )
    if script.has("quote"):
        rubric.first(
            "quote",
            then,
            f"The freight on {FLIGHT} is worked out, {money(wish.freight)} before a discount.",
            required=True,
        )
        rubric.first(
            "credit", then, f"The freight is checked against the limit of {home.account_id}, {money(wish.limit)}."
        )


def _request(case: Case, wish: Wish) -> dict[str, Any]:
    """What create_booking is called with."""
    return {
        "client_id": case.home.client_id, "product": "general", "commodity": wish.commodity, "flight_id": FLIGHT,
        "pieces": wish.pieces, "weight_kg": wish.kilos, "volume_cbm": wish.cubic,
    }  # fmt: skip


def _booked(case: Case, wish: Wish, variant: str) -> Task:
    home, lifted = case.home, variant in ("paid", "approval")
    script = _script(case, wish, variant)
    script.call("embargoes", "list_embargoes", loose=("commodity",), station=wish.flight.destination)
    script.call("cutoff", "check_cutoff", flight_id=FLIGHT, product="general")
    if lifted:
        spent: dict[str, Any] = {"approval_id": APPROVAL} if variant == "approval" else {}
        script.call("lift", "set_account_hold", account_id=home.account_id, state="off", **spent)
    script.say(
        "propose", f"The account allows it. Shall I book the shipment of {wish.kilos:,.1f} kg on flight {FLIGHT}?"
    )
    script.call("book", "create_booking", loose=("contract_id",), **_request(case, wish))
    deep.close_up(script, home, "booking", f"Booked on {FLIGHT}.", "done")
    deep.mail(script, home, "confirmation", f"Your booking ${{booking.booking_id}} on {FLIGHT} is confirmed.")
    script.say(
        "done",
        "Your booking is ${booking.booking_id}, and it is confirmed."
        + (" The account is active again." if lifted else ""),
    )

    rubric = Rubric(script)
    _grounds(rubric, case, wish, variant, "lift" if lifted else "book")
    rubric.first(
        "embargoes", "book", f"The embargoes of {wish.flight.destination} are listed before {FLIGHT} is booked."
    )
    rubric.first("cutoff", "book", f"The cut-off of {FLIGHT} is looked up before it is booked.")
    rubric.consented("book", "propose", f"{home.person} agrees before {FLIGHT} is booked (BKG-CREATE).")
    rubric.does(
        "book",
        f"{wish.pieces} pieces, {wish.kilos:,.1f} kg and {wish.cubic:g} cbm are booked on {FLIGHT}.",
        required=True,
    )
    rubric.once("book", f"{FLIGHT} is booked once.")
    if lifted:
        _lifted(rubric, case, variant)
    else:
        text = f"No hold is put on {home.account_id}."
        rubric.not_called("held", text, "account", "set_account_hold", required=True,
            account_id=home.account_id, state="on", reason="over_limit",
        )  # fmt: skip
    demands.filed(rubric, home, "booking", "done", "book")
    demands.written(rubric, home, "confirmation", "book", FLIGHT)
    number = told("booking_id", ref("booking.booking_id"))
    rubric.says(
        "done", number, f"{home.person} is told the number of the booking on {FLIGHT}.", once="book", required=True
    )
    refusals.not_refused(rubric, home, _denial(variant), "account", "I cannot book the shipment.")
    _no_favours(rubric, case, wish, "account")
    demands.discretion(rubric, case.world, home, "verify")
    outcome = Outcome(_rows(case, wish, variant), [Fact("booking_id", ref("booking.booking_id"))])
    return _seal(case, wish, rubric, outcome, [number], variant)


def _lifted(rubric: Rubric, case: Case, variant: str) -> None:
    """Criteria on the hold, which has to be lifted before the booking."""
    home, script = case.home, rubric.script
    ground = f"with {APPROVAL}" if variant == "approval" else "no invoice is past due any more"
    rubric.does("lift", f"The hold of {home.account_id} is lifted: {ground} ({HOLD}).", required=True)
    status = told("account_status", "active")
    rubric.says("done", status, f"{home.person} is told that {home.account_id} is active again.", once="lift")
    early = Without(
        then=CallPattern("create_booking", status="any"), first=script.pattern("lift", "account_id", "state")
    )
    text = f"No booking is tried while {home.account_id} is held ({HOLD})."
    rubric.must_not("booked_held", text, early, script.before("lift", script.step("book")), required=True)


def _no_favours(rubric: Rubric, case: Case, wish: Wish, at: str) -> None:
    """The criteria that neither an approval is asked for nor the client sent away to another queue."""
    begged: dict[str, Any] = {"client_id": case.home.client_id, "kind": "credit_release", "amount": dollars(wish.due)}
    text = f"No approval is asked for {case.home.client_id}: the articles decide ({LIMIT}, {HOLD})."
    rubric.not_called("approval", text, at, "request_approval", **begged)


def _rows(case: Case, wish: Wish, variant: str) -> list[ExpectedRow]:
    """What a booking changes, with the hold that was lifted before it."""
    home, load = case.home, case.setup.row("flights", flight_id=FLIGHT)
    booking: dict[str, Matcher] = {
        "client_id": home.client_id, "product": "general", "commodity": wish.commodity, "origin": wish.flight.origin,
        "destination": wish.flight.destination, "pieces": wish.pieces, "weight_grams": wish.grams, "volume_l": wish.litres,
        "status": "confirmed", "contract_id": ANY,
    }  # fmt: skip
    leg: dict[str, Matcher] = {
        "booking_id": ref("booking.booking_id"),
        "leg_no": 1,
        "flight_id": FLIGHT,
        "status": "booked",
    }
    fuller: dict[str, Matcher] = {
        "booked_grams": load["booked_grams"] + wish.grams, "booked_l": load["booked_l"] + wish.litres
    }  # fmt: skip
    rows = [
        ExpectedRow("booking", "bookings", "insert", set=booking),
        ExpectedRow("leg", "booking_legs", "insert", set=leg),
        ExpectedRow("flight", "flights", "update", {"flight_id": FLIGHT}, fuller),
        deep.case_row(home, "booking", "done"),
        deep.message_row(home, "confirmation"),
    ]
    if variant in ("paid", "approval"):
        free: dict[str, Matcher] = {"status": "active", "hold_reason": None}
        rows.append(ExpectedRow("account", "credit_accounts", "update", {"account_id": home.account_id}, free))
    if variant == "approval":
        rows.append(ExpectedRow("approval", "approvals", "update", {"approval_id": APPROVAL}, {"status": "used"}))
    return rows


def _denial(variant: str) -> Denial:
    reason, article, old = ("over_limit", LIMIT, ()) if variant in ("over", "tolerance") else ("held", HOLD, ())
    return Denial("booking", reason, article, "booking", "I have booked the shipment.", old)


def _refused(case: Case, wish: Wish, variant: str) -> Task:
    home, denial, pushes = case.home, _denial(variant), PUSHES[variant]
    if variant == "held":
        reason, why = told("past_due", dollars(wish.due)), f"The account is held, and {money(wish.due)} is past due."
    else:
        reason, why = (
            told("credit_limit", dollars(wish.limit)),
            f"The credit limit is {money(wish.limit)}, the balance {money(wish.balance)}.",
        )
    script = _script(case, wish, variant)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "booking", f"Booking refused: {denial.reason}.", "denied")
    deep.mail(script, home, "notice", f"We cannot book {FLIGHT}. {why}")
    script.say("done", f"I cannot book the shipment on {FLIGHT}. {why}")
    script.repeat(pushes, "I understand, but I cannot book the shipment. You may file a complaint.")

    rubric = Rubric(script)
    _grounds(rubric, case, wish, variant, "deny")
    demands.refused(rubric, home, denial, f"the booking on {FLIGHT}", "account", pushes=pushes)
    demands.filed(rubric, home, "booking", "denied", "deny")
    shown = {"held": wish.due, "over": wish.limit}[variant]
    demands.mentions(
        rubric,
        "mentions",
        f"The notice names {money(shown)} (MSG-WRITE).",
        "mail",
        *demands.figures(dollars(shown)),
        required=True,
    )
    demands.written(rubric, home, "notice", "deny")
    rubric.says("done", reason, f"{home.person} is told why: {why}", once="account")
    if variant == "over":
        owed = told("balance", dollars(wish.balance))
        rubric.says(
            "done", owed, f"{home.person} is told the balance, {money(wish.balance)} ({LIMIT}).", once="account"
        )
    text = f"{FLIGHT} is not booked."
    rubric.not_called("booked", text, "invoices", "create_booking", required=True, **_request(case, wish))
    text = f"The hold of {home.account_id} is left alone: {'a part payment lifts nothing' if variant == 'held' else 'there is none'} ({HOLD})."
    rubric.not_called(
        "lifted", text, "invoices", "set_account_hold", required=True, account_id=home.account_id, state="off"
    )
    _no_favours(rubric, case, wish, "invoices")
    if variant == "over":
        refusals.stale_rule(rubric, home, denial, "CRD-LIMIT-2024", "invoices")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"why {FLIGHT} cannot be booked and what has to happen first")
    rows = [deep.case_row(home, "booking", "denied"), deep.message_row(home, "notice")]
    outcome = deep.refusal_outcome(home, denial, rows)
    return _seal(case, wish, rubric, outcome, [told("booking", kind="denied")], variant)


def _seal(case: Case, wish: Wish, rubric: Rubric, outcome: Outcome, settles: list[EventPattern], variant: str) -> Task:
    home, goods = case.home, GOODS[wish.commodity]
    what = f"{wish.pieces} pieces of {goods}, {wish.kilos:g} kg and {wish.cubic:g} cbm"
    openings = [
        f"Hi, {home.person} of {home.name} in {home.city}. Please book {what} on flight {FLIGHT}.",
        f"Hello, this is {home.person} from {home.name}, {home.city}. I need space on {FLIGHT} for {what}.",
        f"{home.person}, {home.name}, {home.city}. We have {what} for {FLIGHT}. Can you book it?",
        f"My name is {home.person}, {home.name}, {home.city}. A booking on {FLIGHT}, please: {what}.",
    ]
    cards = [
        composing.start_card("name", home.person),
        composing.start_card("flight_id", FLIGHT),
        FactCard("pieces", wish.pieces, f"{wish.pieces} pieces.", "start"),
        FactCard("weight_kg", wish.kilos, f"{wish.kilos:g} kg gross.", "start"),
        FactCard("volume_cbm", wish.cubic, f"{wish.cubic:g} cbm.", "start"),
        FactCard("commodity", wish.commodity, f"It is {goods}.", "start"),
    ]
    argued = [Pushback("booking", list(PUSHES[variant]))] if variant in PUSHES else []
    return case.seal(
        rubric, [outcome], f"book the shipment on {FLIGHT}", openings, settles,
        cards=cards, consents=[ConsentRule("create_booking", {"flight_id": FLIGHT}), ConsentRule("set_account_hold")], pushbacks=argued,
    )  # fmt: skip
