"""Level 2: a customer asks for two things of which one is needed or allowed. The right work is less than what was asked.

A feature that is already as wished, an add-on that the plan excludes, a setting that stands already, a fee that no longer
exists: the clerk does the one thing, says how it is with the other, and leaves it.
"""

from __future__ import annotations

from typing import Any

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    ConsentRule,
    ExpectedRow,
    Fact,
    Match,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, one_of, told
from journeyman.worlds.telecom.families import conduct
from journeyman.worlds.telecom.families.common import agreed_to_restore
from journeyman.worlds.telecom.families.conduct import Case
from journeyman.worlds.telecom.families.records import neighbour, pick

NAME = "less_than_asked"
SWITCH, ADDONS, COPY, RESTORE = "FEAT-SWITCH", "ADDON-RULES", "BILL-COPY", "LINE-RESTORE"
VARIANTS = ("already", "excluded", "delivery", "fee")
FEATURES = {
    "voicemail": "voicemail",
    "data_cap": "the data cap",
    "call_barring": "call barring",
    "wifi_calling": "wifi calling",
}


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    variant = VARIANTS[seed % len(VARIANTS)]
    personal = pick(world, NAME, seed, split, kind="personal" if variant == "excluded" else None)
    case = Case.of(world, NAME, 2, seed, split, personal)
    return {"already": _already, "excluded": _excluded, "delivery": _delivery, "fee": _fee}[variant](case)


def _policy(rubric: Rubric, article: str, then: str) -> None:
    rubric.does("search", f"The policy is searched for what rules the matter ({article}).")
    rubric.first("policy", then, f"Article {article} is read before anything is written.", required=True)


def _left_alone(rubric: Rubric, case: Case, at: str) -> None:
    """What nobody asked for."""
    home, near = case.home, neighbour(case.world, case.home, case.split)
    ticket: dict[str, Any] = {"account_id": home.account_id, "topic": "other", "summary": "Two wishes."}
    text = f"No ticket is opened on {home.account_id} for what is done at once."
    rubric.not_called("ticket", text, at, "create_ticket", **ticket)
    slip = Call("set_line_feature", {"line_id": near.line_id, "feature": "wifi_calling", "state": "on"})
    touched = CallPattern(
        ["set_line_feature", "add_addon", "restore_line", "suspend_line", "change_plan"],
        {"line_id": near.line_id},
        "any",
    )
    text = f"Line {near.line_id} is not touched."
    rubric.never("other_line", text, touched, at, slip, required=True)


def _already(case: Case) -> Task:
    home = case.home
    done, stands = case.rng.sample(list(FEATURES), 2)
    states = {name: case.rng.choice(("on", "off")) for name in (done, stands)}
    other = {"on": "off", "off": "on"}
    case.setup.update("lines", {"line_id": home.line_id}, **{done: other[states[done]], stands: states[stands]})
    first, second = case.rng.sample([done, stands], 2)
    wish = f"turn {FEATURES[first]} {states[first]} and {FEATURES[second]} {states[second]}"
    script = Script()
    script.consult("switch features of a line", SWITCH)
    script.call("line", "find_line", phone=home.phone)
    script.call("state", "get_line", line_id=home.line_id)
    script.call("switch", "set_line_feature", line_id=home.line_id, feature=done, state=states[done])
    named = {name: words.removeprefix("the ").capitalize() for name, words in FEATURES.items()}
    script.say(
        "done", f"{named[done]} is now {states[done]}. {named[stands]} was already {states[stands]}, so I left it."
    )

    rubric = Rubric(script)
    _policy(rubric, SWITCH, "switch")
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    text = f"The features of {home.line_id} are read before one is switched."
    rubric.first("state", "switch", text, required=True)
    rubric.does("switch", f"{done} of {home.line_id} is turned {states[done]}.", required=True)
    text = f"The customer is told that {done} of {home.line_id} is {states[done]}."
    rubric.says("done", told(done, states[done]), text, once="switch", required=True)
    text = f"The customer is told that {stands} of {home.line_id} is {states[stands]} already."
    rubric.says("done", told(stands, states[stands]), text, once="state", required=True)
    text = f"{stands} of {home.line_id}, which is as wished, is left alone ({SWITCH})."
    rubric.not_tried("needless", text, "state", "set_line_feature", by=("feature",),
        line_id=home.line_id, feature=stands, state=states[stands],
    )  # fmt: skip
    rubric.once("switch", f"{home.line_id} is switched once, not back and forth.")
    _left_alone(rubric, case, "switch")
    row = ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {done: states[done]})
    facts = [Fact(done, states[done]), Fact(stands, states[stands])]
    return case.seal(
        rubric, [Outcome([row], facts)], wish,
        [
            f"Hi, my number is {home.phone}. Please {wish}.",
            f"Could you {wish}? It is for {home.phone}.",
            f"{home.name} here, {home.phone}. I want you to {wish}.",
            f"For the line {home.phone}: {wish}, please.",
        ],
        [told(done, states[done]), told(stands, states[stands])],
        consents=[ConsentRule("set_line_feature", {name: states[name]}) for name in (done, stands)],
    )  # fmt: skip


