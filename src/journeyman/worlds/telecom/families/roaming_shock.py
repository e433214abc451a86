"""Level 3: a customer comes back from a trip to a roaming charge and wants it credited.

Half of the item is credited, at most $50.00; not with the roaming pass, and once in twelve months. Who is refused argues.
"""

from __future__ import annotations

from typing import Any

from journeyman.task import (
    Before,
    Call,
    ConsentRule,
    ExpectedRow,
    Fact,
    FactCard,
    Outcome,
    Pushback,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import ANY, Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import conduct, deep
from journeyman.worlds.telecom.families.conduct import Case
from journeyman.worlds.telecom.families.deep import Denial

NAME = "roaming_shock"
ARTICLE = "ROAM-SHOCK"
INVOICE = "INV-8001"
ITEM = 2
VARIANTS = ("half", "with_pass", "capped", "used")
MOST = 5000
PUSHES = (
    "But nobody told me what roaming costs. Please look at it again.",
    "I have been your customer for years. Surely you can make an exception.",
    "That is not fair. My neighbour got his roaming charge credited.",
)
AGREED = (ConsentRule("apply_credit", {"amount": ANY}), ConsentRule("open_dispute"))
"""The customer takes any credit whose amount is named, and every other way to have the charge off."""
RECENT = ("2025-04-22", "2025-06-17", "2025-09-11", "2025-11-05", "2026-01-14")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 3, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    low, high = (101_00, 240_00) if variant == "capped" else (8_00, 99_00)
    cents = case.rng.randrange(low, high) | 1  # an odd number of cents: half of it is not whole
    _books(case, cents, variant)
    if variant in ("half", "capped"):
        return _granted(case, cents)
    return _refused(case, cents, variant)


def credit_cents(cents: int) -> int:
    """What the article grants for a roaming item: half of it, rounded down to the cent, at most $50.00."""
    return min(cents // 2, MOST)


def _books(case: Case, cents: int, variant: str) -> None:
    """An open invoice of February with the charge as item 2; roaming on; the pass or an earlier credit where they matter."""
    home, setup = case.home, case.setup
    case.setup.close_open_tickets(case.home.account_id)
    conduct.forget_credits(case, "roaming")
    plan = case.rng.randrange(20_00, 60_00, 5)
    tax = (plan + cents) * 6 // 100
    setup.owe(
        home.account_id,
        INVOICE,
        "2026-02",
        plan + cents + tax,
        past_due=False,
        issued_on="2026-02-20",
        due_on="2026-03-13",
    )
    items = (("plan", home.line_id, plan), ("roaming", home.line_id, cents), ("tax", None, tax))
    for number, (kind, line_id, amount) in enumerate(items, start=1):
        setup.insert(
            "invoice_items", {"invoice_id": INVOICE, "item_no": number}, kind=kind, line_id=line_id, amount_cents=amount
        )
    setup.update("lines", {"line_id": home.line_id}, roaming="on")
    key = {"line_id": home.line_id, "addon_id": "roam-pass"}
    has = case.world.query(
        "base", "SELECT 1 AS has FROM line_addons WHERE line_id = ? AND addon_id = ?", tuple(key.values())
    )
    if variant == "with_pass" and not has:
        setup.insert("line_addons", dict(key), added_at="2025-12-01T10:00:00")
    if variant != "with_pass" and has:
        setup.delete("line_addons", dict(key))
    if variant == "used":
        setup.insert(
            "credits", {"credit_id": "CR-8001"}, account_id=home.account_id, invoice_id=None, amount_cents=2000,
            reason="roaming", approval_id=None, applied_at=f"{case.rng.choice(RECENT)}T10:00:00",
        )  # fmt: skip


def _openings(case: Case, wish: str) -> list[str]:
    home = case.home
    return [
        f"Hi, this is {home.name}, number {home.phone}. My last bill has a roaming charge that I never expected. "
        f"I want it credited. {wish}",
        f"Hello, {home.name} here. I used my phone abroad and the roaming on {home.phone} cost a fortune. "
        f"Please give it back. {wish}",
        f"My number is {home.phone}, my name is {home.name}. I did not know what roaming costs. Can I get a credit? {wish}",
        f"{home.name} speaking, {home.phone}. There is a roaming item on my February bill. I would like it off. {wish}",
    ]


def _read(script: Script, case: Case) -> None:
    home = case.home
    script.consult("credit for unexpected roaming charges", ARTICLE)
    deep.identify(script, home)
    script.call("line", "find_line", phone=home.phone)
    script.call("invoices", "list_open_invoices", or_tools=("list_invoices",), account_id=home.account_id)
    script.call("bill", "get_invoice", invoice_id=INVOICE)
    script.call("addons", "list_addons", line_id=home.line_id)
    script.call("credits", "list_credits", account_id=home.account_id)


def _grounds(rubric: Rubric, case: Case, cents: int, then: str) -> None:
    """Criteria on the look-ups that decide the matter."""
    home = case.home
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    rubric.does("invoices", f"The invoices of account {home.account_id} are listed.")
    text = (
        f"Invoice {INVOICE}, whose item {ITEM} is the charge of {money(cents)}, is read before the matter is decided."
    )
    rubric.first("bill", then, text, required=True)
    text = f"The add-ons of line {home.line_id} are read before the matter is decided."
    rubric.first("addons", then, text, required=True)
    text = f"Earlier credits of account {home.account_id} are looked up before the matter is decided."
    rubric.first("credits", then, text, required=True)


def _granted(case: Case, cents: int) -> Task:
    home, credit = case.home, credit_cents(cents)
    off = case.seed % 8 < 4
    state = "off" if off else "on"
    wish = "Please turn roaming off as well." if off else "Leave roaming on, I travel again soon."
    balance = case.setup.row("accounts", account_id=home.account_id)["balance_cents"] - credit
    script = Script()
    _read(script, case)
    script.say(
        "propose",
        f"The roaming item is {money(cents)}. Shall I give you a credit of {money(credit)} for it? With it you give up a dispute "
        "over that item.",
    )
    script.call("credit", "apply_credit", account_id=home.account_id, amount=dollars(credit), reason="roaming")
    if off:
        script.call("switch", "set_line_feature", line_id=home.line_id, feature="roaming", state="off")
    deep.close_up(script, home, "billing", f"Roaming charge of {INVOICE}: {money(credit)} credited.", "solved")
    deep.mail(script, home, "confirmation", f"You received a credit of {money(credit)} for the roaming charge.")
    script.say("done", f"I applied a credit of {money(credit)}. Your balance is now {money(balance)}. Roaming is {'now off' if off else 'still on, as you wish'}.")  # fmt: skip

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "credit")
    _grounds(rubric, case, cents, "credit")
    text = f"The customer agrees to {money(credit)} before it is credited."
    rubric.consented("credit", "propose", text)
    text = f"{money(credit)} is credited, {'the most that ' + ARTICLE + ' allows' if credit == MOST else 'half of ' + money(cents)}."
    rubric.does("credit", text, required=True)
    if off:
        rubric.does("switch", f"Roaming of line {home.line_id} is turned off, as the customer wishes.", required=True)
    deep.paperwork(rubric, home, "billing", "solved", "confirmation", "credit", mention=money(credit))
    text = f"The customer is told the credit, {money(credit)}."
    both = script.without("propose", "done")
    named = Before(script.pattern("credits"), told("credit_amount", dollars(credit)))
    rubric.must("says_credit", text, named, both, required=True)
    text = f"The customer is told the new balance, {money(balance)}."
    rubric.says("done", told("balance", dollars(balance)), text, once="credit")
    _limits(rubric, case, cents, credit, state)
    rows = [
        ExpectedRow(
            "credit", "credits", "insert",
            set={"account_id": home.account_id, "amount_cents": credit, "reason": "roaming"},
        ),
        ExpectedRow("account", "accounts", "update", {"account_id": home.account_id}, {"balance_cents": balance}),
        deep.ticket_row(home, "billing", "solved"),
        deep.message_row(home, "confirmation"),
    ]  # fmt: skip
    if off:
        rows.append(ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {"roaming": "off"}))
    return case.seal(
        rubric, [Outcome(rows, [Fact("credit_amount", dollars(credit))])], "get the roaming charge credited",
        _openings(case, wish), [told("credit_amount", dollars(credit))],
        cards=[FactCard("roaming", state, wish, "start")],
        consents=[*AGREED, *([ConsentRule("set_line_feature", {"roaming": state})] if off else [])],
    )  # fmt: skip


