"""A recipe: the TOML file that names a whole run, read strictly.

Every key has a default that works on two CPU cores but `world` and `stage`. An unknown, missing or mistyped key
is one `RecipeError` that names file, key and remedy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from journeyman.episode import SamplingSettings
from journeyman.errors import RecipeError
from journeyman.remote import Endpoint, EndpointName, Judge, Policy, User, check_endpoints
from journeyman.sections import BIG, NAME, Amount, Count, Positive, Section, Size, known_keys
from journeyman.serving import Vllm, check_vllm
from journeyman.stage_checks import check_training
from journeyman.stages import (
    Bridge,
    Evaluate,
    Grpo,
    Objective,
    Opd,
    Optimizer,
    Pivot,
    Sampled,
    Sft,
    Stage,
    TaskFilter,
    Teacher,
    Training,
    stage_kind,
    teacher_endpoints,
    trace_endpoints,
)

__all__ = [
    "Bridge",
    "Endpoint",
    "Evaluate",
    "Grpo",
    "Judge",
    "Objective",
    "Opd",
    "Optimizer",
    "Pivot",
    "Policy",
    "Sampled",
    "Section",
    "Sft",
    "Stage",
    "TaskFilter",
    "Teacher",
    "Training",
    "User",
    "stage_kind",
    "teacher_endpoints",
    "trace_endpoints",
]

PHASES = {"monitor": "monitoring evaluations", "profile": "profiles", "traces": "traces"}
"""What a stage may play beside itself, by what is added to its name."""
ROLES = ("policy", "user", "judge", "teacher")
"""Who uses tokens."""
MAX_BYTES = 1 << 18
"""Size of a recipe file. What is larger is some other file."""


class Model(Section, frozen=True):
    """Which model acts. `name`: `smollm2-135m-instruct`, `tiny-random`, or a folder in Hugging Face format.

    `dtype` `auto` takes bfloat16 where the processor multiplies it natively, else float32. On a CPU the local engine
    computes `lanes` batches side by side, each with its share of `run.threads` and of the `slots`; what is sampled
    depends on their number (by rounding), never on the number of cores.

    `train` is what an update changes: `lora` an adapter of `lora_rank` on all linear layers, `full` all weights (their master
    copy is float32 whatever `dtype`). `activation_checkpointing` keeps each layer's input alone and computes the layer again in
    the backward pass. `micro_tokens` rows are computed at once in training (0: 4096 in bfloat16, 2048 in float32); neither
    changes gradients beyond rounding.
    """

    name: str = "smollm2-135m-instruct"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    renderer: Literal["auto", "chatml", "qwen3"] = "auto"
    lora_rank: Positive = 32
    lora_alpha: Size = 64.0
    train: Literal["lora", "full"] = "lora"
    activation_checkpointing: bool = False
    micro_tokens: Count = 0
    slots: Positive = 64
    lanes: Annotated[int, Meta(ge=1, le=64)] = 2


class Limits(Section, frozen=True):
    """Bounds of one episode. `wall_seconds` is an infrastructure failure, the others the agent's."""

    turns: Positive = 24
    calls: Positive = 24
    tokens: Positive = 1024
    wall_seconds: Size = 600.0
    repeats: Positive = 3
    """The same call with the same arguments so many times in a row is a loop."""


class Rendering(Section, frozen=True):
    """How the world is shown to the model. `compact` gives one signature line a tool, `json` its JSON Schema."""

    tools: Literal["compact", "json"] = "compact"


class Sampling(Section, frozen=True):
    """`[sampling.train]` and `[sampling.eval]`."""

    train: SamplingSettings = SamplingSettings(temperature=1.0)
    eval: SamplingSettings = SamplingSettings(temperature=0.6)


class Reward(Section, frozen=True):
    """`gated_rubric` is the two-band form, `binary` the outcome. Penalties act inside the band."""

    kind: Literal["gated_rubric", "binary"] = "gated_rubric"
    incomplete_penalty: Amount = 0.0
    """Taken from an episode that ended at a limit."""
    token_penalty: Amount = 0.0
    """Taken from an episode whose sampled tokens reach the token limit, in proportion below it."""


