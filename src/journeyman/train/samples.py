"""From graded groups to samples: final rewards, and credit on sampled tokens only."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from journeyman.episode import Episode, Group, Sample, Usage
from journeyman.grading.reward import group_invalid_criteria, reward
from journeyman.recipe import Limits, Reward
from journeyman.task import Task


def settle_rewards(group: Group, task: Task, settings: Reward, limits: Limits) -> Group:
    """The group with final rewards: a criterion that a judge failed to decide in one attempt is left out of all.

    Groups in which every criterion was decided come back as they are.
    """
    verdicts = [episode.verdict for episode in group.episodes if episode.valid and episode.verdict is not None]
    skipped = frozenset(group_invalid_criteria(verdicts))
    if not skipped:
        return group
    episodes = [_regraded(episode, task, settings, limits, skipped) for episode in group.episodes]
    return Group(group.id, group.task_id, episodes)


def sampled_tokens(episode: Episode) -> int:
    """Tokens that the policy sampled: over all segments, or as its endpoint counted them where there are none."""
    if not episode.segments:
        return episode.usage.get("policy", Usage()).output
    return sum(sum(segment.mask) for segment in episode.segments)


def samples_of(group: Group, episodes: Sequence[Episode], advantages_G: Sequence[float]) -> list[Sample]:
    """One sample per segment of each episode, its advantage on every masked-in token and 0 elsewhere.

    Segments without a sampled token are left out.

    Args:
        episodes: the attempts to train on, with their segments.
        advantages_G: one advantage per episode.
    """
    return [
        Sample(
            episode_id=episode.id,
            group_id=group.id,
            token_ids=segment.token_ids,
            mask=segment.mask,
            logprobs=segment.logprobs,
            versions=segment.versions,
            temperature=segment.temperature,
            advantages=[float(advantage) if sampled else 0.0 for sampled in segment.mask],
        )
        for episode, advantage in zip(episodes, advantages_G, strict=True)
        for segment in episode.segments
        if any(segment.mask)
    ]


def _regraded(episode: Episode, task: Task, settings: Reward, limits: Limits, skipped: frozenset[str]) -> Episode:
    if episode.verdict is None or not episode.valid:
        return episode
    value = reward(
        task,
        episode.verdict,
        settings,
        ended=episode.ended,
        sampled_tokens=sampled_tokens(episode),
        token_limit=limits.tokens,
        skip_criteria=skipped,
    )
    return msgspec.structs.replace(episode, reward=value)
