"""Tools: typed async functions of a world. Schema, signature and argument checks come from signature and docstring.

Example:
    @tool("read")
    async def find_book(ctx: ToolContext, title: str, limit: int = 5) -> list[dict[str, Any]]:
        '''Find books by title.

        Args:
            title: part of the title.
            limit: most books to return, 1 to 20.
        '''
        return ctx.all("SELECT * FROM books WHERE title LIKE ? LIMIT ?", (f"%{title}%", limit))

This module knows nothing of databases or sessions.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from journeyman.errors import ToolError, WorldError
from journeyman.task import Data
from journeyman.world.arguments import Shape, shape_of

ToolKind = Literal["read", "write"]
ToolFunction = Callable[..., Awaitable[Any]]

_NO_ARGUMENTS: dict[str, Any] = {}


class ToolSpec(Data, frozen=True):
    """What a policy is told of a tool. `parameters` is a JSON Schema object; `signature` one compact line."""

    name: str
    description: str
    parameters: dict[str, Any]
    kind: ToolKind
    signature: str


@dataclass(frozen=True)
class Tool:
    """One tool. `shapes`: argument -> shape, in order; `required`: those without a default; `ordered`: whether the order of
    the rows in its result means anything."""

    name: str
    kind: ToolKind
    description: str
    parameters: dict[str, Any]
    function: ToolFunction
    shapes: Mapping[str, Shape] = field(repr=False)
    required: tuple[str, ...] = ()
    ordered: bool = True

    def signature(self) -> str:
        """`name(arg:type, optional?:type)`; the members of an enum are joined by |."""
        parts = [f"{name}{'' if name in self.required else '?'}:{shape.brief}" for name, shape in self.shapes.items()]
        return f"{self.name}({', '.join(parts)})"

    @cached_property
    def spec(self) -> ToolSpec:
        """What a policy is told of this tool."""
        return ToolSpec(self.name, self.description, self.parameters, self.kind, self.signature())

    def read_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The checked arguments, by name.

        Raises:
            ToolError: `unknown_argument`, `missing_argument` or `invalid_argument`, naming the argument and the allowed ones.
        """
        if not arguments and not self.required:
            return _NO_ARGUMENTS
        shapes = self.shapes
        checked = {}
        for name, value in arguments.items():
            shape = shapes.get(name) if type(name) is str else None
            if shape is None:
                raise ToolError(
                    "unknown_argument", f"{self.name} has no argument {ascii(name)[:60]}; {self._allowed()}"
                )
            checked[name] = shape.check(value, name)
        for name in self.required:
            if name not in checked:
                raise ToolError("missing_argument", f"{self.name} needs the argument `{name}`; {self._allowed()}")
        return checked

    def _allowed(self) -> str:
        return "allowed: " + (", ".join(self.shapes) or "no arguments")


def tool(kind: ToolKind, *, ordered: bool = True) -> Callable[[ToolFunction], Tool]:
    """Make a tool of an async function whose first parameter is the ToolContext.

    Args:
        ordered: False where the lists in its result are sets: the same rows in another order are the same result.

    Raises:
        WorldError: the function is not async, lacks a description, or an argument lacks an annotation that tools allow
            or a line in the docstring's `Args:` section. Names function and argument.
    """
    if kind not in ("read", "write"):
        raise WorldError("tool", str(kind), 'a tool is marked "read" or "write".')
    return lambda function: _make(kind, function, ordered)


def _make(kind: ToolKind, function: ToolFunction, ordered: bool) -> Tool:
    name = function.__name__
    where = f"tool {name}"
    if not inspect.iscoroutinefunction(function):
        raise WorldError(where, "", "is not async: write `async def`.")
    description, described = _docstring(where, inspect.getdoc(function) or "")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        raise WorldError(where, "ctx", "the first parameter must be the ToolContext.")
    hints = _hints(where, function)
    shapes: dict[str, Shape] = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in parameters[1:]:
        shape = _shape(where, parameter, hints)
        if not described.get(parameter.name):
            raise WorldError(where, parameter.name, "has no description: add a line to the docstring's Args section.")
        shapes[parameter.name] = shape
        properties[parameter.name] = {**shape.schema, "description": described[parameter.name]}
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            properties[parameter.name]["default"] = parameter.default
    for extra in described:
        if extra not in shapes:
            raise WorldError(where, extra, "is described in the docstring but is not a parameter: remove or rename it.")
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Tool(name, kind, description, schema, function, shapes, tuple(required), ordered)


def _hints(where: str, function: ToolFunction) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, localns={"ToolContext": Any})
    except (NameError, TypeError, AttributeError) as error:
        raise WorldError(
            where, "", f"an annotation cannot be resolved ({error}): import its type in the module."
        ) from error


def _shape(where: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> Shape:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise WorldError(where, parameter.name, "must be a plain named parameter.")
    if parameter.name not in hints:
        raise WorldError(where, parameter.name, "has no annotation: give its type.")
    try:
        return shape_of(hints[parameter.name])
    except TypeError as error:
        raise WorldError(where, parameter.name, f"{error}.") from error


_ARGUMENT = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")
_SECTION = re.compile(r"^(Returns|Raises|Yields|Example|Examples|Note|Notes):\s*$")


def _docstring(where: str, text: str) -> tuple[str, dict[str, str]]:
    """The first paragraph as one line, and the descriptions of the Args section."""
    head, _, rest = text.partition("\nArgs:")
    description = " ".join(head.strip().split("\n\n")[0].split())
    if not description:
        raise WorldError(where, "", "has no docstring: its first paragraph is what the agent reads.")
    described: dict[str, str] = {}
    current, indent = "", 0
    for line in rest.splitlines():
        if not line.strip():
            continue
        if _SECTION.match(line):
            break
        depth = len(line) - len(line.lstrip())
        match = _ARGUMENT.match(line.strip())
        if match and (not current or depth <= indent):
            current, indent = match[1], depth
            described[current] = match[2].strip()
        elif current:
            described[current] = f"{described[current]} {line.strip()}".strip()
    return description, described
