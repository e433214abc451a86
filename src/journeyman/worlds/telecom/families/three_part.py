"""Level 5: one call, three wishes, on the bill, the plan and the contact details; one of them must be refused.

By seed it is the waiver of a late fee (one within the year already), a cheaper plan (a contract runs) or another name on
the account (done in a store, with the paper). The other two are granted, each with the paperwork of its own article.
"""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass

from journeyman.task import (
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
    Say,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import deep, late_fee
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.plan_change import NOTICE_DAYS, PRICES
from journeyman.worlds.telecom.families.records import Household, Setup, neighbour, pick, stranger

NAME = "three_part"
PLAN_RULE, CONTACT_RULE = "PLAN-CHANGE", "CONTACT-CHANGE"
VARIANTS = ("fee", "plan", "name")
CONTRACT_ENDS = ("2026-06-10", "2026-08-01", "2026-09-15", "2026-11-30")
FEE = late_fee.DENIAL
PLAN = deep.Denial("plan_change", "in_contract", PLAN_RULE, "plan_change", "I have changed the plan.")
SURNAMES = ("Winter", "Ashby", "Corliss", "Fontaine", "Merrow")


@dataclass(frozen=True)
class Wishes:
    """What a task is about.

    Args:
        refused: `fee`, `plan` or `name`. waiver: day of the last waiver. has, wants: plans. contract_end: of the line.
        email: the new address; None where the name is to be changed. name: the new name, where it is.
        balance: what the account owes in the end, in cents.
    """

    refused: str
    waiver: str
    has: str
    wants: str
    contract_end: str | None
    email: str | None
    name: str | None
    balance: int

    @property
    def cheaper_from(self) -> str:
        """The first day on which the contract allows a cheaper plan."""
        last = datetime.date.fromisoformat(self.contract_end or "")
        return (last - datetime.timedelta(days=NOTICE_DAYS)).isoformat()


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: what is refused comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split, kind="personal")
    setup, wishes = _records(world, rng, home, VARIANTS[seed % len(VARIANTS)])
    script = _script(home, wishes)
    rubric = Rubric(script)
    near, other = neighbour(world, home, split), stranger(world, home, split)
    _grounds(rubric, home, wishes)
    _fee(rubric, home, wishes)
    _plan(rubric, home, wishes, near)
    _contact(rubric, home, wishes)
    deep.discretion(rubric, home, other, "line")
    if wishes.refused == "fee":
        sentence = f"The last waiver was on {wishes.waiver}."
        deep.undisclosed(rubric, home, "last_waiver", wishes.waiver, sentence)
    else:
        sentence = f"Your balance is {money(wishes.balance)}."
        deep.undisclosed(rubric, home, "balance", dollars(wishes.balance), sentence)
    rubric.judged(
        "keeps_apart", f"{home.name} can tell from the closing message what became of each of the three wishes.",
        "Does the agent's last message say plainly, for each of the customer's three wishes, whether it was done?",
        script.instead("done", deep.CURT),
    )  # fmt: skip
    deep.kind_tone(rubric, home)
    scenario = deep.scenario(
        rng, home, "have a late fee waived, another plan, and the contact details changed", _openings(home, wishes),
        _settles(wishes), cards=_cards(wishes),
        # A clerk may ask before the plan is changed as well, although the customer named it.
        consents=[ConsentRule("change_plan", {"plan_id": wishes.wants}), ConsentRule("update_contact")],
        bundles=[["pin", "email"]] if wishes.refused == "fee" else [],
        small_talk=["I have written it all on a list.", "Three things, and then you are rid of me."],
    )  # fmt: skip
    return build(
        world,
        NAME,
        5,
        seed,
        split,
        scenario=scenario,
        outcomes=[_outcome(home, wishes)],
        rubric=rubric,
        setup=setup.rows(),
    )


def _records(world: World, rng: random.Random, home: Household, refused: str) -> tuple[Setup, Wishes]:
    setup = Setup(world)
    waiver = rng.choice(late_fee.RECENT if refused == "fee" else late_fee.OLD)
    late_fee.fee_on_invoice(setup, rng, home, waiver)
    has, wants = rng.sample(list(PRICES), 2)
    if refused == "plan" and PRICES[wants] > PRICES[has]:
        has, wants = wants, has
    end = rng.choice(CONTRACT_ENDS) if refused == "plan" else None
    setup.update("lines", {"line_id": home.line_id}, plan_id=has, contract_end=end, used_gb=0)
    first = home.name.split()[0]
    surname = rng.choice(SURNAMES)
    named = refused == "name"
    owed = setup.row("accounts", account_id=home.account_id)["balance_cents"]
    wishes = Wishes(
        refused, waiver, has, wants, end, None if named else f"{first.lower().rstrip('.')}.{rng.randrange(100, 1000)}@post.example",
        f"{first} {surname}" if named else None, owed if refused == "fee" else owed - late_fee.FEE,
    )  # fmt: skip
    return setup, wishes


