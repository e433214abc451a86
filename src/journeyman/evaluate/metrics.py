"""What a phase measured: per task, per family and overall, over the trials that were planned.

Knows nothing of worlds: tasks arrive as `TaskInfo`. The denominator of every rate is the number of planned trials;
a trial that the user or the machine broke, or that was never played, counts as failed, and the bracket beside the
rate says what it would be with such trials left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from msgspec import Struct

from journeyman.codec import seed_of
from journeyman.episode import Episode, SamplingSettings
from journeyman.errors import JourneymanError
from journeyman.evaluate.bootstrap import RESAMPLES, TaskBootstrap
from journeyman.evaluate.statistics import Estimate, cluster_means_interval, pass_at_k, pass_hat_k
from journeyman.task import Task


class TaskInfo(Struct, frozen=True):
    """What evaluation needs to know of a task."""

    id: str
    family: str
    level: int = 0
    split: str = ""
    hash: str = ""


class TaskTally(Struct, frozen=True):
    """One task's trials in one phase.

    Args:
        planned: trials that should have been played; `valid` of them were graded.
        passes: graded trials whose outcome holds; `cleans` those that also met every required criterion.
        reward: mean over planned trials, 0 for one that was not graded.
        seeds: user seed by trial, to verify that a compared model met the same user.
    """

    id: str
    hash: str
    family: str
    level: int
    split: str
    planned: int
    valid: int
    passes: int
    cleans: int
    reward: float
    seeds: dict[str, int]


class Bracket(Struct, frozen=True):
    """A rate when every ungraded trial is failed, and when they are left out (None: none was graded)."""

    if_failed: float
    if_excluded: float | None


class Scores(Struct, frozen=True):
    """The headline table's row for one set of tasks. Lists over k start at k = 1."""

    tasks: int
    trials: int
    pass_at_1: Estimate
    clean: Estimate
    reward: Estimate
    pass_hat_k: list[Estimate]
    pass_at_k: list[Estimate]
    observed_all: int
    observed_all_clean: int
    bracket: Bracket
    clean_bracket: Bracket
    new_families: Estimate | None = None

    @property
    def observed(self) -> Estimate:
        """Share of tasks that passed on every planned trial: pass^n at n = trials."""
        return self.pass_hat_k[-1]


class RoleUse(Struct, frozen=True):
    """Mean tokens read (input), tokens sampled (output) and requests of one role, per played episode."""

    input: float
    output: float
    requests: float


class PhaseMetrics(Struct, frozen=True):
    """All that was measured in one evaluation phase.

    `failures` counts every played trial by kind, `none` included, and `not played` for planned trials without an
    episode; `retried` counts attempts that the user or the machine broke and that were played again. `truncated` is the share of played trials that ran into a token or turn limit; `passing_unclean` the share
    of passing trials that miss a required criterion (None: none passed).
    """

    name: str
    policies: list[str]
    trials: int
    planned: int
    played: int
    valid: int
    overall: Scores
    families: dict[str, Scores]
    tasks: list[TaskTally]
    failures: dict[str, int]
    truncated: float
    passing_unclean: float | None
    usage: dict[str, RoleUse]
    seconds: dict[str, float]
    sampling: list[SamplingSettings]
    graders: list[str]
    retried: int = 0

    @property
    def tokens_per_episode(self) -> float:
        """Sampled tokens per played episode, all roles."""
        return sum(use.output for use in self.usage.values())

    @property
    def seconds_per_episode(self) -> float | None:
        """Seconds of a played episode: the clock named `total` or `wall` where there is one, else the sum over roles."""
        if not self.seconds:
            return None
        for whole in ("total", "wall"):
            if whole in self.seconds:
                return self.seconds[whole]
        return sum(self.seconds.values())


def task_info(task: Task) -> TaskInfo:
    """The part of a task that evaluation needs."""
    return TaskInfo(task.id, task.family, task.level, task.split, task.hash)


