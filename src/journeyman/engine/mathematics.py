"""The elementwise parts of a decoder layer and their derivatives, on plain tensors.

Passes over wide matrices go by a few rows at a time on the CPU, so that temporaries stay in its cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

_IN_CACHE = 1 << 17
"""Numbers of the widest matrix that are worked on together on the CPU."""


def norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / rms(x) · weight over the last axis, computed in float32; the result has the dtype of `weight`."""
    if x.numel() <= _IN_CACHE or x.device.type != "cpu":
        return _norm(x, weight, epsilon)
    out = torch.empty(x.shape, dtype=weight.dtype)
    for some in _stretches(x):
        out[some] = _norm(x[some], weight, epsilon)
    return out


def _norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return functional.rms_norm(x.float(), weight.shape, weight.float(), epsilon).to(weight.dtype)


def inverse_root(x: Tensor, epsilon: float) -> Tensor:
    """1 / rms over the last axis, kept as an axis of one."""
    square: Tensor = torch.linalg.vecdot(x, x)
    return square[..., None].div_(x.shape[-1]).add_(epsilon).rsqrt_()


def norm_gradient(x: Tensor, weight: Tensor, epsilon: float, grad: Tensor) -> Tensor:
    """Gradient of `norm` by x: s · (g − n · mean(g · n)) with g = grad · weight, n = x · s, s = 1 / rms."""
    out, wide_weight = torch.empty(x.shape, dtype=x.dtype, device=x.device), weight.float()
    for some in _stretches(x):
        wide = x[some].float()
        scale = inverse_root(wide, epsilon)
        normed = wide * scale
        dn = grad[some].float() * wide_weight
        projection = torch.linalg.vecdot(dn, normed)[..., None].div_(x.shape[-1])
        torch.mul(dn.addcmul_(normed, projection, value=-1.0), scale, out=out[some])
    return out


def norm_weight_gradient(x: Tensor, epsilon: float, grad: Tensor) -> Tensor:
    """Gradient of `norm` by its weight, in float32: the sum over all rows of grad · x / rms."""
    total = torch.zeros(x.shape[-1], device=x.device)
    for some in _stretches(x):
        wide = x[some].float()
        total += (wide * inverse_root(wide, epsilon)).mul_(grad[some]).flatten(0, -2).sum(dim=0)
    return total


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
        dy, silu = grad[some], functional.silu(gate)
        torch.mul(silu, up, out=value[some])
        torch.mul(dy, silu, out=d_up)
        torch.ops.aten.silu_backward.grad_input(dy * up, gate, grad_input=d_gate)
    return value, out


def add_low_rank(y: Tensor, inner: Tensor, bs: Sequence[Tensor], scale: float) -> None:
    """y += scale · inner Bᵀ in place, part by part: columns of y and `inner` (rows, parts · rank) belong to `bs` in order."""
    rank, start = bs[0].shape[1], 0
    for part, b in enumerate(bs):
        y[:, start : start + len(b)].addmm_(inner[:, part * rank : (part + 1) * rank], b.t(), alpha=scale)
        start += len(b)


def _stretches(x: Tensor) -> Iterator[slice]:
    """The rows of `x` by as many as stay in the cache."""
    rows = len(x)
    step = max(_IN_CACHE * rows // max(x.numel(), 1), 1) if x.device.type == "cpu" else max(rows, 1)
    for start in range(0, rows, step):
        yield slice(start, start + step)
