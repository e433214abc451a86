"""PivotRL: fresh actions at those turns of solved traces where the policy sometimes fails. Group i begins at pivot i, a turn of
a trace with its past restored; attempt j of it earns r_{i,j}, and every token that it sampled is credited with

    A_{i,j} = clip(r_{i,j} − mean_j r_{i,j}, −1, 1)
    maximise   mean over sampled tokens of   stopgrad(clip(ρ_t, 0, 4)) · A · log π_θ(x_t)            (CISPO)

ρ_t = π_θ / π_sampled. The trace's own tokens are prompt: mask 0. r is 1 where the one turn that was sampled does what the trace does
(`grading/equivalence.py`), else 0; with continuation = "episode" it is the reward of the episode that goes on from there.
Advantage, loss and aggregation are the stage's `objective`; these are its defaults. After Yi et al. (arXiv 2603.21383) and the
second seed article.

Pivots are found by profiling: the weights at the stage's start play every candidate G ≥ 8 times; kept are those with
0 < mean r < `profile_threshold` whose rewards differ. Profiles hold for the weights that made them, so they are made again where
the monitored pass rate stalls (`reprofile_after`). Each step takes the pivots whose success rate is, by their Beta posteriors,
nearest to one half (`posterior.py`). Both are logged, and read back from the log when a run resumes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from journeyman.codec import seed_of
from journeyman.engine.base import Trainer
from journeyman.episode import Continued, Group
from journeyman.errors import RecipeError
from journeyman.recipe import Limits, Pivot
from journeyman.rollout.pivots import Candidate
from journeyman.task import Task
from journeyman.train.advantage import has_signal
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod
from journeyman.train.guard import refuse_held_out
from journeyman.train.measure import episodes_of, sampled_turns
from journeyman.train.method import Batch, GroupRequest, GroupSource, group_id
from journeyman.train.posterior import FLAT, Beta, Drawn, ranked, updated
from journeyman.train.sitting import profile_phase

Line = dict[str, Any]


class Log(NamedTuple):
    """Where the method writes its lines of metrics, and reads back those that count."""

    write: Callable[[Line], None]
    read: Callable[[], Sequence[Mapping[str, Any]]]


class PivotMethod(GrpoMethod):
    """A `Method`.

    Args:
        stage: its settings.
        candidates: the turns that can be pivots, and `dropped`: why how many others cannot.
        tasks: by id, those of the candidates.
        source: plays groups from their pivots with the current policy.
        log: the run's metrics.
        seed: the run's.
        block: candidates that are profiled at a time.

    Raises:
        RecipeError: no candidate, or one of a held-out task.
    """

    def __init__(
        self,
        stage: Pivot,
        candidates: Sequence[Candidate],
        dropped: Mapping[str, int],
        tasks: Mapping[str, Task],
        source: GroupSource,
        log: Log,
        seed: int,
        held_out_worlds: Collection[str] = (),
        limits: Limits | None = None,
        block: int = 32,
    ) -> None:
        pool = [tasks[id] for id in dict.fromkeys(candidate.task_id for candidate in candidates)]
        if not pool:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(dropped.items())) or "no solved trace"
            raise RecipeError(
                f"stage {stage.name}", "traces", f"no turn can be a pivot ({reasons}): choose other tasks."
            )
        refuse_held_out(pool, f"stage {stage.name} (pivot)", held_out_worlds)
        super().__init__(stage, pool, source, seed, held_out_worlds, limits)
        self._pivots = stage
        self._candidates = {candidate.id: candidate for candidate in candidates}
        self._dropped = dict(dropped)
        self._log = log
        self._seed = seed_of(seed, stage.name, "pivots")
        self._block = block
        self._profiled_at = -1
        self._priors: dict[str, Beta] = {}
        self._posteriors: dict[str, Beta] = {}
        self._aside: list[Group] = []

    async def begin(self, trainer: Trainer, origin: Path | None, state: State) -> None:
        """See `Method.begin`: profile with the weights at the stage's start, or read back what is known by now.

        Raises:
            RecipeError: no candidate is a pivot.
        """
        await super().begin(trainer, origin, state)
        if state.step == 0:
            await self._profile(0)
        else:
            self._read_back(state.step)

    async def gather(self, step: int, position: int) -> Batch:
        """Groups from the pivots nearest to one half, profiled again before where the monitor stalls. Groups without signal
        are replaced from the next nearest within the refill rounds."""
        if self._pivots.reprofile_after and self._stalled():
            await self._profile(step)
        order = ranked(self._posteriors, seed_of(self._seed, step))
        kept: list[Group] = []
        played: list[Group] = []
        for _ in range(1 + self._pivots.refill_rounds):
            chosen = order[len(played) : len(played) + self._pivots.groups - len(kept)]
            if not chosen:
                break
            fresh = await self._source.play(
                [self._request(self.name, step, len(played) + n, one.id) for n, one in enumerate(chosen)]
            )
            played += fresh
            kept += [group for group in fresh if self.alive(group)]
        self._learn(step, order[: len(played)], played)
        aside, self._aside = self._aside, []
        return Batch(kept, played, position + len(played), aside=aside)

    def _request(self, phase: str, step: int, number: int, id: str, size: int | None = None) -> GroupRequest:
        candidate = self._candidates[id]
        return GroupRequest(
            group_id(phase, step, number),
            candidate.task_id,
            size or self._pivots.group_size,
            Continued(candidate.trace, candidate.turn),
        )

    # --- profiles

    async def _profile(self, step: int) -> None:
        """Play every candidate with the published weights and keep those that are pivots for them."""
        stage, began = self._pivots, time.perf_counter()
        requests = [
            self._request(profile_phase(self.name), step, number, id, stage.profile_size)
            for number, id in enumerate(self._candidates)
        ]
        groups: list[Group] = []
        for first in range(0, len(requests), self._block):
            groups += await self._source.play(requests[first : first + self._block])
        self._aside += groups
        rewards = {id: _rewards(group) for id, group in zip(self._candidates, groups, strict=True)}
        verdicts = {
            id: pivotal(found, stage.profile_threshold, stage.signal_tolerance) for id, found in rewards.items()
        }
        kept = {id: rewards[id] for id, verdict in verdicts.items() if verdict == "kept"}
        # Within a step the seconds are the step's.
        seconds = {} if self._posteriors else {"seconds_sampling": time.perf_counter() - began}
        self._log.write(self._profile_line(step, groups, verdicts, kept) | seconds)
        if kept:
            self._take_up(step, {id: (sum(found), len(found)) for id, found in kept.items()})
        elif not self._posteriors:
            counts = _count(verdicts.values())
            raise RecipeError(
                f"stage {self.name}",
                "profile_threshold",
                f"none of {len(verdicts)} candidates is a pivot for these weights ({_said(counts)}): raise it, take more tasks, "
                "or begin from a model that sometimes succeeds.",
            )

    def _profile_line(
        self, step: int, groups: Sequence[Group], verdicts: Mapping[str, str], kept: Mapping[str, Sequence[float]]
    ) -> Line:
        kinds = _count(candidate.kind for candidate in self._candidates.values())
        counts = {"kept": 0, "failed": 0, "solved": 0, "flat": 0, "too_easy": 0} | _count(verdicts.values())
        line: Line = {"kind": "profile", "stage": self.name, "step": step, "candidates": len(self._candidates)}
        line |= {f"candidates_{kind}": kinds.get(kind, 0) for kind in ("read", "write", "message")}
        line |= {f"dropped_{reason}": count for reason, count in sorted(self._dropped.items())}
        line |= counts
        line |= {"turns_sampled": sum(map(sampled_turns, episodes_of(groups)))}
        return line | {"pivots": [[id, sum(found), len(found)] for id, found in kept.items()]}

    def _take_up(self, step: int, counts: Mapping[str, tuple[float, int]]) -> None:
        """Begin with the pivots of a profile: their summed rewards and numbers of attempts."""
        self._profiled_at = step
        self._priors = {
            id: FLAT if self._pivots.prior == "flat" else Beta(gained, attempts - gained)
            for id, (gained, attempts) in counts.items()
        }
        self._posteriors = dict(self._priors)

    def _stalled(self) -> bool:
        """Whether the monitored pass rate has not improved for `reprofile_after` evaluations since the last profile."""
        return evaluations_without_improvement(self._own_lines(), self._profiled_at) >= self._pivots.reprofile_after

    # --- posteriors

    def _learn(self, step: int, drawn: Sequence[Drawn], played: Sequence[Group]) -> None:
        """Move the posteriors of the pivots that were played; log them before and after."""
        rows: list[Line] = []
        for one, group in zip(drawn, played, strict=True):
            rewards, before = _rewards(group), self._posteriors[one.id]
            after = updated(before, self._priors[one.id], rewards, self._pivots.decay)
            self._posteriors[one.id] = after
            row: Line = {"pivot": one.id, "group": group.id, "theta": one.theta, "before": list(before)}
            rows.append(row | {"after": list(after), "gained": sum(rewards), "attempts": len(rewards)})
        means = [posterior.mean for posterior in self._posteriors.values()]
        line: Line = {"kind": "posterior", "stage": self.name, "step": step + 1, "pivots": len(means)}
        self._log.write(line | {"mean": sum(means) / len(means), "drawn": rows})

    def _read_back(self, step: int) -> None:
        """What the lines of the first `step` steps (one at least) tell: the last profile, and every posterior since."""
        own = self._own_lines()
        profile = [line for line in own if line["kind"] == "profile" and line["pivots"] and line["step"] < step][-1]
        self._take_up(profile["step"], {id: (gained, attempts) for id, gained, attempts in profile["pivots"]})
        for line in own:
            if line["kind"] == "posterior" and profile["step"] < line["step"] <= step:
                for row in line["drawn"]:
                    self._posteriors[row["pivot"]] = Beta(*row["after"])

    def _own_lines(self) -> list[Mapping[str, Any]]:
        return [line for line in self._log.read() if line["stage"] == self.name]


def pivotal(rewards_G: Sequence[float], threshold: float, tolerance: float) -> str:
    """What a profile makes of a candidate: `kept`, or why not: `failed` (never succeeds), `solved` (always does), `flat` (earns the
    same part of the reward every time) or `too_easy` (its mean reaches the threshold).

    Args:
        rewards_G: of the attempts that count, each in [0, 1].
        tolerance: rewards that spread no more than this are equal.
    """
    mean = sum(rewards_G) / len(rewards_G) if rewards_G else 0.0
    if not has_signal(rewards_G, tolerance):
        return "failed" if mean <= tolerance else "solved" if mean >= 1 - tolerance else "flat"
    return "kept" if mean < threshold else "too_easy"


def evaluations_without_improvement(lines: Iterable[Mapping[str, Any]], profiled_at: int) -> int:
    """Monitoring evaluations in a row, up to the newest, that found no better pass rate than all before them; counted from the
    last profile, which was made after `profiled_at` steps."""
    best, since = -1.0, 0
    for line in lines:
        if line["kind"] != "monitor":
            continue
        better = line["pass_rate"] > best
        best = max(best, line["pass_rate"])
        since = 0 if better or line["step"] <= profiled_at else since + 1
    return since


def _rewards(group: Group) -> list[float]:
    """Rewards as they were earned, of the attempts that nobody broke."""
    return [episode.reward for episode in group.episodes if episode.valid]


def _count(words: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