def _limits(rubric: Rubric, case: Case, cents: int, credit: int, state: str) -> None:
    """What a credit must not do."""
    home = case.home
    whole = {"account_id": home.account_id, "amount": dollars(cents), "reason": "roaming"}
    text = f"Nothing is credited to account {home.account_id} without the customer's consent."
    rubric.no_unconsented("credit", text, Call("apply_credit", {**whole, "amount": 1.0}))
    text = f"The whole charge of {money(cents)} is not credited."
    rubric.not_tried("whole_charge", text, "credits", "apply_credit", by=("amount",), required=True, **whole)
    text = f"No goodwill is added for {INVOICE}."
    arguments: dict[str, Any] = {"account_id": home.account_id, "amount": 5.0, "reason": "goodwill"}
    rubric.not_tried("goodwill", text, "credits", "apply_credit", by=("reason",), required=True, **arguments)
    begged: dict[str, Any] = {"account_id": home.account_id, "kind": "credit", "amount": dollars(cents)}
    text = f"No approval is asked for: {ARTICLE} knows none above {money(MOST)}."
    rubric.not_called("approval", text, "credits", "request_approval", **begged)
    text = f"No pass is added to line {home.line_id}, since nobody asked for one."
    rubric.not_called("pass", text, "addons", "add_addon", line_id=home.line_id, addon_id="roam-pass")
    if state == "on":
        text = f"Roaming of line {home.line_id} stays on, as the customer wishes."
        arguments = {"line_id": home.line_id, "feature": "roaming", "state": "off"}
        rubric.not_called("switched", text, "addons", "set_line_feature", required=True, **arguments)