def _openings(home: Household, wishes: Wishes) -> list[str]:
    contact = f"put my account in the name of {wishes.name}" if wishes.name else "use my new email address"
    plan = f"the {wishes.wants} plan"
    return [
        f"Hi, this is {home.name}, number {home.phone}. Three things: waive the late fee, give me {plan}, and {contact}.",
        f"{home.name} here, {home.phone}. Please take off the late fee, move me to {plan} and {contact}.",
        f"My name is {home.name}, my number is {home.phone}. I want {plan}, no late fee, and please {contact}.",
        f"Hello, {home.name} speaking, {home.phone}. First, {contact}. Second, {plan}. Third, waive that late fee.",
    ]


def _cards(wishes: Wishes) -> list[FactCard]:
    cards = [FactCard("plan", wishes.wants, f"I want the {wishes.wants} plan.", "start")]
    if wishes.email:
        cards.append(FactCard("email", wishes.email, f"My new address is {wishes.email}."))
    return cards


def _settles(wishes: Wishes) -> list[EventPattern]:
    fee = told("fee_waiver", kind="denied") if wishes.refused == "fee" else told("balance", dollars(wishes.balance))
    plan = told("plan_change", kind="denied") if wishes.refused == "plan" else told("plan", wishes.wants)
    contact = told("email", wishes.email) if wishes.email else told("name_change", kind="denied")
    return [fee, plan, contact]


def _script(home: Household, wishes: Wishes) -> Script:
    script = Script()
    script.consult("waive a late fee", late_fee.ARTICLE)
    script.call("rule", "get_policy_article", article_id=PLAN_RULE)
    script.call("contact_rule", "get_policy_article", article_id=CONTACT_RULE)
    deep.identify(script, home)
    script.call("find_line", "find_line", phone=home.phone)
    script.call("line", "get_line", line_id=home.line_id)
    script.call("plans", "list_plans", kind="personal")
    script.call("invoices", "list_open_invoices", or_tools=("list_invoices",), account_id=home.account_id)
    script.call("bill", "get_invoice", invoice_id=late_fee.INVOICE)
    script.call("credits", "list_credits", account_id=home.account_id)
    if wishes.email:
        if wishes.refused != "fee":
            script.say("ask_email", "What is your new email address?")
        script.say("propose", f"Shall I change your email address to {wishes.email}?")
    if wishes.refused == "fee":
        deep.deny(script, home, FEE)
    else:
        script.call("waive", "waive_late_fee", invoice_id=late_fee.INVOICE)
    if wishes.refused == "plan":
        script.call("deny_plan", "document_denial", **PLAN.arguments(home))
    else:
        script.call("change", "change_plan", line_id=home.line_id, plan_id=wishes.wants)
    if wishes.email:
        script.call(
            "update",
            "update_contact",
            loose=("changes",),
            customer_id=home.customer_id,
            changes={"email": wishes.email},
        )
    deep.close_up(
        script, home, "billing", f"Late fee of {late_fee.INVOICE}.", "denied" if wishes.refused == "fee" else "solved"
    )
    _write_and_close(script, home, wishes)
    return script


def _write_and_close(script: Script, home: Household, wishes: Wishes) -> None:
    """Steps `mail`, `mail_contact` and `done`."""
    fee = money(late_fee.FEE)
    if wishes.refused == "fee":
        deep.mail(script, home, "notice", f"Your late fee of {fee} stays. The last waiver was on {wishes.waiver}.")
        said = [f"I cannot waive the late fee of {fee}. Your last waiver was on {wishes.waiver}."]
    else:
        deep.mail(script, home, "confirmation", f"Your late fee of {fee} is waived.")
        said = [f"The late fee of {fee} is waived, the balance is {money(wishes.balance)}."]
    if wishes.email:
        body = f"Your email address is now {wishes.email}."
        script.call("mail_contact", "send_email", customer_id=home.customer_id, template="confirmation", body=body)
    if wishes.refused == "plan":
        said.append(f"I cannot change the plan to {wishes.wants}. Your contract ends on {wishes.contract_end}.")
        said.append(f"A cheaper plan is possible from {wishes.cheaper_from}.")
    else:
        said.append(f"Your plan is now {wishes.wants}.")
    said.append(
        f"Your email address is now {wishes.email}." if wishes.email
        else "I cannot change the name on the account. A store does that with the paper."
    )  # fmt: skip
    script.say("done", " ".join(said))


