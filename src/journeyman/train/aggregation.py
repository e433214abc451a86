"""Aggregation: how much each token of an update weighs in the update's loss. Pure functions; no torch.

The loss of an update is Σ weight · (token's loss). Weights are made once for the whole update, so that nothing depends on the
micro-batches it is computed in. A sequence is an episode: where its tokens lie in several samples (segments of one dialogue),
they count together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def token_weights(
    masks: Sequence[Sequence[int]], episode_ids: Sequence[str], kind: str, max_length: int | None = None
) -> list[Floats]:
    """Weight of each token, with N the masked-in tokens of the update, E its episodes that have any, n_e those of episode e:

    - `token_mean`: 1 / N (DAPO, arXiv 2503.14476): every token counts alike, so long episodes count more.
    - `seq_mean_token_mean`: 1 / (E · n_e) (GRPO, arXiv 2402.03300): every episode counts alike, so a token of a short one counts more.
    - `seq_mean_token_sum_norm`: 1 / (E · max_length) (Dr. GRPO, arXiv 2503.20783): every token counts alike, and the more tokens there
      are, the larger the loss.

    Args:
        masks: of the samples of one update, each (tokens,), 1 on sampled tokens.
        episode_ids: of the samples.
        kind: as above (`Objective.aggregation`).
        max_length: of `seq_mean_token_sum_norm`: a constant, in tokens, the same for every update.

    Returns:
        For each sample the weights of its tokens, (tokens,), 0 where the mask is 0.

    Raises:
        ValueError: an unknown kind, or no max_length where it is needed.
    """
    flags = [np.asarray(mask, dtype=np.float64) for mask in masks]
    lengths: Counter[str] = Counter()
    for episode, mask in zip(episode_ids, masks, strict=True):
        lengths[episode] += sum(mask)
    episodes = sum(1 for length in lengths.values() if length)
    if kind == "token_mean":
        scales = [1 / max(lengths.total(), 1)] * len(flags)
    elif kind == "seq_mean_token_mean":
        scales = [1 / max(episodes * lengths[episode], 1) for episode in episode_ids]
    elif kind == "seq_mean_token_sum_norm" and max_length:
        scales = [1 / max(episodes * max_length, 1)] * len(flags)
    else:
        raise ValueError(f"no aggregation {kind!r} with max_length {max_length}")
    return [scale * flag for scale, flag in zip(scales, flags, strict=True)]
