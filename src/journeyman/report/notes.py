"""What a reader must know beside the numbers, one sentence each: who parsed, what was left out, what did not happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from journeyman.episode import Episode
from journeyman.recipe import Recipe, Sampled
from journeyman.report.text import counted

PARSED_BY_ENDPOINT = (
    "parsed by the endpoint, not by this project's interpreter: not comparable token for token with trained models."
)


def run_notes(recipe: Recipe, metrics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Notes on the run as a whole: an endpoint that acted, training without an update, alarms, whose weights were kept."""
    notes = []
    if recipe.policy.kind == "endpoint":
        notes.append(f"The answers of endpoint {recipe.policy.endpoint} were {PARSED_BY_ENDPOINT}")
    lines = list(metrics)
    for stage in recipe.stage:
        steps = [line for line in lines if line.get("kind") == "train" and line.get("stage") == stage.name]
        if isinstance(stage, Sampled) and steps and not any(line.get("updates") for line in steps):
            notes.append(
                f"RL made no update: in none of the {counted(len(steps), 'step')} of {stage.name} did the rewards of a "
                "group tell its attempts apart, so the model after it is the model before it."
            )
    notes += [f"Alarm: {line['message']}" for line in lines if line.get("kind") == "alarm"]
    notes += [
        f"{line['stage']} ended with the weights of its step {line['step']} of {line['last_step']}, the best by pass rate "
        f"({line['pass_rate']:.3f}) in {counted(line['evaluations'], 'evaluation')} on its monitoring tasks."
        for line in lines
        if line.get("kind") == "chosen"
    ]
    return notes


def phase_notes(label: str, episodes: Sequence[Episode], recipe: Recipe) -> list[str]:
    """Notes on one evaluation phase: criteria nobody decided, tokens that were estimated."""
    notes = []
    open_criteria = sum(
        result.met is None for one in episodes if one.verdict is not None for result in one.verdict.criteria
    )
    if open_criteria:
        why = "the judge gave no answer that counts" if recipe.judge.endpoint else "the recipe names no judge"
        notes.append(
            f"{label}: {counted(open_criteria, 'decision')} on optional criteria that only a judge can make "
            f"{'was' if open_criteria == 1 else 'were'} left out ({why})."
        )
    estimated = {role: 0 for one in episodes for role in one.usage}
    for one in episodes:
        for role, usage in one.usage.items():
            estimated[role] += usage.estimated
    for role, count in sorted(estimated.items()):
        if count:
            notes.append(
                f"{label}: the endpoint of the {role} did not tell the tokens of {counted(count, 'request')}; "
                "they are estimated from the length of the texts."
            )
    return notes


def policy_label(policies: Iterable[str], actors: Iterable[Any]) -> str | None:
    """What to call a phase of a run that trained nothing: its one policy, with its adapter where it had one."""
    names = sorted(set(policies))
    if len(names) != 1:
        return None
    for actor in actors:
        role, version = _field(actor, "role"), _field(actor, "version")
        if role == "policy" and " + " in version:
            return f"{names[0]} with adapter"
    return names[0]


def _field(actor: Any, name: str) -> str:
    return str(actor.get(name, "") if isinstance(actor, Mapping) else getattr(actor, name, ""))
