"""The system prompt: who the agent works for, the day, and (compact) how to act and what it can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from journeyman.task import Task

if TYPE_CHECKING:
    from journeyman.world import ToolSpec, World

ToolRendering = Literal["compact", "json"]

CALL_FORMAT = 'Call tools with <tool_call>{"name": "...", "arguments": {...}}</tool_call>:'
"""How a model without a tool format of its own is told to call."""


def system_prompt(world: World, task: Task, mode: ToolRendering = "compact") -> str:
    """The system message of an episode.

    `compact` names the offered tools here, one signature line each. With `json` the renderer shows their schemas the
    way its model's template does, and the message leaves tools out.
    """
    lines = [world.desk.strip(), f"Today is {task.now[:10]}."]
    if mode == "compact":
        lines += [CALL_FORMAT, *(tool.signature for tool in offered_tools(world, task))]
    return "\n".join(lines)


def offered_tools(world: World, task: Task) -> list[ToolSpec]:
    """The tools an episode of `task` offers, in world order."""
    tools = world.tools if task.tools is None else world.offered(tuple(task.tools)).values()
    return [tool.spec for tool in tools]
