"""Throughput of the local engine on SmolLM2-135M-Instruct: prefill, decoding, training, memory.

    python benchmarks/engine.py --json [--quick]

Prefill: tokens of fresh prompts of 300 tokens each. Decoding: tokens drawn by 32 (and 64) concurrent episodes with 300 tokens
of context, all but the last 20 to 44 of them common (an agent's instructions and task), and by 32 that share nothing.
Training: sequence tokens (masked ones included), forward and backward and optimizer step, on 16 sequences of 300 tokens
without a common prefix; and on 2 groups of 8 whose first 180 of 300 tokens are shared. The adapter is not zero. Of
each the best of several repeats is printed: other processes on the machine can only slow it down.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import time
from typing import Any

import torch

from journeyman import recipe
from journeyman.engine.base import LossSettings, SampleRequest
from journeyman.engine.local import LocalEngine, load_engine
from journeyman.episode import Sample

CONTEXT = 300
SHARED = 180
OWN = 20


def prompts(engine: LocalEngine, count: int, length: int, rng: random.Random) -> list[list[int]]:
    """Random streams without common prefixes."""
    return [[rng.randrange(100, engine.weights.vocabulary) for _ in range(length)] for _ in range(count)]


async def ask_all(engine: LocalEngine, streams: list[list[int]], max_tokens: int) -> None:
    """One request per stream, all admitted together, eight a group."""
    ids = [f"bench/0/{index % max(len(streams) // 8, 2)}/{index}" for index in range(len(streams))]
    for episode in ids:
        engine.attach(episode)

    async def one(index: int) -> None:
        request = SampleRequest(ids[index], streams[index], max_tokens, 1.0, 1.0, index, frozenset())
        await engine.sample(request)
        engine.detach(ids[index])

    await asyncio.gather(*(one(index) for index in range(len(ids))))


def prefill_rate(engine: LocalEngine, repeats: int, rng: random.Random) -> float:
    """Prompt tokens per second."""
    best = 0.0
    for _ in range(repeats):
        engine.reset()
        streams = prompts(engine, 8, CONTEXT, rng)
        started = time.perf_counter()
        asyncio.run(ask_all(engine, streams, 1))
        best = max(best, 8 * CONTEXT / (time.perf_counter() - started))
    return best


def decode_rate(engine: LocalEngine, batch: int, steps: int, repeats: int, rng: random.Random, own: int = OWN) -> float:
    """Drawn tokens per second around 300 tokens of context, of which each prompt has `own` for itself; prompts are cached
    first, then continued."""
    engine.reset()
    (head,) = prompts(engine, 1, CONTEXT - own - steps // 2, rng)
    streams = [head + tail for tail in prompts(engine, batch, own, rng)]
    asyncio.run(ask_all(engine, streams, 1))
    best = 0.0
    for _ in range(repeats):
        started = time.perf_counter()
        asyncio.run(ask_all(engine, streams, steps))
        best = max(best, batch * steps / (time.perf_counter() - started))
    return best


def sample_of(index: int, tokens: list[int], group: int) -> Sample:
    """Every third stretch of 20 tokens was drawn by the model, as in a tool dialogue."""
    mask = [int(place >= SHARED and (place // 20) % 3 != 1) for place in range(len(tokens))]
    advantage = 1.0 if index % 2 else -1.0
    return Sample(
        episode_id=f"bench/0/{group}/{index}",
        group_id=f"bench/0/{group}",
        token_ids=tokens,
        mask=mask,
        logprobs=[-8.0 * flag for flag in mask],
        versions=[0] * len(tokens),
        temperature=1.0,
        advantages=[advantage * flag for flag in mask],
    )


def train_rate(engine: LocalEngine, shared: int, repeats: int, rng: random.Random) -> float:
    """Sequence tokens per second of `update`."""
    best = 0.0
    for _ in range(repeats):
        heads = prompts(engine, 2, shared, rng)
        samples = [
            sample_of(index, heads[index // 8] + prompts(engine, 1, CONTEXT - shared, rng)[0], index // 8)
            for index in range(16)
        ]
        metrics = engine.update(samples, LossSettings("ppo_clip", ratio_min=0.0, ratio_max=1e9, learning_rate=1e-6))
        best = max(best, metrics["sequence_tokens"] / metrics["seconds"])
    return best


def measure(quick: bool) -> dict[str, Any]:
    """All figures; `quick` takes one repeat of less."""
    engine = load_engine(recipe.Model(), seed=0)
    rng = random.Random(0)
    repeats, steps = (1, 8) if quick else (3, 24)
    train_rate(engine, 0, 1, rng)
    engine.publish()
    figures: dict[str, Any] = {
        "prefill_tokens_per_s": prefill_rate(engine, repeats, rng),
        "decode_tokens_per_s_batch32": decode_rate(engine, 32, steps, repeats, rng),
        "decode_tokens_per_s_batch64": decode_rate(engine, 64, steps, repeats, rng),
        "decode_tokens_per_s_batch32_nothing_shared": decode_rate(
            engine, 32, steps, repeats, rng, own=CONTEXT - steps // 2
        ),
    }
    engine.reset()
    figures["train_tokens_per_s"] = train_rate(engine, 0, repeats, rng)
    figures["train_tokens_per_s_shared_prefix"] = train_rate(engine, SHARED, repeats, rng)
    figures["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {name: round(value, 1) for name, value in figures.items()}
    engine.close()
    return figures | {"dtype": str(engine.weights.dtype).removeprefix("torch."), "threads": torch.get_num_threads()}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--quick", action="store_true", help="one short repeat of each")
    arguments = parser.parse_args()
    figures = measure(arguments.quick)
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:44} {value}")


if __name__ == "__main__":
    main()
