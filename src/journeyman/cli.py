"""The command line: one thin command per verb. Results go to stdout, progress and errors to stderr.

Exit codes: 0 done, 1 findings, 2 bad input, 3 infrastructure, 130 interrupted (the run can be resumed).
"""

from __future__ import annotations

import os
import re
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from journeyman import __version__
from journeyman.cli_tasks import tasks_app
from journeyman.console import JsonOption, err, out, plain, print_json
from journeyman.episode import INVALID_FAILURES
from journeyman.errors import EndpointError, EngineError, JourneymanError, RecipeError
from journeyman.recipe import Evaluate, Policy, Recipe, TaskFilter, checked, load_recipe, parse_recipe

if TYPE_CHECKING:
    from journeyman.train.runfolder import RunFolder
    from journeyman.world import World

app = typer.Typer(
    help="Turns an open-weight language model into an enterprise agent that can be depended on, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(tasks_app, name="tasks")

RunsOption = Annotated[Path, typer.Option("--runs", help="Folder that holds the run folders.")]


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done, and refuse what cannot be. Loads no model.")
    ] = False,
    like: Annotated[
        Path | None, typer.Option(help="With --dry-run: a run folder whose measured rates tell hours and cost.")
    ] = None,
    device_memory: Annotated[float | None, typer.Option(min=0.0, help="With --dry-run: GiB of one device.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON instead of tables.")] = False,
) -> None:
    """Run every stage of a recipe."""
    loaded = load_recipe(recipe)
    if dry_run:
        _plan(loaded, str(recipe), like, device_memory, as_json)
        return
    for name, given in (("--like", like), ("--device-memory", device_memory), ("--json", as_json or None)):
        if given is not None:
            raise RecipeError("command line", name, "goes with --dry-run: add that, or leave it out.")
    _run(loaded, runs / loaded.name, resume=resume, again="Go on with the same command and --resume.")


def _plan(recipe: Recipe, where: str, like: Path | None, device_memory: float | None, as_json: bool) -> None:
    from journeyman.planning.cost import measured_rates
    from journeyman.planning.recipe import plan_recipe
    from journeyman.planning.text import render_plan
    from journeyman.train.runfolder import RunFolder

    rates = measured_rates(RunFolder(like)) if like is not None else None
    plan = plan_recipe(recipe, where, rates, device_memory)
    if as_json:
        print_json(plan)
        return
    out.print(render_plan(plan))


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
        print_json(rows)
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
        print_json(found)
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
    from journeyman.engine.processes import launched
    from journeyman.parts import evaluation_recipe
    from journeyman.pipeline import evaluate_policy
    from journeyman.progress import RichProgress

    if launched()[1] > 1:
        raise RecipeError("eval", "processes", "an evaluation runs in one process: start it without a launcher.")
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
        print_json(found)
        return
    table = Table("kind", "decided", "void", "precision", "recall", "kappa")
    for kind in found.kinds:
        figures = (number(value) for value in (kind.precision, kind.recall, kind.kappa))
        table.add_row(kind.kind, str(kind.decided), str(kind.void), *figures)
    out.print(f"{found.judge} against the program on {found.episodes} episodes; met is the positive class.")
    out.print(table)
    for why, count in found.void.items():
        out.print(f"void, {count}: {plain(why)}", highlight=False, soft_wrap=True)
    out.print(f"tokens: {found.usage.input} in, {found.usage.output} out, {found.usage.requests} requests")


def _unused(folder: Path) -> Path:
    number = 2
    while (candidate := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return candidate


def _run(recipe: Recipe, folder: Path, *, resume: bool, again: str) -> None:
    from journeyman.engine.processes import launched
    from journeyman.pipeline import run_recipe
    from journeyman.progress import RichProgress

    if launched()[0]:
        _follow(recipe)
        return
    with RichProgress(err) as progress:
        result = run_recipe(recipe, folder, resume=resume, progress=progress)
    if result.stopped:
        err.print(f"stopped: {result.stopped}. {again}")
    _report(folder, None, as_json=False)
    if result.stopped:
        raise typer.Exit(130)
    _refuse_ungraded(result.folder)


def _follow(recipe: Recipe) -> None:
    """The part of a process that was launched beside the one that runs the recipe. Without a model there is none."""
    if recipe.policy.kind == "model":
        from journeyman.engine.distributed import follow

        follow(recipe.model, seed=recipe.seed, threads=recipe.run.threads)


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
