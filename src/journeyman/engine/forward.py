"""The forward pass of Llama, Qwen2 and Qwen3, once for sampler and trainer, on packed rows of tokens.

It knows nothing of caches, batches, masks or of what is trained: whoever calls it says how queries attend, by a function, and
what is computed with the weights, by a `ModelMaps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from journeyman.engine.gradients import Rotate
from journeyman.engine.mathematics import rotated
from journeyman.engine.weights import Weights

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries (rows, heads, dim), keys (rows, kv_heads, dim), values) → (rows, heads · dim)."""


class LayerMaps(Protocol):
    """What a decoder layer computes besides attention, with its adapter if it has one.

    Hidden states are (rows, hidden) in float32, so that sixty sums do not round sixty times; all else has the weights' dtype.
    Whoever adds may overwrite what was given.
    """

    def qkv(self, hidden: Tensor) -> Tensor:
        """Queries, keys and values side by side, before the rotation."""
        ...

    def head_norms(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys (rows, heads, dim) normed head by head, where the architecture does that."""
        ...

    def add_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """hidden + output(attended)."""
        ...

    def add_mlp(self, hidden: Tensor) -> Tensor:
        """hidden + mlp(norm(hidden))."""
        ...


class ModelMaps(Protocol):
    """What a model computes besides attention and head, for sampling or for training.

    Attributes:
        layers: the maps of each layer.
        recompute: where gradients are recorded, keep each layer's input alone and compute the layer again in the backward
            pass (activation checkpointing).
    """

    @property
    def layers(self) -> Sequence[LayerMaps]: ...

    @property
    def recompute(self) -> bool: ...

    def embed(self, token_ids: Tensor) -> Tensor:
        """(rows,) → (rows, hidden) in float32."""
        ...

    def last_norm(self, hidden: Tensor) -> Tensor:
        """The norm before the head; the result has the dtype of the weights."""
        ...


def forward(weights: Weights, model: ModelMaps, token_ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
    """Hidden states before the head, (rows, hidden), in the dtype of the weights.

    Args:
        weights: give the numbers of the architecture; the values are those of `model`.
        token_ids, positions: (rows,); rows of different sequences lie behind each other.
        attend: called once a layer, and once more where it is computed again.
    """
    hidden = model.embed(token_ids)
    cos, sin = _angles(weights, positions)
    recompute = model.recompute and torch.is_grad_enabled()
    for index, maps in enumerate(model.layers):
        layer = partial(_decode, weights, maps, partial(attend, index), cos, sin)
        # No layer draws random numbers, so there is no state of a generator to restore.
        hidden = (
            checkpoint(layer, hidden, use_reentrant=False, preserve_rng_state=False) if recompute else layer(hidden)
        )
    return model.last_norm(hidden)


def _decode(
    weights: Weights,
    maps: LayerMaps,
    attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    cos: Tensor,
    sin: Tensor,
    hidden: Tensor,
) -> Tensor:
    """One decoder layer."""
    heads, kv_heads = weights.heads, weights.kv_heads
    qkv = maps.qkv(hidden).view(len(hidden), -1, weights.head_dim)
    qk, v = torch.split(qkv, [heads + kv_heads, kv_heads], dim=1)
    if weights.layers[0].q_norm is not None:
        q, k = maps.head_norms(*torch.split(qk, [heads, kv_heads], dim=1))
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
    else:
        q, k = torch.split(_rotate(qk, cos, sin), [heads, kv_heads], dim=1)
    return maps.add_mlp(maps.add_attention(hidden, attend(q, k, v)))


def _angles(weights: Weights, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the rotary angles, each (rows, 1, dim / 2), computed in float32."""
    angles = positions.float()[:, None] * weights.frequencies[None, :]
    cos, sin = angles.cos() * weights.rope_scale, angles.sin() * weights.rope_scale
    return cos[:, None].to(weights.dtype), sin[:, None].to(weights.dtype)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    if torch.is_grad_enabled():
        return Rotate.apply(x, cos, sin)  # type: ignore[no-any-return, no-untyped-call]
    return rotated(x, cos, sin)
