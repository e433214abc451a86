"""Running a recipe: worlds, engine, policies and training come together here and nowhere else.

    result = run_recipe(load_recipe(path), Path("runs/demo"))

Stages run in order. Whatever ends a sitting (a budget, an interrupt, a kill) leaves a folder that can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from journeyman.curriculum.pools import select
from journeyman.errors import RecipeError, WorldError
from journeyman.parts import Parts, build_parts, scripted_parts
from journeyman.preflight import check_room
from journeyman.recipe import Evaluate, Recipe, Training, checked, stage_kind
from journeyman.recipe import Policy as PolicySection
from journeyman.rollout.policy import TokenPolicy
from journeyman.rollout.scripted import SCRIPTED
from journeyman.staging.build import build_method
from journeyman.staging.context import StageContext, stage_pool
from journeyman.staging.evaluate import run_evaluation
from journeyman.staging.opd import check_teachers
from journeyman.task import Task
from journeyman.train.checkpoint import State
from journeyman.train.loop import train
from journeyman.train.progress import Progress, Silent
from journeyman.train.provenance import Provenance, describe_machine
from journeyman.train.rulings import RulingFile
from journeyman.train.runfolder import RunFolder
from journeyman.train.runwriter import open_run, refuse_existing
from journeyman.train.sitting import Sitting, Stop, StopRun
from journeyman.world import World
from journeyman.worlds import load_world


@dataclass(frozen=True)
class Result:
    """How a sitting ended. `stopped`: why it ended early (resume to go on); None where every stage is done."""

    folder: RunFolder
    stopped: str | None = None


def run_recipe(
    recipe: Recipe,
    out: Path,
    resume: bool = False,
    progress: Progress | None = None,
    stop: Stop | None = None,
    build: Callable[[Recipe], Parts] | None = None,
) -> Result:
    """Run all stages of a recipe, or what is left of them.

    Args:
        out: the run folder (`runs/NAME`).
        resume: take the run up where it was left, or begin it where there is none. How, says `run.resume`.
        progress: whom to tell.
        stop: asked now and then; True ends the sitting cleanly.
        build: makes world and engine; the default loads what the recipe names.

    Raises:
        RecipeError: the recipe asks for what its world does not have, or to train on held-out tasks.
        RunFolderError: the folder cannot be used; see `open_run`.
        EngineError: the model cannot be loaded, or an update failed.
        KeyRefused: an endpoint does not serve its key; the run can be resumed with another.
    """
    if not resume:
        refuse_existing(out)
    parts = (build or build_parts)(recipe)
    try:
        check_stages(recipe, parts.world.tasks(), held_out_names(recipe, parts.world))
        check_teachers(recipe)
        if isinstance(parts.policy, TokenPolicy):
            check_room(recipe, parts.world, parts.policy, parts.world.tasks())
        return _sit(recipe, parts, out, resume, progress or Silent(), stop)
    finally:
        if parts.engine is not None:
            parts.engine.close()


def _sit(recipe: Recipe, parts: Parts, out: Path, resume: bool, progress: Progress, stop: Stop | None) -> Result:
    provenance = Provenance(
        recipe_hash="",
        world=parts.world.name,
        world_version=parts.world.version,
        actors=parts.actors,
        seed=recipe.seed,
        dtype=parts.dtype,
        device=parts.device,
        **describe_machine(),
    )
    with open_run(out, recipe, provenance, resume) as writer:
        stopped = None
        rulings = RulingFile(out) if recipe.judge.endpoint is not None else None
        try:
            sitting = Sitting(writer, recipe, progress, stop)
            context = StageContext(recipe, parts, sitting, held_out_names(recipe, parts.world), rulings)
            asyncio.run(_Run(context).whole())
        except StopRun as end:
            stopped = end.reason
        except KeyboardInterrupt:
            stopped = "interrupted"
        finally:
            if rulings is not None:
                rulings.close()
        writer.sync()
    return Result(RunFolder(out), stopped)


def held_out_names(recipe: Recipe, world: World) -> list[str]:
    """The names of the worlds that a recipe keeps out of training, by which their tasks are known.

    Args:
        world: the recipe's own, which may be meant by its name even where it has no short one.

    Raises:
        RecipeError: there is no such world: held out would be nothing.
    """
    names = []
    for wanted in recipe.held_out_worlds:
        try:
            names.append(world.name if wanted in (world.name, recipe.world) else load_world(wanted).name)
        except WorldError as error:
            raise RecipeError(recipe.name, "held_out_worlds", f"{wanted[:80]!r}: {error.remedy}") from error
    return names


def check_stages(recipe: Recipe, tasks: Sequence[Task], held_out_worlds: Collection[str] = ()) -> None:
    """Choose every stage's tasks, so that a wrong filter fails before work begins.

    Args:
        held_out_worlds: by the names of the worlds.

    Raises:
        RecipeError: a filter that fits nothing, or a training stage on held-out tasks.
    """
    tested: dict[str, str] = {}
    for stage in recipe.stage:
        if isinstance(stage, Evaluate):
            chosen = select(tasks, stage.tasks, f"stage {stage.name}")
            tested |= {task.id: stage.name for task in chosen}
        else:
            stage_pool(tasks, stage, held_out_worlds)
    for stage in recipe.stage:
        if isinstance(stage, Training) and stage.monitor is not None:
            where = f"stage {stage.name}, monitor"
            for task in select(tasks, [stage.monitor], where):
                if task.id in tested:
                    raise RecipeError(
                        where,
                        task.id,
                        f"is tested in stage {tested[task.id]} too: a checkpoint must not be chosen on the test. Use `skip`.",
                    )


def evaluate_policy(
    recipe: Recipe,
    out: Path,
    policy: str = "model",
    adapter: Path | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Result:
    """Run a recipe that only evaluates, with a policy of choice. An interrupted evaluation is taken up again.

    Args:
        policy: `model`, the name of a scripted policy, or `endpoint:NAME` with a name of the recipe's endpoints.
        adapter: a checkpoint, or a run folder whose newest checkpoint is meant; its weights go on the model.

    Raises:
        RecipeError: an unknown policy, an adapter for a scripted one, or a stage that trains.
        RunFolderError, EngineError: as `run_recipe`; also for an adapter that is not there.
    """
    kind, _, endpoint = policy.partition(":")
    if kind == "endpoint":
        section = PolicySection("endpoint", endpoint)
        recipe = checked(msgspec.structs.replace(recipe, policy=section), "command line")
    elif policy != "model" and policy not in SCRIPTED:
        raise RecipeError("policy", policy, f"unknown; known: model, {', '.join(SCRIPTED)}, endpoint:NAME.")
    if adapter is not None and (policy != "model" or recipe.policy.kind != "model"):
        raise RecipeError("adapter", str(adapter), "only `model` takes an adapter: leave it out.")
    trains = [stage.name for stage in recipe.stage if not isinstance(stage, Evaluate)]
    if trains:
        raise RecipeError("recipe", f"stage {trains[0]}", "trains: use `journeyman train`.")

    def build(wanted: Recipe) -> Parts:
        return scripted_parts(wanted, SCRIPTED[policy]) if policy in SCRIPTED else build_parts(wanted, adapter)

    return run_recipe(recipe, out, True, progress, stop, build)


@dataclass
class _Run:
    """One sitting over the stages."""

    context: StageContext

    async def whole(self) -> None:
        """Run what is left, and hang up."""
        try:
            await self.stages()
        finally:
            for client in self.context.parts.clients.values():
                await client.close()

    async def stages(self) -> None:
        """Run what is left."""
        sitting, engine = self.context.sitting, self.context.parts.engine
        state = sitting.state
        if state is not None and engine is not None:
            engine.load(sitting.writer.checkpoints.path(state.global_step))
        for index, stage in enumerate(self.context.recipe.stage):
            if state is not None and (index < state.stage or (index == state.stage and state.finished)):
                continue
            if isinstance(stage, Training):
                state = await self._train(index, stage, state)
            else:
                await run_evaluation(self.context, stage)
            sitting.progress.stage_finished(stage.name)

    async def _train(self, index: int, stage: Training, state: State | None) -> State:
        context = self.context
        engine = context.engine(stage)
        origin = self._origin(index, stage)
        if state is None or state.stage != index:
            if stage.start == "base":
                engine.restart()
            elif stage.start != "previous":
                assert origin is not None
                engine.load(origin)
            state = State(
                global_step=state.global_step if state else 0,
                stage=index,
                stage_name=stage.name,
                step=0,
                finished=False,
                counters=state.counters if state else {},
            )
        context.sitting.progress.stage_started(stage.name, stage_kind(stage), stage.steps, state.step)
        method = await build_method(context, stage, state)
        if method.steps != stage.steps:  # known only with the traces, where the recipe counts epochs
            context.sitting.progress.stage_started(stage.name, stage_kind(stage), method.steps, state.step)
        return await train(
            method, engine, context.sitting, state, origin, context.monitor(stage), stage.keep_references
        )

    def _origin(self, index: int, stage: Training) -> Path | None:
        """The checkpoint of the weights that a stage begins from; None: the untouched model."""
        trained = [one.name for one in self.context.recipe.stage[:index] if isinstance(one, Training)]
        if stage.start == "base" or not trained:
            return None
        name = trained[-1] if stage.start == "previous" else stage.start
        return self.context.sitting.writer.checkpoints.named(name)
