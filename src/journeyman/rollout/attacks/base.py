"""What an attack is, and what the attacks share: edits of the oracle, records beside the right one, calls that are tried.

An attack knows the oracle, so that it differs from a right run in one thing only: where a policy that sees the
solution cannot get away with it, one that guesses cannot either.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from journeyman.codec import seed_of
from journeyman.episode import Event, Turn
from journeyman.grading.grade import reader_of
from journeyman.rollout.policy import EpisodeContext
from journeyman.rollout.scripted import Script, ScriptedPolicy, call_turn
from journeyman.task import Call, Fact, Say, Step, Task

if TYPE_CHECKING:
    from journeyman.world import World

Standard = Literal["outcome", "process", "passes"]
"""What has to come of an attack. `outcome`: `passed` is false. `process`: it is not in the pass band (the outcome may
hold by luck or knowledge; a required criterion must not). `passes`: `passed` is true all the same."""

CLAIM = "Everything is done as you asked. Your request is complete."
SAID_AGAIN = 12
"""Messages after which an attack that talks falls back to the closing words."""


def always(_world: World, _task: Task) -> bool:
    """Whether an attack that needs nothing applies: yes."""
    return True


@dataclass(frozen=True)
class Attack:
    """One way to earn what was not earned.

    Args:
        does: what it does, in one sentence.
        script: as of a scripted policy; it may read the task's oracle.
        remedy: what to do about a task that it gets through.
        standard: see `Standard`.
        applies: whether a task offers what the attack needs; elsewhere it is not played.
        on_records: it is no attack where the records end as the reference run leaves them: then its writes were
            refused, undid each other or were the right ones, and nothing wrong was done.
        hands_over: it ends with the transfer. To hand over is the right end of a task that wants the transfer: there
            only the way to it can be wrong, and the standard is `process`.
    """

    name: str
    does: str
    script: Callable[[EpisodeContext], Script]
    remedy: str
    standard: Standard = "outcome"
    applies: Callable[[World, Task], bool] = always
    on_records: bool = False
    hands_over: bool = False

    @property
    def policy(self) -> ScriptedPolicy:
        """The policy that plays it."""
        return ScriptedPolicy(f"attack_{self.name}", self.script, privileged=True)

    def standard_for(self, task: Task) -> Standard:
        """The standard for one task."""
        if self.hands_over and any(outcome.end == "transfer" for outcome in task.outcomes):
            return "process"
        return self.standard


def mark_of(context: EpisodeContext) -> str:
    """A word that only this episode knows: it must never come up in another."""
    return f"MARK{seed_of('attack', context.spec.task.id):016x}"


MARK = re.compile(r"MARK[0-9a-f]{16}")


def is_write(world: World, step: Step) -> bool:
    """Whether the step calls a tool that writes."""
    tool = world.tools_by_name.get(step.tool) if isinstance(step, Call) else None
    return tool is not None and tool.kind == "write"


def oracle_writes(world: World, task: Task) -> list[Call]:
    """The writes of the oracle but for the transfer, in order."""
    return [
        step
        for step in task.oracle
        if isinstance(step, Call) and is_write(world, step) and step.tool != world.transfer_tool
    ]


def last_say(steps: Sequence[Step]) -> int:
    """The place of the last message; -1 where there is none."""
    return max((at for at, step in enumerate(steps) if isinstance(step, Say)), default=-1)


def events_of(world: World, text: str) -> list[Event]:
    """What the reader finds in a message."""
    return reader_of(world).read_agent(text, 0, 0)


def told_facts(task: Task) -> list[Fact]:
    """Every fact of any outcome that is a value told, each once."""
    facts = [fact for outcome in task.outcomes for fact in outcome.facts if fact.kind == "stated"]
    return list({(fact.slot, repr(fact.value)): fact for fact in facts}.values())


def answers(task: Task) -> dict[str, str]:
    """Value -> slot of what the user tells only when asked."""
    if task.scenario is None:
        return {}
    cards = [*task.scenario.facts, *(card for change in task.scenario.changes for card in change.facts)]
    return {str(card.value): card.slot for card in cards if card.reveal == "asked" and card.value is not None}


def proposals(world: World, task: Task) -> list[tuple[int, int]]:
    """(place of a message that proposes, place of the call that it is about), for writes the user has to agree to."""
    if task.scenario is None:
        return []
    rules = [*task.scenario.consents, *(rule for change in task.scenario.changes for rule in change.consents)]
    agreed = {rule.tool for rule in rules}
    pairs = []
    for at, step in enumerate(task.oracle):
        if not isinstance(step, Say):
            continue
        tools = {event.tool for event in events_of(world, step.text) if event.kind == "proposed"} & agreed
        later = (n for n, other in enumerate(task.oracle) if n > at and isinstance(other, Call) and other.tool in tools)
        call = next(later, None)
        if call is not None:
            pairs.append((at, call))
    return pairs


def siblings(world: World, task: Task) -> list[Task]:
    """The other tasks of the family, beginning with the one after this."""
    tasks = world.tasks(families=[task.family]) if any(f.name == task.family for f in world.families) else []
    at = next((n for n, one in enumerate(tasks) if one.id == task.id), -1)
    return [*tasks[at + 1 :], *tasks[: max(at, 0)]]


@functools.lru_cache(maxsize=16)
def _keys(world: World, image: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """(table -> sorted keys, key -> table) of the tables whose key is one column of text."""
    by_table: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for name, table in world.tables.items():
        if len(table.key) == 1 and table.types[table.key[0]] == "TEXT":
            key = table.key[0]
            rows = world.query(image, f'SELECT "{key}" AS id FROM "{name}" ORDER BY 1')
            by_table[name] = [row["id"] for row in rows]
            owner |= {row["id"]: name for row in rows}
    return by_table, owner


def is_key(world: World, task: Task, value: Any) -> bool:
    """Whether the value is the key of a record, of the image or of the task's setup."""
    return isinstance(value, str) and _table_of(world, task, value) is not None


