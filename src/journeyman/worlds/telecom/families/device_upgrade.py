"""Level 3: a customer wants a new phone at the upgrade price. Months owned, device balance and arrears decide.

The version of 2023 decides each case the other way: it wanted 24 months and nothing left to pay, but sold an early upgrade
for a fee. Two of three conditions hold in every refused case, so that the one that fails has to be read.
"""

from __future__ import annotations

import datetime

from journeyman.task import (
    Call,
    CallPattern,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.catalogue import DEVICES
from journeyman.worlds.telecom.families import conduct, deep
from journeyman.worlds.telecom.families.common import TODAY
from journeyman.worlds.telecom.families.conduct import Case
from journeyman.worlds.telecom.families.deep import Denial

NAME = "device_upgrade"
ARTICLE, STALE = "DEV-UPGRADE", "DEV-UPGRADE-2023"
INVOICE = "INV-8001"
VARIANTS = ("eligible", "early", "balance", "past_due")
PUSH = "But a colleague of yours told me that it works after a year if I pay a fee."
MONTHS = {"eligible": (21, 23), "early": (12, 17), "balance": (18, 20), "past_due": (21, 23)}


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    case.setup.close_open_tickets(case.home.account_id)
    months = case.rng.randint(*MONTHS[variant])
    # Installments are $20.00 a month for two years; who upgrades early has prepaid most of them.
    cents = case.rng.choice((0, 2000, 4000, 6000)) if variant == "early" else (24 - months) * 2000
    _device(case, months, cents)
    if variant == "eligible":
        return _eligible(case, months, cents)
    overdue = _arrears(case) if variant == "past_due" else 0
    return _refused(case, variant, months, cents, overdue)


def _device(case: Case, months: int, cents: int) -> None:
    """DV-8001, owned for so many full months, in the place of what the line has."""
    in_use = "line_id = ? AND status = 'in_use'"
    case.setup.update_all("devices", in_use, (case.home.line_id,), status="returned")
    today = datetime.date.fromisoformat(TODAY)
    years, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    day = case.rng.choice((1, 2))
    case.setup.insert(
        "devices", {"device_id": "DV-8001"}, line_id=case.home.line_id, model=case.rng.choice(DEVICES),
        purchased_on=datetime.date(years, month + 1, day).isoformat(), remaining_cents=cents, status="in_use",
    )  # fmt: skip


def _arrears(case: Case) -> int:
    cents = case.rng.randrange(30_00, 95_00, 5)
    case.setup.owe(
        case.home.account_id, INVOICE, "2026-01", cents, past_due=True, issued_on="2026-01-10", due_on="2026-01-31"
    )
    return cents


def _openings(case: Case) -> list[str]:
    home = case.home
    return [
        f"Hi, {home.name} here, number {home.phone}. I would like a new phone at the upgrade price.",
        f"Hello, this is {home.name}. Can I upgrade the device on {home.phone}?",
        f"My name is {home.name}, my line is {home.phone}. I want a device upgrade, please.",
        f"{home.name} speaking. My phone on {home.phone} is getting old. Please set me up for an upgrade.",
    ]


def _read(script: Script, case: Case) -> None:
    home = case.home
    script.consult("device upgrade eligibility", ARTICLE)
    deep.identify(script, home)
    script.call("line", "find_line", phone=home.phone)
    script.call("check", "check_upgrade_eligibility", line_id=home.line_id)
    script.call("tickets", "list_tickets", loose=("status",), account_id=home.account_id)


def _grounds(rubric: Rubric, case: Case, then: str) -> None:
    """Criteria on the look-ups that decide the matter."""
    home = case.home
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    text = f"The eligibility of line {home.line_id} is checked before the matter is decided."
    rubric.first("check", then, text, required=True)
    text = f"Earlier tickets of account {home.account_id} are looked up before one is opened."
    rubric.first("tickets", "ticket", text)


def _eligible(case: Case, months: int, cents: int) -> Task:
    home = case.home
    script = Script()
    _read(script, case)
    script.call(
        "ticket", "create_ticket", loose=("priority",), account_id=home.account_id, topic="device",
        summary="Eligible for an upgrade: please call.", line_id=home.line_id,
    )  # fmt: skip
    script.say(
        "done",
        f"The upgrade is possible. You have owned the device for {months} months. {money(cents)} is still to be paid on it. "
        "A store or a courier will call you within two business days. Your ticket is ${ticket.ticket_id}.",
    )

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "ticket")
    _grounds(rubric, case, "ticket")
    text = f"A device ticket is opened for line {home.line_id} on {home.account_id}."
    rubric.must("opens_ticket", text, Happened(script.pattern("ticket")), script.without("ticket"), required=True)
    text = f"{home.name} is told the number of the ticket, which is on {home.account_id}."
    rubric.says("done", told("ticket_id", Match(ref="ticket.ticket_id")), text, once="ticket", required=True)
    rubric.says(
        "done", told("months_owned", months), f"{home.name} is told the months under {ARTICLE}: {months}.", once="check"
    )
    text = f"{home.name} is told what is still to be paid, {money(cents)}."
    rubric.says("done", told("device_balance", dollars(cents)), text, once="check")
    denial = _denial("early")
    refusals.not_refused(rubric, home, denial, "check", "I cannot upgrade the device.")
    text = f"Account {home.account_id} gets one ticket for the matter."
    rubric.once("ticket", text)
    shut = Call("close_ticket", {"ticket_id": "${ticket.ticket_id}", "resolution": "solved"})
    text = f"The ticket on {home.account_id} stays open until the store has called."
    rubric.never("closed", text, CallPattern("close_ticket", status="any"), "ticket", shut, required=True)
    _bounds(rubric, case, "ticket")
    ticket = {
        "account_id": home.account_id, "topic": "device", "status": "open", "priority": "normal", "line_id": home.line_id,
    }  # fmt: skip
    outcome = Outcome(
        [ExpectedRow("ticket", "tickets", "insert", set=dict(ticket))],
        [Fact("ticket_id", Match(ref="ticket.ticket_id"))],
    )
    settles = [told("ticket_id", Match(ref="ticket.ticket_id"))]
    return case.seal(rubric, [outcome], "get a new device at the upgrade price", _openings(case), settles)


