"""The plan of a recipe, made without loading a model: the world's tasks, the model's sizes, reference solutions in its tokens.

    plan = plan_recipe(load_recipe(path), str(path))

What cannot be run as written is refused here, with key and remedy, before a device is rented for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from journeyman.engine.base import Sampler
from journeyman.engine.estimate import EngineSettings, Memory, ModelSizes, estimate_memory, model_sizes
from journeyman.engine.tokenizer import SMOLLM2, TINY, load_tokenizer
from journeyman.errors import EngineError, RecipeError
from journeyman.pipeline import check_stages, held_out_names
from journeyman.planning.cost import Amount, Rates, hours_of, money_of, total
from journeyman.planning.lengths import ReferenceLengths
from journeyman.planning.stages import StagePlan, plan_stages
from journeyman.preflight import check_room
from journeyman.recipe import Model, Opd, Pivot, Recipe, Sampled, Sft, Training
from journeyman.rollout.policy import TokenPolicy
from journeyman.rollout.render import make_renderer
from journeyman.worlds import load_world

GIB = 1 << 30
DEFAULT_MICRO_BYTES = 8192
"""`micro_tokens` 0 stands for so many, divided by the bytes of a number."""
KEPT_CHECKPOINTS = 2
"""Of a run, besides the best one, the last one of each stage and references."""


class DevicePlan(Struct, frozen=True):
    """What one device must hold.

    Args:
        parameters, trained: of the model; those that an update changes.
        memory: bytes by purpose; `total` is their sum.
        available: bytes of the device; None where it is not known.
    """

    device: str
    dtype: str
    parameters: int
    trained: int
    memory: dict[str, int]
    total: int
    available: int | None


class Plan(Struct, frozen=True):
    """All of it. `disk`: bytes of the checkpoints that are kept. `notes`: what the numbers do not say."""

    recipe: str
    world: str
    model: str
    stages: list[StagePlan]
    device: DevicePlan | None
    disk: int
    hours: Amount
    cost: Amount
    currency: str
    notes: list[str]


def plan_recipe(recipe: Recipe, where: str, rates: Rates | None = None, device_memory: float | None = None) -> Plan:
    """Plan a recipe.

    Args:
        where: its file, for errors.
        rates: what an earlier run measured; without, hours are unknown.
        device_memory: GiB of one device; None: this machine's where the recipe runs on the CPU, else unknown.

    Raises:
        RecipeError: it cannot be run as written.
        WorldError: its world cannot be loaded.
    """
    world = load_world(recipe.world)
    tasks, held_out = world.tasks(), held_out_names(recipe, world)
    check_stages(recipe, tasks, held_out)
    notes: list[str] = []
    sizes = device = lengths = None
    if recipe.policy.kind == "model":
        sizes = _sizes(recipe.model.name, "model.name", where)
        refuse_impossible(recipe, sizes, where)
        device = _device(recipe, sizes, where, device_memory)
        notes += _missing_files(recipe.model)
        if _tokenizer_is_there(recipe.model.name):
            tokenizer = load_tokenizer(recipe.model.name)
            plain = make_renderer(recipe.model.renderer, tokenizer)
            wants_thoughts = recipe.sampling.train.thinking or recipe.sampling.eval.thinking
            thinking = make_renderer(recipe.model.renderer, tokenizer, thinking=True) if wants_thoughts else None
            # Nothing is sampled: a room is measured with the renderer alone.
            check_room(recipe, world, TokenPolicy(cast(Sampler, None), plain, recipe.model.name, thinking), tasks)
            lengths = ReferenceLengths(recipe, world, plain, tokenizer)
            if wants_thoughts:
                notes.append("expected tokens are without thoughts: reference solutions have none")
        else:
            notes.append("expected tokens are unknown: the model's tokenizer.json is not there")
    stages = plan_stages(recipe, tasks, held_out, lengths)
    refuse_unsolvable(recipe, stages, where)
    hours = total([hours_of(stage, rates) for stage in stages])
    return Plan(
        recipe=recipe.name,
        world=recipe.world,
        model=recipe.model.name if recipe.policy.kind == "model" else f"endpoint {recipe.policy.endpoint}",
        stages=stages,
        device=device,
        disk=_disk(recipe, sizes) if sizes is not None else 0,
        hours=hours,
        cost=money_of(recipe, stages, hours, rates),
        currency=recipe.prices.currency,
        notes=notes,
    )


def refuse_impossible(recipe: Recipe, sizes: ModelSizes, where: str) -> None:
    """Refuse keys that contradict the model or each other in a way that would show only while the run is under way.

    Raises:
        RecipeError: naming the key and the remedy.
    """
    for part in ("train", "eval"):
        settings = getattr(recipe.sampling, part)
        key = f"sampling.{part}"
        if settings.context_limit > sizes.context:
            raise RecipeError(
                where,
                f"{key}.context_limit",
                f"is {settings.context_limit:,} tokens, and {recipe.model.name} knows {sizes.context:,} positions: "
                f"set at most {sizes.context}, or name a model with a longer context.",
            )
        if settings.max_tokens >= settings.context_limit:
            raise RecipeError(
                where,
                f"{key}.max_tokens",
                f"{settings.max_tokens:,} tokens of one call leave nothing of a context of {settings.context_limit:,}: "
                "lower it, or raise context_limit.",
            )
        if settings.max_tokens > recipe.limits.tokens:
            raise RecipeError(
                where,
                "limits.tokens",
                f"allows an episode {recipe.limits.tokens:,} tokens, and sampling.{part}.max_tokens one call of it "
                f"{settings.max_tokens:,}: raise the one, or lower the other.",
            )
    for stage in recipe.stage:
        if isinstance(stage, Training):
            _refuse_stage(recipe, stage, where)


def _refuse_stage(recipe: Recipe, stage: Training, where: str) -> None:
    place = f"stage {stage.name}"
    if stage.evaluate_every and not isinstance(stage, Sft) and stage.evaluate_every > stage.steps:
        raise RecipeError(
            where,
            f"{place}: evaluate_every",
            f"is {stage.evaluate_every}, and the stage ends after {stage.steps}: nothing would be monitored. Lower it.",
        )
    if isinstance(stage, Opd) and stage.teacher.kind == "model":
        sizes = _sizes(stage.teacher.model, f"{place}: teacher.model", where)
        student = _sizes(recipe.model.name, "model.name", where)
        if sizes.vocabulary != student.vocabulary:
            raise RecipeError(
                where,
                f"{place}: teacher.model",
                f"has a vocabulary of {sizes.vocabulary:,} and the student one of {student.vocabulary:,}: a teacher scores "
                "the student's tokens, so name one with the same tokenizer.",
            )


def refuse_unsolvable(recipe: Recipe, stages: Sequence[StagePlan], where: str) -> None:
    """Refuse limits under which not even reference solutions come to an end.

    Raises:
        RecipeError: none of those tried in a stage that trains on traces, or none at all in a stage, was solved.
    """
    for stage in stages:
        if stage.lengths is not None and stage.lengths.played and not stage.lengths.solved:
            limits = recipe.limits
            raise RecipeError(
                where,
                f"stage {stage.name}: limits",
                f"none of {stage.lengths.played} reference solutions ends within {limits.turns} turns and {limits.calls} calls: "
                "raise limits.turns and limits.calls, or choose easier tasks.",
            )


def _sizes(name: str, key: str, where: str) -> ModelSizes:
    try:
        return model_sizes(name)
    except EngineError as error:
        raise RecipeError(where, key, f"{name!r}: {error.remedy}") from error


def _tokenizer_is_there(name: str) -> bool:
    return name in (SMOLLM2, TINY) or (Path(name) / "tokenizer.json").is_file()


def _missing_files(model: Model) -> list[str]:
    """What must be fetched before the run."""
    if model.name in (SMOLLM2, TINY):
        return []
    folder = Path(model.name)
    if not (folder / "config.json").is_file():
        return [f"{model.name} is not there yet: the plan goes by the published sizes of that name"]
    if not any(folder.glob("*.safetensors")):
        return [f"{model.name} holds no weights yet (*.safetensors)"]
    return []


def _device(recipe: Recipe, sizes: ModelSizes, where: str, given: float | None) -> DevicePlan:
    model = recipe.model
    device, dtype = chosen_device(model), chosen_dtype(model)
    trained = sizes.parameters if model.train == "full" else sizes.adapter(model.lora_rank)
    memory = _memory(recipe, sizes, device, dtype)
    parts = {name: int(getattr(memory, name)) for name in memory.__dataclass_fields__}
    parts |= _other_models(recipe, dtype, where)
    available = int(given * GIB) if given is not None else _this_machine() if device == "cpu" else None
    plan = DevicePlan(device, dtype, sizes.parameters, trained, parts, sum(parts.values()), available)
    if available is not None and plan.total > available:
        largest = max(parts, key=lambda name: parts[name])
        raise RecipeError(
            where,
            _REMEDIES[largest][0],
            f"needs {plan.total / GIB:.1f} GiB on one device, which has {available / GIB:.1f}; the largest part is {largest} "
            f"({parts[largest] / GIB:.1f}): {_REMEDIES[largest][1]}",
        )
    return plan


_REMEDIES = {
    "weights": ("model.name", "name a smaller model or a larger device."),
    "trained": ("model.train", 'set train = "lora", or name a smaller model.'),
    "optimizer": ("model.train", 'set train = "lora", optimizer.kind = "adafactor", or name a smaller model.'),
    "activations": ("model.activation_checkpointing", "set it to true, or lower model.micro_tokens."),
    "logits": ("model.lanes", "lower it."),
    "sampler": ("vllm", "let a server sample ([vllm]), or name a smaller model."),
    "cache": ("model.slots", "lower it, or sampling.*.context_limit."),
    "base": ("model.device", "name a larger device."),
    "teacher": ("teacher", 'put it behind an endpoint: kind = "endpoint".'),
}
"""By part of the memory: the key to turn, and how."""


def _memory(
    recipe: Recipe, sizes: ModelSizes, device: Literal["cpu", "cuda"], dtype: Literal["float32", "bfloat16"]
) -> Memory:
    model = recipe.model
    training = [stage for stage in recipe.stage if isinstance(stage, Training)]
    size = 4 if dtype == "float32" else 2
    # A stream longer than a micro-batch is one by itself, in every lane.
    longest = recipe.sampling.train.context_limit * (model.lanes if device == "cpu" else 1)
    settings = EngineSettings(
        device=device,
        dtype=dtype,
        train=model.train,
        rank=model.lora_rank,
        optimizer="adamw" if any(stage.optimizer.kind == "adamw" for stage in training) else "adafactor",
        checkpointing=model.activation_checkpointing,
        micro_tokens=max(model.micro_tokens or DEFAULT_MICRO_BYTES // size, longest) if training else 0,
        slots=0 if recipe.vllm is not None else model.slots,
        context=max(recipe.sampling.train.context_limit, recipe.sampling.eval.context_limit),
        lanes=model.lanes,
        remembered=max((_remembered(stage) for stage in training), default=0),
    )
    return estimate_memory(sizes, settings)


def _remembered(stage: Training) -> int:
    """Copies of trained weights that a stage keeps: a reference, a teacher."""
    if not isinstance(stage, Sampled):
        return 0
    copies = int(stage.objective.kl != "none" and stage.objective.reference == "start")
    copies += int(isinstance(stage, Pivot))
    return copies + int(isinstance(stage, Opd) and stage.teacher.kind == "stage")


def _other_models(recipe: Recipe, dtype: str, where: str) -> dict[str, int]:
    """Bytes of teachers that are loaded beside the student."""
    names = {
        stage.teacher.model: f"stage {stage.name}: teacher.model"
        for stage in recipe.stage
        if isinstance(stage, Opd) and stage.teacher.kind == "model"
    }
    size = 4 if dtype == "float32" else 2
    taken = sum(size * _sizes(name, key, where).parameters for name, key in names.items())
    return {"teacher": taken} if taken else {}


def _disk(recipe: Recipe, sizes: ModelSizes) -> int:
    """Bytes of the checkpoints that are kept at most: float32 values and the optimizer's moments (adafactor's are next to nothing)."""
    training = [stage for stage in recipe.stage if isinstance(stage, Training)]
    if not training:
        return 0
    full = recipe.model.train == "full"
    trained = sizes.parameters if full else sizes.adapter(recipe.model.lora_rank)
    each = [4 * trained * (3 if stage.optimizer.kind == "adamw" else 1) for stage in training]
    best = int(any(stage.evaluate_every for stage in training))
    kept = sum(size * (1 + len(stage.keep_references)) for size, stage in zip(each, training, strict=True))
    return kept + max(each) * (KEPT_CHECKPOINTS + best)


def chosen_device(model: Model) -> Literal["cpu", "cuda"]:
    """Where the model will run, as far as this machine tells."""
    if model.device != "auto":
        return model.device
    return "cuda" if Path("/proc/driver/nvidia/version").exists() else "cpu"


def chosen_dtype(model: Model) -> Literal["float32", "bfloat16"]:
    """What `dtype` `auto` comes to: bfloat16 on a GPU and on processors that multiply it natively."""
    if model.dtype != "auto":
        return model.dtype
    if chosen_device(model) == "cuda":
        return "bfloat16"
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "float32"
    return "bfloat16" if "amx_bf16" in flags or "avx512_bf16" in flags else "float32"


def _this_machine() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
