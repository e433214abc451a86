"""Level 4: a client wants storage waived because its consignee was told of the arrival late. Above the desk's limit a manager decides.

What the late notice cost is worked out from the tracking events, the station's rate and the chargeable weight; the client
wants all of it waived. By seed an approval is on file, or was rejected, or has still to be asked for, or is not needed.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    Before,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Freight, Line, contract, fly, ship

NAME = "waiver_approval"
ARTICLE, CHARGE_RULE, LIMITS, SUPERSEDED = "STO-WAIVE", "STO-CHARGE", "APR-LIMITS", "APR-LIMITS-2024"
VARIANTS = ("granted", "declined", "below", "pending")
CHARGE, APPROVAL, OTHER_APPROVAL = "CH-8002", "AP-8001", "AP-8002"
DESK_CENTS = 150_00
# Destination -> (origin, aircraft, minutes on the way, free days, cents a kg and day): stations that work at weekends.
STATIONS = {
    "KHL": ("HVP", "B74F", 660, 2, 28),
    "QRT": ("HVP", "B77F", 405, 3, 26),
    "NHW": ("HVP", "B77F", 480, 2, 32),
    "HVP": ("QRT", "B77F", 405, 3, 20),
}
PUSHES = ("Then waive at least what you may waive yourself.",)


@dataclass(frozen=True)
class Storage:
    """The charge, what the late notice cost of it (`waive`, cents), and the days that it was late."""

    freight: Freight
    late: int
    arrived: str
    noticed: str
    total: int
    waive: int

    @property
    def amount(self) -> float:
        """What is to be waived, in dollars."""
        return dollars(self.waive)


def storage_cents(days: int, chargeable_grams: int, cents_per_kg: int) -> int:
    """Storage for so many charged days, in cents, rounded half up; the minimum of a shipment is left out."""
    return (days * chargeable_grams * cents_per_kg + 500) // 1000


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split, role="manager")
    variant = VARIANTS[seed % len(VARIANTS)]
    storage = _records(case, variant)
    if variant == "declined":
        return _declined(case, storage)
    return _pending(case, storage) if variant == "pending" else _waived(case, storage, approved=variant == "granted")


def _records(case: Case, variant: str) -> Storage:
    """An arrived shipment whose notice went out days late, its storage charge, and what approvals are on file."""
    rng, setup = case.rng, case.setup
    destination = rng.choice(sorted(STATIONS))
    origin, aircraft, minutes, free, rate = STATIONS[destination]
    late, charged = rng.choice((1, 2) if variant == "below" else (2, 3)), rng.choice((1, 2))
    arrived, noticed = _day(free + late + charged), _day(free + charged)
    flight = fly(
        case, origin, destination, aircraft, f"{_day(free + late + charged + 1)}T14:00:00", minutes, status="departed"
    )
    each = rng.randrange(40, 56, 5) if variant == "below" else rng.randrange(150, 240, 10)
    freight = ship(
        case, [flight], [Line(4, 80, 60, 60, each * 1000)], contract_id=contract(case), status="arrived", day=arrived,
        booked_at=f"{_day(free + late + charged + 4)}T10:20:00",
    )  # fmt: skip
    setup.update("tracking_events", {"awb": freight.awb, "event_no": 6}, happened_at=f"{noticed}T09:10:00")
    total = storage_cents(late + charged, freight.chargeable_grams, rate)
    waive = storage_cents(late, freight.chargeable_grams, rate)
    setup.charge(CHARGE, freight.awb, "storage", total, DAY)
    # With an invoice past due there is no goodwill for the rest of the charge.
    setup.insert(
        "invoices", {"invoice_id": "INV-8001"}, account_id=case.home.account_id, total_cents=310_00, paid_cents=0,
        issued_on="2026-03-31", due_on="2026-04-30", status="past_due",
    )  # fmt: skip
    setup.use_up_approvals(case.home.client_id, "fee_waiver")
    status = {"granted": "approved", "declined": "rejected"}.get(variant)
    approvals: list[tuple[str, str, int, str]] = [(OTHER_APPROVAL, "claim", waive + 200_00, "approved")]
    if status is not None:
        approvals.append((APPROVAL, "fee_waiver", waive, status))
    for approval_id, kind, cents, state in approvals:
        setup.insert(
            "approvals", {"approval_id": approval_id}, client_id=case.home.client_id, kind=kind, amount_cents=cents,
            status=state, requested_at="2026-05-08T15:10:00",
        )  # fmt: skip
    return Storage(freight, late, arrived, noticed, total, waive)


def _day(before: int) -> str:
    return (datetime.date.fromisoformat(DAY) - datetime.timedelta(days=before)).isoformat()


def _script(case: Case, storage: Storage, *, above: bool) -> Script:
    """The look-ups that every variant needs; `above`: with those on approvals."""
    freight, script = storage.freight, Script()
    script.consult("waive storage charges, late arrival notice", ARTICLE)
    script.call("rule", "get_policy_article", article_id=CHARGE_RULE)
    if above:
        script.call("limits", "get_policy_article", article_id=LIMITS)
    deep.identify(script, case.home, freight.awb)
    script.call("charges", "list_charges", awb=freight.awb)
    script.call("track", "track_shipment", awb=freight.awb)
    script.call("station", "get_station_profile", station=freight.destination)
    if above:
        script.call("approvals", "list_approvals", client_id=case.home.client_id)
    return script


def _grounds(rubric: Rubric, case: Case, storage: Storage, then: str) -> None:
    """Criteria on the look-ups that decide what is waived."""
    freight, script = storage.freight, rubric.script
    demands.groundwork(rubric, case.home, ARTICLE, then)
    rubric.first("rule", then, f"Article {CHARGE_RULE} on counting the days is read before {CHARGE} is decided on.")
    rubric.first(
        "charges", then, f"The charges of {freight.awb} are read before {CHARGE} is decided on.", required=True
    )
    text = f"The events of {freight.awb} are read: it arrived on {storage.arrived}, the notice went out on {storage.noticed}."
    rubric.first("track", then, text, required=True)
    rubric.first(
        "station", then, f"The rate of {freight.destination} is read before {CHARGE} is decided on.", required=True
    )
    if script.has("approvals"):
        rubric.first(
            "limits", then, f"Article {LIMITS} is read: {money(storage.waive)} is above the desk's {money(DESK_CENTS)}."
        )
        text = f"The approvals on file for {case.home.client_id} are looked up before the matter is decided."
        rubric.first("approvals", then, text, required=True)


def _bounds(rubric: Rubric, case: Case, storage: Storage, at: str) -> None:
    """What nobody may waive: the whole charge, part of a sum that needs an approval, with another matter's approval."""
    text = f"Not all of {CHARGE}, {money(storage.total)}, is waived: only the {storage.late} days that the notice was late."
    rubric.not_tried("whole_charge", text, at, "waive_charge", by=("amount",), required=True,
        charge_id=CHARGE, amount=dollars(storage.total),
    )  # fmt: skip
    text = f"{OTHER_APPROVAL}, an approval of a claim, is not used on {CHARGE}."
    rubric.not_tried("other_approval", text, at, "waive_charge", by=("approval_id",),
        charge_id=CHARGE, amount=storage.amount, approval_id=OTHER_APPROVAL,
    )  # fmt: skip
    if storage.waive > DESK_CENTS:
        text = f"{money(storage.waive)} is not split: no {money(DESK_CENTS)} is waived of {CHARGE} ({LIMITS})."
        rubric.not_tried("split", text, at, "waive_charge", by=("amount",), required=True,
            charge_id=CHARGE, amount=dollars(DESK_CENTS),
        )  # fmt: skip


