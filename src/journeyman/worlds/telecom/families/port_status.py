"""Level 2: a customer asks where the number is that should come from another carrier. Mostly the answer is to wait.

Only a request that is older than its one business day makes a ticket, and only where none is open yet.
"""

from __future__ import annotations

from typing import Any

from journeyman.task import (
    Call,
    CallPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Match,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import ANY, Rubric, Script, told
from journeyman.worlds.telecom.catalogue import CARRIERS
from journeyman.worlds.telecom.families import conduct
from journeyman.worlds.telecom.families.conduct import Case

NAME = "port_status"
ARTICLE, FILING = "PORT-IN", "TKT-FILE"
PORT, TICKET = "PRT-8001", "TK-8001"
# Monday 2 March is today: a request of the weekend has its one business day still before it.
VARIANTS = ("in_time", "overdue", "completed", "noted")
MADE = {
    "in_time": ("2026-02-28", "2026-03-01"),
    "overdue": ("2026-02-19", "2026-02-23", "2026-02-25"),
    "completed": ("2026-02-26", "2026-02-27"),
    "noted": ("2026-02-18", "2026-02-20"),
}


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 2, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    case.setup.close_open_tickets(case.home.account_id)
    carrier, made = case.rng.choice(CARRIERS), case.rng.choice(MADE[variant])
    _port(case, carrier, "completed" if variant == "completed" else "requested", made)
    if variant in ("in_time", "completed"):
        return _told(case, carrier, made, done=variant == "completed")
    if variant == "noted":
        case.setup.insert(
            "tickets", {"ticket_id": TICKET}, account_id=case.home.account_id, line_id=case.home.line_id, topic="porting",
            priority="normal", status="open", resolution=None, summary="Number has not arrived yet",
            opened_at="2026-02-24T10:00:00", closed_at=None,
        )  # fmt: skip
    return _overdue(case, carrier, made, noted=variant == "noted")


def _port(case: Case, carrier: str, status: str, made: str) -> None:
    case.setup.delete_all("number_ports", "line_id = ?", (case.home.line_id,))
    case.setup.insert(
        "number_ports", {"port_id": PORT}, line_id=case.home.line_id, direction="in", carrier=carrier, status=status,
        requested_at=f"{made}T{case.rng.randrange(9, 18):02d}:20:00",
    )  # fmt: skip


def _openings(case: Case, carrier: str) -> list[str]:
    home = case.home
    return [
        f"Hi, {home.name} here. When does my mobile number from {carrier} arrive on {home.phone}?",
        f"My line is {home.phone}. I ordered the transfer of my mobile number from {carrier}. How far is it?",
        f"Hello, I am waiting for my mobile number from {carrier}. The line here is {home.phone}. What is the state?",
        f"{home.name}, {home.phone}: what happens with the mobile number that I bring from {carrier}?",
    ]


def _read(script: Script, case: Case) -> None:
    home = case.home
    script.consult("state of an incoming port", ARTICLE)
    script.call("line", "find_line", phone=home.phone)
    script.call("requests", "list_port_requests", line_id=home.line_id)


def _grounds(rubric: Rubric, case: Case, carrier: str, made: str) -> None:
    home = case.home
    rubric.does("search", f"The policy is searched for what rules the matter ({ARTICLE}).")
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    text = f"The port requests of {home.line_id} are read: {PORT} to {carrier} is of {made}."
    rubric.does("requests", text, required=True)


def _limits(rubric: Rubric, case: Case, at: str) -> None:
    """What is not done for an incoming port."""
    home = case.home
    text = f"{PORT} is not sent again: it was not rejected."
    rubric.not_called("resubmitted", text, at, "resubmit_port_in", required=True, port_id=PORT, port_pin="123456")
    credit: dict[str, Any] = {"account_id": home.account_id, "amount": 5.0, "reason": "goodwill"}
    text = f"No credit goes to {home.account_id} for the wait ({ARTICLE})."
    rubric.not_called("credited", text, at, "apply_credit", **credit)
    handed = Call("transfer_to_human", {"queue": "technical", "summary": "A port is late."})
    text = f"The call about {PORT} is not handed to a person."
    rubric.never("handed_over", text, CallPattern("transfer_to_human"), at, handed)


def _told(case: Case, carrier: str, made: str, *, done: bool) -> Task:
    """Nothing to be written: the state is told."""
    home, status = case.home, "completed" if done else "requested"
    script = Script()
    _read(script, case)
    advice = "Please restart the phone." if done else "It takes one business day, so please wait until tonight."
    script.say("done", f"Your port request {PORT} is {status}. {advice}")

    rubric = Rubric(script)
    _grounds(rubric, case, carrier, made)
    moment = told("port_status", status)
    text = f"Article {ARTICLE} is read before the customer is told what to do."
    predicate = conduct.after_call(script, "policy", moment)
    rubric.must("policy_before_answer", text, predicate, script.without("policy"), required=True)
    text = f"After the look-up the customer is told that {PORT} is {status}."
    rubric.says("done", moment, text, once="requests", required=True)
    rubric.says("done", told("port_id", PORT), f"The customer is told which request it is, {PORT}.", once="requests")
    _limits(rubric, case, "requests")
    ticket: dict[str, Any] = {"account_id": home.account_id, "topic": "porting", "summary": "Number is late."}
    text = f"No ticket is opened on {home.account_id}: {PORT} {'is done' if done else 'is within its time'}."
    rubric.not_called("ticket", text, "requests", "create_ticket", required=True, **ticket)
    return case.seal(
        rubric, [Outcome([], [Fact("port_status", status)])], "know where the number is", _openings(case, carrier), [moment],
        cards=[FactCard("carrier", carrier, f"It comes from {carrier}.", "start")],
    )  # fmt: skip


def _overdue(case: Case, carrier: str, made: str, *, noted: bool) -> Task:
    """A request that waits longer than its business day: one ticket, or a note on the one that is open."""
    home = case.home
    script = Script()
    _read(script, case)
    script.call("filing", "get_policy_article", article_id=FILING)
    script.call("find", "find_account", or_tools=("get_line",), loose=("phone",), phone=home.phone)
    script.call("tickets", "list_tickets", loose=("status",), account_id=home.account_id)
    if noted:
        note = f"{PORT} of {made} is still requested."
        script.call("file", "add_ticket_note", loose=("note", "visibility"), ticket_id=TICKET, note=note)
    else:
        script.call(
            "file", "create_ticket", loose=("line_id", "priority"), account_id=home.account_id, topic="porting",
            summary=f"{PORT} of {made} is still requested.", line_id=home.line_id,
        )  # fmt: skip
    number = TICKET if noted else "${ticket.ticket_id}"
    script.say(
        "done",
        f"Your port request {PORT} is still requested. That is longer than one business day. Your ticket is {number}.",
    )

    rubric = Rubric(script)
    _grounds(rubric, case, carrier, made)
    text = f"Article {ARTICLE} is read before the matter is filed."
    rubric.first("policy", "file", text, required=True)
    rubric.first("filing", "file", f"Article {FILING} is read before the matter is filed.")
    rubric.does("find", f"The account of {home.phone} is looked up.")
    text = f"Open tickets of {home.account_id} are looked up before the matter is filed."
    rubric.first("tickets", "file", text, required=True)
    what = f"{TICKET}, open already, gets a note" if noted else f"A porting ticket is opened on {home.account_id}"
    rubric.does("file", f"{what}: {PORT} of {made} is late.", required=True)
    moment = told("port_status", "requested")
    text = f"The customer is told that {PORT} is still requested."
    rubric.says("done", moment, text, once="requests", required=True)
    ticket = TICKET if noted else Match(ref="ticket.ticket_id")
    rubric.says(
        "done", told("ticket_id", ticket), f"The customer is told the ticket of {PORT}.", once="file", required=True
    )
    _limits(rubric, case, "requests")
    second: dict[str, Any] = {"account_id": home.account_id, "topic": "porting", "summary": "Number is late."}
    if noted:
        text = f"No second ticket is opened beside {TICKET}."
        rubric.not_called("second_ticket", text, "file", "create_ticket", required=True, **second)
        row = ExpectedRow("note", "ticket_notes", "insert", set={"ticket_id": TICKET, "visibility": ANY})
    else:
        rubric.once("file", f"{home.account_id} gets one ticket for {PORT}, not two.")
        line = Match(one_of=[home.line_id, None])
        values = {"account_id": home.account_id, "topic": "porting", "status": "open", "priority": "normal"}
        row = ExpectedRow("ticket", "tickets", "insert", set={**values, "line_id": line})
    shut = {"ticket_id": TICKET if noted else "${ticket.ticket_id}", "resolution": "solved"}
    text = f"The ticket of {home.account_id} stays open until {PORT} is done."
    rubric.never("closed", text, CallPattern("close_ticket", status="any"), "file", Call("close_ticket", shut))
    facts = [Fact("port_status", "requested"), Fact("ticket_id", ticket)]
    return case.seal(
        rubric, [Outcome([row], facts)], "know where the number is", _openings(case, carrier),
        [moment, told("ticket_id", ticket)], cards=[FactCard("carrier", carrier, f"It comes from {carrier}.", "start")],
    )  # fmt: skip
