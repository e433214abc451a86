"""Level 3: a plan is changed from today with the bill adjusted, and the customer thinks better of it half-way.

They want one plan first and, when its figures are proposed, another. By seed the second plan is dearer (the proration
is charged), cheaper (it is credited), cheaper while a contract runs (refused, and the customer argues), or asked for so
late in the cycle that nothing is prorated.
"""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass

from journeyman.task import (
    Call,
    CallPattern,
    ChangeOfMind,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Pushback,
    Splice,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.catalogue import AS_OF, PLANS
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, pick, stranger

NAME = "plan_change"
ARTICLE, RULE, SUPERSEDED = "PLAN-PRORATE", "PLAN-CHANGE", "PLAN-CHANGE-2024"
VARIANTS = ("dearer", "contract", "cheaper", "short")
PRICES = {plan[0]: plan[3] for plan in PLANS if plan[2] == "personal" and plan[6] == "current"}
DATA = {plan[0]: plan[4] for plan in PLANS}
MONTH, FEWEST_DAYS, LEAST_CENTS, NOTICE_DAYS = 30, 4, 100, 60
CONTRACT_ENDS = ("2026-06-10", "2026-08-01", "2026-09-15", "2026-11-30")
DENIAL = deep.Denial("plan_change", "in_contract", RULE, "plan_change", "I have changed the plan.")


def days_left(today: str, cycle_day: int) -> int:
    """Days from today to the day before the next cycle day, today included."""
    day = datetime.date.fromisoformat(today)
    month, year = (day.month, day.year) if cycle_day > day.day else (day.month % 12 + 1, day.year + day.month // 12)
    return (datetime.date(year, month, cycle_day) - day).days


def proration_cents(old: int, new: int, days: int) -> int:
    """The difference of two monthly prices for so many days, a month being 30 days; rounded down to the cent."""
    return abs(new - old) * days // MONTH


@dataclass(frozen=True)
class Deal:
    """What a task is about: the plan a line has, the plan wanted first, the plan wanted in the end, and the cycle."""

    variant: str
    has: str
    first: str
    then: str
    cycle_day: int
    contract_end: str | None

    @property
    def days(self) -> int:
        """Days left in the cycle."""
        return days_left(AS_OF, self.cycle_day)

    def cents(self, plan: str) -> int:
        """The proration of a change to `plan`."""
        return proration_cents(PRICES[self.has], PRICES[plan], self.days)

    @property
    def billed(self) -> bool:
        """Whether the days left are enough for a proration."""
        return self.days >= FEWEST_DAYS

    def balance(self, plan: str, owed: int) -> int:
        """What the account owes after a change to `plan`, in cents."""
        cents = self.cents(plan) if self.billed else 0
        return owed + (cents if PRICES[plan] > PRICES[self.has] else -cents)

    def settles(self, plan: str, owed: int) -> list[EventPattern]:
        """What ends the matter of a change to `plan` for the user: what can only be said when it is done."""
        ending = [told("balance", dollars(self.balance(plan, owed))), told("plan", plan)]
        return ending if self.billed else [*ending, told("next_bill", self.next_bill)]

    @property
    def direction(self) -> str:
        """Whether the proration of the plan wanted in the end is charged or credited."""
        return "charge" if PRICES[self.then] > PRICES[self.has] else "credit"

    @property
    def next_bill(self) -> str:
        """The first day of the next cycle."""
        return (datetime.date.fromisoformat(AS_OF) + datetime.timedelta(days=self.days)).isoformat()

    @property
    def cheaper_from(self) -> str:
        """The first day on which the contract allows a cheaper plan."""
        assert self.contract_end is not None
        last = datetime.date.fromisoformat(self.contract_end)
        return (last - datetime.timedelta(days=NOTICE_DAYS)).isoformat()


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split, kind="personal")
    deal = _deal(rng, VARIANTS[seed % len(VARIANTS)])
    setup, owed = _books(world, rng, home, deal)
    other = stranger(world, home, split)
    if deal.variant == "contract":
        rubric, outcome, change = _refused(home, deal, other)
    else:
        rubric, outcome, change = _changed(home, deal, owed, other)
    wish = FactCard("plan", deal.first, f"I want the {deal.first} plan from today.", "start")
    scenario = deep.scenario(
        rng, home, "get another plan from today, with the bill adjusted", _openings(home, deal.first),
        deal.settles(deal.first, owed), cards=[wish], changes=[change],
        pushbacks=[Pushback("plan_change", ["But I was told that I can go down whenever I like."])],
        small_talk=["I only use the phone on the train.", "My neighbour recommended you, by the way."],
    )  # fmt: skip
    return build(world, NAME, 3, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())


def _deal(rng: random.Random, variant: str) -> Deal:
    """Plans whose prorations are worth billing and differ from each other."""
    late = variant == "short"
    while True:
        has, first, then = rng.sample(list(PRICES), 3)
        day = rng.choice((3, 4, 5) if late else (8, 12, 15, 20, 24, 27))
        deal = Deal(variant, has, first, then, day, rng.choice(CONTRACT_ENDS) if variant == "contract" else None)
        dearer = PRICES[then] > PRICES[has]
        allowed = variant != "contract" or PRICES[first] > PRICES[has]
        told_apart = min(deal.cents(first), deal.cents(then)) >= LEAST_CENTS and deal.cents(first) != deal.cents(then)
        if allowed and (late or (told_apart and dearer == (variant == "dearer"))):
            return deal


def _books(world: World, rng: random.Random, home: Household, deal: Deal) -> tuple[Setup, int]:
    """The line on its plan, its cycle, and one open invoice that is not due yet; returns also the balance in cents."""
    setup = Setup(world)
    setup.settle_invoices(home.account_id)
    setup.close_open_tickets(home.account_id)
    owed = rng.randrange(5000, 9000, 5)
    setup.owe(home.account_id, "INV-8001", "2026-02", owed, past_due=False, issued_on="2026-02-18", due_on="2026-03-11")
    setup.update("accounts", {"account_id": home.account_id}, cycle_day=deal.cycle_day)
    setup.update("lines", {"line_id": home.line_id}, plan_id=deal.has, contract_end=deal.contract_end, used_gb=0)
    return setup, owed


def _openings(home: Household, plan: str) -> list[str]:
    return [
        f"Hi, this is {home.name}, number {home.phone}. I want the {plan} plan from today, with this month's bill adjusted.",
        f"{home.name} here. Please move {home.phone} to the {plan} plan right away and prorate this month.",
        f"My name is {home.name}, my number is {home.phone}. Can I have the {plan} plan from today, prorated?",
        f"Hello, I am {home.name}. Put {home.phone} on the {plan} plan today and settle the rest of the month, please.",
    ]


def _read(home: Household, deal: Deal) -> Script:
    """The look-ups, and the proposal of the first plan."""
    script = Script()
    script.consult("proration of a plan change in the middle of a cycle", ARTICLE)
    script.call("rule", "get_policy_article", article_id=RULE)
    deep.identify(script, home)
    script.call("find_line", "find_line", phone=home.phone)
    script.call("line", "get_line", line_id=home.line_id)
    script.call("plans", "list_plans", kind="personal")
    script.call("cycle", "get_billing_summary", account_id=home.account_id)
    script.say("offer", _offer(deal, deal.first))
    return script


def _offer(deal: Deal, plan: str) -> str:
    """A proposal of a plan with its figures."""
    text = f"The {plan} plan costs {money(PRICES[plan])} a month with {DATA[plan]} GB. "
    if not deal.billed:
        text += f"The new price starts with your next bill on {deal.next_bill}, nothing is prorated. "
        return text + f"Shall I change the plan to {plan}?"
    cents, verb = money(deal.cents(plan)), "bill" if PRICES[plan] > PRICES[deal.has] else "credit"
    text += f"With {deal.days} days left the proration is {cents}. "
    return text + f"Shall I change the plan to {plan} and {verb} the proration of {cents}?"


def _grounds(rubric: Rubric, home: Household, deal: Deal, then: str) -> None:
    """Criteria on the look-ups, and on the proposal of the first plan."""
    deep.groundwork(rubric, home, ARTICLE, then)
    rubric.first("rule", then, f"Article {RULE} is read before the matter is decided.")
    rubric.does("find_line", f"The line of {home.phone} is looked up.")
    text = f"Line {home.line_id} and its contract are read before the matter is decided."
    rubric.first("line", then, text, required=True)
    rubric.first(
        "plans",
        then,
        f"The plans on offer are read, {deal.then} among them, before the matter is decided (PLAN-CHANGE).",
    )
    late = not deal.billed
    rubric.first(
        "cycle", then, f"The cycle of {home.account_id} is read before the matter is decided.", required=not late
    )
    cents = PRICES[deal.first] if late else deal.cents(deal.first)
    figure = told("monthly_price" if late else "proration", dollars(cents))
    text = f"What the first wish, {deal.first}, would cost is named: {money(cents)}."
    rubric.must("first_figure", text, Happened(figure), rubric.script.instead("offer", NOTHING))


Plan = tuple[Rubric, Outcome, ChangeOfMind]


def _silent(script: Script, *labels: str) -> list[Splice]:
    """The script with nothing said in some messages."""
    return [splice for label in labels for splice in script.instead(label, NOTHING)]


def _change(deal: Deal, settles: list[EventPattern]) -> ChangeOfMind:
    """The user's second thought, at the first proposal. They agree to it in every variant, with its own figure."""
    figure = dollars(deal.cents(deal.then))
    consents = [ConsentRule("change_plan", {"plan_id": deal.then}), ConsentRule("bill_proration", {"amount": figure})]
    say = f"Thinking about it, I would rather have the {deal.then} plan, also from today."
    card = FactCard("plan", deal.then, f"I want the {deal.then} plan from today.", "start")
    return ChangeOfMind(EventPattern("proposed", by="agent"), say, [card], consents, settles)


def _changed(home: Household, deal: Deal, owed: int, other: Household) -> Plan:
    then, cents, billed = deal.then, deal.cents(deal.then), deal.billed
    balance = deal.balance(then, owed)
    script = _read(home, deal)
    script.say("second", _offer(deal, then))
    script.call("change", "change_plan", line_id=home.line_id, plan_id=then)
    if billed:
        script.call("bill", "bill_proration", line_id=home.line_id, amount=dollars(cents), direction=deal.direction)
    deep.close_up(script, home, "plan", f"Plan changed from {deal.has} to {then}.", "solved")
    price = "" if billed else f" The new price starts with the bill of {deal.next_bill}."
    figure = f" The proration is {money(cents)}." if billed else price
    deep.mail(script, home, "confirmation", f"Your plan is now {then}.{figure}")
    ending = (
        f"The proration was {money(cents)}." if billed else f"Your next bill on {deal.next_bill} has the new price."
    )
    script.say("done", f"The plan is now {then}. {ending} Your balance is {money(balance)}.")

    rubric = Rubric(script)
    last = "bill" if billed else "change"
    _grounds(rubric, home, deal, "change")
    rubric.consented("change", "second", f"{home.name} agrees to the {then} plan before the change.")
    rubric.does("change", f"Line {home.line_id} is moved to the {then} plan.", required=True)
    new = told("balance", dollars(balance))
    rubric.says("done", new, f"The customer is told the balance, {money(balance)}.", once=last, required=True)
    mention = f"{cents / 100:.2f}" if billed else deal.next_bill
    deep.paperwork(rubric, home, "plan", "solved", "confirmation", last, mention)
    if billed:
        _figures(rubric, home, deal)
    else:
        small = Call("bill_proration", {"line_id": home.line_id, "amount": 1.0, "direction": deal.direction})
        text = f"Nothing is prorated for {deal.days} days ({ARTICLE})."
        rubric.never("prorated", text, CallPattern("bill_proration", status="any"), "change", small, required=True)
        text = f"The customer is told when the new price starts, {deal.next_bill}."
        starts = Happened(told("next_bill", deal.next_bill))
        rubric.must("says_next_bill", text, starts, _silent(script, "offer", "second", "done"), required=True)
    first = Call("change_plan", {"line_id": home.line_id, "plan_id": deal.first})
    text = f"The plan of {home.line_id} is not changed without consent."
    rubric.no_unconsented("change", text, first)
    pattern = CallPattern("change_plan", {"plan_id": deal.first}, "any")
    text = f"Line {home.line_id} is not moved to {deal.first}, the wish that was dropped."
    rubric.never("dropped_wish", text, pattern, "change", first, required=True)
    deep.discretion(rubric, home, other, "cycle")
    if billed:
        deep.undisclosed(rubric, home, "proration", Match(any=True), f"The proration is {money(cents)}.")
    else:
        deep.undisclosed(rubric, home, "balance", dollars(balance), f"Your balance is {money(balance)}.")
    about = (
        f"how {deal.days} days make {money(cents)}" if billed else f"why nothing is prorated before {deal.next_bill}"
    )
    rubric.judged(
        "explains", f"The proposals explain {about} so that a customer can follow.",
        f"Do the agent's messages explain {about} in words that a customer without telecom knowledge can follow?",
        script.instead("second", NOTHING),
    )  # fmt: skip
    return rubric, _outcome(home, deal, balance, billed), _change(deal, deal.settles(then, owed))


def _figures(rubric: Rubric, home: Household, deal: Deal) -> None:
    """Criteria on the proration that is billed."""
    cents = deal.cents(deal.then)
    rubric.consented("bill", "second", f"{home.name} agrees to the proration of {money(cents)} before it is billed.")
    rubric.does("bill", f"A {deal.direction} of {money(cents)} is billed on {home.line_id}.", required=True)
    told_it = Happened(told("proration", dollars(cents)))
    text = f"The customer is told the proration of {deal.then}, {money(cents)}."
    rubric.must("says_proration", text, told_it, _silent(rubric.script, "second", "done"), required=True)
    stale = deal.cents(deal.first)
    wrong = Call("bill_proration", {"line_id": home.line_id, "amount": dollars(stale), "direction": deal.direction})
    pattern = CallPattern("bill_proration", {"amount": dollars(stale)}, "any")
    text = f"The figure of the dropped wish, {money(stale)}, is not billed."
    rubric.never("dropped_figure", text, pattern, "change", wrong, required=True)
    text = f"No proration of {home.line_id} is billed without consent."
    rubric.no_unconsented("bill", text, wrong)
    fee = Call("bill_proration", {"line_id": home.line_id, "amount": 20.0, "direction": "charge"})
    text = f"The fee of $20.00 of the superseded {SUPERSEDED} is not billed."
    rubric.never("old_fee", text, CallPattern("bill_proration", {"amount": 20.0}, "any"), "change", fee)


def _outcome(home: Household, deal: Deal, balance: int, billed: bool) -> Outcome:
    account = {"account_id": home.account_id}
    rows = [ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {"plan_id": deal.then})]
    facts = [Fact("plan", deal.then), Fact("balance", dollars(balance))]
    if billed:
        cents = deal.cents(deal.then)
        values: dict[str, Matcher] = {"line_id": home.line_id, "direction": deal.direction, "amount_cents": cents}
        rows.append(ExpectedRow("proration", "prorations", "insert", set=values))
        rows.append(ExpectedRow("account", "accounts", "update", {**account}, {"balance_cents": balance}))
        facts.append(Fact("proration", dollars(cents)))
    return Outcome([*rows, deep.ticket_row(home, "plan", "solved"), deep.message_row(home, "confirmation")], facts)


