"""A family: a function from a seed to a task, and how many tasks of each split it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from journeyman.errors import WorldError
from journeyman.task import Split, Task

if TYPE_CHECKING:
    from journeyman.world.world import World

HELDOUT_SEED = 500
"""Held-out instances take their seeds from here on, so that they never share one with a train task."""


@dataclass(frozen=True)
class Family:
    """Tasks of one shape.

    Args:
        level: 1 (2-4 calls) to 5.
        make: (world, seed, split) -> task, whose id is `task_id(world.name, name, split, seed)`. It must be a pure function.
        train: tasks of split `train`, with seeds 0, 1, …
        heldout: tasks of the held-out split, with seeds 500, 501, …; of a held-out family, seeds 0, 1, …
        held_out_family: no task of this family is ever trained on; all are of split `heldout_family`.

    Raises:
        WorldError: counts that contradict each other.
    """

    name: str
    level: int
    make: Callable[[World, int, Split], Task]
    train: int = 0
    heldout: int = 0
    held_out_family: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.level <= 5:
            raise WorldError(f"family {self.name}", "level", f"{self.level} is not a level: use 1 to 5.")
        if self.held_out_family and self.train:
            raise WorldError(f"family {self.name}", "train", "a held-out family has no train tasks: set train=0.")
        if not 0 <= self.train <= HELDOUT_SEED:
            raise WorldError(f"family {self.name}", "train", f"must lie in 0..{HELDOUT_SEED}.")
        if not 0 <= self.heldout <= HELDOUT_SEED:
            raise WorldError(f"family {self.name}", "heldout", f"must lie in 0..{HELDOUT_SEED}.")

    def instances(self) -> list[tuple[int, Split]]:
        """(seed, split) of every task, train first."""
        if self.held_out_family:
            return [(seed, "heldout_family") for seed in range(self.heldout)]
        train: list[tuple[int, Split]] = [(seed, "train") for seed in range(self.train)]
        return train + [(HELDOUT_SEED + n, "heldout") for n in range(self.heldout)]


def task_id(world: str, family: str, split: Split, seed: int) -> str:
    """The id a family must give its task: `world/family/split-seed`."""
    return f"{world}/{family}/{split}-{seed:03d}"
