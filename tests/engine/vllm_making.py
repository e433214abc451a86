"""A vLLM engine over the tiny model, with the stand-in as its server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch
from endpoint_fakes import FakeClock
from small_engine import engine
from vllm_stand_in import StandIn

from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.local import LocalEngine
from journeyman.engine.vllm import VllmEngine
from journeyman.engine.vllm_delivery import as_sample
from journeyman.episode import Sample
from journeyman.serving import Vllm

PROMPT = [5, 60, 700, 8, 99]
SFT = LossSettings("sft", learning_rate=1e-3)


def connect(
    server: StandIn, folder: Path, trainer: LocalEngine | None = None, clock: Any = None, key: str = "", **settings: Any
) -> VllmEngine:
    """An engine whose server is the stand-in; the adapter of its trainer matters from the start."""
    made = trainer or engine()
    chosen = {"url": server.url, "adapter_folder": str(folder), "mean_tolerance": 1e-3, "max_tolerance": 1e-2}
    return VllmEngine(
        Vllm(**(chosen | {"retries": 2, "start_seconds": 2.0} | settings)),
        "run",
        made,
        context=1024,
        key=key,
        clock=clock or FakeClock(),
    )


def ask(made: VllmEngine, *requests: SampleRequest) -> list[SampleResult]:
    async def everyone() -> list[SampleResult]:
        return list(await asyncio.gather(*(made.sample(one) for one in requests)))

    return asyncio.run(everyone())


def hurry(made: VllmEngine, patch: pytest.MonkeyPatch, tries: int, skip: int = 0) -> None:
    """Let `tries` requests last a second at most, after the first `skip`: those that meet a server that hangs."""
    wire = made._client._wire
    exchange, asked = wire.exchange, [0]

    async def hurried(method: str, url: str, body: bytes | None = None, seconds: float | None = None) -> Any:
        asked[0] += 1
        return await exchange(method, url, body, 1.0 if skip < asked[0] <= skip + tries else seconds)

    patch.setattr(wire, "exchange", hurried)


def lesson(seed: int) -> Sample:
    generator = torch.Generator().manual_seed(seed)
    return as_sample(torch.randint(3, 800, (40,), generator=generator).tolist(), 20)
