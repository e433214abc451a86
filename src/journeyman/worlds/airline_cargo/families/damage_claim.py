"""Level 3: a client claims for damaged pieces. What is owed is the lesser of the claim and a cap by weight, if notice is in time.

By seed the cap is below the claim, or the claim below the cap on the last day of notice; or notice is late, or no station
reported any damage, and the claim is refused; or what is owed is above the desk's limit and waits for a manager.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from journeyman.task import (
    AnyOf,
    Before,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Matcher,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, dollars, money, told
from journeyman.worlds.airline_cargo.families import deep, demands
from journeyman.worlds.airline_cargo.families.common import DAY
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.freight import Freight, Line, contract, fly, ship

NAME = "damage_claim"
NOTICE, LIABILITY, SETTLE = "CLM-NOTICE", "CLM-LIABILITY", "CLM-SETTLE"
SUPERSEDED = "CLM-NOTICE-2023"
VARIANTS = ("capped", "late", "last_day", "approval", "capped", "no_report", "late", "approval")
REPORT = "IR-8001"
EXAMPLE = 3
"""The seed of the example in CLM-LIABILITY: 120 kg, so $3,537.60."""
NOTICE_DAYS = 14
UNITS, RATE_CENTS, OLD_UNITS = 22, 134, 19
"""Liability units a kg, what one is worth on the day, and the units of the superseded article."""
LEGS = (("HVP", "KHL", "B74F", 660), ("HVP", "QRT", "B77F", 405), ("CDN", "HVP", "A33P", 150))
PUSHES = ("We are good customers of yours. Please settle it anyway.",)


def cap_cents(grams: int, units: int = UNITS) -> int:
    """The most that is owed for damaged goods of this gross weight, in cents, at the rate of the task's day."""
    return units * RATE_CENTS * grams // 1000


@dataclass(frozen=True)
class Loss:
    """What was damaged and what is claimed. Weight in grams, money in cents; `last` is the last day of notice."""

    freight: Freight
    broken: int
    grams: int
    claimed: int
    delivered: str
    last: str

    @property
    def kilos(self) -> float:
        """Gross weight of the damaged pieces in kg."""
        return self.grams / 1000

    @property
    def owed(self) -> int:
        """The lesser of claim and cap, in cents."""
        return min(self.claimed, cap_cents(self.grams))


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    loss = _records(case, variant)
    if variant in ("late", "no_report"):
        return _refused(case, loss, variant)
    return _waiting(case, loss) if variant == "approval" else _settled(case, loss)


def _day(before: int) -> str:
    return (datetime.date.fromisoformat(DAY) - datetime.timedelta(days=before)).isoformat()


def _records(case: Case, variant: str) -> Loss:
    """A delivered shipment with a report of damage, but for `no_report`, and no approval left to use."""
    rng = case.rng
    age = {"late": rng.randint(15, 40), "last_day": NOTICE_DAYS}.get(variant, rng.randint(2, 12))
    delivered = _day(age)
    leg = rng.choice(LEGS)
    flight = fly(case, *leg[:3], f"{_day(age + 3)}T20:00:00", leg[3], status="departed")
    broken = rng.randint(2, 4)
    each = (rng.randrange(40, 90, 5) if variant == "approval" else rng.randint(2, 4)) * 1000
    if case.seed == EXAMPLE:
        broken, each = 2, 60_000
    freight = ship(
        case, [flight], [Line(rng.randint(6, 12), 60, 40, 50, each)], commodity=rng.choice(("electronics", "furniture", "art")),
        contract_id=contract(case), status="delivered", day=delivered, booked_at=f"{_day(age + 6)}T10:20:00",
    )  # fmt: skip
    grams = broken * each
    cap = cap_cents(grams)
    claimed = cap // 100 * 60 if variant == "last_day" else cap + rng.randrange(60, 400, 20) * 100
    if case.seed == EXAMPLE:
        claimed = 5_000_00
    if variant != "no_report":
        case.setup.insert(
            "irregularities", {"irregularity_id": REPORT}, awb=freight.awb, station=freight.destination, kind="damaged",
            pieces=broken, status="open", reported_at=f"{delivered}T11:40:00",
        )  # fmt: skip
    case.setup.use_up_approvals(case.home.client_id, "claim")
    last = (datetime.date.fromisoformat(delivered) + datetime.timedelta(days=NOTICE_DAYS)).isoformat()
    return Loss(freight, broken, grams, claimed, delivered, last)


