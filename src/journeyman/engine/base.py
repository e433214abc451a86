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


OptimizerKind = Literal["adamw", "adafactor"]


class LossSettings(Struct, frozen=True):
    """Which objective `update` maximises, and how it steps.

    With ρ = π_θ / π_old (π_old: `proximal_logprobs` of a sample where it has them, else `logprobs`) and advantage A, per token:
    `sft`: log π. `importance_sampling`: ρA. `ppo_clip`: min(ρA, clip(ρ, ratio_min, ratio_max)·A), where A < 0 no less than
    dual_clip·A. `cispo`: stopgrad(clip(ρ, ratio_min, ratio_max))·A·log π. `gspo`: as ppo_clip with the ratio of the whole
    episode, exp(mean over its tokens of log ρ). Minus `kl_coefficient` times the k3 estimate of KL to `reference_logprobs`.
    Tokens are weighed by the samples' `weights`, whatever the micro-batches.
    """

    kind: Literal["sft", "importance_sampling", "ppo_clip", "cispo", "gspo"]
    ratio_min: float = 0.8
    ratio_max: float = 1.28
    dual_clip: float | None = None
    kl_coefficient: float = 0.0
    optimizer: OptimizerKind = "adamw"
    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0


class Trainer(Protocol):
    """Changes the weights. May be called from one thread while another's loop samples."""

    @property
    def version(self) -> int:
        """Version of the weights that were published last."""
        ...

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """One optimizer step on `samples`.

        Returns:
            Metrics: `loss`, `grad_norm` (before clipping), `tokens` (masked-in), `tokens_computed` (those that can have a
            gradient: the means below are over them), `sequence_tokens`, `seconds`; where an adapter is trained `adapter_norm`
            (Frobenius norm of what it adds to the model's matrices, after the step); for all kinds but `sft` also
            `ratio_mean`, `ratio_max`, `clipped_share`, `entropy` (nats per token, of the tempered distribution), `kl_k3`
            (sampler to trainer) and, with a KL in the loss, `kl_reference`.

        Raises:
            EngineError: the loss is not finite; the weights are left as they were.
        """
        ...

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        """Log-probability of each masked-in token at the sample's temperature (0 elsewhere).

        Args:
            of: whose: None the current weights', `base` the untouched model's, else those of a remembered copy.

        Raises:
            EngineError: nothing is remembered under that name.
        """
        ...

    def remember(self, name: str, folder: Path | None = None) -> None:
        """Keep a frozen copy of the current weights, or of those that `save` wrote into `folder`, under a name.

        Raises:
            EngineError: as `load`.
        """
        ...

    def restart(self) -> None:
        """Go back to the untouched model with the adapter that the engine began with, and give it to the sampler under a
        new version."""
        ...

    def reset_optimizer(self) -> None:
        """Forget the optimizer's moments: a new stage begins. The weights stay."""
        ...

    def publish(self) -> int:
        """Give the current weights to the sampler, drop its cached keys, and return the new version."""
        ...

    def save(self, folder: Path) -> None:
        """Write what is trained (an adapter in PEFT's format, all weights in Hugging Face's), optimizer and version into an existing
        folder."""
        ...

    def load(self, folder: Path) -> None:
        """Restore what `save` wrote, bit for bit, and give it to the sampler: under the version that it was saved with, or under
        a new one where later versions were published here since.

        Raises:
            EngineError: the folder lacks a file or belongs to another model.
        """
        ...
