"""Does the outcome hold whatever the order of writes that do not depend on each other?

Orders tried are bounded and the same on every machine: all of a stretch of up to three writes; of longer ones every
exchange of two neighbours, the reverse, every write moved to either end, and a few seeded shuffles.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from journeyman.codec import canonical, seed_of
from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Episode
from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    Call,
    CallPattern,
    Predicate,
    RowChange,
    Say,
    Scalar,
    Step,
    Task,
    Without,
)
from journeyman.world import World

ALL_OF = 3
"""Writes of a stretch of which every order is tried."""
SHUFFLES = 4
ORDERS = 12
"""Most orders tried of one task."""


def reorderings(bench: Bench) -> Iterator[tuple[list[Step], str]]:
    """(oracle with writes in another order, what changed) that no criterion speaks against.

    Writes change places only between two messages: what the user was asked or told stays before or behind them.
    """
    task, made = bench.task, 0
    for places in _stretches(bench):
        for order in _orders(places, task.id):
            steps = list(task.oracle)
            for place, source in zip(places, order, strict=True):
                steps[place] = task.oracle[source]
            if steps == task.oracle or _demanded(task, places[0], places[-1], steps):
                continue
            names = [_tool(task.oracle[source]) for source in order]
            yield steps, ", ".join(names)
            made += 1
            if made == ORDERS:
                return


def _stretches(bench: Bench) -> list[list[int]]:
    """Places of the writes between two messages, where there are two or more."""
    found: list[list[int]] = [[]]
    for at, step in enumerate(bench.task.oracle):
        if isinstance(step, Say):
            found.append([])
        elif bench.is_write(step) and step.tool != bench.world.transfer_tool:
            found[-1].append(at)
    return [places for places in found if len(places) > 1]


def _orders(places: Sequence[int], seed: str) -> list[tuple[int, ...]]:
    count = len(places)
    if count <= ALL_OF:
        return list(permutations(places))[1:]
    orders: list[tuple[int, ...]] = []
    for at in range(count - 1):
        swapped = list(places)
        swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
        orders.append(tuple(swapped))
    orders.append(tuple(reversed(places)))
    for one in places:
        rest = [other for other in places if other != one]
        orders += [(one, *rest), (*rest, one)]
    rng = random.Random(seed_of("order", seed))
    for _ in range(SHUFFLES):
        orders.append(tuple(rng.sample(list(places), count)))
    return list(dict.fromkeys(orders))


def _demanded(task: Task, first: int, last: int, steps: Sequence[Step]) -> bool:
    """Whether a criterion puts two calls of the stretch in the order that `steps` gives up."""
    before = [_tool(step) for step in task.oracle[first : last + 1]]
    after = [_tool(step) for step in steps[first : last + 1]]
    turned = {
        (one, other)
        for at, one in enumerate(before)
        for other in before[at + 1 :]
        if one != other and after.index(one) > after.index(other)
    }
    return any(puts_in_order(criterion.predicate, *pair) for criterion in task.criteria for pair in turned)


def _tool(step: Step) -> str:
    return step.tool if isinstance(step, Call) else ""


def puts_in_order(predicate: Predicate | None, first: str, second: str) -> bool:
    """Whether the predicate puts the calls of two tools in an order."""
    if isinstance(predicate, AllOf | AnyOf):
        return any(puts_in_order(part, first, second) for part in predicate.of)
    if not isinstance(predicate, Before | Without):
        return False
    if not (isinstance(predicate.first, CallPattern) and isinstance(predicate.then, CallPattern)):
        return False
    one, other = _names(predicate.first), _names(predicate.then)
    return (first in one and second in other) or (second in one and first in other)


def _names(pattern: CallPattern) -> set[str]:
    return {pattern.tool} if isinstance(pattern.tool, str) else set(pattern.tool)


def same_effect(world: World, one: Episode, other: Episode) -> bool:
    """Whether two runs made the same number of calls, all with success, and left the same records."""
    if any(call.status != "ok" for call in other.calls) or len(one.calls) != len(other.calls):
        return False
    return effect(world, one.changes) == effect(world, other.changes)


def same_records(bench: Bench, episode: Episode) -> bool:
    """Whether a run left the records as the reference run does: whatever it tried, nothing wrong was done to them."""
    return effect(bench.world, episode.changes) == effect(bench.world, bench.oracle.changes)


def effect(world: World, changes: Sequence[RowChange]) -> list[bytes]:
    """The changes without volatile columns, with each generated id replaced by its table's name."""
    generated: dict[Scalar, str] = {
        value: change.table
        for change in changes
        if change.op == "insert"
        for column, value in change.key.items()
        if change.table in world.id_formats and isinstance(value, str)
    }

    def plain(table: str, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
        volatile = world.volatile.get(table, [])
        return {name: generated.get(value, value) for name, value in values.items() if name not in volatile}

    counted = [
        (change, [plain(change.table, part) for part in (change.key, change.old, change.new)])
        for change in changes
        if change.table not in world.volatile_tables
    ]
    # An update of volatile columns alone is none.
    return sorted(
        canonical([change.table, change.op, *parts]) for change, parts in counted if change.op != "update" or parts[2]
    )
