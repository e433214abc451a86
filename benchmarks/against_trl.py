"""One GRPO step after the other, here and in TRL's GRPOTrainer with its environment support: seconds, tokens, memory.

    python benchmarks/against_trl.py --trl-python OTHER_ENV/bin/python --adapter CHECKPOINT [--repeats 5] [--json]

Both sides train the same adapter of the same model on the same tasks of `telecom`, with the same prompts token for token, the same
reward, group size, update count, temperature, learning rate and clip; each measurement is a process of its own, and the two
sides take turns. `OTHER_ENV` holds this package and `trl==1.16.0`; `CHECKPOINT` is one of a demo run
(`runs/demo/checkpoints/step-000032`), so that both start from a model that has learnt the form of a call.

TRL ends an episode with the first message that calls nothing, so here the user leaves then as well. The reward is the outcome
plus a small number that depends on the words, so that no group is without signal and none is skipped: whatever is
saved is saved on equal work. The first step of each process is not counted. On neither side anything is written to disk.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import inspect
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

FAMILIES = ("starter_line_features", "starter_billing")
MODEL = "smollm2-135m-instruct"
RATE, CLIP, TEMPERATURE, SEED = 1e-5, (0.8, 1.28), 1.0, 11
COMPLETION = 256
"""Tokens of an episode after its prompt."""
TURNS = 8


def chosen_tasks(count: int) -> list[Any]:
    """The first `count` train tasks, families alternating."""
    from journeyman.worlds import load_world

    tasks = [task for task in load_world("telecom").tasks() if task.split == "train"]
    columns = [[task for task in tasks if task.family == family] for family in FAMILIES]
    return [task for row in zip(*columns, strict=False) for task in row][:count]


def tie_break(passed: bool, words: Sequence[str]) -> float:
    """1 or 0 for the outcome, and up to a hundredth by what was said."""
    drawn = hashlib.sha256("\n".join(words).encode()).digest()[0]
    return float(passed) + drawn / 25_600


def peak_megabytes() -> float:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Here


def run_here(options: argparse.Namespace) -> dict[str, Any]:
    """Steps of this project: seconds and sampled tokens of each."""
    from msgspec.structs import replace

    from journeyman.engine.local import load_engine
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.episode import Episode, Event, Group, SamplingSettings, Usage
    from journeyman.recipe import Grpo, Limits, Model, Objective, Optimizer
    from journeyman.rollout.loop import PlaySettings
    from journeyman.rollout.policy import EpisodeSpec, TokenPolicy
    from journeyman.rollout.pool import run_pool
    from journeyman.rollout.render import make_renderer
    from journeyman.rollout.users import ScriptedEpisodeUser
    from journeyman.train.checkpoint import State
    from journeyman.train.grpo import GrpoMethod
    from journeyman.train.loop import update
    from journeyman.train.method import GroupRequest, episode_id
    from journeyman.train.samples import sampled_tokens
    from journeyman.train.source import training_seeds
    from journeyman.worlds import load_world

    class OneMessage(ScriptedEpisodeUser):
        """Leaves with the agent's first message."""

        async def answer(
            self, text: str, read: Sequence[Event], order: int, turn: int
        ) -> tuple[str | None, list[Event], bool]:
            _, events, _ = await super().answer(text, read, order, turn)
            return None, events, True

        def usage(self) -> Usage:
            return Usage()

    world = load_world("telecom")
    settings = Model(name=MODEL, dtype=options.dtype, lora_rank=options.rank, lora_alpha=2.0 * options.rank, slots=64)
    engine = load_engine(settings, seed=SEED)
    engine.load(Path(options.adapter))
    engine.reset_optimizer()
    policy = TokenPolicy(engine, make_renderer("chatml", load_tokenizer(MODEL)))
    limits = Limits(turns=TURNS, calls=TURNS, tokens=COMPLETION)
    sampling = SamplingSettings(TEMPERATURE, 1.0, COMPLETION, 1024)
    play = PlaySettings(limits, sampling=sampling, user=lambda spec, _: OneMessage(spec))
    tasks = chosen_tasks(options.groups * (options.steps + 1))
    by_id = {task.id: task for task in tasks}

    def scored(episode: Episode) -> Episode:
        words = [message.content for message in episode.messages if message.role == "assistant"]
        calls = [str(call.arguments) for call in episode.calls]
        passed = episode.verdict is not None and episode.verdict.passed
        return replace(episode, reward=tie_break(passed, words + calls))

    class Source:
        async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
            engine.reset()
            rule = training_seeds(SEED)
            specs = [
                EpisodeSpec(episode_id(one.id, trial), by_id[one.task_id], rule(one, by_id[one.task_id], trial))
                for one in requests
                for trial in range(one.size)
            ]
            played = iter(await run_pool(specs, world, policy, play, concurrency=64))
            return [Group(one.id, one.task_id, [scored(next(played)) for _ in range(one.size)]) for one in requests]

    stage = Grpo(
        steps=options.steps + 1,
        groups=options.groups,
        group_size=options.size,
        updates_per_sync=1,
        refill_rounds=0,
        objective=Objective(ratio_min=CLIP[0], ratio_max=CLIP[1]),
        optimizer=Optimizer(learning_rate=RATE),
    )
    method = GrpoMethod(stage, tasks, Source(), SEED, limits=limits)
    state = State(0, 0, stage.name, 0, False)
    lines = []
    for step in range(stage.steps):
        began = time.perf_counter()
        batch = asyncio.run(method.gather(step, state.position))
        sampled = time.perf_counter()
        state, line = update(method, engine, batch, state)
        episodes = [one for group in batch.played for one in group.episodes]
        lines.append(
            {
                "seconds": time.perf_counter() - began,
                "sampling": sampled - began,
                "tokens": sum(map(sampled_tokens, episodes)),
                "episodes": len(episodes),
                "pass_rate": line["pass_rate"],
                "updates": line["updates"],
            }
        )
    engine.close()
    return {"steps": lines[1:], "megabytes": peak_megabytes()}


