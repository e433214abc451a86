"""A lint report as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator

from journeyman.curriculum.lint import LintReport


def lines(report: LintReport) -> Iterator[str]:
    """Findings first, then the attacks, the criteria that told nobody apart, the figures and the count."""
    for finding in report.findings:
        yield f"{finding.task} {finding.rule}: {finding.detail} → {finding.remedy}"
    for name, counts in report.attacks.items():
        yield f"attack {name}: played {counts['played']}, passed {counts['passed']}, in the pass band {counts['clean']}"
    if report.constant_criteria:
        still = sum(one.tasks for one in report.constant_criteria)
        shown = ", ".join(f"{one.family}/{one.criterion} ({one.tasks} of {one.of})" for one in report.constant_criteria)
        yield f"{still} criteria have one verdict for every policy played; each is broken by its witness: {shown}"
    for world, figures in report.worlds.items():
        yield f"{world}: " + ", ".join(f"{value:g} {key.replace('_', ' ')}" for key, value in figures.items())
    yield f"{len(report.findings)} findings"
