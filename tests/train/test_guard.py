"""Held-out work is refused on every path into training: one test per path."""

import asyncio

import pytest
from making import episode, task

from journeyman.curriculum.pools import select, training_pool
from journeyman.curriculum.traces import collect_traces
from journeyman.errors import RecipeError
from journeyman.recipe import Grpo, Sft, TaskFilter, parse_recipe
from journeyman.task import Split
from journeyman.train.grpo import GrpoMethod
from journeyman.train.guard import refuse_held_out
from journeyman.train.method import GroupRequest
from journeyman.train.sft import SftMethod

HELD_OUT: list[Split] = ["heldout", "heldout_family"]


class NothingPlays:
    async def play(self, requests: list[GroupRequest]) -> list:
        raise AssertionError("a held-out task was played")


def test_training_tasks_pass() -> None:
    refuse_held_out([task(), task("w/f/train-001")], "test")


@pytest.mark.parametrize("split", HELD_OUT)
def test_the_gate_names_the_path_and_the_task(split: Split) -> None:
    with pytest.raises(RecipeError, match=f'held out .split "{split}"') as error:
        refuse_held_out([task(), task("w/f/x-007", split)], "stage rl (grpo)")
    assert (error.value.where, error.value.key) == ("stage rl (grpo)", "w/f/x-007")


def test_a_held_out_world_is_refused_whatever_the_split() -> None:
    with pytest.raises(RecipeError, match="world 'w' is held out"):
        refuse_held_out([task()], "test", ["w"])


@pytest.mark.parametrize("split", HELD_OUT)
def test_traces_refuse(split: Split) -> None:
    with pytest.raises(RecipeError, match="traces"):
        asyncio.run(collect_traces([task("w/f/x-007", split)], 1, "sft", [NothingPlays()]))
    with pytest.raises(RecipeError, match="traces"):
        asyncio.run(collect_traces([task()], 1, "sft", [NothingPlays()], ["w"]))


@pytest.mark.parametrize("split", HELD_OUT)
def test_sft_refuses(split: Split) -> None:
    stolen = task("w/f/x-007", split)
    with pytest.raises(RecipeError, match="sft"):
        SftMethod(Sft(), [episode(task_id=stolen.id)], {stolen.id: stolen}, 0)
    with pytest.raises(RecipeError, match="sft"):
        SftMethod(Sft(), [episode(task_id=task().id)], {task().id: task()}, 0, ["w"])


@pytest.mark.parametrize("split", HELD_OUT)
def test_grpo_refuses(split: Split) -> None:
    with pytest.raises(RecipeError, match="grpo"):
        GrpoMethod(Grpo(), [task(), task("w/f/x-007", split)], NothingPlays(), 0)
    with pytest.raises(RecipeError, match="grpo"):
        GrpoMethod(Grpo(), [task()], NothingPlays(), 0, ["w"])


@pytest.mark.parametrize("split", HELD_OUT)
def test_pools_refuse(split: Split) -> None:
    tasks = [task(), task("w/f/x-007", split)]
    assert [one.id for one in select(tasks, [TaskFilter(split=split)], "stage eval")] == ["w/f/x-007"]
    with pytest.raises(RecipeError, match="pool"):
        training_pool(tasks, TaskFilter(split=split), "stage rl")
    with pytest.raises(RecipeError, match="pool"):
        training_pool(tasks, TaskFilter(), "stage rl", ["w"])
    assert [one.id for one in training_pool(tasks, TaskFilter(), "stage rl")] == [task().id]


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_a_recipe_that_trains_on_held_out_tasks_is_refused(kind: str) -> None:
    text = f'name = "x"\nworld = "w"\n[[stage]]\nkind = "{kind}"\ntasks = {{ split = "heldout" }}\n'
    with pytest.raises(RecipeError, match="held-out"):
        parse_recipe(text, "x.toml")


def test_filters_that_fit_nothing_are_errors() -> None:
    with pytest.raises(RecipeError, match="no family 'g'; known: f"):
        select([task()], [TaskFilter(families=["g"])], "stage a")
    with pytest.raises(RecipeError, match="no task has split"):
        select([task()], [TaskFilter(split="heldout")], "stage a")
    two = [task(), task("w/f/train-001")]
    assert select(two, [TaskFilter(limit=1), TaskFilter()], "stage a") == two
