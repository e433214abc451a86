"""Which item comes next: a seeded permutation per epoch, addressed by position, so that its whole state is one integer."""

from __future__ import annotations

import random

from journeyman.codec import seed_of


class Draw:
    """Draws indices 0..size−1 in seeded permutations: each epoch of `size` draws holds every index once.

    Args:
        size: how many items there are, at least 1.
        seed: draws with equal seeds are equal.
    """

    def __init__(self, size: int, seed: int) -> None:
        if size < 1:
            raise ValueError("nothing to draw from")
        self.size = size
        self._seed = seed
        self._epoch = -1
        self._order: list[int] = []

    def at(self, position: int) -> int:
        """The index drawn at `position` (0 is the first draw of the stage)."""
        epoch, place = divmod(position, self.size)
        if epoch != self._epoch:
            self._order = list(range(self.size))
            random.Random(seed_of(self._seed, "epoch", epoch)).shuffle(self._order)
            self._epoch = epoch
        return self._order[place]

    def take(self, position: int, count: int) -> list[int]:
        """The indices drawn at `position`, `position + 1`, … (`count` of them)."""
        return [self.at(position + step) for step in range(count)]
