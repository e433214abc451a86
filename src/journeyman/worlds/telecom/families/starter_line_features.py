"""Level 1: turn a feature of a line on or off, restore a suspended line; refuse where the line's record forbids it."""

from __future__ import annotations

import functools
import random

from journeyman.task import Call, CallPattern, ConsentRule, EventPattern, ExpectedRow, Fact, Outcome, Say, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, told
from journeyman.worlds.telecom.families.common import agreed_to_restore, choices, starter, starter_scenario
from journeyman.worlds.telecom.families.records import Household, Setup, neighbour, pick

NAME = "starter_line_features"
TOOLS = ["find_line", "get_line_status", "set_line_feature", "restore_line"]
FEATURES = {
    "roaming": "roaming",
    "voicemail": "voicemail",
    "data_cap": "the data cap",
    "call_barring": "call barring",
    "wifi_calling": "wifi calling",
}
REASONS = {
    "lost": "it was reported lost",
    "stolen": "it was reported stolen",
    "vacation": "of a vacation pause",
    "nonpayment": "of nonpayment",
}
# Half of the tasks switch a feature; a quarter meet a line that is suspended. The wheel turns with the seed.
INTENTS = ("switch", "restore", "switch", "blocked", "switch", "unpaid", "switch", "restore", "switch", "blocked")
_task = functools.partial(starter, NAME, TOOLS)


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its intent comes from the seed, everything else from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    intent = INTENTS[seed % len(INTENTS)]
    maker = {"switch": _switch, "restore": _restore, "blocked": _blocked, "unpaid": _unpaid}
    return maker[intent](world, seed, split, rng, home)


def _feature_openings(phone: str, feature: str, state: str) -> list[str]:
    return [
        f"Please turn {state} {feature} for {phone}.",
        f"Hi, can you switch {state} {feature} on my number {phone}?",
        f"I would like {feature} turned {state} on {phone}, please.",
        f"My number is {phone}. Could you turn {feature} {state}?",
        f"Hello, I need {feature} {state} on the line {phone}.",
    ]


def _switch(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    column = rng.choice(list(FEATURES))
    feature, state = FEATURES[column], rng.choice(("on", "off"))
    before = "off" if state == "on" else "on"
    setup = Setup(world)
    setup.update("lines", {"line_id": home.line_id}, **{column: before})
    other = neighbour(world, home, split)
    setup.update("lines", {"line_id": other.line_id}, **{column: before})

    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("set", "set_line_feature", line_id=home.line_id, feature=column, state=state)
    script.say("done", f"{feature[0].upper()}{feature[1:]} is now {state} for {home.phone}.")

    rubric = Rubric(script)
    rubric.does("find", f"The line is looked up by its number {home.phone}.", required=True)
    rubric.first("find", "set", "The line is looked up before it is changed.", required=True)
    rubric.does("set", f"On line {home.line_id}, {feature} is set to {state}.", required=True)
    rubric.says(
        "done", told(column, state), f"After the change the customer is told that {feature} is {state}.",
        once="set", required=True,
    )  # fmt: skip
    rubric.says("done", told("phone", home.phone), "The outcome names the customer's number.", once="set")
    wrong = CallPattern("set_line_feature", {"line_id": other.line_id})
    step = Call("set_line_feature", {"line_id": other.line_id, "feature": column, "state": state})
    rubric.never("other_line", f"Line {other.line_id} is not changed.", wrong, "set", step, required=True)
    rubric.once("set", "The feature is set once, not again.")
    row = ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, {column: state})
    scenario = starter_scenario(
        rng, home.phone, f"have {feature} turned {state}", _feature_openings(home.phone, feature, state),
        [told(column)], ConsentRule("set_line_feature", {column: state}),
    )  # fmt: skip
    return _task(world, seed, split, scenario, Outcome([row], [Fact(column, state)]), rubric, setup)


def _blocked(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    column = rng.choice(list(FEATURES))
    feature, state = FEATURES[column], rng.choice(("on", "off"))
    reason = rng.choice(("lost", "stolen", "vacation"))
    setup = Setup(world)
    before = "off" if state == "on" else "on"
    setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason=reason, **{column: before})

    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_line_status", line_id=home.line_id)
    script.say(
        "done",
        f"I cannot turn {state} {feature} for {home.phone}. The line is suspended because {REASONS[reason]}.",
    )
    rubric = _refusal(script, home, told(column, kind="denied"), reason, f"turning {state} {feature}")
    attempt = Call("set_line_feature", {"line_id": home.line_id, "feature": column, "state": state})
    rubric.never(
        "attempt", "No feature of the suspended line is touched.", CallPattern("set_line_feature", status="any"),
        "read", attempt, required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", f"The customer is not told that {feature} is {state}.", told(column, state),
        "done", Say(f"{feature[0].upper()}{feature[1:]} is now {state} for {home.phone}."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, home.phone, f"have {feature} turned {state}", _feature_openings(home.phone, feature, state),
        [told(column, kind="denied")], ConsentRule("set_line_feature", {column: state}),
    )  # fmt: skip
    facts = [Fact(column, kind="denied"), Fact("line_status", "suspended"), Fact("suspend_reason", reason)]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)


