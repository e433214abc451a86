"""The trainer's layers around an adapter: autograd functions that record only what the adapter's gradients need.

The frozen weights get no gradient, so a linear map needs dX = dY W alone; norms and SwiGLU are computed again in the
backward pass instead of being kept, which halves the memory of a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.mathematics import add_low_rank, norm, norm_gradient, rotated, swiglu, swiglu_gradient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from journeyman.engine.adapter import Site, Sites
    from journeyman.engine.weights import Frozen, Layer, Weights


class AdaptedModel:
    """`TrainerModel` of frozen weights with an adapter.

    Args:
        sites: the adapter, in the dtype of the weights; its gradients are recorded where autograd is on.
        recompute: see `ModelMaps`.
    """

    def __init__(self, weights: Weights, sites: Sites, recompute: bool = False) -> None:
        self._weights, self.head, self.recompute = weights, weights.head, recompute
        self.layers = [
            TrainedLayer(layer, own, weights.epsilon) for layer, own in zip(weights.layers, sites, strict=True)
        ]

    def embed(self, token_ids: Tensor) -> Tensor:
        """See `ModelMaps.embed`."""
        return functional.embedding(token_ids, self._weights.embedding).float()

    def last_norm(self, hidden: Tensor) -> Tensor:
        """See `ModelMaps.last_norm`."""
        return _norm(hidden, self._weights.final_norm, self._weights.epsilon)


class TrainedLayer:
    """`LayerMaps` for training: the adapter is never merged into W; gradients are recorded where autograd is on.

    Args:
        sites: the layer's adapter, in the dtype of the weights.
    """

    def __init__(self, layer: Layer, sites: Sequence[Site], epsilon: float) -> None:
        self._layer, self._sites, self._epsilon = layer, sites, epsilon

    def qkv(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.qkv`."""
        return _linear(hidden, self._layer.qkv, self._sites[0], self._layer.input_norm, self._epsilon)

    def head_norms(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """See `LayerMaps.head_norms`."""
        assert self._layer.q_norm is not None
        assert self._layer.k_norm is not None
        return _norm(q, self._layer.q_norm, self._epsilon), _norm(k, self._layer.k_norm, self._epsilon)

    def add_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """See `LayerMaps.add_attention`."""
        return hidden + _linear(attended, self._layer.output, self._sites[1])

    def add_mlp(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.add_mlp`."""
        gate_up = _linear(hidden, self._layer.gate_up, self._sites[2], self._layer.mlp_norm, self._epsilon)
        site = self._sites[3]
        return hidden + SwigluLinear.apply(gate_up, self._layer.down, site.scale, site.a, *site.b)  # type: ignore[no-any-return, no-untyped-call]


def _linear(x: Tensor, frozen: Frozen, site: Site, weight: Tensor | None = None, epsilon: float = 0.0) -> Tensor:
    return NormLinear.apply(x, weight, epsilon, frozen, site.scale, site.a, *site.b)  # type: ignore[no-any-return, no-untyped-call]


def _norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return NormLinear.apply(x, weight, epsilon, None, 0.0, None)  # type: ignore[no-any-return, no-untyped-call]


class NormLinear(torch.autograd.Function):
    """Norm (where `weight` is given), then the linear map with its adapter (where `frozen` is given)."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        epsilon: float,
        frozen: Frozen | None,
        scale: float,
        a: Any,
        *bs: Any,
    ) -> Tensor:
        ctx.epsilon, ctx.frozen, ctx.scale = epsilon, frozen, scale
        normed = x if weight is None else norm(x, weight, epsilon)
        if frozen is None:
            ctx.save_for_backward(x, weight)
            return normed
        y, inner = _project(normed, frozen, scale, a, bs)
        ctx.save_for_backward(x, weight, inner, a, *bs)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, weight, *rest = ctx.saved_tensors
        if ctx.frozen is None:
            return norm_gradient(x, weight, ctx.epsilon, grads[0]), None, None, None, None, None
        inner, a, *bs = rest
        dx, d_inner, d_bs = _project_back(grads[0], inner, ctx.frozen, ctx.scale, a, bs, ctx.needs_input_grad[0])
        normed = x if weight is None else norm(x, weight, ctx.epsilon)
        d_a = d_inner.t() @ normed
        if dx is not None and weight is not None:
            dx = norm_gradient(x, weight, ctx.epsilon, dx)
        return dx, None, None, None, None, d_a, *d_bs


class SwigluLinear(torch.autograd.Function):
    """SwiGLU, then the linear map with its adapter; only gate and up are kept."""

    @staticmethod
    def forward(ctx: Any, gate_up: Tensor, frozen: Frozen, scale: float, a: Tensor, *bs: Tensor) -> Tensor:
        y, inner = _project(swiglu(gate_up), frozen, scale, a, bs)
        ctx.frozen, ctx.scale = frozen, scale
        ctx.save_for_backward(gate_up, inner, a, *bs)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        gate_up, inner, a, *bs = ctx.saved_tensors
        dx, d_inner, d_bs = _project_back(grads[0], inner, ctx.frozen, ctx.scale, a, bs, True)
        assert dx is not None
        value, d_gate_up = swiglu_gradient(gate_up, dx)
        return d_gate_up, None, None, d_inner.t() @ value, *d_bs


class Rotate(torch.autograd.Function):
    """A rotation: its gradient is the rotation back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return rotated(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        cos, sin = ctx.saved_tensors
        return rotated(grads[0], cos, -sin), None, None


def _project(x: Tensor, frozen: Frozen, scale: float, a: Tensor, bs: Any) -> tuple[Tensor, Tensor]:
    y, inner = frozen(x), functional.linear(x, a)
    add_low_rank(y, inner, bs, scale)
    return y, inner


def _project_back(
    dy: Tensor, inner: Tensor, frozen: Frozen, scale: float, a: Tensor, bs: list[Tensor], need_input: bool
) -> tuple[Tensor | None, Tensor, list[Tensor]]:
    """Gradients of input (of the frozen map and A together), of x Aᵀ, and of each B."""
    d_inner, d_bs = torch.empty_like(inner), []
    rank, start = bs[0].shape[1], 0
    for part, b in enumerate(bs):
        dy_part, columns = dy[:, start : start + len(b)], slice(part * rank, (part + 1) * rank)
        d_bs.append((inner[:, columns].t() @ dy_part).mul_(scale).t())
        d_inner[:, columns] = dy_part @ b
        start += len(b)
    d_inner.mul_(scale)
    dx = frozen.input_gradient(dy).addmm_(d_inner, a) if need_input else None
    return dx, d_inner, d_bs
