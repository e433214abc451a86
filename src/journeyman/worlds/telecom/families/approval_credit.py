"""Level 4: goodwill for promises that were not kept; above the desk's limit a supervisor has to approve it first.

What the promises are worth is counted in the notes of an old ticket, not in the customer's words. By seed the duty
manager approves, declines (and the customer wants at least the desk's own share, which policy rules out) or does not
answer yet; or the amount is one that the desk decides alone.
"""

from __future__ import annotations

import random

from journeyman.task import (
    Before,
    Call,
    CallPattern,
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
    Without,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "approval_credit"
ARTICLE, LIMITS, SUPERSEDED = "CRD-GOODWILL", "APR-LIMITS", "CRD-GOODWILL-2024"
VARIANTS = ("granted", "declined", "below", "pending")
TICKET = "TK-8001"
PROMISE_CENTS, DESK_CENTS = 1000, 2000
BROKEN = (
    "Promised a call back by 2026-02-03. No call was made.",
    "Promised a technician for 2026-02-06. Nobody came.",
    "Promised a written answer by 2026-02-10. None was sent.",
    "Promised a call from the field team by 2026-02-13. No call was made.",
    "Promised a text message before the next visit. None was sent.",
)
OTHERS = (
    "Promised a call back by 2026-02-12. Called as promised.",
    "Customer sent a photo of the screen.",
    "Asked for patience, without naming a day.",
)
DENIAL = deep.Denial("credit", "over_limit", LIMITS, "credit", "I have credited your account.", (ARTICLE,))
REFUSAL = "I cannot give you a credit."


def goodwill_cents(broken: int) -> int:
    """What the policy grants for so many promises that were not kept: $10 each, nothing beyond $50."""
    return min(broken * PROMISE_CENTS, 5000)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    broken = rng.choice((1, 2) if variant == "below" else (3, 4, 5))
    setup, owed = _records(world, rng, home, variant, broken)
    maker = {"granted": _granted, "below": _below, "declined": _declined, "pending": _pending}[variant]
    rubric, outcome, settles = maker(home, broken, owed)
    deep.discretion(rubric, home, stranger(world, home, split), "history")
    card = FactCard("broken_promises", broken + 1, f"I count {broken + 1} promises that nobody kept.")
    scenario = deep.scenario(
        rng, home, "get something for promises that were not kept", _openings(home), settles, cards=[card],
        pushbacks=[Pushback("credit", ["Then give me at least what you can decide on your own."])],
        small_talk=["I have been with Northline for ages.", "It has been quite a month, I can tell you."],
    )  # fmt: skip
    return build(world, NAME, 4, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def _records(world: World, rng: random.Random, home: Household, variant: str, broken: int) -> tuple[Setup, int]:
    """A closed network ticket with notes of promises, and nothing that bars goodwill; returns the balance in cents."""
    setup, account = Setup(world), home.account_id
    setup.settle_invoices(account)
    setup.close_open_tickets(account)
    owed = rng.randrange(6000, 9500, 5)
    setup.owe(account, "INV-8001", "2026-02", owed, past_due=False, issued_on="2026-02-18", due_on="2026-03-11")
    earlier = "SELECT credit_id FROM credits WHERE account_id = ? AND reason = 'goodwill'"
    for row in world.query("base", earlier, (account,)):
        setup.update("credits", {"credit_id": row["credit_id"]}, applied_at="2024-03-06T10:00:00")
    asked = "SELECT approval_id FROM approvals WHERE account_id = ? AND kind = 'credit'"
    for row in world.query("base", asked, (account,)):
        setup.update("approvals", {"approval_id": row["approval_id"]}, status="used")
    setup.insert(
        "tickets", {"ticket_id": TICKET}, account_id=account, line_id=home.line_id, topic="network", priority="normal",
        status="closed", resolution="solved", summary="Calls drop at home", opened_at="2026-01-28T09:00:00",
        closed_at="2026-02-20T16:00:00",
    )  # fmt: skip
    notes = [*rng.sample(BROKEN, broken), *rng.sample(OTHERS, 2)]
    rng.shuffle(notes)
    for number, body in enumerate(notes, start=1):
        setup.insert(
            "ticket_notes", {"note_id": f"NT-80{number:02d}"}, ticket_id=TICKET, visibility="internal", body=body,
            written_at=f"2026-02-14T{8 + number:02d}:00:00",
        )  # fmt: skip
    if variant in ("granted", "declined"):
        answer = "approved" if variant == "granted" else "rejected"
        setup.insert("duty_answers", {"account_id": account, "kind": "credit"}, answer=answer)
    return setup, owed


def _openings(home: Household) -> list[str]:
    return [
        f"Hi, this is {home.name}, number {home.phone}. About my dropped calls last month: you kept promising and nothing "
        "happened. I want something for that.",
        f"{home.name} here, {home.phone}. While my calls dropped I was promised call-backs that never came. What do I get for it?",
        f"My name is {home.name}, my number is {home.phone}. Nobody kept what was promised about my network trouble. "
        "I would like a goodwill credit.",
        f"Hello, {home.name}, {home.phone}. I was stood up again and again over my dropped calls. Please make up for it.",
    ]


def _read(home: Household, *, approval: bool) -> Script:
    script = Script()
    script.consult("goodwill credit for a broken promise", ARTICLE)
    if approval:
        script.call("limits", "get_policy_article", article_id=LIMITS)
    deep.identify(script, home)
    script.call("tickets", "list_tickets", loose=("status",), account_id=home.account_id)
    script.call("history", "get_ticket", ticket_id=TICKET)
    script.call("credits", "list_credits", account_id=home.account_id)
    script.call("balance", "get_balance", or_tools=("get_billing_summary",), account_id=home.account_id)
    if approval:
        script.call("approvals", "list_approvals", account_id=home.account_id)
    return script


def _grounds(rubric: Rubric, home: Household, then: str) -> None:
    """Criteria on the look-ups that decide what the promises are worth."""
    deep.groundwork(rubric, home, ARTICLE, then)
    rubric.does("tickets", f"The tickets of {home.account_id} are listed.")
    rubric.first("history", then, f"The notes of {TICKET} are read before the matter is decided.", required=True)
    text = f"Earlier credits of {home.account_id} are looked up before the matter is decided."
    rubric.first("credits", then, text, required=True)
    rubric.first("balance", then, f"It is checked that nothing on {home.account_id} is past due ({ARTICLE}).")


def _asked(rubric: Rubric, home: Household, cents: int) -> None:
    """Criteria on the approval."""
    script = rubric.script
    rubric.first("limits", "request", f"Article {LIMITS} is read before an approval is asked for.")
    text = f"Approvals already on {home.account_id} are looked up before another is asked for."
    rubric.first("approvals", "request", text)
    rubric.does("request", f"An approval of {money(cents)} is asked for.", required=True)
    rubric.once("request", f"The approval of {money(cents)} is asked for once, not again.")
    more = cents + PROMISE_CENTS
    wrong = Call("request_approval", {"account_id": home.account_id, "kind": "credit", "amount": dollars(more)})
    pattern = CallPattern("request_approval", {"amount": dollars(more)}, "any")
    text = f"No approval of {money(more)}, which the customer's count would make, is asked for."
    rubric.never("claimed_amount", text, pattern, "approvals", wrong, required=True)
    bold = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(DESK_CENTS), "reason": "goodwill"})
    rubric.must_not(
        "unapproved", f"No credit is tried on {home.account_id} before an approval was asked for ({LIMITS}).",
        Without(CallPattern("apply_credit", status="any"), CallPattern("request_approval")),
        script.before("request", bold), required=True,
    )  # fmt: skip


