"""What the deep families share: the caller and their identity, policy, refusals, the case and the message that close a matter.

A `Case` holds what every step of writing a task needs; `seal` makes the task of it. The steps of the oracle that these
helpers add have fixed labels: `search`, `policy`, `waybill` or `find`, `people`, `ask`, `verify`, `deny`, `case`, `close`,
`mail`; the closing message of a family is `done`. The criteria that go with them are in `demands`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from journeyman.codec import seed_of
from journeyman.task import ExpectedRow, Fact, FactCard, Match, Matcher, Outcome, Split
from journeyman.world import World, composing, refusals
from journeyman.world.authoring import ANY, Script
from journeyman.worlds.airline_cargo.families.common import DAY, choices
from journeyman.worlds.airline_cargo.families.records import Setup
from journeyman.worlds.airline_cargo.secrets import desk_pin_of

ASK_PIN = "Before I look into it, could you please give me your desk PIN?"


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
class Denial(refusals.Denial[Caller]):
    """A refusal of a client's wish.

    Args:
        awb: the waybill it is about, which may be named on the record or not.
    """

    awb: str | None = None

    def whose(self, home: Caller) -> dict[str, Any]:
        return {"client_id": home.client_id}

    def person(self, home: Caller) -> str:
        return home.person

    def on_file(self, home: Caller) -> str:
        return f"for {home.client_id}"

    def arguments(self, home: Caller) -> dict[str, Any]:
        named = super().arguments(home)
        return named if self.awb is None else {**named, "awb": self.awb}

    def row(self, home: Caller) -> ExpectedRow:
        row = super().row(home)
        return msgspec.structs.replace(row, set={**row.set, "awb": Match(one_of=[self.awb, None])})


class Case(composing.Case[Caller, Setup]):
    """A task on a caller who speaks for a client, and gives the desk PIN when asked."""

    DAY = DAY
    GIFTS = ("waive_charge", "apply_discount")
    """Writes by which a client only gains: who is offered one takes it, whether they asked for it or not."""

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

    def known(self, cards: Sequence[FactCard]) -> list[FactCard]:
        """The cards, and the desk PIN unless a card of slot `pin` says otherwise."""
        pin = desk_pin_of(self.home.client_id)
        return composing.unless_given(cards, FactCard("pin", pin, f"Our desk PIN is {pin}."))


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


def refusal_outcome(home: Caller, denial: Denial, rows: Sequence[ExpectedRow], facts: Sequence[Fact] = ()) -> Outcome:
    """A lawful refusal: documented and told, with the other `rows` (a case, a message) that the matter asks for."""
    return Outcome([denial.row(home), *rows], [Fact(denial.slot, kind="denied"), *facts])
