"""The forward pass of Llama, Qwen2 and Qwen3, once for sampler and trainer, on packed rows of tokens.

It knows nothing of caches, batches or masks: whoever calls it says how queries attend, by a function.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.adapter import Site, Sites
from journeyman.engine.gradients import NormLinear, Rotate, SwigluLinear
from journeyman.engine.mathematics import add_low_rank, norm, rotated, swiglu
from journeyman.engine.weights import Frozen, Weights

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries (rows, heads, dim), keys (rows, kv_heads, dim), values) → (rows, heads · dim)."""


def forward(weights: Weights, sites: Sites | None, token_ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
    """Hidden states before the head, (rows, hidden), in the dtype of the weights.

    Args:
        sites: the adapter in that dtype; None computes the base model.
        token_ids, positions: (rows,); rows of different sequences lie behind each other.
        attend: called once a layer.
    """
    hidden = functional.embedding(token_ids, weights.embedding)
    cos, sin = _angles(weights, positions)
    heads, kv_heads, epsilon = weights.heads, weights.kv_heads, weights.epsilon
    nothing: list[Site | None] = [None] * 4
    for index, layer in enumerate(weights.layers):
        qkv_site, output_site, gate_up_site, down_site = sites[index] if sites else nothing
        qkv = _linear(hidden, layer.qkv, qkv_site, layer.input_norm, epsilon).view(len(hidden), -1, weights.head_dim)
        qk, v = torch.split(qkv, [heads + kv_heads, kv_heads], dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = torch.split(qk, [heads, kv_heads], dim=1)
            q = _rotate(_norm(q, layer.q_norm, epsilon), cos, sin)
            k = _rotate(_norm(k, layer.k_norm, epsilon), cos, sin)
        else:
            q, k = torch.split(_rotate(qk, cos, sin), [heads, kv_heads], dim=1)
        hidden = hidden + _linear(attend(index, q, k, v), layer.output, output_site)
        gate_up = _linear(hidden, layer.gate_up, gate_up_site, layer.mlp_norm, epsilon)
        hidden = hidden + _swiglu_linear(gate_up, layer.down, down_site)
    return _norm(hidden, weights.final_norm, epsilon)


def _angles(weights: Weights, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the rotary angles, each (rows, 1, dim / 2), computed in float32."""
    angles = positions.float()[:, None] * weights.frequencies[None, :]
    cos, sin = angles.cos() * weights.rope_scale, angles.sin() * weights.rope_scale
    return cos[:, None].to(weights.dtype), sin[:, None].to(weights.dtype)


def _linear(x: Tensor, frozen: Frozen, site: Site | None, weight: Tensor | None = None, epsilon: float = 0.0) -> Tensor:
    """y = n Wᵀ + scale · (n Aᵀ) Bᵀ with n = norm(x) where `weight` is given, else x; the adapter is never merged into W."""
    if site is not None and torch.is_grad_enabled():
        return NormLinear.apply(x, weight, epsilon, frozen, site.scale, site.a, *site.b)  # type: ignore[no-any-return, no-untyped-call]
    if weight is not None:
        x = norm(x, weight, epsilon)
    y = frozen(x)
    if site is not None:
        add_low_rank(y, functional.linear(x, site.a), site.b, site.scale)
    return y


def _swiglu_linear(gate_up: Tensor, frozen: Frozen, site: Site | None) -> Tensor:
    if site is not None and torch.is_grad_enabled():
        return SwigluLinear.apply(gate_up, frozen, site.scale, site.a, *site.b)  # type: ignore[no-any-return, no-untyped-call]
    return _linear(swiglu(gate_up), frozen, site)


def _norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    if torch.is_grad_enabled():
        return NormLinear.apply(x, weight, epsilon, None, 0.0, None)  # type: ignore[no-any-return, no-untyped-call]
    return norm(x, weight, epsilon)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    if torch.is_grad_enabled():
        return Rotate.apply(x, cos, sin)  # type: ignore[no-any-return, no-untyped-call]
    return rotated(x, cos, sin)
