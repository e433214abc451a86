"""What a model is to the rest of Journeyman: token ids in, token ids and logprobs out. No torch, no text.

A `Sampler` draws continuations; a `Trainer` changes the weights and publishes them to its sampler under a new
version. The engine knows nothing of tokenizers, worlds or rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from journeyman.episode import Sample


class SampleRequest(Struct, frozen=True):
    """Continue `prompt_ids`.

    Args:
        episode_id: who asks; cached keys of the episode's earlier turns are reused, and in deterministic mode
            requests are admitted in the order of these ids.
        prompt_ids: the whole id stream so far, not only what is new.
        seed: with the position in the stream it determines the uniform that draws each token.
        stop_ids: sampling ends after one of these; it is part of the answer.
    """

    episode_id: str
    prompt_ids: list[int]
    max_tokens: int
    temperature: float
    top_p: float
    seed: int
    stop_ids: frozenset[int]


class SampleResult(Struct, frozen=True):
    """`logprobs[i]` is the natural log-probability of `token_ids[i]` under the tempered distribution (before top-p).
    `version` is that of the weights that sampled; `seconds` the engine's time for this request (waiting included)."""

    token_ids: list[int]
    logprobs: list[float]
    version: int
    finish: Literal["stop", "length"]
    seconds: float = 0.0


class Sampler(Protocol):
    """Draws continuations for many episodes at once."""

    @property
    def version(self) -> int:
        """Version of the weights that sample now; 0 is the untouched base model."""
        ...

    def attach(self, episode_id: str) -> None:
        """Announce an episode that will ask. A batch is admitted when every attached episode waits for an answer."""
        ...

    def detach(self, episode_id: str) -> None:
        """The episode is over (or pauses for something slow): do not wait for it; its cached keys may go."""
        ...

    async def sample(self, request: SampleRequest) -> SampleResult:
        """Draw one continuation.

        Raises:
            EngineError: the prompt leaves no room in the engine's context.
        """
        ...

    def reset(self) -> None:
        """Forget all cached keys, so that what follows does not depend on what was sampled before."""
        ...


class LossSettings(Struct, frozen=True):
    """Which objective `update` maximises.

    `sft`: −log π on masked tokens. `ppo_clip`: min(ρA, clip(ρ, ratio_min, ratio_max)·A). Both are aggregated as the
    token mean over the whole update, whatever the micro-batches.
    """

    kind: Literal["sft", "ppo_clip"]
    ratio_min: float = 0.8
    ratio_max: float = 1.28
    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0


class Trainer(Protocol):
    """Changes the weights."""

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """One optimizer step on `samples`.

        Returns:
            Metrics: `loss`, `grad_norm` (before clipping), `tokens` (masked-in), `sequence_tokens`, `seconds`; for ppo_clip also
            `ratio_mean`, `ratio_max`, `clipped_share`, `entropy` (nats per token, of the tempered distribution),
            `kl_k3` (sampler to trainer).

        Raises:
            EngineError: the loss is not finite; the weights are left as they were.
        """
        ...

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """Log-probability of each masked-in token under the current weights at the sample's temperature (0 elsewhere)."""
        ...

    def reset_optimizer(self) -> None:
        """Forget the optimizer's moments: a new stage begins. The weights stay."""
        ...

    def publish(self) -> int:
        """Give the current weights to the sampler, drop its cached keys, and return the new version."""
        ...

    def save(self, folder: Path) -> None:
        """Write adapter (PEFT format), optimizer and version into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Restore what `save` wrote, bit for bit, and give it to the sampler.

        Raises:
            EngineError: the folder lacks a file or belongs to another model.
        """
        ...
