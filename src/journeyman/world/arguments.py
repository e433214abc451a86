"""The types a tool argument may have: one object gives its JSON Schema, its short signature and its check.

A shape never coerces, with one exception that loses nothing: an integer where a float is wanted. What SQLite or JSON
cannot hold (NaN, 65-bit integers, lone surrogates, NUL, endless text) is refused here, so tools need not think of it.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

import msgspec

from journeyman.errors import ToolError

MAX_TEXT = 4_000
"""Characters allowed in one string argument."""
MAX_ITEMS = 100
"""Items allowed in one list argument."""
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

Check = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Shape:
    """A type. `schema`: JSON Schema; `brief`: as in a signature; `check(value, path)`: the value, or ToolError."""

    schema: dict[str, Any]
    brief: str
    check: Check


def invalid(path: str, expected: str, value: Any) -> ToolError:
    """The error of a mistyped argument: which one, what is allowed, what came."""
    return ToolError("invalid_argument", f"argument `{path}`: expected {expected}, got {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        text = value if len(value) <= 40 else value[:40] + "…"
        return "the string " + ascii(text)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the integer {value}" if INT_MIN <= value <= INT_MAX else "an integer beyond 64 bits"
    if isinstance(value, float):
        return f"the number {value}"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, Mapping) else "something else"


def check_text(value: Any, path: str) -> str:
    """A string that JSON and SQLite can hold, of at most MAX_TEXT characters."""
    if type(value) is not str:
        raise invalid(path, "a string", value)
    if len(value) > MAX_TEXT:
        raise ToolError("invalid_argument", f"argument `{path}`: {len(value)} characters, at most {MAX_TEXT} allowed")
    if "\0" in value:
        raise ToolError("invalid_argument", f"argument `{path}`: must not hold a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ToolError("invalid_argument", f"argument `{path}`: is not valid Unicode text") from None
    return value


def check_integer(value: Any, path: str) -> int:
    """An integer of at most 64 bits; true and false are not integers."""
    if type(value) is not int or not INT_MIN <= value <= INT_MAX:
        raise invalid(path, "an integer", value)
    return value


def check_number(value: Any, path: str) -> float:
    """A finite number; an integer is taken as one."""
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise invalid(path, "a finite number", value)
    return value


def check_boolean(value: Any, path: str) -> bool:
    """true or false."""
    if type(value) is not bool:
        raise invalid(path, "true or false", value)
    return value


_SIMPLE: dict[type, Shape] = {
    str: Shape({"type": "string"}, "str", check_text),
    int: Shape({"type": "integer"}, "int", check_integer),
    float: Shape({"type": "number"}, "float", check_number),
    bool: Shape({"type": "boolean"}, "bool", check_boolean),
}


def shape_of(annotation: Any) -> Shape:
    """The shape of an annotation.

    Raises:
        TypeError: a type that tools do not allow; the text says which are.
    """
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin = get_origin(annotation)
    if origin is Literal:
        return _choice(get_args(annotation))
    if origin is list:
        return _list(shape_of(get_args(annotation)[0]))
    if origin in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        if len(rest) == 1 and len(get_args(annotation)) == 2:
            return _optional(shape_of(rest[0]))
    if is_typeddict(annotation):
        hints = typing.get_type_hints(annotation)
        required = annotation.__required_keys__
        return _record({name: (shape_of(hint), name in required) for name, hint in hints.items()}, dict)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        fields = msgspec.structs.fields(annotation)
        return _record({field.name: (shape_of(field.type), field.required) for field in fields}, annotation)
    raise TypeError(
        f"{annotation!r} is not an argument type: use str, int, float, bool, Literal of strings, list[…], X | None, "
        "a TypedDict or a msgspec Struct"
    )


def _choice(values: tuple[Any, ...]) -> Shape:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a Literal of an argument holds strings only")
    allowed, names = frozenset(values), ", ".join(values)

    def check(value: Any, path: str) -> Any:
        if type(value) is not str or value not in allowed:
            raise invalid(path, f"one of {names}", value)
        return value

    return Shape({"type": "string", "enum": list(values)}, "|".join(values), check)


def _list(item: Shape) -> Shape:
    def check(value: Any, path: str) -> Any:
        if not isinstance(value, list | tuple):
            raise invalid(path, f"a list of {item.brief}", value)
        if len(value) > MAX_ITEMS:
            raise ToolError("invalid_argument", f"argument `{path}`: {len(value)} items, at most {MAX_ITEMS} allowed")
        return [item.check(part, f"{path}[{index}]") for index, part in enumerate(value)]

    return Shape({"type": "array", "items": item.schema}, f"[{item.brief}]", check)


def _optional(inner: Shape) -> Shape:
    def check(value: Any, path: str) -> Any:
        return None if value is None else inner.check(value, path)

    return Shape({"anyOf": [inner.schema, {"type": "null"}]}, inner.brief, check)


def _record(fields: dict[str, tuple[Shape, bool]], build: Callable[..., Any]) -> Shape:
    names = ", ".join(fields)

    def check(value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            raise invalid(path, f"an object with {names}", value)
        for key in value:
            if key not in fields:
                raise ToolError("unknown_argument", f"argument `{path}`: unknown field {_shown(key)}; allowed: {names}")
        for name, (_, required) in fields.items():
            if required and name not in value:
                raise ToolError("missing_argument", f"argument `{path}.{name}` is missing; allowed: {names}")
        return build(**{name: fields[name][0].check(part, f"{path}.{name}") for name, part in value.items()})

    schema = {
        "type": "object",
        "properties": {name: shape.schema for name, (shape, _) in fields.items()},
        "required": [name for name, (_, required) in fields.items() if required],
        "additionalProperties": False,
    }
    brief = (
        "{" + ", ".join(f"{name}{'' if need else '?'}:{shape.brief}" for name, (shape, need) in fields.items()) + "}"
    )
    return Shape(schema, brief, check)


def recordable(value: Any, depth: int = 8) -> Any:
    """`value` made safe to store: text cut to MAX_TEXT and valid, numbers JSON can hold, bounded depth and length."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if INT_MIN <= value <= INT_MAX else "(integer beyond 64 bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        text = value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
    if depth == 0:
        return "(nested too deep)"
    if isinstance(value, Mapping):
        items = list(value.items())[:MAX_ITEMS]
        return {str(recordable(str(key))): recordable(part, depth - 1) for key, part in items}
    if isinstance(value, list | tuple):
        return [recordable(part, depth - 1) for part in value[:MAX_ITEMS]]
    return f"({type(value).__name__})"
