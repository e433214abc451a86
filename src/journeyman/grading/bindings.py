"""How an oracle refers to rows that do not exist yet: `${name.column}` stands for a value of an expected row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from journeyman.errors import TaskFileError
from journeyman.grading.match import Bindings, Tables, match_rows
from journeyman.task import RowChange, Scalar, Task

_REF = re.compile(r"\$\{([A-Za-z_]\w*)\.([A-Za-z_]\w*)\}")


def substitute(value: Any, bindings: Bindings) -> Any:
    """`value` with every `${name.column}` in its strings replaced; a string that is nothing else takes the value's type.

    Raises:
        TaskFileError: a row that is not bound (yet), or a column it does not have.
    """
    if isinstance(value, str):
        whole = _REF.fullmatch(value)
        if whole:
            return _lookup(whole, bindings)
        return _REF.sub(lambda match: str(_lookup(match, bindings)), value) if "${" in value else value
    if isinstance(value, dict):
        return {key: substitute(item, bindings) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, bindings) for item in value]
    return value


def bindings_for(task: Task, world: Tables, changes: Sequence[RowChange]) -> dict[str, dict[str, Scalar]]:
    """Row name -> values, for the outcome of which most rows can be told among the changes so far.

    A row that exists but does not yet have its final values is bound as well: the oracle needs the id of a ticket
    that it will close later.
    """
    best: dict[str, dict[str, Scalar]] = {}
    for outcome in task.outcomes:
        if min(len(outcome.rows), len(changes)) <= len(best):
            continue  # it cannot bind more
        bindings = match_rows(outcome, changes, world).bindings
        if len(bindings) > len(best):
            best = bindings
    return best


def _lookup(match: re.Match[str], bindings: Bindings) -> Scalar:
    name, column = match.groups()
    try:
        return bindings[name][column]
    except KeyError:
        raise TaskFileError(
            "oracle",
            match.group(),
            f"no changed row {name!r} with column {column!r} at this step: make its write come first.",
        ) from None
