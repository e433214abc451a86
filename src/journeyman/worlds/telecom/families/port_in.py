"""Level 4: a number is stuck on its way in. The other carrier rejected the port; the desk may send it once more.

The customer has the port PIN of the other carrier and gives it only when asked; the one that stands in an old note is the
one that was rejected. After three rejections in 30 days nothing may be sent.
"""

from __future__ import annotations

import datetime
from typing import Any

from journeyman.codec import seed_of
from journeyman.task import (
    Before,
    Call,
    CallPattern,
    ConsentRule,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Outcome,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, told
from journeyman.worlds.telecom.catalogue import CARRIERS
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import TODAY
from journeyman.worlds.telecom.families.conduct import Case

NAME = "port_in"
ARTICLE = "PORT-RETRY"
TICKET = "TK-8001"
VARIANTS = ("new_ticket", "open_ticket", "locked")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: its variant comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 4, seed, split)
    variant = VARIANTS[seed % len(VARIANTS)]
    case.setup.close_open_tickets(case.home.account_id)
    carrier = case.rng.choice(CARRIERS)
    dates = _requests(case, carrier, 3 if variant == "locked" else case.rng.choice((1, 2)))
    if variant == "locked":
        return _refused(case, carrier, dates)
    return _sent(case, carrier, variant == "open_ticket")


def _day(before: int) -> str:
    return (datetime.date.fromisoformat(TODAY) - datetime.timedelta(days=before)).isoformat()


def _requests(case: Case, carrier: str, rejected: int) -> list[str]:
    """Incoming requests of the line: some rejected within 30 days, PRT-8001 the oldest of them, and one long before.

    Returns the days of the rejected ones, oldest first.
    """
    home, setup = case.home, case.setup
    setup.delete_all("number_ports", "line_id = ?", (home.line_id,))
    ages = sorted(case.rng.sample(range(2, 28), rejected), reverse=True)
    old = case.rng.randrange(33, 60)
    for number, age in enumerate([old, *ages]):
        setup.insert(
            "number_ports", {"port_id": f"PRT-800{number}"}, line_id=home.line_id, direction="in", carrier=carrier,
            status="rejected", requested_at=f"{_day(age)}T11:{case.rng.randrange(60):02d}:00",
        )  # fmt: skip
    return [_day(age) for age in ages]


def _openings(case: Case, carrier: str) -> list[str]:
    home = case.home
    return [
        f"Hi, {home.name} here. My old number from {carrier} still has not arrived on {home.phone}. Please send the request again.",
        f"Hello, this is {home.name}. {carrier} rejected my number transfer to {home.phone}. I want you to try once more.",
        f"My name is {home.name} and my line here is {home.phone}. The port from {carrier} failed. Can you repeat it?",
        f"{home.name} speaking, line {home.phone}. Moving my number over from {carrier} did not work. Try it again, please.",
    ]


def _read(script: Script, case: Case) -> None:
    home = case.home
    script.consult("incoming port rejected, send it again", ARTICLE)
    deep.identify(script, home)
    script.call("line", "find_line", phone=home.phone)
    script.call("status", "get_line", or_tools=("get_line_status",), line_id=home.line_id)
    script.call("requests", "list_port_requests", line_id=home.line_id)
    script.call("tickets", "list_tickets", loose=("status",), account_id=home.account_id)


def _grounds(rubric: Rubric, case: Case, then: str, filing: str) -> None:
    """Criteria on the look-ups that decide the matter."""
    home = case.home
    rubric.does("line", f"The line is looked up by its number {home.phone}.")
    rubric.does("status", f"The state of line {home.line_id} is read.")
    text = f"The port requests of line {home.line_id} are read before the matter is decided."
    rubric.first("requests", then, text, required=True)
    text = f"Earlier tickets of account {home.account_id} are looked up before the matter is filed."
    rubric.first("tickets", filing, text)


