"""Level 1, never trained on: tell the plan of a line, or change it; refuse where the record forbids it."""

from __future__ import annotations

import functools
import random

from journeyman.task import Call, CallPattern, ConsentRule, ExpectedRow, Fact, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.families.common import choices, starter, starter_scenario
from journeyman.worlds.telecom.families.records import Household, Setup, neighbour, pick

NAME = "starter_plan"
TOOLS = ["find_line", "get_plan", "list_plans", "change_plan"]
PLANS = ("lite", "core", "plus", "max")
INTENTS = ("change", "tell", "change", "suspended", "change", "same")
_task = functools.partial(starter, NAME, TOOLS)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its intent comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split, kind="personal")
    maker = {"tell": _tell, "change": _change, "suspended": _suspended, "same": _same}
    return maker[INTENTS[seed % len(INTENTS)]](world, seed, split, rng, home)


def _price(world: World, plan_id: str) -> int:
    """Monthly price of a plan in cents."""
    price = world.query("base", "SELECT monthly_cents FROM plans WHERE plan_id = ?", (plan_id,))[0]["monthly_cents"]
    assert isinstance(price, int)
    return price


def _start(rng: random.Random, setup: Setup, home: Household) -> tuple[str, str]:
    """Put the line on a current plan; returns (plan it has, another plan)."""
    has, wanted = rng.sample(PLANS, 2)
    setup.update("lines", {"line_id": home.line_id}, plan_id=has, contract_end=None, used_gb=0)
    return has, wanted


def _read(script: Script, home: Household) -> Rubric:
    rubric = Rubric(script)
    rubric.does("find", f"The line is looked up by its number {home.phone}.", required=True)
    rubric.does("read", f"The plan of line {home.line_id} is read.", required=True)
    return rubric


def _change_openings(phone: str, plan: str) -> list[str]:
    return [
        f"Please move {phone} to the {plan} plan.",
        f"Hi, can you change my plan to {plan}? My number is {phone}.",
        f"I would like the {plan} plan on {phone}, please.",
        f"My number is {phone}. Please change the plan to {plan}.",
    ]


