"""How much memory the local engine takes on each device, worked out from a model's sizes before anything is loaded. No torch.

Counted are the arrays that `local.py` and its kin hold at their largest; what a library takes besides is `BASE_BYTES`. The cache
is counted full: on a CPU, memory of places that are never written is never taken.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from journeyman.engine.base import OptimizerKind
from journeyman.engine.tokenizer import SMOLLM2, TINY
from journeyman.errors import EngineError

BASE_BYTES = 600 << 20
"""Interpreter, torch and its libraries in one process, or a CUDA context."""
_HEAD_ROWS = 256
"""Entries whose logits exist at once in a lane (`training._HEAD_ROWS`)."""
_GRANULE = 512
"""Positions by which the cache grows (`cache._GRANULE`)."""


@dataclass(frozen=True)
class ModelSizes:
    """The numbers of a model's architecture that its memory depends on. Biases are too small to count."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    context: int

    @property
    def linear(self) -> int:
        """Parameters of the linear maps of all layers."""
        attention = self.hidden * (self._q + 2 * self._kv) + self._q * self.hidden
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    @property
    def table(self) -> int:
        """Parameters of the embedding, or of the head."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """All of them, a tied head once. Norms of heads, which Qwen3 has, are left out."""
        return self.table * (1 if self.tied else 2) + self.linear + (2 * self.layers + 1) * self.hidden

    def adapter(self, rank: int) -> int:
        """Parameters of a LoRA adapter on all linear maps: rank times inputs and outputs of each."""
        ends = 4 * self.hidden + 2 * self._q + 2 * self._kv  # q, k, v, output
        return self.layers * rank * (ends + 3 * (self.hidden + self.intermediate))

    @property
    def _q(self) -> int:
        return self.heads * self.head_dim

    @property
    def _kv(self) -> int:
        return self.kv_heads * self.head_dim

    def kept(self, itemsize: int) -> int:
        """Bytes that a layer keeps of a row for the backward pass: two inputs of norms in float32; queries, keys, values, what
        attention gave and its log-sum-exps; gate and up."""
        attention = (2 * self._q + 2 * self._kv) * itemsize + 4 * self.heads
        return 2 * 4 * self.hidden + attention + 2 * self.intermediate * itemsize

    def passing(self, itemsize: int) -> int:
        """Bytes of a row that exist while one layer's backward pass is at work: gradients of what is widest, and the hidden state's."""
        return (5 * self.intermediate + 2 * self._q + 2 * self._kv) * itemsize + 3 * 4 * self.hidden

    def cached(self, itemsize: int) -> int:
        """Bytes of keys and values of a position."""
        return 2 * self.layers * self._kv * itemsize


@dataclass(frozen=True)
class EngineSettings:
    """What of a recipe decides memory; see `recipe.Model`.

    Args:
        device: where `auto` leads is for the caller to say.
        micro_tokens: 0 as in a recipe.
        slots, context: of the sampler's cache, and the longest episode; 0 slots: another server samples.
        remembered: copies of what is trained that are kept (a reference, a teacher).
    """

    device: Literal["cpu", "cuda"]
    dtype: Literal["float32", "bfloat16"]
    train: Literal["lora", "full"] = "lora"
    rank: int = 32
    optimizer: OptimizerKind = "adamw"
    checkpointing: bool = False
    micro_tokens: int = 0
    slots: int = 64
    context: int = 2048
    lanes: int = 2
    remembered: int = 0

    @property
    def itemsize(self) -> int:
        """Bytes of a number that is computed with."""
        return 4 if self.dtype == "float32" else 2


@dataclass(frozen=True)
class Memory:
    """Bytes on one device, which holds the whole of everything: several processes share work, not memory.

    Args:
        weights: as the trainer computes with them, prepacked copies included.
        trained: float32 values of what is trained, its gradients in every lane, and remembered copies.
        optimizer: its state.
        activations: of one micro-batch of all lanes, kept and passing.
        logits: of the head's chunks.
        sampler: its copy of the weights.
        cache: keys and values of all slots, full.
        base: `BASE_BYTES`.
    """

    weights: int
    trained: int
    optimizer: int
    activations: int
    logits: int
    sampler: int
    cache: int
    base: int = BASE_BYTES

    @property
    def total(self) -> int:
        """All of it."""
        return sum(getattr(self, field.name) for field in fields(self))


def estimate_memory(sizes: ModelSizes, settings: EngineSettings) -> Memory:
    """Bytes on each device while a recipe samples and trains."""
    size, full, cpu = settings.itemsize, settings.train == "full", settings.device == "cpu"
    lanes = settings.lanes if cpu else 1
    trained = sizes.parameters if full else sizes.adapter(settings.rank)
    return Memory(
        weights=_weights(sizes, settings),
        trained=4 * trained * (1 + lanes + settings.remembered),
        optimizer=_optimizer(sizes, settings, trained),
        activations=_activations(sizes, settings),
        # On the CPU two parts in the computation's dtype; elsewhere also tempered logits and probabilities in float32.
        logits=lanes * _HEAD_ROWS * sizes.vocabulary * (2 * size if cpu else size + 8),
        sampler=_sampler(sizes, settings),
        cache=_cache(sizes, settings, lanes),
    )


def _weights(sizes: ModelSizes, settings: EngineSettings) -> int:
    if settings.train == "full":
        # In float32 they are views of the trained values.
        return 0 if settings.dtype == "float32" else settings.itemsize * sizes.parameters
    packed = sizes.linear + sizes.table if settings.device == "cpu" else 0
    return settings.itemsize * (sizes.parameters + packed)


def _optimizer(sizes: ModelSizes, settings: EngineSettings, trained: int) -> int:
    """Moments, and what a step needs besides: AdamW two arrays as large as a piece, Adafactor one. The pieces are the single
    weights, but for AdamW on an adapter, which is one piece."""
    largest = sizes.table if settings.train == "full" else trained
    if settings.optimizer == "adamw":
        return 4 * (2 * trained + 2 * largest)
    if settings.train == "lora":
        largest = settings.rank * max(sizes.intermediate, sizes.hidden)
    return 4 * largest  # a row and a column of each matrix are next to nothing


def _activations(sizes: ModelSizes, settings: EngineSettings) -> int:
    size = settings.itemsize
    rows = settings.micro_tokens or 8192 // size
    if settings.checkpointing:
        layers = sizes.layers * 4 * sizes.hidden + sizes.kept(size)
    else:
        layers = sizes.layers * sizes.kept(size)
    # Before and behind the layers: the last norm's input, hidden states for the head and their gradient.
    ends = 4 * sizes.hidden + 2 * sizes.hidden * size
    return rows * (layers + ends + sizes.passing(size))


def _sampler(sizes: ModelSizes, settings: EngineSettings) -> int:
    if not settings.slots:
        return 0
    if settings.train == "lora":  # W beside B in one matrix, and A; embedding and head are the trainer's
        return settings.itemsize * (sizes.linear + sizes.adapter(settings.rank))
    # On the CPU a tied head is packed beside the embedding.
    head = sizes.table if sizes.tied and settings.device == "cpu" else 0
    return settings.itemsize * (sizes.parameters + head)


def _cache(sizes: ModelSizes, settings: EngineSettings, lanes: int) -> int:
    if not settings.slots:
        return 0
    slots = -(-settings.slots // lanes)
    rows = lanes * (slots + slots // 4 + 1)
    wanted = min(settings.context, sizes.context)
    positions = min(-(-wanted // _GRANULE) * _GRANULE, sizes.context)
    return rows * positions * sizes.cached(settings.itemsize)


KNOWN = {
    TINY: ModelSizes(2, 64, 128, 4, 2, 16, 810, True, 4096),
    SMOLLM2: ModelSizes(30, 576, 1536, 9, 3, 64, 49152, True, 8192),
    "Qwen3-0.6B": ModelSizes(28, 1024, 3072, 16, 8, 128, 151936, True, 40960),
    "Qwen3-1.7B": ModelSizes(28, 2048, 6144, 16, 8, 128, 151936, True, 40960),
    "Qwen3-4B": ModelSizes(36, 2560, 9728, 32, 8, 128, 151936, True, 40960),
    "Qwen3-8B": ModelSizes(36, 4096, 12288, 32, 8, 128, 151936, False, 40960),
    "Qwen3-14B": ModelSizes(40, 5120, 17408, 40, 8, 128, 151936, False, 40960),
    "Qwen3-32B": ModelSizes(64, 5120, 25600, 64, 8, 128, 151936, False, 40960),
}
"""Sizes of models by name, or by the last part of a folder's, from their published `config.json`: a plan can be made of a model
that is not there yet."""


def model_sizes(name: str) -> ModelSizes:
    """Of a model as a recipe names it (`recipe.Model.name`): what its folder's `config.json` says, else what is known by its name.

    Raises:
        EngineError: neither is there, or the file is not one of a model that the engine computes.
    """
    path = Path(name) / "config.json"
    if not path.is_file():
        known = KNOWN.get(name.rstrip("/").rpartition("/")[2])
        if known is None:
            raise EngineError(
                name, "model.name", f"no config.json there, and its sizes are not known; known: {', '.join(KNOWN)}."
            )
        return known
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return ModelSizes(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            intermediate=config["intermediate_size"],
            heads=config["num_attention_heads"],
            kv_heads=config.get("num_key_value_heads") or config["num_attention_heads"],
            head_dim=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
            context=config["max_position_embeddings"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            str(path), "", f"gives no sizes of a model ({error!r}). Name a Llama or Qwen folder."
        ) from error
