"""How far the sampler's log-probabilities lie from the trainer's, for the same weights and tokens.

    python benchmarks/logprob_agreement.py --dtype bfloat16 --json

SmolLM2 with a random adapter draws continuations in one batch; the trainer scores the same tokens. Prints the mean, the 99th
percentile and the maximum of |difference| in nats per token. float32 must stay within 1e-3; bfloat16 is reported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random

import numpy as np

from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.local import LocalEngine, load_engine
from journeyman.episode import Sample
from journeyman.recipe import Model


async def draw(engine: LocalEngine, prompts: list[list[int]], tokens: int) -> list[SampleResult]:
    """One continuation of each prompt at temperature 0.8, all in one batch."""
    ids = [f"agree/0/0/{index}" for index in range(len(prompts))]
    for episode in ids:
        engine.attach(episode)

    async def one(index: int) -> SampleResult:
        result = await engine.sample(SampleRequest(ids[index], prompts[index], tokens, 0.8, 1.0, index, frozenset()))
        engine.detach(ids[index])
        return result

    return list(await asyncio.gather(*(one(index) for index in range(len(ids)))))


def sample_of(index: int, prompt: list[int], result: SampleResult) -> Sample:
    """The drawn stream as the trainer sees it."""
    before, drawn = [0] * len(prompt), len(result.token_ids)
    return Sample(
        episode_id=f"agree/0/0/{index}",
        group_id="agree/0/0",
        token_ids=[*prompt, *result.token_ids],
        mask=[*before, *[1] * drawn],
        logprobs=[*map(float, before), *result.logprobs],
        versions=[*before, *[result.version] * drawn],
        temperature=0.8,
        advantages=[0.0] * (len(prompt) + drawn),
    )


def measure(dtype: str, episodes: int, tokens: int) -> dict[str, float | str | int]:
    """Differences over `episodes` × `tokens` drawn tokens, after one update that makes the adapter matter."""
    engine = load_engine(Model(dtype=dtype), seed=0)  # type: ignore[arg-type]
    rng = random.Random(0)
    prompts = [[rng.randrange(100, 40_000) for _ in range(48)] for _ in range(episodes)]
    lesson = sample_of(0, prompts[0], SampleResult(prompts[0][:16], [0.0] * 16, 0, "length"))
    engine.update([lesson], LossSettings("sft", learning_rate=1e-3))
    engine.publish()
    results = asyncio.run(draw(engine, prompts, tokens))
    samples = [sample_of(index, prompts[index], result) for index, result in enumerate(results)]
    scored = engine.logprobs(samples)
    gaps = np.array(
        [
            abs(sampled - trained)
            for sample, row in zip(samples, scored, strict=True)
            for sampled, trained, drawn in zip(sample.logprobs, row, sample.mask, strict=True)
            if drawn
        ]
    )
    engine.close()
    return {
        "dtype": str(engine.weights.dtype).removeprefix("torch."),
        "tokens": len(gaps),
        "mean": float(gaps.mean()),
        "p99": float(np.quantile(gaps, 0.99)),
        "max": float(gaps.max()),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    figures = measure(arguments.dtype, arguments.episodes, arguments.tokens)
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:8} {value}")


if __name__ == "__main__":
    main()
