"""The results as tables for a terminal: what `journeyman demo` and `journeyman report` end with."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from journeyman.evaluate.comparison import Comparison
from journeyman.report.data import ReportData
from journeyman.report.text import number, p_value, percent, percent_interval, points, points_interval

COLOURS = {"base": "bright_black", "sft": "blue", "grpo": "dark_orange3"}


def print_results(data: ReportData, console: Console | None = None) -> None:
    """Print the verdict, the table of models and the paired differences."""
    (console or Console()).print(render_results(data))


def render_results(data: ReportData) -> RenderableType:
    """Verdict, models and paired differences as one rich renderable. Text from data is never read as markup."""
    parts: list[RenderableType] = [Text(data.words.headline, style="bold"), Text(data.words.verdict), Text("")]
    if data.phases:
        parts.append(_models(data))
    if data.comparisons:
        parts += [Text(""), _differences(data)]
    for note in (*data.notes, *data.not_compared):
        parts.append(Text(f"Note: {note}", style="yellow"))
    if data.words.untested:
        parts += [Text(""), Text(f"Not tested: {'; '.join(data.words.untested)}.", style="dim")]
    return Padding(Group(*parts), (1, 0))


def _table(title: str, columns: list[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, side in columns:
        table.add_column(name, justify="right" if side == "right" else "left", overflow="fold")
    return table


def _models(data: ReportData) -> Table:
    trials = max(phase.metrics.trials for phase in data.phases)
    hat = [k for k in sorted({2, trials}) if 1 < k <= trials]
    columns = [
        "pass@1",
        "95% interval",
        "clean",
        *(f"pass^{k}" for k in hat),
        f"observed {trials}/{trials}",
        "reward",
        "tokens",
        "seconds",
    ]
    table = _table("Models", [("model", "left"), *((name, "right") for name in columns)])
    for phase in data.phases:
        metrics, scores = phase.metrics, phase.metrics.overall
        table.add_row(
            Text(phase.label, style=COLOURS.get(phase.role, "")),
            Text(percent(scores.pass_at_1.value), style="bold"),
            percent_interval(scores.pass_at_1),
            percent(scores.clean.value),
            *(percent(scores.pass_hat_k[k - 1].value) if k <= metrics.trials else "–" for k in hat),
            f"{scores.observed_all} of {scores.tasks}",
            number(scores.reward.value),
            number(metrics.tokens_per_episode, 0),
            number(metrics.seconds_per_episode, 1),
        )
    return table


def _differences(data: ReportData) -> Table:
    columns = ["points", "95% interval", "p", "detectable", "wins/losses/ties"]
    table = _table(
        "Paired differences", [("compared", "left"), ("measure", "left"), *((name, "right") for name in columns)]
    )
    for comparison in data.comparisons:
        for place, metric in enumerate(_shown(comparison)):
            found = comparison.metric(metric)
            name = f"{data.label(comparison.b)} − {data.label(comparison.a)}"
            table.add_row(
                Text(name if place == 0 else ""),
                metric,
                Text(points(found.difference.value), style="bold" if found.distinguishable else ""),
                points_interval(found.difference),
                p_value(found.p),
                "–" if found.detectable is None else f"{100 * found.detectable:.1f}",
                f"{found.wins}/{found.losses}/{found.ties}",
                end_section=place == len(_shown(comparison)) - 1,
            )
    return table


def _shown(comparison: Comparison) -> list[str]:
    names = ["pass@1", "clean pass"]
    return [*names, f"pass^{comparison.trials}"] if comparison.trials > 1 else names
