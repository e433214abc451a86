"""Mutation: perturb each expected row, fact and criterion of a task once, and see whether the reference run notices.

    result = mutate(bench, random.Random(7))
    [one for one in result if not one.caught]

A mutant of a row or fact is caught where the oracle's run no longer passes with reward 1.0; one of a criterion where the
oracle's verdict on it changes, or its witness no longer violates it. A grader that notices nothing pays for nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

from journeyman.curriculum.lint_bench import Bench, spliced
from journeyman.curriculum.mutants import criterion_mutants, other_matcher
from journeyman.episode import Episode, Transcript, Verdict
from journeyman.grading.grade import grade
from journeyman.grading.reward import reward
from journeyman.recipe import Reward
from journeyman.task import Criterion, Data, ExpectedRow, Fact, Outcome, Task
from journeyman.world import World

OTHER_OP = {"insert": "delete", "update": "insert", "delete": "update"}


class Mutant(Data, frozen=True):
    """One perturbation. `part`: row, fact or criterion; `reason`: why it survived, in a class of reasons, or ""."""

    task: str
    part: str
    name: str
    change: str
    caught: bool
    reason: str = ""

    @property
    def equivalent(self) -> bool:
        """Whether the mutant means the same as the original for every run that is right."""
        return self.reason.startswith("equivalent")


def mutate(bench: Bench, rng: random.Random) -> list[Mutant]:
    """One mutant of each row and fact of the outcome that the oracle reaches, and of each criterion with a predicate.

    Args:
        rng: which perturbation each gets.
    """
    verdict = bench.oracle.verdict
    if verdict is None or not verdict.passed:
        raise ValueError(f"{bench.task.id}: the oracle does not pass; run `journeyman lint` first")
    at = verdict.outcome
    outcome = bench.task.outcomes[at]
    found = [_row(bench, at, number, rng) for number in range(len(outcome.rows))]
    found += [_fact(bench, at, number, rng) for number in range(len(outcome.facts))]
    found += [
        _criterion(bench, number, rng)
        for number, criterion in enumerate(bench.task.criteria)
        if criterion.predicate is not None
    ]
    return found


def _row(bench: Bench, at: int, number: int, rng: random.Random) -> Mutant:
    outcome = bench.task.outcomes[at]
    row = outcome.rows[number]
    options: list[tuple[str, ExpectedRow | None]] = [("row removed", None)]
    options.append((f"op {row.op} becomes {OTHER_OP[row.op]}", replace(row, op=OTHER_OP[row.op])))
    for part in ("where", "set"):
        values: dict[str, Any] = getattr(row, part)
        for column, matcher in values.items():
            changed = {**values, column: other_matcher(matcher)}
            options.append((f"{part}.{column} becomes another value", replace(row, **{part: changed})))
    options += [
        (f"set.{column} dropped", replace(row, set={name: one for name, one in row.set.items() if name != column}))
        for column in row.set
    ]
    change, mutated = _drawn(options, rng)
    rows = [*outcome.rows[:number], *([mutated] if mutated is not None else []), *outcome.rows[number + 1 :]]
    caught = _outcome_caught(bench, at, replace(outcome, rows=rows))
    reason = "" if caught else _why_row(bench, at, row, change)
    return Mutant(bench.task.id, "row", row.name, change, caught, reason)


def _fact(bench: Bench, at: int, number: int, rng: random.Random) -> Mutant:
    outcome = bench.task.outcomes[at]
    fact = outcome.facts[number]
    flipped: Literal["stated", "denied"] = "stated" if fact.kind == "denied" else "denied"
    options: list[tuple[str, Fact]] = [(f"kind becomes {flipped}", replace(fact, kind=flipped))]
    if fact.kind != "denied":
        options.append(("value becomes another", replace(fact, value=other_matcher(fact.value))))
    slots = [slot.name for slot in bench.world.lexicon.slots] + [one.slot for one in bench.world.lexicon.denials]
    others = sorted(set(slots) - {fact.slot})
    if others:
        slot = rng.choice(others)
        options.append((f"slot becomes {slot}", replace(fact, slot=slot)))
    change, mutated = _drawn(options, rng)
    facts = [*outcome.facts[:number], mutated, *outcome.facts[number + 1 :]]
    caught = _outcome_caught(bench, at, replace(outcome, facts=facts))
    reason = ""
    if not caught:
        told = any(
            event.kind == mutated.kind and event.slot == mutated.slot and event.by == "agent"
            for event in bench.oracle.events
        )
        reason = "equivalent: the oracle tells this of the other slot too" if told else "not noticed"
        reason = _other_outcome(bench, at) or reason
    return Mutant(bench.task.id, "fact", fact.slot, change, caught, reason)


def _criterion(bench: Bench, number: int, rng: random.Random) -> Mutant:
    criterion = bench.task.criteria[number]
    assert criterion.predicate is not None
    options: list[tuple[str, Criterion]] = [
        ("polarity", replace(criterion, polarity="must_not" if criterion.polarity == "must" else "must"))
    ]
    options += [
        (change, replace(criterion, predicate=predicate))
        for change, predicate in criterion_mutants(criterion.predicate)
    ]
    change, mutated = _drawn(options, rng)
    witness = bench.play_steps(spliced(bench.task.oracle, criterion.witness))
    before, after = (_decided(bench, one, number, bench.oracle) for one in (criterion, mutated))
    caught = before != after or _decided(bench, mutated, number, witness) is not False
    reason = ""
    if not caught:
        reason = "equivalent: a part of any_of that the run does not take" if "any_of" in change else "not noticed"
        if change == "count raised":
            reason = "the run does it more often than is asked"
    return Mutant(bench.task.id, "criterion", criterion.id, change, caught, reason)


def _decided(bench: Bench, criterion: Criterion, number: int, episode: Episode) -> bool | None:
    criteria = [*bench.task.criteria[:number], criterion, *bench.task.criteria[number + 1 :]]
    verdict = _graded(bench.world, replace(bench.task, criteria=criteria), episode)
    return verdict.criteria[number].met


def _outcome_caught(bench: Bench, at: int, outcome: Outcome) -> bool:
    outcomes = [*bench.task.outcomes[:at], outcome, *bench.task.outcomes[at + 1 :]]
    task = replace(bench.task, outcomes=outcomes)
    verdict = _graded(bench.world, task, bench.oracle)
    earned = reward(task, verdict, Reward(), ended=bench.oracle.ended, sampled_tokens=0, token_limit=1)
    return not verdict.passed or earned != 1.0


def _graded(world: World, task: Task, episode: Episode) -> Verdict:
    transcript = Transcript(episode.messages, episode.calls, episode.events, episode.changes, episode.ended)
    return grade(task, world, transcript)


def _why_row(bench: Bench, at: int, row: ExpectedRow, change: str) -> str:
    """The class of reasons for which the mutant of a row survives."""
    if other := _other_outcome(bench, at):
        return other
    if row.table in bench.world.volatile_tables:
        return "equivalent: the table is volatile"
    column = change.removeprefix("set.").removesuffix(" dropped")
    if change.endswith(" dropped") and column in row.set:
        table = bench.world.tables[row.table]
        made = [one.new.get(column) for one in bench.oracle.changes if one.table == row.table and one.op == row.op]
        if column in bench.world.volatile.get(row.table, []):
            return "equivalent: the column is volatile"
        free = column in table.key or any(value is None or value == table.defaults.get(column) for value in made)
        if row.op == "insert" and free:
            return "equivalent: the column holds what an unlisted one must hold"
        if row.op == "update" and all(column not in one.new for one in bench.oracle.changes if one.table == row.table):
            return "equivalent: the column does not change"
    return "not noticed"


def _other_outcome(bench: Bench, at: int) -> str:
    """Whether the run that reaches one outcome also reaches another whole."""
    others = [outcome for number, outcome in enumerate(bench.task.outcomes) if number != at]
    if others and _graded(bench.world, replace(bench.task, outcomes=others), bench.oracle).passed:
        return "equivalent: another outcome holds as well"
    return ""


def _drawn(options: Sequence[tuple[str, Any]], rng: random.Random) -> tuple[str, Any]:
    """One of the options: first its kind, then one of the kind, so that many columns do not crowd out the rest."""
    by_kind: dict[str, list[tuple[str, Any]]] = {}
    for change, mutated in options:
        by_kind.setdefault(_kind(change), []).append((change, mutated))
    return rng.choice(by_kind[rng.choice(sorted(by_kind))])


def _kind(change: str) -> str:
    return "dropped" if change.endswith(" dropped") else change.split(".")[0].split(" ")[0]