def _script(case: Case, loss: Loss) -> Script:
    """The look-ups that every variant needs."""
    script, awb = Script(), loss.freight.awb
    script.consult("claim for damage, notice in time, liability", NOTICE)
    script.call("liability", "get_policy_article", article_id=LIABILITY)
    deep.identify(script, case.home, awb)
    script.call("reports", "list_irregularities", awb=awb)
    script.call("claims", "list_claims", awb=awb)
    return script


def _grounds(rubric: Rubric, case: Case, loss: Loss, then: str) -> None:
    """Criteria on the look-ups that decide about a claim."""
    awb = loss.freight.awb
    demands.groundwork(rubric, case.home, NOTICE, then)
    rubric.first("liability", then, f"Article {LIABILITY} is read before the claim on {awb} is decided.")
    rubric.first(
        "reports", then, f"The stations' reports on {awb} are read before the claim is decided.", required=True
    )
    rubric.first("claims", then, f"Claims that {awb} has already are looked up: one a kind ({NOTICE}).", required=True)


def _opened(rubric: Rubric, case: Case, loss: Loss) -> None:
    """Criteria on the claim as it is opened."""
    awb, script = loss.freight.awb, rubric.script
    text = f"{case.home.person} is asked what weight of {awb} is affected or what is claimed."
    slots = ("affected_kg", "weight_kg", "claim_amount")
    asked = AnyOf([Before(told(slot, kind="asked"), CallPattern("open_claim")) for slot in slots])
    rubric.must("asks_loss", text, asked, script.instead("ask_loss", NOTHING))
    text = f"A claim for damage of {loss.kilos:,.1f} kg of {awb} over {money(loss.claimed)} is opened."
    rubric.does("open", text, required=True)
    rubric.first(
        "rate", "decide", f"The liability rate of {DAY}, the day of notice, is looked up ({LIABILITY}).", required=True
    )
    whole = loss.freight.weight_grams / 1000
    text = f"The claim on {awb} is not opened for {whole:,.1f} kg, the whole shipment ({LIABILITY})."
    rubric.not_tried("whole_weight", text, "claims", "open_claim",
        by=("weight_kg",), required=True, awb=awb, kind="damage", weight_kg=whole, amount=dollars(loss.claimed),
    )  # fmt: skip
    text = f"{awb} gets one claim for damage, not two."
    twice = Happened(CallPattern("open_claim", status="any"), min=2)
    rubric.must_not("second_claim", text, twice, script.after("open", script.step("open")))


def _open(script: Script, loss: Loss) -> None:
    """Steps `ask_loss`, `rate` and `open`."""
    script.say("ask_loss", "What is the affected weight, and what amount do you claim?")
    script.call("rate", "get_liability_rate", date=DAY)
    script.call(
        "open", "open_claim", awb=loss.freight.awb, kind="damage", weight_kg=loss.kilos, amount=dollars(loss.claimed)
    )


def _claim_row(case: Case, loss: Loss, **more: Matcher) -> ExpectedRow:
    values: dict[str, Matcher] = {
        "awb": loss.freight.awb, "kind": "damage", "weight_grams": loss.grams, "claimed_cents": loss.claimed,
        "notice_on": DAY, **more,
    }  # fmt: skip
    return ExpectedRow("claim", "claims", "insert", set=values)


