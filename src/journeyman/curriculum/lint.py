"""Lint: proof, task by task, that a world's grading can be trusted.

    report = lint_world(load_world("telecom"), attack=True)
    for finding in report.findings: print(finding.task, finding.rule, finding.detail, finding.remedy)

The rules are the functions in `lint_rules.RULES`; the attacks are those of `rollout.attacks`. Lint judges tasks; it never
repairs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from journeyman.curriculum.lint_attack import attack_task
from journeyman.curriculum.lint_bench import Bench
from journeyman.curriculum.lint_figures import figures
from journeyman.curriculum.lint_rules import RULES, constant_criteria
from journeyman.task import Data, Task
from journeyman.world import World
from journeyman.world.rules import schema_rules


class Finding(Data, frozen=True):
    """One thing that is wrong. `task` is the task's id, or the world's name for a fault of the world itself."""

    task: str
    rule: str
    detail: str
    remedy: str


class Constant(Data, frozen=True):
    """A criterion on which all probes got one verdict in `tasks` tasks of its family (of `of` that have it).

    It told nobody apart there: it is worth a second look, and no fault where it speaks of one particular mistake.
    """

    family: str
    criterion: str
    polarity: str
    tasks: int
    of: int


class LintReport(Data, frozen=True):
    """What lint found.

    Args:
        worlds: the figures of each world as linted; see `lint_figures`.
        findings: in task order.
        constant_criteria: in the order of the families.
        attacks: name -> on how many tasks it was played, passed, and was in the pass band ("clean"); empty where no
            attack was asked for. An attack that reaches the right outcome by a forbidden way passes, but is never clean.
    """

    worlds: dict[str, dict[str, float]]
    findings: list[Finding]
    constant_criteria: list[Constant]
    attacks: dict[str, dict[str, int]]


class TaskLint(Data, frozen=True):
    """What lint found on one task. `criteria`: (id, polarity, whether it is constant) of each."""

    findings: list[Finding]
    criteria: list[tuple[str, str, bool]]
    attacks: dict[str, dict[str, int]]


def lint_world(
    world: World,
    *,
    tasks: Sequence[Task] | None = None,
    progress: Callable[[], None] | None = None,
    attack: bool = False,
) -> LintReport:
    """Check a world and its tasks against every rule.

    Args:
        tasks: the tasks to check; all of the world's if None.
        progress: called after each task.
        attack: play the attack suite on each task as well.
    """
    chosen = list(world.tasks()) if tasks is None else list(tasks)
    linted = []
    with asyncio.Runner() as runner:
        for task in chosen:
            linted.append(lint_task(Bench(world, task, runner), attack))
            if progress is not None:
                progress()
    return compile_report(world, chosen, linted)


def lint_task(bench: Bench, attack: bool = False) -> TaskLint:
    """Every finding on the bench's task, in rule order, then those of the attacks."""
    task = bench.task.id
    findings = []
    for name, rule in RULES.items():
        try:
            findings += [Finding(task, name, flaw.detail, flaw.remedy) for flaw in rule(bench)]
        except Exception as error:
            # A task so broken that playing it raises is what lint is for: it is reported, and the next rule goes on.
            detail = f"{type(error).__name__}: {error}"
            findings.append(Finding(task, name, detail, "Repair the task so that it can be played."))
    tallies: dict[str, dict[str, int]] = {}
    if attack:
        result = attack_task(bench)
        findings += [Finding(task, rule, flaw.detail, flaw.remedy) for rule, flaw in result.findings]
        tallies = result.tallies
    still = set(constant_criteria(bench))
    return TaskLint(findings, [(one.id, one.polarity, one.id in still) for one in bench.task.criteria], tallies)


def compile_report(world: World, tasks: Sequence[Task], linted: Sequence[TaskLint]) -> LintReport:
    """The report on a world from what was found on its tasks, in the same order."""
    findings = [
        Finding(world.name, "schema", violation, "Change the schema so that recorded changes stay exact.")
        for violation in schema_rules(world)
    ]
    findings += _repeated_ids(tasks)
    findings += [finding for one in linted for finding in one.findings]
    seen: dict[tuple[str, str, str], list[int]] = {}
    for task, one in zip(tasks, linted, strict=True):
        for name, polarity, still in one.criteria:
            count = seen.setdefault((task.family, name, polarity), [0, 0])
            count[0] += still
            count[1] += 1
    constants = [Constant(*key, tasks=still, of=total) for key, (still, total) in seen.items() if still]
    return LintReport(
        {world.name: figures(world, tasks)}, findings, constants, _summed([one.attacks for one in linted])
    )


def merge_reports(reports: Sequence[LintReport]) -> LintReport:
    """One report of several worlds."""
    return LintReport(
        {name: counts for report in reports for name, counts in report.worlds.items()},
        [finding for report in reports for finding in report.findings],
        [one for report in reports for one in report.constant_criteria],
        _summed([report.attacks for report in reports]),
    )


def _summed(tallies: Sequence[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    total: dict[str, dict[str, int]] = {}
    for tally in tallies:
        for name, counts in tally.items():
            mine = total.setdefault(name, {})
            for key, count in counts.items():
                mine[key] = mine.get(key, 0) + count
    return total


def _repeated_ids(tasks: Sequence[Task]) -> list[Finding]:
    seen: set[str] = set()
    findings = []
    for task in tasks:
        if task.id in seen:
            findings.append(Finding(task.id, "form", "two tasks have this id", "Give each task its own id."))
        seen.add(task.id)
    return findings