def latest_attempts(episodes: Iterable[Episode]) -> list[Episode]:
    """One episode per id, the highest attempt (of equal attempts the later), in order of first appearance."""
    chosen: dict[str, Episode] = {}
    for episode in episodes:
        known = chosen.get(episode.id)
        if known is None or episode.attempt >= known.attempt:
            chosen[episode.id] = episode
    return list(chosen.values())


def trial_of(episode: Episode) -> str:
    """The trial part of phase/step/group/trial."""
    return episode.id.rsplit("/", 1)[-1]


def tally(episodes: Sequence[Episode], tasks: Sequence[TaskInfo], trials: int) -> list[TaskTally]:
    """Count each planned task's trials, in the order of `tasks`.

    Raises:
        JourneymanError: an episode of a task that was not planned, of another version of it, or more trials than planned.
    """
    by_task: dict[str, list[Episode]] = {task.id: [] for task in tasks}
    for episode in episodes:
        if episode.task_id not in by_task:
            raise JourneymanError(
                episode.id,
                episode.task_id,
                "was played but is not among the planned tasks: pass the task list of this run.",
            )
        by_task[episode.task_id].append(episode)
    return [_tally_one(task, by_task[task.id], trials) for task in tasks]


def _tally_one(task: TaskInfo, episodes: list[Episode], trials: int) -> TaskTally:
    hashes = {episode.task_hash for episode in episodes} | ({task.hash} if task.hash else set())
    if len(hashes) > 1:
        raise JourneymanError(
            task.id, "task_hash", "its trials were played on different versions of the task: evaluate it again."
        )
    if len(episodes) > trials:
        raise JourneymanError(task.id, "trials", f"{len(episodes)} trials were played but {trials} planned.")
    valid = [episode for episode in episodes if episode.valid and episode.verdict is not None]
    verdicts = [episode.verdict for episode in valid if episode.verdict is not None]
    return TaskTally(
        id=task.id,
        hash=next(iter(hashes), ""),
        family=task.family,
        level=task.level,
        split=task.split,
        planned=trials,
        valid=len(valid),
        passes=sum(verdict.passed for verdict in verdicts),
        cleans=sum(verdict.clean for verdict in verdicts),
        reward=sum(episode.reward for episode in valid) / trials,
        seeds={trial_of(episode): episode.seeds.user for episode in episodes},
    )


def scores(tallies: Sequence[TaskTally], resamples: TaskBootstrap) -> Scores:
    """Rates with intervals over `tallies`, which `resamples` was drawn for."""
    trials = min(item.planned for item in tallies)
    hat = [[pass_hat_k(t.planned, t.passes, k) for t in tallies] for k in range(1, trials + 1)]
    at = [[pass_at_k(t.planned, t.passes, k) for t in tallies] for k in range(1, trials + 1)]
    rates = [t.passes / t.planned for t in tallies]
    by_family: dict[str, list[float]] = {}
    for item, rate in zip(tallies, rates, strict=True):
        by_family.setdefault(item.family, []).append(rate)
    return Scores(
        tasks=len(tallies),
        trials=sum(t.planned for t in tallies),
        pass_at_1=resamples.estimate(rates),
        clean=resamples.estimate([t.cleans / t.planned for t in tallies]),
        reward=resamples.estimate([t.reward for t in tallies]),
        pass_hat_k=[resamples.estimate(values) for values in hat],
        pass_at_k=[resamples.estimate(values) for values in at],
        observed_all=sum(t.passes == t.planned for t in tallies),
        observed_all_clean=sum(t.cleans == t.planned for t in tallies),
        bracket=_bracket([t.passes for t in tallies], tallies),
        clean_bracket=_bracket([t.cleans for t in tallies], tallies),
        new_families=cluster_means_interval(by_family),
    )


def _bracket(counts: Sequence[int], tallies: Sequence[TaskTally]) -> Bracket:
    graded = [(count, t.valid) for count, t in zip(counts, tallies, strict=True) if t.valid]
    return Bracket(
        float(np.mean([count / t.planned for count, t in zip(counts, tallies, strict=True)])),
        float(np.mean([count / valid for count, valid in graded])) if graded else None,
    )