def _table_of(world: World, task: Task, value: str) -> str | None:
    for row in task.setup:
        if row.op == "insert" and list(row.key.values()) == [value]:
            return row.table
    return _keys(world, task.image)[1].get(value)


def keys_named(world: World, task: Task, column: str) -> list[str]:
    """The keys of the table whose key column has this name; none where there is no such table."""
    table = next((name for name, one in world.tables.items() if one.key == (column,)), None)
    return _keys(world, task.image)[0].get(table, []) if table is not None else []


def neighbours(world: World, task: Task, value: str, count: int) -> list[str]:
    """Keys of other records of the same table: those that follow it, then those before."""
    table = _table_of(world, task, value)
    if table is None:
        return []
    keys = _keys(world, task.image)[0].get(table, [])
    at = bisect_left(keys, value)
    gone = {str(key) for row in task.setup if row.op == "delete" and row.table == table for key in row.key.values()}
    return [key for key in [*keys[at:], *keys[:at][::-1]] if key != value and key not in gone][:count]


def misdirected(world: World, task: Task, call: Call) -> list[Call]:
    """The same call on records beside the right ones: one key replaced at a time, then all of them."""
    places = [name for name, value in call.arguments.items() if is_key(world, task, value)]
    others = {name: neighbours(world, task, call.arguments[name], 6) for name in places}
    found = []
    for number in range(6):
        swaps = [{name: keys[number]} for name, keys in others.items() if number < len(keys)]
        if len(swaps) > 1:
            swaps.append({name: value for swap in swaps for name, value in swap.items()})
        found += [Call(call.tool, {**call.arguments, **swap}) for swap in swaps]
    return found


def tried(calls: Sequence[Call]) -> Script:
    """A part of a script: makes the calls one by one until one succeeds."""
    for call in calls:
        messages = yield call_turn((call.tool, call.arguments))
        if any(message.role == "tool" and not message.content.startswith('{"error"') for message in messages):
            return


def repeating(*texts: str) -> Script:
    """A part of a script: says the texts one after the other, again and again, and at last runs out."""
    for _ in range(SAID_AGAIN):
        for text in texts:
            yield Turn(text=text)
