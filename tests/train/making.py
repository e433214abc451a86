"""Made records for the tests of training."""

from __future__ import annotations

import msgspec

from journeyman.episode import Episode, Failure, Group, SamplingSettings, Seeds, Segment, Usage, Verdict
from journeyman.task import Outcome, Say, Split, Task
from journeyman.train.provenance import Actor, Provenance

SEGMENT = Segment([5, 70_000, 7, 8], [0, 1, 1, 0], [0.0, -0.5, -1.25, 0.0], [0, 3, 3, 0], 1.0)


def episode(
    id: str = "rl/0000/0000/00",
    reward: float = 0.5,
    failure: Failure = "none",
    attempt: int = 0,
    segments: list[Segment] | None = None,
    task_id: str = "w/f/train-000",
    passed: bool = True,
) -> Episode:
    """A sealed episode. Broken ones have no verdict, as the loop leaves them."""
    broken = failure in ("user", "infrastructure")
    return Episode(
        id=id,
        attempt=attempt,
        task_id=task_id,
        task_hash="h",
        family="f",
        seeds=Seeds(1, 2, 3),
        policy="model",
        sampling=SamplingSettings(),
        messages=[],
        calls=[],
        events=[],
        changes=[],
        ended="final",
        verdict=None if broken else Verdict(passed, 0, [], [], [], True, True, "1"),
        reward=reward,
        failure=failure,
        segments=[SEGMENT] if segments is None else segments,
        usage={"policy": Usage(input=10, output=2, requests=1)},
        timing={"total": 0.25},
    ).sealed()


def group(rewards: list[float], id: str = "rl/0000/0000", failures: dict[int, Failure] | None = None) -> Group:
    """A group with these rewards; `failures` by trial."""
    episodes = [
        episode(f"{id}/{trial:02d}", reward, (failures or {}).get(trial, "none"))
        for trial, reward in enumerate(rewards)
    ]
    return Group(id, "w/f/train-000", episodes)


def task(id: str = "w/f/train-000", split: Split = "train", world: str = "w") -> Task:
    """A task that is done with one message."""
    return Task(
        id=id,
        world=world,
        world_version="v",
        family="f",
        level=1,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        request="Close it.",
        outcomes=[Outcome(end="final")],
        criteria=[],
        oracle=[Say("Done.")],
    ).sealed()


def provenance(**changes: object) -> Provenance:
    """That of a run with the fake engine."""
    plain = Provenance("", "w", "v", [Actor("policy", "fake", "abc")], 0, "float32", "cpu")
    return msgspec.structs.replace(plain, **changes)
