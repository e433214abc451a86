"""Gradients of what is trained on packed samples, and log-probabilities by the same path.

The body runs under autograd; the head does not: its logits are made in chunks, turned in place into their own
gradient by the closed form d loss/d logits = slope · (onehot − softmax) / temperature, and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from journeyman.engine.base import LossSettings
from journeyman.engine.forward import ModelMaps, forward
from journeyman.engine.objective import kl_k3, reference_kl, token_terms
from journeyman.engine.packing import Pack
from journeyman.engine.tree_attention import TreeAttention
from journeyman.engine.weights import Frozen, Weights
from journeyman.episode import Sample

_HEAD_ROWS = 256
"""Entries whose logits exist at once."""
_CACHED_ROWS = 4
"""Of these, entries worked on together on the CPU, so that their numbers stay in its cache."""


class TrainerModel(ModelMaps, Protocol):
    """A model whose backward pass adds gradients to where the optimizer finds them, and its head, outside of autograd."""

    @property
    def head(self) -> Frozen: ...


MakeModel = Callable[[], TrainerModel]
"""Makes the model for one micro-batch, with what autograd must see recorded."""


@dataclass
class Totals:
    """Sums over the entries that were computed; `loss` is of weighted terms, the others plain."""

    loss: float = 0.0
    entries: int = 0
    ratio: float = 0.0
    ratio_max: float = 0.0
    clipped: int = 0
    entropy: float = 0.0
    kl: float = 0.0
    kl_reference: float = 0.0

    def means(self, loss: LossSettings) -> dict[str, float]:
        """Means over the entries (and the largest ratio), as `Trainer.update` reports them of what was sampled."""
        count = max(self.entries, 1)
        found = {
            "ratio_mean": self.ratio / count if self.entries else 1.0,
            "ratio_max": self.ratio_max if self.entries else 1.0,
            "clipped_share": self.clipped / count,
            "entropy": self.entropy / count,
            "kl_k3": self.kl / count,
        }
        return found | ({"kl_reference": self.kl_reference / count} if loss.kl_coefficient else {})

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
            kl_reference=sum(part.kl_reference for part in parts),
        )


@dataclass(frozen=True)
class Update:
    """What is asked of every micro-batch of an update.

    Args:
        normaliser: masked-in tokens of the whole update; divides the terms of samples without weights.
        log_ratios: for gspo, of each episode: the mean over its tokens of log π_θ − log π_old.
    """

    samples: Sequence[Sample]
    loss: LossSettings
    normaliser: int
    log_ratios: Mapping[str, float] = field(default_factory=dict)


@dataclass
class _Entries:
    """Where one micro-batch's entries are and what they ask for, all (entries,)."""

    rows: Tensor
    targets: Tensor
    temperatures: Tensor


@dataclass
class _Credit:
    """What the loss of one micro-batch's entries is made of, all (entries,); see `Sample`.

    `old` is the policy below the ratio; `scales` weigh the terms; `log_ratios` are those of the entries' episodes (gspo).
    """

    sampled: Tensor
    old: Tensor
    advantages: Tensor
    scales: Tensor
    reference: Tensor | None
    log_ratios: Tensor | None


def matters(sample: Sample, loss: LossSettings) -> bool:
    """Whether the sample's terms can have a gradient: else leaving it out changes nothing but what is averaged in the metrics."""
    if loss.kind == "sft":
        return True
    if sample.weights is not None and not any(sample.weights):
        return False
    return bool(loss.kl_coefficient) or any(sample.advantages)


def episode_log_ratios(samples: Sequence[Sample], logprobs: Mapping[int, Sequence[float]]) -> dict[str, float]:
    """Of each episode, the mean over its masked-in tokens, in whichever samples, of log π_θ − log π_old.

    Args:
        logprobs: under the current weights, (tokens,) by index of the sample; all samples of an episode or none.
    """
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for index, current in logprobs.items():
        sample = samples[index]
        old = sample.logprobs if sample.proximal_logprobs is None else sample.proximal_logprobs
        gaps = [new - before for new, before, flag in zip(current, old, sample.mask, strict=True) if flag]
        sums[sample.episode_id] = sums.get(sample.episode_id, 0.0) + sum(gaps)
        counts[sample.episode_id] = counts.get(sample.episode_id, 0) + len(gaps)
    return {episode: total / counts[episode] for episode, total in sums.items() if counts[episode]}


def accumulate(weights: Weights, make: MakeModel, pack: Pack, update: Update, totals: Totals) -> None:
    """Forward and backward of one micro-batch: gradients add up where `make`'s model puts them, sums in `totals`."""
    with torch.enable_grad():
        model = make()
        hidden = _body(weights, model, pack)
    entries, credit = _entries(weights, pack, update.samples), _credit(weights, pack, update)
    gradient = torch.zeros_like(hidden)
    with torch.no_grad():
        for start in range(0, len(pack.rows), _HEAD_ROWS):
            chunk = slice(start, start + _HEAD_ROWS)
            _head_chunk(model.head, hidden, gradient, entries, credit, chunk, update.loss, totals)
    hidden.backward(gradient)  # type: ignore[no-untyped-call]


