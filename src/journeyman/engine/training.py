"""Gradients of the adapter on packed samples, and log-probabilities by the same path.

The body runs under autograd; the head does not: its logits are made in chunks, turned in place into their own
gradient by the closed form d loss/d logits = slope · (onehot − softmax) / temperature, and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from journeyman.engine.adapter import Sites, cast
from journeyman.engine.base import LossSettings
from journeyman.engine.forward import forward
from journeyman.engine.gradients import TrainedLayer
from journeyman.engine.objective import kl_k3, token_terms
from journeyman.engine.packing import Pack
from journeyman.engine.tree_attention import TreeAttention
from journeyman.engine.weights import Weights
from journeyman.episode import Sample

_HEAD_ROWS = 256
"""Entries whose logits exist at once."""
_CACHED_ROWS = 4
"""Of these, entries worked on together on the CPU, so that their numbers stay in its cache."""


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

    @staticmethod
    def of(parts: Sequence[Totals]) -> Totals:
        """The sums of several, added in order."""
        return Totals(
            loss=sum(part.loss for part in parts),
            entries=sum(part.entries for part in parts),
            ratio=sum(part.ratio for part in parts),
            ratio_max=max(part.ratio_max for part in parts),
            clipped=sum(part.clipped for part in parts),
            entropy=sum(part.entropy for part in parts),
            kl=sum(part.kl for part in parts),
        )


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


def entry_logprobs(weights: Weights, sites: Sites, pack: Pack, samples: Sequence[Sample]) -> Tensor:
    """Log-probability of each entry of `pack`, (entries,) float32."""
    with torch.no_grad():
        hidden = _body(weights, sites, pack)
        entries = _entries(weights, pack, samples)
        parts = []
        for start in range(0, len(pack.rows), _HEAD_ROWS):
            logits = weights.head.in_parts(hidden[entries.rows[start : start + _HEAD_ROWS]])
            for some, scaled, normalisers in _tempered(logits, entries, start):
                parts.append(scaled.gather(1, entries.targets[some, None])[:, 0] - normalisers)
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


def _tempered(
    logits: tuple[Tensor, Tensor | None], entries: _Entries, first: int
) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Of entries from `first` on, a few at a time: which, their logits over temperature (entries, vocabulary) in float32, and
    their log-sum-exps. The tempered logits may take the place of those given (in two parts, see `Product.in_parts`)."""
    coarse, fine = logits
    step = _CACHED_ROWS if coarse.device.type == "cpu" else max(len(coarse), 1)
    for start in range(0, len(coarse), step):
        local = slice(start, min(start + step, len(coarse)))
        some = slice(first + local.start, first + local.stop)
        scaled = coarse[local].float()
        if fine is not None:
            scaled.add_(fine[local])
        scaled.div_(entries.temperatures[some, None])
        yield some, scaled, torch.logsumexp(scaled, dim=-1)


def _head_chunk(
    weights: Weights,
    hidden: Tensor,
    gradient: Tensor,
    entries: _Entries,
    chunk: slice,
    loss: LossSettings,
    totals: Totals,
) -> None:
    rows = entries.rows[chunk]
    logits = weights.head.in_parts(hidden[rows])
    for some, scaled, normalisers in _tempered(logits, entries, chunk.start):
        d_logits = _logit_gradient(scaled, normalisers, entries, some, loss, totals)
        logits[0][some.start - chunk.start : some.stop - chunk.start] = d_logits
    gradient.index_add_(0, rows, weights.head.input_gradient(logits[0]))


def _logit_gradient(
    scaled: Tensor, normalisers: Tensor, entries: _Entries, some: slice, loss: LossSettings, totals: Totals
) -> Tensor:
    """d loss / d logits of entries `some`, (entries, vocabulary) float32; their terms go into `totals`."""
    targets = entries.targets[some, None]
    logprobs = scaled.gather(1, targets)[:, 0] - normalisers
    terms = token_terms(loss, logprobs, entries.sampled[some], entries.advantages[some])
    scales = entries.scales[some]
    totals.loss += float((terms.loss * scales).double().sum())
    if loss.kind == "ppo_clip":
        probabilities = torch.sub(scaled, normalisers[:, None]).exp_()
        # −Σ p log p = log Σ exp − Σ p · logit
        totals.entropy += float((normalisers - torch.linalg.vecdot(probabilities, scaled)).double().sum())
        totals.kl += float(kl_k3(logprobs, entries.sampled[some]).double().sum())
        totals.ratio += float(terms.ratio.double().sum())
        totals.ratio_max = max(totals.ratio_max, float(terms.ratio.max()))
        totals.clipped += int(terms.clipped.sum())
    else:
        probabilities = scaled.sub_(normalisers[:, None]).exp_()
    totals.entries += len(logprobs)
    slopes = terms.slope * scales / entries.temperatures[some]
    return probabilities.mul_(-slopes[:, None]).scatter_add_(1, targets, slopes[:, None])


def _body(weights: Weights, sites: Sites, pack: Pack) -> Tensor:
    ids = torch.tensor(pack.token_ids, device=weights.device)
    positions = torch.tensor(pack.positions, device=weights.device)
    layers = [TrainedLayer(layer, own, weights.epsilon) for layer, own in zip(weights.layers, sites, strict=True)]
    return forward(weights, layers, ids, positions, TreeAttention(weights, pack.nodes))