class RunSettings(Section, frozen=True):
    """How the run behaves. `resume`: `replay` samples an unfinished step again, `reuse` keeps its episodes."""

    resume: Literal["replay", "reuse"] = "replay"
    max_wall_seconds: Amount | None = None
    max_cost: Amount | None = None
    concurrency: Positive = 64
    retries: Count = 2
    """Fresh attempts allowed per episode after an infrastructure or user failure."""
    threads: Annotated[int, Meta(ge=0, le=1024)] = 0
    """Threads of the engine (0: as many as there are cores)."""
    network: Literal["none", "endpoints"] = "none"


class Prices(Section, frozen=True):
    """Money. Per million tokens by role, and per device-hour for what runs here."""

    currency: str = "USD"
    device_hour: Amount = 0.0
    input_per_million: dict[str, Amount] = {}
    output_per_million: dict[str, Amount] = {}


class Recipe(Section, frozen=True):
    """A whole run."""

    name: Annotated[str, Meta(pattern=NAME, max_length=100)]
    world: str
    stage: Annotated[list[Stage], Meta(min_length=1)]
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] = 0
    model: Model = Model()
    rendering: Rendering = Rendering()
    sampling: Sampling = Sampling()
    limits: Limits = Limits()
    reward: Reward = Reward()
    run: RunSettings = RunSettings()
    prices: Prices = Prices()
    endpoints: dict[EndpointName, Endpoint] = {}
    vllm: Vllm | None = None
    """A server that samples in the place of the engine of this process."""
    policy: Policy = Policy()
    judge: Judge = Judge()
    user: User = User()
    held_out_worlds: list[str] = []
    """Worlds kept out of training altogether: a training stage on one of them is refused. A name that no world has is
    refused by whoever runs the recipe: a recipe knows no worlds."""


def parse_recipe(text: str, where: str) -> Recipe:
    """Read a recipe from TOML.

    Raises:
        RecipeError: not TOML, an unknown or mistyped key, a value out of range, or keys that contradict each other.
    """
    try:
        raw: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecipeError(where, "", f"not valid TOML ({error}).") from error
    return _convert(_held_out_by_default(raw), where)


def _held_out_by_default(raw: dict[str, Any]) -> dict[str, Any]:
    """The recipe with split `heldout` in the filters of its evaluations that name none."""
    stages = raw.get("stage")
    if not isinstance(stages, list):
        return raw
    filled = []
    for stage in stages:
        filters = stage.get("tasks") if isinstance(stage, Mapping) and stage.get("kind") == "evaluate" else None
        if isinstance(filters, list):
            filters = [{"split": "heldout", **one} if isinstance(one, Mapping) else one for one in filters]
            stage = {**stage, "tasks": filters}
        filled.append(stage)
    return {**raw, "stage": filled}


def checked(recipe: Recipe, where: str) -> Recipe:
    """The same recipe after all checks that a recipe file undergoes, for one that was put together in Python.

    Raises:
        RecipeError: as `parse_recipe`.
    """
    return _convert(msgspec.to_builtins(recipe), where)


def _convert(raw: Any, where: str) -> Recipe:
    try:
        recipe = msgspec.convert(raw, Recipe)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        place = path.rstrip("`")
        if "unknown field" in message:
            message += f"; known: {', '.join(known_keys(Recipe, place, raw))}"
        raise RecipeError(where, place.lstrip(".") or "top level", f"{message}. See docs/recipes.md.") from error
    check_recipe(recipe, where)
    return recipe