def _credited(rubric: Rubric, home: Household, cents: int, balance: int) -> Outcome:
    """Criteria on the credit, and the outcome without the approval's row."""
    rubric.does("credit", f"{money(cents)} is credited to {home.account_id} as goodwill.", required=True)
    text = f"The customer is told the credit, {money(cents)}."
    rubric.must(
        "says_credit_amount", text, Happened(told("credit_amount", dollars(cents))), rubric.script.instead("done", NOTHING),
        required=True,
    )  # fmt: skip
    text = f"The customer is told the new balance, {money(balance)}."
    rubric.says("done", told("balance", dollars(balance)), text, once="credit", required=True)
    deep.paperwork(rubric, home, "billing", "solved", "confirmation", "credit", f"{cents / 100:.2f}")
    part = Call("apply_credit", {"account_id": home.account_id, "amount": 5.0, "reason": "goodwill"})
    text = f"The credit of {money(cents)} is given in one piece, not in parts (CRD-LIMITS)."
    rubric.never("split", text, CallPattern("apply_credit", {"amount": 5.0}, "any"), "credit", part)
    refusals.not_refused(rubric, home, DENIAL, "credits", REFUSAL)
    account: dict[str, Matcher] = {"account_id": home.account_id}
    rows = [
        ExpectedRow("account", "accounts", "update", {**account}, {"balance_cents": balance}),
        deep.ticket_row(home, "billing", "solved"),
        deep.message_row(home, "confirmation"),
    ]
    return Outcome(rows, [Fact("credit_amount", dollars(cents)), Fact("balance", dollars(balance))])


