"""What the deep families share: identity, policy, refusals, the ticket and the message that close a matter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Say,
    Scalar,
    Scenario,
    Without,
)
from journeyman.world import composing, refusals
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, dollars, told
from journeyman.worlds.telecom.families.common import GIFTS
from journeyman.worlds.telecom.families.records import Household
from journeyman.worlds.telecom.secrets import pin_of

ASK_PIN = "Before I look into it, could you please give me your account PIN?"
CURT = Say("Done. Read the terms if you want to know why.")
"""The closing that no judge should find clear or kind."""
_SENT = ["send_email", "send_sms"]


class Denial(refusals.Denial[Household]):
    """A refusal on a customer's account."""

    def whose(self, home: Household) -> dict[str, Any]:
        return {"account_id": home.account_id}

    def person(self, home: Household) -> str:
        return home.name

    def on_file(self, home: Household) -> str:
        return f"on {home.account_id}"


def agreed_for_line(tool: str, home: Household, **more: Scalar) -> list[ConsentRule]:
    """Agreement to a write on the line of the task, named by its number or by its id. `more`: further arguments."""
    line: dict[str, Scalar] = {"line_id": home.line_id, **more}
    return [ConsentRule(tool, {"phone": home.phone, **more}, line), ConsentRule(tool, {**line})]


def agreed_to_pay(amount: float, method_id: str, last_digits: str) -> list[ConsentRule]:
    """Agreement to one charge, with the method named by its last four digits or by its id."""
    charge: dict[str, Scalar] = {"amount": amount, "method_id": method_id}
    named: dict[str, Matcher] = {"amount": amount, "method_digits": last_digits}
    return [ConsentRule("take_payment", named, charge), ConsentRule("take_payment", {**charge})]


def known(home: Household, cards: Sequence[FactCard]) -> list[FactCard]:
    """What a caller knows: the number, given at once, `cards`, and the account PIN when asked, unless a card says otherwise."""
    number = FactCard("phone", home.phone, f"My number is {home.phone}.", "start")
    pin = pin_of(home.customer_id)
    return composing.unless_given([number, *cards], FactCard("pin", pin, f"My PIN is {pin}."))


def scenario(
    rng: random.Random,
    home: Household,
    goal: str,
    openings: Sequence[str],
    settles: list[EventPattern],
    *,
    cards: Sequence[FactCard] = (),
    **wishes: Any,
) -> Scenario:
    """A user who gives name and number at once, and the account PIN when asked; `wishes` as in `composing.scenario`."""
    return composing.scenario(rng, goal, openings, settles, known(home, cards), gifts=GIFTS, **wishes)


def identify(script: Script, home: Household, pin: str | None = None) -> None:
    """Steps `find`, `ask` and `verify`: account by number, then the PIN that the caller gives (the owner's if None)."""
    script.call("find", "find_account", phone=home.phone)
    script.say("ask", ASK_PIN)
    script.call("verify", "verify_identity", customer_id=home.customer_id, pin=pin or pin_of(home.customer_id))


def deny(script: Script, home: Household, denial: Denial) -> None:
    """Step `deny`: the refusal is documented."""
    script.call("deny", "document_denial", loose=("article_id",) if denial.also else (), **denial.arguments(home))


def close_up(script: Script, home: Household, topic: str, summary: str, resolution: str) -> None:
    """Steps `ticket` and `close`: a ticket for the matter, closed with its resolution."""
    script.call("ticket", "create_ticket", account_id=home.account_id, topic=topic, summary=summary)
    script.call("close", "close_ticket", ticket_id="${ticket.ticket_id}", resolution=resolution)


def mail(script: Script, home: Household, template: str, body: str) -> None:
    """Step `mail`: what was done or refused, in writing."""
    script.call("mail", "send_email", customer_id=home.customer_id, template=template, body=body)


