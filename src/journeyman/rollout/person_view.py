"""What a person sees while playing: messages, tools, results and the verdict, as plain text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from journeyman.episode import Episode, Message
from journeyman.rollout.prompt import CALL_FORMAT
from journeyman.task import Task

if TYPE_CHECKING:
    from journeyman.world import ToolSpec

WIDTH = 100


def show_message(message: Message, company: str) -> str:
    """A message of the user or of a tool, or what the desk is told at the start."""
    if message.role == "tool":
        return f"{message.name} answered:\n{_pretty(message.content)}"
    if message.role == "system":
        # The tools follow in the system message, one a line; a person asks for them when they are needed.
        return f"[{company}] {' '.join(message.content.partition(CALL_FORMAT)[0].split())}"
    return f"user> {message.content}"


def show_tools(tools: Sequence[ToolSpec], words: str) -> str:
    """One line a tool: all, or those whose name or description holds every word."""
    wanted = words.lower().split()
    fitting = [tool for tool in tools if all(word in f"{tool.name} {tool.description}".lower() for word in wanted)]
    if not fitting:
        return f"No tool fits {words!r}; /tools alone lists all {len(tools)}."
    return "\n".join(f"  {tool.kind:5} {tool.signature}" for tool in fitting)


def show_tool(tool: ToolSpec) -> str:
    """A tool with its arguments."""
    lines = [f"{tool.signature}  [{tool.kind}]", *textwrap.wrap(tool.description, WIDTH, initial_indent="  ")]
    required = tool.parameters.get("required", [])
    for name, schema in tool.parameters.get("properties", {}).items():
        need = "" if name in required else " (may be left out)"
        lines += textwrap.wrap(
            f"{name}{need}: {_kind(schema)}. {schema.get('description', '')}",
            WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
        )
    return "\n".join(lines)


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    options = [node for node in schema.get("anyOf", []) if node.get("type") != "null"]
    if options:
        return _kind(options[0])
    if schema.get("type") == "array":
        return f"a list of {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object":
        return "an object with " + ", ".join(schema.get("properties", {}))
    return str(schema.get("type", "anything"))


def show_verdict(task: Task, episode: Episode) -> str:
    """How it ended: outcome, reward, every row, fact and criterion."""
    return "\n".join(_verdict(task, episode))


def _verdict(task: Task, episode: Episode) -> Iterator[str]:
    verdict = episode.verdict
    yield ""
    if verdict is None:
        yield f"Not graded: {episode.failure}, {episode.failure_detail}"
        return
    why = f" ({episode.failure_detail})" if episode.failure_detail else ""
    yield f"{'PASSED' if verdict.passed else 'NOT PASSED'}, reward {episode.reward:.3f}, ended by {episode.ended}{why}"
    if not verdict.ended:
        yield "  the end is not the one that the task wants"
    if verdict.passed and not verdict.required_met:
        yield "  the outcome holds, but a required criterion is not met"
    for row in verdict.rows:
        yield f"  row {row.ref}: {row.status}{f' ({row.detail})' if row.detail else ''}"
    for fact in verdict.facts:
        yield f"  fact {fact.slot}: {'told' if fact.met else 'not told'} ({fact.detail})"
    criteria = {criterion.id: criterion for criterion in task.criteria}
    marks = {True: "met", False: "NOT MET", None: "left to a judge"}
    for result in verdict.criteria:
        criterion = criteria[result.id]
        kind = "required" if criterion.required else "optional"
        seen = f" [{result.evidence}]" if result.met is False and result.evidence else ""
        yield f"  {criterion.polarity} ({kind}): {criterion.text} {marks[result.met]}{seen}"


def _pretty(content: str) -> str:
    """JSON, indented; of a long text only the line breaks are put in, so that an article can be read."""
    try:
        value = json.loads(content)
    except ValueError:
        return content
    if isinstance(value, dict) and any(isinstance(part, str) and "\n" in part for part in value.values()):
        return "\n".join(
            f"  {key}: {part if isinstance(part, str) else json.dumps(part)}" for key, part in value.items()
        )
    return textwrap.indent(json.dumps(value, indent=1, ensure_ascii=False), "  ")
