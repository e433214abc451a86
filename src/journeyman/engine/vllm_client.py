"""A vLLM server over HTTP: token ids in, token ids and log-probabilities out; adapters loaded and unloaded by name.

    client = VllmClient(settings, key, vocabulary=49_152)
    drawn = await client.complete("run-v000001-0a1b2c3d", request)
    scores = await client.score("run-v000001-0a1b2c3d", token_ids)

Requests are repeated where the fault may pass (time-outs, cut connections, 429, 5xx). What remains is one of three errors:
no usable answer (`ServerFailed`), an answer that contradicts itself (`WrongAnswer`), an adapter that is not there
(`AdapterMissing`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from journeyman.codec import seed_of
from journeyman.engine.base import SampleRequest
from journeyman.engine.pacing import Clock, MonotonicClock
from journeyman.engine.replies import BadReply, read_json
from journeyman.engine.vllm_answers import Asked, Drawn, read_drawn, read_scores, sampling_body, scoring_body
from journeyman.engine.wire import Fault, Wire, refused
from journeyman.errors import EndpointError
from journeyman.serving import Vllm

_MAX_BODY = 64 << 20
"""Bytes of an answer: 100,000 tokens with all that is told of each."""
_QUICK = 10.0
"""Seconds that a server which is up needs for health, version and the list of models."""
_BETWEEN_CHECKS = 1.0
"""Seconds between two checks of a server that is not well."""
_CONTROL = 16
"""Requests at once of those that sample nothing."""
_PREFIX_CACHING = re.compile(r'^vllm:cache_config_info\{[^}]*\benable_prefix_caching="(\w+)"', re.MULTILINE)


class ServerFailed(EndpointError):
    """The server gave no usable answer, retries included."""


class AdapterMissing(EndpointError):
    """The server has no model of the name that was asked for, as after a restart."""


class ServedModel(Struct, frozen=True):
    """One entry of the server's list. `parent`: the base model of an adapter; None for a base model."""

    name: str
    parent: str | None
    context: int | None


