"""What every telecom family uses: its random choices, the user of the starters, the sealed task."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

from journeyman.task import ConsentRule, EventPattern, Match, Matcher, Scenario
from journeyman.world import composing
from journeyman.worlds.telecom.families.records import Household

TODAY = "2026-03-02"
"""The day on which every task plays, a Monday."""
GIFTS = ("apply_credit", "waive_late_fee", "refund_payment")
"""Writes by which a customer only gains: who is offered one takes it, whether they asked for it or not."""
choices = functools.partial(composing.choices, "telecom")
build = functools.partial(composing.build, day=TODAY)
starter = functools.partial(composing.starter, day=TODAY)


def starter_scenario(
    rng: random.Random,
    known: str,
    goal: str,
    openings: Sequence[str],
    settles: list[EventPattern],
    wish: ConsentRule | None = None,
) -> Scenario:
    """See `composing.starter_scenario`. `known`: a phone or account number."""
    slot = "account_id" if known.startswith("A-") else "phone"
    return composing.starter_scenario(rng, known, goal, openings, settles, wish, slot=slot)


def agreed_to_restore(home: Household) -> ConsentRule:
    """Agreement to the line's return, whether it is named or not: the caller spoke of one line."""
    named: dict[str, Matcher] = {
        "phone": Match(one_of=[home.phone, None]),
        "line_id": Match(one_of=[home.line_id, None]),
    }
    return ConsentRule("restore_line", named, {"line_id": home.line_id})