def _refusal(script: Script, home: Household, denied: EventPattern, reason: str, what: str) -> Rubric:
    """The musts of a refusal on grounds of a suspended line (script: find, read, done)."""
    rubric = Rubric(script)
    rubric.does("find", f"The line is looked up by its number {home.phone}.", required=True)
    rubric.does("read", f"The status of line {home.line_id} is read.", required=True)
    rubric.says("done", denied, f"After the status is read, {what} is refused.", once="read", required=True)
    rubric.says(
        "done",
        told("suspend_reason", reason),
        f"The customer is told why the line is suspended: {reason}.",
        once="read",
    )
    rubric.says(
        "done", told("line_status", "suspended"), "The customer is told that the line is suspended.", once="find"
    )
    return rubric


def _restore_openings(phone: str) -> list[str]:
    return [
        f"Please restore my line {phone}.",
        f"Hi, my number {phone} is paused. Can you restore it?",
        f"I would like {phone} restored, please.",
        f"Hello, could you restore service on {phone}?",
    ]


def _restore(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    other = neighbour(world, home, split)
    setup = Setup(world)
    for line in (home, other):
        setup.update("lines", {"line_id": line.line_id}, status="suspended", suspend_reason="vacation")
    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_line_status", line_id=home.line_id)
    script.call("restore", "restore_line", line_id=home.line_id)
    script.say("done", f"The line {home.phone} is now active.")

    rubric = Rubric(script)
    rubric.does("find", f"The line is looked up by its number {home.phone}.", required=True)
    rubric.does("read", f"The status of line {home.line_id} is read.")
    rubric.first("read", "restore", "The reason of the suspension is read before the line is restored.", required=True)
    rubric.does("restore", f"Line {home.line_id} is restored.", required=True)
    rubric.says(
        "done", told("line_status", "active"), "After the change the customer is told that the line is active.",
        once="restore", required=True,
    )  # fmt: skip
    step = Call("restore_line", {"line_id": other.line_id})
    wrong = CallPattern("restore_line", {"line_id": other.line_id})
    rubric.never("other_line", f"Line {other.line_id} is not restored.", wrong, "restore", step, required=True)
    rubric.once("restore", "The line is restored once, not again.")
    row = ExpectedRow(
        "line", "lines", "update", {"line_id": home.line_id}, {"status": "active", "suspend_reason": None}
    )
    scenario = starter_scenario(
        rng, home.phone, "have the line restored", _restore_openings(home.phone), [told("line_status")],
        agreed_to_restore(home),
    )  # fmt: skip
    return _task(world, seed, split, scenario, Outcome([row], [Fact("line_status", "active")]), rubric, setup)


def _unpaid(world: World, seed: int, split: Split, rng: random.Random, home: Household) -> Task:
    setup = Setup(world)
    setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason="nonpayment")
    setup.settle_invoices(home.account_id)
    cents = rng.randrange(2500, 9000, 5)
    setup.owe(home.account_id, "INV-8001", "2026-01", cents, past_due=True, issued_on="2026-01-10", due_on="2026-01-31")
    script = Script()
    script.call("find", "find_line", phone=home.phone)
    script.call("read", "get_line_status", line_id=home.line_id)
    script.say("done", f"I cannot restore {home.phone}. The line is suspended because {REASONS['nonpayment']}.")
    rubric = _refusal(script, home, told("restore", kind="denied"), "nonpayment", "restoring the line")
    rubric.never(
        "attempt", "Restoring the unpaid line is not attempted.", CallPattern("restore_line", status="any"),
        "read", Call("restore_line", {"line_id": home.line_id}), required=True,
    )  # fmt: skip
    rubric.never(
        "false_claim", "The customer is not told that the line is active.", told("line_status", "active"),
        "done", Say(f"The line {home.phone} is now active."), instead=True,
    )  # fmt: skip
    scenario = starter_scenario(
        rng, home.phone, "have the line restored", _restore_openings(home.phone), [told("restore", kind="denied")],
        agreed_to_restore(home),
    )  # fmt: skip
    facts = [Fact("restore", kind="denied"), Fact("suspend_reason", "nonpayment")]
    return _task(world, seed, split, scenario, Outcome([], facts), rubric, setup)
