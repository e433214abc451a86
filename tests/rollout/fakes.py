"""A sampler that plays a table of outputs, and what else the rollout tests share."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from journeyman.codec import seed_of
from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.episode import SamplingSettings, Seeds
from journeyman.recipe import Limits
from journeyman.rollout.policy import EpisodeContext, EpisodeSpec
from journeyman.task import Outcome, Task


@dataclass
class FakeSampler:
    """Answers with `write(request)`, cut at `max_tokens`. It admits a batch when every attached episode waits, in the
    order of the ids, and records requests, batches and attachments."""

    write: Callable[[SampleRequest], list[int]]
    version: int = 0
    requests: list[SampleRequest] = field(default_factory=list)
    results: list[SampleResult] = field(default_factory=list)
    batches: list[list[str]] = field(default_factory=list)
    log: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._attached: set[str] = set()
        self._waiting: dict[str, tuple[SampleRequest, asyncio.Future[SampleResult]]] = {}

    def attach(self, episode_id: str) -> None:
        assert episode_id not in self._attached
        self._attached.add(episode_id)
        self.log.append(("attach", episode_id))

    def detach(self, episode_id: str) -> None:
        self._attached.remove(episode_id)
        self.log.append(("detach", episode_id))
        self._admit()

    async def sample(self, request: SampleRequest) -> SampleResult:
        if request.episode_id not in self._attached:
            return self._answer(request)
        future: asyncio.Future[SampleResult] = asyncio.get_running_loop().create_future()
        self._waiting[request.episode_id] = (request, future)
        self._admit()
        return await future

    def reset(self) -> None:
        return None

    def _admit(self) -> None:
        if not self._waiting or set(self._waiting) != self._attached:
            return
        batch, self._waiting = dict(sorted(self._waiting.items())), {}
        self.batches.append(list(batch))
        for request, future in batch.values():
            try:
                future.set_result(self._answer(request))
            except Exception as error:
                future.set_exception(error)

    def _answer(self, request: SampleRequest) -> SampleResult:
        self.requests.append(request)
        ids = self.write(request)[: request.max_tokens]
        rng = random.Random(seed_of(request.seed, len(request.prompt_ids)))
        result = SampleResult(
            token_ids=ids,
            logprobs=[-rng.random() - 0.01 for _ in ids],
            version=3,
            finish="stop" if ids and ids[-1] in request.stop_ids else "length",
        )
        self.results.append(result)
        return result


def bare_task(**changes: Any) -> Task:
    """A task without a user, for tests that never open a session."""
    fields: dict[str, Any] = {
        "id": "shop/f/train-001",
        "world": "shop",
        "world_version": "1",
        "family": "f",
        "level": 1,
        "split": "train",
        "now": "2026-03-02T09:00:00",
        "image": "base",
        "request": "Hello",
        "outcomes": [Outcome(end="final")],
        "criteria": [],
        "oracle": [],
    }
    return Task(**{**fields, **changes}).sealed()


def bare_context(
    *,
    sampling: SamplingSettings | None = None,
    limits: Limits | None = None,
    tools: list[Any] | None = None,
    seed: int = 5,
) -> EpisodeContext:
    """A context that is enough for a token actor."""
    spec = EpisodeSpec("train/0/0/0", bare_task(), Seeds(1, 2, seed))
    world: Any = SimpleNamespace(transfer_tool="transfer_to_human")
    return EpisodeContext(
        spec=spec,
        world=world,
        tools=tools or [],
        limits=limits or Limits(tokens=100_000),
        sampling=sampling or SamplingSettings(context_limit=100_000, max_tokens=4_000),
    )
