"""Recipes: strict reading, errors that name the key, and documentation that lists every key."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from journeyman import recipe as module
from journeyman.errors import RecipeError
from journeyman.recipe import Grpo, checked, load_recipe, parse_recipe

ROOT = Path(__file__).resolve().parents[1]
HEAD = 'name = "r"\nworld = "telecom"\n'


def test_defaults_are_those_of_the_records() -> None:
    recipe = parse_recipe(HEAD + '[[stage]]\nkind = "grpo"\n', "r.toml")
    stage = recipe.stage[0]
    assert isinstance(stage, Grpo)
    assert (stage.ratio_min, stage.ratio_max, stage.group_size) == (0.8, 1.28, 8)
    assert (recipe.sampling.train.temperature, recipe.sampling.eval.temperature) == (1.0, 0.6)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("name = ", ""),
        ('world = "telecom"\n[[stage]]\nkind = "sft"', "name"),
        (HEAD + "stage = []", "stage"),
        (HEAD + 'colour = 1\n[[stage]]\nkind = "sft"', "colour"),
        (HEAD + '[[stage]]\nkind = "dpo"', "stage"),
        (HEAD + '[[stage]]\nkind = "sft"\nsteps = "many"', "steps"),
        (HEAD + '[[stage]]\nkind = "sft"\nsteps = 0', "steps"),
        (HEAD + '[[stage]]\nkind = "grpo"\nsample_size = 3', "sample_size"),
        (HEAD + '[[stage]]\nkind = "sft"\ntasks = { split = "heldout" }', "tasks.split"),
        (HEAD + '[[stage]]\nkind = "grpo"\ntasks = { split = "heldout_family" }', "tasks.split"),
        (HEAD + '[[stage]]\nkind = "grpo"\nmonitor = { split = "train" }\ngroups = 1', "updates_per_sync"),
        (HEAD + '[[stage]]\nkind = "grpo"\nevaluate_every = 2', "monitor"),
        (HEAD + '[sampling.train]\ntop_p = 0.9\n[[stage]]\nkind = "sft"', "sampling.train.top_p"),
        (HEAD + '[sampling.eval]\ntemperature = 0.0\n[[stage]]\nkind = "sft"', "sampling.eval.temperature"),
        (HEAD + '[[stage]]\nkind = "sft"\n[[stage]]\nkind = "sft"', "stage.name"),
        (HEAD.replace('"r"', '"../r"') + '[[stage]]\nkind = "sft"', "name"),
        (HEAD.replace('"r"', '"r\\n"') + '[[stage]]\nkind = "sft"', "name"),
        (HEAD.replace('"r"', f'"{"r" * 300}"') + '[[stage]]\nkind = "sft"', "name"),
        (HEAD + f'seed = {2**70}\n[[stage]]\nkind = "sft"', "seed"),
        (HEAD + f"seed = {'[' * 5000}", ""),
        (HEAD + '[[stage]]\nkind = "evaluate"\nname = "e"\ntrials = 1000000000', "trials"),
        (HEAD + '[[stage]]\nkind = "evaluate"\nname = "e"\ntasks = []', "tasks"),
        (HEAD + '[[stage]]\nkind = "evaluate"\nname = ".."', "stage.name"),
        (HEAD + '[[stage]]\nkind = "evaluate"\nname = "a\\u0000b"', "stage.name"),
        (HEAD + f'[[stage]]\nkind = "evaluate"\nname = "{"n" * 200}"', "stage.name"),
        (HEAD + '[[stage]]\nkind = "grpo"\nname = "rl"\n[[stage]]\nkind = "sft"\nname = "rl-monitor"', "stage.name"),
        (HEAD + '[[stage]]\nkind = "sft"\noptimizer = { learning_rate = nan }', "learning_rate"),
        (HEAD + '[[stage]]\nkind = "sft"\noptimizer = { betas = [1.0, 2.0] }', "betas"),
        (HEAD + '[[stage]]\nkind = "grpo"\nratio_max = inf', "ratio_max"),
        (HEAD + '[sampling.eval]\ntemperature = nan\n[[stage]]\nkind = "sft"', "sampling.eval.temperature"),
        (HEAD + '[sampling.eval]\ncontext_limit = 0\n[[stage]]\nkind = "sft"', "sampling.eval.context_limit"),
        (HEAD + '[run]\nmax_cost = -1.0\n[[stage]]\nkind = "sft"', "max_cost"),
        (HEAD + '[limits]\nwall_seconds = nan\n[[stage]]\nkind = "sft"', "wall_seconds"),
        (HEAD + '[prices.input_per_million]\npolicy = inf\n[[stage]]\nkind = "sft"', "input_per_million"),
        (HEAD + '[prices.input_per_million]\npolisy = 1.0\n[[stage]]\nkind = "sft"', "'polisy'; known: policy, user"),
        (HEAD + '[prices.output_per_million]\nteacher = 1.0\n[[stage]]\nkind = "sft"', "prices.output_per_million"),
        (HEAD + '[run]\nmax_cost = 1.0\n[[stage]]\nkind = "sft"', "run.max_cost: would never be reached"),
        (HEAD + '[run]\nmax_cost = 1.0\n[prices.input_per_million]\npolicy = 0\n[[stage]]\nkind = "sft"', "max_cost"),
    ],
)
def test_a_bad_recipe_names_file_and_key(text: str, key: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(text, "r.toml")
    assert caught.value.where == "r.toml"
    assert key in str(caught.value)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"none\.toml"):
        load_recipe(tmp_path / "none.toml")


def test_a_file_that_is_no_recipe_is_not_read_to_its_end() -> None:
    with pytest.raises(RecipeError, match=r"/dev/zero: is larger than"):
        load_recipe(Path("/dev/zero"))


def test_a_recipe_of_the_command_line_undergoes_the_same_checks() -> None:
    recipe = parse_recipe(HEAD + '[[stage]]\nkind = "sft"\n', "r.toml")
    assert checked(recipe, "command line") == recipe
    with pytest.raises(RecipeError, match=r"command line: name"):
        checked(msgspec.structs.replace(recipe, name="../r"), "command line")


def test_embedded_recipes_are_valid() -> None:
    for name in ("demo.toml", "smoke.toml"):
        text = resources.files("journeyman.recipes").joinpath(name).read_text(encoding="utf-8")
        kinds = [type(stage).__name__ for stage in parse_recipe(text, name).stage]
        assert kinds == ["Evaluate", "Sft", "Evaluate", "Grpo", "Evaluate"]


def test_the_example_of_the_page_is_valid_and_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert example is not None
    assert parse_recipe(example[1], "docs/recipes.md").name == "first-run"
    for struct in vars(module).values():
        if isinstance(struct, type) and issubclass(struct, module.Section) and struct is not module.Section:
            for field in msgspec.structs.fields(struct):
                assert re.search(rf"\b{field.name}\b", page), f"{struct.__name__}.{field.name}"
