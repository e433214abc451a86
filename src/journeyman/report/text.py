"""How numbers and long texts are written, in the HTML report and in the terminal alike."""

from __future__ import annotations

from collections.abc import Sequence

from journeyman.evaluate.statistics import Estimate

NONE = "–"
"""Stands for a number that does not exist (nothing to count over)."""


def percent(value: float | None, digits: int = 1) -> str:
    """0.4236 as 42.4%."""
    return NONE if value is None else f"{100 * value:.{digits}f}%"


def percent_interval(estimate: Estimate) -> str:
    """The bounds of a rate: 35.1–49.0%."""
    return f"{100 * estimate.low:.1f}–{100 * estimate.high:.1f}%"


def points(value: float | None) -> str:
    """A difference of rates in percentage points, signed: +8.1."""
    return NONE if value is None else f"{100 * value:+.1f}".replace("-", "−")


def points_interval(estimate: Estimate) -> str:
    """The bounds of a difference of rates: +2.0 to +14.3."""
    return f"{points(estimate.low)} to {points(estimate.high)}"


def number(value: float | None, digits: int = 2) -> str:
    """A plain number: 0.42, 1,234."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}f}"


def number_interval(estimate: Estimate, digits: int = 2) -> str:
    """The bounds of a plain number."""
    return f"{number(estimate.low, digits)}–{number(estimate.high, digits)}"


def p_value(value: float) -> str:
    """A p-value: 0.012, or < 0.001."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def truncate(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, with a note of how many were left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … [{len(text) - limit:,} more characters not shown]"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(count: int, noun: str) -> str:
    """1 task, 2 tasks, 2 families."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"