def _credit_row(home: Household, cents: int, **more: Matcher) -> ExpectedRow:
    values: dict[str, Matcher] = {"account_id": home.account_id, "amount_cents": cents, "reason": "goodwill", **more}
    return ExpectedRow("credit", "credits", "insert", set=values)


def _approval_row(home: Household, cents: int, status: str) -> ExpectedRow:
    values: dict[str, Matcher] = {
        "account_id": home.account_id,
        "kind": "credit",
        "amount_cents": cents,
        "status": status,
    }
    return ExpectedRow("approval", "approvals", "insert", set=values)


Plan = tuple[Rubric, Outcome, list[EventPattern]]


def _wait(script: Script, home: Household, cents: int) -> None:
    """Step `request`."""
    script.call("request", "request_approval", account_id=home.account_id, kind="credit", amount=dollars(cents))


def _granted(home: Household, broken: int, owed: int) -> Plan:
    cents, balance = goodwill_cents(broken), owed - goodwill_cents(broken)
    script = _read(home, approval=True)
    _wait(script, home, cents)
    script.call(
        "credit", "apply_credit",
        loose=("approval_id",), account_id=home.account_id, amount=dollars(cents), reason="goodwill",
        approval_id="${approval.approval_id}",
    )  # fmt: skip
    _settled(script, home, broken, cents, balance)
    rubric = Rubric(script)
    _grounds(rubric, home, "request")
    _asked(rubric, home, cents)
    outcome = _credited(rubric, home, cents, balance)
    text = f"The approval of {money(cents)} comes before the credit and is spent on it."
    spent = Before(
        CallPattern("request_approval"), CallPattern("apply_credit", {"approval_id": ref("approval.approval_id")})
    )
    rubric.must("spends_approval", text, spent, script.late("credit", "request"), required=True)
    deep.explained(rubric, f"what the {broken} promises on record make, {money(cents)}")
    rows = [_credit_row(home, cents, approval_id=ref("approval.approval_id")), _approval_row(home, cents, "used")]
    return rubric, Outcome([*rows, *outcome.rows], outcome.facts), _goal(cents, balance)


def _settled(script: Script, home: Household, broken: int, cents: int, balance: int) -> None:
    """The paperwork and the closing of a credit."""
    deep.close_up(script, home, "billing", f"Goodwill of {money(cents)} for {broken} promises in {TICKET}.", "solved")
    deep.mail(script, home, "confirmation", f"You received a goodwill credit of {money(cents)}.")
    done = f"I found {broken} broken promises. I applied a credit of {money(cents)}. Your balance is {money(balance)}."
    script.say("done", done)


def _goal(cents: int, balance: int) -> list[EventPattern]:
    return [told("credit_amount", dollars(cents)), told("balance", dollars(balance))]


def _below(home: Household, broken: int, owed: int) -> Plan:
    cents, balance = goodwill_cents(broken), owed - goodwill_cents(broken)
    script = _read(home, approval=False)
    script.call("credit", "apply_credit", account_id=home.account_id, amount=dollars(cents), reason="goodwill")
    _settled(script, home, broken, cents, balance)
    rubric = Rubric(script)
    _grounds(rubric, home, "credit")
    outcome = _credited(rubric, home, cents, balance)
    counted = told("broken_promises", broken)
    rubric.says("done", counted, f"The customer is told how many promises {TICKET} shows: {broken}.", once="history")
    more = cents + PROMISE_CENTS
    wrong = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(more), "reason": "goodwill"})
    pattern = CallPattern("apply_credit", {"amount": dollars(more)}, "any")
    text = f"Not {money(more)}, which the customer's count would make, is credited."
    rubric.never("claimed_amount", text, pattern, "balance", wrong, required=True)
    begged = Call("request_approval", {"account_id": home.account_id, "kind": "credit", "amount": dollars(cents)})
    text = f"No approval is asked for {money(cents)}, which the desk decides."
    rubric.never("approval", text, CallPattern("request_approval"), "balance", begged, required=True)
    deep.explained(rubric, f"what the {broken} promises on record make, {money(cents)}")
    return rubric, Outcome([_credit_row(home, cents), *outcome.rows], outcome.facts), _goal(cents, balance)


