"""What a tool is made of: schema, signature, and the errors of a bad definition."""

from __future__ import annotations

from typing import Any, Literal

import library_desk
import pytest

from journeyman.errors import WorldError
from journeyman.world import Tool, ToolContext, tool


def test_schema_and_signature_come_from_function_and_docstring():
    found = library_desk.lend_many
    assert found.description == "Lend several books at once."
    assert found.signature() == (
        "lend_many(member_id:str, lines:[{book_id:str, days?:int}], remark?:{text:str, urgent:bool})"
    )
    line = {
        "type": "object",
        "properties": {"book_id": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["book_id"],
        "additionalProperties": False,
    }
    remark = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "urgent": {"type": "boolean"}},
        "required": ["text", "urgent"],
        "additionalProperties": False,
    }
    assert found.parameters == {
        "type": "object",
        "properties": {
            "member_id": {"type": "string", "description": "who borrows."},
            "lines": {
                "type": "array",
                "items": line,
                "description": "one record a book; days is the length of the loan in days.",
            },
            "remark": {"anyOf": [remark, {"type": "null"}], "description": "kept with every loan."},
        },
        "required": ["member_id", "lines"],
        "additionalProperties": False,
    }


def test_enums_and_defaults_are_shown():
    assert library_desk.set_status.signature() == "set_status(member_id:str, status:active|blocked)"
    assert library_desk.set_status.parameters["properties"]["status"]["enum"] == ["active", "blocked"]
    assert library_desk.find_members.parameters["properties"]["limit"]["default"] == 5
    assert library_desk.find_members.parameters["required"] == ["name"]
    spec = library_desk.roll_dice.spec
    assert (spec.name, spec.kind, spec.signature) == ("roll_dice", "read", "roll_dice()")


def test_a_description_may_run_over_lines():
    @tool("read")
    async def look(ctx: ToolContext, since: str, kind: Literal["a", "b"] = "a") -> None:
        """Look at
        everything.

        More that the agent is not told.

        Args:
            since: first day, ISO date
                (inclusive): not later than today.
            kind (str): which.

        Returns:
            nothing: at all.
        """

    assert look.description == "Look at everything."
    described = {name: part["description"] for name, part in look.parameters["properties"].items()}
    assert described == {"since": "first day, ISO date (inclusive): not later than today.", "kind": "which."}


async def no_annotation(ctx: ToolContext, a) -> None:  # type: ignore[no-untyped-def]
    """Text.

    Args:
        a: text.
    """


async def no_description(ctx: ToolContext, a: int) -> None:
    """Text."""


async def no_docstring(ctx: ToolContext) -> None:
    pass


async def bad_type(ctx: ToolContext, a: set[int]) -> None:
    """Text.

    Args:
        a: text.
    """


async def two_types(ctx: ToolContext, a: int | str) -> None:
    """Text.

    Args:
        a: text.
    """


async def stray(ctx: ToolContext, a: int) -> None:
    """Text.

    Args:
        a: text.
        b: text.
    """


async def many(ctx: ToolContext, *a: int) -> None:
    """Text.

    Args:
        a: text.
    """


async def no_context() -> None:
    """Text."""


def not_async(ctx: ToolContext) -> None:
    """Text."""


async def unresolved(ctx: ToolContext, a: Nowhere) -> None:  # type: ignore[name-defined] # noqa: F821
    """Text.

    Args:
        a: text.
    """


@pytest.mark.parametrize(
    ("function", "key", "words"),
    [
        (no_annotation, "a", "no annotation"),
        (no_description, "a", "no description"),
        (no_docstring, "", "no docstring"),
        (bad_type, "a", "not an argument type"),
        (two_types, "a", "not an argument type"),
        (stray, "b", "not a parameter"),
        (many, "a", "plain named"),
        (no_context, "ctx", "ToolContext"),
        (not_async, "", "async"),
        (unresolved, "", "Nowhere"),
    ],
)
def test_a_bad_definition_is_refused_by_function_and_argument(function: Any, key: str, words: str):
    with pytest.raises(WorldError, match=words) as caught:
        tool("read")(function)
    assert caught.value.where == f"tool {function.__name__}"
    assert caught.value.key == key


def test_a_tool_is_read_or_write():
    with pytest.raises(WorldError, match="sometimes"):
        tool("sometimes")  # type: ignore[arg-type]


def test_checked_arguments_keep_their_types():
    found: Tool = library_desk.lend_many
    checked = found.read_arguments({"member_id": "M-1", "lines": [{"book_id": "B-1"}]})
    assert checked == {"member_id": "M-1", "lines": [library_desk.Line("B-1", 14)]}
    price = library_desk.set_price.read_arguments({"book_id": "B-1", "price": 5})["price"]
    assert (price, type(price)) == (5.0, float)
