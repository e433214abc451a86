"""The forward pass of Llama, Qwen2 and Qwen3, once for sampler and trainer, on packed rows of tokens.

It knows nothing of caches, batches or masks: whoever calls it says how queries attend, by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.gradients import NormLinear, Rotate
from journeyman.engine.mathematics import norm, rotated
from journeyman.engine.weights import Weights

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries (rows, heads, dim), keys (rows, kv_heads, dim), values) → (rows, heads · dim)."""


class LayerMaps(Protocol):
    """What a decoder layer computes besides attention, with its adapter.

    Hidden states are (rows, hidden) in float32, so that sixty sums do not round sixty times; all else has the weights' dtype.
    Whoever adds may overwrite what was given.
    """

    def qkv(self, hidden: Tensor) -> Tensor:
        """Queries, keys and values side by side, before the rotation."""
        ...

    def add_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """hidden + output(attended)."""
        ...

    def add_mlp(self, hidden: Tensor) -> Tensor:
        """hidden + mlp(norm(hidden))."""
        ...


def forward(
    weights: Weights, layers: Sequence[LayerMaps], token_ids: Tensor, positions: Tensor, attend: Attend
) -> Tensor:
    """Hidden states before the head, (rows, hidden), in the dtype of the weights.

    Args:
        layers: the maps of each layer, for sampling or for training.
        token_ids, positions: (rows,); rows of different sequences lie behind each other.
        attend: called once a layer.
    """
    hidden = functional.embedding(token_ids, weights.embedding).float()
    cos, sin = _angles(weights, positions)
    heads, kv_heads, epsilon = weights.heads, weights.kv_heads, weights.epsilon
    for index, (layer, maps) in enumerate(zip(weights.layers, layers, strict=True)):
        qkv = maps.qkv(hidden).view(len(hidden), -1, weights.head_dim)
        qk, v = torch.split(qkv, [heads + kv_heads, kv_heads], dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = torch.split(qk, [heads, kv_heads], dim=1)
            q = _rotate(_norm(q, layer.q_norm, epsilon), cos, sin)
            k = _rotate(_norm(k, layer.k_norm, epsilon), cos, sin)
        else:
            q, k = torch.split(_rotate(qk, cos, sin), [heads, kv_heads], dim=1)
        hidden = maps.add_mlp(maps.add_attention(hidden, attend(index, q, k, v)))
    return _norm(hidden, weights.final_norm, epsilon)


def _angles(weights: Weights, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the rotary angles, each (rows, 1, dim / 2), computed in float32."""
    angles = positions.float()[:, None] * weights.frequencies[None, :]
    cos, sin = angles.cos() * weights.rope_scale, angles.sin() * weights.rope_scale
    return cos[:, None].to(weights.dtype), sin[:, None].to(weights.dtype)


def _norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    if torch.is_grad_enabled():
        return NormLinear.apply(x, weight, epsilon, None, 0.0, None)  # type: ignore[no-any-return, no-untyped-call]
    return norm(x, weight, epsilon)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    if torch.is_grad_enabled():
        return Rotate.apply(x, cos, sin)  # type: ignore[no-any-return, no-untyped-call]
    return rotated(x, cos, sin)
