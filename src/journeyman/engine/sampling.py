"""Continuous batching: every step feeds each row what its slot lacks (a prompt chunk or the last token) and draws.

No threads here: `Batch` is told which requests begin and is asked to step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.adapter import Sites
from journeyman.engine.base import SampleRequest
from journeyman.engine.cache import KeyValueCache, Slot, common_prefix
from journeyman.engine.draw import draw, uniform
from journeyman.engine.forward import forward
from journeyman.engine.weights import Weights

_PREFILL_BUDGET = 1024
"""Prompt tokens fed per step."""
_WORTH_COPYING = 16
"""Shared leading tokens from which copying beats computing."""
_RUN_GAP = 2
"""Idle slots tolerated inside a run of slots that attend together."""


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
        self.sites: Sites | None = None
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
            self.cache.copy(best[1], slot, best[0])
        else:
            del slot.tokens[kept:]
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
            logits = self.weights.head(hidden[[end - 1 for _, end in ready]])
            self._draw([row for row, _ in ready], logits)
        for row in self.rows:
            if row.source is not None and len(row.source.slot.tokens) >= row.shared:
                self.cache.copy(row.source.slot, row.slot, row.shared)
                row.source = None
        finished = sorted((row for row, _ in ready if row.finish), key=lambda row: row.slot.index)
        for row in finished:
            self.drop(row)
        return finished

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
        slots: list[int] = []
        positions: list[int] = []
        for row, first, end in plan:
            held = len(row.slot.tokens)
            chunk = row.stream[held : held + end - first]
            ids += chunk
            slots += [row.slot.index] * len(chunk)
            positions += range(held, held + len(chunk))
            row.slot.tokens += chunk
        attend = _Attention(
            self.cache, plan, torch.tensor(slots, device=device), torch.tensor(positions, device=device)
        )
        return forward(self.weights, self.sites, torch.tensor(ids, device=device), attend.positions, attend)

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


class _Attention:
    """Attention of packed rows to the cache: single tokens together by runs of slots, prompt chunks one by one."""

    def __init__(
        self, cache: KeyValueCache, plan: list[tuple[Row, int, int]], slots: Tensor, positions: Tensor
    ) -> None:
        self.cache, self.slots, self.positions = cache, slots, positions
        w = cache.weights
        self._groups, self._scale = w.heads // w.kv_heads, 1 / math.sqrt(w.head_dim)
        # A prompt chunk that the budget cut to one token is planned last, whatever its slot: runs need slot order.
        single = [(row, first) for row, first, end in plan if end - first == 1]
        single.sort(key=lambda item: item[0].slot.index)
        self._runs = [self._run(members) for members in _runs(single)]
        self._chunks = [self._chunk(row, first, end) for row, first, end in plan if end - first > 1]

    def _run(self, members: list[tuple[Row, int]]) -> tuple[slice, Tensor, Tensor, Tensor]:
        """Slots, packed rows, their place in the run, and which positions each slot's query may see."""
        first, last = members[0][0].slot.index, members[-1][0].slot.index
        device = self.positions.device
        lengths = torch.ones(last - first + 1, dtype=torch.long)
        for row, _ in members:
            lengths[row.slot.index - first] = len(row.slot.tokens)
        seen = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
        packed = torch.tensor([at for _, at in members], device=device)
        places = torch.tensor([row.slot.index - first for row, _ in members], device=device)
        return slice(first, last + 1), packed, places, seen[:, None, None, :].to(device)

    def _chunk(self, row: Row, first: int, end: int) -> tuple[int, int, int, int, Tensor | None]:
        """Slot, packed rows, cached length, and the causal mask where earlier turns precede the chunk."""
        total, count = len(row.slot.tokens), end - first
        mask = None
        if total > count:
            mask = torch.ones(count, total, dtype=torch.bool, device=self.positions.device).tril(total - count)
        return row.slot.index, first, end, total, mask

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys[self.slots, :, self.positions] = k
        values[self.slots, :, self.positions] = v
        rows, heads, dim = q.shape
        out = torch.empty_like(q)
        grouped_out = out.view(rows, -1, self._groups, dim)
        for span, packed, places, seen in self._runs:
            length = seen.shape[-1]
            # The query heads of one key head stand where a sequence's positions would.
            queries = q.new_zeros(span.stop - span.start, heads // self._groups, self._groups, dim)
            queries[places] = q[packed].view(len(packed), -1, self._groups, dim)
            attended = functional.scaled_dot_product_attention(
                queries, keys[span, :, :length], values[span, :, :length], attn_mask=seen, scale=self._scale
            )
            grouped_out[packed] = attended[places]
        for slot, first, end, total, mask in self._chunks:
            attended = functional.scaled_dot_product_attention(
                q[first:end].transpose(0, 1)[None],
                keys[slot : slot + 1, :, :total],
                values[slot : slot + 1, :, :total],
                attn_mask=mask,
                is_causal=mask is None,
                scale=self._scale,
                enable_gqa=True,
            )
            out[first:end] = attended[0].transpose(0, 1)
        return out.view(rows, heads * dim)


def _runs(single: Iterable[tuple[Row, int]]) -> list[list[tuple[Row, int]]]:
    """Split rows in slot order into runs of neighbouring slots."""
    runs: list[list[tuple[Row, int]]] = []
    for row, at in single:
        if runs and row.slot.index - runs[-1][-1][0].slot.index <= _RUN_GAP:
            runs[-1].append((row, at))
        else:
            runs.append([(row, at)])
    return runs


Natural = tuple[tuple[int, int, str], ...]


def natural(episode_id: str) -> Natural:
    """Sort key of an episode id: its parts between slashes, numbers by value and before words."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in episode_id.split("/"))
