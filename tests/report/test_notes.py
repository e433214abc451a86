"""Notes beside the numbers: training without an update, who is labelled how, tokens that were estimated."""

from __future__ import annotations

import msgspec
from made_run import RECIPE, demo_run, make_episode, make_tasks

from journeyman.episode import Usage
from journeyman.recipe import parse_recipe
from journeyman.report.notes import phase_notes, policy_label, run_notes


def test_training_without_an_update_is_said() -> None:
    recipe = parse_recipe(RECIPE, "r.toml")
    silent = [{"kind": "train", "stage": "grpo", "step": step, "updates": 0} for step in (1, 2, 3)]
    assert run_notes(recipe, silent) == [
        "RL made no update: in none of the 3 steps of grpo did the rewards of a group tell its attempts apart, so the "
        "model after it is the model before it."
    ]
    assert run_notes(recipe, [*silent, {"kind": "train", "stage": "grpo", "step": 4, "updates": 1}]) == []
    assert run_notes(recipe, []) == []
    assert run_notes(recipe, demo_run().metrics()) == []


def test_alarms_and_chosen_weights_are_said() -> None:
    recipe = parse_recipe(RECIPE, "r.toml")
    alarm = {"kind": "alarm", "stage": "grpo", "step": 9, "message": "grpo: since step 3 the training reward rises."}
    chosen = {"kind": "chosen", "stage": "grpo", "step": 3, "last_step": 12, "pass_rate": 0.4567, "evaluations": 4}
    assert run_notes(recipe, [alarm, chosen]) == [
        "Alarm: grpo: since step 3 the training reward rises.",
        "grpo ended with the weights of its step 3 of 12, the best by pass rate (0.457) in 4 evaluations on its "
        "monitoring tasks.",
    ]


def test_estimated_tokens_are_said() -> None:
    task = make_tasks({"plan_change": (1, 1)})[0]
    one = make_episode(task, "base", 0, 0, passed=True)
    guessed = msgspec.structs.replace(one, usage={"policy": Usage(9, 9, 5, 2), "judge": Usage(1, 1, 1)})
    recipe = parse_recipe(RECIPE, "r.toml")
    assert phase_notes("Base", [one, guessed], recipe) == [
        "Base: the endpoint of the policy did not tell the tokens of 2 requests; they are estimated from the length "
        "of the texts."
    ]
    assert phase_notes("Base", [one], recipe) == []


def test_a_run_without_training_is_labelled_by_who_acted() -> None:
    plain = [{"role": "policy", "version": "abc"}]
    assert policy_label(["oracle", "oracle"], plain) == "oracle"
    assert policy_label(["tiny-random"], [{"role": "policy", "version": "abc + def"}]) == "tiny-random with adapter"
    assert policy_label(["a", "b"], plain) is None
    assert policy_label([], plain) is None
