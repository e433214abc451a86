"""Level 3: the matter is on file already. A dispute and a ticket are open, and what is new goes onto them.

The customer wants a dispute opened. By seed it is open already and they bring a receipt (its number only when asked), or
they contest another item of the same invoice; or what is on file is an older matter, closed, and a new dispute is right.
"""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    Changed,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import NOTHING, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.telecom.catalogue import AS_OF
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "dispute_reuse"
ARTICLE, FILING = "DSP-ITEMS", "TKT-FILE"
INVOICE, EARLIER = "INV-8001", "INV-8000"
DISPUTE, TICKET, NOISE = "DSP-8001", "TK-8001", "TK-8002"
VARIANTS = ("same", "more", "fresh")
OPENED = ("2026-02-19", "2026-02-20", "2026-02-23", "2026-02-24", "2026-02-25")
ITEM, SECOND = 2, 3
BUSINESS_DAYS = 10


def decided_by(opened: str) -> str:
    """The day ten business days after a dispute was opened; Saturdays and Sundays are none."""
    day, left = datetime.date.fromisoformat(opened), BUSINESS_DAYS
    while left:
        day += datetime.timedelta(days=1)
        left -= day.weekday() < 5
    return day.isoformat()


@dataclass(frozen=True)
class File:
    """What a task is about: the cents of the two contested items, the day the dispute was opened, the receipt."""

    first: int
    second: int
    opened: str
    receipt: str

    @property
    def decision(self) -> str:
        """The day by which the dispute is decided."""
        return decided_by(self.opened)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    first, second = rng.sample(range(500, 4500, 500), 2)
    opened = AS_OF if variant == "fresh" else rng.choice(OPENED)
    file = File(first, second, opened, f"RC-{rng.randrange(10_000, 100_000)}")
    setup = _records(world, rng, home, variant, file)
    maker = {"same": _same, "more": _more, "fresh": _fresh}[variant]
    rubric, outcome, settles = maker(home, file)
    deep.discretion(rubric, home, stranger(world, home, split), "tickets")
    cards = [
        FactCard(
            "receipt_no", file.receipt, f"The receipt is {file.receipt}.", "asked" if variant == "same" else "never"
        ),
        FactCard(
            "item_number", SECOND if variant == "more" else ITEM, f"It is item {SECOND if variant == 'more' else ITEM}."
        ),
    ]
    scenario = deep.scenario(
        rng, home, "have a charge disputed", _openings(home, variant), settles, cards=cards,
        consents=[ConsentRule("open_dispute")],
        small_talk=["I check every bill, you know.", "My phone is mostly in a drawer."],
    )  # fmt: skip
    return build(world, NAME, 3, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def _records(world: World, rng: random.Random, home: Household, variant: str, file: File) -> Setup:
    """The February invoice with two overage items; a dispute with its ticket, open or of an earlier invoice and over."""
    setup, account = Setup(world), home.account_id
    setup.settle_invoices(account)
    setup.close_open_tickets(account)
    plan = rng.randrange(3000, 6000, 100)
    charges = (
        ("plan", home.line_id, plan),
        ("overage", home.line_id, file.first),
        ("overage", home.line_id, file.second),
    )
    items = (*charges, ("tax", None, sum(charge[2] for charge in charges) * 6 // 100))
    total = sum(item[2] for item in items)
    setup.owe(account, INVOICE, "2026-02", total, past_due=False, issued_on="2026-02-12", due_on="2026-03-05")
    for number, (kind, line_id, cents) in enumerate(items, start=1):
        setup.insert(
            "invoice_items", {"invoice_id": INVOICE, "item_no": number}, kind=kind, line_id=line_id, amount_cents=cents
        )
    over = variant == "fresh"
    about, opened = (EARLIER, "2026-01-19") if over else (INVOICE, file.opened)
    if over:
        setup.insert(
            "invoices", {"invoice_id": EARLIER}, account_id=account, period="2025-12", issued_on="2025-12-12",
            due_on="2026-01-02", total_cents=total, paid_cents=total, credited_cents=0, status="paid",
        )  # fmt: skip
        setup.insert(
            "invoice_items",
            {"invoice_id": EARLIER, "item_no": 1},
            kind="overage",
            line_id=home.line_id,
            amount_cents=total,
        )
    setup.insert(
        "disputes", {"dispute_id": DISPUTE}, invoice_id=about, item_numbers="1" if over else str(ITEM),
        amount_cents=total if over else file.first, reason="not_mine", status="rejected" if over else "open",
        opened_at=f"{opened}T10:00:00",
    )  # fmt: skip
    closed = {"status": "closed", "resolution": "denied", "closed_at": "2026-01-30T10:00:00"}
    state = closed if over else {"status": "open", "resolution": None, "closed_at": None}
    setup.insert(
        "tickets", {"ticket_id": TICKET}, account_id=account, line_id=None, topic="billing", priority="normal",
        summary=f"Dispute {DISPUTE} over an overage on {about}", opened_at=f"{opened}T10:05:00", **state,
    )  # fmt: skip
    setup.insert(
        "tickets", {"ticket_id": NOISE}, account_id=account, line_id=home.line_id, topic="plan", priority="low", status="open",
        resolution=None, summary="Asks for more data on the plan", opened_at="2026-02-26T15:00:00", closed_at=None,
    )  # fmt: skip
    return setup


def _openings(home: Household, variant: str) -> list[str]:
    wish = {
        "same": "The overage on my February bill is not mine, and I have a receipt that proves it. Please open a dispute.",
        "more": "The other overage on my February bill is wrong as well. Please open a dispute over that one too.",
        "fresh": "There is an overage on my February bill and I never used that data. I had this before. Please open a dispute.",
    }[variant]
    return [
        f"Hi, this is {home.name}, number {home.phone}. {wish}",
        f"{home.name} here, {home.phone}. I called about this before. {wish}",
        f"My name is {home.name}, my number is {home.phone}. {wish}",
        f"Hello, {home.name} speaking. My number is {home.phone}. {wish}",
    ]


def _read(home: Household) -> Script:
    script = Script()
    script.consult("dispute over an invoice item", ARTICLE)
    deep.identify(script, home)
    script.call(
        "invoices", "list_open_invoices", or_tools=("list_invoices",), loose=("limit",), account_id=home.account_id
    )
    script.call("bill", "get_invoice", invoice_id=INVOICE)
    script.call("disputes", "list_disputes", account_id=home.account_id)
    script.call("tickets", "list_tickets", loose=("status",), account_id=home.account_id)
    return script


def _grounds(rubric: Rubric, home: Household, then: str) -> None:
    """Criteria on the look-ups that show what is on file."""
    deep.groundwork(rubric, home, ARTICLE, then)
    rubric.does("invoices", f"The invoices of {home.account_id} are listed.")
    rubric.first("bill", then, f"The items of {INVOICE} are read before the matter is decided.")
    text = f"The disputes of {home.account_id} are looked up before the matter is decided."
    rubric.first("disputes", then, text, required=True)
    rubric.first(
        "tickets", then, f"The tickets of {home.account_id} are looked up before the matter is decided ({FILING})."
    )


def _reused(rubric: Rubric, home: Household, file: File, mention: str, what: str) -> Outcome:
    """Criteria of a matter that goes onto the open ticket, and its outcome. `mention`: what the note has to hold."""
    script = rubric.script
    rubric.first("history", "note", f"Ticket {TICKET} is read before it is noted.", required=True)
    rubric.does("note", f"The note is added to {TICKET}, the open ticket of the matter.", "ticket_id", required=True)
    holds = Happened(CallPattern("add_ticket_note", {"note": Match(contains=mention)}))
    silent = Call("add_ticket_note", {"ticket_id": TICKET, "note": "Customer called again."})
    rubric.must("note_says", f"The note names {what}, {mention}.", holds, script.instead("note", silent))
    rubric.says(
        "done", told("dispute_id", DISPUTE), f"The customer is told the dispute that is open, {DISPUTE}.", once="disputes",
        required=True,
    )  # fmt: skip
    text = f"The customer is told the ticket that carries it, {TICKET}."
    rubric.says("done", told("ticket_id", TICKET), text, once="tickets")
    text = f"The customer is told by when it is decided, {file.decision}."
    rubric.says("done", told("decision_date", file.decision), text, once="disputes", required=True)
    again = Call("open_dispute", {"invoice_id": INVOICE, "item_numbers": [ITEM, SECOND], "reason": "not_mine"})
    text = f"No second dispute over {INVOICE} is tried."
    rubric.never("second_dispute", text, CallPattern("open_dispute", status="any"), "disputes", again, required=True)
    fresh = Call("create_ticket", {"account_id": home.account_id, "topic": "billing", "summary": "Dispute."})
    text = f"No second billing ticket is opened on {home.account_id}."
    pattern = CallPattern("create_ticket", {"account_id": home.account_id}, "any")
    rubric.never("second_ticket", text, pattern, "tickets", fresh, required=True)
    slip = Call("add_ticket_note", {"ticket_id": NOISE, "note": "Dispute."})
    pattern = CallPattern("add_ticket_note", {"ticket_id": NOISE}, "any")
    rubric.never("other_ticket", f"{NOISE}, a ticket of another matter, is not noted.", pattern, "history", slip)
    shut = Call("close_ticket", {"ticket_id": TICKET, "resolution": "duplicate"})
    text = f"{TICKET} stays open until the dispute is decided."
    rubric.never("closed", text, CallPattern("close_ticket", status="any"), "note", shut)
    _no_credit(rubric, home, file)
    values: dict[str, Matcher] = {"ticket_id": TICKET, "visibility": Match(one_of=["internal", "customer"])}
    row = ExpectedRow("note", "ticket_notes", "insert", set=values)
    return Outcome([row], [Fact("dispute_id", DISPUTE), Fact("decision_date", file.decision)])


def _no_credit(rubric: Rubric, home: Household, file: File) -> None:
    """The criterion that nothing is credited while a dispute is open."""
    credit = Call(
        "apply_credit", {"account_id": home.account_id, "amount": dollars(file.first), "reason": "billing_error"}
    )
    text = f"Nothing is credited to {home.account_id} for the disputed items ({ARTICLE})."
    rubric.never("credited", text, CallPattern("apply_credit", status="any"), "disputes", credit, required=True)


Plan = tuple[Rubric, Outcome, list[EventPattern]]


def _same(home: Household, file: File) -> Plan:
    script = _read(home)
    script.call("history", "get_ticket", ticket_id=TICKET)
    script.say("receipt", "What is the number of the receipt?")
    note = f"Customer brings receipt {file.receipt} for item {ITEM} of {INVOICE}."
    script.call("note", "add_ticket_note", loose=("note", "visibility"), ticket_id=TICKET, note=note)
    script.say(
        "done",
        f"Your dispute {DISPUTE} is still open and will be decided by {file.decision}. The disputed amount is "
        f"{money(file.first)}. Receipt {file.receipt} is now on ticket {TICKET}.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, "note")
    asked = Before(told("receipt_no", kind="asked"), script.pattern("note"))
    text = f"{home.name} is asked for the number of the receipt before the note."
    rubric.must("asks_receipt", text, asked, script.instead("receipt", NOTHING), required=True)
    outcome = _reused(rubric, home, file, file.receipt, "the receipt")
    text = f"The customer is told that {file.receipt} is on file."
    rubric.says("done", told("receipt_no", file.receipt), text, once="note")
    text = f"The customer is told the disputed amount, {money(file.first)}."
    rubric.says("done", told("dispute_amount", dollars(file.first)), text, once="disputes")
    deep.explained(rubric, f"what happens with {DISPUTE} until {file.decision}")
    settles = [told("dispute_id", DISPUTE), told("decision_date", file.decision), told("receipt_no", file.receipt)]
    return rubric, outcome, settles


def _more(home: Household, file: File) -> Plan:
    script = _read(home)
    script.call("history", "get_ticket", ticket_id=TICKET)
    note = f"Customer also contests item {SECOND} of {INVOICE}, ${file.second / 100:.2f}; add it to {DISPUTE}."
    script.call("note", "add_ticket_note", loose=("note", "visibility"), ticket_id=TICKET, note=note)
    script.say(
        "done",
        f"Dispute {DISPUTE} over this invoice is still open and will be decided by {file.decision}. I noted the other "
        f"disputed amount of {money(file.second)} on ticket {TICKET}.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, "note")
    outcome = _reused(rubric, home, file, f"{file.second / 100:.2f}", "the amount of the other item")
    text = f"The customer is told the amount of the item that was noted, {money(file.second)}."
    rubric.says("done", told("dispute_amount", dollars(file.second)), text, once="bill")
    status = told("dispute_status", "open")
    rubric.says("done", status, f"The customer is told that {DISPUTE} is still open.", once="disputes")
    deep.explained(rubric, f"why item {SECOND} goes onto {DISPUTE} and gets no dispute of its own")
    settles = [told("dispute_id", DISPUTE), told("decision_date", file.decision), told("ticket_id", TICKET)]
    return rubric, outcome, settles


def _fresh(home: Household, file: File) -> Plan:
    script = _read(home)
    script.say(
        "which", f"{INVOICE} has two overages: {money(file.first)} and {money(file.second)}. Which item do you contest?"
    )
    script.call(
        "open", "open_dispute", loose=("item_numbers",), invoice_id=INVOICE, item_numbers=[ITEM], reason="not_mine"
    )
    script.call(
        "ticket", "create_ticket", account_id=home.account_id, topic="billing",
        summary=f"Dispute over item {ITEM} of {INVOICE} waits for a decision.",
    )  # fmt: skip
    script.say(
        "done",
        f"I opened dispute ${{dispute.dispute_id}} over a disputed amount of {money(file.first)}. It will be decided by "
        f"{file.decision}. Your ticket is ${{ticket.ticket_id}}.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, "open")
    asked = Before(told("item_number", kind="asked"), script.pattern("open"))
    text = f"{home.name} is asked which item of {INVOICE} they contest."
    rubric.must("asks_item", text, asked, script.instead("which", NOTHING))
    rubric.does("open", f"A dispute is opened over {INVOICE}, reason not_mine.", "invoice_id", "reason", required=True)
    both = Call("open_dispute", {"invoice_id": INVOICE, "item_numbers": [ITEM, SECOND], "reason": "not_mine"})
    row = ExpectedRow("dispute", "disputes", "insert", set={"item_numbers": str(ITEM)})
    text = f"The dispute covers item {ITEM} of {INVOICE}, {money(file.first)}."
    rubric.must("covers_item", text, Changed(row), script.instead("open", both))
    deep.filed(rubric, home, "billing", None)
    rubric.first("open", "ticket", f"The ticket of {home.account_id} is opened after the dispute over {INVOICE}.")
    number = told("dispute_id", ref("dispute.dispute_id"))
    text = f"The customer is told the number of the dispute over {INVOICE}."
    rubric.says("done", number, text, once="open", required=True)
    text = f"The customer is told the disputed amount, {money(file.first)}."
    rubric.says("done", told("dispute_amount", dollars(file.first)), text, once="bill", required=True)
    text = f"The customer is told by when it is decided, {file.decision}."
    rubric.says("done", told("decision_date", file.decision), text, required=True)
    ticket = told("ticket_id", ref("ticket.ticket_id"))
    rubric.says("done", ticket, f"The customer is told the number of the ticket on {home.account_id}.", once="ticket")
    slip = Call("add_ticket_note", {"ticket_id": NOISE, "note": "Dispute."})
    pattern = CallPattern("add_ticket_note", {"ticket_id": NOISE}, "any")
    rubric.never("other_ticket", f"{NOISE}, a ticket of another matter, is not noted.", pattern, "tickets", slip)
    row = ExpectedRow("dispute", "disputes", "insert", set={"item_numbers": Match(one_of=["2,3", "3", "1,2,3"])})
    text = f"Item {SECOND} of {INVOICE}, which nobody contests, is not disputed."
    rubric.must_not("whole_invoice", text, Changed(row), script.instead("open", both), required=True)
    _no_credit(rubric, home, file)
    deep.explained(rubric, f"what happens with {INVOICE} until {file.decision}")
    values: dict[str, Matcher] = {
        "invoice_id": INVOICE, "item_numbers": str(ITEM), "amount_cents": file.first, "reason": "not_mine", "status": "open",
    }  # fmt: skip
    rows = [ExpectedRow("dispute", "disputes", "insert", set=values), deep.ticket_row(home, "billing", None)]
    facts = [Fact("dispute_amount", dollars(file.first)), Fact("decision_date", file.decision)]
    return rubric, Outcome(rows, facts), [number, ticket, told("decision_date", file.decision)]
