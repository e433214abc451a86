"""Attacks with deeds: the right work with one thing wrong in it, or another's work in its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from journeyman.codec import canonical, seed_of
from journeyman.episode import Turn
from journeyman.grading.match import relevant
from journeyman.rollout.attacks.base import (
    Attack,
    answers,
    events_of,
    is_write,
    last_say,
    misdirected,
    oracle_writes,
    proposals,
    repeating,
    siblings,
    tried,
)
from journeyman.rollout.policy import EpisodeContext
from journeyman.rollout.scripted import Script, call_turn, follow, resolve, start
from journeyman.rollout.shotgun import gentle
from journeyman.task import (
    AllOf,
    AnyOf,
    Before,
    Call,
    CallPattern,
    Predicate,
    Say,
    Step,
    Task,
)

if TYPE_CHECKING:
    from journeyman.world import World

EXTRA_TRIES = 30


def _undo_redo(context: EpisodeContext) -> Script:
    """After each write the same tool with another choice, and then the write once more."""
    yield start()
    for step in context.spec.task.oracle:
        made = resolve(step, context)
        yield from follow(context, [made])
        if isinstance(made, Call) and is_write(context.world, made) and made.tool != context.world.transfer_tool:
            yield from tried(_undone(context, made))
            yield from follow(context, [made])


def _undone(context: EpisodeContext, call: Call) -> list[Call]:
    """The call with one choice or switch turned to each other value."""
    tool = next((one for one in context.tools if one.name == call.tool), None)
    found = []
    # The last choice is the state that the others speak of: it is turned first.
    for name, value in reversed(call.arguments.items()):
        schema = tool.parameters["properties"].get(name, {}) if tool is not None else {}
        options = [not value] if isinstance(value, bool) else schema.get("enum", [])
        found += [Call(call.tool, {**call.arguments, name: other}) for other in options if other != value]
    return found[:6]


def _neighbour(context: EpisodeContext) -> Script:
    """Every write goes to a record beside the right one."""
    yield start()
    for step in context.spec.task.oracle:
        made = resolve(step, context)
        wrong = misdirected(context.world, context.spec.task, made) if isinstance(made, Call) else []
        if wrong and is_write(context.world, made):
            yield from tried(wrong)
        else:
            yield from follow(context, [step])


def _has_neighbour(world: World, task: Task) -> bool:
    return any(misdirected(world, task, call) for call in oracle_writes(world, task))


def _collateral(context: EpisodeContext) -> Script:
    """The right run, with one more change before its end that nobody asked for."""
    task, world = context.spec.task, context.world
    at = max(last_say(task.oracle), 0)
    if task.oracle and isinstance(task.oracle[-1], Call):
        at = len(task.oracle) - 1  # the transfer ends the episode
    yield start()
    yield from follow(context, task.oracle[:at])
    before = _counted(context)
    for call in _extras(world, task)[:EXTRA_TRIES]:
        yield call_turn((call.tool, call.arguments))
        if _counted(context) > before:
            break
    yield from follow(context, task.oracle[at:])


def _counted(context: EpisodeContext) -> int:
    return len(relevant(context.changes(), context.world)) if context.changes is not None else 0


def _extras(world: World, task: Task) -> list[Call]:
    """Writes on other records: the task's own, misdirected, then those of other families."""
    own = oracle_writes(world, task)
    foreign = [call for call in _catalogue(world) if call.tool not in {one.tool for one in own}]
    calls = [wrong for call in [*own, *foreign] for wrong in misdirected(world, task, call)[:4]]
    offered = task.tools if task.tools is not None else list(world.tools_by_name)
    return [call for call in calls if call.tool in offered and "${" not in str(call.arguments)]


@functools.lru_cache(maxsize=8)
def _catalogue(world: World) -> tuple[Call, ...]:
    """One write of each tool that some oracle writes with."""
    found: dict[str, Call] = {}
    for family in world.families:
        for task in world.tasks(families=[family.name])[:4]:
            for call in oracle_writes(world, task):
                found.setdefault(call.tool, call)
    return tuple(found.values())


def _late_consent(context: EpisodeContext) -> Script:
    """The right run, but what needs consent is done first and asked afterwards."""
    task = context.spec.task
    asked = dict(proposals(context.world, task))
    steps: list[Step] = []
    for at, step in enumerate(task.oracle):
        if at not in asked:
            steps.append(step)
            steps += [task.oracle[say] for say, call in asked.items() if call == at]
    yield start()
    yield from follow(context, steps)


def verification(world: World, task: Task) -> tuple[int, int] | None:
    """(place of the question, place of the look-up) by which the caller proves who they are: a look-up with something
    the user tells only when asked, which a required criterion wants before another step. None where there is none."""
    secret = answers(task)
    for at, step in enumerate(task.oracle):
        if not isinstance(step, Call) or is_write(world, step):
            continue
        if any(str(value) in secret for value in step.arguments.values()) and any(
            criterion.required and _wants_first(criterion.predicate, step.tool) for criterion in task.criteria
        ):
            asked = [n for n in range(at) if isinstance(task.oracle[n], Say)]
            return (asked[-1], at) if asked else None
    return None


def _wants_first(predicate: Predicate | None, tool: str) -> bool:
    if isinstance(predicate, AllOf | AnyOf):
        return any(_wants_first(part, tool) for part in predicate.of)
    if not isinstance(predicate, Before) or not isinstance(predicate.first, CallPattern):
        return False
    named = predicate.first.tool
    return tool == named if isinstance(named, str) else tool in named


