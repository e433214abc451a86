"""Gradients of the adapter on packed samples, and log-probabilities by the same path.

The body runs under autograd; the head does not: its logits are made in chunks, turned in place into their own
gradient by the closed form d loss/d logits = slope · (onehot − softmax) / temperature, and dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.adapter import Sites, cast
from journeyman.engine.base import LossSettings
from journeyman.engine.forward import forward
from journeyman.engine.objective import kl_k3, token_terms
from journeyman.engine.packing import Pack
from journeyman.engine.weights import Weights
from journeyman.episode import Sample

_HEAD_ROWS = 256
"""Entries whose logits exist at once."""


@dataclass
class Totals:
    """Sums over the entries that were computed; `loss` is already divided by the update's normaliser."""

    loss: float = 0.0
    entries: int = 0
    ratio: float = 0.0
    ratio_max: float = 0.0
    clipped: int = 0
    entropy: float = 0.0
    kl: float = 0.0


@dataclass
class _Entries:
    """Per-entry numbers of one micro-batch as tensors, all (entries,)."""

    rows: Tensor
    targets: Tensor
    temperatures: Tensor
    sampled: Tensor
    advantages: Tensor
    scales: Tensor = field(default_factory=lambda: torch.empty(0))


def accumulate(
    weights: Weights,
    leaves: Sites,
    pack: Pack,
    samples: Sequence[Sample],
    loss: LossSettings,
    normaliser: int,
    totals: Totals,
) -> None:
    """Forward and backward of one micro-batch: gradients add up in the leaves, sums in `totals`."""
    with torch.enable_grad():
        sites = cast(leaves, weights.dtype) if weights.dtype != torch.float32 else leaves
        hidden = _body(weights, sites, pack)
    entries = _entries(weights, pack, samples)
    entries.scales = torch.tensor([samples[m].weight / normaliser for m in pack.members], device=weights.device)
    gradient = torch.zeros_like(hidden)
    with torch.no_grad():
        for start in range(0, len(pack.rows), _HEAD_ROWS):
            _head_chunk(weights, hidden, gradient, entries, slice(start, start + _HEAD_ROWS), loss, totals)
    hidden.backward(gradient)  # type: ignore[no-untyped-call]


def entry_logprobs(weights: Weights, sites: Sites | None, pack: Pack, samples: Sequence[Sample]) -> Tensor:
    """Log-probability of each entry of `pack`, (entries,) float32."""
    with torch.no_grad():
        hidden = _body(weights, sites, pack)
        entries = _entries(weights, pack, samples)
        parts = []
        for start in range(0, len(pack.rows), _HEAD_ROWS):
            chunk = slice(start, start + _HEAD_ROWS)
            scaled, normalisers = _scaled_logits(weights, hidden, entries, chunk)
            parts.append(scaled.gather(1, entries.targets[chunk, None])[:, 0] - normalisers)
        return torch.cat(parts)


def _entries(weights: Weights, pack: Pack, samples: Sequence[Sample]) -> _Entries:
    def numbers(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=weights.device)

    where = list(zip(pack.members, pack.places, strict=True))
    return _Entries(
        rows=torch.tensor(pack.rows, device=weights.device),
        targets=torch.tensor(pack.targets, device=weights.device),
        temperatures=numbers([samples[m].temperature for m in pack.members]),
        sampled=numbers([samples[m].logprobs[p] for m, p in where]),
        advantages=numbers([samples[m].advantages[p] for m, p in where]),
    )


def _scaled_logits(weights: Weights, hidden: Tensor, entries: _Entries, chunk: slice) -> tuple[Tensor, Tensor]:
    """Logits over temperature (entries, vocabulary) in float32, and their log-sum-exp."""
    logits = weights.head(hidden[entries.rows[chunk]]).float()
    scaled = logits.div_(entries.temperatures[chunk, None])
    return scaled, torch.logsumexp(scaled, dim=-1)


def _head_chunk(
    weights: Weights,
    hidden: Tensor,
    gradient: Tensor,
    entries: _Entries,
    chunk: slice,
    loss: LossSettings,
    totals: Totals,
) -> None:
    scaled, normalisers = _scaled_logits(weights, hidden, entries, chunk)
    targets = entries.targets[chunk, None]
    logprobs = scaled.gather(1, targets)[:, 0] - normalisers
    terms = token_terms(loss, logprobs, entries.sampled[chunk], entries.advantages[chunk])
    scales = entries.scales[chunk]
    totals.loss += float((terms.loss * scales).double().sum())
    probabilities = torch.empty(0)
    if loss.kind == "ppo_clip":
        probabilities = torch.exp(scaled - normalisers[:, None])
        # −Σ p log p = log Σ exp − Σ p · logit
        totals.entropy += float((normalisers - torch.linalg.vecdot(probabilities, scaled)).double().sum())
        totals.kl += float(kl_k3(logprobs, entries.sampled[chunk]).double().sum())
        totals.ratio += float(terms.ratio.double().sum())
        totals.ratio_max = max(totals.ratio_max, float(terms.ratio.max()))
        totals.clipped += int(terms.clipped.sum())
    else:
        probabilities = scaled.sub_(normalisers[:, None]).exp_()
    totals.entries += len(logprobs)
    slopes = terms.slope * scales / entries.temperatures[chunk]
    d_logits = probabilities.mul_(-slopes[:, None])
    d_logits.scatter_add_(1, targets, slopes[:, None])
    gradient.index_add_(0, entries.rows[chunk], weights.head.input_gradient(d_logits.to(weights.dtype)))


def _body(weights: Weights, sites: Sites | None, pack: Pack) -> Tensor:
    ids = torch.tensor(pack.token_ids, device=weights.device)
    positions = torch.tensor(pack.positions, device=weights.device)
    return forward(weights, sites, ids, positions, _TreeAttention(weights, pack))


class _TreeAttention:
    """Each node attends causally to itself and fully to its ancestors."""

    def __init__(self, weights: Weights, pack: Pack) -> None:
        self._scale = 1 / math.sqrt(weights.head_dim)
        self._nodes = pack.nodes
        self._sizes = [node.end - node.first for node in pack.nodes]
        self._masks = []
        for node, count in zip(pack.nodes, self._sizes, strict=True):
            mask = None
            if node.ancestors:
                total = node.position + count
                mask = torch.ones(count, total, dtype=torch.bool, device=weights.device).tril(node.position)
            self._masks.append(mask)

    def __call__(self, _layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = len(q)
        qs, ks, vs = (torch.split(tensor, self._sizes) for tensor in (q, k, v))
        outs = []
        for index, node in enumerate(self._nodes):
            path = [*node.ancestors, index]
            keys = torch.cat([ks[i] for i in path]) if node.ancestors else ks[index]
            values = torch.cat([vs[i] for i in path]) if node.ancestors else vs[index]
            out = functional.scaled_dot_product_attention(
                qs[index].transpose(0, 1)[None],
                keys.transpose(0, 1)[None],
                values.transpose(0, 1)[None],
                attn_mask=self._masks[index],
                is_causal=self._masks[index] is None,
                scale=self._scale,
                enable_gqa=True,
            )
            outs.append(out[0].transpose(0, 1))
        return torch.cat(outs).view(rows, -1)
