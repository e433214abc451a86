"""An engine of one number, for tests of everything around an engine: it says "Done." or babbles until it is cut off.

The weight decides how often; updates move it by the samples' advantages and lengths, so that any difference in what
was trained on, in what order, shows in its bits.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import Sample
from journeyman.errors import EngineError


class FakeEngine:
    """See the module. `updates` lists what it was trained on: (episode ids, rate) per optimizer step."""

    def __init__(self) -> None:
        tokenizer = tiny_tokenizer()
        self._done = [*tokenizer.encode("Done.", add_special_tokens=False).ids, tokenizer.token_to_id("<|im_end|>")]
        self._babble = tokenizer.encode("so ", add_special_tokens=False).ids
        self.weight = 0.125
        self.momentum = 0.0
        self.version = 0
        self.resets = 0
        self.closed = False
        self.remembered: dict[str, float] = {}
        self.updates: list[tuple[list[str], float]] = []

    def attach(self, episode_id: str) -> None:
        """Nothing."""

    def detach(self, episode_id: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """It has no threads."""
        self.closed = True

    def reset(self) -> None:
        """Nothing is cached."""
        self.resets += 1

    async def sample(self, request: SampleRequest) -> SampleResult:
        draw = random.Random(request.seed).random()
        done = draw < 1 / (1 + math.exp(-self.weight))
        words = 0 if done else 1 + int(draw * 1000) % 3
        ids = (self._babble * words + self._done)[: request.max_tokens]
        logprobs = [-self.weight * draw - place / 7 for place in range(len(ids))]
        return SampleResult(ids, logprobs, self.version, "stop" if len(ids) < request.max_tokens else "length")

    def update(self, samples: Sequence[Sample], loss: LossSettings) -> dict[str, float]:
        gradient = 0.0
        for sample in samples:
            weights = sample.weights or [1.0] * len(sample.mask)
            credit = zip(sample.advantages, sample.logprobs, weights, strict=True)
            gradient += sum(a * (1 + p) * w for a, p, w in credit)
        tokens = sum(sum(sample.mask) for sample in samples)
        self.momentum = 0.9 * self.momentum + gradient / tokens
        self.weight += loss.learning_rate * self.momentum
        self.updates.append(([sample.episode_id for sample in samples], loss.learning_rate))
        return {"loss": -gradient, "grad_norm": abs(gradient), "tokens": float(tokens), "seconds": 0.0}

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        weight = self.weight if of is None else {"base": 0.125, **self.remembered}[of]
        return [[-weight if sampled else 0.0 for sampled in sample.mask] for sample in samples]

    def remember(self, name: str, folder: Path | None = None) -> None:
        self.remembered[name] = self.weight if folder is None else float.fromhex(self._read(folder)["weight"])

    def restart(self) -> None:
        self.weight, self.momentum = 0.125, 0.0
        self.publish()

    def reset_optimizer(self) -> None:
        self.momentum = 0.0

    def publish(self) -> int:
        self.version += 1
        return self.version

    def save(self, folder: Path) -> None:
        state = {"weight": self.weight.hex(), "momentum": self.momentum.hex(), "version": self.version}
        (folder / "engine.json").write_text(json.dumps(state))

    def load(self, folder: Path) -> None:
        state = self._read(folder)
        self.weight, self.momentum = float.fromhex(state["weight"]), float.fromhex(state["momentum"])
        self.version = state["version"] if state["version"] >= self.version else self.version + 1

    def _read(self, folder: Path) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads((folder / "engine.json").read_text())
        except (OSError, ValueError) as error:
            raise EngineError(str(folder), "engine.json", f"cannot be read ({error})") from error
        return state