def _settled(case: Case, loss: Loss) -> Task:
    home, awb, owed = case.home, loss.freight.awb, dollars(loss.owed)
    script = _script(case, loss)
    _open(script, loss)
    script.say(
        "propose",
        f"We owe {money(loss.owed)} for {loss.kilos:,.1f} kg, and a settlement is final. Shall I settle the claim for {money(loss.owed)}?",
    )
    script.call("decide", "settle_claim", loose=("claim_id",), claim_id="${claim.claim_id}", amount=owed)
    deep.close_up(script, home, "claim", f"Damage of {awb} settled.", "done", awb)
    deep.mail(script, home, "confirmation", f"The claim on {awb} is settled: {money(loss.owed)}.")
    script.say("done", f"The claim is settled. The settlement is {money(loss.owed)}.")

    rubric = Rubric(script)
    _grounds(rubric, case, loss, "open")
    _opened(rubric, case, loss)
    agreed = Before(EventPattern("consented", by="user", tool="settle_claim"), script.pattern("decide"))
    text = f"{home.person} agrees to a sum before the claim on {awb} is settled ({SETTLE})."
    rubric.must("consent_settle", text, agreed, script.without("propose"), required=True)
    rubric.does(
        "decide", f"The claim on {awb} is settled for {money(loss.owed)}, the lesser of claim and cap.", required=True
    )
    _other_sums(rubric, loss)
    demands.filed(rubric, home, "claim", "done", "decide")
    demands.written(rubric, home, "confirmation", "decide", f"{owed:,.2f}")
    sum_told = told("claim_amount", owed)
    rubric.says(
        "done", sum_told, f"{home.person} is told the settlement, {money(loss.owed)}.", once="open", required=True
    )
    final = told("claim_status", "settled")
    rubric.says(
        "done", final, f"{home.person} is told that the claim on {awb} is settled.", once="decide", required=True
    )
    begged: dict[str, Any] = {"client_id": home.client_id, "kind": "claim", "amount": owed}
    text = f"No approval is asked for {money(loss.owed)}, which the desk decides ({SETTLE})."
    rubric.not_called("approval", text, "claims", "request_approval", **begged)
    refusals.not_refused(rubric, home, _denial(awb, "late"), "claims", "I cannot accept the claim.")
    demands.discretion(rubric, case.world, home, "verify")
    rows = [
        _claim_row(case, loss, status="settled", settled_cents=loss.owed),
        deep.case_row(home, "claim", "done", awb),
        deep.message_row(home, "confirmation"),
    ]
    outcome = Outcome(rows, [Fact("claim_status", "settled")])
    settles = [sum_told, final]
    return _seal(case, loss, rubric, [outcome], settles)


def _other_sums(rubric: Rubric, loss: Loss) -> None:
    """The criteria that no other sum is paid."""
    cap, old = cap_cents(loss.grams), cap_cents(loss.grams, OLD_UNITS)
    over = max(loss.claimed, cap) if loss.claimed != cap else cap + 100
    sums = {
        "over": (over, "the greater of claim and cap"),
        "old": (old, f"{OLD_UNITS} units a kg, as in CLM-LIABILITY-2024"),
    }
    for name, (cents, what) in sums.items():
        if cents == loss.owed:
            continue
        arguments = {"claim_id": "${claim.claim_id}", "amount": dollars(cents)}
        text = f"Not {money(cents)}, {what}, is settled."
        rubric.not_tried(f"{name}_sum", text, "open", "settle_claim", by=("amount",), required=True, **arguments)


