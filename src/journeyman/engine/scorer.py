"""A second model that only scores: a `Teacher` computed here, with no optimizer, no sampler and no cache of keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import torch
from msgspec import Struct
from msgspec.structs import replace

from journeyman import recipe
from journeyman.engine.memory import give_back
from journeyman.engine.packing import check_samples, pack
from journeyman.engine.parameters import LoraParameters
from journeyman.engine.training import TrainerModel, entry_logprobs
from journeyman.engine.weights import Weights, choose_device, choose_dtype, fingerprint, load_model
from journeyman.episode import Sample, Usage
from journeyman.errors import EngineError

_STATE_FILE = "engine.json"


class _Described(Struct, frozen=True):
    """What a checkpoint says of itself, as far as a teacher needs it."""

    base: str
    rank: int
    scale: float
    train: str = "lora"


class Scorer:
    """A `Teacher`.

    Args:
        weights: its numbers.
        model: computes with them.
        micro_tokens: rows computed at once.
    """

    def __init__(self, weights: Weights, model: TrainerModel, micro_tokens: int) -> None:
        self.weights = weights
        self._model = model
        self._micro_tokens = micro_tokens

    @property
    def spent(self) -> Usage:
        """See `Teacher`."""
        return Usage()

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """See `Teacher`.

        Raises:
            EngineError: malformed samples, ids outside the vocabulary, or more tokens than the model's context holds.
        """
        check_samples(samples)
        for sample in samples:
            self._check(sample)
        found = [[0.0] * len(sample.token_ids) for sample in samples]
        for part in pack(samples, range(len(samples)), self._micro_tokens):
            values = entry_logprobs(self.weights, self._model, part, samples).tolist()
            for member, place, value in zip(part.members, part.places, values, strict=True):
                found[member][place] = value
        if self.weights.device.type == "cpu":
            give_back()
        return found

    def _check(self, sample: Sample) -> None:
        ids = sample.token_ids
        if len(ids) > self.weights.context:
            raise EngineError(
                "teacher",
                sample.episode_id,
                f"has {len(ids)} tokens, and the teacher's context holds {self.weights.context}: lower "
                "sampling.train.context_limit, or take another teacher.",
            )
        if ids and not 0 <= min(ids) <= max(ids) < self.weights.vocabulary:
            raise EngineError(
                "teacher",
                sample.episode_id,
                f"holds ids outside the teacher's vocabulary of {self.weights.vocabulary}.",
            )


def load_scorer(model: recipe.Model, adapter: Path | None = None) -> Scorer:
    """Load a model to score with.

    Args:
        model: name, dtype, device; how it would be trained plays no part.
        adapter: a checkpoint that a local engine saved, of an adapter for this model or of all its weights.

    Raises:
        EngineError: the model is missing or of an architecture not computed here, or the checkpoint is not one of its.
    """
    device = choose_device(model.device)
    dtype = choose_dtype(model.dtype, device)
    described = _described(adapter) if adapter is not None else None
    # Without an adapter, the smallest there is, whose B is 0: it changes nothing.
    settings = replace(model, train="lora", lora_rank=1, lora_alpha=1.0)
    if adapter is not None and described is not None:
        if described.train == "full":
            settings = replace(settings, name=str(adapter))
        else:
            settings = replace(settings, lora_rank=described.rank, lora_alpha=described.scale * described.rank)
    with torch.no_grad():
        parameters = LoraParameters(load_model(settings, device, dtype), settings, seed=0)
        if adapter is not None and described is not None and described.train != "full":
            if described.base != fingerprint(parameters.weights):
                raise EngineError(
                    str(adapter), _STATE_FILE, f"is an adapter of another model than {model.name}: name its own."
                )
            parameters.values.copy_(parameters.read(adapter))
        frozen = parameters.frozen()
    micro_tokens = model.micro_tokens or 8192 // parameters.weights.dtype.itemsize
    return Scorer(parameters.weights, frozen, micro_tokens)


def _described(folder: Path) -> _Described:
    try:
        return msgspec.json.decode((folder / _STATE_FILE).read_bytes(), type=_Described)
    except (OSError, msgspec.MsgspecError) as error:
        raise EngineError(str(folder), "", f"no engine state ({error}). Give a checkpoint of a run.") from error