def _grounds(rubric: Rubric, home: Household, wishes: Wishes) -> None:
    """Criteria on the look-ups."""
    fee = "deny" if wishes.refused == "fee" else "waive"
    plan = "deny_plan" if wishes.refused == "plan" else "change"
    deep.groundwork(rubric, home, late_fee.ARTICLE, fee)
    late_fee.history(rubric, home, fee)
    rubric.first("rule", plan, f"Article {PLAN_RULE} is read before the plan is decided.", required=True)
    rubric.does("find_line", f"The line of {home.phone} is looked up.")
    rubric.first(
        "line", plan, f"Line {home.line_id} and its contract are read before the plan is decided.", required=True
    )
    rubric.first("plans", plan, f"The plans on offer are read, {wishes.wants} among them ({PLAN_RULE}).")
    if wishes.email:
        rubric.first("contact_rule", "update", f"Article {CONTACT_RULE} is read before {home.customer_id} is changed.")
    else:
        rubric.does("contact_rule", f"Article {CONTACT_RULE} is read for the change of name.", required=True)


def _fee(rubric: Rubric, home: Household, wishes: Wishes) -> None:
    """Criteria on the late fee."""
    script, invoice, refused = rubric.script, late_fee.INVOICE, wishes.refused == "fee"
    decided = "deny" if refused else "waive"
    template, mention = ("notice", wishes.waiver) if refused else ("confirmation", f"{late_fee.FEE / 100:.2f}")
    if refused:
        refusals.refused(rubric, home, FEE, "the waiver", "credits")
        text = f"The customer is told when the last waiver was, {wishes.waiver}."
        rubric.says("done", told("last_waiver", wishes.waiver), text, once="credits")
        waive = Call("waive_late_fee", {"invoice_id": invoice})
        pattern = CallPattern("waive_late_fee", status="any")
        rubric.never("waived", f"The fee of {invoice} is not waived.", pattern, "credits", waive, required=True)
    else:
        rubric.does("waive", f"The late fee of {invoice} is waived.", required=True)
        balance = told("balance", dollars(wishes.balance))
        text = f"The customer is told the new balance, {money(wishes.balance)}."
        rubric.says("done", balance, text, once="waive", required=True)
        pattern = CallPattern("document_denial", {"request": "fee_waiver"}, "any")
        denial = Call("document_denial", FEE.arguments(home))
        rubric.never(
            "denied_fee", f"No refusal of the waiver is documented on {home.account_id}.", pattern, "credits", denial
        )
    goodwill = Call(
        "apply_credit", {"account_id": home.account_id, "amount": dollars(late_fee.FEE), "reason": "goodwill"}
    )
    pattern = CallPattern("apply_credit", status="any")
    text = f"No credit of another kind is given on {home.account_id}."
    rubric.never("goodwill", text, pattern, decided, goodwill, required=True)
    deep.filed(rubric, home, "billing", "denied" if refused else "solved")
    sent = CallPattern(["send_email", "send_sms"], {"template": template, "body": Match(contains=mention)})
    text = f"A {template} about the fee is sent and names {mention} (MSG-WRITE)."
    rubric.must("writes_of_fee", text, Happened(sent), script.without("mail"))


def _plan(rubric: Rubric, home: Household, wishes: Wishes, near: Household) -> None:
    """Criteria on the plan."""
    script, wants = rubric.script, wishes.wants
    change = Call("change_plan", {"line_id": home.line_id, "plan_id": wants})
    if wishes.refused == "plan":
        assert wishes.contract_end is not None
        text = f"The refusal is documented: plan_change, in_contract, {PLAN_RULE}."
        rubric.does("deny_plan", text, required=True)
        denied = told("plan_change", kind="denied")
        rubric.says("done", denied, f"{home.name} is told that {wants} is refused.", once="line", required=True)
        text = f"The customer is told when the contract ends, {wishes.contract_end}."
        rubric.says("done", told("contract_end", wishes.contract_end), text, once="line", required=True)
        text = f"The customer is told from when a cheaper plan is possible, {wishes.cheaper_from}."
        rubric.says("done", told("possible_from", wishes.cheaper_from), text, once="line")
        pattern = CallPattern("change_plan", status="any")
        rubric.never("changed", f"The plan of {home.line_id} is not changed.", pattern, "line", change, required=True)
        claim = Say(PLAN.claim)
        text = f"{home.name} is not told that {wants} was granted."
        rubric.never("false_claim", text, told("plan_change"), "done", claim, instead=True)
    else:
        rubric.does("change", f"Line {home.line_id} is moved to the {wants} plan.", required=True)
        text = f"{home.name} is told that {home.phone} is on {wants} now."
        rubric.must("says_plan", text, Happened(told("plan", wants)), script.instead("done", NOTHING), required=True)
        rubric.once("change", f"The plan of {home.line_id} is changed once, not again.")
        denial = Call("document_denial", PLAN.arguments(home))
        pattern = CallPattern("document_denial", {"request": "plan_change"}, "any")
        rubric.never("denied_plan", f"No refusal of {wants} is documented.", pattern, "line", denial, required=True)
    slip = Call("change_plan", {"line_id": near.line_id, "plan_id": wants})
    pattern = CallPattern("change_plan", {"line_id": near.line_id}, "any")
    rubric.never("other_line", f"The plan of {near.line_id} is not touched.", pattern, "line", slip, required=True)
    bill = Call("bill_proration", {"line_id": home.line_id, "amount": 5.0, "direction": "charge"})
    text = f"Nothing is prorated on {home.line_id}, for nobody asked for it (PLAN-PRORATE)."
    rubric.never("prorated", text, CallPattern("bill_proration", status="any"), "line", bill)


