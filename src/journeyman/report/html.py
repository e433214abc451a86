"""`report.html`: one file, no request to anywhere, readable on paper, in the dark, on a phone and by a screen reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from journeyman import __version__
from journeyman.evaluate.bootstrap import RESAMPLES
from journeyman.report import text
from journeyman.report.charts import Series, as_number, line_chart, nice_top, share_bar, slope_chart, strip
from journeyman.report.curves import Curve
from journeyman.report.data import PhaseReport, ReportData

FAILURE_KINDS: dict[str, tuple[str, str]] = {
    "none": ("ended by itself", "none"),
    "agent": ("agent: loop, no action, call limit", "agent"),
    "truncated": ("ran out of tokens or turns", "truncated"),
    "user": ("broken by the user side", "user"),
    "infrastructure": ("broken by the machine", "infrastructure"),
    "not played": ("not played", "missing"),
}

BEHAVIOURS: list[tuple[str, str, str]] = [
    ("Policy looked up before the first write", "policy_before_write", "share of episodes that wrote"),
    ("Record read before the first write", "record_before_write", "share of episodes that wrote"),
    ("Same write repeated", "episodes_with_repeated_write", "share of episodes"),
    ("Write after the user refused it", "episodes_with_write_after_refusal", "share of episodes"),
    (
        "Write after telling the user no",
        "episodes_with_write_after_denial",
        "share of episodes; lawful where it documents",
    ),
    ("Transferred to a person", "transferred", "share of episodes"),
    ("Calls", "calls_per_episode", "per episode"),
    ("Writes", "writes_per_episode", "per episode"),
    ("Questions to the user", "questions_per_episode", "per episode"),
    ("Calls that failed", "failed_call_share", "share of calls"),
    ("Calls of tools that do not exist", "unknown_call_share", "share of calls"),
]


def write_report(data: ReportData, path: Path) -> None:
    """Write the report as one self-contained HTML file, by way of a file beside it that is renamed when whole."""
    aside = path.with_name(path.name + ".partial")
    try:
        aside.write_text(render_report(data), encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def render_report(data: ReportData) -> str:
    """The report's HTML. Every text that comes from data is escaped."""
    here = Path(__file__).parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in (
        "percent",
        "percent_interval",
        "points",
        "points_interval",
        "number",
        "number_interval",
        "p_value",
        "counted",
    ):
        environment.filters[name] = getattr(text, name)
    top = _rate_top(data)
    return environment.get_template("report.html.j2").render(
        data=data,
        style=Markup((here / "report.css").read_text(encoding="utf-8")),
        version=__version__,
        resamples=RESAMPLES,
        top=top,
        strip=strip,
        curves=[panel for curve in data.curves for panel in _curve_panels(curve)],
        reliability=_reliability(data),
        families=_family_panels(data),
        failures=[(phase, _failure_bar(phase)) for phase in data.phases],
        failure_kinds=FAILURE_KINDS,
        new_families=text.listed(
            [
                f"{phase.label} {text.percent(found.value)} ({text.percent_interval(found)})"
                for phase in data.phases
                if (found := phase.metrics.overall.new_families) is not None
            ]
        ),
        unclean=text.listed(
            [
                f"{text.percent(phase.metrics.passing_unclean)} ({phase.label})"
                for phase in data.phases
                if phase.metrics.passing_unclean is not None
            ]
        ),
        behaviours=BEHAVIOURS,
        behaviour_value=_behaviour_value,
        settings=_flat(data.settings),
        provenance=_flat(data.provenance),
        roles=sorted({role for phase in data.phases for role in phase.metrics.usage}),
        clocks=sorted({role for phase in data.phases for role in phase.metrics.seconds}),
    )


def _rate_top(data: ReportData) -> float:
    """End of the scale of every pass-rate chart, so that panels can be compared by eye."""
    highs = [
        scores.pass_at_1.high
        for phase in data.phases
        for scores in (phase.metrics.overall, *phase.metrics.families.values())
    ]
    return min(1.0, nice_top(max(highs, default=1.0)))


