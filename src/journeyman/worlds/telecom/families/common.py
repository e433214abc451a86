"""What every telecom family uses: its random choices, the user of the starters, the sealed task."""

from __future__ import annotations

import random
from collections.abc import Sequence

from journeyman.codec import seed_of
from journeyman.task import (
    EventPattern,
    FactCard,
    Outcome,
    RowChange,
    Scenario,
    Split,
    Task,
)
from journeyman.world import World
from journeyman.world.authoring import Rubric
from journeyman.world.family import task_id

PERSONAS = ("plain", "brisk", "chatty")


def choices(family: str, seed: int) -> random.Random:
    """The random choices of one task; equal for equal family and seed on every machine."""
    return random.Random(seed_of("telecom", family, seed))


def starter_scenario(
    rng: random.Random, known: str, goal: str, openings: Sequence[str], settles: list[EventPattern]
) -> Scenario:
    """A user who says all there is to say at once, and leaves after the answer. `known`: a phone or account number."""
    slot = "account_id" if known.startswith("A-") else "phone"
    return Scenario(
        persona=rng.choice(PERSONAS),
        openings=rng.sample(list(openings), len(openings)),
        goal=goal,
        facts=[FactCard(slot, known, f"It is {known}.", "start")],
        settles=settles,
        patience=1,
    )


def build(
    world: World,
    family: str,
    level: int,
    seed: int,
    split: Split,
    *,
    scenario: Scenario,
    outcomes: list[Outcome],
    rubric: Rubric,
    setup: list[RowChange],
    tools: list[str] | None = None,
) -> Task:
    """The sealed task. It starts on the morning of the image's date, at a minute that the seed picks."""
    return Task(
        id=task_id(world.name, family, split, seed),
        world=world.name,
        world_version=world.version,
        family=family,
        level=level,
        split=split,
        now=f"2026-03-02T09:{seed % 60:02d}:00",
        image="base",
        request=scenario.openings[0],
        outcomes=outcomes,
        criteria=rubric.criteria,
        oracle=rubric.script.steps,
        setup=setup,
        tools=tools,
        scenario=scenario,
    ).sealed()
