"""How a family puts a task together: its random choices, its user, the sealed task.

A `Case` carries what every step of writing one task needs. A world makes a class of it that says on which day its tasks
play and what its callers know.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from journeyman.codec import seed_of
from journeyman.task import (
    ChangeOfMind,
    ConsentRule,
    EventPattern,
    FactCard,
    Fault,
    Outcome,
    Pushback,
    RowChange,
    Scenario,
    Split,
    Task,
)
from journeyman.world.authoring import Rubric
from journeyman.world.family import task_id
from journeyman.world.setup import Setup
from journeyman.world.world import World

Home = TypeVar("Home")
"""The records of whoever calls: the household, the client."""
Rows = TypeVar("Rows", bound=Setup)
PERSONAS = ("plain", "brisk", "chatty")


def choices(world: str, family: str, seed: int) -> random.Random:
    """The random choices of one task; equal for equal world, family and seed on every machine."""
    return random.Random(seed_of(world, family, seed))


def scenario(
    rng: random.Random,
    goal: str,
    openings: Sequence[str],
    settles: list[EventPattern],
    facts: Sequence[FactCard],
    *,
    consents: Sequence[ConsentRule] = (),
    changes: Sequence[ChangeOfMind] = (),
    pushbacks: Sequence[Pushback] = (),
    small_talk: Sequence[str] = (),
    bundles: Sequence[list[str]] = (),
    patience: int = 4,
    gifts: Sequence[str] = (),
) -> Scenario:
    """A user of a persona and with an opening that `rng` picks.

    What they agree to follows from what they asked for, never from what the records or the policy say: in every variant
    of a family they agree to their own wish.

    Args:
        gifts: writes by which they only gain; they agree to each, unless one of the `consents` speaks of it.
    """
    return Scenario(
        persona=rng.choice(PERSONAS),
        openings=rng.sample(list(openings), len(openings)),
        goal=goal,
        facts=list(facts),
        consents=_with_gifts(consents, gifts),
        settles=settles,
        patience=patience,
        changes=[msgspec.structs.replace(one, consents=_with_gifts(one.consents, gifts)) for one in changes],
        pushbacks=list(pushbacks),
        small_talk=list(small_talk),
        bundles=list(bundles),
    )


def _with_gifts(consents: Sequence[ConsentRule], gifts: Sequence[str]) -> list[ConsentRule]:
    ruled = {rule.tool for rule in consents}
    return [*consents, *(ConsentRule(tool) for tool in gifts if tool not in ruled)]


def starter_scenario(
    rng: random.Random,
    known: str,
    goal: str,
    openings: Sequence[str],
    settles: list[EventPattern],
    wish: ConsentRule | None = None,
    *,
    slot: str,
) -> Scenario:
    """A user who says all there is to say at once, and leaves after the answer.

    Args:
        known: the number given, of `slot`.
        wish: the write that is asked for, to which they agree where a clerk asks first.
    """
    consents = [] if wish is None else [wish]
    return scenario(rng, goal, openings, settles, [start_card(slot, known)], consents=consents, patience=1)


def start_card(slot: str, value: str) -> FactCard:
    """Something that every opening says, such as a number."""
    return FactCard(slot, value, f"It is {value}.", "start")


def unless_given(cards: Sequence[FactCard], card: FactCard) -> list[FactCard]:
    """The cards, and one more unless there is one of its slot."""
    return [*cards] if any(one.slot == card.slot for one in cards) else [*cards, card]


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
    day: str,
    now: str | None = None,
    tools: list[str] | None = None,
    faults: Sequence[Fault] = (),
) -> Task:
    """The sealed task, on the image `base`.

    Args:
        day: it starts on this morning, at a minute that the seed picks, unless `now` is given.
        setup: what `Setup.rows` gives. tools: those offered; all of the world's if None.
    """
    return Task(
        id=task_id(world.name, family, split, seed),
        world=world.name,
        world_version=world.version,
        family=family,
        level=level,
        split=split,
        now=now or f"{day}T09:{seed % 60:02d}:00",
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


def starter(
    family: str,
    tools: list[str],
    world: World,
    seed: int,
    split: Split,
    scenario: Scenario,
    outcome: Outcome,
    rubric: Rubric,
    setup: Setup,
    *,
    day: str,
) -> Task:
    """The sealed task of a family of level 1, which offers a few tools and has one outcome."""
    return build(
        world, family, 1, seed, split, scenario=scenario, outcomes=[outcome], rubric=rubric, setup=setup.rows(), day=day,
        tools=tools,
    )  # fmt: skip


@dataclass(frozen=True)
class Case(ABC, Generic[Home, Rows]):
    """One task in the making. `setup` is filled while the case is written."""

    DAY: ClassVar[str]
    """The day on which the world's tasks play."""
    GIFTS: ClassVar[tuple[str, ...]] = ()
    """The `gifts` of every scenario of the world."""

    world: World
    family: str
    level: int
    seed: int
    split: Split
    rng: random.Random
    home: Home
    setup: Rows

    def about(self, home: Home) -> Self:
        """The same case with another home."""
        return replace(self, home=home)

    @abstractmethod
    def known(self, cards: Sequence[FactCard]) -> list[FactCard]:
        """All that the caller knows: `cards`, and what every caller of the world knows, such as a PIN."""

    def seal(
        self,
        rubric: Rubric,
        outcomes: list[Outcome],
        goal: str,
        openings: Sequence[str],
        settles: list[EventPattern],
        *,
        cards: Sequence[FactCard] = (),
        faults: Sequence[Fault] = (),
        now: str | None = None,
        **wishes: Any,
    ) -> Task:
        """The task. `cards`: what this caller knows; `wishes`: what else `scenario` takes."""
        user = scenario(self.rng, goal, openings, settles, self.known(cards), gifts=self.GIFTS, **wishes)
        return build(
            self.world, self.family, self.level, self.seed, self.split, scenario=user, outcomes=outcomes, rubric=rubric,
            setup=self.setup.rows(), day=self.DAY, now=now, faults=faults,
        )  # fmt: skip
