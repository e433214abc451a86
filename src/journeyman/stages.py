"""The stages of a recipe: what is evaluated, what is trained, by which method and objective. Sections only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from journeyman.sections import Amount, Beta, Count, Fraction, Positive, Section, Size

Ratio = Annotated[float, Meta(ge=1.0, le=1e12)]

RATIO_BOUNDS = {
    "importance_sampling": (0.0, 1e12),
    "ppo_clip": (0.8, 1.28),
    "cispo": (0.0, 4.0),
    "gspo": (1 - 3e-4, 1 + 4e-4),
}
"""What the ratio is clamped to unless the recipe says otherwise: DAPO (2503.14476), the second source article, GSPO (2507.18071)."""
CORRECTION_BOUNDS = {"none": (0.0, 1e12), "truncated": (0.0, 2.0), "masked": (0.5, 2.0), "geometric": (0.999, 1.001)}


class Optimizer(Section, frozen=True):
    """A constant rate after `warmup_steps` of linear warm-up.

    `adamw` keeps two numbers for each that is trained. `adafactor` (1804.04235) keeps a row and a column of second moments for
    each matrix and no first ones, which is next to nothing; `betas` are not its own, and its `learning_rate` is relative: a step
    is as long as min(rate, 1/√steps) times the root mean square of the weight it changes, or times 0.001 where that is smaller.
    """

    kind: Literal["adamw", "adafactor"] = "adamw"
    learning_rate: Amount = 1e-4
    betas: tuple[Beta, Beta] = (0.9, 0.99)
    weight_decay: Amount = 0.0
    max_grad_norm: Size = 1.0
    warmup_steps: Count = 0


class TaskFilter(Section, frozen=True):
    """Which tasks a stage takes: those of `families` (all if empty) in `split`, in world order, of each family the first
    `per_family` (all if none), without the first `skip`, at most `limit`.

    In a recipe file the filters of an evaluation are of split `heldout` unless they say otherwise.
    """

    families: list[str] = []
    split: Literal["train", "heldout", "heldout_family"] = "train"
    per_family: Positive | None = None
    limit: Positive | None = None
    skip: Count = 0


class Objective(Section, frozen=True):
    """What an update maximises, choice by choice; each is independent of the others.

    Bounds are absolute: the values that a ratio is clamped to or kept between. Where they are left out, `RATIO_BOUNDS`
    and `CORRECTION_BOUNDS` hold those of the chosen kind.
    """

    advantage: Literal["grpo", "mean_centred", "leave_one_out", "bounded"] = "mean_centred"
    loss: Literal["importance_sampling", "ppo_clip", "cispo", "gspo"] = "ppo_clip"
    ratio_min: Fraction | None = None
    ratio_max: Ratio | None = None
    dual_clip: Annotated[float, Meta(gt=1.0, le=1e12)] | None = None
    """Of `ppo_clip`: where the advantage is negative, the objective is no less than this times the advantage."""
    aggregation: Literal["token_mean", "seq_mean_token_mean", "seq_mean_token_sum_norm"] = "token_mean"
    max_length: Positive | None = None
    """Of `seq_mean_token_sum_norm`: the constant that token sums are divided by, in tokens."""
    correction: Literal["none", "truncated", "masked", "geometric"] = "none"
    """For a sampler that differs from the trainer."""
    correction_min: Fraction | None = None
    correction_max: Ratio | None = None
    kl: Literal["none", "loss", "advantage"] = "none"
    kl_coefficient: Amount = 0.0
    reference: Literal["start", "base"] = "start"
    """Whom the KL is measured to: the weights at the stage's start, or the untouched model."""
    overlong_buffer: Count = 0
    """Sampled tokens before `limits.tokens` over which the length penalty grows from 0 to `overlong_penalty` (0: none)."""
    overlong_penalty: Amount = 1.0
    truncated: Literal["mask", "penalise", "grade"] = "grade"
    truncation_penalty: Amount = 0.2
    """Of `penalise`: taken from the reward of an episode that ran into a limit of tokens or turns."""

    @property
    def ratio_bounds(self) -> tuple[float, float]:
        """(ratio_min, ratio_max), those of the kind of loss where the recipe names none."""
        low, high = RATIO_BOUNDS[self.loss]
        return (low if self.ratio_min is None else self.ratio_min, high if self.ratio_max is None else self.ratio_max)

    @property
    def correction_bounds(self) -> tuple[float, float]:
        """(correction_min, correction_max), those of the kind of correction where the recipe names none."""
        low, high = CORRECTION_BOUNDS[self.correction]
        return (
            low if self.correction_min is None else self.correction_min,
            high if self.correction_max is None else self.correction_max,
        )


