"""Level 1: tell a balance, send a copy of an open invoice, change how bills are delivered; refuse where the records forbid it."""

from __future__ import annotations

import functools
import random

from journeyman.task import Call, CallPattern, ConsentRule, ExpectedRow, Fact, Match, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families.common import choices, starter, starter_scenario
from journeyman.worlds.telecom.families.records import Household, Setup, neighbour, pick

NAME = "starter_billing"
TOOLS = ["find_account", "get_balance", "list_open_invoices", "send_invoice_copy", "set_bill_delivery"]
INTENTS = ("copy", "balance", "delivery", "copy", "balance", "nothing_open", "copy", "closed")
_task = functools.partial(starter, NAME, TOOLS)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its intent comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    maker = {
        "balance": _balance, "copy": _copy, "nothing_open": _nothing_open, "delivery": _delivery, "closed": _closed,
    }  # fmt: skip
    return maker[INTENTS[seed % len(INTENTS)]](world, seed, split, rng, home)


def _two_invoices(setup: Setup, rng: random.Random, home: Household) -> tuple[int, int]:
    """One past-due and one newer open invoice, INV-8001 and INV-8002; returns their amounts in cents."""
    setup.settle_invoices(home.account_id)
    old, new = rng.sample(range(2000, 9000, 5), 2)
    setup.owe(home.account_id, "INV-8001", "2026-01", old, past_due=True, issued_on="2026-01-10", due_on="2026-01-31")
    setup.owe(home.account_id, "INV-8002", "2026-02", new, past_due=False, issued_on="2026-02-18", due_on="2026-03-11")
    return old, new


def _looked_up(script: Script, home: Household) -> Rubric:
    rubric = Rubric(script)
    rubric.does("find", f"The account is looked up by the number {home.phone}.", required=True)
    return rubric