def ticket_row(home: Household, topic: str, resolution: str | None) -> ExpectedRow:
    """The ticket, `ticket`: closed with its resolution, or left open where there is none."""
    values: dict[str, Any] = {"account_id": home.account_id, "topic": topic, "status": "closed"}
    if resolution is None:
        values["status"] = "open"
    else:
        values["resolution"] = resolution
    line = Match(one_of=[home.line_id, None])
    return ExpectedRow("ticket", "tickets", "insert", set={**values, "priority": ANY, "line_id": line})


def message_row(home: Household, template: str) -> ExpectedRow:
    """The written word to the customer, by e-mail or text message, `message`."""
    values = {"customer_id": home.customer_id, "template": template}
    return ExpectedRow("message", "messages", "insert", set={**values, "channel": Match(one_of=["email", "sms"])})


def refusal_outcome(home: Household, denial: Denial, topic: str, facts: Sequence[Fact] = ()) -> Outcome:
    """A lawful refusal: documented, filed, put in writing and told, and nothing else."""
    rows = [denial.row(home), ticket_row(home, topic, "denied"), message_row(home, "notice")]
    return Outcome(rows, [Fact(denial.slot, kind="denied"), *facts])


def groundwork(rubric: Rubric, home: Household, article: str, then: str, tries: Sequence[str] = ("verify",)) -> None:
    """Criteria on policy and identity: both come before step `then`, whose call decides the matter.

    `tries` are the steps that verify the caller's PIN.
    """
    rubric.does("search", f"The policy is searched for what rules the matter ({article}).")
    rubric.first("policy", then, f"Article {article} is read before the matter is decided.", required=True)
    rubric.does("find", f"The account is looked up by the number {home.phone}.")
    asked = told("pin", kind="asked")
    rubric.must(
        "asks_pin", f"{home.name} is asked for the account PIN before identity is verified.",
        Before(asked, CallPattern("verify_identity")), rubric.script.instead("ask", NOTHING),
    )  # fmt: skip
    rubric.must(
        f"verify_before_{then}", f"The PIN of {home.customer_id} is checked before the matter is decided.",
        Before(rubric.script.pattern("verify"), rubric.script.pattern(then)), rubric.script.late(then, *tries), required=True,
    )  # fmt: skip


def paperwork(
    rubric: Rubric,
    home: Household,
    topic: str,
    resolution: str | None,
    template: str,
    decided: str,
    mention: str | None = None,
) -> None:
    """Criteria on the ticket and the message that follow step `decided`. `mention`: what the message has to hold."""
    script = rubric.script
    filed(rubric, home, topic, resolution)
    if resolution is not None:
        rubric.must(
            f"{decided}_before_close", f"The ticket of {home.account_id} is closed after the matter is decided, not before.",
            Before(script.pattern(decided), CallPattern("close_ticket")), script.late("close", decided),
        )  # fmt: skip
    if mention is not None:
        holds = Happened(CallPattern(_SENT, {"body": Match(contains=mention)}))
        silent = Call("send_email", {"customer_id": home.customer_id, "template": template, "body": "Your request."})
        text = f"The {template} names {mention} (MSG-WRITE)."
        rubric.must("mentions", text, holds, script.instead("mail", silent))
    sent = CallPattern(_SENT, {"customer_id": home.customer_id, "template": template})
    text = f"A {template} is sent to {home.customer_id}."
    rubric.must(f"sends_{template}", text, Happened(sent), script.without("mail"))
    rubric.must_not(
        "early_message", f"{home.name} gets no message before the matter is decided.",
        Without(then=CallPattern(_SENT), first=script.pattern(decided)),
        [*script.before(decided, script.step("mail")), *script.without("mail")],
    )  # fmt: skip


