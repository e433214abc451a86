"""A desk whose callers only want to be heard out: three answers, and they leave. A tiny random model can work there, the length of
what it says tells its attempts apart, and each answer of a caller may take as long as one likes."""

from __future__ import annotations

import closing_desk
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.task import Outcome, Say, Scenario, Split, Task
from journeyman.world import Family, World, task_id

ANSWERS = 3
"""Messages of the agent that a caller bears: each but the last is answered."""


class CurtRenderer(ChatMLRenderer):
    """A random model hardly ever draws the stop token: here every eighth token of the vocabulary ends a turn."""

    @property
    def stop_ids(self) -> frozenset[int]:
        return frozenset(range(2, 1024, 8))


def _listening(world: World, seed: int, split: Split) -> Task:
    return Task(
        id=task_id(world.name, "listening", split, seed),
        world=world.name,
        world_version=world.version,
        family="listening",
        level=1,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        request=f"Hear me out ({seed}).",
        scenario=Scenario(
            persona="plain",
            openings=[f"Hello, hear me out please ({seed})."],
            goal="be heard out",
            patience=ANSWERS,
        ),
        outcomes=[Outcome(end="left")],
        criteria=[],
        oracle=[Say("I am listening.")] * ANSWERS,
    )


WORLD = World(
    name="waiting_desk",
    company="Waiting Ltd",
    desk="You hear people out.",
    schema=closing_desk.SCHEMA,
    images={"base": closing_desk.fill},
    tools=[closing_desk.look, closing_desk.transfer_to_human],
    families=[Family("listening", 1, _listening, train=12, heldout=4)],
)
