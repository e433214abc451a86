"""Numbers of a step: what the episodes were like, what the optimizer steps reported, what it all costs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import get_args

from msgspec import UNSET, Struct

from journeyman.episode import Episode, Failure, Group, Usage
from journeyman.recipe import Prices
from journeyman.train.method import Batch
from journeyman.train.runfolder import add_usage
from journeyman.train.samples import sampled_tokens

HISTOGRAM_EDGES = tuple(place / 10 for place in range(11))
"""Of `reward_histogram`: bin i holds rewards in [edge i, edge i + 1), the last one also its upper edge."""

_MAXIMA = frozenset({"ratio_max"})
_SUMS = frozenset({"tokens", "tokens_computed", "sequence_tokens", "seconds"})
_LAST = frozenset({"adapter_norm"})
_EVEN = frozenset({"grad_norm"})
"""Of an optimizer step as a whole, however many tokens it had."""
_COMPUTED = frozenset({"ratio_mean", "clipped_share", "entropy", "kl_k3", "kl_reference"})
"""Means over the tokens that were computed, which are those that can have a gradient."""


class Ledger(Struct):
    """What a run has used so far, by any process: tokens by role, device-seconds."""

    usage: dict[str, Usage]
    seconds: float = 0.0

    def add(self, episode: Episode) -> None:
        """Count an episode's tokens."""
        for role, usage in episode.usage.items():
            self.spend(role, usage)

    def spend(self, role: str, usage: Usage) -> None:
        """Count what a role has used, if anything."""
        if usage != Usage():
            self.usage[role] = add_usage(self.usage.get(role, Usage()), usage)

    def cost(self, prices: Prices) -> float:
        """Money, in the currency of the prices."""
        return cost(prices, self.usage, self.seconds)


def cost(prices: Prices, usage: Mapping[str, Usage], seconds: float) -> float:
    """Device-seconds at the price of a device-hour, plus tokens at the declared prices of their role."""
    total = prices.device_hour * seconds / 3600
    for role, used in usage.items():
        total += prices.input_per_million.get(role, 0.0) * used.input / 1e6
        total += prices.output_per_million.get(role, 0.0) * used.output / 1e6
    return total


def episode_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """How a set of episodes went.

    `pass_rate` and `clean_pass_rate` are shares of all planned episodes (single turns have none); `reward_mean` and `reward_std` are over the
    graded ones; lengths are tokens sampled and agent turns per graded episode, `tokens_per_turn` all those tokens over all
    those turns; `failures_KIND` are counts; `tokens_input_ROLE` and `tokens_output_ROLE` sums over all episodes.
    """
    if not episodes:
        return {}
    graded = [episode for episode in episodes if episode.valid]
    rewards = [episode.reward for episode in graded]
    failures = Counter(episode.failure for episode in episodes)
    lengths = [sampled_tokens(episode) for episode in graded]
    turns = [sampled_turns(episode) for episode in graded]
    return (
        {
            "episodes": len(episodes),
            "reward_mean": fmean(rewards) if rewards else 0.0,
            "reward_std": pstdev(rewards) if rewards else 0.0,
            "sampled_tokens_mean": fmean(lengths) if lengths else 0.0,
            "sampled_tokens_max": max(lengths, default=0),
            "turns_mean": fmean(turns) if turns else 0.0,
            "turns_max": max(turns, default=0),
            "tokens_per_turn": sum(lengths) / sum(turns) if sum(turns) else 0.0,
            "truncated_share": failures["truncated"] / len(episodes),
        }
        | _pass_rates(episodes)
        | {f"failures_{kind}": failures[kind] for kind in get_args(Failure)}
        | _tokens_by_role(episodes)
    )


def _pass_rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """Shares of all planned episodes; none where all that was graded is single turns from pivots: a turn has no outcome."""
    verdicts = [episode.verdict for episode in episodes if episode.valid and episode.verdict is not None]
    if not verdicts and any(episode.valid and episode.pivot is not UNSET for episode in episodes):
        return {}
    return {
        "pass_rate": sum(verdict.passed for verdict in verdicts) / len(episodes),
        "clean_pass_rate": sum(verdict.clean for verdict in verdicts) / len(episodes),
    }


