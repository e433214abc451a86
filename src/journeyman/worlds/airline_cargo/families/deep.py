"""What the deep families share: the caller and their identity, policy, refusals, the case and the message that close a matter.

A `Case` holds what every step of writing a task needs; `seal` makes the task of it. The steps of the oracle that these
helpers add have fixed labels: `search`, `policy`, `waybill` or `find`, `people`, `ask`, `verify`, `deny`, `case`, `close`,
`mail`; the closing message of a family is `done`. The criteria that go with them are in `demands`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from journeyman.codec import seed_of
from journeyman.task import (
    ChangeOfMind,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Fault,
    Match,
    Matcher,
    Outcome,
    Pushback,
    Scenario,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script
from journeyman.worlds.airline_cargo.families.common import PERSONAS, build, choices
from journeyman.worlds.airline_cargo.families.records import Setup
from journeyman.worlds.airline_cargo.secrets import desk_pin_of

ASK_PIN = "Before I look into it, could you please give me your desk PIN?"
ANY = Match(any=True)


@dataclass(frozen=True)
class Caller:
    """A person who speaks for an active client with an active credit account."""

    client_id: str
    name: str
    kind: str
    email: str
    city: str
    account_id: str
    person: str
    role: str


@functools.lru_cache(maxsize=16)
def callers(world: World, role: str) -> tuple[Caller, ...]:
    """One person of the role for every active client with an active credit account and such a person, by client id."""
    rows = world.query(
        "base",
        """SELECT client_id, c.name AS name, kind, email, city, account_id, min(p.name) AS person, role
           FROM clients c JOIN client_contacts p USING (client_id) JOIN credit_accounts a USING (client_id)
           WHERE c.status = 'active' AND a.status = 'active' AND role = ?
           GROUP BY client_id ORDER BY client_id""",
        (role,),
    )
    return tuple(msgspec.convert(row, Caller) for row in rows)


def pick(world: World, family: str, seed: int, role: str, kind: str | None = None) -> Caller:
    """The caller of a task: the families start at different places and walk through the clients in order."""
    pool = [one for one in callers(world, role) if kind in (None, one.kind)]
    return pool[(seed_of("airline_cargo", family) + seed) % len(pool)]


def namesake(world: World, home: Caller) -> Caller:
    """Another client that a careless clerk may take for the caller's: of a like name, else the next in order."""
    pool = [one for one in callers(world, "manager") if one.client_id != home.client_id]
    stem = home.name.removesuffix(" Group").removesuffix(" Ltd")
    return min(pool, key=lambda one: (stem not in one.name, one.client_id < home.client_id, one.client_id))


@dataclass(frozen=True)
class Denial:
    """A refusal as it is documented.

    Args:
        article: the current article that demands it. also: other articles that may be cited as well.
        slot: how the dialogue speaks of what is refused. claim: a message that says the opposite.
        awb: the waybill it is about, which may be named on the record or not.
    """

    request: str
    reason: str
    article: str
    slot: str
    claim: str
    also: tuple[str, ...] = ()
    awb: str | None = None

    def arguments(self, home: Caller) -> dict[str, Any]:
        """What document_denial is called with."""
        named = {
            "client_id": home.client_id,
            "request": self.request,
            "reason": self.reason,
            "article_id": self.article,
        }
        return named if self.awb is None else {**named, "awb": self.awb}

    def row(self, home: Caller) -> ExpectedRow:
        """The documented refusal, `denial`."""
        cited: Matcher = Match(one_of=[self.article, *self.also]) if self.also else self.article
        about: Matcher = Match(one_of=[self.awb, None])
        return ExpectedRow(
            "denial", "denials", "insert", set={**self.arguments(home), "article_id": cited, "awb": about}
        )


@dataclass(frozen=True)
class Case:
    """One task in the making. `setup` is filled while the case is written."""

    world: World
    family: str
    level: int
    seed: int
    split: Split
    rng: random.Random
    home: Caller
    setup: Setup

    @classmethod
    def of(
        cls,
        world: World,
        family: str,
        level: int,
        seed: int,
        split: Split,
        *,
        role: str = "dispatcher",
        kind: str | None = None,
    ) -> Case:
        """The case of a seed, on the caller whose turn it is. `kind`: only forwarders or shippers."""
        home = pick(world, family, seed, role, kind)
        return cls(world, family, level, seed, split, choices(family, seed), home, Setup(world))

    def seal(
        self,
        rubric: Rubric,
        outcomes: list[Outcome],
        goal: str,
        openings: Sequence[str],
        settles: list[EventPattern],
        *,
        cards: Sequence[FactCard] = (),
        consents: Sequence[ConsentRule] = (),
        changes: Sequence[ChangeOfMind] = (),
        pushbacks: Sequence[Pushback] = (),
        small_talk: Sequence[str] = (),
        bundles: Sequence[list[str]] = (),
        faults: Sequence[Fault] = (),
        now: str | None = None,
    ) -> Task:
        """The task; its caller gives the desk PIN when asked, unless a card of slot `pin` says otherwise."""
        facts = list(cards)
        if not any(card.slot == "pin" for card in cards):
            pin = desk_pin_of(self.home.client_id)
            facts.append(FactCard("pin", pin, f"Our desk PIN is {pin}."))
        wishes = Scenario(
            persona=self.rng.choice(PERSONAS),
            openings=self.rng.sample(list(openings), len(openings)),
            goal=goal,
            facts=facts,
            consents=list(consents),
            settles=settles,
            patience=4,
            changes=list(changes),
            pushbacks=list(pushbacks),
            small_talk=list(small_talk),
            bundles=list(bundles),
        )
        return build(
            self.world, self.family, self.level, self.seed, self.split,
            scenario=wishes, outcomes=outcomes, rubric=rubric, setup=self.setup.rows(), faults=faults, now=now,
        )  # fmt: skip


