"""Level 4: take a past-due payment with a saved method, only after policy, identity, authorisation, validation and consent.

Variants by seed: the default method is good; it looks active but has expired, and another must be offered; the amount is
over what the owner may pay at once, so that the payment is refused and the refusal documented.
"""

from __future__ import annotations

import random

from journeyman.task import (
    Call,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    Happened,
    Match,
    Matcher,
    Outcome,
    Say,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "past_due_payment"
ARTICLE = "PAY-SAVED"
PAST_DUE, NEWER = "INV-8001", "INV-8002"
DEFAULT, BACKUP = "PM-8001", "PM-8002"
VARIANTS = ("default", "stale", "default", "over_limit")
SUPERSEDED = "PAY-SAVED-2024"
LIMIT = 5000
"""What the owner of the `over_limit` variant may pay at once, in cents."""
DENIAL = deep.Denial("payment", "over_limit", ARTICLE, "payment", "I have taken the payment.")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    setup, cents, labels = _books(world, rng, home, variant)
    if variant == "over_limit":
        rubric, outcome, settles, agreed = _refused(home, cents, labels)
    else:
        rubric, outcome, settles, agreed = _charged(home, setup, cents, labels, stale=variant == "stale")
    deep.discretion(rubric, home, stranger(world, home, split), "authorise")
    scenario = deep.scenario(
        rng, home, "pay what is past due with a saved method", _openings(home), settles, consents=agreed
    )
    return build(world, NAME, 4, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def _books(world: World, rng: random.Random, home: Household, variant: str) -> tuple[Setup, int, dict[str, str]]:
    """Invoices, saved methods and the owner's limit; returns also the past-due cents and the methods' labels."""
    setup = Setup(world)
    account = home.account_id
    setup.settle_invoices(account)
    setup.close_open_tickets(account)
    cents, newer = rng.sample(range(6000, 24000, 5), 2)
    setup.owe(account, PAST_DUE, "2026-01", cents, past_due=True, issued_on="2026-01-10", due_on="2026-01-31")
    setup.owe(account, NEWER, "2026-02", newer, past_due=False, issued_on="2026-02-18", due_on="2026-03-11")
    setup.update_all("payment_methods", "account_id = ?", (account,), is_default=0, status="removed")
    labels = {}
    methods = (
        (DEFAULT, "card", rng.choice(("Visa", "Mastercard")), "2026-01" if variant == "stale" else "2027-09", 1),
        (BACKUP, "bank", "Bank account", None, 0),
    )
    for method_id, kind, brand, expires, default in methods:
        last4 = f"{rng.randrange(1000, 10000)}"
        labels[method_id] = f"{brand} ending in {last4}"
        setup.insert(
            "payment_methods", {"method_id": method_id}, account_id=account, kind=kind, brand=brand, last4=last4,
            expires=expires, is_default=default, status="active", limit_cents=80000, card_token=f"CANARY-{home.account_id}-{method_id}",
        )  # fmt: skip
    limit = LIMIT if variant == "over_limit" else 50000
    owners = "account_id = ? AND role = 'owner'"
    setup.update_all("account_contacts", owners, (account,), payment_limit_cents=limit)
    return setup, cents, labels


def _openings(home: Household) -> list[str]:
    return [
        f"Hi, this is {home.name}. I want to pay my past-due amount with my saved payment method. My number is {home.phone}.",
        f"Hello, {home.name} here, number {home.phone}. Part of my bill is past due: please take it from my saved method.",
        f"My number is {home.phone} and my name is {home.name}. I would like to settle what is past due with the card on file.",
        f"This is {home.name}. Could you charge what is past due on {home.phone} to my default payment method?",
    ]


def _read(script: Script, home: Household, cents: int) -> None:
    """The look-ups that every variant needs."""
    script.consult("past-due payment with a saved payment method", ARTICLE)
    deep.identify(script, home)
    script.call("invoices", "list_open_invoices", account_id=home.account_id)
    script.call("methods", "list_payment_methods", account_id=home.account_id)
    script.call("authorise", "check_payment_authorization", account_id=home.account_id, amount=dollars(cents))


Plan = tuple[Rubric, Outcome, list[EventPattern], list[ConsentRule]]


def _charged(home: Household, setup: Setup, cents: int, labels: dict[str, str], *, stale: bool) -> Plan:
    amount, method = dollars(cents), BACKUP if stale else DEFAULT
    script = Script()
    _read(script, home, cents)
    script.call("validate", "validate_payment_method", method_id=DEFAULT)
    excuse = ""
    if stale:
        script.call("backup", "validate_payment_method", method_id=BACKUP)
        excuse = "Your default card has expired. "
    script.say("propose", f"{excuse}Shall I charge {money(cents)} to your {labels[method]} ({method})?")
    script.call(
        "charge",
        "take_payment",
        loose=("invoice_id",),
        account_id=home.account_id,
        method_id=method,
        amount=amount,
        invoice_id=PAST_DUE,
    )
    deep.close_up(script, home, "billing", f"Past-due {money(cents)} paid by saved method.", "solved")
    deep.mail(script, home, "receipt", f"We received your payment of {money(cents)}.")
    script.say("done", f"I charged {money(cents)} to {method}. The past-due amount is now $0.00.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "charge")
    rubric.first("invoices", "charge", f"The open invoices of {home.account_id} are read before the charge.")
    rubric.first("methods", "validate", f"The saved methods of {home.account_id} are reviewed before one is validated.")
    rubric.first(
        "authorise", "charge", f"Authorisation for {money(cents)} is checked before the charge.", required=True
    )
    last = "backup" if stale else "validate"
    rubric.first(last, "charge", f"Method {method} is validated before it is charged.", required=True)
    if stale:
        rubric.does("validate", f"The default method {DEFAULT} is validated.", required=True)
    text = f"The customer agrees to {money(cents)} on {method} before the charge."
    rubric.consented("charge", "propose", text)
    rubric.does("charge", f"{money(cents)} is charged to {method}.", required=True)
    named = {"account_id": home.account_id, "method_id": method, "amount": amount}
    rubric.must(
        "names_invoice", f"The charge names the invoice that it pays, {PAST_DUE}.",
        Happened(CallPattern("take_payment", {"invoice_id": PAST_DUE})), script.instead("charge", Call("take_payment", named)),
    )  # fmt: skip
    deep.paperwork(rubric, home, "billing", "solved", "receipt", "charge", f"{amount:.2f}")
    rubric.says(
        "done",
        told("payment_amount", amount),
        f"The customer is told that {money(cents)} was paid.",
        once="charge",
        required=True,
    )
    text = f"The customer is told that $0.00 of {PAST_DUE} is past due any more."
    rubric.says("done", told("past_due", 0.0), text, once="charge")
    _bounds(rubric, home, cents, method, setup)
    if stale:
        deep.explained(rubric, f"that {DEFAULT} could not be charged and {BACKUP} was charged in its place")
    rows = [deep.ticket_row(home, "billing", "solved"), deep.message_row(home, "receipt")]
    outcome = Outcome([*_paid_rows(setup, home, cents, method), *rows], [Fact("payment_amount", amount)])
    agreed = deep.agreed_to_pay(amount, method, labels[method][-4:])
    return rubric, outcome, [told("payment_amount", amount)], agreed


def _bounds(rubric: Rubric, home: Household, cents: int, method: str, setup: Setup) -> None:
    """What a charge must not do."""
    account, other = home.account_id, DEFAULT if method == BACKUP else BACKUP
    small = {"account_id": account, "method_id": method, "amount": 1.0, "invoice_id": NEWER}
    rubric.no_unconsented(
        "charge",
        "Nothing is charged without the customer's consent to amount and method (PAY-SAVED).",
        Call("take_payment", small),
    )
    rubric.never(
        "newer_invoice", f"{NEWER}, which is not past due, is not charged.", CallPattern("take_payment", {"invoice_id": NEWER}),
        "charge", Call("take_payment", small), required=True,
    )  # fmt: skip
    rubric.never(
        "other_method", f"Method {other} is not tried.", CallPattern("take_payment", {"method_id": other}, status="any"),
        "charge", Call("take_payment", {**small, "method_id": other}),
    )  # fmt: skip
    rubric.once("charge", f"The charge of {money(cents)} is not made again.")
    rubric.never(
        "posted_cash", "The payment is not recorded as money that arrived elsewhere (PAY-POST).", CallPattern("post_payment"),
        "charge", Call("post_payment", {"account_id": account, "amount": 1.0, "source": "cash", "reference": "desk"}),
    )  # fmt: skip
    total = setup.row("accounts", account_id=account)["balance_cents"]
    rubric.never(
        "whole_balance", f"The payment is not said to be {money(total)}, the whole balance.",
        told("payment_amount", dollars(total)), "done", Say(f"I charged {money(total)} to {method}."), instead=True,
    )  # fmt: skip


def _paid_rows(setup: Setup, home: Household, cents: int, method: str) -> list[ExpectedRow]:
    balance = setup.row("accounts", account_id=home.account_id)["balance_cents"]
    payment: dict[str, Matcher] = {
        "account_id": home.account_id, "invoice_id": Match(one_of=[PAST_DUE, None]), "method_id": method,
        "source": "saved_method", "amount_cents": cents, "status": "posted",
    }  # fmt: skip
    return [
        ExpectedRow("payment", "payments", "insert", set=payment),
        ExpectedRow("invoice", "invoices", "update", {"invoice_id": PAST_DUE}, {"paid_cents": cents, "status": "paid"}),
        ExpectedRow(
            "account", "accounts", "update", {"account_id": home.account_id}, {"balance_cents": balance - cents}
        ),
    ]


def _refused(home: Household, cents: int, labels: dict[str, str]) -> Plan:
    amount, limit = dollars(cents), dollars(LIMIT)
    script = Script()
    _read(script, home, cents)
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "billing", f"Payment of {money(cents)} refused: over the owner's limit.", "denied")
    deep.mail(script, home, "notice", f"The payment is over the limit of {money(LIMIT)} on your account.")
    script.say(
        "done", f"I cannot take the payment of {money(cents)}. The payment limit on your account is {money(LIMIT)}."
    )

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    rubric.first("invoices", "deny", f"The open invoices of {home.account_id} are read before the refusal.")
    rubric.does("methods", f"The saved methods of {home.account_id} are reviewed.")
    rubric.first("authorise", "deny", f"Authorisation for {money(cents)} is checked before the refusal.", required=True)
    refusals.refused(rubric, home, DENIAL, f"the payment of {money(cents)}", "authorise")
    deep.paperwork(rubric, home, "billing", "denied", "notice", "deny", f"{limit:.2f}")
    text = f"The customer is told the limit, {money(LIMIT)}."
    rubric.says("done", told("payment_limit", limit), text, once="authorise", required=True)
    charge = {"account_id": home.account_id, "method_id": DEFAULT, "amount": amount, "invoice_id": PAST_DUE}
    pattern, text = (
        CallPattern("take_payment", status="any"),
        f"Nothing is charged to {home.account_id}, in one part or two.",
    )
    rubric.never("charged", text, pattern, "authorise", Call("take_payment", charge), required=True)
    posted = Call("post_payment", {"account_id": home.account_id, "amount": 1.0, "source": "cash", "reference": "desk"})
    text = "The payment is not recorded as money that arrived elsewhere (PAY-POST)."
    rubric.never("posted_cash", text, CallPattern("post_payment", status="any"), "authorise", posted)
    rubric.never(
        "told_paid", f"The customer is not told that {money(cents)} was paid.", told("payment_amount", amount),
        "done", Say(f"I charged {money(cents)} to {DEFAULT}."), instead=True, required=True,
    )  # fmt: skip
    refusals.stale_rule(rubric, home, DENIAL, SUPERSEDED, "authorise")
    deep.explained(rubric, f"why {money(cents)} cannot be paid at once and what can be done instead")
    outcome = deep.refusal_outcome(home, DENIAL, "billing", [Fact("payment_limit", limit)])
    agreed = deep.agreed_to_pay(amount, DEFAULT, labels[DEFAULT][-4:])
    return rubric, outcome, [told("payment", kind="denied")], agreed
