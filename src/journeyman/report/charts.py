"""The report's charts as inline SVG: no script, no library, colours from the page's style sheet.

Every chart is a small panel that scales with its container and names its content for a screen reader. Text that
comes from data is escaped here; what is returned is safe markup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup
from msgspec import Struct

from journeyman.evaluate.statistics import Estimate

WIDTH, HEIGHT = 340, 216
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 12, 34


class Series(Struct, frozen=True):
    """One line of a chart. `css`: class that carries the colour (`base`, `sft`, `grpo`, …); `low`, `high` its band."""

    label: str
    css: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marks: bool = True


class Frame(Struct, frozen=True):
    """The plotting area and its two linear scales."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: int = WIDTH
    height: int = HEIGHT
    right: int = _RIGHT

    def x(self, value: float) -> float:
        """Pixels from the left."""
        span = self.x_high - self.x_low or 1.0
        return round(_LEFT + (value - self.x_low) / span * (self.width - _LEFT - self.right), 2)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        span = self.y_high - self.y_low or 1.0
        return round(self.height - _BOTTOM - (value - self.y_low) / span * (self.height - _TOP - _BOTTOM), 2)


def as_percent(value: float) -> str:
    """Axis label of a rate."""
    return f"{100 * value:.0f}%"


def as_number(value: float) -> str:
    """Axis label of a plain number."""
    return f"{value:g}"


