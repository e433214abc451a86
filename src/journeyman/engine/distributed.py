"""Several processes train one model: process 0 leads, runs the whole program and samples; the others follow its commands.

    accelerate launch -m journeyman train RECIPE                     # GPUs of one node
    torchrun --nproc-per-node 2 -m journeyman train RECIPE           # processes on CPUs

Each process holds the whole model and optimizer. Of an update each computes its share of the micro-batches; the gradients are
summed, divided by the normaliser of the whole update, and all take the same step, so that nothing else need ever be exchanged.
The rest of the program knows of one engine.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman import recipe
from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.local import LocalEngine, load_engine
from journeyman.engine.processes import Processes, launched
from journeyman.engine.weights import Weights, choose_device
from journeyman.episode import Sample
from journeyman.errors import EngineError

_CLOSE = "close"


class LeadingEngine:
    """`Sampler` and `Trainer` of process 0. What changes weights or takes long is done by all processes together."""

    def __init__(self, local: LocalEngine) -> None:
        self.local = local
        self._one_at_a_time = threading.Lock()

    @property
    def version(self) -> int:
        """See `Sampler.version`."""
        return self.local.version

    @property
    def weights(self) -> Weights:
        """See `LocalEngine`."""
        return self.local.weights

    @property
    def peft_model(self) -> Any:
        """See `LocalEngine`."""
        return self.local.peft_model

    @property
    def weights_hash(self) -> str:
        """See `LocalEngine.weights_hash`."""
        return self.local.weights_hash

    @property
    def context(self) -> int:
        """See `LocalEngine.context`."""
        return self.local.context

    def attach(self, episode_id: str) -> None:
        """See `Sampler.attach`."""
        self.local.attach(episode_id)

    def detach(self, episode_id: str) -> None:
        """See `Sampler.detach`."""
        self.local.detach(episode_id)

    async def sample(self, request: SampleRequest) -> SampleResult:
        """See `Sampler.sample`."""
        return await self.local.sample(request)

    def reset(self) -> None:
        """See `Sampler.reset`."""
        self.local.reset()

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """See `Trainer.update`."""
        found: dict[str, float] = self._together("update", list(samples), loss)
        return found

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        """See `Trainer.logprobs`."""
        found: list[list[float]] = self._together("logprobs", list(samples), of)
        return found

    def remember(self, name: str, folder: Path | None = None) -> None:
        """See `Trainer.remember`."""
        self._together("remember", name, folder)

    def restart(self) -> None:
        """See `Trainer.restart`."""
        self._together("restart")

    def reset_optimizer(self) -> None:
        """See `Trainer.reset_optimizer`."""
        self._together("reset_optimizer")

    def publish(self) -> int:
        """See `Trainer.publish`."""
        version: int = self._together("publish")
        return version

    def save(self, folder: Path) -> None:
        """See `Trainer.save`. All processes hold the same: this one writes."""
        self.local.save(folder)

    def load(self, folder: Path) -> None:
        """See `Trainer.load`. Every process reads the folder."""
        self._together("load", folder)

    def close(self) -> None:
        """End the other processes' work and all threads."""
        with self._one_at_a_time:
            self.local.processes.tell((_CLOSE, ()))
            self.local.close()
            self.local.processes.leave()

    def _together(self, name: str, *arguments: Any) -> Any:
        # Training may run beside sampling, in a thread of its own: commands must not cross.
        with self._one_at_a_time:
            self.local.processes.tell((name, arguments))
            return _obey(self.local, name, arguments)


def open_engine(model: recipe.Model, *, seed: int, threads: int = 0) -> LocalEngine | LeadingEngine:
    """The engine of this process, which may be the first of several that were launched together.

    Args:
        model, seed, threads: see `load_engine`.

    Raises:
        EngineError: as `load_engine`; or the processes hold different models.
    """
    if launched()[1] == 1:
        return load_engine(model, seed=seed, threads=threads)
    return LeadingEngine(_join(model, seed, threads))


def follow(model: recipe.Model, *, seed: int, threads: int = 0) -> None:
    """What all processes but the first do: as they are told, until the first closes its engine.

    Raises:
        EngineError: as `open_engine`.
    """
    # An interrupt reaches every process of the group; only the first knows what must be finished before it may end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    local = _join(model, seed, threads)
    while True:
        name, arguments = local.processes.tell()
        if name == _CLOSE:
            break
        try:
            _obey(local, name, arguments)
        except EngineError:
            continue  # the first process raises it as well, and decides
    local.close()
    local.processes.leave()


def _join(model: recipe.Model, seed: int, threads: int) -> LocalEngine:
    processes = Processes.join(choose_device(model.device))
    local = load_engine(model, seed=seed, threads=threads, processes=processes)
    if len(set(processes.gather((local.weights_hash, str(local.weights.dtype), local.settings.lanes)))) > 1:
        raise EngineError(
            "processes",
            "model",
            "they hold different models, dtypes or lanes: give all of them the same recipe and files.",
        )
    return local


def _obey(local: LocalEngine, name: str, arguments: Sequence[Any]) -> Any:
    """Do a command in this process, and raise where it failed in any."""
    failure: EngineError | None = None
    result = None
    try:
        result = getattr(local, name)(*arguments)
    except EngineError as error:
        failure = error
    failures = local.processes.gather(str(failure) if failure is not None else None)
    if failure is not None:
        raise failure
    for index, other in enumerate(failures):
        if other is not None:
            raise EngineError(f"process {index}", name, other)
    return result