def load_recipe(path: Path) -> Recipe:
    """Read a recipe file. Raises RecipeError as `parse_recipe`, and where the file cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode()
    except (OSError, ValueError) as error:
        raise RecipeError(str(path), "", f"cannot be read ({error}). Give the path of a TOML recipe.") from error
    if len(data) > MAX_BYTES:
        raise RecipeError(str(path), "", f"is larger than {MAX_BYTES} bytes. Give the path of a TOML recipe.")
    return parse_recipe(text, str(path))


def check_recipe(recipe: Recipe, where: str) -> None:
    """Refuse what types cannot: names that collide, held-out tasks in training, contradictions between keys.

    Raises:
        RecipeError: naming the key and the remedy.
    """
    _check_names([stage.name for stage in recipe.stage], where)
    _check_stages(recipe, where)
    _check_sampling(recipe.sampling, where)
    _check_prices(recipe.run, recipe.prices, where)
    uses = {f"{role}.endpoint": getattr(recipe, role).endpoint for role in ("policy", "judge", "user")}
    for role, section, remote in (("policy", recipe.policy, "endpoint"), ("user", recipe.user, "llm")):
        if section.kind == remote and section.endpoint is None:
            raise RecipeError(where, f"{role}.endpoint", f'kind = "{remote}" needs the name of an [endpoints.NAME].')
        if section.kind != remote and section.endpoint is not None:
            raise RecipeError(where, f"{role}.kind", f'must be "{remote}" where an endpoint is named.')
    taught = teacher_endpoints(recipe.stage)
    check_endpoints(recipe.endpoints, uses | taught | trace_endpoints(recipe.stage), recipe.run.network, where)
    if recipe.vllm is not None:
        check_vllm(recipe.vllm, recipe.run.network, recipe.model.train, recipe.policy.kind, where)
    if taught and recipe.sampling.train.temperature != 1.0:
        raise RecipeError(
            where,
            "sampling.train.temperature",
            f"must be 1, since {next(iter(taught))} names a server, and servers tell the log-probabilities of a prompt at 1 only.",
        )


def _check_names(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise RecipeError(where, "stage.name", f"two stages are named {name!r}: give each its own name.")
        if len(name) > 80 or not re.match(NAME, name):
            raise RecipeError(
                where,
                "stage.name",
                f"{name[:80]!r} cannot be a phase name: use at most 80 letters, digits and dashes.",
            )
        owner, _, suffix = name.rpartition("-")
        if owner in names and suffix in PHASES:
            raise RecipeError(
                where, "stage.name", f"{name!r} is the phase of another stage's {PHASES[suffix]}: rename one."
            )


def _check_stages(recipe: Recipe, where: str) -> None:
    earlier: list[Stage] = []
    for stage in recipe.stage:
        if isinstance(stage, Training):
            if recipe.policy.kind == "endpoint":
                raise RecipeError(
                    where,
                    f"stage {stage.name}: kind",
                    "an endpoint gives no token ids, so it can be evaluated only: leave the stage out, or name a model.",
                )
            check_training(stage, earlier, where)
            if isinstance(stage, Pivot) and stage.continuation == "episode" and recipe.user.kind == "llm":
                raise RecipeError(
                    where,
                    f"stage {stage.name}: continuation",
                    'a user that a model plays cannot be restored in the middle of an episode: use "turn".',
                )
        earlier.append(stage)


def _check_prices(run: RunSettings, prices: Prices, where: str) -> None:
    """A price of nobody, or a limit in money that nothing counts towards, would be none."""
    for key in ("input_per_million", "output_per_million"):
        for role in getattr(prices, key):
            if role not in ROLES:
                raise RecipeError(
                    where, f"prices.{key}", f"nobody has the role {role[:80]!r}; known: {', '.join(ROLES)}."
                )
    amounts = (prices.device_hour, *prices.input_per_million.values(), *prices.output_per_million.values())
    if run.max_cost and not any(amounts):
        raise RecipeError(
            where, "run.max_cost", "would never be reached, since nothing has a price: set [prices], or leave it out."
        )


def _check_sampling(sampling: Sampling, where: str) -> None:
    for part in ("train", "eval"):
        settings: SamplingSettings = getattr(sampling, part)
        if not 1e-3 <= settings.temperature <= 1e3:
            raise RecipeError(
                where, f"sampling.{part}.temperature", "must lie in 0.001..1000 (0.01 is close to greedy)."
            )
        if not 0 < settings.top_p <= 1:
            raise RecipeError(where, f"sampling.{part}.top_p", "must lie in (0, 1].")
        for key in ("max_tokens", "context_limit"):
            if not 1 <= getattr(settings, key) <= BIG:
                raise RecipeError(where, f"sampling.{part}.{key}", f"must lie in 1..{BIG}.")
    if sampling.train.top_p != 1.0:
        raise RecipeError(where, "sampling.train.top_p", "must be 1: truncated sampling biases the importance ratio.")