class Evaluate(Section, frozen=True, tag="evaluate", tag_field="kind"):
    """Play held-out tasks `trials` times each with the current policy."""

    name: str
    tasks: Annotated[tuple[TaskFilter, ...], Meta(min_length=1)] = (TaskFilter(split="heldout"),)
    trials: Annotated[int, Meta(ge=1, le=10_000)] = 4


class Training(Section, frozen=True):
    """What all stages that train have in common.

    Args:
        start: the weights it begins from: `previous`, `base` (a fresh adapter), the name of an earlier training stage (its end),
            or `NAME@STEP` for a step of it that `keep_references` names.
        monitor: the tasks on which the checkpoint is chosen; they are never trained on.
        evaluate_every: steps between monitoring evaluations (0: none).
        keep: which weights the stage ends with: those of its last step, or those that did best on `monitor`.
        alarm_patience: monitoring evaluations without a new best after which a rising training reward is an alarm (0: never).
        keep_references: steps, counted from 1, after which a checkpoint is made and kept for good, for later stages to begin
            from or to learn from.
    """

    name: str = ""
    tasks: TaskFilter = TaskFilter()
    start: str = "previous"
    steps: Positive = 12
    optimizer: Optimizer = Optimizer()
    checkpoint_every: Positive = 1
    evaluate_every: Count = 0
    monitor: TaskFilter | None = None
    monitor_trials: Positive = 1
    keep: Literal["last", "best"] = "last"
    alarm_patience: Count = 3
    keep_references: list[Positive] = []


SCRIPTED_TEACHERS = ("oracle", "terse", "formal", "friendly", "careful", "parallel", "recovering")
"""The reference solution as it stands, and in other words and with other habits."""
TeacherName = Annotated[str, Meta(pattern=rf"\A(?:{'|'.join(SCRIPTED_TEACHERS)}|endpoint:.+)\Z")]
"""A scripted teacher, or `endpoint:NAME`: the model behind a named endpoint."""


class Bridge(Section, frozen=True):
    """The lighter stage before RL: just enough to speak the interface.

    Args:
        share: of the traces, at most, that are trained on.
        valid_calls: the stage ends when at least so many of the calls written on the monitor's tasks are valid.
    """

    share: Fraction = 0.1
    valid_calls: Fraction = 0.95