# TRL

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""As this project writes prompts; the tools stand in the system message."""


def environment_class() -> type:
    """A class for TRL's `environment_factory`: one method for each tool of the world, calls go to a session of the task."""
    from journeyman.episode import Message, ToolCall, Transcript
    from journeyman.grading.grade import grade, reader_of
    from journeyman.rollout.user import ScriptedUser
    from journeyman.world import open_session
    from journeyman.worlds import load_world

    world = load_world("telecom")
    tasks = {task.id: task for task in chosen_tasks(10_000)}
    loop = asyncio.new_event_loop()

    class Desk:
        """One episode at the desk of `telecom`."""

        def __init__(self) -> None:
            self._session: Any = None

        def reset(self, task_id: str, user_seed: str, **_: Any) -> None:
            if self._session is not None:
                loop.run_until_complete(self._session.close())
            self._task = tasks[task_id]
            self._user, _, self._opened = ScriptedUser().open(self._task, int(user_seed))
            self._session = open_session(world, self._task, 0)
            self._turn = 0

        def _call(self, name: str, arguments: dict[str, Any]) -> str:
            record = loop.run_until_complete(self._session.call(name, arguments, turn=self._turn))
            self._turn += 1
            return str(record.result)

        def _passed(self, prompt: list[dict[str, Any]], completion: list[dict[str, Any]]) -> bool:
            messages = [Message(one["role"], one["content"]) for one in prompt]
            turn = 0
            for one in completion:
                calls = [
                    ToolCall(f"{turn}.{i}", c["function"]["name"], c["function"]["arguments"])
                    for i, c in enumerate(one.get("tool_calls") or [])
                ]
                messages.append(Message(one["role"], one.get("content") or "", calls=calls, turn=turn))
                turn += one["role"] == "assistant"
            calls = list(self._session.calls)
            said = completion[-1].get("content") or "" if completion and completion[-1]["role"] == "assistant" else ""
            events = list(self._opened)
            ended: Literal["left", "limit"] = "limit"
            if said and not completion[-1].get("tool_calls"):
                read = reader_of(world).read_agent(said, turn, len(calls))
                _, _, answered, _ = ScriptedUser().step(self._user, said, read, len(calls), turn)
                events, ended = [*events, *read, *answered], "left"
            verdict = grade(self._task, world, Transcript(messages, calls, events, self._session.changes(), ended))
            return bool(verdict.passed)

    kinds = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    for tool in world.tools:
        properties = tool.spec.parameters.get("properties", {})
        required = set(tool.spec.parameters.get("required", []))
        names = sorted(properties, key=lambda name: name not in required)
        listed = [
            f"{n}: {kinds.get(properties[n].get('type'), 'str')}" + ("" if n in required else " = None") for n in names
        ]
        told = "\n".join(f"    {n}: {properties[n].get('description') or n}" for n in names)
        given = ", ".join(f"'{n}': {n}" for n in names)
        source = (
            f"def {tool.spec.name}(self{''.join(', ' + one for one in listed)}) -> str:\n"
            f"    return self._call({tool.spec.name!r}, {{k: v for k, v in {{{given}}}.items() if v is not None}})\n"
        )
        scope: dict[str, Any] = {}
        exec(source, scope)
        method = scope[tool.spec.name]
        method.__doc__ = f"{tool.spec.description}\n\nArgs:\n{told}\n" if names else tool.spec.description
        setattr(Desk, tool.spec.name, method)
    return Desk


