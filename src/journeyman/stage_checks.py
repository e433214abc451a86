"""What a stage of a recipe must not ask for: contradictions between its keys, and stages that do not come before it."""

from __future__ import annotations

from collections.abc import Sequence

from journeyman.errors import RecipeError
from journeyman.stages import Grpo, Objective, Opd, Pivot, Sampled, Sft, Stage, Teacher, Training


def check_training(stage: Training, earlier: Sequence[Stage], where: str) -> None:
    """Refuse a training stage that contradicts itself or names a stage that does not come before it.

    Args:
        earlier: the stages before it.

    Raises:
        RecipeError: naming the key and the remedy.
    """
    place = f"stage {stage.name}"
    if stage.tasks.split != "train":
        raise RecipeError(where, f"{place}: tasks.split", 'held-out tasks cannot feed training: use split = "train".')
    trained = _names_of_weights(earlier)
    if stage.start not in ("previous", "base", *trained):
        known = ", ".join(["previous", "base", *trained])
        raise RecipeError(
            where, f"{place}: start", f"no training stage {stage.start[:80]!r} before it; known: {known}."
        )
    if stage.evaluate_every and stage.monitor is None:
        raise RecipeError(where, f"{place}: monitor", "evaluate_every needs a monitor task filter.")
    late = [step for step in stage.keep_references if step > stage.steps]
    if late:
        raise RecipeError(
            where, f"{place}: keep_references", f"there is no step {late[0]}: the stage ends after {stage.steps}."
        )
    if stage.keep == "best" and not stage.evaluate_every:
        raise RecipeError(where, f"{place}: keep", '"best" is chosen on the monitor: set monitor and evaluate_every.')
    if stage.keep == "best" and stage.steps in stage.keep_references:
        raise RecipeError(
            where,
            f"{place}: keep_references",
            f"step {stage.steps} is the last, whose checkpoint holds the best weights: leave it out, or keep the last.",
        )
    if isinstance(stage, Sft):
        _check_sft(stage, where, place)
    if isinstance(stage, Sampled):
        if stage.updates_per_sync > stage.groups:
            raise RecipeError(
                where, f"{place}: updates_per_sync", "more updates than groups: each update needs a group."
            )
        _check_objective(stage.objective, where, f"{place}: objective")
        if stage.max_staleness and isinstance(stage, Pivot):
            raise RecipeError(
                where, f"{place}: max_staleness", "pivots are drawn by what earlier steps found: it must be 0 here."
            )
        if stage.max_staleness and stage.objective.correction == "none":
            raise RecipeError(
                where,
                f"{place}: objective.correction",
                f"max_staleness = {stage.max_staleness} trains on what older weights sampled, which must be corrected for: "
                'set correction = "truncated" (or "masked", "geometric"), or max_staleness = 0.',
            )
    if isinstance(stage, Opd):
        _check_teacher(stage.teacher, trained, where, f"{place}: teacher")
        if not stage.beta_start and not stage.beta_end:
            raise RecipeError(where, f"{place}: beta_start", 'the teacher would never count: use kind = "grpo".')
    if isinstance(stage, Pivot):
        _check_pivot(stage, earlier, where, place)


def _check_pivot(stage: Pivot, earlier: Sequence[Stage], where: str, place: str) -> None:
    played = [one.name for one in earlier if isinstance(one, Sft | Grpo | Opd)]
    if stage.traces and stage.traces not in played:
        known = ", ".join(played) or "none"
        raise RecipeError(
            where,
            f"{place}: traces",
            f"no stage {stage.traces[:80]!r} of whole episodes before it: name one or leave it out; known: {known}.",
        )
    if stage.reprofile_after and not stage.evaluate_every:
        raise RecipeError(
            where, f"{place}: reprofile_after", "counts monitoring evaluations: set monitor and evaluate_every."
        )


def _check_sft(stage: Sft, where: str, place: str) -> None:
    if len(set(stage.teachers)) < len(stage.teachers):
        raise RecipeError(where, f"{place}: teachers", "one of them is there twice: raise `attempts` instead.")
    if stage.epochs is not None and stage.steps != Sft().steps:
        raise RecipeError(where, f"{place}: epochs", "goes in place of `steps`: set one of them.")
    if stage.bridge is None:
        return
    if stage.monitor is None or not stage.evaluate_every:
        raise RecipeError(
            where, f"{place}: bridge", "ends by the calls written on the monitor: set monitor and evaluate_every."
        )
    if stage.monitor.split != "train":
        raise RecipeError(
            where, f"{place}: monitor.split", 'held-out tasks must not decide when a bridge ends: use split = "train".'
        )


def _names_of_weights(earlier: Sequence[Stage]) -> list[str]:
    """The names by which the weights of earlier training stages are known."""
    return [
        name
        for one in earlier
        if isinstance(one, Training)
        for name in (one.name, *(f"{one.name}@{step}" for step in one.keep_references))
    ]


def _check_objective(objective: Objective, where: str, place: str) -> None:
    low, high = objective.ratio_bounds
    if not low <= 1 <= high:
        raise RecipeError(where, f"{place}.ratio_max", f"the ratio 1 must lie in [{low:g}, {high:g}]: widen it.")
    if objective.loss == "importance_sampling" and (objective.ratio_min, objective.ratio_max) != (None, None):
        raise RecipeError(
            where,
            f"{place}.ratio_max",
            'loss = "importance_sampling" bounds no ratio: leave both out, or use a correction.',
        )
    if objective.dual_clip is not None and objective.loss != "ppo_clip":
        raise RecipeError(where, f"{place}.dual_clip", f'only loss = "ppo_clip" has it, not "{objective.loss}".')
    if objective.aggregation == "seq_mean_token_sum_norm" and objective.max_length is None:
        raise RecipeError(
            where, f"{place}.max_length", "token sums are divided by a constant: give it, in tokens (limits.tokens)."
        )
    if objective.aggregation != "seq_mean_token_sum_norm" and objective.max_length is not None:
        raise RecipeError(where, f"{place}.max_length", 'belongs to aggregation = "seq_mean_token_sum_norm".')
    if (objective.kl == "none") != (objective.kl_coefficient == 0):
        raise RecipeError(where, f"{place}.kl_coefficient", "goes with kl: set both or neither.")
    low, high = objective.correction_bounds
    if objective.correction != "none" and not low < high:
        raise RecipeError(where, f"{place}.correction_min", f"must be below correction_max ({high:g}).")


def _check_teacher(teacher: Teacher, trained: Sequence[str], where: str, place: str) -> None:
    if teacher.kind == "stage" and teacher.stage not in trained:
        raise RecipeError(
            where,
            f"{place}.stage",
            f"no training stage {teacher.stage[:80]!r} before it; known: {', '.join(trained) or 'none'}.",
        )
    if not getattr(teacher, teacher.kind):
        raise RecipeError(where, f"{place}.{teacher.kind}", f'kind = "{teacher.kind}" needs it.')
    for kind in ("stage", "model", "endpoint"):
        if kind != teacher.kind and getattr(teacher, kind):
            raise RecipeError(where, f"{place}.{kind}", f'goes with kind = "{kind}": leave it out.')
    if teacher.adapter and teacher.kind != "model":
        raise RecipeError(where, f"{place}.adapter", 'goes with kind = "model": leave it out.')