def _denial(awb: str) -> Denial:
    return Denial(
        "fee_waiver", "not_authorized", LIMITS, "fee_waiver", "I have waived the storage charge.", (ARTICLE,), awb
    )


def _waived(case: Case, storage: Storage, *, approved: bool) -> Task:
    home, awb, amount = case.home, storage.freight.awb, storage.amount
    script = _script(case, storage, above=approved)
    spent: dict[str, Any] = {"approval_id": APPROVAL} if approved else {}
    script.say("propose", f"The notice was {storage.late} days late. Shall I waive {money(storage.waive)} of {CHARGE}?")
    script.call("waive", "waive_charge", charge_id=CHARGE, amount=amount, **spent)
    deep.close_up(script, home, "billing", f"Storage of {awb}: {money(storage.waive)} waived.", "done", awb)
    left = storage.total - storage.waive
    script.say("done", f"I have waived {money(storage.waive)} of {CHARGE}. The storage is now {money(left)}.")

    rubric = Rubric(script)
    _grounds(rubric, case, storage, "waive")
    words = f"with the approval {APPROVAL}" if approved else "which the desk decides"
    rubric.does("waive", f"{money(storage.waive)} of {CHARGE} is waived, {words}.", required=True)
    agreed = Before(EventPattern("consented", by="user", tool="waive_charge"), script.pattern("waive"))
    text = f"{home.person} agrees to a sum before any of {CHARGE} is waived ({ARTICLE})."
    rubric.must("consent_waive", text, agreed, script.without("propose"), required=True)
    rubric.once("waive", f"{CHARGE} is waived in one piece, once.")
    _bounds(rubric, case, storage, "station")
    demands.filed(rubric, home, "billing", "done", "waive")
    given, rest = told("waived_amount", amount), told("storage", dollars(left))
    rubric.says(
        "done", given, f"{home.person} is told that {money(storage.waive)} is waived.", once="track", required=True
    )
    rubric.says(
        "done", rest, f"{home.person} is told what is left of {CHARGE}, {money(left)}.", once="track", required=True
    )
    begged = {"client_id": home.client_id, "kind": "fee_waiver", "amount": amount}
    why = f"{APPROVAL} is on file" if approved else f"it is within {money(DESK_CENTS)}"
    rubric.not_called("approval", f"No approval of {money(storage.waive)} is asked for: {why}.", "station", "request_approval",
        required=True, **begged,
    )  # fmt: skip
    refusals.not_refused(rubric, home, _denial(awb), "station", "I cannot waive the storage.")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"how {storage.late} days make {money(storage.waive)} and why the rest stays")
    used: dict[str, Matcher] = {"approval_id": APPROVAL} if approved else {}
    rows = [
        ExpectedRow("charge", "charges", "update", {"charge_id": CHARGE}, {"waived_cents": storage.waive, **used}),
        deep.case_row(home, "billing", "done", awb),
    ]
    if approved:
        rows.append(ExpectedRow("approval", "approvals", "update", {"approval_id": APPROVAL}, {"status": "used"}))
    facts = [Fact("waived_amount", amount), Fact("storage", dollars(left))]
    return _seal(case, storage, rubric, _with_or_without_mail(rows, facts, case, "confirmation"), [rest, given])