def run_trl(options: argparse.Namespace) -> dict[str, Any]:
    """The same steps in TRL's GRPOTrainer."""
    import torch
    from datasets import Dataset
    from peft import PeftModel
    from transformers import PreTrainedTokenizerFast, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import qwen3_template

    from journeyman.codec import seed_of
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.engine.weights import choose_dtype, load_model
    from journeyman.recipe import Model
    from journeyman.rollout.prompt import system_prompt
    from journeyman.rollout.user import ScriptedUser
    from journeyman.train.method import group_id
    from journeyman.worlds import load_world

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=load_tokenizer(MODEL), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.response_template = qwen3_template
    cpu = torch.device("cpu")
    base = load_model(Model(name=MODEL), cpu, choose_dtype(options.dtype, cpu))
    base.generation_config.eos_token_id = tokenizer.eos_token_id
    base.generation_config.pad_token_id = tokenizer.pad_token_id
    model = PeftModel.from_pretrained(base, options.adapter, is_trainable=True)
    world = load_world("telecom")
    tasks = chosen_tasks(options.groups * (options.steps + 1))
    rows = []
    for index, task in enumerate(tasks):
        step, group = divmod(index, options.groups)
        phase, number, place = group_id("grpo", step, group).split("/")
        seed = seed_of(SEED, phase, number, place)
        _, opening, _ = ScriptedUser().open(task, seed)
        prompt = [{"role": "system", "content": system_prompt(world, task)}, {"role": "user", "content": opening}]
        rows.append({"prompt": prompt, "task_id": task.id, "user_seed": str(seed)})
    pass_rates: list[float] = []

    def outcome(prompts: Any, completions: Any, environments: Any, **_: Any) -> list[float]:
        rewards = []
        for prompt, completion, desk in zip(prompts, completions, environments, strict=True):
            words = [
                one.get("content") or str(one.get("tool_calls")) for one in completion if one["role"] == "assistant"
            ]
            rewards.append(tie_break(desk._passed(prompt, completion), words))
        pass_rates.append(sum(value >= 1 for value in rewards) / len(rewards))
        return rewards

    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if not ends:
                ends.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    episodes = options.groups * options.size
    config = GRPOConfig(
        output_dir=options.scratch,
        per_device_train_batch_size=options.trl_batch,
        gradient_accumulation_steps=episodes // options.trl_batch,
        num_generations=options.size,
        max_completion_length=COMPLETION,
        max_tool_calling_iterations=TURNS,
        max_steps=options.steps + 1,
        temperature=TEMPERATURE,
        beta=0.0,
        loss_type="dapo",
        scale_rewards="none",
        epsilon=1 - CLIP[0],
        epsilon_high=CLIP[1] - 1,
        learning_rate=RATE,
        lr_scheduler_type="constant",
        adam_beta2=0.99,
        max_grad_norm=1.0,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        shuffle_dataset=False,
        seed=SEED,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[outcome],
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        environment_factory=environment_class(),
        callbacks=[Clock()],
    )
    trainer.train()
    lengths = [
        line["completions/mean_length"] for line in trainer.state.log_history if "completions/mean_length" in line
    ]
    lines = [
        {
            "seconds": end - begin,
            "tokens": round(length * episodes),
            "episodes": episodes,
            "pass_rate": rate,
            "updates": 1,
        }
        for begin, end, length, rate in zip(ends, ends[1:], lengths, pass_rates, strict=False)
    ]
    return {"steps": lines[1:], "megabytes": peak_megabytes()}