def _tell(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    has, other = _start(rng, setup, home)
    price = _price(world, has)
    phone = home.phone
    openings = [
        f"Which plan do I have on {phone}, and what does it cost a month?",
        f"Hi, please tell me the plan and monthly price of {phone}.",
        f"My number is {phone}. What plan is it on and at what price?",
        f"I want to know the plan of {phone} and its monthly price.",
    ]
    script = Script()
    script.call("find", "find_line", phone=phone)
    script.call("read", "get_plan", line_id=home.line_id)
    script.say("done", f"The plan of {phone} is {has}. The monthly price is {money(price)}.")
    rubric = _read(script, home)
    rubric.first("find", "read", "The line is looked up before its plan is read.")
    rubric.says("done", told("plan", has), f"The customer is told the plan, {has}.", once="read", required=True)
    rubric.says(
        "done",
        told("monthly_price", dollars(price)),
        f"The customer is told the price, {money(price)}.",
        once="read",
        required=True,
    )
    step = Call("change_plan", {"line_id": home.line_id, "plan_id": other})
    rubric.never("unasked_change", "The plan is not changed.", CallPattern("change_plan"), "read", step, required=True)
    wrong = Say(f"The plan of {phone} is {other}. The monthly price is {money(price)}.")
    rubric.never("wrong_plan", f"The plan is not given as {other}.", told("plan", other), "done", wrong, instead=True)
    scenario = starter_scenario(
        rng, phone, "learn the plan and its price", openings, [told("plan"), told("monthly_price")]
    )
    facts = [Fact("plan", has), Fact("monthly_price", dollars(price))]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _change(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    has, wanted = _start(rng, setup, home)
    other = neighbour(world, home, split)
    setup.update("lines", {"line_id": other.line_id}, plan_id=has)
    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_plan", line_id=home.line_id)
    script.call("change", "change_plan", line_id=home.line_id, plan_id=wanted)
    script.say("done", f"The plan of {home.phone} is now {wanted}.")
    rubric = _read(script, home)
    rubric.first("read", "change", "The plan is read before it is changed.")
    rubric.does("change", f"Line {home.line_id} is moved to the {wanted} plan.", required=True)
    rubric.says(
        "done",
        told("plan", wanted),
        f"After the change the customer is told the new plan, {wanted}.",
        once="change",
        required=True,
    )
    rubric.says("done", told("phone", home.phone), "The outcome names the customer's number.", once="change")
    step = Call("change_plan", {"line_id": other.line_id, "plan_id": wanted})
    pattern = CallPattern("change_plan", {"line_id": other.line_id})
    rubric.never("other_line", f"Line {other.line_id} is not changed.", pattern, "change", step, required=True)
    rubric.once("change", "The plan is changed once, not again.")
    row = ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {"plan_id": wanted})
    scenario = starter_scenario(
        rng, home.phone, f"move to the {wanted} plan", _change_openings(home.phone, wanted), [told("plan")],
        ConsentRule("change_plan", {"plan_id": wanted}),
    )  # fmt: skip
    return _task(world, seed, split, scenario, Outcome([row], [Fact("plan", wanted)]), rubric, setup)


def _suspended(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    has, wanted = _start(rng, setup, home)
    setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason=rng.choice(("lost", "stolen")))
    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_plan", line_id=home.line_id)
    script.say("done", f"I cannot change the plan of {home.phone}. The line is suspended. The plan is still {has}.")
    rubric = _read(script, home)
    rubric.says(
        "done",
        told("plan_change", kind="denied"),
        "After the look-up the change is refused.",
        once="find",
        required=True,
    )
    rubric.says(
        "done",
        told("line_status", "suspended"),
        "The customer is told that the line is suspended.",
        once="find",
        required=True,
    )
    rubric.says("done", told("plan", has), f"The customer is told the plan that stays, {has}.", once="read")
    attempt = Call("change_plan", {"line_id": home.line_id, "plan_id": wanted})
    rubric.never(
        "attempt", "No change of the suspended line is attempted.", CallPattern("change_plan", status="any"),
        "read", attempt, required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", f"The customer is not told that the plan is {wanted}.", told("plan", wanted),
        "done", Say(f"The plan of {home.phone} is now {wanted}."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, home.phone, f"move to the {wanted} plan", _change_openings(home.phone, wanted),
        [told("plan_change", kind="denied")], ConsentRule("change_plan", {"plan_id": wanted}),
    )  # fmt: skip
    facts = [Fact("plan_change", kind="denied"), Fact("line_status", "suspended"), Fact("plan", has)]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _same(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    has, other = _start(rng, setup, home)
    price = _price(world, has)
    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_plan", line_id=home.line_id)
    script.say("done", f"The plan of {home.phone} is already {has}. The monthly price is {money(price)}.")
    rubric = _read(script, home)
    rubric.first("find", "read", "The line is looked up before its plan is read.")
    rubric.says(
        "done", told("plan", has), f"The customer is told that the plan is {has} already.", once="read", required=True
    )
    rubric.says(
        "done",
        told("monthly_price", dollars(price)),
        f"The customer is told its price, {money(price)}.",
        once="read",
        required=True,
    )
    rubric.never(
        "attempt", "No change to the plan the line has already is attempted.", CallPattern("change_plan", status="any"),
        "read", Call("change_plan", {"line_id": home.line_id, "plan_id": has}), required=True,
    )  # fmt: skip
    wrong = Say(f"The plan of {home.phone} is now {other}. The monthly price is {money(price)}.")
    rubric.never("wrong_plan", f"The plan is not given as {other}.", told("plan", other), "done", wrong, instead=True)
    scenario = starter_scenario(
        rng, home.phone, f"move to the {has} plan", _change_openings(home.phone, has), [told("plan")],
        ConsentRule("change_plan", {"plan_id": has}),
    )  # fmt: skip
    facts = [Fact("plan", has), Fact("monthly_price", dollars(price))]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)
