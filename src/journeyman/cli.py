"""The command line: one thin command per verb. Results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 findings, 2 bad input, 3 infrastructure, 130 interrupted (the run can be resumed).
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from journeyman import __version__
from journeyman.codec import encode
from journeyman.episode import INVALID_FAILURES
from journeyman.errors import EndpointError, EngineError, JourneymanError, RecipeError, TaskFileError
from journeyman.recipe import Evaluate, Policy, Recipe, TaskFilter, checked, load_recipe, parse_recipe

if TYPE_CHECKING:
    from journeyman.task import Task
    from journeyman.train.runfolder import RunFolder
    from journeyman.world import World

app = typer.Typer(
    help="Turns an open-weight language model into an enterprise agent that can be depended on, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
tasks_app = typer.Typer(help="Look at the tasks of a world.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")

WIDTH_OF_A_FILE = 110
"""Columns of a table that does not go to a terminal."""

out = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
err = Console(stderr=True)

RunsOption = Annotated[Path, typer.Option("--runs", help="Folder that holds the run folders.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Entry point: runs the command and turns errors into one line and an exit code."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        app()
    except JourneymanError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        # The disk, a permission, a name too long: what the machine refuses, wherever it did.
        if isinstance(error, BrokenPipeError):
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader is gone; nothing more can be said
            sys.exit(0)
        place = f"{error.filename}: " if error.filename is not None else ""
        _fail(f"{place}{error.strerror or error}. Nothing that was recorded is lost; correct it and try again.", 3)
    except MemoryError:
        _fail("memory: there is not enough. Lower model.slots, run.concurrency or the batch of the stage.", 3)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)


def _fail(text: str, code: int) -> NoReturn:
    """One line on stderr, whatever stands in the text, and the end."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    shown = "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in line)
    err.print(Text.assemble(("error", "bold red"), ": ", shown), soft_wrap=True)
    sys.exit(code)


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _print_json(value: Any) -> None:
    sys.stdout.write(encode(value).decode() + "\n")


@app.command()
def version() -> None:
    """Print the version."""
    out.print(__version__)


@app.command()
def demo(
    size: Annotated[
        Literal["full", "smoke"], typer.Option(help="`full`: SmolLM2-135M; `smoke`: a tiny random model.")
    ] = "full",
    runs: RunsOption = Path("runs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again beside an existing run of the same name.")] = False,
) -> None:
    """The main job with embedded defaults: base, SFT and RL on held-out tasks, then the report."""
    name = {"full": "demo.toml", "smoke": "smoke.toml"}[size]
    text = resources.files("journeyman.recipes").joinpath(name).read_text(encoding="utf-8")
    recipe = parse_recipe(text, name)
    folder = runs / recipe.name
    if fresh:
        folder = _unused(folder)
    _run(recipe, folder, resume=folder.exists(), again="Run the same command again to go on.")


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(help="A TOML recipe.")],
    runs: RunsOption = Path("runs"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that this recipe began.")] = False,
) -> None:
    """Run every stage of a recipe."""
    loaded = load_recipe(recipe)
    _run(loaded, runs / loaded.name, resume=resume, again="Go on with the same command and --resume.")


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: report.html in the run folder.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write report.html of a run and print its tables."""
    _report(run, output, as_json)


@app.command()
def worlds(as_json: JsonOption = False) -> None:
    """List the worlds."""
    from journeyman.worlds import WORLDS, load_world

    rows = {name: _world_counts(load_world(name)) for name in WORLDS}
    if as_json:
        _print_json(rows)
        return
    table = Table("world", "tables", "tools", "articles", "families", "tasks", "of which held out")
    for name, counts in rows.items():
        table.add_row(
            name, *(str(counts[key]) for key in ("tables", "tools", "articles", "families", "tasks", "heldout"))
        )
    out.print(table)


def _world_counts(world: World) -> dict[str, int]:
    tasks = world.tasks()
    return {
        "tables": len(world.tables),
        "tools": len(world.tools),
        "articles": len(world.articles),
        "families": len(world.families),
        "tasks": len(tasks),
        "heldout": sum(task.split != "train" for task in tasks),
    }


@app.command()
def lint(
    names: Annotated[list[str] | None, typer.Argument(metavar="[WORLD]...", help="Worlds to check.")] = None,
    all_worlds: Annotated[bool, typer.Option("--all", help="Every world.")] = False,
    attack: Annotated[bool, typer.Option("--attack", help="Play the attack suite on every task too.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Default: one for each processor.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove of every task that its oracle passes and that idling, refusing and guessing fail. Exit code 1 on findings."""
    from journeyman.curriculum.lint_pool import lint_worlds
    from journeyman.curriculum.lint_text import lines
    from journeyman.progress import track
    from journeyman.worlds import WORLDS, load_world

    chosen = list(WORLDS) if all_worlds else names
    if not chosen:
        raise RecipeError("lint", "WORLD", "name a world or give --all.")
    total = sum(len(load_world(name).tasks()) for name in dict.fromkeys(chosen))
    with track(err, "lint", total) as advance:
        found = lint_worlds(chosen, load_world, attack=attack, processes=processes, progress=advance)
    if as_json:
        _print_json(found)
    else:
        for line in lines(found):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    if found.findings:
        raise typer.Exit(1)


