"""Everything the report shows, as plain data: built from a run folder, rendered by `html` and `terminal`, or printed as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from journeyman.episode import Episode
from journeyman.errors import JourneymanError
from journeyman.evaluate.behaviour import BehaviourSummary, summarise_behaviour
from journeyman.evaluate.comparison import Comparison, compare
from journeyman.evaluate.metrics import PhaseMetrics, Resamples, TaskInfo, latest_attempts, measure_phase, task_info
from journeyman.recipe import Evaluate, Recipe, Sampled, Sft, Training
from journeyman.report.curves import Curve, grpo_curve, monitor_curve, sft_curve
from journeyman.report.notes import phase_notes, policy_label, run_notes
from journeyman.report.showcase import Showcase, choose_showcases
from journeyman.report.text import listed
from journeyman.report.verdict import Words, put_in_words
from journeyman.task import Task

ROLE_LABELS = {"base": "Base", "sft": "SFT", "grpo": "RL"}


class RunLike(Protocol):
    """What the report reads of a run."""

    @property
    def recipe(self) -> Recipe:
        """The resolved recipe."""
        ...

    @property
    def provenance(self) -> Any:
        """A record or mapping of names, versions and hashes."""
        ...

    def episodes(self, phase: str) -> Iterable[Episode]:
        """Episodes of a stage that count."""
        ...

    def metrics(self) -> list[dict[str, Any]]:
        """Lines of metrics.jsonl that count."""
        ...


class PhaseReport(Struct, frozen=True):
    """One evaluation phase. `role`: what was trained last before it (`base`, `sft`, `grpo`)."""

    label: str
    role: str
    metrics: PhaseMetrics
    behaviour: BehaviourSummary


class ReportData(Struct, frozen=True):
    """One report. `not_compared` and `notes` say in words what is missing and why."""

    name: str
    world: str
    words: Words
    phases: list[PhaseReport]
    comparisons: list[Comparison]
    not_compared: list[str]
    curves: list[Curve]
    showcases: list[Showcase]
    settings: dict[str, Any]
    provenance: dict[str, Any]
    notes: list[str]

    def label(self, phase: str) -> str:
        """How a phase is called in the report."""
        return next((item.label for item in self.phases if item.metrics.name == phase), phase)


def build_report_data(
    run: RunLike,
    tasks: Iterable[Task] | None = None,
    *,
    policy_tools: Collection[str] | None = None,
    allow_unlike: bool = False,
    seed: int = 0,
    resamples: int = 10_000,
) -> ReportData:
    """Measure and compare every evaluation phase of a run, finished or not.

    Args:
        run: a run folder, or anything like it.
        tasks: the tasks of its world, so that trials never played are counted and criteria are shown in words;
            without them the plan is taken to be the tasks that were played.
        policy_tools: names of the world's policy look-ups (None: told by name).
        allow_unlike: compare phases whose settings differ, and say so.
        seed, resamples: of the bootstrap.

    Raises:
        JourneymanError: episodes contradict the plan (another version of a task, more trials than planned).
    """
    recipe = run.recipe
    known = {task.id: task for task in tasks} if tasks is not None else None
    notes = run_notes(recipe, run.metrics())
    provenance = plain(run.provenance)
    trains = any(not isinstance(stage, Evaluate) for stage in recipe.stage)
    phases: list[PhaseReport] = []
    played: dict[str, list[Episode]] = {}
    shared: dict[tuple[str, ...], Resamples] = {}
    for stage, role, label in labelled_phases(recipe):
        episodes = latest_attempts(run.episodes(stage.name))
        planned = planned_tasks(stage, known.values()) if known is not None else _seen(episodes)
        if not episodes or not planned:
            notes.append(f"{label} ({stage.name}) was not evaluated: the run holds no episode of it.")
            continue
        draws = shared.setdefault(
            tuple(task.id for task in planned), Resamples(planned, seed=seed, resamples=resamples)
        )
        metrics = measure_phase(stage.name, episodes, planned, stage.trials, resamples=draws)
        if label == ROLE_LABELS["base"] and not trains:
            label = policy_label(metrics.policies, provenance.get("actors", [])) or label
        phases.append(PhaseReport(label, role, metrics, summarise_behaviour(episodes, policy_tools)))
        played[stage.name] = episodes
        if metrics.played < metrics.planned:
            notes.append(
                f"{label}: {metrics.played} of {metrics.planned} planned attempts were played; the rest count as failed."
            )
        if metrics.retried:
            notes.append(
                f"{label}: attempts that the user or the machine broke and that were played again: {metrics.retried}."
            )
        notes += phase_notes(label, episodes, recipe)
    groups = _groups(phases)
    comparisons, not_compared = _compare(groups, shared, allow_unlike, seed)
    main = groups[0] if groups else []
    return ReportData(
        name=recipe.name,
        world=recipe.world,
        words=put_in_words([[(p.label, p.metrics) for p in group] for group in groups], comparisons, recipe.world),
        phases=phases,
        comparisons=comparisons,
        not_compared=not_compared,
        curves=_curves(run, recipe),
        showcases=choose_showcases([(p.label, played[p.metrics.name]) for p in main], known or {}),
        settings=plain(recipe),
        provenance=provenance,
        notes=notes,
    )


def to_json(data: ReportData) -> bytes:
    """The report's data as indented JSON: what `journeyman report --json` prints."""
    return msgspec.json.format(msgspec.json.encode(plain(data)), indent=2)