def _refused(case: Case, cents: int, variant: str) -> Task:
    home = case.home
    pushes = case.rng.sample(PUSHES, 1 + case.seed // 4 % 2)
    reason = "already_used" if variant == "used" else "not_eligible"
    day = case.setup.row("credits", credit_id="CR-8001")["applied_at"][:10] if variant == "used" else ""
    why = f"Your last roaming credit was on {day}." if day else "The line has the roaming pass, the add-on roam-pass."
    denial = Denial("credit", reason, ARTICLE, "credit", f"I applied a credit of {money(credit_cents(cents))}.")
    script = Script()
    _read(script, case)
    deep.deny(script, home, denial)
    deep.close_up(script, home, "billing", f"Roaming credit refused: {reason}.", "denied")
    deep.mail(script, home, "notice", f"The roaming charge of {INVOICE} cannot be credited. {why}")
    script.say("done", f"I cannot give you a credit for the roaming charge of {money(cents)}. {why}")
    script.repeat(pushes, f"I am sorry, but I cannot give you a credit for it. {why}")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    _grounds(rubric, case, cents, "deny")
    conduct.refused(rubric, home, denial, f"a credit for the {money(cents)}", "credits", pushes)
    deep.paperwork(rubric, home, "billing", "denied", "notice", "deny")
    moment = told("last_credit", day) if day else told("addon", "roam-pass")
    text = f"The customer is told why: {'the last credit was on ' + day if day else 'the line has roam-pass'}."
    conduct.explains(rubric, moment, text, pushes=pushes, required=bool(day))
    _refusal_limits(rubric, case, cents)
    outcome = deep.refusal_outcome(home, denial, "billing")
    return case.seal(
        rubric, [outcome], "get the roaming charge credited", _openings(case, "It is far too much."),
        [told("credit", kind="denied")], consents=AGREED, pushbacks=[Pushback("credit", pushes)],
    )  # fmt: skip


def _refusal_limits(rubric: Rubric, case: Case, cents: int) -> None:
    """What a refusal must not do, argued with or not."""
    home = case.home
    arguments: dict[str, Any] = {
        "account_id": home.account_id,
        "amount": dollars(credit_cents(cents)),
        "reason": "roaming",
    }
    text = f"Nothing is credited to account {home.account_id}, however the customer argues."
    rubric.not_called("credited", text, "done", "apply_credit", required=True, **arguments)
    text = f"No dispute over {INVOICE} is opened to get round the refusal."
    disputed: dict[str, Any] = {"invoice_id": INVOICE, "item_numbers": [ITEM], "reason": "wrong_amount"}
    rubric.not_called("disputed", text, "done", "open_dispute", required=True, **disputed)
    arguments = {"account_id": home.account_id, "kind": "credit", "amount": dollars(cents)}
    text = f"No supervisor is asked for what {ARTICLE} rules out."
    rubric.not_called("approval", text, "credits", "request_approval", **arguments)
    claim = f"I credited {money(credit_cents(cents))}."
    text = f"The customer is not told that part of the {money(cents)} was credited."
    rubric.not_said("false_amount", text, told("credit_amount"), claim, required=True)
