"""The elementwise parts of a decoder layer and their derivatives, on plain tensors.

Passes over wide matrices go by a few rows at a time on the CPU, so that temporaries stay in its cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

_ROWS_IN_CACHE = 64


def norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / rms(x) · weight over the last axis, the mean square in float32."""
    wide = x.float()
    return (wide * inverse_root(wide, epsilon)).to(x.dtype).mul_(weight)


def inverse_root(x: Tensor, epsilon: float) -> Tensor:
    """1 / rms over the last axis, kept as an axis of one."""
    square: Tensor = torch.linalg.vecdot(x, x)
    return square[..., None].div_(x.shape[-1]).add_(epsilon).rsqrt_()


def norm_gradient(x: Tensor, weight: Tensor, epsilon: float, grad: Tensor) -> Tensor:
    """Gradient of `norm` by x: s · (g − n · mean(g · n)) with g = grad · weight, n = x · s, s = 1 / rms."""
    wide = x.float()
    scale = inverse_root(wide, epsilon)
    normed = wide * scale
    dn = grad.float() * weight.float()
    projection = torch.linalg.vecdot(dn, normed)[..., None].div_(x.shape[-1])
    return dn.addcmul_(normed, projection, value=-1.0).mul_(scale).to(x.dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of (rows, heads, dim): the two halves of `dim` are the coordinates of a pair."""
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    torch.mul(left, cos, out=out[..., :half]).addcmul_(right, sin, value=-1.0)
    torch.mul(right, cos, out=out[..., half:]).addcmul_(left, sin)
    return out


def swiglu(gate_up: Tensor) -> Tensor:
    """silu(gate) · up of (rows, 2 · width), the gates first."""
    rows, width = gate_up.shape[0], gate_up.shape[1] // 2
    out = torch.empty(rows, width, dtype=gate_up.dtype, device=gate_up.device)
    for some in _stretches(gate_up):
        gate, up = gate_up[some].chunk(2, dim=-1)
        torch.mul(functional.silu(gate), up, out=out[some])
    return out


def swiglu_gradient(gate_up: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Value of `swiglu` again, and its gradient by `gate_up`."""
    value, out = torch.empty_like(grad), torch.empty_like(gate_up)
    for some in _stretches(gate_up):
        gate, up = gate_up[some].chunk(2, dim=-1)
        d_gate, d_up = out[some].chunk(2, dim=-1)
        dy, sigmoid = grad[some], torch.sigmoid(gate)
        silu = gate * sigmoid
        torch.mul(silu, up, out=value[some])
        torch.mul(dy, silu, out=d_up)
        # d silu / d gate = sigmoid + silu · (1 − sigmoid) = sigmoid + silu − silu · sigmoid
        torch.mul(silu, sigmoid, out=d_gate).neg_().add_(silu).add_(sigmoid).mul_(up).mul_(dy)
    return value, out


def add_low_rank(y: Tensor, inner: Tensor, bs: Sequence[Tensor], scale: float) -> None:
    """y += scale · inner Bᵀ in place, part by part: columns of y and `inner` (rows, parts · rank) belong to `bs` in order."""
    rank, start = bs[0].shape[1], 0
    for part, b in enumerate(bs):
        y[:, start : start + len(b)].addmm_(inner[:, part * rank : (part + 1) * rank], b.t(), alpha=scale)
        start += len(b)


def _stretches(matrix: Tensor) -> Iterator[slice]:
    step = _ROWS_IN_CACHE if matrix.device.type == "cpu" else max(len(matrix), 1)
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)
