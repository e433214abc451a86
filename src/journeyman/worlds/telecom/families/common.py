"""What every telecom family uses: its random choices, the user of the starters, the sealed task."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

from journeyman.task import EventPattern, Scenario
from journeyman.world import composing

TODAY = "2026-03-02"
"""The day on which every task plays, a Monday."""
choices = functools.partial(composing.choices, "telecom")
build = functools.partial(composing.build, day=TODAY)
starter = functools.partial(composing.starter, day=TODAY)


def starter_scenario(
    rng: random.Random, known: str, goal: str, openings: Sequence[str], settles: list[EventPattern]
) -> Scenario:
    """See `composing.starter_scenario`. `known`: a phone or account number."""
    slot = "account_id" if known.startswith("A-") else "phone"
    return composing.starter_scenario(rng, known, goal, openings, settles, slot=slot)
