"""Whether a server samples with the weights it was given: canaries, token streams that server and trainer both score.

Let s and t be the server's and the trainer's log-probabilities of the canaries under the new weights, s0 and t0 those under
the weights served before. Two things must hold, since each alone can be fooled:

- agreement: mean |s − t| and max |s − t| lie within tolerances (another base model, a wrong scale or dtype break it);
- movement: the slope of s − s0 on t − t0, ⟨s − s0, t − t0⟩ / ‖t − t0‖², is nearer to 1 (delivered) than to 0 (the old weights
  are still served). A small update hides within any tolerance, but not from this: how far the two engines' arithmetic differs
  is known from s0 − t0, and a shift t − t0 of twice that size tells 0 from 1. A smaller one tells nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from journeyman.codec import seed_of
from journeyman.episode import Sample
from journeyman.errors import EngineError
from journeyman.serving import Vllm

Scores = list[list[float]]
"""By canary and id; 0 for each first id."""

TEMPERATURE = 0.6
"""Of the canaries that the server draws: far enough from 1 to tell tempered log-probabilities from plain ones."""
DRAWN_PROMPT, DRAWN_TOKENS = 8, 16
"""Ids of a fixed canary that are the prompt of a drawn one, and how many are drawn."""
_LEAD = 64
"""Ids before the first trained one that a canary taken from training begins with."""
_HALF = 0.5
_ABOVE_NOISE = 2.0
"""Root mean squares of s0 − t0 from which on a shift tells. Rounding in t − t0 is then a quarter of its square at most, so that
the slope of what was delivered is 0.75 at least."""
_SURE = 4.0
"""Standard errors between a slope of 0 or 1 and the middle from which on they are told apart: few tokens tell nothing."""

SERVER_COMMAND = (
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve MODEL --enable-lora --max-lora-rank RANK --max-loras 2 "
    "--max-cpu-loras 4 --enable-prefix-caching --logprobs-mode processed_logprobs --generation-config vllm"
)
"""How a server is started that serves this engine."""


class DeliveryFailed(EngineError):
    """The server does not sample with the weights that were pushed to it. The run ends; what was recorded is kept."""


class Proof(Struct, frozen=True):
    """What tells that a server has the weights: the canaries, the trainer's scores under new and old weights, the server's under
    the old ones."""

    canaries: list[list[int]]
    new: Scores
    old: Scores
    served_old: Scores


class Agreement(Struct, frozen=True):
    """How far server and trainer agree, over `tokens` ids, in nats.

    Args:
        mean, largest: of |s − t|.
        shift: root mean square of t − t0: how much the update moved the canaries.
        noise: root mean square of s0 − t0: how far the two engines differ anyway.
        slope: see the module; None: the shift is too small to tell.
    """

    tokens: int
    mean: float
    largest: float
    shift: float
    noise: float
    slope: float | None


def fixed_canaries(count: int, tokens: int, vocabulary: int) -> list[list[int]]:
    """Streams of ids drawn once and for all."""
    found = []
    for index in range(count):
        rng = random.Random(seed_of("canary", index))
        found.append([rng.randrange(vocabulary) for _ in range(tokens)])
    return found


def trained_canaries(samples: Sequence[Sample], count: int, tokens: int) -> list[list[int]]:
    """Pieces of the streams about to be trained on, around their first trained ids: there the update moves most."""
    found = []
    for sample in samples[:count]:
        if 1 in sample.mask:
            first = sample.mask.index(1)
            found.append(sample.token_ids[max(0, first - _LEAD) : first + tokens])
    return found


def as_sample(ids: Sequence[int], first: int = 1, temperature: float = 1.0) -> Sample:
    """A stream whose ids from `first` on are to be scored."""
    size = len(ids)
    zeros = [0.0] * size
    mask = [0] * first + [1] * (size - first)
    return Sample("canary", "canary", list(ids), mask, zeros, [0] * size, temperature, zeros)


def agreement(served: Scores, proof: Proof) -> Agreement:
    """Compare the server's scores with the trainer's."""
    s, t, s0, t0 = _flat(served), _flat(proof.new), _flat(proof.served_old), _flat(proof.old)
    gap, moved, made = np.abs(s - t), t - t0, s - s0
    size = len(s)
    power = float(moved @ moved)
    shift, noise = math.sqrt(power / size), math.sqrt(float((s0 - t0) @ (s0 - t0)) / size)
    slope = None
    if shift > _ABOVE_NOISE * noise:
        ratio = float(made @ moved) / power
        rest = made - ratio * moved
        if _SURE * math.sqrt(float(rest @ rest) / size / power) <= _HALF:
            slope = ratio
    return Agreement(size, float(gap.mean()), float(gap.max()), shift, noise, slope)


def judge(found: Agreement, settings: Vllm, where: str, name: str) -> None:
    """Raises DeliveryFailed where server and trainer do not agree."""
    if found.slope is not None and found.slope < _HALF:
        raise DeliveryFailed(
            where,
            name,
            f"the server still samples with older weights: the update moved the canaries by {found.shift:.3g} nats, of which "
            f"{found.slope:.0%} arrived. Restart the server, see that it reads vllm.adapter_folder, and resume the run.",
        )
    if found.mean > settings.mean_tolerance or found.largest > settings.max_tolerance:
        raise DeliveryFailed(
            where,
            name,
            f"its log-probabilities differ from the trainer's by {found.mean:.3g} on average and {found.largest:.3g} at most, "
            f"over {found.tokens} tokens; allowed are {settings.mean_tolerance:g} and {settings.max_tolerance:g}. Serve the "
            "model that model.name names, in the dtype of model.dtype; if both are so, raise the tolerances in [vllm].",
        )


def judge_tempered(
    drawn: Sequence[float], tempered: Sequence[float], plain: Sequence[float], settings: Vllm, where: str
) -> None:
    """Whether log-probabilities that came with drawn tokens are those of the tempered distribution.

    Args:
        drawn: the server's, at `TEMPERATURE`.
        tempered, plain: the trainer's, at `TEMPERATURE` and at 1.

    Raises:
        DeliveryFailed: they are not.
    """
    gap = np.abs(np.subtract(drawn, tempered))
    if gap.mean() <= settings.mean_tolerance and gap.max() <= settings.max_tolerance:
        return
    if np.abs(np.subtract(drawn, plain)).mean() <= settings.mean_tolerance:
        raise DeliveryFailed(
            where,
            "logprobs",
            "the server returns log-probabilities from before the temperature was applied, which are not those of the "
            "distribution it draws from: start it with --logprobs-mode processed_logprobs and resume the run.",
        )
    raise DeliveryFailed(
        where,
        "logprobs",
        f"those of {len(drawn)} tokens that it drew at temperature {TEMPERATURE} differ from the trainer's by {gap.mean():.3g} on "
        f"average and {gap.max():.3g} at most. Start the server as the documentation of [vllm] says: {SERVER_COMMAND}",
    )


def _flat(scores: Scores) -> NDArray[np.float64]:
    return np.array([value for row in scores for value in row[1:]], dtype=np.float64)
