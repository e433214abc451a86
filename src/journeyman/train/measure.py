"""Numbers of a step: what the episodes were like, what the optimizer steps reported, what it all costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import get_args

from msgspec import Struct

from journeyman.episode import Episode, Failure, Group, Usage
from journeyman.recipe import Prices
from journeyman.train.method import Batch
from journeyman.train.runfolder import add_usage
from journeyman.train.samples import sampled_tokens

_MAXIMA = frozenset({"ratio_max"})
_SUMS = frozenset({"tokens", "sequence_tokens", "seconds"})


class Ledger(Struct):
    """What a run has used so far, by any process: tokens by role, device-seconds."""

    usage: dict[str, Usage]
    seconds: float = 0.0

    def add(self, episode: Episode) -> None:
        """Count an episode's tokens."""
        for role, usage in episode.usage.items():
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

    `pass_rate` and `clean_pass_rate` are shares of all planned episodes; `reward_mean` and `reward_std` are over the
    graded ones; lengths are tokens sampled and agent turns per graded episode; `failures_KIND` are counts.
    """
    if not episodes:
        return {}
    graded = [episode for episode in episodes if episode.valid]
    rewards = [episode.reward for episode in graded]
    verdicts = [episode.verdict for episode in graded if episode.verdict is not None]
    failures = Counter(episode.failure for episode in episodes)
    lengths = [sampled_tokens(episode) for episode in graded]
    turns = [sum(message.role == "assistant" for message in episode.messages) for episode in graded]
    return {
        "episodes": len(episodes),
        "reward_mean": fmean(rewards) if rewards else 0.0,
        "reward_std": pstdev(rewards) if rewards else 0.0,
        "pass_rate": sum(verdict.passed for verdict in verdicts) / len(episodes),
        "clean_pass_rate": sum(verdict.clean for verdict in verdicts) / len(episodes),
        "sampled_tokens_mean": fmean(lengths) if lengths else 0.0,
        "sampled_tokens_max": max(lengths, default=0),
        "turns_mean": fmean(turns) if turns else 0.0,
        "truncated_share": failures["truncated"] / len(episodes),
    } | {f"failures_{kind}": failures[kind] for kind in get_args(Failure)}


def batch_counters(batch: Batch, trained: Iterable[str]) -> dict[str, int]:
    """Exact counts of one step. `trained` names the episodes that gave samples."""
    kept = {group.id for group in batch.groups}
    dropped = [group for group in batch.played if group.id not in kept]
    return {
        "steps": 1,
        "groups_sampled": len(batch.played),
        "groups_without_signal": len(dropped),
        "groups_trained": len(batch.groups),
        "episodes_sampled": len(episodes_of(batch.played)),
        "episodes_trained": len(set(trained)),
        "episodes_wasted": len(episodes_of(dropped)),
        "tokens_sampled": sum(map(sampled_tokens, episodes_of(batch.played))),
        "tokens_wasted": sum(map(sampled_tokens, episodes_of(dropped))),
    }


def update_metrics(reports: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The optimizer steps of one training step as one: sums and maxima where the name says so, else token-weighted means."""
    if not reports:
        return {}
    merged: dict[str, float] = {}
    tokens = sum(report["tokens"] for report in reports)
    for key in reports[0]:
        values = [report[key] for report in reports]
        if key in _SUMS:
            merged[key] = sum(values)
        elif key in _MAXIMA:
            merged[key] = max(values)
        else:
            weighted = sum(value * report["tokens"] for value, report in zip(values, reports, strict=True))
            merged[key] = weighted / tokens if tokens else fmean(values)
    merged["update_seconds"] = merged.pop("seconds")
    merged["tokens_trained"] = merged.pop("tokens")
    return merged


def episodes_of(groups: Iterable[Group]) -> list[Episode]:
    """All episodes of the groups."""
    return [episode for group in groups for episode in group.episodes]
