"""Recipes: strict reading, errors that name the key, and documentation that lists every key."""

from __future__ import annotations

import re
import typing
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

from journeyman.episode import SamplingSettings
from journeyman.errors import RecipeError
from journeyman.recipe import (
    Endpoint,
    Evaluate,
    Grpo,
    Objective,
    Opd,
    Pivot,
    Recipe,
    Sampled,
    Sft,
    TaskFilter,
    Training,
    checked,
    load_recipe,
    parse_recipe,
)
from journeyman.serving import Vllm

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
BEST = 'keep = "best"\nevaluate_every = 2\nmonitor = {}'
HEAD = 'name = "r"\nworld = "telecom"\n'


def test_defaults_are_those_of_the_records() -> None:
    recipe = parse_recipe(HEAD + '[[stage]]\nkind = "grpo"\n', "r.toml")
    stage = recipe.stage[0]
    assert isinstance(stage, Grpo)
    assert (stage.objective.ratio_bounds, stage.group_size, stage.max_staleness) == ((0.8, 1.28), 8, 0)
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
        (HEAD + '[[stage]]\nkind = "grpo"\nobjective = { ratio_max = inf }', "ratio_max"),
        (
            HEAD + '[[stage]]\nkind = "grpo"\nmax_staleness = 1',
            "objective.correction: max_staleness = 1 trains on what older",
        ),
        (HEAD + '[[stage]]\nkind = "pivot"\nmax_staleness = 1', "max_staleness: pivots are drawn by what"),
        (HEAD + '[[stage]]\nkind = "grpo"\nkeep = "best"', "keep"),
        (HEAD + f'[[stage]]\nkind = "grpo"\nsteps = 4\nkeep_references = [4]\n{BEST}', "keep_references"),
        (HEAD + '[sampling.eval]\ntemperature = nan\n[[stage]]\nkind = "sft"', "sampling.eval.temperature"),
        (HEAD + '[sampling.eval]\ncontext_limit = 0\n[[stage]]\nkind = "sft"', "sampling.eval.context_limit"),
        (HEAD + '[run]\nmax_cost = -1.0\n[[stage]]\nkind = "sft"', "max_cost"),
        (HEAD + '[limits]\nwall_seconds = nan\n[[stage]]\nkind = "sft"', "wall_seconds"),
        (HEAD + '[prices.input_per_million]\npolicy = inf\n[[stage]]\nkind = "sft"', "input_per_million"),
        (HEAD + '[prices.input_per_million]\npolisy = 1.0\n[[stage]]\nkind = "sft"', "'polisy'; known: policy, user"),
        (HEAD + '[prices.output_per_million]\ncoach = 1.0\n[[stage]]\nkind = "sft"', "prices.output_per_million"),
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


def test_the_example_of_the_page_is_valid() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example is not None
    assert parse_recipe(example[1], "docs/recipes.md").name == "first-run"


def keys(section: type[Any], prefix: str = "") -> set[str]:
    """Keys of a section, those of sections in it by their path; of what has a table of its own nothing."""
    found: set[str] = set()
    for field in msgspec.structs.fields(section):
        kinds = typing.get_args(field.type) or (field.type,)
        inner = [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        if not inner or inner[0] is TaskFilter:
            found.add(prefix + field.name)
        elif inner[0] not in (Vllm, Endpoint, Objective):
            found |= keys(inner[0], f"{prefix}{field.name}.")
    return found


def documented() -> dict[str, set[str]]:
    """Title -> what the first column of its tables names."""
    tables: dict[str, set[str]] = {}
    for part in re.split(r"\n(?=#{2,4} )", PAGE):
        title = part.split("\n", 1)[0].strip("# ")
        cells = re.findall(r"^\| (`[^|]+) \|", part, flags=re.MULTILINE)
        tables[title] = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    return tables


def test_every_key_is_documented_in_its_table_and_no_other() -> None:
    tables = documented()
    trains, plays = keys(Training), keys(Sampled)
    sampling = {f"sampling.{part}.{name}" for part in ("train", "eval") for name in SamplingSettings.__struct_fields__}
    own = {'`kind = "sft"`': Sft, '`kind = "opd"`': Opd, '`kind = "pivot"`': Pivot}
    expected = {
        "Keys": keys(Recipe) - {"stage", "endpoints"} - sampling | {"sampling.train.*", "sampling.eval.*"},
        "`[endpoints.NAME]`": keys(Endpoint),
        "`[vllm]`": keys(Vllm),
        '`kind = "evaluate"`': keys(Evaluate),
        "Filters of tasks": keys(TaskFilter),
        "All stages that train": trains,
        '`kind = "grpo"`, and what `opd` and `pivot` share with it': plays - trains,
        "`objective`": keys(Objective),
    } | {title: keys(stage) - plays - trains for title, stage in own.items()}
    assert keys(Grpo) == plays
    assert {title: names for title, names in tables.items() if names} == expected
    (row,) = re.findall(r"^\| `sampling\.train\.\*`.*$", PAGE, flags=re.MULTILINE)
    assert set(SamplingSettings.__struct_fields__) <= set(re.findall(r"`(\w+)`", row))


def test_defaults_of_the_page_are_those_of_the_records() -> None:
    """Of keys that stand alone in their row and have a plain value."""
    sections = {
        "Keys": Recipe, "`[vllm]`": Vllm, "`[endpoints.NAME]`": Endpoint, "All stages that train": Training,
        "`kind = \"sft\"`": Sft, "`kind = \"opd\"`": Opd, "`kind = \"pivot\"`": Pivot, "`objective`": Objective,
        "`kind = \"grpo\"`, and what `opd` and `pivot` share with it": Grpo,
    }  # fmt: skip
    checked_rows = 0
    for part in re.split(r"\n(?=#{2,4} )", PAGE):
        section = sections.get(part.split("\n", 1)[0].strip("# "))
        for left, right in re.findall(r"^\| (`[^|]+) \| ([^|]*) \|", part, flags=re.MULTILINE) if section else []:
            names, told = re.findall(r"`([^`]+)`", left), re.sub(r" \(.*\)$", "", right).split(", ")
            if len(names) != len(told):
                continue
            for name, shown in zip(names, told, strict=True):
                value = default_of(section, name)
                if isinstance(value, bool):
                    assert shown == str(value).lower(), name
                elif isinstance(value, int | float) and re.fullmatch(r"[\d.e-]+", shown):
                    assert float(shown) == value, name
                elif isinstance(value, str) and shown.startswith("`"):
                    assert shown.strip("`") == value, name
                else:
                    continue
                checked_rows += 1
    assert checked_rows > 60


def default_of(section: type[Any], path: str) -> Any:
    """The default of a key, `a.b` inside of the default of `a`; NODEFAULT where there is none to be compared."""
    name, _, rest = path.partition(".")
    field = next((one for one in msgspec.structs.fields(section) if one.name == name), None)
    if field is None or field.default is msgspec.NODEFAULT:
        return msgspec.NODEFAULT
    return default_of(type(field.default), rest) if rest and field.default is not None else field.default
