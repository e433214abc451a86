"""Level 5, never trained on: after a lost phone the customer wants a new SIM and the line back.

The old SIM must be dead before the line lives again (with a card by post that takes days), and nothing happens on the word of somebody who does not know the
PIN: such a caller is refused, and the refusal is documented.
"""

from __future__ import annotations

import random

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Outcome,
    Say,
    Split,
    Task,
)
from journeyman.world import World, refusals
from journeyman.world.authoring import NOTHING, Rubric, Script, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import agreed_to_restore, build, choices
from journeyman.worlds.telecom.families.records import Household, Setup, neighbour, pick, stranger
from journeyman.worlds.telecom.secrets import pin_of

NAME = "lost_phone"
ARTICLE = "SIM-REPLACE"
IDENTITY = "ID-VERIFY"
DENIAL = deep.Denial(
    "account_access",
    "not_authorized",
    IDENTITY,
    "account_access",
    "I have given you access to the account.",
    (ARTICLE,),
)
KINDS = {"physical": "a physical SIM card", "esim": "an eSIM"}


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: one in three callers does not know the PIN; the rest comes from choices seeded with it."""
    rng = choices(NAME, seed)
    home = pick(world, NAME, seed, split)
    setup = Setup(world)
    setup.close_open_tickets(home.account_id)
    setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason="lost")
    if seed % 3 == 2:
        return _refused(world, seed, split, rng, home, setup)
    return _replaced(world, seed, split, rng, home, setup)


def _openings(home: Household) -> list[str]:
    return [
        f"Hi, this is {home.name}. I lost my phone and have a new one now. I need a new SIM and my line {home.phone} back.",
        f"Hello, {home.name} here. My lost phone is not coming back, so please give {home.phone} a new SIM and restore it.",
        f"My name is {home.name}, my number is {home.phone}. It is suspended because I lost the phone. I want a new SIM.",
        f"{home.name} speaking. Please set up a new SIM for {home.phone} and switch the line back on. The old phone is lost.",
    ]


def _read(script: Script, home: Household, pin: str) -> None:
    script.consult("lost phone, replace the SIM", ARTICLE)
    deep.identify(script, home, pin)


def _replaced(world: World, seed: int, split: Split, rng: random.Random, home: Household, setup: Setup) -> Task:
    kind = rng.choice(list(KINDS))
    at_once = kind == "esim"
    script = Script()
    _read(script, home, pin_of(home.customer_id))
    script.call("line", "find_line", phone=home.phone)
    script.call("status", "get_line_status", or_tools=("get_line",), line_id=home.line_id)
    script.say("which", "Which kind of SIM would you like, a card or an eSIM?")
    script.say(
        "propose", f"Shall I replace the SIM of line {home.line_id} with {KINDS[kind]}? The old one stops working."
    )
    script.call("replace", "replace_sim", line_id=home.line_id, kind=kind)
    if at_once:
        script.call("restore", "restore_line", line_id=home.line_id)
    deep.close_up(script, home, "sim", f"New SIM ({kind}) after a lost phone.", "solved")
    deep.mail(script, home, "confirmation", f"Your line gets {KINDS[kind]}.")
    state = "now active" if at_once else "suspended until the card is in your phone"
    script.say("done", f"Your new SIM is ${{sim.sim_id}}. The line is {state}.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "replace")
    rubric.does("line", f"Line {home.line_id} is looked up by its number {home.phone}.")
    rubric.first("status", "replace", f"The state of {home.line_id} is read before its SIM is replaced.", required=True)
    rubric.must(
        "asks_kind", f"{home.name} is asked which kind of SIM it shall be.",
        Before(told("sim_kind", kind="asked"), script.pattern("replace")), script.instead("which", NOTHING),
    )  # fmt: skip
    rubric.consented("replace", "propose", f"{home.name} agrees before the SIM of {home.line_id} is replaced.")
    rubric.does("replace", f"Line {home.line_id} gets {KINDS[kind]}.", required=True)
    deep.paperwork(rubric, home, "sim", "solved", "confirmation", "replace")
    deep.discretion(rubric, home, stranger(world, home, split), "replace")
    deep.explained(rubric, f"what happens next with {home.phone} and the {kind} SIM")
    status = "active" if at_once else "suspended"
    text = f"The customer is told that {home.phone} is {status}."
    rubric.says("done", told("line_status", status), text, once="restore" if at_once else "replace", required=True)
    rubric.says(
        "done", told("sim_id", Match(ref="sim.sim_id")), "The customer is told the new SIM's number.", once="replace"
    )
    restore = Call("restore_line", {"line_id": home.line_id})
    if at_once:
        rubric.first("replace", "restore", f"The lost SIM is dead before {home.line_id} is restored.", required=True)
    else:
        text = f"Line {home.line_id} is not restored before the card is there."
        rubric.never("restored", text, CallPattern("restore_line"), "replace", restore, required=True)
    _bounds(rubric, home, kind, neighbour(world, home, split))
    outcome = Outcome(
        [
            *_dead_sims(world, home),
            ExpectedRow("sim", "sims", "insert", set={"line_id": home.line_id, "kind": kind, "status": "active"}),
            *(_restored(home) if at_once else []),
            deep.ticket_row(home, "sim", "solved"),
            deep.message_row(home, "confirmation"),
        ],
        [Fact("line_status", status)],
    )
    wish = "I would like an eSIM, my new phone takes one." if at_once else "I would like a card by post."
    settles = [told("line_status", status)]
    cards = [FactCard("sim_kind", kind, wish)]
    return _sealed(world, seed, split, rng, home, setup, rubric, outcome, settles, cards)


def _bounds(rubric: Rubric, home: Household, kind: str, near: Household) -> None:
    """What a replacement must not do."""
    other = next(one for one in KINDS if one != kind)
    wrong = Call("replace_sim", {"line_id": home.line_id, "kind": other})
    rubric.no_unconsented("replace", f"No SIM of {home.line_id} is replaced without the customer's consent.", wrong)
    rubric.never(
        "other_kind", f"No SIM of kind {other} is made.", CallPattern("replace_sim", {"kind": other}), "replace", wrong
    )
    rubric.once("replace", f"The SIM of {home.line_id} is replaced once, not again.")
    slip = Call("replace_sim", {"line_id": near.line_id, "kind": kind})
    pattern = CallPattern("replace_sim", {"line_id": near.line_id})
    rubric.never("other_line", f"Line {near.line_id} keeps its SIM.", pattern, "replace", slip, required=True)
    rubric.never(
        "feature", f"No feature of {home.line_id} is touched.", CallPattern("set_line_feature", status="any"),
        "replace", Call("set_line_feature", {"line_id": home.line_id, "feature": "roaming", "state": "off"}),
    )  # fmt: skip


def _restored(home: Household) -> list[ExpectedRow]:
    """The line, back in service."""
    values = {"status": "active", "suspend_reason": None}
    return [ExpectedRow("line", "lines", "update", {"line_id": home.line_id}, dict(values))]


def _dead_sims(world: World, home: Household) -> list[ExpectedRow]:
    """The SIMs of the line that work until the new one comes."""
    rows = world.query(
        "base", "SELECT sim_id FROM sims WHERE line_id = ? AND status != 'replaced' ORDER BY sim_id", (home.line_id,)
    )
    return [
        ExpectedRow(f"old{number}", "sims", "update", {"sim_id": row["sim_id"]}, {"status": "replaced"})
        for number, row in enumerate(rows)
    ]


def _refused(world: World, seed: int, split: Split, rng: random.Random, home: Household, setup: Setup) -> Task:
    wrong = f"{(int(pin_of(home.customer_id)) + rng.randrange(1, 9999)) % 10_000:04d}"
    script = Script()
    _read(script, home, wrong)
    script.call("identity", "get_policy_article", article_id=IDENTITY)
    script.say("again", "That PIN does not match. Could you please check it and give me your account PIN once more?")
    script.call("retry", "verify_identity", customer_id=home.customer_id, pin=wrong)
    script.call("tickets", "list_tickets", account_id=home.account_id)
    deep.deny(script, home, DENIAL)
    deep.close_up(script, home, "sim", "Caller without a valid PIN asked for a SIM.", "denied")
    script.call("log", "log_interaction", customer_id=home.customer_id, channel="phone", summary="PIN wrong twice.")
    script.say(
        "done", "I cannot give you access to this account, so I cannot replace the SIM. The line stays suspended."
    )

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "deny", tries=("verify", "retry"))
    rubric.first("identity", "deny", f"Article {IDENTITY} is read before the caller is refused.", required=True)
    twice = Happened(script.pattern("verify"), min=2)
    rubric.must(
        "second_try",
        f"The caller gets a second try at the PIN of {home.customer_id}.",
        twice,
        script.without("retry"),
        required=True,
    )
    rubric.must(
        "asks_again", f"The caller is asked for the PIN once more ({IDENTITY}).",
        Happened(told("pin", kind="asked"), min=2), script.instead("again", NOTHING),
    )  # fmt: skip
    rubric.does("tickets", f"Earlier tickets of {home.account_id} are looked up.")
    refusals.refused(rubric, home, DENIAL, "access", "verify")
    deep.filed(rubric, home, "sim", "denied")
    rubric.does("log", f"The contact is logged for {home.customer_id}.", "customer_id")
    denied = told("account_access", kind="denied")
    rubric.says(
        "done",
        told("line_status", "suspended"),
        f"The caller is told that {home.phone} stays suspended.",
        once="verify",
    )
    sim = Call("replace_sim", {"line_id": home.line_id, "kind": "esim"})
    rubric.never(
        "replaced",
        f"No SIM of {home.line_id} is replaced.",
        CallPattern("replace_sim", status="any"),
        "verify",
        sim,
        required=True,
    )
    restore = Call("restore_line", {"line_id": home.line_id})
    rubric.never(
        "restored",
        f"Line {home.line_id} is not restored.",
        CallPattern("restore_line", status="any"),
        "verify",
        restore,
        required=True,
    )
    rubric.never(
        "told_active", f"The caller is not told that {home.phone} is active.", told("line_status", "active"),
        "done", Say("The line is now active."), instead=True,
    )  # fmt: skip
    deep.discretion(rubric, home, stranger(world, home, split), "verify")
    deep.kind_tone(rubric, home)
    outcome = Outcome(
        [
            DENIAL.row(home),
            deep.ticket_row(home, "sim", "denied"),
        ],
        [Fact("account_access", kind="denied")],
    )
    cards = [FactCard("pin", wrong, f"My PIN is {wrong}.")]
    return _sealed(world, seed, split, rng, home, setup, rubric, outcome, [denied], cards)


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
    cards: list[FactCard],
) -> Task:
    consents = [*deep.agreed_for_line("replace_sim", home), agreed_to_restore(home)]
    scenario = deep.scenario(
        rng, home, "get a new SIM and the line back", _openings(home), settles, cards=cards, consents=consents
    )
    return build(world, NAME, 5, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows())