def _with_or_without_mail(rows: list[ExpectedRow], facts: list[Fact], case: Case, template: str) -> list[Outcome]:
    """Nothing asks for a word in writing here, and nothing forbids it."""
    return [Outcome(rows, facts), Outcome([*rows, deep.message_row(case.home, template)], facts)]


def _pending(case: Case, storage: Storage) -> Task:
    home, awb, amount = case.home, storage.freight.awb, storage.amount
    script = _script(case, storage, above=True)
    script.call("request", "request_approval", client_id=home.client_id, kind="fee_waiver", amount=amount)
    script.call(
        "case", "create_case", loose=("priority",), client_id=home.client_id, kind="billing", awb=awb,
        summary=f"Waiver of {money(storage.waive)} on {CHARGE} waits for a manager.",
    )  # fmt: skip
    script.say(
        "done",
        f"A manager has to decide: the approval for {money(storage.waive)} is pending. Your case ${{case.case_id}} stays open.",
    )

    rubric = Rubric(script)
    _grounds(rubric, case, storage, "request")
    rubric.does("request", f"An approval of {money(storage.waive)} is asked for ({LIMITS}).", required=True)
    rubric.once("request", f"The approval of {money(storage.waive)} is asked for once.")
    wrong = {"client_id": home.client_id, "kind": "fee_waiver", "amount": dollars(storage.total)}
    text = f"Not {money(storage.total)}, all of {CHARGE}, is asked for: the notice was {storage.late} days late."
    rubric.not_tried("whole_sum", text, "approvals", "request_approval", by=("amount",), required=True, **wrong)
    text = f"Nothing of {CHARGE} is waived while the approval waits."
    rubric.not_called("waived", text, "request", "waive_charge", required=True, charge_id=CHARGE, amount=amount)
    demands.filed(rubric, home, "billing", None)
    waiting = told("approval_status", "pending")
    rubric.says("done", waiting, f"{home.person} is told that the approval is pending.", once="request", required=True)
    named = told("approval_amount", amount)
    rubric.says("done", named, f"{home.person} is told what was asked for, {money(storage.waive)}.", once="track")
    number = told("case_id", ref("case.case_id"))
    rubric.says("done", number, f"{home.person} is told the number of the open case of {home.client_id}.", once="case")
    refusals.not_refused(rubric, home, _denial(awb), "station", "I cannot waive the storage.")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"what happens next with {money(storage.waive)}")
    asked: dict[str, Matcher] = {
        "client_id": home.client_id, "kind": "fee_waiver", "amount_cents": storage.waive, "status": "pending"
    }  # fmt: skip
    rows = [ExpectedRow("approval", "approvals", "insert", set=asked), deep.case_row(home, "billing", None, awb)]
    outcomes = _with_or_without_mail(rows, [Fact("approval_status", "pending")], case, "notice")
    return _seal(case, storage, rubric, outcomes, [waiting])


