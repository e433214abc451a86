"""The forward pass of Llama, Qwen2 and Qwen3, once for sampler and trainer, on packed rows of tokens.

It knows nothing of caches, batches or masks: whoever calls it says how queries attend, by a function. With gradients
enabled it records only what the adapter's gradients need; the frozen weights get none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.adapter import Site, Sites
from journeyman.engine.weights import Frozen, Weights

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries (rows, heads, dim), keys (rows, kv_heads, dim), values) → (rows, heads · dim)."""

_ROWS_IN_CACHE = 64
"""Rows of an elementwise pass handled at once, so that its temporaries stay in the processor's cache."""


def forward(weights: Weights, sites: Sites | None, token_ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
    """Hidden states before the head, (rows, hidden). `token_ids` and `positions` are (rows,); `sites` None: base model."""
    hidden = functional.embedding(token_ids, weights.embedding)
    cos, sin = rotary(weights, positions)
    nothing = [None] * 4
    for index, layer in enumerate(weights.layers):
        qkv_site, output_site, gate_up_site, down_site = sites[index] if sites else nothing
        x = rms_norm(hidden, layer.input_norm, weights.epsilon)
        qkv = linear(x, layer.qkv, qkv_site).view(len(x), -1, weights.head_dim)
        q, k, v = torch.split(qkv, [weights.heads, weights.kv_heads, weights.kv_heads], dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            q = rms_norm(q, layer.q_norm, weights.epsilon)
            k = rms_norm(k, layer.k_norm, weights.epsilon)
        attended = attend(index, rotate(q, cos, sin), rotate(k, cos, sin), v)
        hidden = hidden + linear(attended, layer.output, output_site)
        x = rms_norm(hidden, layer.mlp_norm, weights.epsilon)
        hidden = hidden + linear(swiglu(linear(x, layer.gate_up, gate_up_site)), layer.down, down_site)
    return rms_norm(hidden, weights.final_norm, weights.epsilon)


def rotary(weights: Weights, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the rotary angles, each (rows, 1, dim / 2), computed in float32."""
    angles = positions.float()[:, None] * weights.frequencies[None, :]
    cos, sin = angles.cos() * weights.rope_scale, angles.sin() * weights.rope_scale
    return cos[:, None].to(weights.dtype), sin[:, None].to(weights.dtype)


def linear(x: Tensor, frozen: Frozen, site: Site | None) -> Tensor:
    """y = x Wᵀ + scale · (x Aᵀ) Bᵀ, the adapter never merged into W."""
    if site is None:
        return frozen(x)
    if torch.is_grad_enabled():
        return _Linear.apply(x, frozen, site.scale, site.a, *site.b)  # type: ignore[no-any-return, no-untyped-call]
    y = frozen(x)
    _add_low_rank(y, functional.linear(x, site.a), site.b, site.scale)
    return y


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Root-mean-square norm over the last axis, the mean in float32."""
    return _RmsNorm.apply(x, weight, epsilon)  # type: ignore[no-any-return, no-untyped-call]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of (rows, heads, dim), the two halves of `dim` as a pair."""
    return _Rotate.apply(x, cos, sin)  # type: ignore[no-any-return, no-untyped-call]


def swiglu(gate_up: Tensor) -> Tensor:
    """silu(gate) · up, of (rows, 2 · intermediate) with the gates first."""
    return _Swiglu.apply(gate_up)  # type: ignore[no-any-return, no-untyped-call]


def _add_low_rank(y: Tensor, inner: Tensor, bs: tuple[Tensor, ...], scale: float) -> None:
    rank, start = bs[0].shape[1], 0
    for part, b in enumerate(bs):
        y[:, start : start + len(b)].addmm_(inner[:, part * rank : (part + 1) * rank], b.t(), alpha=scale)
        start += len(b)


class _Linear(torch.autograd.Function):
    """The frozen map needs dX = dY W only; A and B get their gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, frozen: Frozen, scale: float, a: Tensor, *bs: Tensor) -> Tensor:
        y = frozen(x)
        inner = functional.linear(x, a)
        _add_low_rank(y, inner, bs, scale)
        ctx.frozen, ctx.scale = frozen, scale
        ctx.save_for_backward(x, inner, a, *bs)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, inner, a, *bs = ctx.saved_tensors
        dy, rank, start = grads[0], bs[0].shape[1], 0
        d_inner = torch.empty_like(inner)
        d_bs = []
        for part, b in enumerate(bs):
            dy_part, columns = dy[:, start : start + len(b)], slice(part * rank, (part + 1) * rank)
            d_bs.append((dy_part.t() @ inner[:, columns]).mul_(ctx.scale))
            d_inner[:, columns] = dy_part @ b
            start += len(b)
        d_inner.mul_(ctx.scale)
        dx = None
        if ctx.needs_input_grad[0]:
            dx = ctx.frozen.input_gradient(dy).addmm_(d_inner, a)
        return dx, None, None, d_inner.t() @ x, *d_bs


class _RmsNorm(torch.autograd.Function):
    """Keeps its input only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.epsilon = epsilon
        wide = x.float()
        return (wide * _inverse_root(wide, epsilon)).to(x.dtype).mul_(weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        wide = x.float()
        scale = _inverse_root(wide, ctx.epsilon)
        normed = wide * scale
        dn = grads[0].float() * weight.float()
        projection = (dn * normed).mean(-1, keepdim=True)
        return dn.addcmul_(normed, projection, value=-1.0).mul_(scale).to(x.dtype), None, None


def _inverse_root(x: Tensor, epsilon: float) -> Tensor:
    square: Tensor = torch.linalg.vecdot(x, x)
    return square[..., None].div_(x.shape[-1]).add_(epsilon).rsqrt_()


class _Rotate(torch.autograd.Function):
    """A rotation: its gradient is the rotation back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotated(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        return _rotated(grads[0], cos, -sin), None, None


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    torch.mul(left, cos, out=out[..., :half]).addcmul_(right, sin, value=-1.0)
    torch.mul(right, cos, out=out[..., half:]).addcmul_(left, sin)
    return out


class _Swiglu(torch.autograd.Function):
    """Keeps gate and up; what lies between is computed again."""

    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        ctx.save_for_backward(gate_up)
        gate, up = gate_up.chunk(2, dim=-1)
        return functional.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (gate_up,) = ctx.saved_tensors
        out = torch.empty_like(gate_up)
        step = _ROWS_IN_CACHE if gate_up.device.type == "cpu" else len(gate_up)
        for start in range(0, len(gate_up), step):
            rows = slice(start, start + step)
            gate, up = gate_up[rows].chunk(2, dim=-1)
            d_gate, d_up = out[rows].chunk(2, dim=-1)
            dy, sigmoid = grads[0][rows], torch.sigmoid(gate)
            silu = gate * sigmoid
            torch.mul(dy, silu, out=d_up)
            # d silu / d gate = sigmoid + silu · (1 − sigmoid)
            slope = sigmoid.addcmul(silu, 1.0 - sigmoid)
            torch.mul(dy, up, out=d_gate).mul_(slope)
        return out
