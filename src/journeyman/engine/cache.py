"""The cache of keys and values: a fixed number of slots, each holding one token stream's beginning.

Many leading tokens that several slots share are held once, in a prefix row behind the slots' own rows: many queries then
read the same keys, and reading keys is what decoding waits for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from journeyman.engine.weights import Weights

_GRANULE = 512
"""Positions by which the cache grows."""


_WORTH_SHARING = 512
"""Further tokens in common from which a prefix row of their own pays: reading them once saves more than splitting the
attention in two costs. Below that they are copied."""


@dataclass(frozen=True, eq=False)
class Prefix:
    """Keys and values of `count` leading tokens, in row `index` of the cache."""

    index: int
    count: int


@dataclass(eq=False)
class Slot:
    """Keys and values of `tokens`, for the episode `owner` (None: nobody's any more). The first `base` tokens lie in the row of
    `prefix`, the others in row `index` from place 0 on."""

    index: int
    tokens: list[int] = field(default_factory=list)
    prefix: Prefix | None = None
    base: int = 0
    owner: str | None = None
    active: bool = False
    used: int = 0

    @property
    def own(self) -> int:
        """Tokens held in the slot's own row."""
        return len(self.tokens) - self.base

    def keep(self, count: int) -> None:
        """Forget all but the first `count` tokens."""
        del self.tokens[count:]
        self.base = min(self.base, count)
        if not self.base:
            self.prefix = None


class KeyValueCache:
    """Keys and values by (layer, row, kv head, place, dim): first a row for each slot, then the prefix rows. Memory is taken
    when first needed, freed by `clear`."""

    def __init__(self, weights: Weights, slots: int) -> None:
        self.weights = weights
        self.slots = [Slot(index) for index in range(slots)]
        self._rows = slots + slots // 4 + 1
        self.keys = self.values = torch.empty(0)
        self.capacity = 0
        self._clock = 0

    def clear(self) -> None:
        """Forget everything; active slots stay assigned and start from nothing."""
        self.keys = self.values = torch.empty(0)
        self.capacity = 0
        for slot in self.slots:
            slot.keep(0)
            if not slot.active:
                slot.owner, slot.used = None, 0
        self._clock = 0

    def abandon(self) -> None:
        """Forget everything, active slots too."""
        for slot in self.slots:
            slot.active = False
        self.clear()

    def reserve(self, positions: int) -> None:
        """Make room for `positions` in every slot, keeping what is held."""
        if positions <= self.capacity:
            return
        w = self.weights
        capacity = min(max(-(-positions // _GRANULE) * _GRANULE, self.capacity * 3 // 2), max(w.context, positions))
        shape = (len(w.layers), self._rows, w.kv_heads, capacity, w.head_dim)
        keys, values = _zeros(shape, w), _zeros(shape, w)
        held = {slot.index: slot.own for slot in self.slots}
        held |= {slot.prefix.index: slot.prefix.count for slot in self.slots if slot.prefix}
        for row, count in held.items():
            if count:
                keys[:, row, :, :count] = self.keys[:, row, :, :count]
                values[:, row, :, :count] = self.values[:, row, :, :count]
        self.keys, self.values, self.capacity = keys, values, capacity

    def share(self, source: Slot, target: Slot, count: int) -> None:
        """Give `target` the first `count` tokens of `source`, by a common prefix where that pays, else by copying."""
        if source is target:
            source.keep(count)
            return
        if count - source.base >= _WORTH_SHARING:
            self._move_to_prefix(source, count)
        target.tokens = source.tokens[:count]
        target.base = min(source.base, count)
        target.prefix = source.prefix if target.base else None
        for tensor in (self.keys, self.values):
            tensor[:, target.index, :, : target.own] = tensor[:, source.index, :, : target.own]

    def _move_to_prefix(self, slot: Slot, count: int) -> None:
        """Put the first `count` tokens of `slot` into a prefix row, if one is free."""
        taken = {other.prefix.index for other in self.slots if other.prefix}
        row = next((row for row in range(len(self.slots), self._rows) if row not in taken), None)
        if row is None:
            return
        base, own = slot.base, slot.own
        for tensor in (self.keys, self.values):
            if slot.prefix:
                tensor[:, row, :, :base] = tensor[:, slot.prefix.index, :, :base]
            tensor[:, row, :, base:count] = tensor[:, slot.index, :, : count - base]
            tensor[:, slot.index, :, : own - (count - base)] = tensor[:, slot.index, :, count - base : own].clone()
        slot.prefix, slot.base = Prefix(row, count), count

    def holds(self, owner: str) -> bool:
        """Whether keys of `owner` are still there."""
        return any(slot.owner == owner and slot.tokens for slot in self.slots)

    def take(self, owner: str, spare: set[str]) -> Slot | None:
        """A slot for `owner`: its own, else a free one, else the least recently used of a finished or waiting episode.

        Args:
            spare: owners that may lose their slot only when no other is left (they will ask again).

        Returns:
            None where every slot is active.
        """
        idle = [slot for slot in self.slots if not slot.active]
        chosen = next((slot for slot in idle if slot.owner == owner), None)
        if chosen is None and idle:
            chosen = min(idle, key=lambda s: (bool(s.tokens), s.owner in spare, s.used, s.index))
            chosen.owner = owner
        if chosen is not None:
            self._clock += 1
            chosen.active, chosen.used = True, self._clock
        return chosen


def common_prefix(left: list[int], right: list[int]) -> int:
    """Number of leading tokens that two streams share."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _zeros(shape: tuple[int, ...], weights: Weights) -> Tensor:
    """Zeros (masked positions are multiplied by 0, so they must be finite) whose memory is taken only when touched."""
    if weights.device.type != "cpu":
        return torch.zeros(shape, dtype=weights.dtype, device=weights.device)
    plain = np.zeros(shape, np.float32 if weights.dtype == torch.float32 else np.uint16)
    return torch.from_numpy(plain).view(weights.dtype)
