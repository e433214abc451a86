"""Which calls speak the interface, told by hand on the corner shop's tools."""

from __future__ import annotations

from typing import Any

import corner_shop
import pytest
from fakes import bare_task

from journeyman.episode import Episode, Message, Seeds, ToolCall
from journeyman.rollout.validity import call_validity, is_valid_call

OFFERED = corner_shop.WORLD.tools_by_name


@pytest.mark.parametrize(
    ("name", "arguments", "valid"),
    [
        ("get_order", {"order_id": "OR-0001"}, True),
        ("get_order", {"order_id": "nonsense"}, True),  # the schema takes any text: whether it helps is no matter here
        ("get_order", {}, False),
        ("get_order", {"order_id": 5}, False),
        ("get_order", {"order_id": "OR-0001", "more": 1}, False),
        ("get_ordr", {"order_id": "OR-0001"}, False),
        ("list_orders", {"customer_id": "CU-0001"}, True),
        ("list_orders", {"customer_id": "CU-0001", "limit": 2}, True),
        ("list_orders", {"customer_id": "CU-0001", "limit": "two"}, False),
        ("cancel_order", {"order_id": "OR-0001", "reason": "regret"}, True),
        ("cancel_order", {"order_id": "OR-0001", "reason": "boredom"}, False),
        ("get_order", None, False),
        ("", {}, False),
    ],
)
def test_a_call_is_valid_where_its_tool_is_offered_and_its_schema_takes_the_arguments(
    name: str, arguments: dict[str, Any] | None, valid: bool
) -> None:
    assert is_valid_call(ToolCall("0.0", name, arguments), OFFERED) == valid


def episode(task_id: str, *turns: list[ToolCall]) -> Episode:
    messages = [Message("assistant", "", calls=calls, turn=number) for number, calls in enumerate(turns)]
    return Episode(
        "m/0/0/0", 0, task_id, "", "f", Seeds(1, 2, 3), "model", None, messages, [], [], [], "left", None, 0.0, "none"
    )  # fmt: skip


def test_the_share_is_of_all_calls_written() -> None:
    good = ToolCall("", "get_order", {"order_id": "OR-0001"})
    bad = ToolCall("", "get_order", {})
    ticket = ToolCall("", "open_ticket", {"order_id": "OR-0001", "text": "x"})
    tasks = {"all": bare_task(id="all"), "few": bare_task(id="few", tools=["get_order"])}
    world = corner_shop.WORLD
    assert call_validity([], world, tasks) == {"calls_written": 0, "valid_call_share": 0.0}
    assert call_validity([episode("all", [], [])], world, tasks) == {"calls_written": 0, "valid_call_share": 0.0}
    seen = [episode("all", [good, bad], [], [ticket]), episode("few", [good], [ticket])]
    # Two of three, and one of two: a tool that the task withholds is not offered.
    assert call_validity(seen, world, tasks) == {"calls_written": 5, "valid_call_share": 0.6}