class Resamples:
    """The bootstraps of one task list, overall and per family, made when first asked for and then shared.

    Phases measured with the same object (or the same seed and tasks) are resampled identically.
    """

    def __init__(self, tasks: Sequence[TaskInfo], *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        self.families = tuple(task.family for task in tasks)
        self._seed, self._resamples = seed, resamples
        self._made: dict[str, TaskBootstrap] = {}

    def overall(self) -> TaskBootstrap:
        """Over all tasks, stratified by family."""
        return self._get("", self.families)

    def family(self, name: str) -> TaskBootstrap:
        """Over the tasks of one family."""
        return self._get(name, tuple(family for family in self.families if family == name))

    def _get(self, name: str, families: tuple[str, ...]) -> TaskBootstrap:
        if name not in self._made:
            seed = seed_of("bootstrap", self._seed, name)
            self._made[name] = TaskBootstrap(families, seed=seed, resamples=self._resamples)
        return self._made[name]


def measure_phase(
    name: str,
    episodes: Iterable[Episode],
    tasks: Sequence[TaskInfo],
    trials: int,
    *,
    resamples: Resamples | None = None,
    seed: int = 0,
) -> PhaseMetrics:
    """Measure one evaluation phase.

    Args:
        name: the phase (stage) name.
        episodes: its episodes in any order, retried attempts included.
        tasks: the planned tasks.
        trials: planned trials per task.
        resamples: shared resamples of the same task list; made from `seed` where not given.

    Raises:
        JourneymanError: no planned task, or episodes that contradict the plan (see `tally`).
    """
    if not tasks or trials < 1:
        raise JourneymanError(name, "tasks", "the phase plans no trial: give at least one task and one trial.")
    played = latest_attempts(episodes)
    draws = resamples or Resamples(tasks, seed=seed)
    tallies = tally(played, tasks, trials)
    names = list(dict.fromkeys(task.family for task in tasks))
    passed = [e for e in played if e.valid and e.verdict is not None and e.verdict.passed]
    unclean = sum(not e.verdict.required_met for e in passed if e.verdict is not None)
    return PhaseMetrics(
        name=name,
        policies=sorted({episode.policy for episode in played}),
        trials=trials,
        planned=trials * len(tasks),
        played=len(played),
        valid=sum(t.valid for t in tallies),
        overall=scores(tallies, draws.overall()),
        families={f: scores([t for t in tallies if t.family == f], draws.family(f)) for f in names},
        tasks=tallies,
        failures=_failures(played, trials * len(tasks)),
        truncated=sum(e.failure == "truncated" for e in played) / len(played) if played else 0.0,
        passing_unclean=unclean / len(passed) if passed else None,
        usage=_usage(played),
        seconds=_seconds(played),
        sampling=_distinct_sampling(played),
        graders=sorted({e.verdict.grader_version for e in played if e.verdict is not None}),
        retried=sum(e.attempt for e in played),
    )


def _failures(played: Sequence[Episode], planned: int) -> dict[str, int]:
    counts = Counter[str](episode.failure for episode in played)
    found = {kind: counts[kind] for kind in ("none", "agent", "truncated", "user", "infrastructure")}
    found["not played"] = max(0, planned - len(played))
    return found


def _usage(played: Sequence[Episode]) -> dict[str, RoleUse]:
    roles = sorted({role for episode in played for role in episode.usage})
    found: dict[str, RoleUse] = {}
    for role in roles:
        uses = [episode.usage[role] for episode in played if role in episode.usage]
        found[role] = RoleUse(
            sum(use.input for use in uses) / len(played),
            sum(use.output for use in uses) / len(played),
            sum(use.requests for use in uses) / len(played),
        )
    return found


def _seconds(played: Sequence[Episode]) -> dict[str, float]:
    roles = sorted({role for episode in played for role in episode.timing})
    return {role: sum(episode.timing.get(role, 0.0) for episode in played) / len(played) for role in roles}


def _distinct_sampling(played: Sequence[Episode]) -> list[SamplingSettings]:
    distinct = {msgspec.json.encode(e.sampling): e.sampling for e in played if e.sampling is not None}
    return [distinct[key] for key in sorted(distinct)]
