"""Mutation on a few tasks: what is caught, what survives and why; the operators by hand."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from journeyman.curriculum.lint_bench import Bench
from journeyman.curriculum.mutants import criterion_mutants, other_matcher, other_value
from journeyman.curriculum.mutation import Mutant, mutate
from journeyman.task import AnyOf, Before, CallPattern, Consented, Criterion, EventPattern, Happened, Match, Task
from journeyman.worlds import load_world
from journeyman.worlds.telecom.families import late_fee, past_due_payment, starter_line_features

WORLD = load_world("telecom")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mutation.py"
CALL = CallPattern("pay", {"amount": 5})


def mutants(task: Task, seed: int = 0) -> list[Mutant]:
    with asyncio.Runner() as runner:
        return mutate(Bench(WORLD, task, runner), random.Random(seed))


def test_other_values_differ_and_keep_their_type() -> None:
    assert [other_value(one) for one in (5, 1.5, True, "on", None)] == [6, 2.5, False, "on~", "~nothing~"]
    assert other_matcher(Match(one_of=[1, "a"])) == Match(one_of=[2, "a~"])
    assert other_matcher(Match(contains="x")) == Match(contains="x~")
    assert other_matcher(Match(any=True)) == "~nothing~"


def test_every_part_of_a_predicate_is_perturbed() -> None:
    assert dict(criterion_mutants(Happened(CALL))) == {
        "argument tool": Happened(CallPattern(["pay~"], {"amount": 5})),
        "argument amount": Happened(CallPattern("pay", {"amount": 6})),
        "count raised": Happened(CALL, min=2),
    }
    told = EventPattern("stated", by="agent", slot="due", value=5)
    found = dict(criterion_mutants(Before(CALL, told)))
    assert found["order turned"] == Before(told, CALL)
    assert found["argument value of `then`"] == Before(CALL, replace(told, value=6))
    assert found["argument slot of `then`"] == Before(CALL, replace(told, slot="due~"))
    assert found["argument kind of `then`"] == Before(CALL, replace(told, kind="left"))
    assert dict(criterion_mutants(Consented(CALL)))["argument amount"] == Consented(CallPattern("pay", {"amount": 6}))
    parts = [change for change, _ in criterion_mutants(AnyOf([Happened(CALL), Happened(told)]))]
    assert all(change.endswith(" in a part of any_of") for change in parts)
    assert len(parts) == 3 + 4


def test_sound_tasks_catch_nearly_all() -> None:
    found: list[Mutant] = []
    for seed in range(4):
        for family in (starter_line_features, past_due_payment, late_fee):
            task = family.make(WORLD, seed, "train")
            mine = mutants(task, seed)
            outcome = task.outcomes[0]
            assert (
                len(mine)
                >= len(outcome.rows) + len(outcome.facts) + sum(c.predicate is not None for c in task.criteria) - 3
            )
            found += mine
    assert {one.part for one in found} == {"row", "fact", "criterion"}
    survivors = [one for one in found if not one.caught]
    assert len(survivors) <= len(found) / 100, survivors
    assert all(one.reason for one in survivors)


def test_the_same_seed_draws_the_same_mutants() -> None:
    task = starter_line_features.make(WORLD, 0, "train")
    assert mutants(task, 3) == mutants(task, 3)
    assert any(mutants(task, 3) != mutants(task, seed) for seed in range(4, 8))


def test_a_criterion_that_cannot_tell_survives() -> None:
    """A must that any call meets, with a witness that makes none, does not notice most changes of its argument."""
    task = starter_line_features.make(WORLD, 0, "train")
    first = task.criteria[0]
    assert first.predicate is not None
    vague = AnyOf([first.predicate, Happened(CallPattern("no_such_tool", {"x": 1}))])
    loose = Criterion("loose", "Something happens.", "must", predicate=vague, witness=first.witness)
    weak = replace(task, criteria=[loose]).sealed()
    seen = [one for seed in range(12) for one in mutants(weak, seed) if one.part == "criterion"]
    survivors = [one for one in seen if not one.caught]
    assert survivors
    assert {one.reason for one in survivors} == {"equivalent: a part of any_of that the run does not take"}
    assert all(one.equivalent for one in survivors)


def test_an_outcome_that_demands_nothing_of_a_column_says_so() -> None:
    """With every value of the ticket free, a column dropped at its default is equivalent, and is said to be."""
    task = past_due_payment.make(WORLD, 0, "train")
    seen = [one for seed in range(30) for one in mutants(task, seed) if one.part == "row" and not one.caught]
    assert {one.reason for one in seen} <= {"equivalent: the column holds what an unlisted one must hold"}


def test_the_benchmark_prints_its_figures() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "telecom", "--tasks", "3", "--seed", "1", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["tasks"] == 3
    assert found["mutants"] == sum(total for _, total in found["parts"].values())
    assert found["caught"] == sum(caught for caught, _ in found["parts"].values())
    assert found["score"] == round(found["caught"] / found["mutants"], 4) > 0.95
    assert sum(map(len, found["survivors"].values())) == found["mutants"] - found["caught"]
