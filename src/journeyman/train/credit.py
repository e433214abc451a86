"""What only the trainer knows of samples, put into them before a step's first update: the log-probabilities that ratios and KL need,
and the weight of each token.

This is where the choices of an `Objective` meet: correction (train/correction.py) and aggregation (train/aggregation.py) become
`Sample.weights`; a KL to a reference becomes `Sample.reference_logprobs` (in the loss) or changes the advantages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from journeyman.engine.base import Trainer
from journeyman.episode import Sample
from journeyman.recipe import Objective
from journeyman.train.aggregation import token_weights
from journeyman.train.correction import Correction, correct

Floats = NDArray[np.float64]

REFERENCE = "reference"
"""The name under which a stage has the trainer remember the weights it started from."""


def k3(sampled: ArrayLike, other: ArrayLike) -> Floats:
    """exp(d) − 1 − d with d = log π_other − log π_sampled: per token of π_sampled, a never negative and unbiased estimate of
    KL(π_sampled ‖ π_other) (Schulman 2020, http://joschu.net/blog/kl-approx.html). Shapes alike."""
    d = np.asarray(other, dtype=np.float64) - np.asarray(sampled, dtype=np.float64)
    estimate: Floats = np.expm1(d) - d
    return estimate


def kl_in_advantage(advantages: ArrayLike, logprobs: ArrayLike, reference: ArrayLike, coefficient: float) -> Floats:
    """A_t − coefficient · (log π_t − log π_ref,t): each token answers for its own k1 estimate of KL(π ‖ π_ref). Shapes alike, nats."""
    k1 = np.asarray(logprobs, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    changed: Floats = np.asarray(advantages, dtype=np.float64) - coefficient * k1
    return changed


def prepare(minibatches: Sequence[Sequence[Sample]], objective: Objective, trainer: Trainer) -> dict[str, float]:
    """Fill in the samples of a training step, before its first update.

    - With a correction: `proximal_logprobs`, the trainer's own. The ratio of the loss is then π_θ / π_prox.
    - With a KL in the loss: `reference_logprobs`. With one in the advantage: `advantages` change; π is π_prox where there is a
      correction, else the policy that sampled.
    - With an aggregation other than the token mean, or a correction: `weights`, each minibatch being an update of its own.
      Else they stay None, which is the token mean.

    Args:
        minibatches: the samples of each update of the step, advantages given.
        trainer: has remembered `REFERENCE` where the objective's reference is `start`.

    Returns:
        Means over the sampled tokens of the step, before its first update: with a correction `correction_mean`,
        `correction_dropped_share` and `kl_sampler` (k3 of sampler to trainer); with a KL in the advantage `kl_reference` (k3 to the
        reference; one in the loss is measured by the engine, update by update).
    """
    samples = [sample for minibatch in minibatches for sample in minibatch]
    metrics: dict[str, float] = {}
    if not samples:
        return metrics
    correction = None
    if objective.correction != "none":
        correction = _correction(samples, objective, trainer)
        metrics["correction_mean"], metrics["correction_dropped_share"] = correction.mean, correction.dropped_share
        metrics["kl_sampler"] = _mean_k3(samples, [_proximal(sample) for sample in samples], sampled_by_trainer=False)
    if objective.kl != "none":
        metrics |= _add_kl(samples, objective, trainer)
    if correction is not None or objective.aggregation != "token_mean":
        _weigh(minibatches, objective, correction)
    return metrics


def _correction(samples: Sequence[Sample], objective: Objective, trainer: Trainer) -> Correction:
    for sample, logprobs in zip(samples, trainer.logprobs(samples), strict=True):
        sample.proximal_logprobs = logprobs
    return correct(
        objective.correction,
        [_proximal(sample) for sample in samples],
        [sample.logprobs for sample in samples],
        [sample.mask for sample in samples],
        [sample.episode_id for sample in samples],
        objective.correction_bounds,
    )


def _add_kl(samples: Sequence[Sample], objective: Objective, trainer: Trainer) -> dict[str, float]:
    references = trainer.logprobs(samples, of=REFERENCE if objective.reference == "start" else "base")
    if objective.kl == "loss":
        for sample, reference in zip(samples, references, strict=True):
            sample.reference_logprobs = reference
        return {}
    for sample, reference in zip(samples, references, strict=True):
        changed = kl_in_advantage(sample.advantages, _proximal(sample), reference, objective.kl_coefficient)
        sample.advantages = np.where(np.asarray(sample.mask, dtype=bool), changed, 0.0).tolist()
    return {"kl_reference": _mean_k3(samples, references, sampled_by_trainer=True)}


def _weigh(minibatches: Sequence[Sequence[Sample]], objective: Objective, correction: Correction | None) -> None:
    factors = iter(correction.factors) if correction is not None else None
    for minibatch in minibatches:
        weights = token_weights(
            [sample.mask for sample in minibatch],
            [sample.episode_id for sample in minibatch],
            objective.aggregation,
            objective.max_length,
        )
        for sample, weight in zip(minibatch, weights, strict=True):
            sample.weights = (weight if factors is None else weight * next(factors)).tolist()


def _proximal(sample: Sample) -> list[float]:
    """Log-probabilities of the policy below the loss's ratio."""
    return sample.logprobs if sample.proximal_logprobs is None else sample.proximal_logprobs


def _mean_k3(samples: Sequence[Sample], others: Sequence[list[float]], *, sampled_by_trainer: bool) -> float:
    """Mean over sampled tokens of k3 from the sampler, or from the policy below the ratio, to `others`."""
    total, count = 0.0, 0
    for sample, other in zip(samples, others, strict=True):
        mask = np.asarray(sample.mask, dtype=bool)
        own = _proximal(sample) if sampled_by_trainer else sample.logprobs
        total += float(k3(own, other)[mask].sum())
        count += int(mask.sum())
    return total / max(count, 1)
