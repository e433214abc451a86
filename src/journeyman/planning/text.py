"""A plan as tables for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from journeyman.planning.cost import Amount
from journeyman.planning.recipe import GIB, DevicePlan, Plan
from journeyman.planning.stages import NOTHING, Range, StagePlan


def render_plan(plan: Plan) -> RenderableType:
    """Stages, what a device holds, totals and notes as one rich renderable. Text of a recipe is never read as markup."""
    parts: list[RenderableType] = [
        Text(f"{plan.recipe}: {plan.model} in {plan.world}", style="bold"),
        _stages(plan),
        Text(
            "Groups and episodes are those sampled, replaced ones included. Tokens: if the model is as brief as the reference "
            "solutions, and the most that the limits allow."
        ),
    ]
    if plan.device is not None:
        trained = f"{_short(plan.device.trained)} of {_short(plan.device.parameters)} parameters are trained"
        parts += [Text(""), Text(f"{trained}, on {plan.device.device} in {plan.device.dtype}"), _device(plan.device)]
    parts += [
        Text(""),
        Text(f"checkpoints on disk: {_bytes(plan.disk)} at most"),
        Text(f"device hours: {_amount(plan.hours)}"),
        Text(f"cost: {_amount(plan.cost, plan.currency)}"),
    ]
    reasons = dict.fromkeys([*plan.hours.missing, *plan.cost.missing, *plan.notes])
    return Group(*parts, *(Text(f"Note: {reason}", style="yellow") for reason in reasons))


def _stages(plan: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("stage", "tasks", "steps", "updates", "groups", "episodes", "epochs", "tokens sampled", "trained"):
        table.add_column(name, justify="left" if name == "stage" else "right", overflow="fold")
    for stage in plan.stages:
        table.add_row(
            Text.assemble(stage.name, "\n", (stage.kind, "dim")),
            f"{stage.tasks:,}",
            _range(stage.steps),
            f"{stage.updates:,}" if stage.updates else "–",
            _range(stage.groups),
            _episodes(stage),
            "–" if not stage.epochs[1] else _span(f"{stage.epochs[0]:.2g}", f"{stage.epochs[1]:.2g}"),
            _tokens(stage.expected_sampled, stage.sampled_tokens),
            _tokens(_exactly(stage.expected_trained), stage.trained_tokens),
        )
    return table


def _episodes(stage: StagePlan) -> str:
    lines = [] if stage.episodes == NOTHING else [_range(stage.episodes)]
    if stage.monitor_episodes:
        lines.append(f"monitor {stage.monitor_episodes:,}")
    if stage.traces:
        lines.append(f"traces {stage.traces:,}")
    return "\n".join(lines)


def _tokens(expected: Range | None, most: int) -> str:
    if not most:
        return "–"
    brief = "unknown" if expected is None else _span(_short(expected.least), _short(expected.most))
    return f"{brief}\nmost {_short(most)}"


def _device(device: DevicePlan) -> Table:
    table = Table("memory of one device", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("GiB", justify="right")
    for name, size in device.memory.items():
        table.add_row(name, f"{size / GIB:.2f}")
    have = "unknown (give --device-memory GIB)" if device.available is None else f"{device.available / GIB:.1f}"
    table.add_row("together", f"{device.total / GIB:.2f}", style="bold")
    table.add_row("the device has", have)
    return table


def _range(found: Range) -> str:
    return "–" if found == NOTHING else _span(f"{found.least:,}", f"{found.most:,}")


def _exactly(count: int | None) -> Range | None:
    return None if count is None else Range(count, count)


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least}–{most}"


def _short(count: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def _bytes(count: int) -> str:
    return f"{count / GIB:.2f} GiB"


def _amount(found: Amount, unit: str = "") -> str:
    if found.least is None or found.most is None:
        return "unknown"
    return f"{_span(f'{found.least:.2f}', f'{found.most:.2f}')} {unit}".rstrip()