# Both


def measured(side: str, options: argparse.Namespace) -> dict[str, Any]:
    """One process of one side."""
    python = sys.executable if side == "here" else options.trl_python
    keys = ("adapter", "steps", "groups", "size", "rank", "dtype", "trl_batch", "scratch")
    given = [f"--{key.replace('_', '-')}={getattr(options, key)}" for key in keys]
    environment = {
        **os.environ,
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    done = subprocess.run(
        [python, str(Path(__file__).resolve()), f"--side={side}", *given],
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr[-4000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians over processes: seconds a step, and seconds per thousand sampled tokens with their spread."""
    per_step = [statistics.fmean(step["seconds"] for step in run["steps"]) for run in runs]
    per_token = [
        1000 * sum(step["seconds"] for step in run["steps"]) / sum(step["tokens"] for step in run["steps"])
        for run in runs
    ]
    return {
        "seconds_per_step": statistics.median(per_step),
        "seconds_per_1000_tokens": statistics.median(per_token),
        "spread_per_1000_tokens": [min(per_token), max(per_token)],
        "tokens_per_step": statistics.fmean(step["tokens"] for run in runs for step in run["steps"]),
        "pass_rate": statistics.fmean(step["pass_rate"] for run in runs for step in run["steps"]),
        "megabytes": statistics.median(run["megabytes"] for run in runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--trl-python", help="python of an environment with this package and trl")
    parser.add_argument("--adapter", required=True, help="a checkpoint folder of a demo run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="counted steps of each process")
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--trl-batch", type=int, default=8, help="episodes of one forward pass of TRL's")
    parser.add_argument("--scratch", default="/tmp/against_trl", help="an output folder that TRL asks for")
    parser.add_argument("--side", choices=("here", "trl"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.side:
        result = run_here(options) if options.side == "here" else run_trl(options)
        sys.stdout.write(json.dumps(result) + "\n")
        return
    runs: dict[str, list[dict[str, Any]]] = {"here": [], "trl": []}
    for repeat in range(options.repeats):
        for side in ("here", "trl") if repeat % 2 == 0 else ("trl", "here"):
            runs[side].append(measured(side, options))
            sys.stderr.write(f"{repeat} {side}: {json.dumps(summary(runs[side][-1:]))}\n")
    found: dict[str, Any] = {side: summary(done) for side, done in runs.items()}
    pairs = [
        summary([theirs])["seconds_per_1000_tokens"] / summary([ours])["seconds_per_1000_tokens"]
        for ours, theirs in zip(runs["here"], runs["trl"], strict=True)
    ]
    found["speed_ratio"] = {"median": statistics.median(pairs), "min": min(pairs), "max": max(pairs)}
    found["memory_ratio"] = found["here"]["megabytes"] / found["trl"]["megabytes"]
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return
    for side in ("here", "trl"):
        sys.stdout.write(f"{side:5} " + "  ".join(f"{k} {v}" for k, v in found[side].items()) + "\n")
    sys.stdout.write(f"speed {found['speed_ratio']}, memory {found['memory_ratio']:.2f}\n")


if __name__ == "__main__":
    main()
