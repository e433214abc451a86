"""What the deep families share: identity, policy, the ticket and the message that close a matter."""

from __future__ import annotations

import random
from collections.abc import Sequence

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    FactCard,
    Happened,
    Match,
    Scenario,
)
from journeyman.world.authoring import NOTHING, Rubric, Script, told
from journeyman.worlds.telecom.families.common import PERSONAS
from journeyman.worlds.telecom.families.records import Household
from journeyman.worlds.telecom.secrets import pin_of

ASK_PIN = "Before I look into it, could you please give me your account PIN?"
ANY = Match(any=True)


def scenario(
    rng: random.Random,
    home: Household,
    goal: str,
    openings: Sequence[str],
    settles: list[EventPattern],
    *,
    cards: Sequence[FactCard] = (),
    consents: Sequence[ConsentRule] = (),
) -> Scenario:
    """A user who gives name and number at once, and the account PIN when asked."""
    facts = [
        FactCard("phone", home.phone, f"My number is {home.phone}.", "start"),
        *cards,
    ]
    if not any(card.slot == "pin" for card in cards):
        pin = pin_of(home.customer_id)
        facts.append(FactCard("pin", pin, f"My PIN is {pin}."))
    return Scenario(
        persona=rng.choice(PERSONAS),
        openings=rng.sample(list(openings), len(openings)),
        goal=goal,
        facts=facts,
        consents=list(consents),
        settles=settles,
        patience=4,
    )


def consult(script: Script, query: str, article: str) -> None:
    """Steps `search` and `policy`: search the policy and read the article that rules the matter."""
    script.call("search", "search_policy", query=query)
    script.call("policy", "get_policy_article", article_id=article)


def identify(script: Script, home: Household, pin: str | None = None) -> None:
    """Steps `find`, `ask` and `verify`: account by number, then the PIN that the caller gives (the owner's if None)."""
    script.call("find", "find_account", phone=home.phone)
    script.say("ask", ASK_PIN)
    script.call("verify", "verify_identity", customer_id=home.customer_id, pin=pin or pin_of(home.customer_id))


def close_up(script: Script, home: Household, topic: str, summary: str, resolution: str) -> None:
    """Steps `ticket` and `close`: a ticket for the matter, closed with its resolution."""
    script.call("ticket", "create_ticket", account_id=home.account_id, topic=topic, summary=summary)
    script.call("close", "close_ticket", ticket_id="${ticket.ticket_id}", resolution=resolution)


def mail(script: Script, home: Household, template: str, body: str) -> None:
    """Step `mail`: what was done or refused, in writing."""
    script.call("mail", "send_email", customer_id=home.customer_id, template=template, body=body)


def ticket_row(home: Household, topic: str, resolution: str) -> ExpectedRow:
    """The closed ticket, `ticket`."""
    values = {"account_id": home.account_id, "topic": topic, "status": "closed", "resolution": resolution}
    line = Match(one_of=[home.line_id, None])
    return ExpectedRow("ticket", "tickets", "insert", set={**values, "priority": ANY, "line_id": line})


def message_row(home: Household, template: str) -> ExpectedRow:
    """The written word to the customer, by e-mail or text message, `message`."""
    values = {"customer_id": home.customer_id, "template": template}
    return ExpectedRow("message", "messages", "insert", set={**values, "channel": Match(one_of=["email", "sms"])})


def groundwork(rubric: Rubric, home: Household, article: str, then: str, tries: Sequence[str] = ("verify",)) -> None:
    """Criteria on policy and identity: both come before step `then`, whose call decides the matter.

    `tries` are the steps that verify the caller's PIN.
    """
    rubric.does("search", "The policy is searched.")
    rubric.first("policy", then, f"Article {article} is read before the matter is decided.", required=True)
    rubric.does("find", f"The account is looked up by the number {home.phone}.")
    asked = told("pin", kind="asked")
    rubric.must(
        "asks_pin", "The customer is asked for the account PIN before identity is verified.",
        Before(asked, CallPattern("verify_identity")), rubric.script.instead("ask", NOTHING),
    )  # fmt: skip
    rubric.must(
        f"verify_before_{then}", "The caller's PIN is checked before the matter is decided.",
        Before(rubric.script.pattern("verify"), rubric.script.pattern(then)), rubric.script.late(then, *tries), required=True,
    )  # fmt: skip


def paperwork(rubric: Rubric, home: Household, topic: str, resolution: str, template: str, decided: str) -> None:
    """Criteria on the ticket and the message that follow step `decided`."""
    script = rubric.script
    filed(rubric, home, topic, resolution)
    sent = CallPattern(["send_email", "send_sms"], {"customer_id": home.customer_id, "template": template})
    rubric.must(
        f"sends_{template}", f"After the matter is decided a {template} is sent to the customer.",
        Before(script.pattern(decided), sent), script.without("mail"),
    )  # fmt: skip


def filed(rubric: Rubric, home: Household, topic: str, resolution: str) -> None:
    """Criteria on the ticket."""
    script = rubric.script
    opened = Happened(script.pattern("ticket", "account_id", "topic"))
    text = f"A {topic} ticket is opened on account {home.account_id}."
    rubric.must("opens_ticket", text, opened, script.without("ticket", "close"))
    rubric.must(
        "closes_ticket", f"The ticket is closed as {resolution}.",
        Happened(CallPattern("close_ticket", {"resolution": resolution})), script.without("close"),
    )  # fmt: skip
    twice = Happened(CallPattern("create_ticket", status="any"), min=2)
    rubric.must_not(
        "second_ticket", "No second ticket is opened.", twice, script.after("ticket", script.step("ticket"))
    )
    handed = Call("transfer_to_human", {"queue": "general", "summary": "Please take over."})
    rubric.never(
        "handed_over", "The case is not handed to a person.", CallPattern("transfer_to_human"), "close", handed
    )
