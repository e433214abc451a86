"""How far a judge can be believed: its decisions on criteria that a program decides, against the program's.

The program's decision is the truth, `met` the positive class. With a, b, c, d = both say met, only the judge does, only
the program does, neither does, and n their sum:

    precision = a / (a + b)        recall = a / (a + c)
    kappa = (p_o - p_e) / (1 - p_e),  p_o = (a + d) / n,  p_e = ((a + b)(a + c) + (c + d)(b + d)) / n²

Kappa is Cohen's (Educational and Psychological Measurement 20, 1960). A figure without a denominator does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Compared(Struct, frozen=True):
    """One criterion of one attempt. `judge` None: the judge gave no decision that counts."""

    kind: str
    program: bool
    judge: bool | None


class Calibration(Struct, frozen=True):
    """Counts and figures of one kind of criterion, or of all. `void` decisions are in no figure."""

    kind: str
    both_met: int
    only_judge: int
    only_program: int
    both_unmet: int
    void: int
    precision: float | None
    recall: float | None
    kappa: float | None

    @property
    def decided(self) -> int:
        """Decisions that count."""
        return self.both_met + self.only_judge + self.only_program + self.both_unmet


ALL = "all"
"""The kind under which all decisions stand together."""


def calibrate(decisions: Iterable[Compared]) -> list[Calibration]:
    """Per kind, in alphabetical order, and at the end over all. Empty where nothing was compared."""
    kinds: dict[str, list[Compared]] = {}
    for one in decisions:
        kinds.setdefault(one.kind, []).append(one)
    if not kinds:
        return []
    every = [one for found in kinds.values() for one in found]
    return [*(measure(kind, kinds[kind]) for kind in sorted(kinds)), measure(ALL, every)]


def measure(kind: str, decisions: Iterable[Compared]) -> Calibration:
    """The figures of a set of decisions."""
    counts = {(program, judge): 0 for program in (True, False) for judge in (True, False)}
    void = 0
    for one in decisions:
        if one.judge is None:
            void += 1
        else:
            counts[one.program, one.judge] += 1
    a, b, c, d = counts[True, True], counts[False, True], counts[True, False], counts[False, False]
    return Calibration(kind, a, b, c, d, void, _share(a, a + b), _share(a, a + c), _kappa(a, b, c, d))


def _kappa(a: int, b: int, c: int, d: int) -> float | None:
    n = a + b + c + d
    if n == 0:
        return None
    # In whole numbers, times n²: no rounding before the one division.
    observed, expected = (a + d) * n, (a + b) * (a + c) + (c + d) * (b + d)
    return None if expected == n * n else (observed - expected) / (n * n - expected)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
