"""A run that never happened: episodes drawn from known pass rates, for tests of the report."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from journeyman.episode import (
    CallRecord,
    CriterionResult,
    Episode,
    Event,
    FactResult,
    Failure,
    Message,
    RowResult,
    SamplingSettings,
    Seeds,
    ToolCall,
    Usage,
    Verdict,
)
from journeyman.recipe import Recipe, parse_recipe
from journeyman.task import CallPattern, Criterion, Happened, Outcome, RowChange, Task

RECIPE = """
name = "demo"
world = "telecom"
seed = 7
[[stage]]
kind = "evaluate"
name = "base"
[[stage]]
kind = "sft"
name = "sft"
[[stage]]
kind = "evaluate"
name = "after-sft"
[[stage]]
kind = "grpo"
name = "grpo"
steps = 12
[[stage]]
kind = "evaluate"
name = "after-rl"
"""

FAMILIES = {
    "plan_change": (1, 16),
    "address_update": (1, 16),
    "past_due_payment": (4, 10),
    "roaming_dispute": (3, 10),
    "refund_refusal": (4, 8),
}


def make_tasks(families: dict[str, tuple[int, int]] = FAMILIES) -> list[Task]:
    """Held-out tasks with three criteria each."""
    made = []
    for family, (level, count) in families.items():
        for seed in range(count):
            made.append(
                Task(
                    id=f"telecom/{family}/heldout-{seed:03d}",
                    world="telecom",
                    world_version="w1",
                    family=family,
                    level=level,
                    split="heldout",
                    now="2026-03-02T09:15:00",
                    image="base",
                    request="Please move my line to the 20 GB plan.",
                    outcomes=[Outcome()],
                    criteria=[
                        Criterion("policy", "The plan-change policy is read before the plan is changed.", "must", True),
                        Criterion("record", "The customer's line is looked up before it is written.", "must", True),
                        Criterion(
                            "no-repeat",
                            "The plan change is not submitted twice.",
                            "must_not",
                            predicate=Happened(CallPattern("change_plan"), min=2),
                        ),
                    ],
                    oracle=[],
                ).sealed()
            )
    return made


def make_episode(
    task: Task,
    phase: str,
    group: int,
    trial: int,
    *,
    passed: bool,
    clean: bool | None = None,
    failure: Failure = "none",
    step: int = 0,
    talk: bool = True,
) -> Episode:
    """One attempt at a plan change that ends as asked."""
    clean = passed if clean is None else clean
    calls = _calls(passed, clean)
    verdict = Verdict(
        passed=passed,
        outcome=0,
        rows=[RowResult("line", "matched" if passed else "missing", "" if passed else "lines.plan stays basic")],
        facts=[FactResult("plan", passed)],
        criteria=[
            CriterionResult(
                "policy",
                clean,
                1 if clean else None,
                "policy_search before change_plan" if clean else "no policy look-up",
            ),
            CriterionResult("record", passed, 0),
            CriterionResult("no-repeat", True),
        ],
        ended=True,
        required_met=clean,
        grader_version="g1",
    )
    invalid = failure in ("user", "infrastructure")
    return Episode(
        id=f"{phase}/{step}/{group}/{trial}",
        attempt=0,
        task_id=task.id,
        task_hash=task.hash,
        family=task.family,
        seeds=Seeds(1, 1000 * group + trial, 3),
        policy=f"smollm2-135m-instruct@{phase}",
        sampling=SamplingSettings(temperature=0.6),
        messages=_messages(calls, passed) if talk else [],
        calls=calls,
        events=[Event(0, "asked", "agent", 0, slot="line")] if passed else [],
        changes=[RowChange("lines", "update", {"id": "LN-2041"}, {"plan": "basic-5"}, {"plan": "plus-20"})]
        if passed
        else [],
        ended="left" if passed else "limit",
        verdict=None if invalid else verdict,
        reward=0.0 if invalid else (1.0 if clean else 0.33 if passed else 0.12),
        failure=failure,
        usage={"policy": Usage(900 if passed else 400, 120 if passed else 44, 4), "user": Usage(0, 30, 3)},
        timing={"policy": 3.1, "tools": 0.02, "total": 3.4},
    ).sealed()


def _calls(passed: bool, clean: bool) -> list[CallRecord]:
    calls = [
        CallRecord(
            0,
            0,
            "get_line",
            "read",
            {"line_id": "LN-2041"},
            "ok",
            '{"id":"LN-2041","plan":"basic-5","status":"active"}',
        )
    ]
    if clean:
        calls.append(
            CallRecord(
                1,
                1,
                "policy_search",
                "read",
                {"query": "plan change mid-cycle"},
                "ok",
                '[{"title":"Plan changes","body":"A change takes effect at once; the old plan is prorated."}]',
            )
        )
    if passed:
        calls.append(
            CallRecord(
                len(calls), 2, "change_plan", "write", {"line_id": "LN-2041", "plan": "plus-20"}, "ok", '{"ok":true}'
            )
        )
    else:
        calls.append(
            CallRecord(
                1,
                1,
                "update_plan",
                "unknown",
                {"plan": "20GB"},
                "error",
                '{"error":"unknown_tool","message":"No tool update_plan; did you mean change_plan?"}',
                "unknown_tool",
            )
        )
    return calls


def _messages(calls: list[CallRecord], passed: bool) -> list[Message]:
    messages = [
        Message("system", "You work the service desk of Meridian Mobile. Look things up before you change them."),
        Message(
            "user",
            "Hi, this is Dana Whitlock. My line LN-2041 keeps running out of data. Can you move me to the 20 GB plan?",
        ),
    ]
    for place, call in enumerate(calls):
        messages.append(
            Message("assistant", "", calls=[ToolCall(f"c{place}", call.tool, dict(call.arguments))], turn=call.turn)
        )
        messages.append(Message("tool", call.result, call_id=f"c{place}", name=call.tool, turn=call.turn))
    if passed:
        messages.append(
            Message(
                "assistant", "Your line LN-2041 is now on Plus 20 for $35.00 a month. This month is prorated.", turn=3
            )
        )
        messages.append(Message("user", "Perfect, thank you. Bye!", turn=3))
    else:
        messages.append(Message("assistant", "I am sorry, I can help with that. What is the plan?", turn=3))
    return messages


class MadeRun:
    """A finished run folder that lives in memory."""

    def __init__(
        self, tasks: list[Task], rates: dict[str, dict[str, float]], *, trials: int = 4, seed: int = 1
    ) -> None:
        self._recipe = parse_recipe(RECIPE, "recipe.toml")
        self.tasks = tasks
        rng = random.Random(seed)
        self._episodes: dict[str, list[Episode]] = {}
        luck = {task.id: rng.gauss(0, 0.22) for task in tasks}
        for phase, by_family in rates.items():
            played = []
            for group, task in enumerate(tasks):
                for trial in range(trials):
                    chance = min(
                        1.0, max(0.0, by_family[task.family] + (luck[task.id] if by_family[task.family] > 0.05 else 0))
                    )
                    passed = rng.random() < chance
                    failure: Failure = "none" if passed else rng.choice(["none", "none", "agent", "truncated"])
                    if rng.random() < 0.006:
                        passed, failure = False, "infrastructure"
                    clean = passed and rng.random() < (0.55 if phase == "base" else 0.85)
                    played.append(make_episode(task, phase, group, trial, passed=passed, clean=clean, failure=failure))
            self._episodes[phase] = played
        self._episodes["grpo"] = self._training(rng)

    def _training(self, rng: random.Random) -> list[Episode]:
        played = []
        for step in range(12):
            for group in range(8):
                task = self.tasks[(step * 8 + group) % len(self.tasks)]
                chance = min(0.95, max(0.0, 0.3 + 0.025 * step + rng.gauss(0, 0.25)))
                played += [
                    make_episode(task, "grpo", group, t, passed=rng.random() < chance, step=step, talk=False)
                    for t in range(8)
                ]
        return played

    @property
    def recipe(self) -> Recipe:
        return self._recipe

    @property
    def provenance(self) -> Any:
        return {
            "recipe_hash": "9f2c41d07be1",
            "world": "telecom",
            "world_version": "5d8e0c3317aa",
            "seed": 7,
            "dtype": "float32",
            "device": "cpu",
            "actors": [
                {"role": "policy", "name": "smollm2-135m-instruct", "version": "sha256:4f1e…", "licence": "Apache-2.0"},
                {"role": "user", "name": "scripted", "version": "1"},
            ],
            "python": "3.11.7",
            "torch": "2.13.0",
            "platform": "Linux-6.1-x86_64",
        }

    def episodes(self, phase: str) -> Iterable[Episode]:
        return iter(self._episodes.get(phase, []))

    def metrics(self) -> list[dict[str, Any]]:
        return [{"kind": "train", "stage": "sft", "step": s, "loss": 0.15 + 2.1 * 0.85**s} for s in range(30)]


BASE = {
    "plan_change": 0.03,
    "address_update": 0.02,
    "past_due_payment": 0.0,
    "roaming_dispute": 0.0,
    "refund_refusal": 0.0,
}
SFT = {
    "plan_change": 0.48,
    "address_update": 0.42,
    "past_due_payment": 0.12,
    "roaming_dispute": 0.2,
    "refund_refusal": 0.25,
}
RL = {
    "plan_change": 0.66,
    "address_update": 0.6,
    "past_due_payment": 0.18,
    "roaming_dispute": 0.33,
    "refund_refusal": 0.3,
}


def demo_run(trials: int = 4) -> MadeRun:
    """Base, SFT and RL over five families."""
    return MadeRun(make_tasks(), {"base": BASE, "after-sft": SFT, "after-rl": RL}, trials=trials)
