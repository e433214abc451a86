"""The trainer's model when all weights are trained: autograd functions that add weight gradients to slots of their own.

Autograd knows the hidden states alone. Each function computes its weights' gradients in its backward pass and adds them, in
float32, to the slots it was given, so that no gradient exists twice. Norms and SwiGLU are computed again in the backward pass
instead of being kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.mathematics import norm, norm_gradient, norm_weight_gradient, swiglu, swiglu_gradient
from journeyman.engine.weights import Frozen, Layer, Weights

Slots = Mapping[str, Tensor]
"""Float32 gradients by the names of `whole.groups`; empty for a model that is only read."""


class Trained(Frozen):
    """A linear map that is trained: its gradients are added to `slot` and `bias_slot`, where given."""

    def __init__(self, weight: Tensor, bias: Tensor | None, slot: Tensor | None, bias_slot: Tensor | None) -> None:
        super().__init__(weight, bias, packed=False)
        self._slot, self._bias_slot = slot, bias_slot

    def add_gradient(self, x: Tensor, grad: Tensor) -> None:
        """See `Frozen.add_gradient`."""
        if self._slot is not None:
            _add_product(self._slot, grad, x)
        if self._bias_slot is not None:
            self._bias_slot.add_(grad.sum(dim=0, dtype=torch.float32))


def _add_product(slot: Tensor, grad: Tensor, x: Tensor) -> None:
    """slot += gradᵀ x. Products of bfloat16 are rounded once, then added in float32."""
    if grad.dtype == slot.dtype:
        slot.addmm_(grad.t(), x)
    else:
        slot.add_(grad.t() @ x)


class Norm:
    """A norm whose weight is trained: its gradient is added to `slot`, where given."""

    def __init__(self, weight: Tensor, epsilon: float, slot: Tensor | None) -> None:
        self._weight, self._epsilon, self._slot = weight, epsilon, slot

    def __call__(self, x: Tensor) -> Tensor:
        """Over the last axis."""
        return norm(x, self._weight, self._epsilon)

    def input_gradient(self, x: Tensor, grad: Tensor) -> Tensor:
        """Gradient of `x`, and of the weight on the way."""
        if self._slot is not None:
            self._slot.add_(norm_weight_gradient(x, self._epsilon, grad))
        return norm_gradient(x, self._weight, self._epsilon, grad)


class WholeModel:
    """`TrainerModel` whose every weight is trained.

    Args:
        weights: their linear maps know their slots.
        slots: of embedding and norms.
        recompute: see `ModelMaps`.
    """

    def __init__(self, weights: Weights, slots: Slots, recompute: bool = False) -> None:
        self.head, self.recompute = weights.head, recompute
        self._embedding, self._slot = weights.embedding, slots.get("embedding")
        self._last_norm = Norm(weights.final_norm, weights.epsilon, slots.get("final_norm"))
        self.layers = [
            WholeLayer(layer, weights.epsilon, slots, f"{index}.") for index, layer in enumerate(weights.layers)
        ]

    def embed(self, token_ids: Tensor) -> Tensor:
        """See `ModelMaps.embed`."""
        # Autograd records what follows for the sake of the anchor: the embedding itself is no leaf.
        anchor = torch.zeros((), device=self._embedding.device, requires_grad=True)
        return _Embed.apply(anchor, token_ids, self._embedding, self._slot)  # type: ignore[no-any-return, no-untyped-call]

    def last_norm(self, hidden: Tensor) -> Tensor:
        """See `ModelMaps.last_norm`."""
        return _normed(hidden, self._last_norm)


class WholeLayer:
    """`LayerMaps` for training all weights."""

    def __init__(self, layer: Layer, epsilon: float, slots: Slots, prefix: str) -> None:
        def trained(name: str, weight: Tensor | None) -> Norm | None:
            return None if weight is None else Norm(weight, epsilon, slots.get(prefix + name))

        self._layer = layer
        self._input_norm, self._mlp_norm = trained("input_norm", layer.input_norm), trained("mlp_norm", layer.mlp_norm)
        self._q_norm, self._k_norm = trained("q_norm", layer.q_norm), trained("k_norm", layer.k_norm)

    def qkv(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.qkv`."""
        return _linear(hidden, self._layer.qkv, self._input_norm)

    def head_norms(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """See `LayerMaps.head_norms`."""
        assert self._q_norm is not None
        assert self._k_norm is not None
        return _normed(q, self._q_norm), _normed(k, self._k_norm)

    def add_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """See `LayerMaps.add_attention`."""
        return hidden + _linear(attended, self._layer.output)

    def add_mlp(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.add_mlp`."""
        gate_up = _linear(hidden, self._layer.gate_up, self._mlp_norm)
        return hidden + _SwigluLinear.apply(gate_up, self._layer.down)  # type: ignore[no-any-return, no-untyped-call]


def _normed(x: Tensor, by: Norm) -> Tensor:
    return _Norm.apply(x, by)  # type: ignore[no-any-return, no-untyped-call]


def _linear(x: Tensor, linear: Frozen, by: Norm | None = None) -> Tensor:
    return _NormLinear.apply(x, linear, by)  # type: ignore[no-any-return, no-untyped-call]


class _Embed(torch.autograd.Function):
    """(rows,) → (rows, hidden) float32."""

    @staticmethod
    def forward(ctx: Any, _anchor: Tensor, token_ids: Tensor, embedding: Tensor, slot: Tensor | None) -> Tensor:
        ctx.slot = slot
        ctx.save_for_backward(token_ids)
        return functional.embedding(token_ids, embedding).float()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if ctx.slot is not None:
            ctx.slot.index_add_(0, ctx.saved_tensors[0], grads[0])
        return None, None, None, None


class _Norm(torch.autograd.Function):
    """A norm alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, by: Norm) -> Tensor:
        ctx.by = by
        ctx.save_for_backward(x)
        return by(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return ctx.by.input_gradient(ctx.saved_tensors[0], grads[0]), None


class _NormLinear(torch.autograd.Function):
    """Norm (where given), then a linear map; only the input is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, linear: Frozen, by: Norm | None) -> Tensor:
        ctx.linear, ctx.by = linear, by
        ctx.save_for_backward(x)
        return linear(x if by is None else by(x))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (x,), by = ctx.saved_tensors, ctx.by
        ctx.linear.add_gradient(x if by is None else by(x), grads[0])
        dx = ctx.linear.input_gradient(grads[0])
        return dx if by is None else by.input_gradient(x, dx), None, None


class _SwigluLinear(torch.autograd.Function):
    """SwiGLU, then a linear map; only gate and up are kept."""

    @staticmethod
    def forward(ctx: Any, gate_up: Tensor, linear: Frozen) -> Tensor:
        ctx.linear = linear
        ctx.save_for_backward(gate_up)
        return linear(swiglu(gate_up))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (gate_up,) = ctx.saved_tensors
        value, d_gate_up = swiglu_gradient(gate_up, ctx.linear.input_gradient(grads[0]))
        ctx.linear.add_gradient(value, grads[0])
        return d_gate_up, None