def labelled_phases(recipe: Recipe) -> list[tuple[Evaluate, str, str]]:
    """Evaluation stages with role and label: Base, SFT, RL; the stage's name where a label would occur twice.

    A run that trains nothing is labelled by who acted in it, which only its episodes tell.
    """
    role, found = "base", []
    for stage in recipe.stage:
        if isinstance(stage, Evaluate):
            found.append((stage, role))
        else:
            role = "sft" if isinstance(stage, Sft) else "grpo"
    roles = [role for _, role in found]
    return [(stage, role, ROLE_LABELS[role] if roles.count(role) == 1 else stage.name) for stage, role in found]


def planned_tasks(stage: Evaluate, tasks: Iterable[Task]) -> list[TaskInfo]:
    """The tasks an evaluation stage plans, in world order, each once."""
    pool, found = list(tasks), dict[str, TaskInfo]()
    for wanted in stage.tasks:
        matching = [
            task
            for task in pool
            if task.split == wanted.split and (not wanted.families or task.family in wanted.families)
        ]
        found |= {task.id: task_info(task) for task in matching[: wanted.limit]}
    return list(found.values())


def _seen(episodes: Sequence[Episode]) -> list[TaskInfo]:
    seen = {e.task_id: TaskInfo(e.task_id, e.family, hash=e.task_hash) for e in episodes}
    return [seen[key] for key in sorted(seen)]


def _groups(phases: Sequence[PhaseReport]) -> list[list[PhaseReport]]:
    """Phases by the tasks they planned: only those of one group can be compared. The largest group first."""
    groups: dict[tuple[str, ...], list[PhaseReport]] = {}
    for phase in phases:
        groups.setdefault(tuple(task.id for task in phase.metrics.tasks), []).append(phase)
    return sorted(groups.values(), key=len, reverse=True)


def _compare(
    groups: Sequence[Sequence[PhaseReport]], shared: dict[tuple[str, ...], Resamples], allow_unlike: bool, seed: int
) -> tuple[list[Comparison], list[str]]:
    """Within a group: each phase against the one before it, and the last against the first."""
    done: list[Comparison] = []
    refused: list[str] = []
    for group in groups:
        pairs = list(pairwise(group))
        if len(group) > 2:
            pairs.append((group[0], group[-1]))
        for left, right in pairs:
            draws = shared[tuple(task.id for task in left.metrics.tasks)]
            try:
                done.append(compare(left.metrics, right.metrics, allow_unlike=allow_unlike, resamples=draws, seed=seed))
            except JourneymanError as error:
                refused.append(f"{right.label} against {left.label}: {error.remedy}")
    if len(groups) > 1:
        names = [listed([phase.label for phase in group]) for group in groups]
        refused.append(f"Evaluated on different tasks and therefore not compared: {'; '.join(names)}.")
    return done, refused


def _curves(run: RunLike, recipe: Recipe) -> list[Curve]:
    lines = run.metrics()
    curves: list[Curve] = []
    for stage in recipe.stage:
        if isinstance(stage, Sft):
            curves.append(sft_curve(stage.name, lines))
        elif isinstance(stage, Sampled):
            curves.append(grpo_curve(stage.name, run.episodes(stage.name), stage.signal_tolerance))
        if isinstance(stage, Training):
            curves.append(monitor_curve(stage.name, run.episodes(f"{stage.name}-monitor")))
    return [curve for curve in curves if curve.steps]


def plain(value: Any) -> Any:
    """Records as mappings with every field, defaults included, so that a reader need not know them."""
    if isinstance(value, Struct):
        config = value.__struct_config__
        tag = {config.tag_field: config.tag} if config.tag_field else {}
        return tag | {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