def reward_histogram(episodes: Iterable[Episode]) -> list[int]:
    """Graded episodes by reward, in the bins of `HISTOGRAM_EDGES`; rewards beyond the ends are in the outer bins."""
    counts = [0] * (len(HISTOGRAM_EDGES) - 1)
    for episode in episodes:
        if episode.valid:
            counts[min(max(bisect_right(HISTOGRAM_EDGES, episode.reward) - 1, 0), len(counts) - 1)] += 1
    return counts


def sampled_turns(episode: Episode) -> int:
    """Turns that the policy sampled. What an episode shares with the trace that it continues is not among them."""
    asked = episode.usage.get("policy", Usage()).requests if episode.segments else 0
    if episode.pivot is not UNSET:
        return asked
    return asked or sum(message.role == "assistant" for message in episode.messages)


def batch_counters(batch: Batch, trained: Iterable[str]) -> dict[str, int]:
    """Exact counts of one step: of what was sampled, whatever became of it. `trained` names the episodes that gave samples.

    Groups that were left with nothing to learn by the age of their episodes count as sampled, neither as trained nor as
    without signal; what was young of them is waste.
    """
    kept = {group.id for group in batch.groups}
    aged = {one.group_id for one in batch.overage}
    old = {one.id for one in batch.overage}
    dropped = [group for group in batch.played if group.id not in kept]
    wasted = [one for one in episodes_of(dropped) if one.id not in old]
    played = episodes_of([*batch.aside, *batch.played])
    return {
        "steps": 1,
        "groups_sampled": len(batch.played),
        "groups_without_signal": sum(group.id not in aged for group in dropped),
        "groups_trained": len(batch.groups),
        "episodes_sampled": len(played),
        "episodes_trained": len(set(trained)),
        "episodes_wasted": len(wasted),
        "episodes_overage": len(batch.overage),
        "turns_sampled": sum(map(sampled_turns, played)),
        "tokens_sampled": sum(map(sampled_tokens, played)),
        "tokens_wasted": sum(map(sampled_tokens, wasted)),
        "tokens_overage": sum(map(sampled_tokens, batch.overage)),
    }


def update_metrics(reports: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The optimizer steps of one training step as one.

    Sums, maxima and last values where the name says so, plain means of what belongs to a step as a whole, else means
    weighted by tokens. What only some of the steps report is merged over those.
    """
    if not reports:
        return {}
    merged: dict[str, float] = {}
    for key in dict.fromkeys(key for report in reports for key in report):
        having = [report for report in reports if key in report]
        values = [report[key] for report in having]
        if key in _SUMS:
            merged[key] = sum(values)
        elif key in _MAXIMA:
            merged[key] = max(values)
        elif key in _LAST:
            merged[key] = values[-1]
        else:
            merged[key] = _mean(values, [_weight(key, report) for report in having])
    norms = [report["grad_norm"] for report in reports if "grad_norm" in report]
    if norms:
        merged["grad_norm_max"] = max(norms)
    merged["update_seconds"] = merged.pop("seconds")
    merged["tokens_trained"] = merged.pop("tokens")
    return merged


def _weight(key: str, report: Mapping[str, float]) -> float:
    if key in _EVEN:
        return 1.0
    return report.get("tokens_computed", report["tokens"]) if key in _COMPUTED else report["tokens"]


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return (
        sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else fmean(values)
    )


def episodes_of(groups: Iterable[Group]) -> list[Episode]:
    """All episodes of the groups."""
    return [episode for group in groups for episode in group.episodes]


def _tokens_by_role(episodes: Iterable[Episode]) -> dict[str, int]:
    usage: dict[str, Usage] = {}
    for episode in episodes:
        for role, used in episode.usage.items():
            usage[role] = add_usage(usage.get(role, Usage()), used)
    found: dict[str, int] = {}
    for role, used in sorted(usage.items()):
        found |= {f"tokens_input_{role}": used.input, f"tokens_output_{role}": used.output}
    return found
