"""What a recipe is run with: the world, the policy, its engine and renderer, and who they are for the record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from journeyman.codec import digest
from journeyman.engine.base import Sampler, Trainer
from journeyman.errors import RunFolderError
from journeyman.grading.grade import GRADER_VERSION
from journeyman.recipe import Recipe
from journeyman.rollout.policy import Policy, TokenPolicy
from journeyman.rollout.render import Renderer
from journeyman.train.checkpoint import STATE_FILE, Checkpoints
from journeyman.train.provenance import Actor
from journeyman.world import World
from journeyman.worlds import load_world

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
    """

    world: World
    policy: Policy
    engine: Engine | None
    renderer: Renderer | None
    actors: list[Actor]
    dtype: str = ""
    device: str = ""


def build_parts(recipe: Recipe, adapter: Path | None = None) -> Parts:
    """The world and the model that a recipe names, with the weights of a checkpoint where one is given.

    Raises:
        WorldError, EngineError, RunFolderError: they cannot be loaded.
    """
    from journeyman.engine.local import load_engine
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.rollout.render import make_renderer

    world = load_world(recipe.world)
    engine = load_engine(recipe.model, seed=recipe.seed, threads=recipe.run.threads)
    tokenizer = load_tokenizer(recipe.model.name)
    plain = make_renderer(recipe.model.renderer, tokenizer)
    thinking = None
    if recipe.sampling.train.thinking or recipe.sampling.eval.thinking:
        thinking = make_renderer(recipe.model.renderer, tokenizer, thinking=True)
    version = engine.weights_hash
    if adapter is not None:
        checkpoint = newest_checkpoint(adapter)
        engine.load(checkpoint)
        version += f" + {digest(Checkpoints(checkpoint.parent).state(int(checkpoint.name[5:])).files)}"
    actors = [
        Actor("policy", recipe.model.name, version, licence=LICENCES.get(recipe.model.name, "")),
        Actor("teacher", "oracle", world.version),
        *_referees(world),
    ]
    policy = TokenPolicy(engine, plain, recipe.model.name, thinking)
    renderer = thinking if thinking is not None and recipe.sampling.train.thinking else plain
    dtype = str(engine.weights.dtype).removeprefix("torch.")
    return Parts(world, policy, engine, renderer, actors, dtype, str(engine.weights.device))


def scripted_parts(recipe: Recipe, policy: Policy) -> Parts:
    """The world, and a policy without a model. Raises WorldError where it cannot be loaded."""
    world = load_world(recipe.world)
    return Parts(world, policy, None, None, [Actor("policy", policy.name, world.version), *_referees(world)])


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


def _referees(world: World) -> list[Actor]:
    return [Actor("user", "scripted", world.version), Actor("grader", "journeyman", GRADER_VERSION)]