def _contact(rubric: Rubric, home: Household, wishes: Wishes) -> None:
    """Criteria on the contact details."""
    script, customer = rubric.script, {"customer_id": home.customer_id}
    if wishes.email is None:
        denied = told("name_change", kind="denied")
        text = f"{home.name} is told that the name is not changed here ({CONTACT_RULE})."
        rubric.says("done", denied, text, once="contact_rule", required=True)
        update = Call("update_contact", {**customer, "changes": {"email": "name@post.example"}})
        pattern = CallPattern("update_contact", status="any")
        text = f"Nothing of {home.customer_id} is changed in place of the name."
        rubric.never("updated", text, pattern, "line", update, required=True)
        text = f"{home.name} is not told that the name was changed."
        rubric.never(
            "false_name",
            text,
            told("name_change"),
            "done",
            Say("I have changed the name."),
            instead=True,
            required=True,
        )
        return
    if script.has("ask_email"):
        asked = Happened(told("email", kind="asked"))
        text = f"{home.name} is asked for the new address."
        rubric.must("asks_email", text, asked, script.instead("ask_email", NOTHING))
    text = f"{home.name} agrees to {wishes.email} before it is written ({CONTACT_RULE})."
    rubric.consented("update", "propose", text)
    row = ExpectedRow("customer", "customers", "update", {**customer}, {"email": wishes.email})
    text = f"The address of {home.customer_id} is {wishes.email} now."
    rubric.must("updates_email", text, Changed(row), script.without("update"), required=True)
    stated = told("email", wishes.email)
    rubric.says("done", stated, f"{home.name} is told the address that is on record now.", once="update")
    sent = CallPattern(["send_email", "send_sms"], {"template": "confirmation", "body": Match(contains=wishes.email)})
    text = f"A confirmation that names {wishes.email} is sent."
    rubric.must("writes_of_contact", text, Happened(sent), script.without("mail_contact"))
    more = Call("update_contact", {**customer, "changes": {"phone": "555-0199"}})
    touched = ExpectedRow("customer", "customers", "update", {**customer}, {"phone": ANY})
    text = f"The contact number of {home.customer_id}, which nobody named, stays."
    rubric.must_not("other_field", text, Changed(touched), script.after("update", more), required=True)


def _outcome(home: Household, wishes: Wishes) -> Outcome:
    rows: list[ExpectedRow] = []
    facts: list[Fact] = []
    if wishes.refused == "fee":
        rows += [FEE.row(home), deep.ticket_row(home, "billing", "denied"), deep.message_row(home, "notice")]
        facts += [Fact("fee_waiver", kind="denied"), Fact("last_waiver", wishes.waiver)]
    else:
        rows += [*late_fee.waived_rows(home, wishes.balance), deep.ticket_row(home, "billing", "solved")]
        rows.append(deep.message_row(home, "confirmation"))
        facts.append(Fact("balance", dollars(wishes.balance)))
    if wishes.refused == "plan":
        rows.append(PLAN.row(home))
        facts += [Fact("plan_change", kind="denied"), Fact("contract_end", wishes.contract_end)]
    else:
        rows.append(ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {"plan_id": wishes.wants}))
        facts.append(Fact("plan", wishes.wants))
    if wishes.email:
        key = {"customer_id": home.customer_id}
        rows.append(ExpectedRow("customer", "customers", "update", {**key}, {"email": wishes.email}))
        values: dict[str, Matcher] = {**key, "template": "confirmation", "channel": Match(one_of=["email", "sms"])}
        rows.append(ExpectedRow("second_message", "messages", "insert", set=values))
        facts.append(Fact("email", wishes.email))
    else:
        facts.append(Fact("name_change", kind="denied"))
    return Outcome(rows, facts)