class Sft(Training, frozen=True, tag="sft", tag_field="kind"):
    """Supervised fine-tuning on traces that verifiably passed.

    Args:
        teachers: who plays: scripted ones, and models as `endpoint:NAME`.
        attempts: of each teacher at each task; None: as many as fill `traces_per_task` if all pass.
        traces_per_task: most traces kept of one task, spread over the teachers in turn.
        epochs: how often the traces are gone through, in place of `steps`.
        bridge: trains on few of the traces and ends early; None: full fine-tuning.
    """

    name: str = "sft"
    teachers: Annotated[tuple[TeacherName, ...], Meta(min_length=1)] = ("oracle",)
    attempts: Positive | None = None
    traces_per_task: Positive = 1
    steps: Positive = 30
    epochs: Size | None = None
    batch: Positive = 16
    bridge: Bridge | None = None
    optimizer: Optimizer = Optimizer(learning_rate=1e-3)
    checkpoint_every: Positive = 10

    @property
    def attempts_each(self) -> int:
        """Attempts of each teacher at each task."""
        return self.attempts or -(-self.traces_per_task // len(self.teachers))


class Sampled(Training, frozen=True):
    """What all stages that play groups of episodes have in common.

    Args:
        refill_rounds: rounds of fresh groups that may replace groups without signal.
        signal_tolerance: a group whose rewards spread no more than this has no signal.
        max_staleness: versions of the weights that sampling may lag behind (0: sampling and training take turns). Above 0 it
            goes on while the optimizer works, and needs `objective.correction`.
    """

    groups: Positive = 8
    group_size: Annotated[int, Meta(ge=2, le=10_000)] = 8
    updates_per_sync: Positive = 2
    objective: Objective = Objective()
    refill_rounds: Count = 1
    signal_tolerance: Amount = 1e-6
    max_staleness: Annotated[int, Meta(ge=0, le=64)] = 0


class Grpo(Sampled, frozen=True, tag="grpo", tag_field="kind"):
    """Group-relative policy optimisation on graded episodes."""

    name: str = "grpo"


class Teacher(Section, frozen=True):
    """Whose distribution on-policy distillation follows.

    Args:
        kind: `stage` (the weights of an earlier training stage), `model` (another model, with the same tokenizer), or
            `endpoint` (a server that returns log-probabilities of a prompt's tokens).
        stage: its name, or `NAME@STEP` (see `Training.start`).
        model: a model name or folder; `adapter`: a checkpoint or run folder whose weights go on it.
        endpoint: a name of `[endpoints]`.
    """

    kind: Literal["stage", "model", "endpoint"] = "stage"
    stage: str = ""
    model: str = ""
    adapter: str = ""
    endpoint: str = ""


class Opd(Sampled, frozen=True, tag="opd", tag_field="kind"):
    """On-policy distillation that turns into RL: β times the teacher's credit plus (1 − β) times the outcome's.

    While β is above 0 a group whose rewards are all equal is trained on too: `refill_rounds` and `signal_tolerance` have
    their meaning where β has come to 0.

    Args:
        beta_start, beta_end, beta_steps, beta_schedule: β over the steps of the stage; `beta_steps` 0: all of them.
        kl_clip: bound of the teacher's credit for one token, nats.
    """

    name: str = "opd"
    teacher: Teacher = Teacher()
    beta_start: Fraction = 1.0
    beta_end: Fraction = 0.0
    beta_steps: Count = 0
    beta_schedule: Literal["linear", "cosine"] = "linear"
    kl_clip: Size = 5.0
    refill_rounds: Count = 0


class Pivot(Sampled, frozen=True, tag="pivot", tag_field="kind"):
    """PivotRL: fresh actions at those turns of solved traces where the reference sometimes fails. `groups` are pivots.

    Args:
        traces: name of an earlier training stage whose solved episodes on `tasks` are the traces (an `sft` stage: those it
            learnt from); none: traces of the oracle, played for this stage.
        traces_per_task: most traces of one task.
        profile_size: attempts at each candidate, with the weights at the stage's start.
        profile_threshold: a pivot's mean reward in the profile is below it.
        continuation: `turn`: one turn is sampled and compared with the trace's; `episode`: the episode goes on to its end, and
            its outcome is graded.
        prior: of the Beta posteriors: `flat` (1, 1), or the successes and failures of the profile.
        decay: of what a posterior knew before, the share that the next group leaves (1: all).
        reprofile_after: monitoring evaluations without improvement after which pivots are chosen anew, with the weights of
            then (0: never).
    """

    name: str = "pivot"
    traces: str = ""
    traces_per_task: Positive = 1
    profile_size: Annotated[int, Meta(ge=8, le=10_000)] = 8
    profile_threshold: Fraction = 0.625
    continuation: Literal["turn", "episode"] = "turn"
    prior: Literal["flat", "profile"] = "profile"
    decay: Fraction = 0.9
    reprofile_after: Count = 0
    updates_per_sync: Positive = 1
    refill_rounds: Count = 0
    objective: Objective = Objective(advantage="bounded", loss="cispo")
    optimizer: Optimizer = Optimizer(learning_rate=1e-5)


Stage = Evaluate | Sft | Grpo | Opd | Pivot


def stage_kind(stage: Stage | Training) -> str:
    """The word of a recipe for its kind."""
    return str(stage.__struct_config__.tag)


def teacher_endpoints(stages: Sequence[Stage]) -> dict[str, str]:
    """The endpoints that teachers sit behind, by the keys of the recipe that name them."""
    return {
        f"stage {one.name}: teacher.endpoint": one.teacher.endpoint
        for one in stages
        if isinstance(one, Opd) and one.teacher.kind == "endpoint"
    }


def trace_endpoints(stages: Sequence[Stage]) -> dict[str, str]:
    """The endpoints whose models play traces, by the keys of the recipe that name them."""
    return {
        f"stage {one.name}: teachers[{place}]": name.removeprefix("endpoint:")
        for one in stages
        if isinstance(one, Sft)
        for place, name in enumerate(one.teachers)
        if name.startswith("endpoint:")
    }