def ref(name: str) -> Match:
    """A matcher for a generated id: `row.column` of an expected row."""
    return Match(ref=name)


def start_card(slot: str, value: str) -> FactCard:
    """Something that every opening says, such as the waybill number."""
    return FactCard(slot, value, f"It is {value}.", "start")


def consult(script: Script, query: str, article: str) -> None:
    """Steps `search` and `policy`: search the policy and read the article that rules the matter."""
    script.call("search", "search_policy", query=query)
    script.call("policy", "get_policy_article", article_id=article)


def identify(script: Script, home: Caller, awb: str | None = None, pin: str | None = None) -> None:
    """Whose matter it is and who speaks: step `waybill` (by number) or `find` (by name and city), then `people`, `ask`,
    `verify` with the PIN that the caller gives (the client's if None)."""
    if awb is not None:
        script.call("waybill", "get_waybill", or_tools=("find_waybill",), awb=awb)
    else:
        script.call("find", "find_client", loose=("name", "city"), name=home.name, city=home.city)
    script.call("people", "get_client_profile_v2", loose=("include",), client_id=home.client_id, include=["contacts"])
    script.say("ask", ASK_PIN)
    script.call("verify", "verify_client", client_id=home.client_id, pin=pin or desk_pin_of(home.client_id))


def deny(script: Script, home: Caller, denial: Denial) -> None:
    """Step `deny`: the refusal is documented."""
    loose = ("awb", "article_id") if denial.also else ("awb",)
    script.call("deny", "document_denial", loose=loose, **denial.arguments(home))


def close_up(script: Script, home: Caller, kind: str, summary: str, resolution: str, awb: str | None = None) -> None:
    """Steps `case` and `close`: a case for the matter, closed with its resolution."""
    about: dict[str, Any] = {} if awb is None else {"awb": awb}
    script.call(
        "case", "create_case", loose=("priority",), client_id=home.client_id, kind=kind, summary=summary, **about
    )
    script.call("close", "close_case", case_id="${case.case_id}", resolution=resolution)


def mail(script: Script, home: Caller, template: str, body: str) -> None:
    """Step `mail`: what was done or refused, in writing."""
    script.call("mail", "send_email", client_id=home.client_id, template=template, body=body)


def case_row(home: Caller, kind: str, resolution: str | None, awb: str | None = None) -> ExpectedRow:
    """The case, `case`: closed with its resolution, or left open where there is none."""
    values: dict[str, Matcher] = {"client_id": home.client_id, "kind": kind, "priority": ANY, "awb": awb}
    if resolution is None:
        values["status"] = Match(one_of=["open", "pending"])
    else:
        values |= {"status": "closed", "resolution": resolution}
    return ExpectedRow("case", "cases", "insert", set=values)


def message_row(home: Caller, template: str, channel: str = "email", name: str = "message") -> ExpectedRow:
    """The written word to the client, `message`."""
    return ExpectedRow(
        name, "messages", "insert", set={"client_id": home.client_id, "template": template, "channel": channel}
    )


def repeat(script: Script, pushes: Sequence[str], text: str) -> None:
    """Steps `again0`, `again1`, …: the refusal is said again, once for each time the client argues."""
    for label in agains(pushes):
        script.say(label, text)


def agains(pushes: Sequence[str]) -> list[str]:
    """The labels of the steps of `repeat`."""
    return [f"again{number}" for number in range(len(pushes))]


def refusal_outcome(home: Caller, denial: Denial, rows: Sequence[ExpectedRow], facts: Sequence[Fact] = ()) -> Outcome:
    """A lawful refusal: documented and told, with the other `rows` (a case, a message) that the matter asks for."""
    return Outcome([denial.row(home), *rows], [Fact(denial.slot, kind="denied"), *facts])
