"""What a recipe is run with: the world, the policy, its engine and renderer, and who they are for the record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from journeyman.codec import digest, encode
from journeyman.engine.base import Sampler, Trainer
from journeyman.errors import RecipeError, RunFolderError
from journeyman.grading.grade import GRADER_VERSION
from journeyman.grading.judge_text import PROMPT_VERSION
from journeyman.recipe import Evaluate, Opd, Pivot, Recipe, Sft, teacher_endpoints, trace_endpoints
from journeyman.remote import host_of
from journeyman.rollout.policy import Policy, TokenPolicy
from journeyman.rollout.render import Renderer
from journeyman.rollout.users import UserMaker
from journeyman.serving import Vllm
from journeyman.train.checkpoint import STATE_FILE, Checkpoints
from journeyman.train.provenance import Actor
from journeyman.train.runfolder import RECIPE, RunFolder
from journeyman.world import World
from journeyman.worlds import load_world

if TYPE_CHECKING:
    from journeyman.engine.endpoint import EndpointClient
    from journeyman.engine.vllm import AdapterTrainer

LICENCES = {"smollm2-135m-instruct": "Apache-2.0"}
"""Licences of the models that have a short name; of others it is theirs to say."""


class Engine(Sampler, Trainer, Protocol):
    """Sampler and trainer in one."""

    def close(self) -> None:
        """End its threads: a process that exits while they compute would abort."""
        ...


@dataclass(frozen=True)
class Parts:
    """What a recipe is run with.

    Args:
        policy: what is evaluated and trained.
        engine: holds the policy's weights; None for a scripted policy, which can only be evaluated.
        renderer: the model's, for training; None where there is no engine.
        actors, dtype, device: for the provenance.
        clients: the endpoints in use, by name; to be closed in the event loop that used them.
        users: who plays the users; None: as the recipe says.
    """

    world: World
    policy: Policy
    engine: Engine | None
    renderer: Renderer | None
    actors: list[Actor]
    dtype: str = ""
    device: str = ""
    clients: Mapping[str, EndpointClient] = field(default_factory=dict)
    users: UserMaker | None = None


def build_parts(recipe: Recipe, adapter: Path | None = None) -> Parts:
    """The world and the model that a recipe names, with the weights of a checkpoint where one is given.

    Raises:
        WorldError, EngineError, RunFolderError: they cannot be loaded.
        RecipeError: the key of an endpoint is not in the environment.
    """
    if recipe.policy.kind == "endpoint":
        return _endpoint_parts(recipe)
    from journeyman.engine.distributed import open_engine
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.rollout.render import make_renderer

    world = load_world(recipe.world)
    clients = open_clients(recipe)
    trainer = open_engine(recipe.model, seed=recipe.seed, threads=recipe.run.threads)
    engine: Engine = trainer if recipe.vllm is None else _served(recipe, recipe.vllm, trainer)
    tokenizer = load_tokenizer(recipe.model.name)
    plain = make_renderer(recipe.model.renderer, tokenizer)
    thinking = None
    if recipe.sampling.train.thinking or recipe.sampling.eval.thinking:
        thinking = make_renderer(recipe.model.renderer, tokenizer, thinking=True)
    version = trainer.weights_hash
    if adapter is not None:
        checkpoint = newest_checkpoint(adapter)
        engine.load(checkpoint)
        version += f" + {digest(Checkpoints(checkpoint.parent).state(int(checkpoint.name[5:])).files)}"
    actors = [
        _own_policy(recipe, version),
        *_demonstrators(recipe, world),
        *_teachers(recipe),
        *_referees(recipe, world),
    ]
    policy = TokenPolicy(engine, plain, recipe.model.name, thinking)
    renderer = thinking if thinking is not None and recipe.sampling.train.thinking else plain
    dtype = str(trainer.weights.dtype).removeprefix("torch.")
    return Parts(world, policy, engine, renderer, actors, dtype, str(trainer.weights.device), clients)


def _served(recipe: Recipe, vllm: Vllm, trainer: AdapterTrainer) -> Engine:
    """The engine whose sampler is a vLLM server. Raises as `VllmEngine`."""
    from journeyman.engine.vllm import VllmEngine
    from journeyman.engine.wire import read_key

    key = read_key(vllm.api_key_env, "vllm.api_key_env", os.environ)
    longest = max(recipe.sampling.train.context_limit, recipe.sampling.eval.context_limit)
    return VllmEngine(vllm, recipe.name, trainer, context=longest, key=key)


def _own_policy(recipe: Recipe, version: str) -> Actor:
    licence = LICENCES.get(recipe.model.name, "")
    if recipe.vllm is None:
        return Actor("policy", recipe.model.name, version, licence)
    sent = "token ids of every episode, and the path of every adapter"
    return Actor("policy", recipe.model.name, version, licence, host_of(recipe.vllm.url), sent)


def scripted_parts(recipe: Recipe, policy: Policy) -> Parts:
    """The world, and a policy without a model. Raises WorldError where it cannot be loaded, RecipeError as `build_parts`."""
    world = load_world(recipe.world)
    actors = [Actor("policy", policy.name, world.version), *_referees(recipe, world)]
    return Parts(world, policy, None, None, actors, clients=open_clients(recipe))


def _endpoint_parts(recipe: Recipe) -> Parts:
    from journeyman.rollout.chat import ChatPolicy

    world = load_world(recipe.world)
    clients = open_clients(recipe)
    name = recipe.policy.endpoint or ""
    sent = "of every episode: the system message, the schemas of the tools, the conversation, the results of calls"
    actors = [_remote("policy", recipe, name, "", sent), *_referees(recipe, world)]
    return Parts(world, ChatPolicy(clients[name], clients[name].endpoint.model), None, None, actors, clients=clients)


def open_clients(recipe: Recipe, only: Sequence[str] | None = None) -> dict[str, EndpointClient]:
    """One client for each endpoint that acts in the run, shared by all its roles, so that its limits hold.

    Args:
        only: names of endpoints; None: those of policy, user, judge and teachers.

    Raises:
        RecipeError: a key is not in the environment, or stands in the recipe.
    """
    roles = (
        recipe.policy.endpoint,
        recipe.user.endpoint,
        recipe.judge.endpoint,
        *teacher_endpoints(recipe.stage).values(),
        *trace_endpoints(recipe.stage).values(),
    )
    names = only if only is not None else [name for name in roles if name is not None]
    environment = os.environ
    if not names:
        return {}
    from journeyman.engine.endpoint import open_endpoint
    from journeyman.engine.wire import SHORTEST_SECRET

    clients = {name: open_endpoint(name, recipe.endpoints[name], environment) for name in dict.fromkeys(names)}
    text = encode(recipe).decode()
    for name in clients:
        key = environment.get(recipe.endpoints[name].api_key_env or "", "").strip()
        if len(key) >= SHORTEST_SECRET and key in text:
            raise RecipeError("recipe", f"endpoints.{name}", "the key itself stands in the recipe: take it out.")
    return clients


def evaluation_recipe(
    given: Recipe | None, adapter: Path | None, model: str | None, context_limit: int | None
) -> Recipe:
    """The settings that an evaluation from the command line starts from.

    Args:
        given: a recipe that was named; else that of the run in which the adapter lies; else all defaults.
        model: takes the place of the model's name.
        context_limit: takes the place of `sampling.eval.context_limit`.

    Raises:
        RunFolderError: the run in which the adapter lies is damaged.
    """
    base = given
    if base is None and adapter is not None:
        # A checkpoint lies in RUN/checkpoints/step-NNNNNN.
        homes = [path for path in (adapter, adapter.parent.parent) if (path / RECIPE).is_file()]
        base = RunFolder(homes[0]).recipe if homes else None
    if base is None:
        base = Recipe(name="eval", world="", stage=[Evaluate(name="eval")])
    if model is not None:
        base = replace(base, model=replace(base.model, name=model))
    if context_limit is not None:
        settings = replace(base.sampling.eval, context_limit=context_limit)
        base = replace(base, sampling=replace(base.sampling, eval=settings))
    # How long a sitting may last and what it may cost was meant for the other run.
    return replace(base, run=replace(base.run, max_wall_seconds=None, max_cost=None)) if given is None else base


def newest_checkpoint(path: Path) -> Path:
    """`path` itself where it is a checkpoint, else the newest one of the run folder.

    Raises:
        RunFolderError: there is none.
    """
    if (path / STATE_FILE).is_file():
        return path
    checkpoints = Checkpoints(path / "checkpoints")
    if not checkpoints.steps():
        raise RunFolderError(
            str(path), "", "holds no checkpoint: name a run that has trained, or one of its checkpoints."
        )
    return checkpoints.path(checkpoints.steps()[-1])


def _referees(recipe: Recipe, world: World) -> list[Actor]:
    user = Actor("user", "scripted", world.version)
    if recipe.user.endpoint is not None:
        sent = "of every episode: what the scenario's user wants and knows, and the conversation"
        user = _remote("user", recipe, recipe.user.endpoint, world.version, sent)
    actors = [user, Actor("grader", "journeyman", GRADER_VERSION)]
    if recipe.judge.endpoint is not None:
        sent = "the conversation and the calls of episodes whose tasks have judged criteria"
        actors.append(_remote("judge", recipe, recipe.judge.endpoint, PROMPT_VERSION, sent))
    return actors


def _demonstrators(recipe: Recipe, world: World) -> list[Actor]:
    """Who plays traces, each once: scripts of the world, or models behind endpoints."""
    names: list[str] = []
    for stage in recipe.stage:
        if isinstance(stage, Sft):
            names += stage.teachers
        elif isinstance(stage, Pivot) and not stage.traces:
            names.append("oracle")
    sent = "of every trace: the system message, the schemas of the tools, the conversation, the results of calls"
    return [
        _remote("teacher", recipe, name.removeprefix("endpoint:"), "", sent)
        if name.startswith("endpoint:")
        else Actor("teacher", name, world.version)
        for name in dict.fromkeys(names)
    ]


def _teachers(recipe: Recipe) -> list[Actor]:
    """Whom stages of distillation learn from, each once; a stage of this run is no other model."""
    from journeyman.engine.teacher import model_version

    actors = []
    for stage in recipe.stage:
        if not isinstance(stage, Opd):
            continue
        if stage.teacher.kind == "endpoint":
            actors.append(_remote("teacher", recipe, stage.teacher.endpoint, "", "token ids of the student's episodes"))
        elif stage.teacher.kind == "model":
            name = stage.teacher.model
            version = model_version(name)
            if stage.teacher.adapter:
                checkpoint = newest_checkpoint(Path(stage.teacher.adapter))
                version += f" + {digest(Checkpoints(checkpoint.parent).state(int(checkpoint.name[5:])).files)}"
            actors.append(Actor("teacher", name, version, licence=LICENCES.get(name, "")))
    return list(dict.fromkeys(actors))


def _remote(role: str, recipe: Recipe, name: str, version: str, sent: str) -> Actor:
    endpoint = recipe.endpoints[name]
    return Actor(role, endpoint.model, version, endpoint=host_of(endpoint.url), sent=sent)
