"""The sampler's layers: between two publications the adapter is fixed, so its B lies beside W in one packed matrix.

y = x Wᵀ + scale · (x Aᵀ) Bᵀ is [x, x Aᵀ] [W, scale · B]ᵀ: one small and one large product, summed in float32 and rounded once,
with SwiGLU fused in. The adapter is never merged into W.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.adapter import Site, Sites
from journeyman.engine.mathematics import norm
from journeyman.engine.weights import Frozen, Layer, Product, Weights


class FusedLayer:
    """`LayerMaps` without gradients.

    Args:
        sites: the layer's adapter in float32; None computes the base model.
    """

    def __init__(self, layer: Layer, sites: Sequence[Site] | None, epsilon: float) -> None:
        self._input_norm, self._mlp_norm, self._epsilon = layer.input_norm, layer.mlp_norm, epsilon
        self._q_norm, self._k_norm = layer.q_norm, layer.k_norm
        nothing: list[Site | None] = [None] * 4
        qkv, output, gate_up, down = sites or nothing
        self._qkv, self._qkv_a = Product(_extended(layer.qkv, qkv), layer.qkv.bias), _inner(layer.qkv, qkv)
        self._output, self._output_a = (
            Product(_extended(layer.output, output), layer.output.bias),
            _inner(layer.output, output),
        )
        wide = _extended(layer.gate_up, gate_up).chunk(2)
        biases = (None, None) if layer.gate_up.bias is None else layer.gate_up.bias.chunk(2)
        self._gate, self._up = (Product(half.contiguous(), bias) for half, bias in zip(wide, biases, strict=True))
        self._gate_up_a = _inner(layer.gate_up, gate_up)
        self._down, self._down_a = Product(_extended(layer.down, down), layer.down.bias), _inner(layer.down, down)

    def qkv(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.qkv`."""
        return self._qkv(_beside(norm(hidden, self._input_norm, self._epsilon), self._qkv_a))

    def head_norms(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """See `LayerMaps.head_norms`."""
        assert self._q_norm is not None
        assert self._k_norm is not None
        return norm(q, self._q_norm, self._epsilon), norm(k, self._k_norm, self._epsilon)

    def add_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """See `LayerMaps.add_attention`."""
        return hidden.add_(self._output(_beside(attended, self._output_a)))

    def add_mlp(self, hidden: Tensor) -> Tensor:
        """See `LayerMaps.add_mlp`."""
        x = _beside(norm(hidden, self._mlp_norm, self._epsilon), self._gate_up_a)
        return hidden.add_(self._down(_beside(self._up.times(x, self._gate.silu(x)), self._down_a)))


class SampledModel:
    """`ModelMaps` of the sampler, and its head.

    Args:
        layers: taken one at a time, so that each may be made when it is needed and dropped once it is fused.
        sites: the adapter (float32); None: there is none.
    """

    recompute = False

    def __init__(
        self,
        layers: Iterable[Layer],
        embedding: Tensor,
        final_norm: Tensor,
        head: Product,
        epsilon: float,
        sites: Sites | None = None,
    ) -> None:
        self._embedding, self._final_norm, self._epsilon = embedding, final_norm, epsilon
        self.head = head
        self.layers: list[FusedLayer] = []
        for layer in layers:
            self.layers.append(FusedLayer(layer, sites[len(self.layers)] if sites else None, epsilon))

    def embed(self, token_ids: Tensor) -> Tensor:
        """See `ModelMaps.embed`."""
        return functional.embedding(token_ids, self._embedding).float()

    def last_norm(self, hidden: Tensor) -> Tensor:
        """See `ModelMaps.last_norm`."""
        return norm(hidden, self._final_norm, self._epsilon)


def fuse(weights: Weights, sites: Sites | None) -> SampledModel:
    """The model that samples with this adapter (float32), or without any."""
    return SampledModel(weights.layers, weights.embedding, weights.final_norm, weights.head, weights.epsilon, sites)


def _extended(frozen: Frozen, site: Site | None) -> Tensor:
    """[W, scale · B] with every part's B in the columns of its inner products."""
    if site is None:
        return frozen.weight
    outputs, inputs = frozen.weight.shape
    rank = site.b[0].shape[1]
    wide = frozen.weight.new_zeros(outputs, inputs + len(site.a))
    wide[:, :inputs] = frozen.weight
    start = 0
    for part, b in enumerate(site.b):
        wide[start : start + len(b), inputs + part * rank : inputs + (part + 1) * rank] = b * site.scale
        start += len(b)
    return wide


def _inner(frozen: Frozen, site: Site | None) -> Product | None:
    return None if site is None else Product(site.a.to(frozen.weight.dtype, copy=True))


def _beside(x: Tensor, a: Product | None) -> Tensor:
    """[x, x Aᵀ]."""
    return x if a is None else torch.cat([x, a(x)], dim=1)