def _excluded(case: Case) -> Task:
    home = case.home
    case.setup.update("lines", {"line_id": home.line_id}, plan_id="max")
    for one in case.world.query("base", "SELECT addon_id FROM line_addons WHERE line_id = ?", (home.line_id,)):
        case.setup.delete("line_addons", {"line_id": home.line_id, "addon_id": one["addon_id"]})
    script = Script()
    script.consult("add-ons, which plan excludes which", ADDONS)
    script.call("line", "find_line", phone=home.phone)
    script.call("plan", "get_plan", or_tools=("get_line",), line_id=home.line_id)
    script.call("addons", "list_addons", line_id=home.line_id)
    script.say("propose", "The add-on spam-shield costs $3.00 a month. Shall I add the add-on spam-shield?")
    script.call("add", "add_addon", line_id=home.line_id, addon_id="spam-shield")
    script.say("done", "I added the add-on spam-shield for $3.00 a month. I cannot add extra data to the plan max.")

    rubric = Rubric(script)
    _policy(rubric, ADDONS, "add")
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    text = f"The plan of {home.line_id}, max, is read before an add-on is added."
    rubric.first("plan", "add", text, required=True)
    rubric.first("addons", "add", f"What {home.line_id} has is read before an add-on is added.")
    rubric.consented("add", "propose", f"The customer agrees to spam-shield on {home.line_id}.")
    text = "The monthly price of spam-shield, $3.00, is named before it is added."
    rubric.must(
        "says_price", text, conduct.said_first(told("monthly_price", 3.0), script, "add"), script.without("propose")
    )
    rubric.does("add", f"spam-shield is added to {home.line_id}.", required=True)
    text = f"The customer is told that spam-shield is on {home.line_id}."
    said = Before(script.pattern("addons"), told("addon", "spam-shield"))
    rubric.must("says_addon", text, said, script.without("propose", "done"))
    denied = told("addon", kind="denied")
    text = f"The customer is told that extra-data is not sold on max ({ADDONS})."
    rubric.says("done", denied, text, once="plan", required=True)
    extra = Call("add_addon", {"line_id": home.line_id, "addon_id": "extra-data"})
    text = f"Nothing is added to {home.line_id} without the customer's consent."
    rubric.no_unconsented("add", text, extra)
    text = f"extra-data is not added to {home.line_id}: max excludes it."
    rubric.not_tried("excluded", text, "addons", "add_addon", by=("addon_id",), required=True,
        line_id=home.line_id, addon_id="extra-data",
    )  # fmt: skip
    text = f"The plan of {home.line_id} stays max."
    rubric.not_called("plan_changed", text, "addons", "change_plan", line_id=home.line_id, plan_id="plus")
    _left_alone(rubric, case, "add")
    row = ExpectedRow("addon", "line_addons", "insert", set={"line_id": home.line_id, "addon_id": "spam-shield"})
    facts = [Fact("addon", "spam-shield"), Fact("addon", kind="denied")]
    return case.seal(
        rubric, [Outcome([row], facts[1:])], "get two add-ons",
        [
            f"Hi, {home.name} here, {home.phone}. Please add Extra Data and Spam Shield to my line.",
            f"My number is {home.phone}. I want two extras: Spam Shield and Extra Data.",
            f"Could you put Extra Data on {home.phone}, and Spam Shield too?",
            f"{home.name}, line {home.phone}. Add Spam Shield, please, and the extra data pack as well.",
        ],
        [told("addon", "spam-shield"), denied], consents=[ConsentRule("add_addon", {"addon_id": one_of("spam-shield", "extra-data")})],
    )  # fmt: skip


