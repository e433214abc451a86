"""The local engine: one model in this process that samples and is trained, with torch and a LoRA adapter.

engine = load_engine(recipe.Model(), seed=0)
engine.attach("sft/0/0/0")
result = await engine.sample(SampleRequest("sft/0/0/0", prompt_ids, 64, 1.0, 1.0, seed, frozenset({2})))
engine.update(samples, LossSettings("ppo_clip"))
engine.publish()
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct

from journeyman import recipe
from journeyman.engine.adapter import Adapter, Sites, cast, load_peft, save_peft, wrap_with_peft
from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.fused import fuse
from journeyman.engine.lanes import Lanes
from journeyman.engine.memory import give_back
from journeyman.engine.packing import Pack, check_samples, deal, pack
from journeyman.engine.sampling import Batch
from journeyman.engine.scheduler import Scheduler
from journeyman.engine.training import Totals, accumulate, entry_logprobs
from journeyman.engine.weights import Weights, choose_device, choose_dtype, extract, fingerprint, load_model
from journeyman.episode import Sample
from journeyman.errors import EngineError

_STATE_FILE = "engine.json"
_OPTIMIZER_FILE = "optimizer.safetensors"


class _State(Struct, frozen=True):
    """What a checkpoint says of itself."""

    base: str
    rank: int
    scale: float
    version: int
    steps: int


class LocalEngine:
    """`Sampler` and `Trainer` over the same frozen weights; each side has its own copy of the adapter.

    Attributes:
        weights: the frozen weights.
        peft_model: the Hugging Face model wrapped by PEFT; it shares all storage with the trainer's side.
        micro_tokens: rows computed at once in training, by all lanes together; bounds memory, never changes gradients
            beyond rounding.
    """

    def __init__(self, model: torch.nn.Module, settings: recipe.Model, seed: int) -> None:
        self.settings = settings
        self.weights: Weights = extract(model, settings.name)
        self.micro_tokens = 8192 // self.weights.dtype.itemsize
        self._adapter = Adapter(self.weights, settings, seed)
        self.peft_model: Any = wrap_with_peft(model, self._adapter, settings)
        count = settings.lanes if self.weights.device.type == "cpu" else 1
        self._lanes = Lanes(count, torch.get_num_threads())
        spare = [torch.zeros_like(self._adapter.gradients) for _ in range(count - 1)]
        self._gradients = [self._adapter.gradients, *spare]
        self._leaves = [self._adapter.trainable(gradients) for gradients in self._gradients]
        self._parameters = torch.nn.Parameter(self._adapter.values)
        self._parameters.grad = self._adapter.gradients
        self._optimizer = torch.optim.AdamW([self._parameters])
        self._base = fingerprint(self.weights)
        self._version = 0
        self._batches = [Batch(self.weights, -(-settings.slots // count)) for _ in range(count)]
        self._scheduler = Scheduler(self._lanes, self._batches, lambda: self._version)
        self._give_to_sampler()

    @property
    def version(self) -> int:
        """See `Sampler.version`."""
        return self._version

    @property
    def weights_hash(self) -> str:
        """Fingerprint of the frozen weights."""
        return self._base

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

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """See `Trainer.update`. In `ppo_clip` samples whose advantages are all 0 are not computed (their gradient is 0):
        they count in the normaliser, `tokens` and `sequence_tokens`, not in ratio, entropy and KL.

        Raises:
            EngineError: malformed samples, no masked-in token, or a loss or gradient that is not finite.
        """
        started = time.perf_counter()
        check_samples(samples)
        tokens = sum(sum(sample.mask) for sample in samples)
        if not tokens:
            raise EngineError(
                "update", "samples", "no token is masked in, so there is nothing to learn: drop this update."
            )
        chosen = range(len(samples))
        live = [i for i in chosen if loss.kind == "sft" or any(samples[i].advantages)]

        def lane(gradients: torch.Tensor, leaves: Sites, parts: list[Pack]) -> Totals:
            gradients.zero_()
            totals = Totals()
            for part in parts:
                accumulate(self.weights, leaves, part, samples, loss, tokens, totals)
            return totals

        with self._scheduler.exclusive():
            dealt = self._deal(samples, live)
            works = [partial(lane, *given) for given in zip(self._gradients, self._leaves, dealt, strict=True)]
            totals = Totals.of(self._lanes.run(works))
            for gradients in self._gradients[1:]:
                self._adapter.gradients.add_(gradients)
            norm = self._step(loss, totals)
        if self.weights.device.type == "cpu":
            give_back()
        metrics = {
            "loss": totals.loss,
            "grad_norm": norm,
            "tokens": float(tokens),
            "sequence_tokens": float(sum(len(sample.token_ids) for sample in samples)),
            "seconds": time.perf_counter() - started,
        }
        if loss.kind == "ppo_clip":
            count = max(totals.entries, 1)
            metrics |= {
                "ratio_mean": totals.ratio / count if totals.entries else 1.0,
                "ratio_max": totals.ratio_max if totals.entries else 1.0,
                "clipped_share": totals.clipped / count,
                "entropy": totals.entropy / count,
                "kl_k3": totals.kl / count,
            }
        return metrics

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """See `Trainer.logprobs`."""
        check_samples(samples)
        found = [[0.0] * len(sample.token_ids) for sample in samples]

        def lane(sites: Sites, parts: list[Pack]) -> None:
            for part in parts:
                values = entry_logprobs(self.weights, sites, part, samples).tolist()
                for member, place, value in zip(part.members, part.places, values, strict=True):
                    found[member][place] = value

        with self._scheduler.exclusive():
            sites = cast(self._leaves[0], self.weights.dtype)
            dealt = self._deal(samples, range(len(samples)))
            self._lanes.run([partial(lane, sites, parts) for parts in dealt])
        return found

    def reset_optimizer(self) -> None:
        """See `Trainer.reset_optimizer`."""
        with self._scheduler.exclusive():
            self._optimizer.state.clear()

    def publish(self) -> int:
        """See `Trainer.publish`."""
        with self._scheduler.exclusive():
            self._version += 1
            self._give_to_sampler()
        return self._version

    def save(self, folder: Path) -> None:
        """See `Trainer.save`: the adapter in PEFT's two files, `optimizer.safetensors` and `engine.json`."""
        from safetensors.torch import save_file

        save_peft(self.peft_model, folder)
        state = self._optimizer.state.get(self._parameters, {})
        moments = {name: state[name].cpu() for name in ("exp_avg", "exp_avg_sq") if name in state}
        save_file(moments, folder / _OPTIMIZER_FILE)
        described = _State(
            base=self._base,
            rank=self._adapter.rank,
            scale=self._adapter.scale,
            version=self._version,
            steps=int(state["step"]) if state else 0,
        )
        (folder / _STATE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(described)))

    def load(self, folder: Path) -> None:
        """See `Trainer.load`."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            described = msgspec.json.decode((folder / _STATE_FILE).read_bytes(), type=_State)
            moments = load_file(folder / _OPTIMIZER_FILE)
        except (OSError, msgspec.MsgspecError, SafetensorError) as error:
            raise EngineError(
                str(folder), "", f"no engine state ({error}). Give a folder written by `save`."
            ) from error
        ours = (self._base, self._adapter.rank, self._adapter.scale)
        if (described.base, described.rank, described.scale) != ours:
            raise EngineError(
                str(folder), _STATE_FILE, "belongs to another model or LoRA setting. Use the recipe it came from."
            )
        with self._scheduler.exclusive():
            load_peft(self.peft_model, folder)
            self._optimizer.state.clear()
            if moments:
                self._optimizer.state[self._parameters] = {
                    "step": torch.tensor(float(described.steps)),
                    **{name: tensor.to(self.weights.device) for name, tensor in moments.items()},
                }
            self._version = described.version
            self._give_to_sampler()

    def _deal(self, samples: Sequence[Sample], chosen: Sequence[int]) -> list[list[Pack]]:
        """The micro-batches of each lane."""
        count = len(self._lanes)
        return deal(pack(samples, chosen, max(self.micro_tokens // count, 1), count), count)

    def _give_to_sampler(self) -> None:
        for batch in self._batches:
            batch.layers = []  # before the new ones are made: both together would take twice the memory
        sites = None if self._adapter.is_zero() else self._adapter.views(self._adapter.values.detach())
        layers = fuse(self.weights, sites)
        for batch in self._batches:
            batch.layers = layers
            batch.forget()

    def _step(self, loss: LossSettings, totals: Totals) -> float:
        """Clip and apply the gradients. Returns their norm before clipping."""
        norm = float(torch.linalg.vector_norm(self._adapter.gradients))
        if not (abs(totals.loss) < float("inf") and norm < float("inf")):
            raise EngineError(
                "update",
                "loss",
                f"loss {totals.loss} or gradient norm {norm} is not finite; weights unchanged. Lower the learning rate.",
            )
        if norm > loss.max_grad_norm:
            self._adapter.gradients.mul_(loss.max_grad_norm / norm)
        group = self._optimizer.param_groups[0]
        group["lr"], group["betas"], group["weight_decay"] = loss.learning_rate, loss.betas, loss.weight_decay
        self._optimizer.step()
        return norm

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


def load_engine(model: recipe.Model, *, seed: int, threads: int = 0) -> LocalEngine:
    """Load a model with a fresh adapter.

    Args:
        model: which model, dtype, device, LoRA rank and alpha, cache slots.
        seed: of the adapter's initial values.
        threads: of torch in this process; 0 leaves its default (one per core).

    Raises:
        EngineError: the model is missing, of an architecture not computed here, or the device is not usable.
    """
    if threads:
        torch.set_num_threads(threads)
    device = choose_device(model.device)
    return LocalEngine(load_model(model, device, choose_dtype(model.dtype, device)), model, seed)
