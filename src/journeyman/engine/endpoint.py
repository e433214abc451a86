"""One remote chat model over HTTP: the OpenAI chat-completions API, whatever the server makes of it.

    client = open_endpoint("NAME", endpoint, os.environ)
    completion = await client.complete({"messages": [...], "max_tokens": 64}, spent, seed=7)

A request is repeated with growing, jittered delays where the fault may pass; requests are paced and bounded in number,
time and size. The key stands in the header of a request and nowhere else: what comes back is cleaned of it. An endpoint
that refuses the key is asked nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import msgspec
from msgspec import Struct

from journeyman.engine.chat import ChatReply, EndpointFailed
from journeyman.engine.pacing import Clock, MonotonicClock
from journeyman.engine.replies import BadReply, Completion, estimate_tokens, read_completion
from journeyman.engine.wire import Fault, Wire, read_key, refused, unusable
from journeyman.episode import Usage
from journeyman.remote import Endpoint


class Spent(Struct):
    """What one role has used at an endpoint so far; requests count from the moment they are sent."""

    input: int = 0
    output: int = 0
    requests: int = 0
    estimated: int = 0

    def usage(self) -> Usage:
        """As a record."""
        return Usage(self.input, self.output, self.requests, self.estimated)


class ContextExceeded(EndpointFailed):
    """The conversation is longer than the model's context."""


def open_endpoint(
    name: str,
    endpoint: Endpoint,
    environment: Mapping[str, str],
    clock: Clock | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> EndpointClient:
    """The client of an endpoint, with its key from the environment. Nothing is sent yet.

    Raises:
        RecipeError: the variable is not set, or holds what no header can carry.
    """
    key = read_key(endpoint.api_key_env, f"endpoints.{name}.api_key_env", environment)
    return EndpointClient(name, endpoint, key, clock or MonotonicClock(), transport)


class EndpointClient:
    """A `ChatClient`. Use within one event loop; `close` it at the end."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        key: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self._url = endpoint.url.rstrip("/") + "/chat/completions"
        self._wire = Wire(
            f"endpoint {name}",
            endpoint.url,
            key,
            endpoint.api_key_env,
            timeout=endpoint.timeout_seconds,
            retries=endpoint.retries,
            concurrency=endpoint.max_concurrency,
            per_minute=endpoint.requests_per_minute,
            headers=endpoint.headers,
            clock=clock,
            transport=transport,
        )

    async def chat(
        self, messages: list[dict[str, Any]], *, max_tokens: int, temperature: float, seed: int
    ) -> ChatReply:
        """See `ChatClient`."""
        spent = Spent()
        request = {"messages": messages, "max_tokens": max_tokens, "temperature": temperature}
        completion = await self.complete(request, spent, seed=seed)
        return ChatReply(completion.text, spent.input, spent.output, spent.requests, spent.estimated)

    async def complete(self, request: Mapping[str, Any], spent: Spent, *, seed: int) -> Completion:
        """One answer of the model.

        Args:
            request: `messages`, `max_tokens`, `temperature` and what else the API knows. `model` is added here.
            spent: tokens and requests are added to it, those in vain included, even where this is cancelled.
            seed: sent along (31 bits of it), and source of the jitter.

        Raises:
            ContextExceeded: the server says that the conversation is too long.
            EndpointFailed: no usable answer, retries included.
            KeyRefused: the server does not serve this key, or did not before; then it is not asked again.
        """
        body = self._body(request, seed)
        estimate = estimate_tokens(body.decode())
        try:
            return await self._wire.repeat(lambda: self._try(body, estimate, spent), seed)
        except Fault as fault:
            last = fault
        kind = ContextExceeded if last.too_long else EndpointFailed
        # Outside of the handler: the causes hold requests, and those hold the key.
        raise kind(self._wire.where, "", self._wire.told(last), spent.usage())

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        await self._wire.close()

    def redact(self, text: str) -> str:
        """The text without the key, whether it stands there plainly, in other case or as JSON may write it."""
        return self._wire.redact(text)

    def _body(self, request: Mapping[str, Any], seed: int) -> bytes:
        fields = {"model": self.endpoint.model, **request, "seed": seed & 0x7FFFFFFF, "stream": False}
        fields[self.endpoint.max_tokens_key] = fields.pop("max_tokens")
        for name in self.endpoint.omit:
            fields.pop(name, None)
        return msgspec.json.encode(fields)

    async def _try(self, body: bytes, estimate: int, spent: Spent) -> Completion:
        """One request, its redirects within the host included.

        Raises:
            Fault: it brought no answer.
        """
        # Counted before it is sent: what breaks after that has been paid for.
        spent.requests += 1
        spent.estimated += 1
        spent.input += estimate
        status, headers, data = await self._wire.exchange("POST", self._url, body)
        if status != 200:
            # A refusal costs nothing.
            spent.input -= estimate
            spent.estimated -= 1
            raise refused(status, headers, data)
        try:
            completion = read_completion(data)
        except BadReply as bad:
            raise unusable(bad) from None
        return self._settled(completion, estimate, spent)

    def _settled(self, completion: Completion, estimate: int, spent: Spent) -> Completion:
        """The answer without the key; its tokens counted."""
        told = completion.prompt_tokens is not None and completion.completion_tokens is not None
        if completion.prompt_tokens is not None:
            spent.input += completion.prompt_tokens - estimate
        try:
            if completion.completion_tokens is not None:
                spent.output += completion.completion_tokens
            else:
                calls = [f"{call.name}{call.arguments}" for call in completion.calls]
                spent.output += estimate_tokens(completion.text, completion.reasoning, *calls)
            spent.estimated -= told
            # Once its parts are put together: a key may have been cut in two by them.
            cleaned: Completion = self._clean(completion)
        except RecursionError:
            raise Fault("the answer is nested too deep", passing=True) from None
        return cleaned

    def _clean(self, value: Any) -> Any:
        """A value with the key struck out of every text in it."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if isinstance(value, Struct):
            fields = {name: self._clean(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**fields)
        return value