def _denial(variant: str) -> Denial:
    reason = "past_due" if variant == "past_due" else "not_eligible"
    return Denial("device_upgrade", reason, ARTICLE, "device_upgrade", "The device upgrade is approved.")


def _decisive(variant: str, months: int, cents: int, overdue: int) -> tuple[EventPattern, str, str]:
    """What the customer has to be told: as an event, for the rubric, and said."""
    if variant == "early":
        what = f"owned for {months} months, where {ARTICLE} wants 18"
        return told("months_owned", months), what, f"You have owned the device for {months} months."
    if variant == "balance":
        what = f"{money(cents)} is left, where {ARTICLE} allows $60.00"
        return told("device_balance", dollars(cents)), what, f"{money(cents)} is still to be paid on the device."
    return told("past_due", dollars(overdue)), f"{money(overdue)} is past due", f"{money(overdue)} is past due."


def _refused(case: Case, variant: str, months: int, cents: int, overdue: int) -> Task:
    home = case.home
    moment, what, why = _decisive(variant, months, cents, overdue)
    denial = _denial(variant)
    pushes = [PUSH] if variant == "early" and case.seed % 8 < 4 else []
    script = Script()
    _read(script, case)
    if overdue:
        script.say("offer", f"{why} Shall I take the payment of {money(overdue)} from a saved method first?")
    deep.deny(script, home, denial)
    deep.close_up(script, home, "device", f"Upgrade refused: {what}.", "denied")
    deep.mail(script, home, "notice", f"An upgrade is not possible now. {why}")
    script.say("done", f"I cannot upgrade the device now. {why}")
    script.repeat(pushes, f"I cannot upgrade the device against a fee either. {why}")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    _grounds(rubric, case, "deny")
    conduct.refused(rubric, home, denial, f"the upgrade of line {home.line_id}", "check", pushes)
    deep.paperwork(rubric, home, "device", "denied", "notice", "deny")
    text = f"{home.name} is told what stands against it: {what}."
    conduct.explains(rubric, moment, text, *(["offer"] if overdue else []), pushes=pushes)
    if overdue:
        text = f"The payment of the {money(overdue)} that is past due is offered."
        offered = Happened(EventPattern("proposed", by="agent", tool="take_payment"))
        rubric.must("offers_payment", text, offered, script.without("offer"))
    refusals.stale_rule(rubric, home, denial, STALE, "check")
    _bounds(rubric, case, "check")
    outcome = deep.refusal_outcome(home, denial, "device")
    return case.seal(
        rubric, [outcome], "get a new device at the upgrade price", _openings(case),
        [told("device_upgrade", kind="denied")], pushbacks=[Pushback("device_upgrade", pushes)] if pushes else [],
    )  # fmt: skip


def _bounds(rubric: Rubric, case: Case, at: str) -> None:
    """What nobody asked for."""
    home = case.home
    text = f"No add-on is put on line {home.line_id}."
    rubric.not_called("addon", text, at, "add_addon", line_id=home.line_id, addon_id="device-care")
    text = f"Account {home.account_id} gets no credit towards a device."
    rubric.not_called("credited", text, at, "apply_credit", required=True,
        account_id=home.account_id, amount=20.0, reason="goodwill",
    )  # fmt: skip
