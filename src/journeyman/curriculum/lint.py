"""Lint: proof, task by task, that a world's grading can be trusted.

    report = lint_world(load_world("telecom"))
    for finding in report.findings: print(finding.task, finding.rule, finding.detail, finding.remedy)

The rules are the functions in `lint_rules.RULES`. Lint judges tasks; it never repairs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from statistics import median

from journeyman.curriculum.lint_bench import Bench
from journeyman.curriculum.lint_rules import RULES
from journeyman.task import Call, Data, Task
from journeyman.world import World
from journeyman.world.rules import schema_rules


class Finding(Data, frozen=True):
    """One thing that is wrong. `task` is the task's id, or the world's name for a fault of the world itself."""

    task: str
    rule: str
    detail: str
    remedy: str


class LintReport(Data, frozen=True):
    """Every finding, in task order, and the size of each world as linted: `tools`, `tables`, `articles`, `families`,
    `tasks`, `criteria`, `must_share` (of the criteria, those that are musts) and `oracle_calls_median`."""

    worlds: dict[str, dict[str, float]]
    findings: list[Finding]


def lint_world(
    world: World, *, tasks: Sequence[Task] | None = None, progress: Callable[[], None] | None = None
) -> LintReport:
    """Check a world and its tasks against every rule.

    Args:
        tasks: the tasks to check; all of the world's if None.
        progress: called after each task.
    """
    chosen = list(world.tasks()) if tasks is None else list(tasks)
    findings = [
        Finding(world.name, "schema", violation, "Change the schema so that changesets stay exact.")
        for violation in schema_rules(world)
    ]
    findings += _repeated_ids(chosen)
    with asyncio.Runner() as runner:
        for task in chosen:
            findings += lint_task(Bench(world, task, runner))
            if progress is not None:
                progress()
    return LintReport({world.name: _counts(world, chosen)}, findings)


def lint_task(bench: Bench) -> list[Finding]:
    """Every finding on the bench's task, in rule order."""
    findings = []
    for name, rule in RULES.items():
        try:
            findings += [Finding(bench.task.id, name, flaw.detail, flaw.remedy) for flaw in rule(bench)]
        except Exception as error:
            # A task so broken that playing it raises is what lint is for: it is reported, and the next rule goes on.
            detail = f"{type(error).__name__}: {error}"
            findings.append(Finding(bench.task.id, name, detail, "Repair the task so that it can be played."))
    return findings


def merge_reports(reports: Sequence[LintReport]) -> LintReport:
    """One report of several worlds."""
    worlds = {name: counts for report in reports for name, counts in report.worlds.items()}
    return LintReport(worlds, [finding for report in reports for finding in report.findings])


def _repeated_ids(tasks: Sequence[Task]) -> list[Finding]:
    seen: set[str] = set()
    findings = []
    for task in tasks:
        if task.id in seen:
            findings.append(Finding(task.id, "form", "two tasks have this id", "Give each task its own id."))
        seen.add(task.id)
    return findings


def _counts(world: World, tasks: Sequence[Task]) -> dict[str, float]:
    criteria = [criterion for task in tasks for criterion in task.criteria]
    calls = [sum(isinstance(step, Call) for step in task.oracle) for task in tasks]
    musts = sum(criterion.polarity == "must" for criterion in criteria)
    return {
        "tools": len(world.tools),
        "tables": len(world.tables),
        "articles": len(world.articles),
        "families": len({task.family for task in tasks}),
        "tasks": len(tasks),
        "criteria": len(criteria),
        "must_share": round(musts / len(criteria), 3) if criteria else 0.0,
        "oracle_calls_median": float(median(calls)) if calls else 0.0,
    }
