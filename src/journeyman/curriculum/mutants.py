"""Perturbations of a predicate: another argument, tool, slot or value, another count, another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    CallPattern,
    Changed,
    Consented,
    EventPattern,
    Happened,
    Match,
    Moment,
    Predicate,
    Scalar,
    Unconsented,
    Without,
)


def other_value(value: Scalar) -> Scalar:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "~nothing~" if value is None else f"{value}~"


def other_matcher(matcher: Any) -> Any:
    """A matcher that holds for nothing the first holds for (for nothing that occurs, where it holds for anything)."""
    if not isinstance(matcher, Match):
        return other_value(matcher)
    if matcher.one_of is not None:
        return Match(one_of=[other_value(value) for value in matcher.one_of])
    if matcher.contains is not None:
        return Match(contains=f"{matcher.contains}~")
    return "~nothing~"


def criterion_mutants(predicate: Predicate) -> Iterator[tuple[str, Predicate]]:
    """(what changed, perturbed predicate), in order. The first word tells the kind: `argument`, `count`, `order`."""
    if isinstance(predicate, AllOf | AnyOf):
        where = "" if isinstance(predicate, AllOf) or len(predicate.of) == 1 else " in a part of any_of"
        for at, part in enumerate(predicate.of):
            for change, other in criterion_mutants(part):
                yield f"{change}{where}", replace(predicate, of=[*predicate.of[:at], other, *predicate.of[at + 1 :]])
    elif isinstance(predicate, Happened):
        for change, moment in _moments(predicate.what):
            yield change, replace(predicate, what=moment)
        yield "count raised", replace(predicate, min=predicate.min + 1)
    elif isinstance(predicate, Before | Without):
        for change, moment in _moments(predicate.first):
            yield f"{change} of `first`", replace(predicate, first=moment)
        for change, moment in _moments(predicate.then):
            yield f"{change} of `then`", replace(predicate, then=moment)
        yield "order turned", replace(predicate, first=predicate.then, then=predicate.first)
    elif isinstance(predicate, Consented | Unconsented):
        for change, call in _calls(predicate.call):
            yield change, replace(predicate, call=call)
    elif isinstance(predicate, Changed):
        row = predicate.row
        for name, matcher in row.where.items():
            keys = {**row.where, name: other_matcher(matcher)}
            yield f"argument {name}", replace(predicate, row=replace(row, where=keys))
        for name, matcher in row.set.items():
            values = {**row.set, name: other_matcher(matcher)}
            yield f"argument {name}", replace(predicate, row=replace(row, set=values))


def _moments(moment: Moment) -> Iterator[tuple[str, Moment]]:
    if isinstance(moment, EventPattern):
        yield "argument kind", replace(moment, kind="left" if moment.kind != "left" else "asked")
        if moment.slot is not None:
            yield "argument slot", replace(moment, slot=f"{moment.slot}~")
        if moment.value is not None:
            yield "argument value", replace(moment, value=other_matcher(moment.value))
        if moment.tool is not None:
            yield "argument tool", replace(moment, tool=f"{moment.tool}~")
        return
    yield from _calls(moment)


def _calls(call: CallPattern) -> Iterator[tuple[str, CallPattern]]:
    tools = [call.tool] if isinstance(call.tool, str) else call.tool
    yield "argument tool", replace(call, tool=[f"{tool}~" for tool in tools])
    for name, matcher in call.arguments.items():
        yield f"argument {name}", replace(call, arguments={**call.arguments, name: other_matcher(matcher)})