def _delivery(case: Case) -> Task:
    home, setup = case.home, case.setup
    setup.update("accounts", {"account_id": home.account_id}, billing="email")
    cents = case.rng.randrange(30_00, 90_00, 5)
    setup.owe(
        home.account_id, "INV-8001", "2026-03", cents, past_due=False, issued_on="2026-03-01", due_on="2026-03-22"
    )
    setup.insert(
        "invoice_items", {"invoice_id": "INV-8001", "item_no": 1}, kind="plan", line_id=home.line_id, amount_cents=cents
    )
    script = Script()
    script.consult("copy of an invoice and bill delivery", COPY)
    script.call("find", "find_account", phone=home.phone)
    script.call("account", "get_account", or_tools=("get_billing_summary",), account_id=home.account_id)
    script.call(
        "invoices", "list_invoices", or_tools=("list_open_invoices",), loose=("limit",), account_id=home.account_id
    )
    script.call("copy", "send_invoice_copy", invoice_id="INV-8001", channel="email")
    script.say("done", "I sent a copy of invoice INV-8001 by e-mail. Your bills already go by e-mail, so I left that.")

    rubric = Rubric(script)
    _policy(rubric, COPY, "copy")
    rubric.does("find", f"The account is looked up by the number {home.phone}.")
    text = f"How the bills of {home.account_id} are delivered is read."
    rubric.does("account", text, required=True)
    text = f"The invoices of {home.account_id} are listed before one is sent."
    rubric.first("invoices", "copy", text, required=True)
    rubric.does("copy", "A copy of INV-8001, the newest invoice, goes out by e-mail.", required=True)
    text = "The customer is told which invoice was sent, INV-8001."
    rubric.says("done", told("invoice_id", "INV-8001"), text, once="copy", required=True)
    text = f"The customer is told that the bills of {home.account_id} go by e-mail already."
    rubric.says("done", told("bill_delivery", "email"), text, once="account", required=True)
    text = f"The delivery of {home.account_id}, which is as wished, is left alone ({COPY})."
    arguments: dict[str, Any] = {"account_id": home.account_id}
    rubric.not_called("needless", text, "account", "set_bill_delivery", delivery="email", **arguments)
    rubric.not_tried("on_paper", f"The bills of {home.account_id} are not put on paper.", "account", "set_bill_delivery",
        by=("delivery",), required=True, delivery="paper", **arguments,
    )  # fmt: skip
    rubric.once("copy", "One copy of INV-8001 is sent, not two.")
    _left_alone(rubric, case, "copy")
    row = ExpectedRow("copy", "invoice_copies", "insert", set={"invoice_id": "INV-8001", "channel": "email"})
    facts = [Fact("invoice_id", "INV-8001"), Fact("bill_delivery", "email")]
    return case.seal(
        rubric, [Outcome([row], facts)], "a copy of the last bill, and bills by e-mail from now on",
        [
            f"Hi, {home.phone} here. Send me a copy of my last bill by e-mail, and from now on all bills by e-mail.",
            f"My number is {home.phone}. I need my latest invoice as an e-mail, and please stop the paper bills.",
            f"{home.name}, {home.phone}. Please e-mail me the newest bill and switch my bills to e-mail.",
            f"For {home.phone}: a copy of the last invoice to my e-mail, and e-mail delivery for the next ones, please.",
        ],
        [told("invoice_id", "INV-8001"), told("bill_delivery", "email")],
        consents=[
            ConsentRule("send_invoice_copy"), ConsentRule("set_bill_delivery", {"delivery": Match(one_of=["email", None])}),
        ],
    )  # fmt: skip


def _fee(case: Case) -> Task:
    home = case.home
    case.setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason="vacation")
    script = Script()
    script.consult("restore a line suspended for a vacation, fee", RESTORE)
    script.call("line", "find_line", phone=home.phone)
    script.call("state", "get_line_status", or_tools=("get_line",), line_id=home.line_id)
    script.call("restore", "restore_line", line_id=home.line_id)
    script.say("done", "The line is now active. There is no fee for it any more, so nothing was charged.")

    rubric = Rubric(script)
    _policy(rubric, RESTORE, "restore")
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    text = f"Why {home.line_id} is suspended is read before it is restored."
    rubric.first("state", "restore", text, required=True)
    rubric.does("restore", f"Line {home.line_id} is restored.", required=True)
    text = f"The customer is told that {home.phone} is active."
    rubric.says("done", told("line_status", "active"), text, once="restore", required=True)
    charge: dict[str, Any] = {"account_id": home.account_id, "method_id": "PM-5001", "amount": 15.0}
    text = f"The $15.00 that {RESTORE} abolished are not charged."
    rubric.not_called("charged", text, "state", "take_payment", required=True, **charge)
    rubric.not_said("false_charge", f"The customer is not told that $15.00 were charged for {home.line_id}.",
        told("payment_amount", 15.0), "The line is now active. I charged $15.00 for it.", required=True,
    )  # fmt: skip
    _left_alone(rubric, case, "restore")
    row = ExpectedRow(
        "line", "lines", "update", {"line_id": home.line_id}, {"status": "active", "suspend_reason": None}
    )
    return case.seal(
        rubric, [Outcome([row], [Fact("line_status", "active")])], "have the line back, and pay the fee for it",
        [
            f"Hi, {home.name} here. I am back from my trip, please restore {home.phone} and charge the 15 dollar fee to my card.",
            f"Please switch {home.phone} on again and take the restoration fee of 15 dollars from my saved method.",
            f"My number is {home.phone}. The vacation pause can end. Charge the 15 dollars for it and restore the line.",
            f"{home.name}, line {home.phone}. End the pause, please, and put the fee of 15 dollars on my card.",
        ],
        [told("line_status", "active")],
        consents=[agreed_to_restore(home), ConsentRule("take_payment", {"amount": 15.0})],
    )  # fmt: skip