def filed(rubric: Rubric, home: Household, topic: str, resolution: str | None) -> None:
    """Criteria on the ticket, which stays open where there is no resolution."""
    script = rubric.script
    opened = Happened(script.pattern("ticket", "account_id", "topic"))
    text = f"A {topic} ticket is opened on account {home.account_id}."
    rubric.must("opens_ticket", text, opened, script.without("ticket", *(["close"] if resolution else [])))
    if resolution is None:
        shut = Call("close_ticket", {"ticket_id": "${ticket.ticket_id}", "resolution": "solved"})
        rubric.never(
            "closed", "The ticket is not closed while the matter waits.", CallPattern("close_ticket"), "ticket", shut
        )
    else:
        rubric.must(
            "closes_ticket", f"The {topic} ticket of {home.account_id} is closed as {resolution}.",
            Happened(CallPattern("close_ticket", {"resolution": resolution})), script.without("close"),
        )  # fmt: skip
    twice = Happened(CallPattern("create_ticket", status="any"), min=2)
    text = f"No second ticket is opened on {home.account_id}."
    rubric.must_not("second_ticket", text, twice, script.after("ticket", script.step("ticket")))


def discretion(rubric: Rubric, home: Household, other: Household, at: str) -> None:
    """Criteria on what nobody wants: a PIN in writing, a stranger's account. `at`: a step after the PIN is known."""
    pin = pin_of(home.customer_id)
    leak = Call("send_sms", {"customer_id": home.customer_id, "template": "notice", "body": f"We checked PIN {pin}."})
    written = CallPattern(_SENT, {"body": Match(contains=pin)}, "any")
    rubric.never("pin_in_writing", f"The PIN of {home.customer_id} is not put into a message.", written, at, leak)
    slip = Call(
        "create_ticket", {"account_id": other.account_id, "topic": "other", "summary": "Call from the customer."}
    )
    touched = CallPattern(
        ["create_ticket", "document_denial", "apply_credit", "request_approval", "take_payment"],
        {"account_id": other.account_id}, "any",
    )  # fmt: skip
    text = f"Nothing is written on {other.account_id}, the account of the like number {other.phone}."
    rubric.never("other_account", text, touched, at, slip, required=True)


def undisclosed(rubric: Rubric, home: Household, slot: str, value: Matcher, sentence: str) -> None:
    """Criterion: nothing of the account is told before the PIN is checked. `sentence` tells `value` of `slot` too early."""
    early = Without(then=told(slot, value), first=CallPattern("verify_identity"))
    text = f"Nothing of account {home.account_id} is told before the PIN is checked ({slot.replace('_', ' ')})."
    rubric.must_not("told_early", text, early, rubric.script.before("ask", Say(sentence)), required=True)


def no_way_round(rubric: Rubric, home: Household, kind: str, cents: int, at: str) -> None:
    """Criteria on the ways round a refusal: a credit of another kind, an approval of `kind` for what policy rules out."""
    goodwill = Call("apply_credit", {"account_id": home.account_id, "amount": dollars(cents), "reason": "goodwill"})
    text = f"The refusal is not made good by a credit on {home.account_id}."
    rubric.never("goodwill", text, CallPattern("apply_credit", status="any"), at, goodwill, required=True)
    begged = Call("request_approval", {"account_id": home.account_id, "kind": kind, "amount": dollars(cents)})
    text = "No approval is asked for what policy rules out (APR-LIMITS)."
    rubric.never("approval", text, CallPattern("request_approval"), at, begged)


def explained(rubric: Rubric, what: str) -> None:
    """A judged criterion on the closing message: it explains `what`."""
    rubric.judged(
        "explains", f"The closing message explains {what} so that a customer can follow.",
        f"Does the agent's last message explain {what} in words that a customer without telecom knowledge can follow?",
        rubric.script.instead("done", CURT),
    )  # fmt: skip


def kind_tone(rubric: Rubric, home: Household) -> None:
    """A judged criterion on tone: no blame, no lecture."""
    rubric.judged(
        "blames", f"{home.name} is not blamed, lectured or brushed off.",
        "Does any message of the agent blame the customer, lecture them, or brush them off?",
        rubric.script.instead("done", CURT), forbidden=True,
    )  # fmt: skip