def entry_logprobs(weights: Weights, model: TrainerModel, pack: Pack, samples: Sequence[Sample]) -> Tensor:
    """Log-probability of each entry of `pack`, (entries,) float32."""
    with torch.no_grad():
        hidden = _body(weights, model, pack)
        entries = _entries(weights, pack, samples)
        parts = []
        for start in range(0, len(pack.rows), _HEAD_ROWS):
            logits = model.head.in_parts(hidden[entries.rows[start : start + _HEAD_ROWS]])
            for some, scaled, normalisers in _tempered(logits, entries, start):
                parts.append(scaled.gather(1, entries.targets[some, None])[:, 0] - normalisers)
        return torch.cat(parts)


def _entries(weights: Weights, pack: Pack, samples: Sequence[Sample]) -> _Entries:
    return _Entries(
        rows=torch.tensor(pack.rows, device=weights.device),
        targets=torch.tensor(pack.targets, device=weights.device),
        temperatures=_numbers([samples[m].temperature for m in pack.members], weights),
    )


def _credit(weights: Weights, pack: Pack, update: Update) -> _Credit:
    samples, where = update.samples, list(zip(pack.members, pack.places, strict=True))
    plain = 1.0 / update.normaliser
    olds = [sample.logprobs if sample.proximal_logprobs is None else sample.proximal_logprobs for sample in samples]
    given = [sample.weights for sample in samples]
    reference = log_ratios = None
    if update.loss.kl_coefficient:
        references = [sample.reference_logprobs or [] for sample in samples]
        reference = _numbers([references[m][p] for m, p in where], weights)
    if update.loss.kind == "gspo":
        log_ratios = _numbers([update.log_ratios[samples[m].episode_id] for m in pack.members], weights)
    return _Credit(
        sampled=_numbers([samples[m].logprobs[p] for m, p in where], weights),
        old=_numbers([olds[m][p] for m, p in where], weights),
        advantages=_numbers([samples[m].advantages[p] for m, p in where], weights),
        scales=_numbers([plain if (own := given[m]) is None else own[p] for m, p in where], weights),
        reference=reference,
        log_ratios=log_ratios,
    )


def _numbers(values: list[float], weights: Weights) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=weights.device)


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
    head: Frozen,
    hidden: Tensor,
    gradient: Tensor,
    entries: _Entries,
    credit: _Credit,
    chunk: slice,
    loss: LossSettings,
    totals: Totals,
) -> None:
    rows = entries.rows[chunk]
    inputs = hidden[rows]
    logits = head.in_parts(inputs)
    for some, scaled, normalisers in _tempered(logits, entries, chunk.start):
        d_logits = _logit_gradient(scaled, normalisers, entries, credit, some, loss, totals)
        logits[0][some.start - chunk.start : some.stop - chunk.start] = d_logits
    gradient.index_add_(0, rows, head.input_gradient(logits[0]))
    head.add_gradient(inputs, logits[0])


def _logit_gradient(
    scaled: Tensor,
    normalisers: Tensor,
    entries: _Entries,
    credit: _Credit,
    some: slice,
    loss: LossSettings,
    totals: Totals,
) -> Tensor:
    """d loss / d logits of entries `some`, (entries, vocabulary) float32; their terms go into `totals`."""
    targets = entries.targets[some, None]
    logprobs = scaled.gather(1, targets)[:, 0] - normalisers
    slopes = _slopes(logprobs, credit, some, loss, totals) / entries.temperatures[some]
    if loss.kind == "sft":
        probabilities = scaled.sub_(normalisers[:, None]).exp_()
    else:
        probabilities = torch.sub(scaled, normalisers[:, None]).exp_()
        # −Σ p log p = log Σ exp − Σ p · logit
        totals.entropy += float((normalisers - torch.linalg.vecdot(probabilities, scaled)).double().sum())
    return probabilities.mul_(-slopes[:, None]).scatter_add_(1, targets, slopes[:, None])


def _slopes(logprobs: Tensor, credit: _Credit, some: slice, loss: LossSettings, totals: Totals) -> Tensor:
    """d loss / d log π of entries `some`, weighed; their terms go into `totals`."""
    log_ratios = None if credit.log_ratios is None else credit.log_ratios[some]
    terms = token_terms(loss, logprobs, credit.old[some], credit.advantages[some], log_ratios)
    values, slopes = terms.loss, terms.slope
    if credit.reference is not None:
        kl, kl_slopes = reference_kl(logprobs, credit.reference[some])
        values, slopes = values + loss.kl_coefficient * kl, slopes + loss.kl_coefficient * kl_slopes
        totals.kl_reference += float(kl.double().sum())
    scales = credit.scales[some]
    totals.loss += float((values * scales).double().sum())
    totals.entries += len(logprobs)
    if loss.kind != "sft":
        totals.kl += float(kl_k3(logprobs, credit.sampled[some]).double().sum())
        totals.ratio += float(terms.ratio.double().sum())
        totals.ratio_max = max(totals.ratio_max, float(terms.ratio.max()))
        totals.clipped += int(terms.clipped.sum())
    return slopes * scales


def _body(weights: Weights, model: ModelMaps, pack: Pack) -> Tensor:
    ids = torch.tensor(pack.token_ids, device=weights.device)
    positions = torch.tensor(pack.positions, device=weights.device)
    return forward(weights, model, ids, positions, TreeAttention(weights, pack.nodes))