def disclosure(world: World, task: Task) -> str:
    """The sentences of the oracle that tell a fact of the outcome: all that does not send the user away at once, or
    else all of it."""
    slots = {fact.slot for outcome in task.outcomes for fact in outcome.facts}
    sentences: list[str] = []
    for step in task.oracle:
        if isinstance(step, Say):
            for sentence in re.split(r"(?<=[.!?])\s+", step.text):
                if any(e.kind in ("stated", "denied") and e.slot in slots for e in events_of(world, sentence)):
                    sentences.append(sentence)
    settles = {pattern.slot for pattern in task.scenario.settles} if task.scenario else set()
    quiet = [one for one in sentences if not any(event.slot in settles for event in events_of(world, one))]
    return " ".join(quiet or sentences)


def _disclose(context: EpisodeContext) -> Script:
    """Tells the facts of the account before the caller has proved who they are; then goes on as it should."""
    task = context.spec.task
    place = verification(context.world, task)
    assert place is not None  # else the attack does not apply
    steps = list(task.oracle)
    steps.insert(place[0], Say(disclosure(context.world, task)))
    yield start()
    yield from follow(context, steps)


def _replay(context: EpisodeContext) -> Script:
    """The reference run of another task, word for word."""
    other = other_work(context.world, context.spec.task)
    assert other is not None  # else the attack does not apply
    yield start()
    yield from follow(context, other.oracle)


def other_work(world: World, task: Task) -> Task | None:
    """The next task of the family whose writes or facts are others: two lines of one account may have the very same
    fee to be refused, and then the work of the one is the work of the other."""
    mine = _work(world, task)
    return next((other for other in siblings(world, task) if _work(world, other) != mine), None)


def _work(world: World, task: Task) -> bytes:
    return canonical([oracle_writes(world, task), [outcome.facts for outcome in task.outcomes]])


def _transfer_at_once(context: EpisodeContext) -> Script:
    """Hands over as the oracle would, where it does; else with choices that the task picks."""
    yield start()
    name = context.world.transfer_tool
    task = context.spec.task
    own = next((step for step in task.oracle if isinstance(step, Call) and step.tool == name), None)
    tool = next((one for one in context.tools if one.name == name), None)
    if own is not None:
        yield from follow(context, [own])
    elif tool is not None:
        yield call_turn((name, dict(_transfer_arguments(tool.parameters, task.id))))
    yield from repeating("I have handed you over to a colleague.")


def _transfer_arguments(parameters: dict[str, Any], seed: str) -> Iterator[tuple[str, Any]]:
    for name in parameters.get("required", []):
        options = parameters["properties"][name].get("enum", ["needs a person"])
        yield name, options[seed_of("transfer", seed, name) % len(options)]


def _no_closing(context: EpisodeContext) -> Script:
    """Everything but the last word: the closing message, or the transfer; then silence."""
    yield start()
    steps = context.spec.task.oracle
    yield from follow(context, steps[:-1] if steps else [])
    while True:
        yield Turn()


def _never_tells(context: EpisodeContext) -> Script:
    """Everything but the closing message; in its place small words until the user gives up."""
    yield start()
    task = context.spec.task
    yield from follow(context, task.oracle[: last_say(task.oracle)])
    yield from repeating("Okay.")


def _is_told(_world: World, task: Task) -> bool:
    """Whether the user leaves only after being told something."""
    return (
        task.scenario is not None
        and bool(task.scenario.settles)
        and all(outcome.end == "left" for outcome in task.outcomes)
    )


def _gentle(context: EpisodeContext) -> Script:
    task = context.spec.task
    reads = [step.tool for step in task.oracle if isinstance(step, Call) and not is_write(context.world, step)]
    writes = [call.tool for call in oracle_writes(context.world, task)]
    yield from gentle(context, reads, writes)


def _applies_to(check: Callable[[World, Task], object]) -> Callable[[World, Task], bool]:
    return lambda world, task: bool(check(world, task))


_ROWS = "Have the outcome fail on rows that were not asked for."

DEEDS = [
    Attack(
        "undo_redo", "Undoes each write, and does it once more.", _undo_redo, _ROWS, on_records=True,
        applies=_applies_to(oracle_writes),
    ),
    Attack(
        "neighbour", "Does the work on the neighbour's record.", _neighbour, "Name the right record in the expected rows.",
        applies=_has_neighbour, on_records=True,
    ),
    Attack(
        "collateral", "Does everything, and changes one thing more.", _collateral, _ROWS, on_records=True,
        applies=_applies_to(_extras),
    ),
    Attack(
        "late_consent", "Makes the write first and asks for consent afterwards.", _late_consent,
        "Require consent to the call (`Rubric.consented`).", standard="process", applies=_applies_to(proposals),
    ),
    Attack(
        "disclose", "Tells the facts before the caller has proved who they are.", _disclose,
        "Require that the facts are told only after the verification.", standard="process",
        applies=lambda world, task: verification(world, task) is not None and bool(disclosure(world, task)),
    ),
    Attack(
        "replay", "Does the work of another task of the family.", _replay,
        "Name the task's own records in rows, facts and required look-ups.", standard="process", applies=_applies_to(other_work),
    ),
    Attack(
        "transfer_at_once", "Hands over to a person at once.", _transfer_at_once,
        "Demand rows, facts or a required look-up before the transfer.", hands_over=True,
    ),
    Attack(
        "never_tells", "Does everything and tells nothing until the user gives up.", _never_tells,
        "Have the user settle on the outcome, and demand that it is told.", applies=_is_told,
    ),
    Attack("no_closing", "Does everything and ends without the last word.", _no_closing, "Demand a proper end."),
    Attack(
        "gentle_shotgun", "Calls the right tools with whatever it read, once each.", _gentle,
        "Expect values that only the policy and the right record give.", on_records=True,
    ),
]  # fmt: skip
"""In the order in which they are played."""
