"""Where lint tries things out: plays one task's oracle, edits of it, and the scripted policies, once each.

The bench knows nothing of rules. It plays with limits wide enough that only the task decides how an episode ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from journeyman.codec import canonical, seed_of
from journeyman.episode import Episode, Seeds
from journeyman.recipe import Limits, Reward
from journeyman.rollout.loop import EpisodeSpec, PlaySettings, play
from journeyman.rollout.scripted import SCRIPTED, ScriptedPolicy
from journeyman.task import Call, Splice, Step, Task
from journeyman.world import World

LINT_LIMITS = Limits(turns=80, calls=200, tokens=100_000, repeats=3)


def spliced(oracle: Sequence[Step], splices: Sequence[Splice]) -> list[Step]:
    """The oracle with `splices` applied. Positions are those of the unedited oracle.

    Raises:
        ValueError: a splice reaches outside the oracle or into another splice.
    """
    steps = list(oracle)
    ceiling = len(steps)
    for splice in sorted(splices, key=lambda one: one.at, reverse=True):
        if splice.at < 0 or splice.drop < 0 or splice.at + splice.drop > ceiling:
            raise ValueError(f"splice at {splice.at} (drop {splice.drop}) leaves the {len(oracle)} oracle steps")
        steps[splice.at : splice.at + splice.drop] = splice.steps
        ceiling = splice.at
    return steps


class Bench:
    """Plays variants of one task and remembers what it played.

    Args:
        world: the task's world.
        task: the task under lint; it need not be sealed.
        runner: the event loop that every bench of one lint shares.
    """

    def __init__(self, world: World, task: Task, runner: asyncio.Runner) -> None:
        self.world = world
        self.task = task
        self._runner = runner
        self._played: dict[bytes, Episode] = {}
        self._probed: dict[str, Episode] = {}

    def is_write(self, step: Step) -> bool:
        """Whether the step calls a tool that writes."""
        tool = self.world.tools_by_name.get(step.tool) if isinstance(step, Call) else None
        return tool is not None and tool.kind == "write"

    @property
    def oracle(self) -> Episode:
        """The oracle's episode."""
        return self.play_steps(self.task.oracle)

    def play_steps(self, steps: Sequence[Step]) -> Episode:
        """The episode of the oracle policy on the task with `steps` as its oracle."""
        key = canonical(list(steps))
        if key not in self._played:
            self._played[key] = self.play_fresh(SCRIPTED["oracle"], steps)
        return self._played[key]

    def probe(self, policy: ScriptedPolicy) -> Episode:
        """The episode of a policy on the task as it is."""
        if policy.name not in self._probed:
            self._probed[policy.name] = self.play_fresh(policy)
        return self._probed[policy.name]

    @property
    def probes(self) -> list[Episode]:
        """The oracle's episode and that of every policy probed so far."""
        return [self.oracle, *self._probed.values()]

    def play_fresh(self, policy: ScriptedPolicy, steps: Sequence[Step] | None = None) -> Episode:
        """A new episode of a scripted policy, never one remembered."""
        task = self.task if steps is None else msgspec.structs.replace(self.task, oracle=list(steps))
        task = task.sealed()
        seeds = Seeds(
            world=seed_of("lint", self.task.id), user=seed_of("lint", self.task.id, "user"), episode=seed_of("lint", 0)
        )
        spec = EpisodeSpec(id=f"lint/0/{self.task.id}/0", task=task, seeds=seeds)
        settings = PlaySettings(limits=LINT_LIMITS, reward=Reward())
        # Straight on the loop: `Runner.run` changes signal handlers each time, at the price of another play.
        return self._runner.get_loop().run_until_complete(play(spec, self.world, policy, settings))
