"""What a person may type: a message, or a command that begins with a slash. Pure: a line in, a `Command` out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from journeyman.episode import ToolCall, Turn
from journeyman.rollout.interpret import parse_json

if TYPE_CHECKING:
    from journeyman.world import ToolSpec

HELP = """Type a message to the user, or a command:
  /tools [words]               list the tools (those that the words fit)
  /tool NAME                   show one tool with its arguments
  /call NAME key=value ...     call a tool; or /call NAME {"key": "value"}
  /policy words                search the policy with the world's own tool
  /article ID                  read a policy article with the world's own tool
  /say text                    a message that begins with a slash
  /help                        this text
  /quit                        end the task as it stands and be graded
A line that ends with \\ goes on in the next. What is done is done: nothing can be taken back."""


class NotUnderstood(Exception):
    """A line that is no message and no good command. Its text says what to type; no turn is spent on it."""


@dataclass(frozen=True)
class Command:
    """One of: a turn to take, the wish to leave, a tool to show, words to search tools by; none of them asks for help."""

    turn: Turn | None = None
    leave: bool = False
    show_tool: ToolSpec | None = None
    search: str | None = None


def read_command(line: str, tools: Sequence[ToolSpec]) -> Command:
    """What a line asks for.

    Raises:
        NotUnderstood: it cannot be carried out as it is.
    """
    line = line.strip()
    if not line:
        raise NotUnderstood("Type a message, a command, or /help.")
    if not line.startswith("/"):
        return Command(turn=Turn(text=line))
    name, _, rest = line[1:].partition(" ")
    reader = _COMMANDS.get(name.lower())
    if reader is None:
        near = get_close_matches(name.lower(), _COMMANDS, 1)
        hint = f" Did you mean /{near[0]}?" if near else ""
        raise NotUnderstood(f"There is no command /{name[:40]}.{hint} /help lists them; /say sends it as a message.")
    return reader(rest.strip(), tools)


def _help(_rest: str, _tools: Sequence[ToolSpec]) -> Command:
    return Command()


def _quit(_rest: str, _tools: Sequence[ToolSpec]) -> Command:
    return Command(leave=True)


def _undo(_rest: str, _tools: Sequence[ToolSpec]) -> Command:
    raise NotUnderstood("Nothing can be taken back, here as at a real desk. A tool may put it right.")


def _say(rest: str, _tools: Sequence[ToolSpec]) -> Command:
    if not rest:
        raise NotUnderstood("Type /say and the message.")
    return Command(turn=Turn(text=rest))


def _tools(rest: str, _tools: Sequence[ToolSpec]) -> Command:
    return Command(search=rest)


def _tool(rest: str, tools: Sequence[ToolSpec]) -> Command:
    return Command(show_tool=_named(rest, tools))


def _call(rest: str, tools: Sequence[ToolSpec]) -> Command:
    name, _, written = rest.partition(" ")
    tool = _named(name, tools)
    written = written.strip()
    arguments = _from_json(written) if written.startswith("{") else _from_pairs(written, tool)
    return _calling(tool, arguments)


def _policy(rest: str, tools: Sequence[ToolSpec]) -> Command:
    tool = _reading(tools, "query", "policy")
    if not rest:
        raise NotUnderstood(f"Type /policy and the words to search for ({tool.name} is called).")
    return _calling(tool, {"query": rest})


def _article(rest: str, tools: Sequence[ToolSpec]) -> Command:
    tool = _reading(tools, "article", "article")
    if not rest:
        raise NotUnderstood(f"Type /article and the id of an article ({tool.name} is called).")
    return _calling(tool, {tool.parameters["required"][0]: rest})


_COMMANDS: Mapping[str, Callable[[str, Sequence[ToolSpec]], Command]] = {
    "help": _help,
    "quit": _quit,
    "undo": _undo,
    "say": _say,
    "tools": _tools,
    "tool": _tool,
    "call": _call,
    "policy": _policy,
    "article": _article,
}


def _calling(tool: ToolSpec, arguments: dict[str, Any]) -> Command:
    return Command(turn=Turn(calls=[ToolCall("0", tool.name, arguments)]))


def _named(name: str, tools: Sequence[ToolSpec]) -> ToolSpec:
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        near = get_close_matches(name, [tool.name for tool in tools], 3)
        hint = f" Near: {', '.join(near)}." if near else " /tools lists them."
        raise NotUnderstood(f"There is no tool {name[:60]!r}.{hint}")
    return found


def _reading(tools: Sequence[ToolSpec], argument: str, what: str) -> ToolSpec:
    """The world's look-up of policies: a read whose one required argument is named like this, best one that says so."""
    fitting = [
        tool
        for tool in tools
        if tool.kind == "read"
        and len(tool.parameters.get("required", [])) == 1
        and argument in tool.parameters["required"][0]
    ]
    if not fitting:
        raise NotUnderstood("This task offers no tool to look up policies with: see /tools.")
    return next((tool for tool in fitting if what in tool.name), fitting[0])


def _from_json(written: str) -> dict[str, Any]:
    try:
        value, end = parse_json(written, 0)
    except ValueError as reason:
        raise NotUnderstood(f"The arguments are no JSON object ({reason}): nothing was called.") from reason
    if written[end:].strip() or not isinstance(value, dict):
        raise NotUnderstood("The arguments must be one JSON object and nothing else: nothing was called.")
    return value


def _from_pairs(written: str, tool: ToolSpec) -> dict[str, Any]:
    """`key=value` pairs, quoted as in a shell; a value is typed by the tool's schema."""
    try:
        words = shlex.split(written)
    except ValueError as reason:
        raise NotUnderstood(f"The arguments cannot be read ({reason}): nothing was called.") from reason
    arguments: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise NotUnderstood(f"{word[:40]!r} is no key=value; put values with spaces in quotes. {tool.signature}")
        arguments[name] = _typed(value, tool.parameters.get("properties", {}).get(name, {}))
    return arguments


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """The value as the schema wants it; the text itself where it cannot be that, so that the tool says what is wrong."""
    kinds = {node.get("type") for node in (schema, *schema.get("anyOf", []))}
    if "string" in kinds:
        return None if value == "null" and "null" in kinds else value
    try:
        read, end = parse_json(value.strip())
    except ValueError:
        read, end = None, -1
    if end == len(value.strip()):
        return read
    return [part.strip() for part in value.split(",")] if "array" in kinds else value
