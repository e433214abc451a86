"""Two phases on the same tasks: paired differences with interval, p-value and what the comparison could have seen.

Pairing is by task; trial t of a task met the same world and the same user in both, which is verified by seed. The
same resamples serve both sides. What the interval does not cover: another training run with another seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from journeyman.errors import JourneymanError
from journeyman.evaluate.metrics import PhaseMetrics, Resamples, TaskInfo, TaskTally
from journeyman.evaluate.statistics import Estimate, minimum_detectable_difference, pass_hat_k, sign_flip_p


class Difference(Struct, frozen=True):
    """`b` − `a` in one metric. `detectable`: minimum detectable difference (80 % power), None where no task differed.

    `wins`, `losses`, `ties` count tasks by the sign of their own difference.
    """

    metric: str
    a: float
    b: float
    difference: Estimate
    p: float
    detectable: float | None
    wins: int
    losses: int
    ties: int

    @property
    def distinguishable(self) -> bool:
        """The interval excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0


class Comparison(Struct, frozen=True):
    """Phase `b` against phase `a`. `unlike` names settings that differ, when that was allowed."""

    a: str
    b: str
    tasks: int
    trials: int
    metrics: list[Difference]
    families: dict[str, Difference]
    unlike: list[str]

    def metric(self, name: str) -> Difference:
        """The difference in one metric. Raises KeyError for a metric that was not compared."""
        for item in self.metrics:
            if item.metric == name:
                return item
        raise KeyError(name)


def compare(
    a: PhaseMetrics, b: PhaseMetrics, *, allow_unlike: bool = False, resamples: Resamples | None = None, seed: int = 0
) -> Comparison:
    """Paired comparison of `b` against `a` in pass@1, clean pass, mean reward and pass^k for 2 <= k <= trials.

    Args:
        allow_unlike: compare on the common tasks even where settings differ, and name the differences in the result.
        resamples: those of the task list, as used for the phases; made from `seed` where not given or not of this list.

    Raises:
        JourneymanError: settings differ and that is not allowed, or there is no common task.
    """
    unlike = unlike_settings(a, b)
    if unlike and not allow_unlike:
        raise JourneymanError(
            f"{a.name} and {b.name}", "settings", f"not comparable: {'; '.join(unlike)}. Allow it to compare anyway."
        )
    from_b = {item.id: item for item in b.tasks}
    pairs = [(item, from_b[item.id]) for item in a.tasks if item.id in from_b]
    if not pairs:
        raise JourneymanError(f"{a.name} and {b.name}", "tasks", "no task in common: evaluate both on the same tasks.")
    families = [item.family for item, _ in pairs]
    if resamples is None or resamples.families != tuple(families):
        resamples = Resamples([TaskInfo(item.id, item.family) for item, _ in pairs], seed=seed)
    trials = min(min(x.planned, y.planned) for x, y in pairs)
    overall = resamples.overall()
    metrics = [_difference(name, pairs, value, overall.estimate, seed) for name, value in _metrics(trials).items()]
    by_family = {
        family: _difference(
            "pass@1", [p for p in pairs if p[0].family == family], _pass_rate, resamples.family(family).estimate, seed
        )
        for family in dict.fromkeys(families)
    }
    return Comparison(a.name, b.name, len(pairs), trials, metrics, by_family, unlike)


def unlike_settings(a: PhaseMetrics, b: PhaseMetrics) -> list[str]:
    """What keeps two phases from being compared like with like, in words; empty when nothing does."""
    found: list[str] = []
    left, right = {t.id: t for t in a.tasks}, {t.id: t for t in b.tasks}
    alone = left.keys() ^ right.keys()
    common = sorted(left.keys() & right.keys())
    if alone:
        found.append(f"{len(alone)} tasks were planned in only one of them")
    altered = [i for i in common if left[i].hash and right[i].hash and left[i].hash != right[i].hash]
    if altered:
        found.append(f"{len(altered)} tasks differ in content (first: {altered[0]})")
    if a.trials != b.trials:
        found.append(f"{a.trials} trials a task against {b.trials}")
    if a.sampling and b.sampling and a.sampling != b.sampling:
        found.append("sampling settings differ")
    if a.graders and b.graders and a.graders != b.graders:
        found.append(f"graded by {', '.join(a.graders)} against {', '.join(b.graders)}")
    strangers = [i for i in common if _seeds_differ(left[i], right[i])]
    if strangers:
        found.append(f"{len(strangers)} tasks were played with other user seeds (first: {strangers[0]})")
    return found


def _seeds_differ(x: TaskTally, y: TaskTally) -> bool:
    return any(y.seeds.get(trial, seed) != seed for trial, seed in x.seeds.items())


def _pass_rate(item: TaskTally) -> float:
    return item.passes / item.planned


def _metrics(trials: int) -> dict[str, Callable[[TaskTally], float]]:
    def hat(k: int) -> Callable[[TaskTally], float]:
        return lambda item: pass_hat_k(item.planned, item.passes, k)

    found: dict[str, Callable[[TaskTally], float]] = {
        "pass@1": _pass_rate,
        "clean pass": lambda item: item.cleans / item.planned,
        "mean reward": lambda item: item.reward,
    }
    return found | {f"pass^{k}": hat(k) for k in range(2, trials + 1)}


def _difference(
    metric: str,
    pairs: Sequence[tuple[TaskTally, TaskTally]],
    value: Callable[[TaskTally], float],
    estimate: Callable[..., Estimate],
    seed: int,
) -> Difference:
    a_N, b_N = [value(x) for x, _ in pairs], [value(y) for _, y in pairs]
    differences_N = [b - a for a, b in zip(a_N, b_N, strict=True)]
    strata = [x.family for x, _ in pairs]
    return Difference(
        metric=metric,
        a=sum(a_N) / len(a_N),
        b=sum(b_N) / len(b_N),
        difference=estimate(differences_N, lower=-1.0, upper=1.0),
        p=sign_flip_p(differences_N, seed=seed),
        detectable=minimum_detectable_difference(differences_N, strata),
        wins=sum(d > 1e-12 for d in differences_N),
        losses=sum(d < -1e-12 for d in differences_N),
        ties=sum(abs(d) <= 1e-12 for d in differences_N),
    )
