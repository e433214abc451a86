"""An endpoint without a network and without waiting."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from journeyman.engine.endpoint import EndpointClient, Spent, open_endpoint
from journeyman.remote import Endpoint

KEY = "sk-secret-0123456789"
Handler = Callable[[httpx.Request], httpx.Response]


class FakeClock:
    """Time passes in sleep, at once."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def answer(text: str = "hello", **fields: Any) -> httpx.Response:
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return httpx.Response(200, json={"choices": [{"message": {"content": text}}], "usage": usage, **fields})


def transport(handler: Handler) -> httpx.MockTransport:
    """Answers whose bytes are still to be read, as those of a connection are."""

    async def streamed(request: httpx.Request) -> httpx.Response:
        made: Any = handler(request)
        response = await made if inspect.isawaitable(made) else made
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(response.content))

    return httpx.MockTransport(streamed)


def client(handler: Handler, clock: FakeClock | None = None, **fields: Any) -> EndpointClient:
    endpoint = Endpoint(**{"url": "https://host.example/v1/", "model": "m", "api_key_env": "K", **fields})
    return open_endpoint("far", endpoint, {"K": KEY}, clock or FakeClock(), transport(handler))


def ask(one: EndpointClient, spent: Spent | None = None, seed: int = 5) -> Any:
    async def work() -> Any:
        try:
            request = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "temperature": 0.5}
            return await one.complete(request, spent if spent is not None else Spent(), seed=seed)
        finally:
            await one.close()

    return asyncio.run(work())
