"""Chargeable weight: the arithmetic of article WGT-CHARGE, for the image and for families. No tool works it out.

>>> chargeable_grams(940_000, 7_800, 6000)
1300000
>>> chargeable_grams(940_000, 7_800, 5000)
1560000
"""

from __future__ import annotations

STANDARD_DIVISOR = 6000
STEP_GRAMS = 500
"""Chargeable weight is rounded up to the next multiple of this."""


def volumetric_grams(volume_l: int, divisor: int) -> float:
    """Weight that a volume counts for. `volume_l` in litres, `divisor` in cm3 per kg."""
    return volume_l * 1_000_000 / divisor


def chargeable_grams(
    weight_grams: int, volume_l: int, divisor: int = STANDARD_DIVISOR, product: str = "general"
) -> int:
    """The greater of gross and volumetric weight, rounded up to the next half kilogram.

    Live animals count for at least one and a half times their gross weight.
    """
    # Whole numbers throughout: a float on the edge of a step would be rounded up for nothing.
    gross = 3 * weight_grams if product == "live_animals" else 2 * weight_grams
    by_gross = -(-gross // (2 * STEP_GRAMS))
    by_volume = -(-volume_l * 1_000_000 // (divisor * STEP_GRAMS))
    return max(by_gross, by_volume) * STEP_GRAMS
