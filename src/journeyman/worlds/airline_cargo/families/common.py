"""What every cargo family uses: its random choices, the user of the starters, the sealed task, units as people write them."""

from __future__ import annotations

import functools

from journeyman.world import composing

DAY = "2026-05-11"
"""The day on which every task plays."""
choices = functools.partial(composing.choices, "airline_cargo")
starter = functools.partial(composing.starter, day=DAY)
starter_scenario = functools.partial(composing.starter_scenario, slot="awb")


def kg(grams: int) -> str:
    """Grams as people write them: 1,300.0 kg."""
    return f"{grams / 1000:,.1f} kg"


def cbm(litres: int) -> str:
    """Litres as people write them: 7.8 cbm."""
    return f"{litres / 1000:,.3f}".rstrip("0").rstrip(".") + " cbm"
