"""Level 4: a customer wants a late fee waived. One waiver in twelve months; an older version of the rule was kinder.

Two of three tasks must be refused, because the account's credits show a waiver within the year (and outside the half
year of the superseded rule): the denial is explained, documented and put in writing. The others are granted.
"""

from __future__ import annotations

import random

from journeyman.task import (
    Call,
    CallPattern,
    EventPattern,
    ExpectedRow,
    Fact,
    Matcher,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "late_fee"
ARTICLE, SUPERSEDED = "FEE-LATE", "FEE-LATE-2023"
INVOICE = "INV-8001"
FEE = 1000
# Days of the last waiver: within twelve months of March 2026 but not within six, or before.
RECENT = ("2025-04-14", "2025-05-20", "2025-06-11", "2025-07-08", "2025-08-19")
OLD = ("2024-05-13", "2024-08-27", "2024-10-09", "2025-01-16")
DENIAL = deep.Denial("fee_waiver", "already_used", ARTICLE, "fee_waiver", "I have waived the late fee.")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: refused or granted by the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split, kind="personal")
    granted = seed % 3 == 1
    day = rng.choice(OLD if granted else RECENT)
    setup = Setup(world)
    fee_on_invoice(setup, rng, home, day)
    rubric, outcome, settles = (_granted if granted else _refused)(home, setup, day, stranger(world, home, split))
    scenario = deep.scenario(rng, home, "have the late fee waived", _openings(home), settles)
    return build(world, NAME, 4, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def fee_on_invoice(setup: Setup, rng: random.Random, home: Household, day: str) -> None:
    """A past-due invoice with a late fee as item 2, and one earlier waiver, CR-8001, on `day`."""
    account = home.account_id
    setup.settle_invoices(account)
    setup.close_open_tickets(account)
    plan = rng.randrange(3000, 9000, 5)
    setup.owe(account, INVOICE, "2026-01", plan + FEE, past_due=True, issued_on="2026-01-10", due_on="2026-01-31")
    items = (("plan", home.line_id, plan), ("late_fee", None, FEE))
    for number, (kind, line_id, cents) in enumerate(items, start=1):
        setup.insert(
            "invoice_items", {"invoice_id": INVOICE, "item_no": number}, kind=kind, line_id=line_id, amount_cents=cents
        )
    # A long fault over the due date would be a ground to waive the fee all the same.
    faults = "hours > 24 AND cell_id IN (SELECT cell_id FROM cells WHERE city = ?)"
    setup.delete_all("outages", faults, (home.city,))
    earlier = "account_id = ? AND reason = 'late_fee'"
    setup.update_all("credits", earlier, (account,), applied_at="2023-03-06T10:00:00")
    setup.insert(
        "credits", {"credit_id": "CR-8001"}, account_id=account, invoice_id=None, amount_cents=FEE, reason="late_fee",
        approval_id=None, applied_at=f"{day}T10:00:00",
    )  # fmt: skip


def waived_rows(home: Household, balance: int) -> list[ExpectedRow]:
    """What waiving the fee changes; `balance`: the account's cents afterwards."""
    account, invoice = {"account_id": home.account_id}, {"invoice_id": INVOICE}
    credit: dict[str, Matcher] = {**account, **invoice, "amount_cents": FEE, "reason": "late_fee"}
    return [
        ExpectedRow("credit", "credits", "insert", set=credit),
        ExpectedRow("invoice", "invoices", "update", {**invoice}, {"credited_cents": FEE}),
        ExpectedRow("account", "accounts", "update", {**account}, {"balance_cents": balance}),
    ]


def _openings(home: Household) -> list[str]:
    return [
        f"Hi, this is {home.name}, number {home.phone}. There is a late fee on my bill. Please waive it.",
        f"Hello, {home.name} speaking. I was charged a late fee on {home.phone} and I want it taken off.",
        f"My name is {home.name} and my number is {home.phone}. Could you waive the late fee on my last bill?",
        f"{home.name} here, {home.phone}. I do not think I should pay that late fee. Can it be removed?",
    ]


def _read(home: Household) -> Script:
    script = Script()
    script.consult("waive a late fee", ARTICLE)
    deep.identify(script, home)
    script.call("invoices", "list_open_invoices", or_tools=("list_invoices",), account_id=home.account_id)
    script.call("bill", "get_invoice", invoice_id=INVOICE)
    script.call("credits", "list_credits", account_id=home.account_id)
    return script


def history(rubric: Rubric, home: Household, then: str) -> None:
    """Criteria on the look-ups that decide about a waiver."""
    rubric.does("invoices", f"The open invoices of account {home.account_id} are listed.")
    rubric.first("bill", then, f"Invoice {INVOICE}, which carries the fee, is read before the matter is decided.")
    text = f"Earlier waivers on {home.account_id} are looked up before the matter is decided."
    rubric.first("credits", then, text, required=True)


Plan = tuple[Rubric, Outcome, list[EventPattern]]


def _refused(home: Household, setup: Setup, day: str, other: Household) -> Plan:
    script = _read(home)
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "billing", f"Late fee waiver refused: waived already on {day}.", "denied")
    deep.mail(script, home, "notice", f"A late fee can be waived once in twelve months. The last waiver was on {day}.")
    script.say("done", f"I cannot waive the late fee of {money(FEE)}. Your last waiver was on {day}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    history(rubric, home, "deny")
    refusals.refused(rubric, home, DENIAL, "the waiver", "credits")
    rubric.says(
        "done", told("last_waiver", day), f"The customer is told when the last waiver was, {day}.", once="credits",
        required=True,
    )  # fmt: skip
    deep.paperwork(rubric, home, "billing", "denied", "notice", "deny", day)
    waive = Call("waive_late_fee", {"invoice_id": INVOICE})
    pattern = CallPattern("waive_late_fee", status="any")
    rubric.never("waived", f"The fee of {INVOICE} is not waived.", pattern, "credits", waive, required=True)
    deep.no_way_round(rubric, home, "fee_waiver", FEE, "credits")
    refusals.stale_rule(rubric, home, DENIAL, SUPERSEDED, "credits")
    deep.discretion(rubric, home, other, "credits")
    deep.explained(rubric, f"why the fee of {money(FEE)} stays")
    outcome = deep.refusal_outcome(home, DENIAL, "billing", [Fact("last_waiver", day)])
    return rubric, outcome, [told("fee_waiver", kind="denied")]


def _granted(home: Household, setup: Setup, day: str, other: Household) -> Plan:
    balance = setup.row("accounts", account_id=home.account_id)["balance_cents"] - FEE
    script = _read(home)
    script.call("waive", "waive_late_fee", invoice_id=INVOICE)
    deep.close_up(script, home, "billing", f"Late fee of {INVOICE} waived; the last waiver was on {day}.", "solved")
    deep.mail(script, home, "confirmation", f"Your late fee of {money(FEE)} is waived.")
    script.say("done", f"The late fee of {money(FEE)} is waived. Your balance is now {money(balance)}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "waive")
    history(rubric, home, "waive")
    rubric.does("waive", f"The late fee of {INVOICE} is waived.", required=True)
    deep.paperwork(rubric, home, "billing", "solved", "confirmation", "waive", f"{FEE / 100:.2f}")
    rubric.says(
        "done",
        told("late_fee", dollars(FEE)),
        f"The customer is told the fee that was waived, {money(FEE)}.",
        once="waive",
    )
    new = told("balance", dollars(balance))
    rubric.says("done", new, f"The customer is told the new balance, {money(balance)}.", once="waive", required=True)
    goodwill = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(FEE), "reason": "goodwill"})
    text = f"The fee is not credited to {home.account_id} a second time."
    rubric.never("goodwill", text, CallPattern("apply_credit", status="any"), "waive", goodwill, required=True)
    refusals.not_refused(rubric, home, DENIAL, "credits", "I cannot waive the late fee.")
    rubric.once("waive", f"The fee of {INVOICE} is waived once, not again.")
    deep.discretion(rubric, home, other, "credits")
    outcome = Outcome(
        [
            *waived_rows(home, balance),
            deep.ticket_row(home, "billing", "solved"),
            deep.message_row(home, "confirmation"),
        ],
        [Fact("balance", dollars(balance))],
    )
    return rubric, outcome, [new]
