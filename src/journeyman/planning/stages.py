"""What a recipe will do, counted before it begins: steps, episodes, tokens. Pure arithmetic over a recipe and its tasks.

Counts are of what is sampled, not of what is kept: a group that has no signal and is replaced was played all the same.
Where they depend on what happens they are a `Range`. Tokens come twice: the most that the limits allow, and as many as
there were if the model were as brief as the reference solutions (`Lengths`), which is no forecast of a model's length.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil

from msgspec import Struct

from journeyman.curriculum.pools import select
from journeyman.episode import SamplingSettings
from journeyman.recipe import Evaluate, Opd, Pivot, Recipe, Sampled, Sft, Training, stage_kind
from journeyman.staging.context import stage_pool
from journeyman.task import Task
from journeyman.train.sft import draws_of


class Range(Struct, frozen=True):
    """At least and at most."""

    least: int
    most: int

    def times(self, factor: float) -> Range:
        """Both, times a factor, rounded up."""
        return Range(ceil(self.least * factor), ceil(self.most * factor))

    def plus(self, other: Range) -> Range:
        """Both sums."""
        return Range(self.least + other.least, self.most + other.most)


NOTHING = Range(0, 0)


class Lengths(Struct, frozen=True):
    """Reference solutions of some tasks under the recipe's limits, in the model's tokens; means over the solved ones.

    Args:
        played, solved: tasks that were tried; that the reference solved within the limits.
        prompt: tokens before the first turn.
        sampled: tokens of the assistant's turns.
        stream: tokens of the whole episode.
        turns: the assistant's.
    """

    played: int
    solved: int
    prompt: float
    sampled: float
    stream: float
    turns: float


LengthsOf = Callable[[Sequence[Task]], Lengths]


class StagePlan(Struct, frozen=True):
    """One stage.

    Args:
        tasks: how many it plays or trains on.
        steps: training steps (0: it only evaluates); fewer where a stage may end early.
        updates: optimizer steps at most.
        groups: groups sampled for training, those dropped included.
        episodes: episodes sampled for training or evaluation.
        traces: episodes of the reference that are played for their traces.
        monitor_episodes: episodes of monitoring evaluations.
        epochs: how often a task (of `sft`: a trace) is drawn, least and most.
        sampled_tokens: sampled at most, all episodes of the three kinds but traces.
        trained: episodes or traces that updates are made of, at most.
        trained_tokens: sampled or reference tokens with a loss, at most.
        expected_sampled, expected_trained: the same, as brief as the reference. None where no length is known.
        expected_computed: tokens of the streams that training computes (prompts included).
        expected_scored: tokens that a teacher or reference reads without an update.
        lengths: of the reference on the stage's tasks.
    """

    name: str
    kind: str
    tasks: int
    steps: Range
    updates: int
    groups: Range
    episodes: Range
    traces: int
    monitor_episodes: int
    epochs: tuple[float, float]
    sampled_tokens: int
    trained: int
    trained_tokens: int
    expected_sampled: Range | None
    expected_trained: int | None
    expected_computed: int | None
    expected_scored: int | None
    lengths: Lengths | None


def plan_stages(
    recipe: Recipe, tasks: Sequence[Task], held_out_worlds: Collection[str] = (), lengths: LengthsOf | None = None
) -> list[StagePlan]:
    """The plan of every stage, in order.

    Args:
        tasks: all of the world's.
        held_out_worlds: by the names that tasks bear.
        lengths: measures reference solutions; None: nothing is expected of tokens.

    Raises:
        RecipeError: a filter that fits nothing, or a training stage on held-out tasks.
    """
    plans = []
    for stage in recipe.stage:
        if isinstance(stage, Evaluate):
            chosen = select(tasks, stage.tasks, f"stage {stage.name}")
            plans.append(_evaluation(recipe, stage, chosen, lengths))
            continue
        pool = stage_pool(tasks, stage, held_out_worlds)
        watched = 0
        if stage.monitor is not None and stage.evaluate_every:
            watched = len(select(tasks, [stage.monitor], f"stage {stage.name}, monitor"))
        measured = lengths(pool) if lengths is not None else None
        if isinstance(stage, Sft):
            plans.append(_imitation(recipe, stage, pool, measured, watched))
        else:
            assert isinstance(stage, Sampled)
            plans.append(_played(recipe, stage, pool, measured, watched))
    return plans


def longest_answer(recipe: Recipe, settings: SamplingSettings) -> int:
    """The most tokens that one episode can sample: by its own limit, by turn, and by what its context holds (with thinking
    the context is begun anew where the template drops thoughts, and does not bind)."""
    most = min(recipe.limits.tokens, recipe.limits.turns * settings.max_tokens)
    return most if settings.thinking else min(most, settings.context_limit)


def _evaluation(recipe: Recipe, stage: Evaluate, tasks: Sequence[Task], lengths: LengthsOf | None) -> StagePlan:
    episodes = Range(len(tasks) * stage.trials, len(tasks) * stage.trials)
    measured = lengths(tasks) if lengths is not None else None
    return StagePlan(
        name=stage.name,
        kind="evaluate",
        tasks=len(tasks),
        steps=NOTHING,
        updates=0,
        groups=NOTHING,
        episodes=episodes,
        traces=0,
        monitor_episodes=0,
        epochs=(0.0, 0.0),
        sampled_tokens=episodes.most * longest_answer(recipe, recipe.sampling.eval),
        trained=0,
        trained_tokens=0,
        expected_sampled=episodes.times(measured.sampled) if measured else None,
        expected_trained=0 if measured else None,
        expected_computed=0 if measured else None,
        expected_scored=0 if measured else None,
        lengths=measured,
    )


def _imitation(recipe: Recipe, stage: Sft, pool: Sequence[Task], measured: Lengths | None, watched: int) -> StagePlan:
    played = len(pool) * len(stage.teachers) * stage.attempts_each
    traces = min(played, len(pool) * stage.traces_per_task)
    if stage.bridge is not None:
        traces = max(1, int(round(stage.bridge.share * traces, 9)))
    drawn = draws_of(stage, traces)
    most = ceil(drawn / stage.batch)
    # A bridge may end at any of its monitorings.
    least = min(stage.evaluate_every, most) if stage.bridge is not None else most
    monitored = _monitored(stage, most, watched)
    return StagePlan(
        name=stage.name,
        kind=stage_kind(stage),
        tasks=len(pool),
        steps=Range(least, most),
        updates=most,
        groups=NOTHING,
        episodes=NOTHING,
        traces=played,
        monitor_episodes=monitored,
        epochs=(least / most * drawn / traces, drawn / traces),
        sampled_tokens=monitored * longest_answer(recipe, recipe.sampling.eval),
        trained=drawn,
        trained_tokens=drawn * recipe.sampling.train.context_limit,
        expected_sampled=Range(monitored, monitored).times(measured.sampled) if measured else None,
        expected_trained=ceil(drawn * measured.sampled) if measured else None,
        expected_computed=ceil(drawn * measured.stream) if measured else None,
        expected_scored=0 if measured else None,
        lengths=measured,
    )


def _played(
    recipe: Recipe,
    stage: Sampled,
    pool: Sequence[Task],
    measured: Lengths | None,
    watched: int,
) -> StagePlan:
    least, most = stage.steps * stage.groups, stage.steps * stage.groups * (1 + stage.refill_rounds)
    groups = Range(least, most)
    train = recipe.sampling.train
    per_episode, share = longest_answer(recipe, train), 1.0
    traces, profiled = 0, NOTHING
    if isinstance(stage, Pivot):
        traces = 0 if stage.traces else len(pool) * stage.traces_per_task
        # Every assistant turn of every trace is a candidate, which the reference plays `profile_size` times.
        turns = measured.turns if measured else recipe.limits.turns
        profiled = Range(0, ceil(len(pool) * stage.traces_per_task * turns) * stage.profile_size)
        if stage.continuation == "turn":
            per_episode, share = train.max_tokens, 1 / max(turns, 1)
    episodes = groups.times(stage.group_size).plus(profiled)
    kept = least * stage.group_size
    monitored = _monitored(stage, stage.steps, watched)
    readers = int(isinstance(stage, Opd)) + int(stage.objective.kl != "none")
    # Pivots are drawn by their posterior, not in turn.
    drawn = (0.0, 0.0) if isinstance(stage, Pivot) else (least / len(pool), most / len(pool))
    return StagePlan(
        name=stage.name,
        kind=stage_kind(stage),
        tasks=len(pool),
        steps=Range(stage.steps, stage.steps),
        updates=stage.steps * stage.updates_per_sync,
        groups=groups,
        episodes=episodes,
        traces=traces,
        monitor_episodes=monitored,
        epochs=drawn,
        sampled_tokens=episodes.most * per_episode + monitored * longest_answer(recipe, recipe.sampling.eval),
        trained=kept,
        trained_tokens=kept * per_episode,
        expected_sampled=(
            episodes.times(measured.sampled * share).plus(Range(monitored, monitored).times(measured.sampled))
            if measured
            else None
        ),
        expected_trained=ceil(kept * measured.sampled * share) if measured else None,
        expected_computed=ceil(kept * measured.stream) if measured else None,
        expected_scored=ceil(readers * kept * measured.stream) if measured else None,
        lengths=measured,
    )


def _monitored(stage: Training, steps: int, watched: int) -> int:
    """Episodes of monitoring evaluations."""
    if not stage.evaluate_every:
        return 0
    # Where the best weights are kept, the last are evaluated too.
    last = stage.keep == "best" and steps % stage.evaluate_every > 0
    return (steps // stage.evaluate_every + last) * watched * stage.monitor_trials
