"""How the sampler's packed rows attend to the cache.

Single tokens (rows that draw) attend in two parts: to a prefix that several slots share, all of its queries at once, and to
what their own slot holds beyond it; the two are merged by their log-sum-exps. Prompt chunks attend one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.cache import KeyValueCache, Slot

_RUN_GAP = 2
"""Idle slots tolerated inside a run of slots that attend together."""
_FILLING = 1.5
"""Queries computed together for several prefixes, at most so many times those that are meant."""


@dataclass(frozen=True)
class _Run:
    """Neighbouring slots: the packed rows of their queries, each query's place in the run (None: all, in order), and the
    additive mask (slots, 1, 1, places). Where `first` is given, the packed rows are those from there on."""

    span: slice
    packed: Tensor
    places: Tensor | None
    first: int | None
    mask: Tensor


@dataclass(frozen=True)
class _Bucket:
    """Neighbouring prefix rows whose queries attend together, `width` (the most of any) for each of them.

    `queries` (prefixes · width,) are packed rows, some repeated to fill; those at `meant` are those of `packed`.
    `mask` is additive, (prefixes, 1, width · query heads of a key head, places).
    """

    span: slice
    width: int
    queries: Tensor
    meant: Tensor
    packed: Tensor
    mask: Tensor


@dataclass(frozen=True)
class _Chunk:
    """Packed rows [first, end) of one slot; `mask` is causal (rows, places), None where nothing precedes them."""

    slot: Slot
    first: int
    end: int
    mask: Tensor | None


class CachedAttention:
    """Attention of packed rows to the cache, which already counts them in `slot.tokens`.

    Args:
        plan: (slot, first, end): packed rows [first, end) are the last tokens of the slot.
    """

    def __init__(self, cache: KeyValueCache, plan: Sequence[tuple[Slot, int, int]]) -> None:
        self.cache = cache
        w = cache.weights
        self._device, self._dtype = w.device, w.dtype
        self._groups, self._scale = w.heads // w.kv_heads, 1 / math.sqrt(w.head_dim)
        self._targets = self._places(plan)
        # A prompt chunk that the budget cut to one token is planned last, whatever its slot: runs need slot order.
        single = sorted(
            ((slot, first) for slot, first, end in plan if end - first == 1), key=lambda item: item[0].index
        )
        self._runs = [self._run(members) for members in _runs(single)]
        self._buckets = [self._bucket(members) for members in _buckets(single)]
        self._chunks = [self._chunk(slot, first, end) for slot, first, end in plan if end - first > 1]

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See `forward.Attend`."""
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        dim = q.shape[-1]
        keys.view(-1, dim).index_copy_(0, self._targets, k.reshape(-1, dim))
        values.view(-1, dim).index_copy_(0, self._targets, v.reshape(-1, dim))
        rows, heads, _ = q.shape
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        grouped, grouped_q = (t.view(rows, -1, self._groups, dim) for t in (out, q))
        sums = q.new_empty(rows, heads // self._groups, self._groups, dtype=torch.float32)
        for run in self._runs:
            self._attend_own(run, grouped_q, keys[run.span], values[run.span], grouped, sums)
        for bucket in self._buckets:
            self._merge_prefix(bucket, grouped_q, keys[bucket.span], values[bucket.span], grouped, sums)
        for chunk in self._chunks:
            self._attend_chunk(chunk, q, keys, values, out)
        return out.view(rows, heads * dim)

    def _places(self, plan: Sequence[tuple[Slot, int, int]]) -> Tensor:
        """Where the new keys go, (rows · kv_heads,): row of the cache seen as a matrix of width `dim`."""
        kv_heads, capacity = self.cache.weights.kv_heads, self.cache.capacity
        starts: list[int] = []
        for slot, first, end in plan:
            begin = slot.index * kv_heads * capacity + slot.own - (end - first)
            starts += range(begin, begin + end - first)
        heads = torch.arange(kv_heads) * capacity
        return (torch.tensor(starts)[:, None] + heads[None, :]).flatten().to(self._device)

    def _run(self, members: list[tuple[Slot, int]]) -> _Run:
        first, last = members[0][0].index, members[-1][0].index
        lengths = torch.ones(last - first + 1, dtype=torch.long)
        for slot, _ in members:
            lengths[slot.index - first] = slot.own
        packed = self._tensor([at for _, at in members])
        places = self._tensor([slot.index - first for slot, _ in members])
        start, whole = members[0][1], len(members) == len(lengths)
        straight = whole and [at for _, at in members] == list(range(start, start + len(members)))
        mask = self._hide_beyond(lengths)[:, None, None]
        return _Run(slice(first, last + 1), packed, None if whole else places, start if straight else None, mask)

    def _bucket(self, members: list[list[tuple[Slot, int]]]) -> _Bucket:
        """`members`: for each prefix row of a span, in order, the (slot, packed row) that read it; perhaps none."""
        indices = [group[0][0].prefix.index for group in members if group and group[0][0].prefix]
        width = max(map(len, members))
        queries: list[int] = []
        lengths: list[int] = []
        meant: list[int] = []
        packed: list[int] = []
        for place, group in enumerate(members):
            filled = group + [(group or members[0])[0]] * (width - len(group))
            queries += [at for _, at in filled]
            lengths += [slot.base for slot, _ in filled]
            meant += range(place * width, place * width + len(group))
            packed += [at for _, at in group]
        mask = self._hide_beyond(torch.tensor(lengths).repeat_interleave(self._groups))
        mask = mask.view(len(members), 1, -1, mask.shape[-1])
        span = slice(indices[0], indices[-1] + 1)
        return _Bucket(span, width, self._tensor(queries), self._tensor(meant), self._tensor(packed), mask)

    def _tensor(self, numbers: list[int]) -> Tensor:
        return torch.tensor(numbers, device=self._device)

    def _chunk(self, slot: Slot, first: int, end: int) -> _Chunk:
        total, count = len(slot.tokens), end - first
        mask = None
        if total > count:
            mask = self._hide_beyond(torch.arange(total - count + 1, total + 1), self._dtype)
        return _Chunk(slot, first, end, mask)

    def _hide_beyond(self, lengths: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """0 at places before each length, −∞ from there on: (lengths, largest length)."""
        hidden = torch.arange(int(lengths.max()))[None, :] >= lengths[:, None]
        mask = torch.zeros(hidden.shape, dtype=dtype)
        return mask.masked_fill_(hidden, float("-inf")).to(self._device)

    def _attend_own(self, run: _Run, q: Tensor, keys: Tensor, values: Tensor, out: Tensor, sums: Tensor) -> None:
        """Fill `out` and `sums` (log-sum-exps) with what each query finds in its slot's own row."""
        length = run.mask.shape[-1]
        # The query heads of one key head stand where a sequence's positions would.
        queries = q.narrow(0, run.first, len(keys)) if run.first is not None else q.index_select(0, run.packed)
        if run.places is not None:
            queries = q.new_zeros(len(keys), *q.shape[1:]).index_copy_(0, run.places, queries)
        found, found_sums = _attend(queries, keys[:, :, :length], values[:, :, :length], run.mask, self._scale)
        if run.places is not None:
            found, found_sums = found[run.places], found_sums[run.places]
        if run.first is not None:
            out.narrow(0, run.first, len(keys)).copy_(found)
            sums.narrow(0, run.first, len(keys)).copy_(found_sums)
        else:
            out.index_copy_(0, run.packed, found)
            sums.index_copy_(0, run.packed, found_sums)

    def _merge_prefix(
        self, bucket: _Bucket, q: Tensor, keys: Tensor, values: Tensor, out: Tensor, sums: Tensor
    ) -> None:
        """Mix into `out` what the queries find in the prefixes."""
        prefixes, width, length = len(keys), bucket.width, bucket.mask.shape[-1]
        shape = (prefixes, width, *q.shape[1:])
        queries = q.index_select(0, bucket.queries).view(shape).transpose(1, 2).flatten(2, 3)
        found, found_sums = _attend(queries, keys[:, :, :length], values[:, :, :length], bucket.mask, self._scale)
        by_query = (prefixes, q.shape[1], width, self._groups)
        found = found.reshape(*by_query, -1).transpose(1, 2).flatten(0, 1).index_select(0, bucket.meant)
        found_sums = found_sums.reshape(by_query).transpose(1, 2).flatten(0, 1).index_select(0, bucket.meant)
        own, own_sums = out.index_select(0, bucket.packed), sums.index_select(0, bucket.packed)
        # exp(prefix) / (exp(prefix) + exp(own)) is the prefix's part of the softmax.
        share = found_sums.sub_(own_sums).sigmoid_()[..., None].to(out.dtype)
        out.index_copy_(0, bucket.packed, torch.lerp(own, found, share))

    def _attend_chunk(self, chunk: _Chunk, q: Tensor, keys: Tensor, values: Tensor, out: Tensor) -> None:
        slot, first, end = chunk.slot, chunk.first, chunk.end
        seen = []
        for tensor in (keys, values):
            own = tensor[slot.index, :, : slot.own]
            seen.append(torch.cat([tensor[slot.prefix.index, :, : slot.base], own], dim=1) if slot.prefix else own)
        attended = functional.scaled_dot_product_attention(
            q[first:end].transpose(0, 1)[None],
            seen[0][None],
            seen[1][None],
            attn_mask=chunk.mask,
            is_causal=chunk.mask is None,
            scale=self._scale,
            enable_gqa=True,
        )
        out[first:end] = attended[0].transpose(0, 1)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Attention of q (batch, heads, queries, dim), and the log-sum-exp of each query's scores (batch, heads, queries) in float32."""
    if q.device.type == "cpu" and q.dtype == torch.float32:
        out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, False, attn_mask=mask, scale=scale
        )
        return out, sums
    # With few queries plain products of contiguous matrices take half the time of the CPU's fused kernel in bfloat16.
    scores = torch.add(mask, q @ k.contiguous().transpose(-1, -2), alpha=scale)
    top = scores.amax(dim=-1, keepdim=True)
    weights = scores.sub_(top).exp_()
    totals = weights.sum(dim=-1, keepdim=True)
    return weights.div_(totals).to(q.dtype) @ v.contiguous(), totals.log_().add_(top)[..., 0]


def _runs(single: Sequence[tuple[Slot, int]]) -> list[list[tuple[Slot, int]]]:
    """Split rows in slot order into runs of neighbouring slots."""
    runs: list[list[tuple[Slot, int]]] = []
    for slot, at in single:
        if runs and slot.index - runs[-1][-1][0].index <= _RUN_GAP:
            runs[-1].append((slot, at))
        else:
            runs.append([(slot, at)])
    return runs


def _buckets(single: Sequence[tuple[Slot, int]]) -> list[list[list[tuple[Slot, int]]]]:
    """For spans of neighbouring prefix rows, those who read each row; a span ends where filling up would cost too much."""
    readers: dict[int, list[tuple[Slot, int]]] = {}
    for slot, at in single:
        if slot.prefix:
            readers.setdefault(slot.prefix.index, []).append((slot, at))
    buckets: list[list[list[tuple[Slot, int]]]] = []
    previous = -1
    for index in sorted(readers):
        group = readers[index]
        if buckets:
            wider = [*buckets[-1], *[[] for _ in range(previous + 1, index)], group]
            meant = sum(map(len, wider))
            if len(wider) * max(map(len, wider)) <= _FILLING * meant:
                buckets[-1] = wider
                previous = index
                continue
        buckets.append([group])
        previous = index
    return buckets