@app.command()
def play(
    world: Annotated[str, typer.Argument(help="A world.")],
    task: Annotated[str | None, typer.Option("--task", help="A task id (default: a starter).")] = None,
    seed: Annotated[int, typer.Option(help="Picks the user's words.")] = 0,
    output: Annotated[Path | None, typer.Option("--out", help="Append the episode to this JSONL file.")] = None,
) -> None:
    """Work one task yourself: talk to the user, call the tools, and be graded at the end."""
    from journeyman.rollout.person import play_in_terminal
    from journeyman.worlds import load_world

    play_in_terminal(load_world(world), task, seed, output)


@app.command("eval")
def evaluate(
    world: Annotated[str, typer.Argument(help="A world.")],
    policy: Annotated[str, typer.Option(help="`model`, a scripted policy, or `endpoint:NAME`.")] = "model",
    recipe: Annotated[
        Path | None, typer.Option(help="Recipe whose endpoints, judge, model, sampling, limits and prices to use.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name or folder, for `--policy model`.")] = None,
    adapter: Annotated[
        Path | None, typer.Option(help="Run folder or checkpoint whose weights, and whose recipe's settings, to use.")
    ] = None,
    context_limit: Annotated[int | None, typer.Option(min=1, help="Tokens of a whole episode.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Families (default: all).")] = None,
    split: Annotated[Literal["train", "heldout", "heldout_family"], typer.Option()] = "heldout",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many tasks.")] = None,
    trials: Annotated[int, typer.Option(min=1)] = 4,
    seed: Annotated[int, typer.Option()] = 0,
    runs: RunsOption = Path("runs"),
    name: Annotated[str | None, typer.Option(help="Name of the run folder.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Play tasks with a scripted policy, a model or an endpoint and print pass rates with intervals."""
    from journeyman.parts import evaluation_recipe
    from journeyman.pipeline import evaluate_policy
    from journeyman.progress import RichProgress

    base = evaluation_recipe(load_recipe(recipe) if recipe is not None else None, adapter, model, context_limit)
    stage = Evaluate(name="eval", trials=trials, tasks=(TaskFilter(families=family or [], split=split, limit=limit),))
    actor = policy if policy != "model" else Path(base.model.name).name
    run_name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"eval-{world}-{actor}-{split}") if name is None else name
    # Who acts is said on the command line alone.
    chosen = msgspec.structs.replace(base, name=run_name, world=world, stage=[stage], seed=seed, policy=Policy())
    chosen = checked(chosen, "command line")
    folder = runs / chosen.name
    with RichProgress(err) as progress:
        result = evaluate_policy(chosen, folder, policy=policy, adapter=adapter, progress=progress)
    if result.stopped:
        err.print(f"stopped: {result.stopped}. Go on with the same command.")
    _report(folder, None, as_json)
    if result.stopped:
        raise typer.Exit(130)
    _refuse_ungraded(result.folder)


@app.command()
def calibrate(
    run: Annotated[Path, typer.Argument(help="A run folder with evaluation episodes.")],
    recipe: Annotated[
        Path | None, typer.Option(help="Recipe that names the judge and its endpoint (default: the run's own).")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many episodes.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Put what a program decided to the judge: precision, recall and kappa by kind of criterion."""
    from journeyman.calibrating import calibrate_judge
    from journeyman.report.text import number
    from journeyman.train.runfolder import RunFolder

    folder = RunFolder(run)
    found = calibrate_judge(folder, load_recipe(recipe) if recipe is not None else folder.recipe, limit)
    if as_json:
        _print_json(found)
        return
    table = Table("kind", "decided", "void", "precision", "recall", "kappa")
    for kind in found.kinds:
        figures = (number(value) for value in (kind.precision, kind.recall, kind.kappa))
        table.add_row(kind.kind, str(kind.decided), str(kind.void), *figures)
    out.print(f"{found.judge} against the program on {found.episodes} episodes; met is the positive class.")
    out.print(table)
    for why, count in found.void.items():
        out.print(f"void, {count}: {_plain(why)}", highlight=False, soft_wrap=True)
    out.print(f"tokens: {found.usage.input} in, {found.usage.output} out, {found.usage.requests} requests")


@tasks_app.command("count")
def tasks_count(world: Annotated[str, typer.Argument()] = "telecom", as_json: JsonOption = False) -> None:
    """Count a world's tasks by family, level and split."""
    from journeyman.worlds import load_world

    counts: dict[str, dict[str, int]] = {}
    levels: dict[str, int] = {}
    for task in load_world(world).tasks():
        row = counts.setdefault(task.family, {"train": 0, "heldout": 0, "heldout_family": 0, "criteria": 0})
        row[task.split] += 1
        row["criteria"] += len(task.criteria)
        levels[task.family] = task.level
    if as_json:
        _print_json({family: {"level": levels[family], **row} for family, row in counts.items()})
        return
    table = Table("family", "level", "train", "held out", "held-out family", "criteria a task")
    for family, row in counts.items():
        total = row["train"] + row["heldout"] + row["heldout_family"]
        table.add_row(
            family,
            str(levels[family]),
            *(str(row[key]) for key in ("train", "heldout", "heldout_family")),
            f"{row['criteria'] / total:.1f}",
        )
    out.print(table)


@tasks_app.command("show")
def tasks_show(
    task_id: Annotated[
        str, typer.Argument(help="A task id, as `telecom/starter_billing/heldout-500`; or a world, to list its ids.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Show one task: what the user wants, what must change, the rubric and the oracle. Of a world, show the ids."""
    from journeyman.worlds import load_world

    world_name, slash, _ = task_id.partition("/")
    if not world_name:
        raise TaskFileError("tasks show", task_id, "a task id is WORLD/FAMILY/SPLIT-SEED.")
    world = load_world(world_name)
    if not slash:
        ids = [task.id for task in world.tasks()]
        if as_json:
            _print_json(ids)
        else:
            sys.stdout.write("".join(f"{one}\n" for one in ids))
        return
    task = world.task(task_id)
    if as_json:
        _print_json(task)
    else:
        _show_task(task)


def _show_task(task: Task) -> None:
    from journeyman.task import Call

    out.print(f"[bold]{task.id}[/]  level {task.level}, {task.split}, now {task.now}")
    out.print(f"\n[bold]request[/]  {_plain(task.request)}")
    if task.scenario:
        out.print(f"[bold]goal[/]     {_plain(task.scenario.goal)}")
        for fact in task.scenario.facts:
            out.print(f"  knows {fact.slot} = {_plain(str(fact.value))} ({fact.reveal})")
    for number, outcome in enumerate(task.outcomes):
        out.print(f"\n[bold]outcome {number}[/] ends: {outcome.end}")
        for row in outcome.rows:
            out.print(
                f"  {row.op} {row.table} where {_plain(encode(row.where).decode())} set {_plain(encode(row.set).decode())}"
            )
        for told in outcome.facts:
            out.print(f"  {told.kind} {told.slot} {_plain(encode(told.value).decode())}")
    out.print("\n[bold]oracle[/]")
    for step in task.oracle:
        text = f"{step.tool} {json.dumps(step.arguments)}" if isinstance(step, Call) else f"says: {step.text}"
        out.print(f"  {_plain(text)}")
    out.print("\n[bold]criteria[/]")
    for criterion in task.criteria:
        weight = "required" if criterion.required else "optional"
        out.print(f"  {criterion.polarity:8} {weight:8} {_plain(criterion.text)}")


def _unused(folder: Path) -> Path:
    number = 2
    while (candidate := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return candidate


def _run(recipe: Recipe, folder: Path, *, resume: bool, again: str) -> None:
    from journeyman.pipeline import run_recipe
    from journeyman.progress import RichProgress

    with RichProgress(err) as progress:
        result = run_recipe(recipe, folder, resume=resume, progress=progress)
    if result.stopped:
        err.print(f"stopped: {result.stopped}. {again}")
    _report(folder, None, as_json=False)
    if result.stopped:
        raise typer.Exit(130)
    _refuse_ungraded(result.folder)


def _refuse_ungraded(run: RunFolder) -> None:
    """An evaluation none of whose attempts could be graded has measured nothing, whatever its report counts.

    Raises:
        EndpointError: an endpoint acted in it. EngineError: none did.
    """
    recipe = run.recipe
    entries = run.scan().entries.values()
    for stage in recipe.stage:
        played = [entry for entry in entries if entry.id.startswith(f"{stage.name}/")]
        if not isinstance(stage, Evaluate) or not played:
            continue
        if all(entry.failure in INVALID_FAILURES for entry in played):
            first = next(run.episodes(among={played[0].id}))
            kind = EndpointError if recipe.policy.endpoint or recipe.user.endpoint else EngineError
            why = first.failure_detail.rstrip(".")
            raise kind(
                str(run.path), f"stage {stage.name}", f"no attempt could be graded, so nothing was measured: {why}."
            )


def _report(folder: Path, output: Path | None, as_json: bool) -> None:
    from journeyman.report.data import build_report_data, to_json
    from journeyman.report.html import write_report
    from journeyman.report.terminal import print_results
    from journeyman.train.runfolder import RunFolder
    from journeyman.worlds import load_world

    run = RunFolder(folder)
    data = build_report_data(run, load_world(run.recipe.world).tasks())
    path = output or folder / "report.html"
    write_report(data, path)
    if as_json:
        sys.stdout.write(to_json(data).decode() + "\n")
        return
    print_results(data, out)
    out.print(f"report: {path}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