class VllmClient:
    """See the module. Use within one event loop; `close` it at the end.

    Args:
        key: sent with every request; "" sends none.
        vocabulary: number of ids of the model: what lies outside is no answer.
        clock, transport: for tests.
    """

    def __init__(
        self,
        settings: Vllm,
        key: str,
        vocabulary: int,
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.where = f"vLLM at {settings.url}"
        self.context: int | None = None
        self._vocabulary = vocabulary
        self._url = settings.url.rstrip("/")
        self._start_seconds = settings.start_seconds
        self._clock = clock or MonotonicClock()

        def wire(concurrency: int) -> Wire:
            return Wire(
                self.where,
                settings.url,
                key,
                settings.api_key_env,
                timeout=settings.timeout_seconds,
                retries=settings.retries,
                concurrency=concurrency,
                max_body=_MAX_BODY,
                clock=self._clock,
                transport=transport,
            )

        self._wire = wire(settings.max_concurrency)
        # What has to be done between two syncs must not queue behind the samples of the last one.
        self._control = wire(_CONTROL)

    async def complete(self, model: str, request: SampleRequest) -> Drawn:
        """Draw one continuation with the weights of `model`.

        The seed sent follows from the request's seed and its position in the stream: a repeated request draws the same.

        Raises:
            ServerFailed, WrongAnswer, AdapterMissing: see the module.
            KeyRefused: the server does not serve the key.
        """
        seed = seed_of(request.seed, len(request.prompt_ids))
        room = request.max_tokens
        if self.context is not None:
            room = min(room, self.context - len(request.prompt_ids))
        asked = Asked(model, request.prompt_ids, room, request.stop_ids, self._vocabulary)
        return read_drawn(await self._completions(self._wire, sampling_body(model, request, seed), seed), asked)

    async def score(self, model: str, token_ids: Sequence[int]) -> list[float]:
        """Log-probability of each id under `model` at temperature 1, given those before it (0 for the first).

        Raises:
            As `complete`.
        """
        asked = Asked(model, list(token_ids), 1, frozenset(), self._vocabulary)
        return read_scores(
            await self._completions(self._control, scoring_body(model, token_ids), seed_of(*token_ids)), asked
        )

    async def check_health(self) -> None:
        """Ask whether the engine lives, for `start_seconds` at most. Raises ServerFailed where it does not."""
        until = self._clock.now() + self._start_seconds
        while True:
            try:
                status, headers, data = await self._control.exchange("GET", f"{self._url}/health", seconds=_QUICK)
                if status == 200:
                    return
                last = refused(status, headers, data)
            except Fault as fault:
                last = fault
            if self._clock.now() >= until:
                break
            await self._clock.sleep(_BETWEEN_CHECKS)
        remedy = "Start the server, or look why it died, and resume the run."
        raise ServerFailed(self.where, "/health", f"{self._control.told(last)} {remedy}")

    async def version(self) -> str:
        """Of the server's software; "" where it does not say."""
        status, _, data = await self._ask(self._control, "GET", "/version")
        try:
            return str(read_json(data).get("version", "")) if status == 200 else ""
        except BadReply:
            return ""

    async def models(self) -> list[ServedModel]:
        """Base models and adapters that can be asked for. Raises ServerFailed where there is no list."""
        status, headers, data = await self._ask(self._control, "GET", "/v1/models")
        if status != 200:
            raise self._failed(refused(status, headers, data))
        try:
            listed = read_json(data).get("data")
        except BadReply as bad:
            raise ServerFailed(self.where, "/v1/models", f"{self._wire.clause(bad.reason)}.") from None
        cards = [card for card in listed if isinstance(card, Mapping)] if isinstance(listed, list) else []
        return [ServedModel(str(card.get("id")), _text(card.get("parent")), _size(card)) for card in cards]

    async def prefix_caching(self) -> bool | None:
        """Whether keys of common prefixes are kept; None where the server does not tell."""
        status, _, data = await self._ask(self._control, "GET", "/metrics")
        found = _PREFIX_CACHING.search(data.decode("utf-8", "replace")) if status == 200 else None
        return None if found is None else found[1].lower() == "true"

    async def load_adapter(self, name: str, path: str) -> Fault | None:
        """Have the server read an adapter. Returns what it says against it, None where it has it.

        Raises:
            ServerFailed: it said nothing.
        """
        fault = await self._change("/v1/load_lora_adapter", {"lora_name": name, "lora_path": path})
        # A request repeated after its answer was lost: the name stands for this content, so it is the same adapter.
        return None if fault is not None and "already been loaded" in fault.reason else fault

    async def unload_adapter(self, name: str) -> Fault | None:
        """Have the server forget an adapter, if it knows it. Requests under way keep it. Returns and raises as `load_adapter`."""
        fault = await self._change("/v1/unload_lora_adapter", {"lora_name": name})
        return None if fault is not None and fault.status == 404 else fault

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        await self._wire.close()
        await self._control.close()

    def told(self, fault: Fault) -> str:
        """What a fault says, as a sentence without the key."""
        return self._wire.told(fault)

    async def _completions(self, wire: Wire, fields: Mapping[str, Any], seed: int) -> bytes:
        status, headers, data = await self._ask(wire, "POST", "/v1/completions", fields, seed)
        if status == 200:
            return data
        fault = refused(status, headers, data)
        if status == 404:
            raise AdapterMissing(self.where, str(fields["model"]), self._wire.told(fault))
        raise self._failed(fault)

    async def _change(self, path: str, fields: Mapping[str, Any]) -> Fault | None:
        # With status 500 the server tells why it cannot use an adapter: it would say so again.
        answer = await self._ask(self._control, "POST", path, fields, answers=frozenset({500}))
        return None if answer[0] == 200 else refused(*answer)

    async def _ask(
        self,
        wire: Wire,
        method: str,
        path: str,
        fields: Mapping[str, Any] | None = None,
        seed: int = 0,
        answers: frozenset[int] = frozenset(),
    ) -> tuple[int, httpx.Headers, bytes]:
        """The answer, whatever its status, unless that may pass.

        Args:
            answers: statuses that are not waited for to pass.

        Raises:
            ServerFailed: there was none, retries included.
        """
        body = None if fields is None else msgspec.json.encode(fields)

        async def once() -> tuple[int, httpx.Headers, bytes]:
            answer = await wire.exchange(method, self._url + path, body, None if body else _QUICK)
            if answer[0] == 200 or answer[0] in answers:
                return answer
            fault = refused(*answer)
            if fault.passing or fault.key_refused:
                raise fault
            return answer

        try:
            return await wire.repeat(once, seed)
        except Fault as fault:
            last = fault
        # Outside of the handler: the causes hold requests, and those hold the key.
        raise self._failed(last)

    def _failed(self, fault: Fault) -> ServerFailed:
        return ServerFailed(self.where, "", self._wire.told(fault))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _size(card: Mapping[str, Any]) -> int | None:
    size = card.get("max_model_len")
    return size if type(size) is int and size > 0 else None
