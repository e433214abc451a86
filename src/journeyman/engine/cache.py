"""The cache of keys and values: a fixed number of slots, each holding one token stream's prefix."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from journeyman.engine.weights import Weights

_GRANULE = 256
"""Positions by which the cache grows."""


@dataclass
class Slot:
    """What one row of the cache holds: keys and values of `tokens`, for the episode `owner` (None: nobody's any more)."""

    index: int
    tokens: list[int] = field(default_factory=list)
    owner: str | None = None
    active: bool = False
    used: int = 0


class KeyValueCache:
    """Keys and values by (layer, slot, kv head, position, dim). Memory is taken when first needed, freed by `clear`."""

    def __init__(self, weights: Weights, slots: int) -> None:
        self.weights = weights
        self.slots = [Slot(index) for index in range(slots)]
        self.keys = self.values = torch.empty(0)
        self.capacity = 0
        self._clock = 0

    def clear(self) -> None:
        """Forget everything; active slots stay assigned and start from nothing."""
        self.keys = self.values = torch.empty(0)
        self.capacity = 0
        for slot in self.slots:
            slot.tokens = []
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
        shape = (len(w.layers), len(self.slots), w.kv_heads, capacity, w.head_dim)
        keys, values = _zeros(shape, w), _zeros(shape, w)
        for slot in self.slots:
            held = len(slot.tokens)
            if held:
                keys[:, slot.index, :, :held] = self.keys[:, slot.index, :, :held]
                values[:, slot.index, :, :held] = self.values[:, slot.index, :, :held]
        self.keys, self.values, self.capacity = keys, values, capacity

    def copy(self, source: Slot, target: Slot, count: int) -> None:
        """Give `target` the first `count` positions of `source`."""
        if source is not target:
            for tensor in (self.keys, self.values):
                tensor[:, target.index, :, :count] = tensor[:, source.index, :, :count]
        target.tokens = source.tokens[:count]

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
