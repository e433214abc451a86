"""Level 4: one account, two lines whose numbers differ by two digits that changed places, and a step with no way back.

The number of one leaves for another carrier, or its phone was stolen and gets a new SIM, or it may not leave yet. What is
done to the twin cannot be undone, so the line has to be looked up by its number and read before anything is written.
"""

from __future__ import annotations

import dataclasses
import datetime

from journeyman.task import (
    AnyOf,
    Before,
    Call,
    CallPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Match,
    Outcome,
    Say,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, dollars, money, told
from journeyman.worlds.telecom.catalogue import CARRIERS, DEVICES
from journeyman.worlds.telecom.families import conduct, deep
from journeyman.worlds.telecom.families.common import TODAY, choices
from journeyman.worlds.telecom.families.conduct import Case
from journeyman.worlds.telecom.families.deep import Denial
from journeyman.worlds.telecom.families.records import Household, households
from journeyman.worlds.telecom.secrets import pin_of, port_pin_of

NAME = "lookalike_suspend"
LEAVE, SUSPEND, SIM, RECORD = "PORT-OUT", "LINE-SUSPEND", "SIM-REPLACE", "DENY-DOC"
VARIANTS = ("port_out", "stolen", "young")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    pairs = _pairs(world, split)
    home, twin = pairs[(choices(NAME, 0).randrange(len(pairs)) + seed) % len(pairs)]
    case = Case.of(world, NAME, 4, seed, split, home)
    case, twin = _alike(case, twin)
    variant = VARIANTS[seed % len(VARIANTS)]
    return {"port_out": _leaves, "stolen": _stolen, "young": _stays}[variant](case, twin)


def _pairs(world: World, split: Split) -> list[tuple[Household, Household]]:
    """Two active lines of one account, for every account that has them."""
    by_account: dict[str, list[Household]] = {}
    for one in households(world, split):
        by_account.setdefault(one.account_id, []).append(one)
    return [(lines[0], lines[1]) for lines in by_account.values() if len(lines) > 1]


def _alike(case: Case, twin: Household) -> tuple[Case, Household]:
    """Numbers that differ in the order of their last digits, both old enough to leave and without a contract."""
    taken = {row["phone"] for row in case.world.query("base", "SELECT phone FROM lines")}
    while True:
        stem, first, second = f"555-{case.rng.randrange(10, 100)}", case.rng.randrange(10), case.rng.randrange(10)
        numbers = (f"{stem}{first}{second}", f"{stem}{second}{first}")
        if first != second and taken.isdisjoint(numbers):
            break
    case.setup.close_open_tickets(case.home.account_id)
    made = []
    for one, phone in zip((case.home, twin), numbers, strict=True):
        values = {"phone": phone, "activated_on": "2024-05-14", "contract_end": None}
        case.setup.update("lines", {"line_id": one.line_id}, **values)
        case.setup.delete_all("number_ports", "line_id = ?", (one.line_id,))
        made.append(dataclasses.replace(one, phone=phone))
    return case.about(made[0]), made[1]


def _lookups(script: Script, case: Case) -> None:
    """Steps `lines`, `line`, `state` and `history`: the account's lines, the one that was named, the contact history."""
    home = case.home
    script.call("lines", "list_lines", account_id=home.account_id)
    script.call("line", "find_line", phone=home.phone)
    script.call("state", "get_line", line_id=home.line_id)
    script.call(
        "history", "get_customer_profile_v2", loose=("include",), customer_id=home.customer_id, include=["interactions"]
    )


def _checked(rubric: Rubric, case: Case, twin: Household, then: str) -> None:
    """Criteria on looking before the step that has no way back."""
    home = case.home
    text = f"The lines of {home.account_id} are listed: {home.phone} has a twin, {twin.phone}."
    rubric.does("lines", text)
    text = f"The line is looked up by the number that was named, {home.phone}, before anything is written."
    rubric.first("line", then, text, required=True)
    # A stolen phone cannot wait: there the look-up by number is enough.
    urgent = then == "suspend"
    rubric.first("state", then, f"Line {home.line_id} is read before anything is written on it.", required=not urgent)
    text = f"The contact history of {home.customer_id} is read: a change within 7 days would stop it."
    rubric.first("history", then, text)


def _device(case: Case, cents: int) -> None:
    """DV-8001 with so much left to pay, in the place of what the line has."""
    in_use = "line_id = ? AND status = 'in_use'"
    case.setup.update_all("devices", in_use, (case.home.line_id,), status="returned")
    case.setup.insert(
        "devices", {"device_id": "DV-8001"}, line_id=case.home.line_id, model=case.rng.choice(DEVICES),
        purchased_on="2024-09-01", remaining_cents=cents, status="in_use",
    )  # fmt: skip


def _leave_openings(case: Case, carrier: str) -> list[str]:
    home = case.home
    return [
        f"Hi, this is {home.name}. I want to move the number {home.phone} to {carrier}.",
        f"Hello, {home.name} here. Please release {home.phone}, I take it to {carrier}.",
        f"My name is {home.name}. {carrier} will have my number {home.phone} from now on. Please port it out.",
        f"{home.name} speaking. Could you send {home.phone} over to {carrier}? Only that number.",
    ]


def _leaves(case: Case, twin: Household) -> Task:
    home, carrier, cents = case.home, case.rng.choice(CARRIERS), case.rng.randrange(1, 7) * 2000
    _device(case, cents)
    pin = port_pin_of(home.line_id)
    script = Script()
    script.consult("release a number to another carrier", LEAVE)
    deep.identify(script, home)
    _lookups(script, case)
    script.call("ports", "list_port_requests", or_tools=("get_port_status",), loose=("line_id",), line_id=home.line_id)
    script.call("device", "check_upgrade_eligibility", line_id=home.line_id)
    script.say("ask_port", "What is the port PIN of the line?")
    script.say(
        "propose",
        f"The device balance of {money(cents)} falls due at once, and the number cannot come back for 60 days. "
        f"Shall I release the number of line {home.line_id} to {carrier}?",
    )
    script.call("release", "request_port_out", line_id=home.line_id, carrier=carrier, port_pin=pin)
    script.say("done", "It is on its way: port request ${port.port_id}. It takes one business day.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, LEAVE, "release")
    _checked(rubric, case, twin, "release")
    rubric.does("ports", f"Whether {home.phone} has a port request already is read.")
    rubric.first("device", "release", f"What is left to pay on the device of {home.line_id} is read before the yes.")
    asked = Before(told("port_pin", kind="asked"), script.pattern("release", "line_id"))
    text = f"The customer is asked for the port PIN of {home.line_id}."
    rubric.must("asks_port_pin", text, asked, script.instead("ask_port", NOTHING), required=True)
    slots = ("device_balance", "installment", "payment_amount")
    follows = AnyOf([Before(told(slot, dollars(cents)), CallPattern("request_port_out")) for slot in slots])
    text = f"The customer hears before the yes that {money(cents)} of the device fall due."
    rubric.must("says_what_follows", text, follows, script.without("propose"))
    rubric.consented("release", "propose", f"The customer agrees before {home.phone} goes to {carrier}.")
    rubric.does("release", f"The number of line {home.line_id} is released to {carrier}.", required=True)
    text = f"The customer is told the port request of {home.phone}."
    rubric.says("done", told("port_id", Match(ref="port.port_id")), text, once="release", required=True)
    wrong = Call(
        "request_port_out", {"line_id": twin.line_id, "carrier": carrier, "port_pin": port_pin_of(twin.line_id)}
    )
    text = f"No number leaves {home.account_id} without the customer's consent to line and carrier."
    rubric.no_unconsented("release", text, wrong)
    _twin(rubric, case, twin, "request_port_out", "ports", carrier=carrier, port_pin=port_pin_of(twin.line_id))
    rubric.once("release", f"The number {home.phone} is released once.")
    text = f"No new port PIN is sent for {home.line_id}: the customer has it."
    rubric.not_called("pin_sent", text, "ports", "send_port_pin", line_id=home.line_id)
    text = f"Line {home.line_id} is not suspended on its way out."
    rubric.not_called("suspended", text, "ports", "suspend_line", line_id=home.line_id, reason="vacation")
    _kept(rubric, case, "ports")
    port = {"line_id": home.line_id, "direction": "out", "carrier": carrier, "status": "requested"}
    rows = [ExpectedRow("port", "number_ports", "insert", set=dict(port))]
    facts = [Fact("port_id", Match(ref="port.port_id"))]
    cards = [
        FactCard("port_pin", pin, f"The port PIN is {pin}."),
        FactCard("carrier", carrier, f"It goes to {carrier}.", "start"),
    ]
    return case.seal(
        rubric, [Outcome(rows, facts), Outcome([*rows, _any_ticket(case)], facts)], "move one number to another carrier",
        _leave_openings(case, carrier), [told("port_id", Match(ref="port.port_id"))],
        cards=cards, consents=deep.agreed_for_line("request_port_out", home, carrier=carrier),
    )  # fmt: skip


def _any_ticket(case: Case) -> ExpectedRow:
    """A porting ticket: no article asks for one here, none forbids it."""
    values = {"account_id": case.home.account_id, "topic": "porting"}
    loose = dict.fromkeys(("status", "resolution", "priority"), ANY)
    line = Match(one_of=[case.home.line_id, None])
    return ExpectedRow("ticket", "tickets", "insert", set={**values, **loose, "line_id": line})


def _twin(rubric: Rubric, case: Case, twin: Household, tool: str, at: str, **arguments: str) -> None:
    """The twin is left alone."""
    text = f"Nothing happens to {twin.line_id}, whose number {twin.phone} looks like {case.home.phone}."
    rubric.not_tried("twin", text, at, tool, by=("line_id",), required=True, line_id=twin.line_id, **arguments)


def _kept(rubric: Rubric, case: Case, at: str) -> None:
    """Neither a message nobody asked for nor a hand-over."""
    home = case.home
    sent = Call(
        "send_email", {"customer_id": home.customer_id, "template": "confirmation", "body": "Your number leaves."}
    )
    text = f"No message goes to {home.customer_id}: {LEAVE} asks for none."
    rubric.never("message", text, CallPattern(["send_email", "send_sms"]), at, sent)
    handed = Call("transfer_to_human", {"queue": "retention", "summary": "Wants to leave."})
    text = f"The call about {home.phone} is not handed over: the desk does not hinder a port."
    rubric.never("handed_over", text, CallPattern("transfer_to_human"), at, handed, required=True)


def _stays(case: Case, twin: Household) -> Task:
    home, carrier = case.home, case.rng.choice(CARRIERS)
    started = datetime.date.fromisoformat(TODAY) - datetime.timedelta(days=case.rng.randrange(4, 29))
    case.setup.update("lines", {"line_id": home.line_id}, activated_on=started.isoformat())
    free = (started + datetime.timedelta(days=30)).isoformat()
    pin = port_pin_of(home.line_id)
    denial = Denial("port_out", "not_eligible", LEAVE, "port_out", "I released the number.")
    script = Script()
    script.consult("release a number to another carrier", LEAVE)
    deep.identify(script, home)
    _lookups(script, case)
    script.call("record", "get_policy_article", article_id=RECORD)
    deep.deny(script, home, denial)
    script.say(
        "done", f"I cannot release the number {home.phone} now: the line is too young. It is possible from {free}."
    )

    rubric = Rubric(script)
    deep.groundwork(rubric, home, LEAVE, "deny")
    _checked(rubric, case, twin, "deny")
    rubric.first("record", "deny", f"Article {RECORD} is read before the refusal is documented.")
    conduct.refused(rubric, home, denial, f"the release of {home.phone}", "state")
    text = f"The customer is told the first possible day, {free}, 30 days after {started.isoformat()}."
    rubric.says("done", told("possible_from", free), text, once="state", required=True)
    text = f"The number of {home.line_id} is not released."
    rubric.not_tried("released", text, "state", "request_port_out", by=("line_id",), required=True,
        line_id=home.line_id, carrier=carrier, port_pin=pin,
    )  # fmt: skip
    _twin(rubric, case, twin, "request_port_out", "state", carrier=carrier, port_pin=port_pin_of(twin.line_id))
    text = f"No port PIN is sent for {home.line_id}, which may not leave yet."
    rubric.not_called("pin_sent", text, "state", "send_port_pin", line_id=home.line_id)
    _kept(rubric, case, "state")
    facts = [Fact("port_out", kind="denied"), Fact("possible_from", free)]
    rows = [denial.row(home)]
    cards = [
        FactCard("port_pin", pin, f"The port PIN is {pin}."),
        FactCard("carrier", carrier, f"It goes to {carrier}.", "start"),
    ]
    return case.seal(
        rubric, [Outcome(rows, facts), Outcome([*rows, _any_ticket(case)], facts)], "move one number to another carrier",
        _leave_openings(case, carrier), [told("port_out", kind="denied")], cards=cards,
        consents=deep.agreed_for_line("request_port_out", home, carrier=carrier),
    )  # fmt: skip


def _stolen(case: Case, twin: Household) -> Task:
    home = case.home
    wish = "Send me a SIM card by post."
    script = Script()
    script.consult("phone stolen, suspend the line", SUSPEND)
    script.call("sim_rule", "get_policy_article", article_id=SIM)
    script.call("find", "find_account", phone=home.phone)
    _lookups(script, case)
    script.call("suspend", "suspend_line", line_id=home.line_id, reason="stolen")
    script.say(
        "ask", f"Line {home.line_id} is now suspended. For the new SIM, could you please give me your account PIN?"
    )
    script.call("verify", "verify_identity", customer_id=home.customer_id, pin=pin_of(home.customer_id))
    script.say(
        "propose", f"Shall I replace the SIM of line {home.line_id} with a card by post? The old one stops working."
    )
    script.call("replace", "replace_sim", line_id=home.line_id, kind="physical")
    deep.close_up(script, home, "sim", f"Phone of {home.line_id} stolen: line suspended, new SIM.", "solved")
    deep.mail(script, home, "confirmation", f"A new SIM card for {home.phone} is in the post.")
    script.say("done", "Your new SIM is ${sim.sim_id}. The line stays suspended until the card is in your phone.")

    rubric = Rubric(script)
    rubric.does("search", f"The policy is searched for what rules the matter ({SUSPEND}).")
    rubric.first("policy", "suspend", f"Article {SUSPEND} is read before the line is suspended.", required=True)
    rubric.first("sim_rule", "replace", f"Article {SIM} is read before the SIM is replaced.", required=True)
    rubric.does("find", f"The account is looked up by the number {home.phone}.")
    _checked(rubric, case, twin, "suspend")
    text = f"The PIN of {home.customer_id} is asked for before it is checked."
    asked = Before(told("pin", kind="asked"), CallPattern("verify_identity"))
    rubric.must("asks_pin", text, asked, script.instead("ask", NOTHING))
    text = f"The PIN of {home.customer_id} is checked before the SIM is replaced."
    rubric.first("verify", "replace", text, required=True)
    rubric.does("suspend", f"Line {home.line_id} is suspended as stolen.", required=True)
    text = f"Line {home.line_id} is suspended before its SIM is replaced."
    rubric.first("suspend", "replace", text, required=True)
    rubric.consented("replace", "propose", f"The customer agrees before the SIM of {home.line_id} is replaced.")
    rubric.does("replace", f"Line {home.line_id} gets a SIM card.", required=True)
    deep.paperwork(rubric, home, "sim", "solved", "confirmation", "replace")
    text = f"The customer is told the new SIM of {home.phone}."
    rubric.says("done", told("sim_id", Match(ref="sim.sim_id")), text, once="replace", required=True)
    text = f"The customer is told that {home.phone} is suspended."
    predicate = Before(script.pattern("suspend"), told("line_status", "suspended"))
    rubric.must("says_suspended", text, predicate, [*script.instead("ask", Say(deep.ASK_PIN)), *script.without("done")])
    _twin(rubric, case, twin, "suspend_line", "line", reason="stolen")
    text = f"The SIM of {twin.line_id} is not replaced."
    rubric.not_tried("twin_sim", text, "verify", "replace_sim", by=("line_id",), required=True,
        line_id=twin.line_id, kind="physical",
    )  # fmt: skip
    text = f"Line {home.line_id} is not restored before the card is there."
    rubric.not_called("restored", text, "replace", "restore_line", required=True, line_id=home.line_id)
    text = f"The phone is not put down as lost: {home.phone} was stolen."
    rubric.not_tried("as_lost", text, "line", "suspend_line", by=("reason",), line_id=home.line_id, reason="lost")
    rubric.once("replace", f"The SIM of {home.line_id} is replaced once.")
    rows = [
        *_dead_sims(case),
        ExpectedRow(
            "line", "lines", "update", {"line_id": home.line_id}, {"status": "suspended", "suspend_reason": "stolen"}
        ),
        ExpectedRow("sim", "sims", "insert", set={"line_id": home.line_id, "kind": "physical", "status": "active"}),
        deep.ticket_row(home, "sim", "solved"),
        deep.message_row(home, "confirmation"),
    ]
    return case.seal(
        rubric, [Outcome(rows, [Fact("sim_id", Match(ref="sim.sim_id"))])], "have a stolen phone's line suspended and a new SIM",
        [
            f"Help, this is {home.name}! My phone with {home.phone} was stolen. Suspend the line. {wish}",
            f"{home.name} here. Somebody stole the phone with the number {home.phone}. Please block it. {wish}",
            f"My name is {home.name}. The phone {home.phone} was taken from my table. Suspend it at once. {wish}",
            f"This is {home.name}, and {home.phone} has been stolen. Stop that line, only that one. {wish}",
        ],
        [told("sim_id", Match(ref="sim.sim_id"))], cards=[FactCard("sim_kind", "physical", wish, "start")],
        consents=[
            *deep.agreed_for_line("suspend_line", home), *deep.agreed_for_line("replace_sim", home),
        ],
    )  # fmt: skip


def _dead_sims(case: Case) -> list[ExpectedRow]:
    """The SIMs of the line that work until the new one comes."""
    rows = case.world.query(
        "base",
        "SELECT sim_id FROM sims WHERE line_id = ? AND status != 'replaced' ORDER BY sim_id",
        (case.home.line_id,),
    )
    return [
        ExpectedRow(f"old{number}", "sims", "update", {"sim_id": row["sim_id"]}, {"status": "replaced"})
        for number, row in enumerate(rows)
    ]
