"""The verdict in plain words: what each model does, whether the difference is distinguishable from zero, what was not tested."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from journeyman.evaluate.comparison import Comparison
from journeyman.evaluate.metrics import PhaseMetrics
from journeyman.report.text import counted, listed, p_value, percent, percent_interval, points, points_interval

Labelled = Sequence[tuple[str, PhaseMetrics]]


class Words(Struct, frozen=True):
    """`headline` is one line, `verdict` one paragraph; `untested` are clauses."""

    headline: str
    verdict: str
    untested: list[str]


def put_in_words(groups: Sequence[Labelled], comparisons: Sequence[Comparison], world: str) -> Words:
    """Words for the phases with their labels, grouped by the tasks they were played on, the main group first."""
    if not groups or not groups[0]:
        return Words(
            "No result yet", "No evaluation phase of this run holds an episode, so there is nothing to say.", []
        )
    phases = groups[0]
    labels = {metrics.name: label for label, metrics in phases}
    made = {(item.a, item.b): item for item in comparisons}
    names = list(labels)
    sentences = [_rates(phases), *_unseen_families(phases)]
    last = made.get((names[-2], names[-1])) if len(names) > 1 else None
    if last is not None:
        sentences += _difference(last, labels)
    if len(names) > 2 and (names[0], names[-1]) in made:
        sentences.append(_short_difference(made[names[0], names[-1]], labels))
    sentences += [_reliability(phases), *_invalid(phases)]
    for other in groups[1:]:
        sentences += [_rates(other), *_unseen_families(other), *_invalid(other)]
    return Words(_headline(phases, last), " ".join(sentences), _untested([p for group in groups for p in group], world))


def task_words(metrics: PhaseMetrics) -> str:
    """What kind of tasks these are: held out, or not."""
    splits = {task.split for task in metrics.tasks}
    if splits <= {"heldout", "heldout_family"}:
        return "held-out task"
    if splits == {"train"}:
        return "training task"
    return "task" if splits == {""} else "training and held-out task"


def _headline(phases: Labelled, last: Comparison | None) -> str:
    """Rates of all phases; where the last step cannot be told from nothing, the headline says so too. Where no attempt was
    graded, nothing is known of the model, and no rate is told."""
    label, trained = phases[-1]
    others = [
        f"{name} {percent(m.overall.pass_at_1.value, 0) if m.valid else 'not graded'}"
        for name, m in reversed(phases[:-1])
    ]
    first = f"{label} passes {percent(trained.overall.pass_at_1.value, 0)} of attempts at {task_words(trained)}s"
    if not trained.valid:
        first = f"No attempt of {label} could be graded"
    doubt = ""
    if last is not None and not last.metric("pass@1").distinguishable:
        doubt = f"; {label} and {phases[-2][0]} cannot be told apart"
    return f"{first}; {', '.join(others)}{doubt}" if others else first


def _rates(phases: Labelled) -> str:
    first = phases[0][1]
    rates = []
    for place, (label, metrics) in enumerate(phases):
        estimate = metrics.overall.pass_at_1
        verb, unit = (" passes", " of attempts") if place == 0 else ("", "")
        bounds = f"{'95% interval ' if place == 0 else ''}{percent_interval(estimate)}"
        rates.append(f"{label}{verb} {percent(estimate.value)}{unit} ({bounds})")
    cleans = [percent(metrics.overall.clean.value) for _, metrics in phases]
    clean = f"clean passes, which also follow every required step, are {listed(cleans)}"
    return (
        f"On {counted(len(first.tasks), task_words(first))} of {counted(len(first.families), 'family')}, "
        f"{counted(first.trials, 'attempt')} each, {listed(rates)}; {clean}."
    )


def _difference(comparison: Comparison, labels: dict[str, str]) -> list[str]:
    found = comparison.metric("pass@1")
    a, b = labels[comparison.a], labels[comparison.b]
    answer = "distinguishable from zero" if found.distinguishable else "not distinguishable from zero"
    sentences = [
        f"{b} against {a}: {points(found.difference.value)} points (95% interval {points_interval(found.difference)}, "
        f"p {_p(found.p)}), which is {answer}."
    ]
    if found.detectable is None:
        sentences.append("No task differed between the two, so what this comparison could have detected is unknown.")
    else:
        sentences.append(
            f"A true difference under {100 * found.detectable:.1f} points would be missed by a comparison of this size "
            "more often than one time in five."
        )
    return sentences


def _short_difference(comparison: Comparison, labels: dict[str, str]) -> str:
    found = comparison.metric("pass@1")
    return (
        f"{labels[comparison.b]} against {labels[comparison.a]}: {points(found.difference.value)} points "
        f"({points_interval(found.difference)})."
    )


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def _reliability(phases: Labelled) -> str:
    counts = [f"{label} {m.overall.observed_all} of {m.overall.tasks}" for label, m in phases]
    trials = phases[0][1].trials
    if trials == 1:
        return "Each task was played once, so nothing is known about success on every attempt."
    return f"Tasks passed on every one of {trials} attempts: {listed(counts)}."


def _unseen_families(phases: Labelled) -> list[str]:
    """What part of the rates is of families that nothing was trained on; nothing where there are none, or only such."""
    tasks = phases[0][1].tasks
    unseen = sorted({task.family for task in tasks if task.split == "heldout_family"})
    if not unseen or len(unseen) == len({task.family for task in tasks}):
        return []
    rates = []
    for label, metrics in phases:
        found = [metrics.families[name] for name in unseen if name in metrics.families]
        count = sum(scores.tasks for scores in found)
        rates.append(
            f"{label} {percent(sum(scores.pass_at_1.value * scores.tasks for scores in found) / max(count, 1))}"
        )
    size = sum(task.family in unseen for task in tasks)
    return [
        f"Of these tasks {size} are of families held out whole ({listed(unseen)}), of which {listed(rates)} of attempts pass."
    ]


def _invalid(phases: Labelled) -> list[str]:
    """How many planned attempts were not graded, and the rates without them; nothing where all were graded."""
    broken = [(label, m) for label, m in phases if m.valid < m.planned]
    if not broken:
        return []
    counts = [f"{label} {m.planned - m.valid:,} of {m.planned:,}" for label, m in broken]
    rates = [
        "unknown (no attempt was graded)"
        if m.overall.bracket.if_excluded is None
        else percent(m.overall.bracket.if_excluded)
        for _, m in broken
    ]
    return [
        f"Attempts that were not graded and count as failed: {listed(counts)}; left out, "
        f"the rate{'s' if len(rates) > 1 else ''} would be {listed(rates)}."
    ]


def _untested(phases: Labelled, world: str) -> list[str]:
    found = [f"businesses other than {world}"]
    if all(metrics.overall.new_families is None for _, metrics in phases):
        found.append("families other than these (the intervals speak of these families only)")
    if not any(task.split == "heldout_family" for _, metrics in phases for task in metrics.tasks):
        found.append("a family kept out of training altogether")
    if len(phases) > 1:
        found.append("another training seed: each stage was trained once, and the intervals do not cover retraining")
    return [*found, "people: every user is simulated"]
