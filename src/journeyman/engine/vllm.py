"""The vLLM engine: a server samples, a trainer in this process learns, and every update is pushed as a LoRA adapter.

    engine = VllmEngine(recipe.vllm, recipe.name, load_engine(recipe.model, seed=0), context=1_024)
    result = await engine.sample(request)     # with the adapter of the newest version
    engine.update(samples, loss)
    engine.publish()                          # written, loaded, and proven by canaries; else DeliveryFailed

Compared with the local engine: the same request draws the same tokens only as far as the server's arithmetic repeats,
which depends on what it batches together, so a replayed step need not repeat to the bit; `attach` and `detach` mean
nothing, since the server batches as it likes; with top_p below 1 log-probabilities are those behind top-p.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import httpx

from journeyman.engine.background import Background
from journeyman.engine.base import LossSettings, SampleRequest, SampleResult, Trainer
from journeyman.engine.pacing import Clock
from journeyman.engine.vllm_answers import Drawn
from journeyman.engine.vllm_client import AdapterMissing, VllmClient
from journeyman.engine.vllm_delivery import (
    DRAWN_PROMPT,
    DRAWN_TOKENS,
    SERVER_COMMAND,
    TEMPERATURE,
    Agreement,
    DeliveryFailed,
    Proof,
    Scores,
    agreement,
    as_sample,
    fixed_canaries,
    judge,
    judge_tempered,
    trained_canaries,
)
from journeyman.episode import Sample
from journeyman.errors import EngineError
from journeyman.serving import Vllm

KEPT = 2
"""Versions that stay on the server: the newest, and the one that answers which are under way may still use."""


class AdapterTrainer(Trainer, Protocol):
    """A trainer of a LoRA adapter: `LocalEngine`, or the one that leads several processes."""

    @property
    def weights(self) -> Any:
        """The frozen weights; `vocabulary` counts their ids."""
        ...

    @property
    def peft_model(self) -> Any:
        """The model that PEFT wraps, with the trainer's adapter in it."""
        ...

    def close(self) -> None:
        """End its threads."""
        ...


