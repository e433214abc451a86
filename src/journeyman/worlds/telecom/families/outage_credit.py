"""Level 3: a customer wants a credit for an outage. Long faults earn one, planned work and short faults do not.

What happened is read from the network's records of the customer's city; what it is worth from the policy.
"""

from __future__ import annotations

import random
from typing import Any

from journeyman.task import Call, CallPattern, EventPattern, ExpectedRow, Fact, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick

NAME = "outage_credit"
ARTICLE = "OUT-CREDIT"
VARIANTS = ("long", "short", "long", "planned")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    hours = rng.randint(5, 22) if variant == "short" else rng.randint(26, 90)
    setup = _network(world, home, "planned" if variant == "planned" else "fault", hours)
    if variant == "long":
        return _granted(world, seed, split, rng, home, setup, hours)
    return _refused(world, seed, split, rng, home, setup, variant, hours)


def _network(world: World, home: Household, kind: str, hours: int) -> Setup:
    """One outage in the customer's city, OUT-8001, in place of those on record; no outage credit in this year."""
    setup = Setup(world)
    setup.settle_invoices(home.account_id)
    setup.close_stale_tickets(home.account_id)
    cells = world.query("base", "SELECT cell_id FROM cells WHERE city = ? ORDER BY cell_id", (home.city,))
    known = "SELECT outage_id FROM outages JOIN cells USING (cell_id) WHERE city = ? ORDER BY outage_id"
    for row in world.query("base", known, (home.city,)):
        setup.delete("outages", {"outage_id": row["outage_id"]})
    setup.insert(
        "outages", {"outage_id": "OUT-8001"}, cell_id=cells[0]["cell_id"], kind=kind, hours=hours,
        started_at="2026-02-24T06:00:00", status="resolved",
    )  # fmt: skip
    earlier = "SELECT credit_id FROM credits WHERE account_id = ? AND reason = 'outage'"
    for row in world.query("base", earlier, (home.account_id,)):
        setup.update("credits", {"credit_id": row["credit_id"]}, applied_at="2024-03-06T10:00:00")
    return setup


