"""Level 3: a customer wants a credit for an outage. Long faults earn one, planned work and short faults do not.

What happened is read from the network's records of the customer's city; what it is worth from the policy.
"""

from __future__ import annotations

from journeyman.task import Call, CallPattern, EventPattern, ExpectedRow, Fact, Outcome, Split, Task
from journeyman.world import World, refusals
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "outage_credit"
ARTICLE, SUPERSEDED = "OUT-CREDIT", "OUT-CREDIT-2024"
OUTAGE = "OUT-8001"
VARIANTS = ("long", "short", "long", "planned")
DENIAL = deep.Denial("credit", "not_eligible", ARTICLE, "credit", "I have credited your account.")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    hours = rng.randint(5, 22) if variant == "short" else rng.randint(26, 90)
    kind = "planned" if variant == "planned" else "fault"
    setup, other = _network(world, home, kind, hours), stranger(world, home, split)
    if variant == "long":
        rubric, outcome, settles = _granted(home, setup, hours, other)
    else:
        rubric, outcome, settles = _refused(home, kind, hours, other)
    scenario = deep.scenario(rng, home, "get a credit for the outage", _openings(home), settles)
    return build(world, NAME, 3, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def _network(world: World, home: Household, kind: str, hours: int) -> Setup:
    """One outage in the customer's city, OUT-8001, in place of those on record; no outage credit in this year."""
    setup = Setup(world)
    setup.settle_invoices(home.account_id)
    setup.close_open_tickets(home.account_id)
    cells = world.query("base", "SELECT cell_id FROM cells WHERE city = ? ORDER BY cell_id", (home.city,))
    setup.delete_all("outages", "cell_id IN (SELECT cell_id FROM cells WHERE city = ?)", (home.city,))
    setup.insert(
        "outages", {"outage_id": OUTAGE}, cell_id=cells[0]["cell_id"], kind=kind, hours=hours,
        started_at="2026-02-24T06:00:00", status="resolved",
    )  # fmt: skip
    earlier = "account_id = ? AND reason = 'outage'"
    setup.update_all("credits", earlier, (home.account_id,), applied_at="2024-03-06T10:00:00")
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


def _read(home: Household) -> Script:
    script = Script()
    script.consult("credit for a network outage", ARTICLE)
    deep.identify(script, home)
    script.call("customer", "get_customer", or_tools=("get_customer_profile_v2",), customer_id=home.customer_id)
    script.call("outage", "check_outage", city=home.city)
    script.call("credits", "list_credits", account_id=home.account_id)
    return script


def _grounds(rubric: Rubric, home: Household, then: str) -> None:
    """Criteria on the look-ups that decide the matter."""
    rubric.first("customer", "outage", f"The city of {home.customer_id} is read before its outages.")
    rubric.first("outage", then, f"Outages in {home.city} are read before the matter is decided.", required=True)
    text = f"Earlier credits of {home.account_id} are looked up before the matter is decided."
    rubric.first("credits", then, text, required=True)


Plan = tuple[Rubric, Outcome, list[EventPattern]]


def _granted(home: Household, setup: Setup, hours: int, other: Household) -> Plan:
    cents = credit_cents(hours)
    balance = setup.row("accounts", account_id=home.account_id)["balance_cents"] - cents
    script = _read(home)
    script.call("credit", "apply_credit", account_id=home.account_id, amount=dollars(cents), reason="outage")
    deep.close_up(script, home, "network", f"Outage of {hours} hours credited.", "solved")
    deep.mail(script, home, "confirmation", f"You received a credit of {money(cents)} for the outage.")
    script.say("done", f"The outage lasted {hours} hours. I applied a credit of {money(cents)}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "credit")
    _grounds(rubric, home, "credit")
    rubric.does("credit", f"{money(cents)} is credited for the outage.", required=True)
    deep.paperwork(rubric, home, "network", "solved", "confirmation", "credit", f"{cents / 100:.2f}")
    credited = told("credit_amount", dollars(cents))
    text = f"The customer is told the credit, {money(cents)}."
    rubric.says("done", credited, text, once="credit", required=True)
    text = f"The customer is told how long the outage was, {hours} hours."
    rubric.says("done", told("outage_hours", hours), text, once="outage")
    rubric.once("credit", f"The credit of {money(cents)} is applied once, not again.")
    extra = Call("apply_credit", {"account_id": home.account_id, "amount": 1.0, "reason": "goodwill"})
    pattern = CallPattern("apply_credit", {"reason": "goodwill"})
    rubric.never("goodwill", f"No goodwill is added on {home.account_id}.", pattern, "credit", extra, required=True)
    refusals.not_refused(rubric, home, DENIAL, "credits", "I cannot give you a credit for the outage.")
    deep.discretion(rubric, home, other, "credits")
    deep.explained(rubric, f"how {hours} hours make a credit of {money(cents)}")
    account = {"account_id": home.account_id}
    outcome = Outcome(
        [
            ExpectedRow("credit", "credits", "insert", set={**account, "amount_cents": cents, "reason": "outage"}),
            ExpectedRow("account", "accounts", "update", {**account}, {"balance_cents": balance}),
            deep.ticket_row(home, "network", "solved"),
            deep.message_row(home, "confirmation"),
        ],
        [Fact("credit_amount", dollars(cents))],
    )
    return rubric, outcome, [credited]


def _refused(home: Household, kind: str, hours: int, other: Household) -> Plan:
    why = {"planned": "It was planned work", "fault": "It was a fault"}[kind] + f" of {hours} hours"
    script = _read(home)
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "network", f"Outage credit refused: {kind}, {hours} hours.", "denied")
    deep.mail(script, home, "notice", f"{why}. It does not qualify for a credit.")
    script.say("done", f"I cannot give you a credit for the outage. {why}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny")
    _grounds(rubric, home, "deny")
    refusals.refused(rubric, home, DENIAL, "the credit", "outage")
    deep.paperwork(rubric, home, "network", "denied", "notice", "deny", str(hours))
    length, nature = told("outage_hours", hours), told("outage_kind", kind)
    text = f"The customer is told how long it lasted, {hours} hours."
    rubric.says("done", length, text, once="outage", required=True)
    rubric.says("done", nature, f"The customer is told what {OUTAGE} was: {kind}.", once="outage", required=True)
    cents = max(credit_cents(hours), 500)
    credit = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(cents), "reason": "outage"})
    pattern = CallPattern("apply_credit", status="any")
    rubric.never("credited", f"No credit is applied to {home.account_id}.", pattern, "credits", credit, required=True)
    begged = Call("request_approval", {"account_id": home.account_id, "kind": "credit", "amount": dollars(cents)})
    text = "No approval is asked for what policy rules out (APR-LIMITS)."
    rubric.never("approval", text, CallPattern("request_approval"), "credits", begged)
    refusals.stale_rule(rubric, home, DENIAL, SUPERSEDED, "credits")
    deep.discretion(rubric, home, other, "credits")
    deep.kind_tone(rubric, home)
    outcome = deep.refusal_outcome(home, DENIAL, "network", [Fact("outage_hours", hours)])
    return rubric, outcome, [told("credit", kind="denied")]