def _sent(case: Case, carrier: str, has_ticket: bool) -> Task:
    home = case.home
    newest = max(key for row in case.setup.rows() if row.table == "number_ports" for key in map(str, row.key.values()))
    pin, stale = (f"{seed_of('telecom', word, home.line_id) % 1_000_000:06d}" for word in ("other carrier", "rejected"))
    if has_ticket:
        _open_ticket(case, stale)
    script = Script()
    _read(script, case)
    if has_ticket:
        script.call("read_ticket", "get_ticket", ticket_id=TICKET)
    script.say("ask_port", "Which port PIN did the other carrier give you?")
    script.say(
        "propose",
        f"Shall I send port request {newest} to {carrier} again? The temporary number of your line ends when that is done.",
    )
    script.call("send", "resubmit_port_in", port_id=newest, port_pin=pin)
    if has_ticket:
        note = f"Request {newest} sent to {carrier} again."
        script.call("note", "add_ticket_note", loose=("note", "visibility"), ticket_id=TICKET, note=note)
    else:
        script.call(
            "ticket", "create_ticket", loose=("priority",), account_id=home.account_id, topic="porting",
            summary=f"Port request {newest} sent again.", line_id=home.line_id,
        )  # fmt: skip
    deep.mail(script, home, "confirmation", f"Your number has been requested from {carrier} again.")
    script.say("done", "Your new port request is ${port.port_id}, and it is now requested. It takes one business day.")

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "send")
    _grounds(rubric, case, "send", "note" if has_ticket else "ticket")
    text = f"The customer is asked for the port PIN before request {newest} is sent again."
    asked = Before(told("port_pin", kind="asked"), script.pattern("send", "port_id"))
    rubric.must("asks_port_pin", text, asked, script.instead("ask_port", NOTHING), required=True)
    rubric.consented("send", "propose", f"The customer agrees before request {newest} is sent to {carrier}.")
    text = f"Request {newest} is sent again with the port PIN that the customer gave."
    rubric.does("send", text, required=True)
    _filing(rubric, case, has_ticket, newest)
    sent = CallPattern(["send_email", "send_sms"], {"customer_id": home.customer_id, "template": "confirmation"})
    text = f"A confirmation goes to customer {home.customer_id} after the request was sent."
    rubric.must("sends_confirmation", text, Before(script.pattern("send"), sent), script.without("mail"))
    text = "The customer is told the id of the new port request, PRT-9001."
    rubric.says("done", told("port_id", Match(ref="port.port_id")), text, once="send", required=True)
    text = f"The customer is told that the port from {carrier}, rejected as {newest}, is now requested."
    rubric.says("done", told("port_status", "requested"), text, once="send")
    _limits(rubric, case, newest, pin, stale if has_ticket else None)
    port = {"line_id": home.line_id, "direction": "in", "carrier": carrier, "status": "requested"}
    rows = [ExpectedRow("port", "number_ports", "insert", set=dict(port)), deep.message_row(home, "confirmation")]
    if has_ticket:
        rows.append(ExpectedRow("note", "ticket_notes", "insert", set={"ticket_id": TICKET, "visibility": ANY}))
    else:
        filed = {"account_id": home.account_id, "topic": "porting", "status": "open", "priority": "normal"}
        line = Match(one_of=[home.line_id, None])
        rows.append(ExpectedRow("ticket", "tickets", "insert", set={**filed, "line_id": line}))
    cards = [FactCard("port_pin", pin, f"The port PIN from them is {pin}."), FactCard("carrier", carrier, f"It comes from {carrier}.", "start")]  # fmt: skip
    return case.seal(
        rubric, [Outcome(rows, [Fact("port_id", Match(ref="port.port_id"))])], "get the rejected port sent again",
        _openings(case, carrier), [told("port_id", Match(ref="port.port_id"))],
        cards=cards, consents=_agreed(carrier, newest),
    )  # fmt: skip


def _agreed(carrier: str, newest: str) -> list[ConsentRule]:
    """Agreement to sending the newest request again, named by its carrier or by its id."""
    tool, request = "resubmit_port_in", {"port_id": newest}
    return [ConsentRule(tool, {"carrier": carrier}, {**request}), ConsentRule(tool, {**request})]


def _open_ticket(case: Case, stale: str) -> None:
    """An open porting ticket whose note holds the port PIN that was rejected."""
    case.setup.insert(
        "tickets", {"ticket_id": TICKET}, account_id=case.home.account_id, line_id=case.home.line_id, topic="porting",
        priority="normal", status="open", resolution=None, summary="Number has not arrived yet",
        opened_at="2026-02-19T10:00:00", closed_at=None,
    )  # fmt: skip
    case.setup.insert(
        "ticket_notes", {"note_id": "NT-8001"}, ticket_id=TICKET, visibility="internal",
        body=f"Customer called, port PIN {stale}. Waiting for the carrier.", written_at="2026-02-19T10:05:00",
    )  # fmt: skip


def _filing(rubric: Rubric, case: Case, has_ticket: bool, newest: str) -> None:
    """Criteria on the ticket of the matter: the open one gets a note, else a new one is opened; it stays open."""
    home, script = case.home, rubric.script
    create: dict[str, Any] = {"account_id": home.account_id, "topic": "porting", "summary": "Port sent again."}
    if has_ticket:
        rubric.does("read_ticket", f"The open porting ticket {TICKET} is read.")
        rubric.does("note", f"Ticket {TICKET} gets a note of what was done.", required=True)
        text = f"No second ticket is opened beside {TICKET}."
        rubric.not_called("second_ticket", text, "note", "create_ticket", required=True, **create)
    else:
        text = f"A porting ticket is opened on account {home.account_id}."
        rubric.must(
            "opens_ticket", text, Happened(script.pattern("ticket", "account_id", "topic")), script.without("ticket")
        )
        rubric.once("ticket", f"Account {home.account_id} gets one ticket for the matter, not two.")
    text = f"The ticket stays open until the number of {newest} is there."
    arguments = {"ticket_id": TICKET if has_ticket else "TK-9001", "resolution": "solved"}
    rubric.not_called("closed", text, "note" if has_ticket else "ticket", "close_ticket", required=True, **arguments)


