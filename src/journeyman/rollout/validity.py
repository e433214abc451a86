"""Whether calls speak the interface: a tool that is offered, arguments that its schema accepts. Nothing of whether they help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from journeyman.episode import Episode, ToolCall
from journeyman.errors import ToolError
from journeyman.task import Task
from journeyman.world import World
from journeyman.world.tools import Tool


def is_valid_call(call: ToolCall, offered: Mapping[str, Tool]) -> bool:
    """Whether the call could be read, names an offered tool and has arguments that its schema accepts."""
    tool = offered.get(call.name)
    if tool is None or call.arguments is None:
        return False
    try:
        tool.read_arguments(call.arguments)
    except ToolError:
        return False
    return True


def call_validity(episodes: Iterable[Episode], world: World, tasks: Mapping[str, Task]) -> dict[str, float]:
    """`calls_written`: calls in the agent's turns, those that a limit kept from being made included; `valid_call_share`: the valid
    ones of them, 0 where there is none.

    Args:
        tasks: by id.
    """
    written = valid = 0
    for episode in episodes:
        names = tasks[episode.task_id].tools
        offered = world.tools_by_name if names is None else world.offered(tuple(names))
        calls = [call for message in episode.messages for call in message.calls]
        written += len(calls)
        valid += sum(is_valid_call(call, offered) for call in calls)
    return {"calls_written": written, "valid_call_share": valid / written if written else 0.0}
