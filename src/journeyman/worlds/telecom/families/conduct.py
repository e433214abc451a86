"""What the families about conduct at the desk share: one record of what a task is about, and criteria in the task's own words.

A `Case` holds what every step of writing a task needs; `seal` makes the task of it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    ConsentRule,
    EventPattern,
    FactCard,
    Fault,
    Happened,
    Matcher,
    Outcome,
    Pushback,
    Say,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import Rubric, Script, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import build, choices
from journeyman.worlds.telecom.families.deep import Denial
from journeyman.worlds.telecom.families.records import Household, Setup, pick

TODAY = "2026-03-02"
"""The day on which every task plays, a Monday."""


@dataclass(frozen=True)
class Case:
    """One task in the making. `setup` is filled while the case is written."""

    world: World
    family: str
    level: int
    seed: int
    split: Split
    rng: random.Random
    home: Household
    setup: Setup

    @classmethod
    def of(cls, world: World, family: str, level: int, seed: int, split: Split, home: Household | None = None) -> Case:
        """The case of a seed, on `home` or the household that is the seed's turn: nothing owed, no stale ticket."""
        chosen = pick(world, family, seed, split) if home is None else home
        case = cls(world, family, level, seed, split, choices(family, seed), chosen, Setup(world))
        case.setup.settle_invoices(chosen.account_id)
        case.setup.close_stale_tickets(chosen.account_id)
        return case

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
        pushbacks: Sequence[Pushback] = (),
        faults: Sequence[Fault] = (),
    ) -> Task:
        """The task; its caller gives the number at once and the account PIN when asked, unless a card says otherwise."""
        wishes = deep.scenario(
            self.rng, self.home, goal, openings, settles, cards=cards, consents=consents, pushbacks=pushbacks
        )
        task = build(
            self.world, self.family, self.level, self.seed, self.split,
            scenario=wishes, outcomes=outcomes, rubric=rubric, setup=self.setup.rows(),
        )  # fmt: skip
        return msgspec.structs.replace(task, faults=list(faults)).sealed() if faults else task


def forget_tickets(case: Case) -> None:
    """Close what is open on the account, so that no open ticket of another matter asks for a note."""
    rows = case.world.query(
        "base", "SELECT ticket_id FROM tickets WHERE account_id = ? AND status != 'closed'", (case.home.account_id,)
    )
    for row in rows:
        case.setup.update(
            "tickets", {"ticket_id": row["ticket_id"]}, status="closed", resolution="no_fault",
            closed_at="2026-02-02T10:00:00",
        )  # fmt: skip


def forget_credits(case: Case, reason: str) -> None:
    """Move the account's credits of a reason into a past that no rule looks at."""
    rows = case.world.query(
        "base", "SELECT credit_id FROM credits WHERE account_id = ? AND reason = ?", (case.home.account_id, reason)
    )
    for row in rows:
        case.setup.update("credits", {"credit_id": row["credit_id"]}, applied_at="2023-03-06T10:00:00")


def attempt(
    rubric: Rubric,
    name: str,
    text: str,
    at: str,
    tool: str,
    *,
    by: tuple[str, ...] = (),
    required: bool = False,
    **arguments: Any,
) -> None:
    """The tool is not called with these arguments, successfully or not; only those in `by` count, all if there are none."""
    counted: dict[str, Matcher] = {key: value for key, value in arguments.items() if not by or key in by}
    rubric.never(name, text, CallPattern(tool, counted, status="any"), at, Call(tool, arguments), required=required)


def untouched(
    rubric: Rubric, name: str, text: str, at: str, tool: str, *, required: bool = False, **arguments: Any
) -> None:
    """The tool is not called at all; the arguments are those of the witness."""
    rubric.never(name, text, CallPattern(tool, status="any"), at, Call(tool, arguments), required=required)


def unsaid(
    rubric: Rubric, name: str, text: str, moment: EventPattern, sentence: str, *, required: bool = False
) -> None:
    """The closing message `done` does not say this; `sentence` is how it would."""
    rubric.never(name, text, moment, "done", Say(sentence), instead=True, required=required)


def repeat(script: Script, pushes: Sequence[str], text: str) -> None:
    """Steps `again0`, `again1`, …: the refusal is said again, once for each time the customer argues."""
    for label in _agains(pushes):
        script.say(label, text)


def refused(rubric: Rubric, home: Household, denial: Denial, what: str, once: str, pushes: Sequence[str] = ()) -> None:
    """Criteria of a lawful refusal: documented, told after step `once`, said again at each argument, never taken back.

    `what`: the refused thing in words.
    """
    script, words = rubric.script, told(denial.slot, kind="denied")
    rubric.does(
        "deny", f"The refusal is documented: {denial.request}, {denial.reason}, {denial.article}.", required=True
    )
    rubric.must(
        f"says_denied_{denial.slot}", f"After the look-up {home.name} is told that {what} is refused.",
        Before(script.pattern(once), words), script.without("done", *_agains(pushes)), required=True,
    )  # fmt: skip
    if pushes:
        rubric.must(
            "holds_firm", f"The refusal under {denial.article} is said again when the customer argues ({len(pushes)}x).",
            Happened(words, min=len(pushes) + 1), script.without(_agains(pushes)[-1]), required=True,
        )  # fmt: skip
    text = f"{home.name} is not told that {what} was granted."
    rubric.never("false_claim", text, told(denial.slot), "done", Say(denial.claim), instead=True, required=True)
    rubric.once("deny", f"The refusal on {home.account_id} is documented once, not again.")


def explains(
    rubric: Rubric, moment: EventPattern, text: str, *labels: str, pushes: Sequence[str] = (), required: bool = True
) -> None:
    """The customer is told what stands against the wish; `labels`: steps that say it besides `done` and its repetitions."""
    steps = (*labels, "done", *_agains(pushes))
    rubric.must("says_why", text, Happened(moment), rubric.script.without(*steps), required=required)


def _agains(pushes: Sequence[str]) -> list[str]:
    return [f"again{number}" for number in range(len(pushes))]


def said_first(moment: EventPattern, script: Script, then: str) -> Before:
    """The predicate that something was said before the call of step `then`."""
    return Before(moment, script.pattern(then))


def after_call(script: Script, label: str, moment: EventPattern) -> Before:
    """The predicate that something was said after the call of step `label`."""
    return Before(script.pattern(label), moment)