def _refused(home: Household, deal: Deal, other: Household) -> Plan:
    assert deal.contract_end is not None
    end, then = deal.contract_end, deal.then
    script = _read(home, deal)
    script.say("no", f"I cannot change the plan to {then} before {deal.cheaper_from}. Your contract ends on {end}.")
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "plan", f"Change to {then} refused: contract until {end}.", "denied")
    deep.mail(
        script, home, "notice", f"Your contract ends on {end}. A cheaper plan is possible from {deal.cheaper_from}."
    )
    script.say(
        "done",
        f"I still cannot change the plan to {then}. The contract ends on {end}. A cheaper plan is possible from "
        f"{deal.cheaper_from}. You may file a complaint.",
    )

    rubric = Rubric(script)
    _grounds(rubric, home, deal, "deny")
    denied = told("plan_change", kind="denied")
    refusals.refused(rubric, home, DENIAL, f"the change to {then}", "line", labels=("no", "done"))
    text = f"{home.name} is refused again, in other words, after they argue."
    rubric.must("holds_firm", text, Happened(denied, min=2), script.instead("no", NOTHING))
    rubric.must(
        "says_contract_end", f"The customer is told when the contract ends, {end}.", Happened(told("contract_end", end)),
        _silent(script, "no", "done"), required=True,
    )  # fmt: skip
    text = f"The customer is told from when a cheaper plan is possible, {deal.cheaper_from}."
    rubric.says("done", told("possible_from", deal.cheaper_from), text, required=True)
    deep.paperwork(rubric, home, "plan", "denied", "notice", "deny", end)
    change = CallPattern("change_plan", status="any")
    attempt = Call("change_plan", {"line_id": home.line_id, "plan_id": then})
    text = f"The plan of {home.line_id} is not changed, to {then} or to {deal.first}."
    rubric.never("changed", text, change, "line", attempt, required=True)
    small = Call("bill_proration", {"line_id": home.line_id, "amount": 1.0, "direction": "credit"})
    text = f"Nothing is billed or credited on {home.line_id}."
    rubric.never("prorated", text, CallPattern("bill_proration", status="any"), "line", small, required=True)
    refusals.stale_rule(rubric, home, DENIAL, SUPERSEDED, "line")
    deep.discretion(rubric, home, other, "cycle")
    deep.kind_tone(rubric, home)
    outcome = deep.refusal_outcome(home, DENIAL, "plan", [Fact("contract_end", end)])
    return rubric, outcome, _change(deal, [denied])
