"""Precision, recall and kappa against values worked out by hand."""

from __future__ import annotations

import pytest

from journeyman.evaluate.calibration import Compared, calibrate, measure


def compared(kind: str, both: int, judge: int, program: int, neither: int, void: int = 0) -> list[Compared]:
    cells = [(True, True)] * both + [(False, True)] * judge + [(True, False)] * program + [(False, False)] * neither
    return [Compared(kind, *cell) for cell in cells] + [Compared(kind, True, None)] * void


def test_by_hand() -> None:
    # Cohen's textbook table: 20 and 15 agree of 50, p_o = .7, p_e = .5, so kappa = .4.
    found = measure("x", compared("x", 20, 5, 10, 15, void=3))
    assert (found.both_met, found.only_judge, found.only_program, found.both_unmet, found.void) == (20, 5, 10, 15, 3)
    assert found.decided == 50
    assert found.precision == pytest.approx(20 / 25)
    assert found.recall == pytest.approx(20 / 30)
    assert found.kappa == pytest.approx(0.4)


def test_the_corners() -> None:
    perfect = measure("x", compared("x", 3, 0, 0, 4))
    assert (perfect.precision, perfect.recall, perfect.kappa) == (1.0, 1.0, 1.0)
    opposite = measure("x", compared("x", 0, 2, 2, 0))
    assert (opposite.precision, opposite.recall, opposite.kappa) == (0.0, 0.0, -1.0)
    # A judge that always says met agrees on nine of ten, and knows nothing.
    lazy = measure("x", compared("x", 9, 1, 0, 0))
    assert (lazy.precision, lazy.recall, lazy.kappa) == (0.9, 1.0, 0.0)
    constant = measure("x", compared("x", 5, 0, 0, 0))
    assert (constant.precision, constant.recall, constant.kappa) == (1.0, 1.0, None)
    silent = measure("x", compared("x", 0, 0, 0, 0, void=2))
    assert (silent.precision, silent.recall, silent.kappa, silent.void) == (None, None, None, 2)


def test_kinds_stand_apart_and_together() -> None:
    found = calibrate(compared("happened", 1, 0, 0, 1) + compared("before", 0, 1, 1, 0))
    assert [(one.kind, one.kappa) for one in found] == [("before", -1.0), ("happened", 1.0), ("all", 0.0)]
    assert calibrate([]) == []
