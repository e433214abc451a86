"""The corner shop with two criteria that only a judge can decide."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent / "rollout"))

import corner_shop

from journeyman.task import Criterion, Split, Task
from journeyman.world import Family, World


def make(world: World, seed: int, split: Split) -> Task:
    """A cancellation, politely."""
    task = corner_shop.make_cancel(world, seed, split)
    judged = [
        Criterion("plain_words", "The agent says plainly that it is done.", "must", judge="Look at its last message."),
        Criterion("no_blame", "The agent does not blame the customer.", "must_not", judge="Look at every message."),
    ]
    return msgspec.structs.replace(task, criteria=[*task.criteria, *judged])


WORLD = World(
    name="judged",
    company="Corner Shop",
    desk="You work the order desk of Corner Shop.",
    schema=corner_shop.SCHEMA,
    images={"base": corner_shop.build},
    tools=corner_shop.WORLD.tools,
    families=[Family("cancel", 2, make, train=1, heldout=3)],
    lexicon=corner_shop.LEXICON,
    id_formats={"tickets": "TK-{:04d}"},
)