def nice_top(value: float) -> float:
    """The smallest of 1, 2, 2.5, 5, 10 times a power of ten that is not below `value` (1 for 0)."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((factor * power for factor in (1.0, 2.0, 2.5, 5.0) if value <= factor * power * (1 + 1e-9)), 10 * power)


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_title: str,
    y_top: float,
    y_format: Callable[[float], str] = as_percent,
    bars: Series | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Markup:
    """Lines over a shared x axis that starts at y = 0, each with its band and marks; `bars` lie behind them on the same scale."""
    xs = [x for item in (*series, *([bars] if bars else [])) for x in item.xs]
    if not xs:
        return Markup("")
    margin = 0.5 if bars is not None else 0.0  # room for the outer halves of the first and last bar
    low, high = min(xs) - margin, max(max(xs), min(xs) + 1) + margin
    frame = Frame(low, high, 0.0, y_top, width, height, right=46 if len(series) > 1 else 20)
    parts = [_grid(frame, y_format), _x_axis(frame, xs, x_title)]
    if bars is not None:
        parts.append(_bars(frame, bars))
    parts += [_band(frame, item) for item in series if item.low]
    parts += [_line(frame, item) for item in series]
    if len(series) > 1:
        parts.append(_end_labels(frame, series))
    return _svg(frame, title, _describe(series, y_format), parts)


def slope_chart(
    points: Sequence[tuple[str, str, Estimate]], *, title: str, y_top: float, width: int = 300, height: int = 190
) -> Markup:
    """One rate before and after: a dot with its interval for each of (label, css, estimate), joined by a line."""
    frame = Frame(-0.35, len(points) - 0.65, 0.0, y_top, width=width, height=height, right=12)
    parts = [_grid(frame, as_percent, count=2)]
    path = " ".join(f"{frame.x(i)},{frame.y(e.value)}" for i, (_, _, e) in enumerate(points))
    parts.append(Markup('<polyline class="join" points="{}"/>').format(path))
    for i, (label, css, estimate) in enumerate(points):
        x = frame.x(i)
        parts.append(
            Markup(
                '<g class="s-{css}"><line class="whisker" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
                '<circle class="dot" cx="{x}" cy="{y}" r="4.5"/></g>'
                '<text class="value" x="{x}" y="{ty}" text-anchor="middle">{value}</text>'
                '<text class="tick" x="{x}" y="{by}" text-anchor="middle">{label}</text>'
            ).format(
                css=css,
                x=x,
                low=frame.y(estimate.low),
                high=frame.y(min(estimate.high, y_top)),
                y=frame.y(estimate.value),
                ty=max(10.0, frame.y(min(estimate.high, y_top)) - 7),
                value=as_percent(estimate.value),
                by=height - _BOTTOM + 18,
                label=_short(label, 14),
            )
        )
    text = ", ".join(
        f"{label} {as_percent(e.value)} (interval {as_percent(e.low)} to {as_percent(e.high)})"
        for label, _, e in points
    )
    return _svg(frame, title, text, parts)


def strip(estimate: Estimate, css: str, *, top: float = 1.0) -> Markup:
    """A rate as a dot on a 0-to-`top` rail with its interval: no text, scales to any width."""

    def at(value: float) -> float:
        return round(4 + 292 * min(value, top) / top, 2)

    return Markup(
        '<svg class="strip s-{css}" viewBox="0 0 300 16" role="img" aria-label="{value}, 95% interval {low} to {high}, on a scale from 0 to {end}">'
        '<line class="rail" x1="4" x2="296" y1="8" y2="8"/><line class="range" x1="{x1}" x2="{x2}" y1="8" y2="8"/>'
        '<circle class="dot" cx="{x}" cy="8" r="5"/></svg>'
    ).format(
        css=css,
        value=as_percent(estimate.value),
        low=as_percent(estimate.low),
        high=as_percent(estimate.high),
        end=as_percent(top),
        x1=at(estimate.low),
        x2=at(estimate.high),
        x=at(estimate.value),
    )


def share_bar(parts: Sequence[tuple[str, str, float]], *, title: str) -> Markup:
    """One whole cut into shares: (label, css, share), the shares summing to at most 1."""
    drawn, x = Markup(""), 0.0
    for label, css, share in parts:
        if share > 0:
            width = round(400 * share, 2)
            drawn += Markup(
                '<rect class="k-{}" x="{}" y="0" width="{}" height="14"><title>{}: {}</title></rect>'
            ).format(css, round(x, 2), max(width - 1, 0.6), label, as_percent(share))
            x += width
    text = ", ".join(f"{label} {as_percent(share)}" for label, _, share in parts if share > 0)
    return Markup(
        '<svg class="share" viewBox="0 0 400 14" preserveAspectRatio="none" role="img" aria-label="{}: {}">{}</svg>'
    ).format(title, text, drawn)


def _svg(frame: Frame, title: str, text: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>').format(
        frame.width, frame.height, f"{title}: {text}", title, Markup("").join(parts)
    )


def _grid(frame: Frame, y_format: Callable[[float], str], count: int = 0) -> Markup:
    drawn = Markup("")
    if count == 0:  # Tops of 2.5 and 5 times a power of ten divide by five, those of 1 and 2 by four.
        count = 5 if f"{frame.y_high:e}"[:3] in ("2.5", "5.0") else 4
    for i in range(count + 1):
        value = frame.y_low + (frame.y_high - frame.y_low) * i / count
        drawn += Markup(
            '<line class="{}" x1="{}" x2="{}" y1="{y}" y2="{y}"/><text class="tick" x="{}" y="{}" text-anchor="end">{}</text>'
        ).format(
            "axis" if i == 0 else "grid",
            _LEFT,
            frame.width - frame.right,
            _LEFT - 7,
            frame.y(value) + 3.5,
            y_format(value),
            y=frame.y(value),
        )
    return drawn


def _x_axis(frame: Frame, xs: Sequence[float], title: str) -> Markup:
    distinct = sorted(set(xs))
    step = max(1, math.ceil((len(distinct) - 1) / 5))
    ticks = distinct[::step]
    base = frame.height - _BOTTOM
    drawn = Markup("").join(
        Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            frame.x(x), base + 15, f"{x:g}"
        )
        for x in ticks
    )
    middle = (_LEFT + frame.width - frame.right) / 2
    return drawn + Markup('<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        middle, frame.height - 4, title
    )


def _bars(frame: Frame, item: Series) -> Markup:
    width = max(2.0, min(14.0, (frame.width - _LEFT - frame.right) / max(1, len(item.xs)) * 0.55))
    base = frame.y(0)
    return Markup("").join(
        Markup('<rect class="bar" x="{}" y="{}" width="{}" height="{}"/>').format(
            round(frame.x(x) - width / 2, 2), frame.y(y), round(width, 2), round(base - frame.y(y), 2)
        )
        for x, y in zip(item.xs, item.ys, strict=True)
        if y
    )


def _band(frame: Frame, item: Series) -> Markup:
    above = [f"{frame.x(x)},{frame.y(y)}" for x, y in zip(item.xs, item.high, strict=True)]
    below = [f"{frame.x(x)},{frame.y(y)}" for x, y in zip(item.xs, item.low, strict=True)]
    return Markup('<polygon class="band s-{}" points="{}"/>').format(item.css, " ".join(above + below[::-1]))


def _line(frame: Frame, item: Series) -> Markup:
    points = [(frame.x(x), frame.y(y)) for x, y in zip(item.xs, item.ys, strict=True) if y is not None]
    path = " ".join(f"{x},{y}" for x, y in points)
    drawn = Markup('<polyline class="curve" points="{}"/>').format(path)
    if item.marks and len(points) <= 40:
        drawn += Markup("").join(Markup('<circle class="dot" cx="{}" cy="{}" r="3"/>').format(x, y) for x, y in points)
    return Markup('<g class="s-{}">{}</g>').format(item.css, drawn)


def _end_labels(frame: Frame, series: Sequence[Series]) -> Markup:
    """Each line's name at its end, pushed apart where they would overlap."""
    ends = []
    for item in series:
        known = [(x, y) for x, y in zip(item.xs, item.ys, strict=True) if y is not None]
        if known:
            ends.append((frame.y(known[-1][1]) + 3.5, frame.x(known[-1][0]), item))
    ends.sort(key=lambda end: end[0])
    drawn, last = Markup(""), -math.inf
    lowest = frame.height - _BOTTOM + 3.5
    for place, (y, x, item) in enumerate(ends):
        room = lowest - 12 * (len(ends) - 1 - place)
        last = max(min(y, room), last + 12)
        drawn += Markup('<text class="end s-{}" x="{}" y="{}">{}</text>').format(
            item.css, x + 7, round(last, 2), _short(item.label, 9)
        )
    return drawn


def _describe(series: Sequence[Series], y_format: Callable[[float], str]) -> str:
    parts = []
    for item in series:
        known = [y for y in item.ys if y is not None]
        if known:
            parts.append(f"{item.label} from {y_format(round(known[0], 4))} to {y_format(round(known[-1], 4))}")
    return "; ".join(parts)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
