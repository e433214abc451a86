"""The local engine: one model in this process that samples and is trained, with torch.

engine = load_engine(recipe.Model(), seed=0)
engine.attach("sft/0/0/0")
result = await engine.sample(SampleRequest("sft/0/0/0", prompt_ids, 64, 1.0, 1.0, seed, frozenset({2})))
engine.update(samples, LossSettings("ppo_clip"))
engine.publish()
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct

from journeyman import recipe
from journeyman.engine.adapter import Adapter
from journeyman.engine.base import LossSettings, OptimizerKind, SampleRequest, SampleResult
from journeyman.engine.lanes import Lanes
from journeyman.engine.memory import give_back
from journeyman.engine.optimizers import Stepper
from journeyman.engine.packing import Pack, check_samples, deal, pack
from journeyman.engine.parameters import LoraParameters, Parameters, make_parameters
from journeyman.engine.processes import ALONE, Processes
from journeyman.engine.sampling import Batch
from journeyman.engine.scheduler import Scheduler
from journeyman.engine.training import (
    MakeModel,
    Totals,
    TrainerModel,
    Update,
    accumulate,
    entry_logprobs,
    episode_log_ratios,
    matters,
)
from journeyman.engine.weights import Weights, choose_device, choose_dtype, fingerprint, load_model
from journeyman.episode import Sample
from journeyman.errors import EngineError

BASE = "base"
"""The name of the untouched model among those whose log-probabilities can be asked for."""
_STATE_FILE = "engine.json"
_OPTIMIZER_FILE = "optimizer.safetensors"


class _State(Struct, frozen=True):
    """What a checkpoint says of itself."""

    base: str
    rank: int
    scale: float
    version: int
    steps: int
    train: str = "lora"
    optimizer: OptimizerKind = "adamw"


class LocalEngine:
    """`Sampler` and `Trainer` over one model; each side has its own copy of what is trained and its own threads, so that
    sampling goes on beside an update. Only a change of the sampler's weights holds it, between two answers.

    Args:
        processes: that compute each update together, each its share; process 0 alone samples and saves.

    Attributes:
        weights: the trainer's; frozen where an adapter is trained.
        peft_model: the Hugging Face model, wrapped by PEFT where an adapter is trained; it shares all storage with the
            trainer's side.
        micro_tokens: rows computed at once in training, by all lanes together; bounds memory, never changes gradients
            beyond rounding.
    """

    def __init__(self, model: torch.nn.Module, settings: recipe.Model, seed: int, processes: Processes = ALONE) -> None:
        self.settings = settings
        self.processes = processes
        self._trained: Parameters = make_parameters(model, settings, seed)
        self.weights: Weights = self._trained.weights
        self.peft_model: Any = self._trained.model
        self.micro_tokens = settings.micro_tokens or 8192 // self.weights.dtype.itemsize
        count = settings.lanes if self.weights.device.type == "cpu" else 1
        # Sampling and training have lanes of their own, so that neither waits for the other where both go on.
        self._lanes = Lanes(count, torch.get_num_threads())
        self._training_lanes = Lanes(count, torch.get_num_threads())
        self._training = threading.RLock()
        spare = [torch.zeros_like(self._trained.gradients) for _ in range(count - 1)]
        self._gradients = [self._trained.gradients, *spare]
        self._models = [self._trained.trained(gradients) for gradients in self._gradients]
        self._stepper = Stepper("adamw", self._trained)
        self._base = fingerprint(self.weights)
        self._version = 0
        self._remembered: dict[str, torch.Tensor] = {}
        self._batches = [Batch(self.weights, -(-settings.slots // count)) for _ in range(count)]
        self._scheduler = Scheduler(self._lanes, self._batches, lambda: self._version)
        self._give_to_sampler()

    @property
    def version(self) -> int:
        """See `Sampler.version`."""
        return self._version

    @property
    def weights_hash(self) -> str:
        """Fingerprint of the untouched model."""
        return self._base

    @property
    def _adapter(self) -> Adapter:
        """Where one is trained."""
        assert isinstance(self._trained, LoraParameters)
        return self._trained.adapter

    @property
    def context(self) -> int:
        """Longest token stream the engine holds."""
        return self.weights.context

    def attach(self, episode_id: str) -> None:
        """See `Sampler.attach`."""
        self._scheduler.attach(episode_id)

    def detach(self, episode_id: str) -> None:
        """See `Sampler.detach`; any number of times, also for an episode that was never attached."""
        self._scheduler.detach(episode_id)

    async def sample(self, request: SampleRequest) -> SampleResult:
        """See `Sampler.sample`.

        Raises:
            EngineError: an empty prompt, no room in the context, ids outside the vocabulary, settings out of range.
        """
        self._check(request)
        return await self._scheduler.ask(request)

    def reset(self) -> None:
        """See `Sampler.reset`. Episodes being answered compute their keys again."""
        with self._scheduler.exclusive():
            for batch in self._batches:
                batch.forget()

    def close(self) -> None:
        """End all threads."""
        self._scheduler.close()
        self._lanes.close()
        self._training_lanes.close()

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """See `Trainer.update`. Samples that can have no gradient (advantages or weights all 0, and no KL in the loss that counts)
        are not computed: they count in the normaliser, `tokens` and `sequence_tokens`, not in ratio, entropy and KL.

        Raises:
            EngineError: malformed samples, no masked-in token, or a loss or gradient that is not finite.
        """
        started = time.perf_counter()
        check_samples(samples)
        if loss.kl_coefficient and any(sample.reference_logprobs is None for sample in samples):
            raise EngineError(
                "update", "reference_logprobs", "a KL in the loss needs those of every sample: fill them in."
            )
        tokens = sum(sum(sample.mask) for sample in samples)
        if not tokens:
            raise EngineError(
                "update", "samples", "no token is masked in, so there is nothing to learn: drop this update."
            )
        with self._training:
            totals = self._backward(samples, loss, tokens)
            norm = self._step(loss, totals)
        if self.weights.device.type == "cpu":
            give_back()
        metrics = {
            "loss": totals.loss,
            "grad_norm": norm,
            "tokens": float(tokens),
            "tokens_computed": float(totals.entries),
            "sequence_tokens": float(sum(len(sample.token_ids) for sample in samples)),
            "seconds": time.perf_counter() - started,
        }
        if self._trained.rank:
            metrics["adapter_norm"] = self._adapter.norm()
        return metrics | (totals.means(loss) if loss.kind != "sft" else {})

    def _backward(self, samples: Sequence[Sample], loss: LossSettings, tokens: int) -> Totals:
        """Fill the gradients of an update whose masked-in tokens are `tokens`."""
        live = [index for index, sample in enumerate(samples) if matters(sample, loss)]
        log_ratios: dict[str, float] = {}
        if loss.kind == "gspo":
            # A first pass: an episode's ratio is needed before any of its tokens has a gradient, and they may lie in different
            # samples, micro-batches and processes.
            episodes = {samples[index].episode_id for index in live}
            whole = [index for index, sample in enumerate(samples) if sample.episode_id in episodes]
            current = self._logprobs(self._trained.frozen(), samples, whole)
            log_ratios = episode_log_ratios(samples, {index: current[index] for index in whole})
        update = Update(samples, loss, tokens, log_ratios)

        def lane(gradients: torch.Tensor, make: MakeModel, parts: list[Pack]) -> Totals:
            gradients.zero_()
            totals = Totals()
            for part in parts:
                accumulate(self.weights, make, part, update, totals)
            return totals

        dealt = self._deal(samples, live)
        works = [partial(lane, *given) for given in zip(self._gradients, self._models, dealt, strict=True)]
        totals = Totals.of(self._training_lanes.run(works))
        for gradients in self._gradients[1:]:
            self._trained.gradients.add_(gradients)
        self.processes.add_up(self._trained.gradients)
        return Totals.of(self.processes.gather(totals))

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        """See `Trainer.logprobs`."""
        check_samples(samples)
        with self._training:
            return self._logprobs(self._trained.frozen(self._values(of)), samples, range(len(samples)))

    def remember(self, name: str, folder: Path | None = None) -> None:
        """See `Trainer.remember`. A copy takes as much memory as what is trained, in float32."""
        if name == BASE:
            raise EngineError("remember", name, "is the name of the untouched model: choose another.")
        with self._training:
            if folder is None:
                self._remembered[name] = self._trained.values.detach().clone()
            else:
                self._described(folder)
                self._remembered[name] = self._trained.read(folder)

    def restart(self) -> None:
        """See `Trainer.restart`. The optimizer forgets its moments; remembered copies stay."""
        with self._training, self._scheduler.between_answers():
            self._trained.values.detach().copy_(self._trained.initial())
            self._trained.stepped()
            self._stepper.clear()
            self._version += 1
            self._give_to_sampler()

    def _values(self, of: str | None) -> torch.Tensor | None:
        """Those remembered under a name; None: the current ones."""
        if of == BASE and of not in self._remembered:
            self._remembered[of] = self._trained.initial()  # kept: who asks once asks at every step
        if of is not None and of not in self._remembered:
            known = ", ".join([BASE, *sorted(self._remembered.keys() - {BASE})])
            raise EngineError("logprobs", of, f"nothing is remembered under that name; known: {known}.")
        return None if of is None else self._remembered[of]

    def _logprobs(self, model: TrainerModel, samples: Sequence[Sample], chosen: Sequence[int]) -> list[list[float]]:
        """As `logprobs`, under `model`; 0 in samples that are not chosen."""
        found = [[0.0] * len(sample.token_ids) for sample in samples]

        def lane(model: TrainerModel, parts: list[Pack]) -> list[tuple[int, int, float]]:
            entries: list[tuple[int, int, float]] = []
            for part in parts:
                values = entry_logprobs(self.weights, model, part, samples).tolist()
                entries += zip(part.members, part.places, values, strict=True)
            return entries

        dealt = self._deal(samples, chosen)
        for lanes in self.processes.gather(self._training_lanes.run([partial(lane, model, parts) for parts in dealt])):
            for member, place, value in chain.from_iterable(lanes):
                found[member][place] = value
        return found

    def reset_optimizer(self) -> None:
        """See `Trainer.reset_optimizer`."""
        with self._training:
            self._stepper.clear()

    def publish(self) -> int:
        """See `Trainer.publish`. Answers under way are sampled to their end with the old weights first."""
        with self._training, self._scheduler.between_answers():
            self._version += 1
            self._give_to_sampler()
        return self._version

    def save(self, folder: Path) -> None:
        """See `Trainer.save`: the adapter in PEFT's two files, or the whole model in Hugging Face's, `optimizer.safetensors` and
        `engine.json`."""
        from safetensors.torch import save_file

        self._trained.save(folder)
        save_file(self._stepper.state(), folder / _OPTIMIZER_FILE)
        described = _State(
            base=self._base,
            rank=self._trained.rank,
            scale=self._trained.scale,
            version=self._version,
            steps=self._stepper.steps,
            train=self.settings.train,
            optimizer=self._stepper.kind,
        )
        (folder / _STATE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(described)))

    def load(self, folder: Path) -> None:
        """See `Trainer.load`."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        described = self._described(folder)
        try:
            moments = load_file(folder / _OPTIMIZER_FILE)
        except (OSError, SafetensorError) as error:
            raise EngineError(
                str(folder), "", f"no engine state ({error}). Give a folder written by `save`."
            ) from error
        with self._training, self._scheduler.between_answers():
            values = self._trained.read(folder)
            self._choose_optimizer(described.optimizer)
            self._stepper.restore(described.steps, moments, str(folder / _OPTIMIZER_FILE))
            self._trained.values.detach().copy_(values)
            self._trained.stepped()
            # A number that other weights had already would name two.
            self._version = described.version if described.version >= self._version else self._version + 1
            self._give_to_sampler()

    def _described(self, folder: Path) -> _State:
        """What a checkpoint says of itself, if it is one of this model."""
        try:
            described = msgspec.json.decode((folder / _STATE_FILE).read_bytes(), type=_State)
        except (OSError, msgspec.MsgspecError) as error:
            raise EngineError(
                str(folder), "", f"no engine state ({error}). Give a folder written by `save`."
            ) from error
        ours = (self._base, self.settings.train, self._trained.rank, self._trained.scale)
        if (described.base, described.train, described.rank, described.scale) != ours:
            raise EngineError(
                str(folder), _STATE_FILE, "belongs to another model or LoRA setting. Use the recipe it came from."
            )
        return described

    def _deal(self, samples: Sequence[Sample], chosen: Sequence[int]) -> list[list[Pack]]:
        """The micro-batches of each lane of this process."""
        lanes = len(self._lanes)
        hands = self.processes.count * lanes
        dealt = deal(pack(samples, chosen, max(self.micro_tokens // lanes, 1), hands), hands)
        return dealt[self.processes.index * lanes :][:lanes]

    def _give_to_sampler(self) -> None:
        if self.processes.index:
            return
        for batch in self._batches:
            batch.model = None  # before the new one is made: both together would take twice the memory
        with torch.no_grad():
            model = self._trained.sampled()
        for batch in self._batches:
            batch.model = model
            batch.forget()

    def _step(self, loss: LossSettings, totals: Totals) -> float:
        """Clip and apply the gradients. Returns their norm before clipping."""
        norm = float(torch.linalg.vector_norm(self._trained.gradients))
        if not (abs(totals.loss) < float("inf") and norm < float("inf")):
            raise EngineError(
                "update",
                "loss",
                f"loss {totals.loss} or gradient norm {norm} is not finite; weights unchanged. Lower the learning rate.",
            )
        if norm > loss.max_grad_norm:
            self._trained.gradients.mul_(loss.max_grad_norm / norm)
        self._choose_optimizer(loss.optimizer)
        self._stepper.step(loss)
        self._trained.stepped()
        return norm

    def _choose_optimizer(self, kind: OptimizerKind) -> None:
        """Another kind begins without moments."""
        if self._stepper.kind != kind:
            self._stepper = Stepper(kind, self._trained)

    def _check(self, request: SampleRequest) -> None:
        size = len(request.prompt_ids)
        where = f"request of {request.episode_id}"
        if not size:
            raise EngineError(where, "prompt_ids", "is empty: give at least one token.")
        if size >= self.context:
            raise EngineError(where, "prompt_ids", f"{size} tokens leave no room in a context of {self.context}.")
        if not 0 <= min(request.prompt_ids) <= max(request.prompt_ids) < self.weights.vocabulary:
            raise EngineError(where, "prompt_ids", f"ids must lie in [0, {self.weights.vocabulary}).")
        if request.max_tokens < 1 or request.temperature <= 0 or not 0 < request.top_p <= 1:
            raise EngineError(where, "settings", "max_tokens and temperature must be above 0, top_p in (0, 1].")


def load_engine(model: recipe.Model, *, seed: int, threads: int = 0, processes: Processes | None = None) -> LocalEngine:
    """Load a model, with a fresh adapter where one is trained.

    Args:
        model: which model, dtype, device, LoRA rank and alpha, cache slots.
        seed: of the adapter's initial values.
        threads: of torch in this process; 0 leaves its default (one per core).
        processes: that train together; None: this one alone.

    Raises:
        EngineError: the model is missing, of an architecture not computed here, or the device is not usable.
    """
    if threads:
        torch.set_num_threads(threads)
    processes = processes or ALONE
    device = processes.place(choose_device(model.device))
    return LocalEngine(load_model(model, device, choose_dtype(model.dtype, device)), model, seed, processes)
