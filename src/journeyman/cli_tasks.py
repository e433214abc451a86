"""`journeyman tasks`: looking at the tasks of a world."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from journeyman.codec import encode
from journeyman.console import JsonOption, out, plain, print_json
from journeyman.errors import TaskFileError

if TYPE_CHECKING:
    from journeyman.task import Task

tasks_app = typer.Typer(help="Look at the tasks of a world.", no_args_is_help=True)


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
        print_json({family: {"level": levels[family], **row} for family, row in counts.items()})
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
            print_json(ids)
        else:
            sys.stdout.write("".join(f"{one}\n" for one in ids))
        return
    task = world.task(task_id)
    if as_json:
        print_json(task)
    else:
        _show_task(task)


def _show_task(task: Task) -> None:
    from journeyman.task import Call

    out.print(f"[bold]{task.id}[/]  level {task.level}, {task.split}, now {task.now}")
    out.print(f"\n[bold]request[/]  {plain(task.request)}")
    if task.scenario:
        out.print(f"[bold]goal[/]     {plain(task.scenario.goal)}")
        for fact in task.scenario.facts:
            out.print(f"  knows {fact.slot} = {plain(str(fact.value))} ({fact.reveal})")
    for number, outcome in enumerate(task.outcomes):
        out.print(f"\n[bold]outcome {number}[/] ends: {outcome.end}")
        for row in outcome.rows:
            out.print(
                f"  {row.op} {row.table} where {plain(encode(row.where).decode())} set {plain(encode(row.set).decode())}"
            )
        for told in outcome.facts:
            out.print(f"  {told.kind} {told.slot} {plain(encode(told.value).decode())}")
    out.print("\n[bold]oracle[/]")
    for step in task.oracle:
        text = f"{step.tool} {json.dumps(step.arguments)}" if isinstance(step, Call) else f"says: {step.text}"
        out.print(f"  {plain(text)}")
    out.print("\n[bold]criteria[/]")
    for criterion in task.criteria:
        weight = "required" if criterion.required else "optional"
        out.print(f"  {criterion.polarity:8} {weight:8} {plain(criterion.text)}")