def credit_cents(hours: int) -> int:
    """What the policy grants for a fault of so many hours: $5 for each full day, at most $15."""
    return min(hours // 24 * 500, 1500)


def _openings(home: Household) -> list[str]:
    return [
        f"Hi, this is {home.name}, number {home.phone}. I had no service for days last week. I want a credit for the outage.",
        f"Hello, {home.name} here. The network was down where I live. Please credit my account. My number is {home.phone}.",
        f"My number is {home.phone}, my name is {home.name}. Can I get a credit for last week's outage?",
        f"{home.name} speaking, {home.phone}. There was an outage in town and I would like some money back for it.",
    ]


def _read(script: Script, home: Household) -> None:
    deep.consult(script, "credit for a network outage", ARTICLE)
    deep.identify(script, home)
    script.call("customer", "get_customer", or_tools=("get_customer_profile_v2",), customer_id=home.customer_id)
    script.call("outage", "check_outage", city=home.city)
    script.call("credits", "list_credits", account_id=home.account_id)


def _grounds(rubric: Rubric, home: Household, then: str) -> None:
    """Criteria on the look-ups that decide the matter."""
    rubric.first("customer", "outage", "The customer's city is read before its outages.")
    rubric.first("outage", then, f"Outages in {home.city} are read before the matter is decided.", required=True)
    rubric.first("credits", then, "Earlier credits are looked up before the matter is decided.", required=True)


def _granted(
    world: World, seed: int, split: Split, rng: random.Random, home: Household, setup: Setup, hours: int
) -> Task:
    cents = credit_cents(hours)
    balance = setup.row("accounts", account_id=home.account_id)["balance_cents"] - cents
    script = Script()
    _read(script, home)
    script.call("credit", "apply_credit", account_id=home.account_id, amount=dollars(cents), reason="outage")
    deep.close_up(script, home, "network", f"Outage of {hours} hours credited.", "solved")
    deep.mail(script, home, "confirmation", f"You received a credit of {money(cents)} for the outage.")
    script.say("done", f"The outage lasted {hours} hours. I applied a credit of {money(cents)}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "credit")
    _grounds(rubric, home, "credit")
    rubric.does("credit", f"{money(cents)} is credited for the outage.", required=True)
    deep.paperwork(rubric, home, "network", "solved", "confirmation", "credit")
    rubric.says(
        "done",
        told("credit_amount", dollars(cents)),
        f"The customer is told the credit, {money(cents)}.",
        once="credit",
        required=True,
    )
    rubric.says(
        "done",
        told("outage_hours", hours),
        f"The customer is told how long the outage was, {hours} hours.",
        once="outage",
    )
    rubric.once("credit", "The credit is applied once, not again.")
    other = Call("apply_credit", {"account_id": home.account_id, "amount": 1.0, "reason": "goodwill"})
    rubric.never(
        "goodwill",
        "No goodwill is added.",
        CallPattern("apply_credit", {"reason": "goodwill"}),
        "credit",
        other,
        required=True,
    )
    denial = {"account_id": home.account_id, "request": "credit", "reason": "not_eligible", "article_id": ARTICLE}
    rubric.never(
        "denied",
        "No refusal is documented.",
        CallPattern("document_denial"),
        "credits",
        Call("document_denial", denial),
        required=True,
    )
    rubric.never(
        "false_refusal", "The customer is not told that there is no credit.", told("credit", kind="denied"),
        "done", Say("I cannot give you a credit for the outage."), instead=True,
    )  # fmt: skip
    account = {"account_id": home.account_id}
    outcome = Outcome(
        [
            ExpectedRow("credit", "credits", "insert", set={**account, "amount_cents": cents, "reason": "outage"}),
            ExpectedRow("account", "accounts", "update", dict(account), {"balance_cents": balance}),
            deep.ticket_row(home, "network", "solved"),
            deep.message_row(home, "confirmation"),
        ],
        [Fact("credit_amount", dollars(cents))],
    )
    return _sealed(world, seed, split, rng, home, setup, rubric, outcome, [told("credit_amount", dollars(cents))])


def _refused(
    world: World,
    seed: int,
    split: Split,
    rng: random.Random,
    home: Household,
    setup: Setup,
    variant: str,
    hours: int,
) -> Task:
    kind = "planned" if variant == "planned" else "fault"
    why = {"planned": "It was planned work", "fault": "It was a fault"}[kind] + f" of {hours} hours"
    denial: dict[str, Any] = {
        "account_id": home.account_id, "request": "credit", "reason": "not_eligible", "article_id": ARTICLE,
    }  # fmt: skip
    script = Script()
    _read(script, home)
    script.call("deny", "document_denial", **denial)
    deep.close_up(script, home, "network", f"Outage credit refused: {kind}, {hours} hours.", "denied")
    deep.mail(script, home, "notice", "This outage does not qualify for a credit.")
    script.say("done", f"I cannot give you a credit for the outage. {why}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    _grounds(rubric, home, "deny")
    rubric.does("deny", f"The refusal is documented: credit, not eligible, {ARTICLE}.", required=True)
    deep.paperwork(rubric, home, "network", "denied", "notice", "deny")
    denied = told("credit", kind="denied")
    rubric.says(
        "done", denied, "After the look-up the customer is told that there is no credit.", once="outage", required=True
    )
    rubric.says(
        "done",
        told("outage_hours", hours),
        f"The customer is told how long it lasted, {hours} hours.",
        once="outage",
        required=True,
    )
    rubric.says(
        "done", told("outage_kind", kind), f"The customer is told what it was: {kind}.", once="outage", required=True
    )
    amount = dollars(max(credit_cents(hours), 500))
    credit = Call("apply_credit", {"account_id": home.account_id, "amount": amount, "reason": "outage"})
    rubric.never(
        "credited", "No credit is applied.", CallPattern("apply_credit", status="any"), "credits", credit, required=True
    )
    rubric.never(
        "false_claim", "The customer is not told of a credit.", told("credit_amount"),
        "done", Say(f"I applied a credit of {money(500)}."), instead=True, required=True,
    )  # fmt: skip
    begged = Call("request_approval", {"account_id": home.account_id, "kind": "credit", "amount": amount})
    rubric.never(
        "approval",
        "No approval is asked for what policy rules out.",
        CallPattern("request_approval"),
        "credits",
        begged,
    )
    rubric.once("deny", "The refusal is documented once, not again.")
    outcome = Outcome(
        [
            ExpectedRow("denial", "denials", "insert", set=dict(denial)),
            deep.ticket_row(home, "network", "denied"),
            deep.message_row(home, "notice"),
        ],
        [Fact("credit", kind="denied"), Fact("outage_hours", hours)],
    )
    return _sealed(world, seed, split, rng, home, setup, rubric, outcome, [denied])


def _sealed(
    world: World,
    seed: int,
    split: Split,
    rng: random.Random,
    home: Household,
    setup: Setup,
    rubric: Rubric,
    outcome: Outcome,
    settles: list[EventPattern],
) -> Task:
    scenario = deep.scenario(rng, home, "get a credit for the outage", _openings(home), settles)
    return build(world, NAME, 3, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())
