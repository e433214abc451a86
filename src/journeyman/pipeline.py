"""Running a recipe: worlds, engine, policies and training come together here and nowhere else.

    result = run_recipe(load_recipe(path), Path("runs/demo"))

Stages run in order. Whatever ends a sitting (a budget, an interrupt, a kill) leaves a folder that can be resumed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from journeyman.curriculum.pools import select, training_pool
from journeyman.curriculum.traces import collect_traces, fitting, is_solved, tokenised
from journeyman.episode import Episode, Group, SamplingSettings
from journeyman.errors import RecipeError, WorldError
from journeyman.grading.judge import Judge
from journeyman.parts import Parts, build_parts, scripted_parts
from journeyman.preflight import check_room
from journeyman.recipe import Evaluate, Grpo, Recipe, Sft, TaskFilter, checked
from journeyman.recipe import Policy as PolicySection
from journeyman.rollout.judging import EpisodeJudge
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import Policy, TokenPolicy
from journeyman.rollout.pool import run_pool
from journeyman.rollout.prompt import offered_tools
from journeyman.rollout.scripted import SCRIPTED
from journeyman.rollout.user_llm import ModelledUsers
from journeyman.rollout.users import UserMaker, scripted_user
from journeyman.task import Task
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod
from journeyman.train.loop import Monitor, train
from journeyman.train.measure import episode_metrics, episodes_of
from journeyman.train.method import GroupRequest, group_id
from journeyman.train.progress import Progress, Silent
from journeyman.train.provenance import Provenance, describe_machine
from journeyman.train.rulings import RulingFile
from journeyman.train.runfolder import RunFolder
from journeyman.train.runwriter import open_run, refuse_existing
from journeyman.train.sft import SftMethod
from journeyman.train.sitting import Sitting, Stop, StopRun, monitor_phase
from journeyman.train.source import LiveSource, PlayPool, SeedRule, evaluation_seeds, training_seeds
from journeyman.world import ToolSpec, World
from journeyman.worlds import load_world

BLOCK_WINDOWS = 4
"""An evaluation is played in blocks of this many times the concurrency: a replay plays whole blocks again."""


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
            asyncio.run(_Run(recipe, parts, sitting, rulings).whole())
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
    for stage in recipe.stage:
        where = f"stage {stage.name}"
        if isinstance(stage, Evaluate):
            select(tasks, stage.tasks, where)
            continue
        training_pool(tasks, stage.tasks, where, held_out_worlds)
        if isinstance(stage, Grpo) and stage.monitor is not None:
            select(tasks, [stage.monitor], f"{where}, monitor")


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

    recipe: Recipe
    parts: Parts
    sitting: Sitting
    rulings: RulingFile | None = None
    tasks: list[Task] = field(init=False)
    by_id: dict[str, Task] = field(init=False)
    held_out: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.held_out = held_out_names(self.recipe, self.parts.world)
        self.tasks = self.parts.world.tasks()
        self.by_id = {task.id: task for task in self.tasks}

    async def whole(self) -> None:
        """Run what is left, and hang up."""
        try:
            await self.stages()
        finally:
            for client in self.parts.clients.values():
                await client.close()

    async def stages(self) -> None:
        """Run what is left."""
        state = self.sitting.state
        if state is not None and self.parts.engine is not None:
            self.parts.engine.load(self.sitting.writer.checkpoints.path(state.global_step))
        for index, stage in enumerate(self.recipe.stage):
            if state is not None and (index < state.stage or (index == state.stage and state.finished)):
                continue
            if isinstance(stage, Evaluate):
                await self._evaluate(stage)
            else:
                state = await self._train(index, stage, state)
            self.sitting.progress.stage_finished(stage.name)

    def _pool(self, wanted: TaskFilter, where: str) -> list[Task]:
        return training_pool(self.tasks, wanted, where, self.held_out)

    async def _evaluate(self, stage: Evaluate) -> None:
        tasks = select(self.tasks, stage.tasks, f"stage {stage.name}")
        total = len(tasks) * stage.trials
        if any(line["kind"] == "evaluate" and line["stage"] == stage.name for line in self.sitting.writer.metrics()):
            return
        self.sitting.progress.stage_started(stage.name, "evaluate", total, 0)
        began = time.perf_counter()
        groups = await self._trials(tasks, stage.trials, stage.name, 0, advance=True)
        line: dict[str, Any] = {"kind": "evaluate", "stage": stage.name, "version": self._version()}
        line |= episode_metrics(episodes_of(groups))
        self.sitting.metrics(line | {"seconds_sampling": time.perf_counter() - began})
        self.sitting.writer.end_phase()

    async def _trials(
        self, tasks: Sequence[Task], trials: int, phase: str, step: int, advance: bool = False
    ) -> list[Group]:
        """`trials` episodes of each task with the current weights, block by block."""
        source = self._source(self.parts.policy, self.recipe.sampling.eval, evaluation_seeds(self.recipe.seed))
        requests = [GroupRequest(group_id(phase, step, index), task.id, trials) for index, task in enumerate(tasks)]
        size = max(1, BLOCK_WINDOWS * self.recipe.run.concurrency // trials)
        groups: list[Group] = []
        for begin in range(0, len(requests), size):
            self.sitting.check()
            groups += await source.play(requests[begin : begin + size])
            if advance:
                self.sitting.progress.stage_advanced(phase, len(groups) * trials)
        return groups

    async def _train(self, index: int, stage: Sft | Grpo, state: State | None) -> State:
        if state is None or state.stage != index:
            state = State(
                global_step=state.global_step if state else 0,
                stage=index,
                stage_name=stage.name,
                step=0,
                finished=False,
                counters=state.counters if state else {},
            )
        self.sitting.progress.stage_started(
            stage.name, "sft" if isinstance(stage, Sft) else "grpo", stage.steps, state.step
        )
        engine = self.parts.engine
        if engine is None:
            raise RecipeError(f"stage {stage.name}", "kind", "a scripted policy cannot be trained: name a model.")
        if isinstance(stage, Sft):
            return await train(await self._sft(stage, state), engine, self.sitting, state)
        source = self._source(self.parts.policy, self.recipe.sampling.train, training_seeds(self.recipe.seed))
        pool = self._pool(stage.tasks, f"stage {stage.name}")
        grpo = GrpoMethod(stage, pool, source, self.recipe.seed, self.held_out)
        return await train(grpo, engine, self.sitting, state, self._monitor(stage), stage.evaluate_every)

    async def _sft(self, stage: Sft, state: State) -> SftMethod:
        if state.step > 0:
            solved = [one for one in self.sitting.writer.episodes(stage.name, with_tokens=True) if is_solved(one)]
            solved.sort(key=lambda one: one.id)
            traces = fitting(solved, self.recipe.sampling.train.context_limit)
        else:
            traces = await self._traces(stage)
        return SftMethod(stage, traces, self.by_id, self.recipe.seed, self.held_out)

    async def _traces(self, stage: Sft) -> list[Episode]:
        began = time.perf_counter()
        assert self.parts.renderer is not None
        finish = tokenised(self.parts.renderer, self._shown)
        source = self._source(SCRIPTED["oracle"], None, training_seeds(self.recipe.seed), finish)
        pool = self._pool(stage.tasks, f"stage {stage.name}")
        solved = await collect_traces(pool, stage.traces_per_task, stage.name, source, self.held_out)
        traces = fitting(solved, self.recipe.sampling.train.context_limit)
        played = len(pool) * stage.traces_per_task
        line = {"kind": "traces", "stage": stage.name, "played": played, "solved": len(solved), "kept": len(traces)}
        self.sitting.metrics(line | {"seconds_sampling": time.perf_counter() - began})
        return traces

    def _monitor(self, stage: Grpo) -> Monitor | None:
        if stage.monitor is None or not stage.evaluate_every:
            return None
        tasks = select(self.tasks, [stage.monitor], f"stage {stage.name}, monitor")

        async def evaluate(step: int) -> dict[str, float]:
            groups = await self._trials(tasks, stage.monitor_trials, monitor_phase(stage.name), step)
            return episode_metrics(episodes_of(groups))

        return evaluate

    def _version(self) -> int:
        return self.parts.engine.version if self.parts.engine is not None else 0

    def _source(
        self,
        policy: Policy,
        sampling: SamplingSettings | None,
        seeds: SeedRule,
        finish: Callable[[Episode], Episode] | None = None,
    ) -> LiveSource:
        recipe = self.recipe
        return LiveSource(
            self._player(policy, sampling),
            self.by_id,
            seeds,
            self.sitting,
            recipe.reward,
            recipe.limits,
            policy.sampler,
            finish,
        )

    def _player(self, policy: Policy, sampling: SamplingSettings | None) -> PlayPool:
        recipe, world = self.recipe, self.parts.world
        # An endpoint is given the schemas of the tools themselves.
        native = not isinstance(policy, TokenPolicy) and self.recipe.policy.kind == "endpoint"
        tools = "json" if native else recipe.rendering.tools
        settings = PlaySettings(recipe.limits, recipe.reward, sampling, tools)
        afterwards = None
        if policy is self.parts.policy:
            # Traces of the oracle need neither judge nor modelled user.
            afterwards = self._judge()
            settings = replace(settings, user=self._users())

        async def play(specs: Any, on_episode: Callable[[Episode], None]) -> list[Episode]:
            return await run_pool(
                specs,
                world,
                policy,
                settings,
                concurrency=recipe.run.concurrency,
                retries=recipe.run.retries,
                on_episode=on_episode,
                afterwards=afterwards,
            )

        return play

    def _users(self) -> UserMaker:
        section = self.recipe.user
        if section.endpoint is None:
            return scripted_user
        return ModelledUsers(self.parts.clients[section.endpoint], section.temperature, section.max_tokens)

    def _judge(self) -> EpisodeJudge | None:
        section = self.recipe.judge
        if section.endpoint is None or self.rulings is None:
            return None
        client = self.parts.clients[section.endpoint]
        judge = Judge(client, client.endpoint.model, self.rulings, section.max_tokens)
        return EpisodeJudge(judge, self.recipe.reward, self.recipe.limits)

    def _shown(self, task_id: str) -> Sequence[ToolSpec]:
        """The tools that the renderer's template shows for a task: none where the system message names them."""
        if self.recipe.rendering.tools == "compact":
            return ()
        return offered_tools(self.parts.world, self.by_id[task_id])
