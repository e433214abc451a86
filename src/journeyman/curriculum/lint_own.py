"""Rules about what a task's criteria speak of: its own records, and each something else.

A rubric that speaks of nobody in particular can be met by working on anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from journeyman.codec import canonical
from journeyman.task import AllOf, AnyOf, Call, CallPattern, Criterion, Match, Predicate, Task

if TYPE_CHECKING:
    from journeyman.world import World

OWN_SHARE = 0.6
"""Least share of the criteria of a task, from level 2 on, that name its own records or a policy article."""

_WORD = re.compile(r"[A-Za-z0-9][\w.+@/-]*[\w]|[A-Za-z0-9]")


def same_predicate(predicate: Predicate) -> bytes:
    """A key that is equal for predicates that check the same thing, however they are written: one tool or a list of it,
    the parts of `all_of` and `any_of` in any order. Polarity is left out: to demand and to forbid the same is as empty."""
    return canonical(_plain(predicate))


def _plain(value: Any) -> Any:
    if isinstance(value, AllOf | AnyOf):
        parts = sorted({canonical(_plain(part)).decode() for part in value.of})
        return [type(value).__name__, *parts] if len(parts) > 1 else _plain(value.of[0])
    if isinstance(value, CallPattern):
        tools = [value.tool] if isinstance(value.tool, str) else sorted(set(value.tool))
        return ["call", tools, {name: _plain(one) for name, one in value.arguments.items()}, value.status]
    if isinstance(value, Match):
        return [value.one_of and sorted(map(repr, value.one_of)), value.contains, value.any, value.ref]
    if isinstance(value, msgspec.Struct):
        return [type(value).__name__, *(_plain(getattr(value, name)) for name in value.__struct_fields__)]
    return value


def own_names(world: World, task: Task) -> set[str]:
    """What a criterion can name to be about this task: keys of its records, what its user knows, what it has the user
    told, and every article."""
    names = {article.id for article in world.articles}
    for row in task.setup:
        names |= set(map(str, row.key.values()))
    for outcome in task.outcomes:
        for expected in outcome.rows:
            names |= set(_scalars([expected.where, expected.set]))
        names |= set(_scalars([fact.value for fact in outcome.facts]))
    for step in task.oracle:
        if isinstance(step, Call):
            names |= {value for value in step.arguments.values() if isinstance(value, str) and _is_id(value)}
    if task.scenario is not None:
        names |= {str(card.value) for card in task.scenario.facts}
    articles = {article.id for article in world.articles}
    # A short number ("2") is a count as often as a value of the task's own.
    return {name for name in names if name in articles or (len(name) > 2 and any(char.isdigit() for char in name))}


def _is_id(value: str) -> bool:
    return any(char.isdigit() for char in value) and " " not in value


def names_own(criterion: Criterion, names: set[str]) -> bool:
    """Whether the criterion's text or predicate names one of `names` (or a record that the task makes)."""
    written = canonical(criterion.predicate).decode() if criterion.predicate is not None else ""
    if '"ref":' in written:
        return True
    said = {word.strip(".,$") for word in _WORD.findall(criterion.text.replace("$", " "))}
    return not names.isdisjoint(said) or not names.isdisjoint(_scalars(criterion.predicate))


def _scalars(value: Any) -> Iterator[str]:
    """Every string and number in plain data and in records, as text; numbers without needless digits."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float):
        yield f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _scalars(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _scalars(part)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _scalars(getattr(value, name))