def _declined(case: Case, storage: Storage) -> Task:
    home, awb = case.home, storage.freight.awb
    denial = _denial(awb)
    script = _script(case, storage, above=True)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "billing", f"Waiver of {money(storage.waive)} rejected by a manager.", "denied", awb)
    deep.mail(script, home, "notice", f"A manager has rejected to waive {money(storage.waive)} of {CHARGE}.")
    script.say(
        "done", f"I cannot waive the storage. The approval for {money(storage.waive)} was rejected by a manager."
    )
    script.repeat(PUSHES, f"I cannot waive the charge, nor {money(DESK_CENTS)} of it. You may file a complaint.")

    rubric = Rubric(script)
    _grounds(rubric, case, storage, "deny")
    demands.refused(rubric, home, denial, f"the waiver of {money(storage.waive)}", "approvals", pushes=PUSHES)
    demands.filed(rubric, home, "billing", "denied", "deny")
    demands.written(rubric, home, "notice", "deny", CHARGE, or_else=storage.freight.awb)
    answer = told("approval_status", "rejected")
    rubric.says("done", answer, f"{home.person} is told that {APPROVAL} was rejected.", once="approvals")
    text = f"Nothing of {CHARGE} is waived: neither {money(storage.waive)} nor {money(DESK_CENTS)} ({LIMITS})."
    rubric.not_called(
        "waived", text, "approvals", "waive_charge", required=True, charge_id=CHARGE, amount=dollars(DESK_CENTS)
    )
    begged = {"client_id": home.client_id, "kind": "fee_waiver", "amount": storage.amount}
    text = f"{APPROVAL} is not asked for again: a rejection is final ({LIMITS})."
    rubric.not_called("asked_again", text, "approvals", "request_approval", required=True, **begged)
    refusals.stale_rule(rubric, home, denial, SUPERSEDED, "approvals")
    demands.discretion(rubric, case.world, home, "verify")
    demands.kind_tone(rubric, home)
    rows = [deep.case_row(home, "billing", "denied", awb), deep.message_row(home, "notice")]
    outcome = deep.refusal_outcome(home, denial, rows)
    return _seal(case, storage, rubric, [outcome], [told("fee_waiver", kind="denied")], pushes=PUSHES)


def _seal(
    case: Case,
    storage: Storage,
    rubric: Rubric,
    outcomes: list[Outcome],
    settles: list[EventPattern],
    pushes: Sequence[str] = (),
) -> Task:
    home, awb = case.home, storage.freight.awb
    openings = [
        f"Hi, {home.person} of {home.name}. There is storage on {awb}, but our consignee heard of the arrival days late. Please waive it.",
        f"Hello, this is {home.person} from {home.name}. You told the consignee of {awb} far too late. Take the storage off, please.",
        f"{home.person}, {home.name}. The arrival notice of {awb} came late and now there is a storage charge. I want it waived.",
        f"My name is {home.person}, {home.name}. I do not accept the storage on {awb}: nobody told us in time. Waive it, please.",
    ]
    cards = [composing.start_card("awb", awb), composing.start_card("name", home.person)]
    argued = [Pushback("fee_waiver", list(pushes))] if pushes else []
    agreed = [ConsentRule("waive_charge", {"amount": ANY})]
    return case.seal(
        rubric, outcomes, "have the storage charge waived", openings, settles,
        cards=cards, consents=agreed, pushbacks=argued, small_talk=["We ship with you every week."],
    )  # fmt: skip