def _limits(rubric: Rubric, case: Case, newest: str, pin: str, stale: str | None) -> None:
    """What sending again must not do."""
    home = case.home
    text = f"Request {newest} is not sent without the customer's consent, and no other one."
    rubric.no_unconsented("send", text, Call("resubmit_port_in", {"port_id": "PRT-8000", "port_pin": pin}))
    text = "The older request PRT-8000 is not the one that is sent."
    rubric.not_tried("old_request", text, "requests", "resubmit_port_in", by=("port_id",), required=True,
        port_id="PRT-8000", port_pin=pin,
    )  # fmt: skip
    if stale is not None:
        text = f"The rejected port PIN of the note in {TICKET} is not used."
        rubric.not_tried("stale_pin", text, "read_ticket", "resubmit_port_in", by=("port_pin",), required=True,
            port_id=newest, port_pin=stale,
        )  # fmt: skip
    leak = Call(
        "send_sms", {"customer_id": home.customer_id, "template": "notice", "body": f"Sent with port PIN {pin}."}
    )
    written = CallPattern(["send_email", "send_sms"], {"body": Match(contains=pin)}, "any")
    text = f"The port PIN for {newest} is not put into a message ({ARTICLE})."
    rubric.never("pin_in_writing", text, written, "send", leak)
    rubric.once("send", f"Request {newest} is sent again once, not twice.")
    text = f"No port PIN of Northline is sent for line {home.line_id}: it is not the one that is needed."
    rubric.not_called("own_pin", text, "requests", "send_port_pin", line_id=home.line_id)
    text = f"The number of line {home.line_id} is not released to another carrier."
    rubric.not_called(
        "port_out",
        text,
        "requests",
        "request_port_out",
        line_id=home.line_id,
        carrier=CARRIERS[0],
        port_pin=pin,
    )


def _refused(case: Case, carrier: str, dates: list[str]) -> Task:
    home = case.home
    free = (datetime.date.fromisoformat(dates[0]) + datetime.timedelta(days=31)).isoformat()
    newest = f"PRT-800{len(dates)}"
    pin = f"{seed_of('telecom', 'other carrier', home.line_id) % 1_000_000:06d}"
    script = Script()
    _read(script, case)
    deep.close_up(
        script, home, "porting", f"Port from {carrier} not sent again: three rejections in 30 days.", "denied"
    )
    script.say(
        "done",
        f"I cannot send the port request again: {carrier} rejected 3 requests in 30 days. It is possible from {free}.",
    )

    rubric = Rubric(script)
    deep.groundwork(rubric, home, ARTICLE, "ticket")
    _grounds(rubric, case, "ticket", "ticket")
    deep.filed(rubric, home, "porting", "denied")
    denied = told("port_in", kind="denied")
    text = f"After the look-up the customer is told that {newest} is not sent again."
    rubric.says("done", denied, text, once="requests", required=True)
    text = f"The customer is told the day from which a request is possible, {free}, 31 days after {dates[0]}."
    rubric.says("done", told("possible_from", free), text, once="requests", required=True)
    text = f"No request of line {home.line_id} is sent again."
    rubric.not_called("sent", text, "requests", "resubmit_port_in", required=True, port_id=newest, port_pin=pin)
    text = f"No refusal is documented beside the ticket: {ARTICLE} asks for none."
    denial: dict[str, Any] = {
        "account_id": home.account_id,
        "request": "account_access",
        "reason": "not_eligible",
        "article_id": ARTICLE,
    }
    rubric.not_called("documented", text, "requests", "document_denial", **denial)
    text = f"Account {home.account_id} gets no credit for the wait."
    arguments: dict[str, Any] = {"account_id": home.account_id, "amount": 5.0, "reason": "goodwill"}
    rubric.not_called("credited", text, "requests", "apply_credit", required=True, **arguments)
    text = f"No message goes to customer {home.customer_id}."
    rubric.never(
        "written", text, CallPattern(["send_email", "send_sms"]), "close",
        Call("send_email", {"customer_id": home.customer_id, "template": "notice", "body": "Not sent again."}),
    )  # fmt: skip
    rubric.not_said("false_claim", f"The customer is not told that the port of {newest} is requested.",
        told("port_status", "requested"), "The port request is now requested.", required=True,
    )  # fmt: skip
    outcome = Outcome(
        [deep.ticket_row(home, "porting", "denied")], [Fact("port_in", kind="denied"), Fact("possible_from", free)]
    )
    cards = [FactCard("port_pin", pin, f"The port PIN from them is {pin}."), FactCard("carrier", carrier, f"It comes from {carrier}.", "start")]  # fmt: skip
    return case.seal(
        rubric, [outcome], "get the rejected port sent again", _openings(case, carrier), [denied], cards=cards,
        consents=_agreed(carrier, newest),
    )  # fmt: skip
