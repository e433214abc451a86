"""The rewards that advantages are made of: which attempts count, and what running long or into a limit costs them.

One function for the signal test and the advantages alike, so that no group passes the one and vanishes in the other. What is taken
here is taken beyond the bands of `gated_rubric`: with it, a pass can end below a failure. It is off unless the objective asks for it.
"""

from __future__ import annotations

from journeyman.episode import Episode, Group
from journeyman.recipe import Limits, Objective
from journeyman.train.samples import sampled_tokens


def overlong_penalty(tokens: int, limit: int, buffer: int, penalty: float) -> float:
    """What a length costs (soft overlong punishment of DAPO, arXiv 2503.14476, eq. 13): 0 up to limit − buffer, from there linear to
    −penalty at the limit, and no more beyond it.

    Args:
        tokens: sampled in the attempt.
        limit, buffer: in tokens; buffer 0: lengths cost nothing.
        penalty: in units of the reward.
    """
    if buffer == 0:
        return 0.0
    over = min(max(tokens - (limit - buffer), 0), buffer)
    return -penalty * over / buffer


def credited_rewards(group: Group, objective: Objective, limits: Limits) -> tuple[list[Episode], list[float]]:
    """The attempts of a group that are compared, and the reward of each, in trial order.

    Attempts broken by the user or the machine are evidence of nothing: they are in neither the mean nor the loss. Those that ran into
    a limit of tokens or turns are, as `objective.truncated` has it, left out the same way (`mask`), compared with
    `truncation_penalty` taken from their reward (`penalise`), or compared as any other (`grade`).
    """
    episodes = [one for one in group.episodes if _counts(one, objective)]
    return episodes, [_credited(one, objective, limits) for one in episodes]


def _counts(episode: Episode, objective: Objective) -> bool:
    return episode.valid and not (objective.truncated == "mask" and episode.failure == "truncated")


def _credited(episode: Episode, objective: Objective, limits: Limits) -> float:
    reward = episode.reward
    if objective.overlong_buffer:
        reward += overlong_penalty(
            sampled_tokens(episode), limits.tokens, objective.overlong_buffer, objective.overlong_penalty
        )
    if objective.truncated == "penalise" and episode.failure == "truncated":
        reward -= objective.truncation_penalty
    return reward
