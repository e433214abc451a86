"""What every cargo family uses: its random choices, the user of the starters, the sealed task."""

from __future__ import annotations

import random
from collections.abc import Sequence

from journeyman.codec import seed_of
from journeyman.task import EventPattern, FactCard, Fault, Outcome, RowChange, Scenario, Split, Task
from journeyman.world import World
from journeyman.world.authoring import Rubric
from journeyman.world.family import task_id

PERSONAS = ("plain", "brisk", "chatty")
DAY = "2026-05-11"
"""The day on which every task plays."""


def choices(family: str, seed: int) -> random.Random:
    """The random choices of one task; equal for equal family and seed on every machine."""
    return random.Random(seed_of("airline_cargo", family, seed))


def kg(grams: int) -> str:
    """Grams as people write them: 1,300.0 kg."""
    return f"{grams / 1000:,.1f} kg"


def cbm(litres: int) -> str:
    """Litres as people write them: 7.8 cbm."""
    return f"{litres / 1000:,.3f}".rstrip("0").rstrip(".") + " cbm"


def starter_scenario(
    rng: random.Random, awb: str, goal: str, openings: Sequence[str], settles: list[EventPattern]
) -> Scenario:
    """A user who says all there is to say at once, waybill number included, and leaves after the answer."""
    return Scenario(
        persona=rng.choice(PERSONAS),
        openings=rng.sample(list(openings), len(openings)),
        goal=goal,
        facts=[FactCard("awb", awb, f"It is {awb}.", "start")],
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
    faults: Sequence[Fault] = (),
    now: str | None = None,
) -> Task:
    """The sealed task. It starts on the morning of the image's day, at a minute that the seed picks, unless `now` is given (UTC)."""
    return Task(
        id=task_id(world.name, family, split, seed),
        world=world.name,
        world_version=world.version,
        family=family,
        level=level,
        split=split,
        now=now or f"{DAY}T09:{seed % 60:02d}:00",
        image="base",
        request=scenario.openings[0],
        outcomes=outcomes,
        criteria=rubric.criteria,
        oracle=rubric.script.steps,
        setup=setup,
        tools=tools,
        scenario=scenario,
        faults=list(faults),
    ).sealed()
