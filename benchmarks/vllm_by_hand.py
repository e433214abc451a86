"""Plays against a real vLLM server and prints what the engine proves of it: agreement, delivery, speed.

    python benchmarks/vllm_by_hand.py http://127.0.0.1:8000 --model FOLDER --adapters /tmp/adapters --json

FOLDER is the model that the server serves, in Hugging Face format (or a short name the recipe knows). The server is started as
`journeyman.engine.vllm_delivery.SERVER_COMMAND` says. Each of `--updates` updates pushes an adapter; per version are printed
mean and maximum of |server − trainer| in nats on the canaries, how far the update moved them and how much of that movement
arrived (1 = delivered), and the same differences for tokens drawn at several temperatures. At last one push is tampered with:
an adapter of another version is written under the new name, which must be refused.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.local import load_engine
from journeyman.engine.vllm import VllmEngine
from journeyman.engine.vllm_delivery import DeliveryFailed, as_sample
from journeyman.recipe import Model
from journeyman.serving import Vllm

TEMPERATURES = (0.5, 1.0, 1.6)


async def draw(engine: VllmEngine, prompts: list[list[int]], tokens: int, temperature: float) -> list[SampleResult]:
    """One continuation of each prompt, all at once."""
    requests = [
        SampleRequest(f"hand/0/0/{index}", prompt, tokens, temperature, 1.0, index, frozenset())
        for index, prompt in enumerate(prompts)
    ]
    return list(await asyncio.gather(*(engine.sample(request) for request in requests)))


def drawn_agreement(engine: VllmEngine, prompts: list[list[int]], tokens: int, temperature: float) -> dict[str, float]:
    """Differences of the log-probabilities of drawn tokens, and how fast they were drawn."""
    began = time.perf_counter()
    results = asyncio.run(draw(engine, prompts, tokens, temperature))
    seconds = time.perf_counter() - began
    size = len(prompts[0])
    streams = [
        as_sample([*prompt, *one.token_ids], size, temperature) for prompt, one in zip(prompts, results, strict=True)
    ]
    scored = [value for row in engine.logprobs(streams) for value in row[size:]]
    gaps = np.abs(np.subtract([value for one in results for value in one.logprobs], scored))
    return {
        "temperature": temperature,
        "tokens": len(scored),
        "mean": float(gaps.mean()),
        "p99": float(np.quantile(gaps, 0.99)),
        "max": float(gaps.max()),
        "tokens_per_second": len(scored) / seconds,
    }


def tampered(engine: VllmEngine, before: Path, lesson: list[int]) -> str:
    """Push the adapter of the version before under the name of the next; what the engine says."""
    engine.update([as_sample(lesson)], LossSettings("sft", learning_rate=1e-3))

    def export(folder: Path) -> None:
        for path in before.iterdir():
            shutil.copy(path, folder)

    engine._export = export  # type: ignore[method-assign]
    try:
        engine.publish()
    except DeliveryFailed as failure:
        return str(failure)
    return "NOT NOTICED"


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    model = Model(
        name=arguments.model,
        dtype=arguments.dtype,
        device="cpu",
        lora_rank=arguments.rank,
        lora_alpha=2.0 * arguments.rank,
    )
    settings = Vllm(
        url=arguments.url,
        adapter_folder=str(arguments.adapters.resolve()),
        mean_tolerance=arguments.mean_tolerance,
        max_tolerance=arguments.max_tolerance,
    )
    trainer = load_engine(model, seed=0)
    rng = random.Random(0)
    vocabulary = trainer.weights.vocabulary
    prompts = [[rng.randrange(vocabulary) for _ in range(48)] for _ in range(arguments.episodes)]
    engine = VllmEngine(settings, "by-hand", trainer, context=512)
    versions: list[dict[str, Any]] = []
    try:
        for number in range(arguments.updates + 1):
            push = 0.0
            if number:
                engine.update([as_sample(prompts[number % len(prompts)])], LossSettings("sft", learning_rate=1e-3))
                began = time.perf_counter()
                engine.publish()
                push = time.perf_counter() - began
            figures = [drawn_agreement(engine, prompts, arguments.tokens, one) for one in TEMPERATURES]
            canaries = msgspec.to_builtins(engine.delivery)
            versions.append({"adapter": engine.adapter, "push_seconds": push, "canaries": canaries, "drawn": figures})
        served = engine.server_version
        refused = tampered(engine, arguments.adapters / engine.adapter, prompts[1])
    finally:
        engine.close()
    dtype = str(trainer.weights.dtype).removeprefix("torch.")
    return {"server": f"vLLM {served}", "trainer_dtype": dtype, "versions": versions, "tampered_push": refused}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--adapters", type=Path, required=True, help="a folder that the server reads too")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--mean-tolerance", type=float, default=0.05)
    parser.add_argument("--max-tolerance", type=float, default=1.0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    figures = measure(arguments)
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{figures['server']}, trainer in {figures['trainer_dtype']}")
    for version in figures["versions"]:
        canaries = version["canaries"]
        print(f"\n{version['adapter']}  pushed in {version['push_seconds']:.2f} s")
        print(
            f"  canaries ({canaries['tokens']} tokens)   mean {canaries['mean']:.2e}  max {canaries['largest']:.2e}"
            f"  moved {canaries['shift']:.2e}  arrived {canaries['slope']}"
        )
        for one in version["drawn"]:
            print(
                f"  drawn at {one['temperature']:<4} ({one['tokens']} tokens)  mean {one['mean']:.2e}  p99 {one['p99']:.2e}"
                f"  max {one['max']:.2e}  {one['tokens_per_second']:.0f} tokens/s"
            )
    print(f"\ntampered push: {figures['tampered_push']}")


if __name__ == "__main__":
    main()