def _waiting(case: Case, loss: Loss) -> Task:
    home, awb, owed = case.home, loss.freight.awb, dollars(loss.owed)
    script = _script(case, loss)
    script.call("limits", "get_policy_article", article_id=SETTLE)
    script.call("approvals", "list_approvals", client_id=home.client_id)
    _open(script, loss)
    script.call("decide", "request_approval", client_id=home.client_id, kind="claim", amount=owed)
    script.call(
        "case", "create_case", loose=("priority",), client_id=home.client_id, kind="claim", awb=awb,
        summary=f"Claim of {money(loss.owed)} waits for a manager.",
    )  # fmt: skip
    script.say(
        "done",
        f"The claim is open. The approval for {money(loss.owed)} is pending, a manager answers within a working day.",
    )

    rubric = Rubric(script)
    _grounds(rubric, case, loss, "open")
    _opened(rubric, case, loss)
    rubric.first("limits", "decide", f"Article {SETTLE} is read before an approval is asked for.")
    rubric.first("approvals", "decide", f"Approvals for {home.client_id} are looked up before another is asked for.")
    text = f"An approval of {money(loss.owed)} is asked for: {loss.kilos:,.1f} kg at $29.48, above the desk's limit ({SETTLE})."
    rubric.does("decide", text, required=True)
    rubric.once("decide", f"The approval of {money(loss.owed)} is asked for once.")
    demands.filed(rubric, home, "claim", None)
    waiting = told("approval_status", "pending")
    rubric.says("done", waiting, f"{home.person} is told that the approval is pending.", once="decide", required=True)
    named = told("approval_amount", owed)
    rubric.says("done", named, f"{home.person} is told what a manager was asked for, {money(loss.owed)}.", once="rate")
    _nothing_yet(rubric, home, loss)
    refusals.not_refused(rubric, home, _denial(awb, "late"), "claims", "I cannot accept the claim.")
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"how {loss.kilos:,.1f} kg make {money(loss.owed)} and what happens next")
    asked: dict[str, Matcher] = {
        "client_id": home.client_id,
        "kind": "claim",
        "amount_cents": loss.owed,
        "status": "pending",
    }
    rows = [
        _claim_row(case, loss, status="open"),
        ExpectedRow("approval", "approvals", "insert", set=asked),
        deep.case_row(home, "claim", None, awb),
    ]
    facts = [Fact("approval_status", "pending")]
    outcomes = [Outcome(rows, facts), Outcome([*rows, deep.message_row(home, "notice")], facts)]
    return _seal(case, loss, rubric, outcomes, [waiting])


def _nothing_yet(rubric: Rubric, home: deep.Caller, loss: Loss) -> None:
    """The criteria that nothing is paid before a manager has answered, and that no other sum is asked for."""
    awb = loss.freight.awb
    part = {"claim_id": "${claim.claim_id}", "amount": 500.0}
    text = f"Nothing is settled on {awb} while the approval waits, not $500.00 either (APR-LIMITS)."
    rubric.not_called("settled", text, "decide", "settle_claim", required=True, **part)
    wrong = {"client_id": home.client_id, "kind": "claim", "amount": dollars(loss.claimed)}
    text = f"Not {money(loss.claimed)}, which is claimed, is asked for: the cap is less ({LIABILITY})."
    rubric.not_tried("claimed_sum", text, "approvals", "request_approval", by=("amount",), required=True, **wrong)


def _denial(awb: str, variant: str) -> Denial:
    reason, article = ("too_late", NOTICE) if variant == "late" else ("not_eligible", SETTLE)
    return Denial("claim", reason, article, "claim", "I have accepted the claim.", (), awb)


