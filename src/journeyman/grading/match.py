"""Matchers, and the one-to-one matching of expected rows with net row changes.

Knows tables only through `Tables` (a `World` is one); sees no dialogue and no tools.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from journeyman.episode import RowResult
from journeyman.task import ExpectedRow, Match, Outcome, RowChange, Scalar
from journeyman.world.schema import Table

Bindings = Mapping[str, Mapping[str, Scalar]]
"""Row name -> column -> value: what `ref` and `${name.column}` speak of."""

SEARCH_STEPS = 20_000
"""Bound of the search for the best matching; beyond it the best one found so far stands."""
_NUMBER = (int, float)


class Tables(Protocol):
    """What matching needs of a world."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """Table name -> definition."""
        ...

    @property
    def volatile(self) -> Mapping[str, Collection[str]]:
        """Table name -> columns that are not compared."""
        ...

    @property
    def volatile_tables(self) -> Collection[str]:
        """Tables whose changes are not compared unless an outcome names them."""
        ...

    @property
    def touches(self) -> Mapping[str, Collection[str]]:
        """Write tool -> the slots that may tell another value after it; one that is not listed may change any."""
        ...


class RowMatching(NamedTuple):
    """`results` in the order of the expected rows, then collateral changes; `bindings` of matched and wrong rows."""

    results: list[RowResult]
    bindings: dict[str, dict[str, Scalar]]

    @property
    def exact(self) -> bool:
        """Every expected row matched and nothing else changed."""
        return all(result.status == "matched" for result in self.results)


def values_equal(a: Any, b: Any) -> bool:
    """Equality with type normalisation.

    Numbers compare as numbers (2 == 2.0, True == 1, floats to a relative 1e-9); strings exactly after trimming and
    Unicode NFC; a string never equals a number; None equals only None. Lists and mappings compare element by element.
    """
    if isinstance(a, str):
        return isinstance(b, str) and (a == b or _text(a) == _text(b))
    if a is None or b is None:
        return a is b
    if isinstance(a, _NUMBER) and isinstance(b, _NUMBER):
        return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(values_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(values_equal(x, y) for x, y in zip(a, b, strict=True))
    return False


def matches(matcher: Any, value: Any, bindings: Bindings) -> bool:
    """Whether `value` satisfies `matcher`; a `ref` to a row that is not bound matches nothing.

    `contains` ignores case and does not cut numbers: "10" is not in "$1,010.50". In a list it means an element.
    """
    if not isinstance(matcher, Match):
        return values_equal(matcher, value)
    if matcher.any:
        return True
    if matcher.one_of is not None:
        return any(values_equal(choice, value) for choice in matcher.one_of)
    if matcher.contains is not None:
        if isinstance(value, list):
            return any(values_equal(matcher.contains, item) for item in value)
        return isinstance(value, str) and contains(value, matcher.contains)
    found, wanted = resolve(matcher, bindings)
    return found and values_equal(wanted, value)


def resolve(matcher: Match, bindings: Bindings) -> tuple[bool, Scalar]:
    """(found, value) of a `ref`; (False, None) for other matchers and unbound rows."""
    if matcher.ref is None:
        return False, None
    name, _, column = matcher.ref.partition(".")
    row = bindings.get(name)
    if row is None or column not in row:
        return False, None
    return True, row[column]


def contains(text: str, needle: str) -> bool:
    """Whether `needle` stands in `text`, without regard to case, and not inside a longer number."""
    haystack, needle = _text(text).casefold(), _text(needle).casefold()
    start = haystack.find(needle)
    while start >= 0 and needle:
        end = start + len(needle)
        cut_left = needle[0].isdigit() and _numeric(haystack[max(start - 2, 0) : start][::-1])
        cut_right = needle[-1].isdigit() and _numeric(haystack[end : end + 2])
        if not (cut_left or cut_right):
            return True
        start = haystack.find(needle, start + 1)
    return not needle


def relevant(changes: Sequence[RowChange], world: Tables, outcome: Outcome | None = None) -> list[RowChange]:
    """The changes that count: without updates that touch volatile columns only, and without volatile tables
    (but for those that a row of `outcome` names). Inserts and deletes of other tables always count."""
    named = {row.table for row in outcome.rows} if outcome is not None else frozenset[str]()
    ignored = [table for table in world.volatile_tables if table not in named]
    kept = []
    for change in changes:
        if change.table in ignored:
            continue
        if change.op == "update":
            volatile = world.volatile.get(change.table, ())
            if volatile and all(column in volatile for column in change.new):
                continue
        kept.append(change)
    return kept


def row_matches(row: ExpectedRow, change: RowChange, bindings: Bindings | None) -> bool:
    """Whether `change` has the listed properties of `row`; other columns are free (the predicate `changed`). Refs are not
    looked at where `bindings` is None."""
    if row.table != change.table or row.op != change.op:
        return False
    known = bindings or {}
    for read, matchers in ((_before, row.where), (_after, row.set)):
        for column, matcher in matchers.items():
            if bindings is None and _is_ref(matcher):
                continue
            found, value = read(change, column)
            # What is equal matches, and most of it is.
            if not found or not (matcher == value or matches(matcher, value, known)):
                return False
    return True


def match_rows(outcome: Outcome, changes: Sequence[RowChange], world: Tables) -> RowMatching:
    """Match the rows of an outcome with changes: one to one, in any order, as many as possible.

    Expected rows without a match are paired with the nearest unmatched change of the same table and kind whose `where`
    holds (`wrong`, with what differs), else `missing`. Changes that are left are `collateral`.
    """
    counted = relevant(changes, world, outcome)
    if not outcome.rows:
        return RowMatching([_collateral(change) for change in counted], {})
    chosen = _assign(outcome.rows, counted, world)
    bindings: dict[str, dict[str, Scalar]] = {
        row.name: _row_values(counted[number]) for row, number in zip(outcome.rows, chosen, strict=True) if number >= 0
    }
    taken = {number for number in chosen if number >= 0}
    results: list[RowResult] = []
    for row, number in zip(outcome.rows, chosen, strict=True):
        if number >= 0:
            results.append(RowResult(row.name, "matched"))
            continue
        near = _nearest(row, counted, taken, world, bindings)
        if near is None:
            results.append(RowResult(row.name, "missing", f"no {row.op} of {row.table} as expected"))
            continue
        place, faults = near
        taken.add(place)
        bindings[row.name] = _row_values(counted[place])
        results.append(RowResult(row.name, "wrong", "; ".join(faults)))
    results += [_collateral(change) for number, change in enumerate(counted) if number not in taken]
    return RowMatching(results, bindings)


def _assign(rows: Sequence[ExpectedRow], changes: list[RowChange], world: Tables) -> list[int]:
    """For each row the number of its change or -1: a largest one-to-one matching that respects refs."""
    options = [[n for n, change in enumerate(changes) if _fits(row, change, world)] for row in rows]
    links = _links(rows)
    linked = {link.place for link in links} | {
        place for place, row in enumerate(rows) for link in links if row.name == link.name
    }
    order = sorted(range(len(rows)), key=lambda place: (len(options[place]), place))
    best = [-1] * len(rows)
    best_count = 0
    current = [-1] * len(rows)
    used: set[int] = set()
    steps = 0

    def search(depth: int, count: int) -> bool:
        """Depth-first with the bound that `count` and all rows to come must beat the best; True when all are matched."""
        nonlocal best, best_count, steps
        steps += 1
        if depth == len(order):
            if count > best_count:
                best, best_count = current.copy(), count
            return best_count == len(rows)
        if count + len(order) - depth <= best_count or steps > SEARCH_STEPS:
            return False
        place = order[depth]
        for number in options[place]:
            if number not in used:
                current[place] = number
                if place not in linked or _refs_hold(links, rows, current, changes):
                    used.add(number)
                    if search(depth + 1, count + 1):
                        return True
                    used.discard(number)
                current[place] = -1
        return search(depth + 1, count)

    search(0, 0)
    # A row whose ref points to an unmatched row is no match.
    bound = {rows[place].name for place, number in enumerate(best) if number >= 0}
    loose = {link.place for link in links if link.name not in bound}
    return [-1 if place in loose else number for place, number in enumerate(best)]


class _Link(NamedTuple):
    """A ref: the row at `place` wants in `column` (of its key and old values if `before`) a value of the row `name`."""

    place: int
    before: bool
    column: str
    matcher: Match
    name: str


def _links(rows: Sequence[ExpectedRow]) -> list[_Link]:
    return [
        _Link(place, before, column, matcher, matcher.ref.partition(".")[0])
        for place, row in enumerate(rows)
        for before, matchers in ((True, row.where), (False, row.set))
        for column, matcher in matchers.items()
        if isinstance(matcher, Match) and matcher.ref is not None
    ]


def _refs_hold(
    links: Sequence[_Link], rows: Sequence[ExpectedRow], current: list[int], changes: list[RowChange]
) -> bool:
    """Whether every ref between rows matched so far holds."""
    bindings = {row.name: _row_values(changes[n]) for row, n in zip(rows, current, strict=True) if n >= 0}
    for place, before, column, matcher, name in links:
        if current[place] >= 0 and name in bindings:
            change = changes[current[place]]
            _, value = _before(change, column) if before else _after(change, column)
            if not matches(matcher, value, bindings):
                return False
    return True


def _fits(row: ExpectedRow, change: RowChange, world: Tables) -> bool:
    """Whether `change` is `row`, refs aside."""
    return row_matches(row, change, None) and next(_unlisted(row, change, world), None) is None


def _faults(row: ExpectedRow, change: RowChange, world: Tables, bindings: Bindings) -> Iterator[str]:
    """What keeps `change`, of the same table and kind, from being `row`; nothing for a match."""
    for read, matchers in ((_before, row.where), (_after, row.set)):
        for column, matcher in matchers.items():
            found, value = read(change, column)
            if not found:
                yield f"{column} did not change where {_show(matcher)} was expected"
            elif not matches(matcher, value, bindings):
                yield f"{column} {_show(value)} where {_show(matcher)} was expected"
    yield from _unlisted(row, change, world)


def _unlisted(row: ExpectedRow, change: RowChange, world: Tables) -> Iterator[str]:
    if change.op == "delete":
        return
    volatile = world.volatile.get(change.table, ())
    table = world.tables.get(change.table)
    key = table.key if table else tuple(change.key)
    defaults = table.defaults if table else {}
    for column, value in change.new.items():
        if column in row.set or column in volatile:
            continue
        if change.op == "update":
            yield f"{column} changed to {_show(value)}, which was not asked for"
        elif column not in key and value is not None and not values_equal(value, defaults.get(column)):
            yield f"{column} {_show(value)} where nothing was expected"


def _nearest(
    row: ExpectedRow, changes: list[RowChange], taken: set[int], world: Tables, bindings: Bindings
) -> tuple[int, list[str]] | None:
    best: tuple[int, list[str]] | None = None
    where_only = ExpectedRow(row.name, row.table, row.op, row.where)
    for number, change in enumerate(changes):
        if number in taken or change.table != row.table or change.op != row.op:
            continue
        if not row_matches(where_only, change, bindings):
            continue
        faults = list(_faults(row, change, world, bindings))
        if best is None or len(faults) < len(best[1]):
            best = (number, faults or ["could not be matched within the bound of the search"])
    return best


def _is_ref(matcher: Any) -> bool:
    return isinstance(matcher, Match) and matcher.ref is not None


def _before(change: RowChange, column: str) -> tuple[bool, Scalar]:
    if column in change.key:
        return True, change.key[column]
    return column in change.old, change.old.get(column)


def _after(change: RowChange, column: str) -> tuple[bool, Scalar]:
    if column in change.new:
        return True, change.new[column]
    return change.op == "insert" and column in change.key, change.key.get(column)


def _row_values(change: RowChange) -> dict[str, Scalar]:
    return {**change.old, **change.key, **change.new}


def _collateral(change: RowChange) -> RowResult:
    key = ",".join(str(value) for value in change.key.values())
    if change.op == "update":
        detail = "; ".join(f"{c} {_show(change.old.get(c))} became {_show(v)}" for c, v in change.new.items())
    else:
        detail = f"{change.op} that was not asked for"
    return RowResult(f"{change.table}/{key}", "collateral", detail)


def _show(value: object) -> str:
    if isinstance(value, Match):
        if value.one_of is not None:
            return " or ".join(map(_show, value.one_of))
        return "anything" if value.any else f"${{{value.ref}}}" if value.ref else f"text with {value.contains!r}"
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def _numeric(beside: str) -> bool:
    """Whether the one or two characters beside a number continue it."""
    return bool(beside) and (beside[0].isdigit() or (beside[0] in ".," and beside[1:].isdigit()))