def _family_panels(data: ReportData) -> list[tuple[str, str, Markup]]:
    """(family, caption, slope chart) for each family, after one for all tasks together."""
    if not data.phases:
        return []
    top = _rate_top(data)
    names = list(dict.fromkeys(name for phase in data.phases for name in phase.metrics.families))
    panels = []
    for name in ["", *names] if len(names) > 1 else names:
        found = [(p, p.metrics.families.get(name) if name else p.metrics.overall) for p in data.phases]
        points = [(p.label, p.role, scores.pass_at_1) for p, scores in found if scores is not None]
        sizes = [scores for _, scores in found if scores is not None]
        levels = sorted({t.level for t in data.phases[0].metrics.tasks if t.level and name in ("", t.family)})
        level = (
            f", level {'–'.join(str(v) for v in (levels[:1] + levels[-1:] if len(levels) > 1 else levels))}"
            if levels
            else ""
        )
        unseen = {t.split for t in data.phases[0].metrics.tasks if name == t.family} == {"heldout_family"}
        caption = f"{text.counted(sizes[0].tasks, 'task')}{level}{', family never trained on' if unseen else ''}"
        panels.append((name or "All families", caption, slope_chart(points, title=name or "All families", y_top=top)))
    return panels


def _reliability(data: ReportData) -> list[tuple[str, str, Markup]]:
    """pass^k and pass@k over k, where more than one trial was played."""
    if not data.phases or max(p.metrics.trials for p in data.phases) < 2:
        return []
    panels = []
    for title, caption, field in (
        ("pass^k", "all of k attempts pass", "pass_hat_k"),
        ("pass@k", "at least one of k attempts passes", "pass_at_k"),
    ):
        series = []
        for phase in data.phases:
            estimates = getattr(phase.metrics.overall, field)
            xs = list(range(1, len(estimates) + 1))
            series.append(
                Series(
                    phase.label,
                    phase.role,
                    xs,
                    [e.value for e in estimates],
                    [e.low for e in estimates],
                    [e.high for e in estimates],
                )
            )
        top = min(1.0, nice_top(max(h for s in series for h in s.high)))
        panels.append(
            (title, caption, line_chart(series, title=title, x_title="attempts k", y_top=top, width=460, height=258))
        )
    return panels


def _curve_panels(curve: Curve) -> list[tuple[str, str, Markup]]:
    values = curve.series
    if curve.kind == "sft":
        loss = Series("loss", "sft", curve.steps, values["loss"], marks=len(curve.steps) <= 15)
        top = nice_top(max((v for v in values["loss"] if v is not None), default=1.0))
        chart = line_chart([loss], title=f"{curve.stage} loss", x_title="optimizer step", y_top=top, y_format=as_number)
        return [("Supervised loss", f"{curve.stage}, nats per trained token", chart)]
    where = "training tasks, all sampled episodes" if curve.kind == "grpo" else "monitoring tasks"
    reward = Series("reward", "grpo", curve.steps, values["reward"])
    passed = Series("pass", "grpo", curve.steps, values["pass_rate"])
    clean = Series("clean", "sft", curve.steps, values["clean_rate"])
    silent = Series("no signal", "base", curve.steps, values["zero_signal"]) if "zero_signal" in values else None
    title = "Reward" if curve.kind == "grpo" else "Monitored reward"
    rate = "Pass rate" if curve.kind == "grpo" else "Monitored pass rate"
    note = "; bars: share of groups without signal" if silent else ""
    reward_chart = line_chart([reward], title=f"{curve.stage} {title}", x_title="step", y_top=1.0, y_format=as_number)
    rate_chart = line_chart([passed, clean], title=f"{curve.stage} {rate}", x_title="step", y_top=1.0, bars=silent)
    return [
        (title, f"{curve.stage}, mean on {where}", reward_chart),
        (rate, f"{curve.stage}, {where}{note}", rate_chart),
    ]


def _failure_bar(phase: PhaseReport) -> Markup:
    planned = max(1, phase.metrics.planned)
    parts = [
        (label, css, phase.metrics.failures.get(kind, 0) / planned) for kind, (label, css) in FAILURE_KINDS.items()
    ]
    return share_bar(parts, title=f"How {phase.label} attempts ended")


def _behaviour_value(phase: PhaseReport, field: str) -> str:
    value: float | None = getattr(phase.behaviour, field)
    return text.number(value, 1) if field.endswith("_per_episode") else text.percent(value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted key, text) rows."""
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows.extend(_flat(value, f"{name}."))
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            for place, item in enumerate(value):
                label = str(item.get("name", place)) if isinstance(item, Mapping) else str(place)
                rows.extend(
                    _flat(item, f"{name}[{label}].") if isinstance(item, Mapping) else [(f"{name}[{place}]", str(item))]
                )
        elif value not in (None, "", [], ()):
            rows.append(
                (
                    name,
                    text.truncate(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value), 400),
                )
            )
    return rows
