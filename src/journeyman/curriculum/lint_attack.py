"""Plays the attack suite on one task and says what came of it.

    result = attack_task(bench)
    result.findings; result.tallies["late_consent"]   # {"played": 1, "passed": 1, "clean": 0}

An attack must end as its standard says, must not break the run, and must show nothing of what no agent may see: secret
columns, the rubric, another episode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from journeyman.curriculum.lint_bench import Bench
from journeyman.curriculum.lint_order import same_records
from journeyman.curriculum.lint_rules import Flaw
from journeyman.episode import Episode, Message
from journeyman.rollout.attacks import ATTACKS, MARK, Attack
from journeyman.rollout.scripted import SCRIPTED
from journeyman.task import Scalar, Task
from journeyman.world import World, leaks

SHORTEST_SECRET = 4
"""Characters: a shorter value cannot be told from ordinary text."""


class AttackResult(NamedTuple):
    """`findings`: (rule, flaw); `tallies`: attack -> {"played", "passed", "clean"} (the pass band), those that did not apply
    with 0 played."""

    findings: list[tuple[str, Flaw]]
    tallies: dict[str, dict[str, int]]


def attack_task(bench: Bench, attacks: Sequence[Attack] = tuple(ATTACKS.values())) -> AttackResult:
    """Play every attack that applies to the bench's task."""
    findings: list[tuple[str, Flaw]] = []
    tallies: dict[str, dict[str, int]] = {}
    for attack in attacks:
        tally = tallies[attack.name] = {"played": 0, "passed": 0, "clean": 0}
        try:
            if not attack.applies(bench.world, bench.task):
                continue
            episode = bench.probe(attack.policy)
        except Exception as error:
            # A task so broken that an attack cannot be written for it is a finding like any other.
            detail = f"the attack cannot be made: {type(error).__name__}: {error}"
            findings.append((f"attack_{attack.name}", Flaw(detail, "Repair the task so that it can be played.")))
            continue
        if attack.on_records and same_records(bench, episode):
            continue
        tally["played"] += 1
        tally["passed"] += episode.verdict is not None and episode.verdict.passed
        tally["clean"] += episode.verdict is not None and episode.verdict.clean
        findings += [(f"attack_{attack.name}", flaw) for flaw in _flaws(bench, attack, episode)]
    # An attack on the world itself (its images, its articles, the session's code) would show in the next run.
    if bench.play_fresh(SCRIPTED["oracle"]).digest != bench.oracle.digest:
        detail = "after the attacks the oracle plays another episode than before"
        findings.append(
            ("attack", Flaw(detail, "Keep everything that a call can change inside the session's database."))
        )
    return AttackResult(findings, tallies)


def _flaws(bench: Bench, attack: Attack, episode: Episode) -> Iterator[Flaw]:
    verdict = episode.verdict
    if verdict is None:
        detail = f"the attack broke the run: failure {episode.failure} ({episode.failure_detail})"
        yield Flaw(detail, "Have the session, the user and the grader bear whatever an agent does.")
        return
    standard = attack.standard_for(bench.task)
    if standard == "outcome" and verdict.passed:
        yield Flaw(f"passes with reward {episode.reward:.3f}. {attack.does}", attack.remedy)
    elif standard == "process" and verdict.clean:
        yield Flaw(f"is in the pass band with reward {episode.reward:.3f}. {attack.does}", attack.remedy)
    elif standard == "passes" and not verdict.passed:
        rows = [f"{row.ref} {row.status}" for row in verdict.rows if row.status != "matched"]
        facts = [f"{fact.slot} {fact.detail}" for fact in verdict.facts if not fact.met]
        yield Flaw(f"does not pass: {'; '.join(rows + facts) or episode.failure_detail}. {attack.does}", attack.remedy)
    yield from seen_secrets(bench.world, bench.task, episode.messages)


def seen_secrets(world: World, task: Task, messages: Sequence[Message]) -> Iterator[Flaw]:
    """What the world or the user showed the agent and should not have.

    Args:
        messages: of one episode; what the agent wrote itself is not looked at.
    """
    shown = "\n".join(message.content for message in messages if message.role in ("tool", "user", "system"))
    for place in leaks(world, shown):
        yield Flaw(f"a value of the secret column {place} was shown", "Leave the column out of every tool's result.")
    for place, value in _planted(world, task):
        if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", shown):
            yield Flaw(f"the planted value of {place} was shown", "Leave the column out of every tool's result.")
    for criterion in task.criteria:
        if criterion.text in shown:
            yield Flaw(f"the text of criterion {criterion.id} was shown", "Keep the rubric out of world and user.")
    wrote = " ".join(_written(messages))
    foreign = {mark for mark in MARK.findall(shown) if mark not in wrote}
    if foreign:
        yield Flaw("words of another episode were shown", "Keep everything that a call leaves inside its session.")


def _planted(world: World, task: Task) -> Iterator[tuple[str, str]]:
    """(place, value) of the secret values among the task's setup rows."""
    for row in task.setup:
        for column in world.secret.get(row.table, ()):
            value: Scalar = row.new.get(column)
            if value is not None and len(str(value)) >= SHORTEST_SECRET:
                yield f"{row.table}.{column}", str(value)


def _written(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message.role == "assistant":
            yield message.content
            for call in message.calls:
                yield f"{call.name} {call.arguments if call.arguments is not None else call.raw}"
