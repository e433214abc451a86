"""Continuous batching: every step feeds each row what its slot lacks (a prompt chunk or the last token) and draws.

No threads here: `Batch` is told which requests begin and is asked to step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from journeyman.engine.attention import CachedAttention
from journeyman.engine.base import SampleRequest
from journeyman.engine.cache import KeyValueCache, Slot, common_prefix
from journeyman.engine.draw import draw, uniform
from journeyman.engine.forward import forward
from journeyman.engine.fused import SampledModel
from journeyman.engine.weights import Weights

_PREFILL_BUDGET = 1024
"""Prompt tokens fed per step."""
_WORTH_COPYING = 16
"""Shared leading tokens from which copying beats computing."""


@dataclass(eq=False)
class Row:
    """One request being answered. `stream` is the prompt and what was drawn so far."""

    request: SampleRequest
    slot: Slot
    version: int
    stream: list[int]
    logprobs: list[float] = field(default_factory=list)
    source: Row | None = None
    """A row whose prompt begins like this one's: `shared` tokens are copied from it once it has computed them."""
    shared: int = 0
    cancelled: bool = False
    finish: Literal["stop", "length"] | None = None

    @property
    def missing(self) -> int:
        """Tokens of the stream whose keys and values are not in the slot."""
        return len(self.stream) - len(self.slot.tokens)

    @property
    def drawn(self) -> list[int]:
        """The answer so far."""
        return self.stream[len(self.request.prompt_ids) :]


class Batch:
    """The rows being answered now, over one cache."""

    def __init__(self, weights: Weights, slots: int) -> None:
        self.weights = weights
        self.model: SampledModel | None = None
        self.cache = KeyValueCache(weights, slots)
        self.rows: list[Row] = []

    def start(self, request: SampleRequest, version: int, spare: set[str]) -> Row | None:
        """Begin to answer; None where every slot is busy. `spare`: see `KeyValueCache.take`."""
        best = self._resident(request)
        slot = self.cache.take(request.episode_id, spare)
        if slot is None:
            return None
        prompt, limit = request.prompt_ids, len(request.prompt_ids) - 1
        self.cache.reserve(min(len(prompt) + request.max_tokens, self.weights.context))
        kept = min(common_prefix(slot.tokens, prompt), limit)
        if best is not None and best[0] >= max(kept + 1, _WORTH_COPYING):
            self.cache.share(best[1], slot, best[0])
        else:
            slot.keep(kept)
        row = Row(request, slot, version, list(prompt))
        for other in self.rows:
            shared = min(common_prefix(other.stream, prompt), limit)
            if shared >= max(len(slot.tokens), row.shared) + _WORTH_COPYING and len(other.slot.tokens) < shared:
                row.source, row.shared = other, shared
        self.rows.append(row)
        return row

    def _resident(self, request: SampleRequest) -> tuple[int, Slot] | None:
        """The slot that holds most of the prompt, and how much (at least one token must be computed)."""
        limit = len(request.prompt_ids) - 1
        found = [
            (min(common_prefix(s.tokens, request.prompt_ids), limit), -s.index, s) for s in self.cache.slots if s.tokens
        ]
        if not found:
            return None
        count, _, slot = max(found, key=lambda item: item[:2])
        return count, slot

    def drop(self, row: Row) -> None:
        """Stop answering `row`; its slot keeps what it holds until it is needed."""
        row.slot.active = False
        self.rows.remove(row)
        for other in self.rows:
            if other.source is row:
                other.source = None

    def forget(self) -> None:
        """Drop all keys and values. Rows under way compute theirs again, and keep what they drew."""
        self.cache.clear()
        for row in self.rows:
            row.source = None
            self.cache.reserve(min(len(row.request.prompt_ids) + row.request.max_tokens, self.weights.context))

    @torch.no_grad()  # the mode is each thread's own, and the worker's default is to record
    def step(self) -> list[Row]:
        """Feed and draw once. Returns the rows that finished, already dropped, in slot order."""
        plan = self._plan()
        hidden = self._feed(plan)
        ready = [(row, end) for row, _, end in plan if not row.missing]
        if ready:
            self._draw([row for row, _ in ready], self._published.head(hidden[[end - 1 for _, end in ready]]))
        for row in self.rows:
            if row.source is not None and len(row.source.slot.tokens) >= row.shared:
                self.cache.share(row.source.slot, row.slot, row.shared)
                row.source = None
        finished = sorted((row for row, _ in ready if row.finish), key=lambda row: row.slot.index)
        for row in finished:
            self.drop(row)
        return finished

    @property
    def _published(self) -> SampledModel:
        assert self.model is not None
        return self.model

    def _plan(self) -> list[tuple[Row, int, int]]:
        """(row, first, end) of the packed rows: single tokens first, then prompt chunks, each in slot order."""
        rows = sorted(
            (row for row in self.rows if row.source is None), key=lambda row: (row.missing > 1, row.slot.index)
        )
        plan, at, budget = [], 0, _PREFILL_BUDGET
        for row in rows:
            count = row.missing
            if count > 1:
                count = min(count, budget)
                budget -= count
            if count:
                plan.append((row, at, at + count))
                at += count
        return plan

    def _feed(self, plan: list[tuple[Row, int, int]]) -> Tensor:
        """Run the chunks through the model, leaving keys and values in the cache; hidden states of all packed rows."""
        device = self.weights.device
        ids: list[int] = []
        positions: list[int] = []
        for row, first, end in plan:
            held = len(row.slot.tokens)
            chunk = row.stream[held : held + end - first]
            ids += chunk
            positions += range(held, held + len(chunk))
            row.slot.tokens += chunk
        attend = CachedAttention(self.cache, [(row.slot, first, end) for row, first, end in plan])
        return forward(
            self.weights,
            self._published,
            torch.tensor(ids, device=device),
            torch.tensor(positions, device=device),
            attend,
        )

    def _draw(self, rows: list[Row], logits: Tensor) -> None:
        requests = [row.request for row in rows]
        tokens, logprobs = draw(
            logits,
            [r.temperature for r in requests],
            [r.top_p for r in requests],
            [uniform(row.request.seed, len(row.stream)) for row in rows],
        )
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            row.stream.append(token)
            row.logprobs.append(logprob)
            if token in row.request.stop_ids:
                row.finish = "stop"
            elif len(row.logprobs) >= row.request.max_tokens or len(row.stream) >= self.weights.context:
                row.finish = "length"


Natural = tuple[tuple[int, int, str], ...]


def natural(episode_id: str) -> Natural:
    """Sort key of an episode id: its parts between slashes, numbers by value and before words."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in episode_id.split("/"))