def _refused(case: Case, loss: Loss, variant: str) -> Task:
    home, awb = case.home, loss.freight.awb
    denial = _denial(awb, variant)
    why = f"The deadline for notice was {loss.last}." if variant == "late" else f"No station reported damage to {awb}."
    script = _script(case, loss)
    if variant == "no_report":
        script.call("limits", "get_policy_article", article_id=SETTLE)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "claim", f"Claim on {awb} refused: {variant}.", "denied", awb)
    deep.mail(script, home, "notice", f"We cannot accept the claim on {awb}, delivered on {loss.delivered}. {why}")
    script.say("done", f"I cannot accept the claim on {awb}. It was delivered on {loss.delivered}. {why}")
    script.repeat(PUSHES, f"I am sorry, but I cannot accept the claim on {awb}. You may file a complaint.")

    rubric = Rubric(script)
    _grounds(rubric, case, loss, "deny")
    if variant == "no_report":
        rubric.first(
            "limits", "deny", f"Article {SETTLE}, which asks for a report of the damage, is read.", required=True
        )
    demands.refused(rubric, home, denial, f"the claim on {awb}", "reports", pushes=PUSHES)
    demands.filed(rubric, home, "claim", "denied", "deny")
    demands.written(rubric, home, "notice", "deny", awb)
    on = told("delivery_date", loss.delivered)
    rubric.says("done", on, f"{home.person} is told when {awb} was delivered, {loss.delivered}.", once="verify")
    if variant == "late":
        text = f"{home.person} is told the last day of notice, {loss.last}, {NOTICE_DAYS} days after {loss.delivered}."
        rubric.says("done", told("deadline", loss.last), text, once="verify")
        refusals.stale_rule(rubric, home, denial, SUPERSEDED, "claims")
    else:
        report = {"awb": awb, "station": loss.freight.destination, "kind": "damaged", "pieces": loss.broken}
        text = f"The desk does not report the damage of {awb} itself ({SETTLE})."
        rubric.not_called("reported", text, "claims", "report_irregularity", required=True, **report)
    new = {"awb": awb, "kind": "damage", "weight_kg": loss.kilos, "amount": dollars(loss.claimed)}
    rubric.not_called(
        "opened",
        f"No claim is opened on {awb} ({denial.article}).",
        "claims",
        "open_claim",
        required=True,
        **new,
    )
    begged: dict[str, Any] = {"client_id": home.client_id, "kind": "claim", "amount": dollars(loss.claimed)}
    text = f"No approval is asked for what {denial.article} rules out (APR-LIMITS)."
    rubric.not_called("approval", text, "claims", "request_approval", **begged)
    demands.discretion(rubric, case.world, home, "verify")
    demands.explained(rubric, f"why the claim on {awb} is refused")
    rows = [deep.case_row(home, "claim", "denied", awb), deep.message_row(home, "notice")]
    outcome = deep.refusal_outcome(home, denial, rows)
    return _seal(case, loss, rubric, [outcome], [told("claim", kind="denied")], pushes=PUSHES)


def _seal(
    case: Case,
    loss: Loss,
    rubric: Rubric,
    outcomes: list[Outcome],
    settles: list[EventPattern],
    *,
    pushes: Sequence[str] = (),
) -> Task:
    home, awb = case.home, loss.freight.awb
    openings = [
        f"Hi, {home.person} of {home.name}. {loss.broken} pieces of {awb} arrived damaged. We want to be compensated.",
        f"Hello, this is {home.person} from {home.name}. Waybill {awb}: the consignee found broken pieces. I want to claim.",
        f"{home.person}, {home.name}. Part of {awb} was crushed. Please take our claim and pay it.",
        f"My name is {home.person}, {home.name}. We had damage on {awb} and I would like the money for it.",
    ]
    weight = f"{loss.kilos:g} kg"
    cards = [
        composing.start_card("awb", awb),
        composing.start_card("name", home.person),
        FactCard("affected_kg", loss.kilos, f"{weight} gross are damaged."),
        FactCard("weight_kg", loss.kilos, f"The damaged pieces weigh {weight}."),
        FactCard("pieces", loss.broken, f"{loss.broken} pieces are damaged."),
        FactCard("claim_amount", dollars(loss.claimed), f"We claim {money(loss.claimed)}."),
    ]
    argued = [Pushback("claim", list(pushes))] if pushes else []
    return case.seal(
        rubric, outcomes, "be compensated for the damage", openings, settles,
        cards=cards, consents=[ConsentRule("open_claim"), ConsentRule("settle_claim", {"amount": ANY})], pushbacks=argued, bundles=[["affected_kg", "claim_amount"]],
    )  # fmt: skip