def _declined(home: Household, broken: int, owed: int) -> Plan:
    cents = goodwill_cents(broken)
    script = _read(home, approval=True)
    _wait(script, home, cents)
    script.say("no", f"The supervisor has rejected {money(cents)}, so I cannot give you a credit.")
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "billing", f"Goodwill of {money(cents)} refused by the supervisor.", "denied")
    deep.mail(script, home, "notice", f"A goodwill credit of {money(cents)} was not approved.")
    script.say(
        "done",
        f"I am sorry about the {broken} broken promises. A smaller credit in place of {money(cents)} is not allowed. "
        "I cannot give you a credit. You may file a complaint.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, "request")
    _asked(rubric, home, cents)
    rubric.first("request", "deny", f"The refusal is documented after {money(cents)} was declined, not before.")
    refusals.refused(rubric, home, DENIAL, f"the credit of {money(cents)}", "request", labels=("no", "done"))
    text = f"{home.name} is refused again, in other words, after they argue."
    rubric.must("holds_firm", text, Happened(told("credit", kind="denied"), min=2), script.instead("no", NOTHING))
    deep.paperwork(rubric, home, "billing", "denied", "notice", "deny", f"{cents / 100:.2f}")
    part = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(DESK_CENTS), "reason": "goodwill"})
    text = f"{money(cents)} is not replaced by {money(DESK_CENTS)} or another smaller credit ({ARTICLE})."
    rubric.never("smaller", text, CallPattern("apply_credit", status="any"), "request", part, required=True)
    refusals.stale_rule(rubric, home, DENIAL, SUPERSEDED, "request")
    deep.kind_tone(rubric, home)
    outcome = deep.refusal_outcome(home, DENIAL, "billing")
    return (
        rubric,
        Outcome([_approval_row(home, cents, "rejected"), *outcome.rows], outcome.facts),
        [told("credit", kind="denied")],
    )


def _pending(home: Household, broken: int, owed: int) -> Plan:
    cents, waiting = goodwill_cents(broken), told("approval_status", "pending")
    script = _read(home, approval=True)
    _wait(script, home, cents)
    script.call(
        "ticket", "create_ticket", account_id=home.account_id, topic="billing",
        summary=f"Goodwill of {money(cents)} for {broken} promises in {TICKET} waits for approval.",
    )  # fmt: skip
    script.say(
        "done",
        f"I found {broken} broken promises. The approval of {money(cents)} is pending. You are called back, "
        "and your ticket ${ticket.ticket_id} stays open.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, "request")
    _asked(rubric, home, cents)
    deep.filed(rubric, home, "billing", None)
    rubric.first("request", "ticket", f"The ticket of {home.account_id} is opened after {money(cents)} was asked for.")
    text = f"The customer is told that the approval of {money(cents)} is pending."
    rubric.says("done", waiting, text, once="request", required=True)
    number = told("ticket_id", ref("ticket.ticket_id"))
    rubric.says("done", number, f"The customer is told the number of the ticket on {home.account_id}.", once="ticket")
    counted = told("broken_promises", broken)
    rubric.says("done", counted, f"The customer is told how many promises {TICKET} shows: {broken}.", once="history")
    part = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(DESK_CENTS), "reason": "goodwill"})
    text = f"Nothing is credited to {home.account_id} while {money(cents)} waits for an answer."
    rubric.never("credited", text, CallPattern("apply_credit", status="any"), "request", part, required=True)
    refusals.not_refused(rubric, home, DENIAL, "request", REFUSAL)
    deep.explained(rubric, f"what happens next with the credit of {money(cents)}")
    rows = [_approval_row(home, cents, "pending"), deep.ticket_row(home, "billing", None)]
    return rubric, Outcome(rows, [Fact("approval_status", "pending")]), [waiting, number]