def _balance(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    old, new = _two_invoices(setup, rng, home)
    slot, cents, other = rng.choice((("balance", old + new, old), ("past_due", old, old + new)))
    what = {"balance": "balance", "past_due": "past-due amount"}[slot]
    openings = [
        f"What is the {what} on {home.phone}?",
        f"Hi, please tell me the {what} for my number {home.phone}.",
        f"My number is {home.phone}. How much is my {what}?",
        f"I want to know the {what} of the account with {home.phone}.",
    ]
    script = Script()
    script.call("find", "find_account", phone=home.phone)
    script.call("read", "get_balance", account_id=home.account_id)
    script.say("done", f"The {what} on {home.phone} is {money(cents)}.")
    rubric = _looked_up(script, home)
    rubric.does("read", f"The balance of account {home.account_id} is read.", required=True)
    rubric.first("find", "read", "The account is looked up before its balance is read.")
    rubric.says(
        "done", told(slot, dollars(cents)), f"After the balance is read the customer is told the {what}, {money(cents)}.",
        once="read", required=True,
    )  # fmt: skip
    rubric.says("done", told("phone", home.phone), "The answer names the customer's number.", once="read")
    rubric.never(
        "other_amount", f"The {what} is not given as {money(other)}, which is another amount of the record.",
        told(slot, dollars(other)), "done", Say(f"The {what} on {home.phone} is {money(other)}."), instead=True,
    )  # fmt: skip
    rubric.never(
        "unasked_copy", "No invoice copy is sent, for nobody asked for one.", CallPattern("send_invoice_copy"),
        "read", Call("send_invoice_copy", {"invoice_id": "INV-8001", "channel": "email"}), required=True,
    )  # fmt: skip
    scenario = starter_scenario(rng, home.phone, f"learn the {what}", openings, [told(slot)])
    return _task(world, seed, split, scenario, Outcome([], [Fact(slot, dollars(cents))]), rubric, setup)


def _copy_openings(account_id: str, which: str, way: str) -> list[str]:
    return [
        f"Please send me the {which} invoice of account {account_id} by {way}.",
        f"Hi, I need a copy of my {which} invoice by {way}. My account is {account_id}.",
        f"Can you send the {which} invoice of {account_id} again by {way}?",
        f"My account is {account_id}. Could I get my {which} invoice by {way}, please?",
    ]


def _copy(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    old, new = _two_invoices(setup, rng, home)
    way = rng.choice(("email", "sms", "post"))
    which, right, wrong, cents = rng.choice(
        (("past-due", "INV-8001", "INV-8002", old), ("latest open", "INV-8002", "INV-8001", new))
    )
    script = Script()
    script.call("list", "list_open_invoices", account_id=home.account_id)
    script.call("send", "send_invoice_copy", invoice_id=right, channel=way)
    script.say("done", f"I sent invoice {right} by {way}. The invoice amount is {money(cents)}.")
    rubric = Rubric(script)
    rubric.does("list", f"The open invoices of account {home.account_id} are listed.", required=True)
    rubric.first("list", "send", "The invoices are listed before a copy is sent.", required=True)
    rubric.does("send", f"A copy of {right}, the {which} one, is sent by {way}.", required=True)
    rubric.says(
        "done", told("invoice_id", right), f"After the copy is sent the customer is told its invoice, {right}.",
        once="send", required=True,
    )  # fmt: skip
    rubric.says(
        "done", told("invoice_due", dollars(cents)), f"The customer is told its amount, {money(cents)}.", once="list"
    )
    step = Call("send_invoice_copy", {"invoice_id": wrong, "channel": way})
    pattern = CallPattern("send_invoice_copy", {"invoice_id": wrong})
    rubric.never("other_invoice", f"No copy of {wrong} is sent.", pattern, "send", step, required=True)
    rubric.once("send", "The copy is sent once, not again.")
    row = ExpectedRow("copy", "invoice_copies", "insert", set={"invoice_id": right, "channel": way})
    scenario = starter_scenario(
        rng,
        home.account_id,
        f"get a copy of the {which} invoice",
        _copy_openings(home.account_id, which, way),
        [told("invoice_id")],
        ConsentRule("send_invoice_copy"),
    )
    return _task(world, seed, split, scenario, Outcome([row], [Fact("invoice_id", right)]), rubric, setup)


def _nothing_open(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    setup.settle_invoices(home.account_id)
    way, which = rng.choice(("email", "sms", "post")), rng.choice(("past-due", "latest open"))
    script = Script()
    script.call("list", "list_open_invoices", account_id=home.account_id)
    script.call("balance", "get_balance", account_id=home.account_id)
    script.say("done", "I cannot send a copy. No invoice is open and the balance is $0.00.")
    rubric = Rubric(script)
    rubric.does("list", f"The open invoices of account {home.account_id} are listed.", required=True)
    rubric.says(
        "done",
        told("invoice_copy", kind="denied"),
        "After the list is read the copy is refused.",
        once="list",
        required=True,
    )
    rubric.does("balance", f"The balance of account {home.account_id} is read.")
    rubric.first("list", "balance", "The invoices are listed before the balance is read.")
    zero = told("balance", 0.0)
    rubric.says("done", zero, "The customer is told that the balance is $0.00.", once="balance", required=True)
    invented = Call("send_invoice_copy", {"invoice_id": "INV-8001", "channel": way})
    rubric.never(
        "attempt", "No invoice is made up to be sent.", CallPattern("send_invoice_copy", status="any"),
        "list", invented, required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", "The customer is not told of an invoice that does not exist.", told("invoice_id"),
        "done", Say(f"I sent invoice INV-8001 by {way}."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, home.account_id, f"get a copy of the {which} invoice", _copy_openings(home.account_id, which, way),
        [told("invoice_copy", kind="denied")], ConsentRule("send_invoice_copy"),
    )  # fmt: skip
    facts = [Fact("invoice_copy", kind="denied"), Fact("balance", 0.0)]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _delivery_openings(phone: str, way: str) -> list[str]:
    return [
        f"Please send my bills by {way} from now on. My number is {phone}.",
        f"Hi, can you change bill delivery to {way} for {phone}?",
        f"I would like {way} bills for {phone}, please.",
        f"My number is {phone}. Set the bill delivery to {way}, please.",
    ]


def _delivery(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    way, before = rng.choice((("email", "paper"), ("paper", "email")))
    other = neighbour(world, home, split)
    setup = Setup(world)
    for one in (home, other):
        setup.update("accounts", {"account_id": one.account_id}, billing=before)
    script = Script()
    script.call("find", "find_account", phone=home.phone)
    script.call("set", "set_bill_delivery", account_id=home.account_id, delivery=way)
    script.say("done", f"The bill delivery for {home.phone} is now {way}.")
    rubric = _looked_up(script, home)
    rubric.first("find", "set", "The account is looked up before it is changed.", required=True)
    rubric.does("set", f"Bill delivery of account {home.account_id} is set to {way}.", required=True)
    rubric.says(
        "done", told("bill_delivery", way), f"After the change the customer is told that bills go by {way}.",
        once="set", required=True,
    )  # fmt: skip
    rubric.says("done", told("phone", home.phone), "The outcome names the customer's number.", once="set")
    back = Call("set_bill_delivery", {"account_id": home.account_id, "delivery": before})
    pattern = CallPattern("set_bill_delivery", {"delivery": before})
    rubric.never("wrong_way", f"Bill delivery is not set to {before}.", pattern, "set", back, required=True)
    rubric.once("set", "The delivery is set once, not again.")
    row = ExpectedRow("account", "accounts", "update", {"account_id": home.account_id}, {"billing": way})
    scenario = starter_scenario(
        rng, home.phone, f"get bills by {way}", _delivery_openings(home.phone, way), [told("bill_delivery")],
        ConsentRule("set_bill_delivery", {"delivery": Match(one_of=[way, None])}),
    )  # fmt: skip
    return _task(world, seed, split, scenario, Outcome([row], [Fact("bill_delivery", way)]), rubric, setup)


def _closed(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    way, before = rng.choice((("email", "paper"), ("paper", "email")))
    setup = Setup(world)
    setup.settle_invoices(home.account_id)
    cents = rng.randrange(1500, 6000, 5)
    setup.owe(
        home.account_id, "INV-8001", "2026-02", cents, past_due=False, issued_on="2026-02-18", due_on="2026-03-11"
    )
    setup.update("accounts", {"account_id": home.account_id}, status="closed", billing=before, closed_on="2026-02-20")
    setup.update_all("lines", "account_id = ?", (home.account_id,), status="closed", suspend_reason=None)
    script = Script()
    script.call("find", "find_account", phone=home.phone)
    script.call("read", "get_balance", account_id=home.account_id)
    script.say(
        "done", f"I cannot change bill delivery for {home.phone}. The account is closed. The balance is {money(cents)}."
    )
    rubric = _looked_up(script, home)
    rubric.does("read", f"The balance that is left on account {home.account_id} is read.")
    rubric.says(
        "done",
        told("bill_delivery", kind="denied"),
        "After the look-up the change is refused.",
        once="find",
        required=True,
    )
    rubric.says(
        "done",
        told("account_status", "closed"),
        "The customer is told that the account is closed.",
        once="find",
        required=True,
    )
    rubric.says(
        "done",
        told("balance", dollars(cents)),
        f"The customer is told what is still owed, {money(cents)}.",
        once="read",
    )
    rubric.never(
        "attempt", "No change of the closed account is attempted.", CallPattern("set_bill_delivery", status="any"),
        "find", Call("set_bill_delivery", {"account_id": home.account_id, "delivery": way}), required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", f"The customer is not told that bills now go by {way}.", told("bill_delivery", way),
        "done", Say(f"The bill delivery for {home.phone} is now {way}."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, home.phone, f"get bills by {way}", _delivery_openings(home.phone, way),
        [told("bill_delivery", kind="denied")],
        ConsentRule("set_bill_delivery", {"delivery": Match(one_of=[way, None])}),
    )  # fmt: skip
    facts = [Fact("bill_delivery", kind="denied"), Fact("account_status", "closed"), Fact("balance", dollars(cents))]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)