class VllmEngine:
    """`Sampler` and `Trainer`. On creation the server is checked and given the trainer's adapter.

    Args:
        run: name of the run: adapters are named after it, so no other run of that name may use the server.
        trainer: holds the weights; closed with this engine.
        context: tokens that a stream may need.
        key: for the server; "" sends none.
        clock, transport: for tests.

    Raises:
        EngineError: the server lacks what is needed, or does not serve the trainer's weights (DeliveryFailed).
        ServerFailed: it does not answer.
        KeyRefused: it does not serve the key.
    """

    def __init__(
        self,
        settings: Vllm,
        run: str,
        trainer: AdapterTrainer,
        *,
        context: int,
        key: str = "",
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.trainer = trainer
        self.vocabulary: int = trainer.weights.vocabulary
        self.delivery: Agreement | None = None
        self._run = run
        self._folder = Path(settings.adapter_folder)
        self._client = VllmClient(settings, key, self.vocabulary, clock, transport)
        self._background = Background("journeyman-vllm")
        self._fixed = fixed_canaries(settings.canaries, settings.canary_tokens, self.vocabulary)
        self._before: tuple[list[list[int]], Scores] | None = None
        self._proofs: dict[str, Proof] = {}
        self._serving = ("", 0)
        self._restoring = asyncio.Lock()
        self._broken: DeliveryFailed | None = None
        try:
            self.server_version, self._base, self.context = self._background.run(self._examine(context))
            self._client.context = self.context
            self._deliver()
        except BaseException:
            self.close()
            raise

    @property
    def version(self) -> int:
        """See `Sampler.version`."""
        return self._serving[1]

    @property
    def adapter(self) -> str:
        """Name of the adapter that samples now."""
        return self._serving[0]

    def attach(self, episode_id: str) -> None:
        """The server admits requests as they come: nobody is waited for."""

    def detach(self, episode_id: str) -> None:
        """See `attach`."""

    async def sample(self, request: SampleRequest) -> SampleResult:
        """See `Sampler.sample`. The answer carries the version whose adapter the request named, whatever is pushed meanwhile.

        Raises:
            EngineError: an empty prompt, no room in the context, ids outside the vocabulary, settings out of range;
                DeliveryFailed where the server lost the weights and cannot be given them again.
            ServerFailed, WrongAnswer: no answer that could be used, retries included.
            KeyRefused: the server does not serve the key.
        """
        self._check(request)
        began = time.perf_counter()
        drawn, version = await self._background.wait(self._drawn(request))
        return SampleResult(drawn.token_ids, drawn.logprobs, version, drawn.finish, time.perf_counter() - began)

    def reset(self) -> None:
        """A new batch begins: see that the server is well, so that a run does not go on without one.

        Keys that the server caches stay. They belong to an adapter's name, and a name to one version's weights: none can
        meet keys of other weights.

        Raises:
            ServerFailed: it is not.
            DeliveryFailed: it was found without the weights during the last batch.
        """
        self._check_sound()
        self._background.run(self._client.check_health())

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        """See `Trainer.update`."""
        self._check_sound()
        if self._before is None:
            # Scored under the weights that are served now, to be told apart from the next ones.
            more = trained_canaries(samples, self.settings.canaries, self.settings.canary_tokens)
            canaries = [*self._fixed, *more]
            self._before = (canaries, self._trainers(canaries))
        return self.trainer.update(samples, loss)

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        """See `Trainer.logprobs`: the trainer's, not the server's."""
        return self.trainer.logprobs(samples, of)

    def remember(self, name: str, folder: Path | None = None) -> None:
        """See `Trainer.remember`."""
        self.trainer.remember(name, folder)

    def reset_optimizer(self) -> None:
        """See `Trainer.reset_optimizer`."""
        self.trainer.reset_optimizer()

    def restart(self) -> None:
        """See `Trainer.restart`. Raises as `publish`."""
        self.trainer.restart()
        self._before = None
        self._deliver()

    def publish(self) -> int:
        """See `Trainer.publish`: the adapter is on the server, and canaries have shown that it is what samples.

        Raises:
            DeliveryFailed: it is not.
            ServerFailed: the server does not answer.
        """
        self._check_sound()
        version = self.trainer.publish()
        self._deliver()
        return version

    def save(self, folder: Path) -> None:
        """See `Trainer.save`."""
        self.trainer.save(folder)

    def load(self, folder: Path) -> None:
        """See `Trainer.load`. Raises also as `publish`."""
        self.trainer.load(folder)
        self._before = None
        self._deliver()

    def close(self) -> None:
        """Hang up, and close the trainer. Adapters stay on the server."""
        self._background.run(self._client.close())
        self._background.close()
        self.trainer.close()

    async def _examine(self, context: int) -> tuple[str, str, int]:
        """What serves: its version, the name of its base model, and the tokens of its context."""
        client, settings = self._client, self.settings
        await client.check_health()
        bases = [model for model in await client.models() if model.parent is None]
        chosen = [model for model in bases if settings.model in (None, model.name)]
        if len(chosen) != 1:
            known = ", ".join(model.name for model in bases) or "none"
            raise EngineError(client.where, "vllm.model", f"must name one of the server's base models: {known}.")
        room = chosen[0].context
        if room is None or room < context:
            raise EngineError(
                client.where,
                "max_model_len",
                f"is {room}, but episodes may need {context} tokens: start the server with --max-model-len {context}, or "
                "lower sampling.*.context_limit.",
            )
        if await client.prefix_caching() is False:
            raise EngineError(
                client.where,
                "enable_prefix_caching",
                "is off, so every turn would compute its whole conversation again: start the server with --enable-prefix-caching.",
            )
        return await client.version(), chosen[0].name, room

    def _deliver(self) -> None:
        """Push the trainer's published weights and prove that they serve."""
        version = self.trainer.version
        name = self._written(version)
        proof = self._proof()
        try:
            self._background.run(self._push(name, proof))
            self._check_tempered(name)
        except DeliveryFailed as failure:
            self._broken = failure
            raise
        self._proofs = {**{kept: self._proofs[kept] for kept in list(self._proofs)[1 - KEPT :]}, name: proof}
        self._serving, self._before = (name, version), None
        self._background.run(self._clear())

    def _proof(self) -> Proof:
        """The canaries with all that is known of them before the push."""
        if self._before is not None:
            canaries, old = self._before
            try:
                served = self._background.run(self._servers(self.adapter, canaries))
                return Proof(canaries, self._trainers(canaries), old, served)
            except AdapterMissing:
                pass  # the server was started anew: what was there before is gone
        # Nothing is known of the weights before these: they are told from those of the untouched model.
        canaries = self._fixed
        served = self._background.run(self._servers(self._base, canaries))
        return Proof(canaries, self._trainers(canaries), self._trainers(canaries, "base"), served)

    def _written(self, version: int) -> str:
        """Write the adapter under a name of its own; the name. Equal weights have equal names."""
        aside = self._folder / f".aside-{self._run}"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            aside.mkdir(parents=True)
            self._export(aside)
            hasher = hashlib.sha256()
            for path in sorted(aside.iterdir()):
                hasher.update(path.name.encode() + b"\0" + path.read_bytes())
            name = f"{self._run}-v{version:06d}-{hasher.hexdigest()[:8]}"
            if (self._folder / name).is_dir():
                shutil.rmtree(aside)
            else:
                os.rename(aside, self._folder / name)
        except OSError as error:
            raise EngineError(
                str(self._folder), "vllm.adapter_folder", f"cannot be written ({error}): name another folder."
            ) from error
        return name

    def _export(self, folder: Path) -> None:
        from journeyman.engine.adapter import save_peft

        save_peft(self.trainer.peft_model, folder)

    async def _push(self, name: str, proof: Proof) -> None:
        """Load an adapter, and prove it.

        Raises:
            DeliveryFailed: it is not served as it is.
        """
        where = self._client.where
        seen = str(Path(self.settings.server_folder or self._folder.resolve()) / name)
        if name not in {model.name for model in await self._client.models()}:
            fault = await self._client.load_adapter(name, seen)
            if fault is not None:
                told = self._client.told(fault)
                raise DeliveryFailed(
                    where, name, f"the adapter at {seen} was not loaded: {told} Start the server as: {SERVER_COMMAND}"
                )
            if name not in {model.name for model in await self._client.models()}:
                raise DeliveryFailed(
                    where, name, "the server took the adapter but does not list it: restart the server."
                )
        try:
            self.delivery = found = agreement(await self._servers(name, proof.canaries), proof)
        except AdapterMissing as missing:
            raise DeliveryFailed(
                where, name, f"the server lists the adapter but does not serve it: {missing.remedy}"
            ) from None
        judge(found, self.settings, where, name)

    def _check_tempered(self, name: str) -> None:
        """Whether the log-probabilities of drawn tokens are those of the distribution they were drawn from."""
        requests = [
            SampleRequest("canary", ids[:DRAWN_PROMPT], DRAWN_TOKENS, TEMPERATURE, 1.0, index, frozenset())
            for index, ids in enumerate(self._fixed)
        ]

        async def draw() -> list[tuple[list[int], list[float]]]:
            answers = await asyncio.gather(*(self._client.complete(name, request) for request in requests))
            return [(answer.token_ids, answer.logprobs) for answer in answers]

        drawn = self._background.run(draw())
        streams = [[*request.prompt_ids, *ids] for request, (ids, _) in zip(requests, drawn, strict=True)]

        def scored(temperature: float) -> list[float]:
            rows = self.trainer.logprobs([as_sample(stream, DRAWN_PROMPT, temperature) for stream in streams])
            return [value for row in rows for value in row[DRAWN_PROMPT:]]

        told = [value for _, logprobs in drawn for value in logprobs]
        judge_tempered(told, scored(TEMPERATURE), scored(1.0), self.settings, self._client.where)

    async def _drawn(self, request: SampleRequest) -> tuple[Drawn, int]:
        """A continuation, and the version of the weights that drew it."""
        name, version = self._serving
        try:
            return await self._client.complete(name, request), version
        except AdapterMissing:
            if name == self.adapter:
                await self._restore(name)
        # Either it is back, or it was replaced while the request waited for another try.
        name, version = self._serving
        return await self._client.complete(name, request), version

    async def _restore(self, name: str) -> None:
        """Give a server that forgot an adapter, as one does that was started anew, the adapter again.

        Raises:
            DeliveryFailed: it does not take it, or does not serve it. Then the run ends with its next batch.
        """
        async with self._restoring:
            self._check_sound()
            try:
                await self._push(name, self._proofs[name])
            except DeliveryFailed as failure:
                self._broken = failure
                raise

    async def _clear(self) -> None:
        """Take all but the last adapters of this run off the server and the disk, those of earlier sittings included."""
        pattern = re.compile(rf"{re.escape(self._run)}-v\d{{6,}}-[0-9a-f]{{8}}\Z")
        for model in await self._client.models():
            if pattern.match(model.name) and model.name not in self._proofs:
                await self._client.unload_adapter(model.name)
        for path in self._folder.iterdir():
            if pattern.match(path.name) and path.name not in self._proofs:
                shutil.rmtree(path, ignore_errors=True)

    def _trainers(self, canaries: Sequence[Sequence[int]], of: str | None = None) -> Scores:
        return self.trainer.logprobs([as_sample(ids) for ids in canaries], of)

    async def _servers(self, name: str, canaries: Sequence[Sequence[int]]) -> Scores:
        return list(await asyncio.gather(*(self._client.score(name, ids) for ids in canaries)))

    def _check_sound(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _check(self, request: SampleRequest) -> None:
        """Raises EngineError where the request cannot be answered, by whatever server."""
        self._check_sound()
        size, where = len(request.prompt_ids), f"request of {request.episode_id}"
        if not size:
            raise EngineError(where, "prompt_ids", "is empty: give at least one token.")
        if size >= self.context:
            raise EngineError(where, "prompt_ids", f"{size} tokens leave no room in a context of {self.context}.")
        if not 0 <= min(request.prompt_ids) <= max(request.prompt_ids) < self.vocabulary:
            raise EngineError(where, "prompt_ids", f"ids must lie in [0, {self.vocabulary}).")
        if request.max_tokens < 1 or request.temperature <= 0 or not 0 < request.top_p <= 1:
            raise EngineError(where, "settings", "max_tokens and temperature must be above 0, top_p in (0, 1].")
