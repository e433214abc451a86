import math

import numpy as np
import pytest

from journeyman.train.correction import correct

LN2 = math.log(2.0)
# Episode a has two samples, b one. Log ratios: a: ln 4, −ln 2, then ln 2; b: ln 4, 0. The first token of each is given.
PROXIMAL = [[0.0, -1.0, -2.0], [0.0, -1.0], [0.0, -3.0, -0.5]]
SAMPLER = [[0.0, -1.0 - 2 * LN2, -2.0 + LN2], [0.0, -1.0 - LN2], [0.0, -3.0 - 2 * LN2, -0.5]]
MASKS = [[0, 1, 1], [0, 1], [0, 1, 1]]
EPISODES = ["a", "a", "b"]


def factors(kind: str, low: float, high: float) -> tuple[list[list[float]], float, float]:
    made = correct(kind, PROXIMAL, SAMPLER, MASKS, EPISODES, (low, high))
    return [one.tolist() for one in made.factors], made.mean, made.dropped_share


def test_none() -> None:
    assert factors("none", 0.0, 1e12) == ([[0, 1, 1], [0, 1], [0, 1, 1]], 1.0, 0.0)


def test_truncated_by_hand() -> None:
    found, mean, dropped = factors("truncated", 0.0, 2.0)
    for one, wanted in zip(found, [[0, 2, 0.5], [0, 2], [0, 2, 1]], strict=True):
        assert one == pytest.approx(wanted)
    assert (mean, dropped) == (pytest.approx(7.5 / 5), 0.0)


def test_masked_by_hand() -> None:
    found, mean, dropped = factors("masked", 0.6, 2.5)
    for one, wanted in zip(found, [[0, 0, 0], [0, 2], [0, 0, 1]], strict=True):
        assert one == pytest.approx(wanted)
    assert (mean, dropped) == (pytest.approx(3 / 5), pytest.approx(3 / 5))


def test_geometric_by_hand() -> None:
    # a: (2 − 1 + 1)/3 ln 2, so its mean ratio is 2^⅔ = 1.587; b: 2/2 ln 2, so 2.
    assert factors("geometric", 0.5, 1.6) == ([[0, 1, 1], [0, 1], [0, 0, 0]], 3 / 5, 2 / 5)
    assert factors("geometric", 1.59, 2.01) == ([[0, 0, 0], [0, 0], [0, 1, 1]], 2 / 5, 3 / 5)
    # An episode's samples are judged together: alone, the second sample of a has mean ratio 2.
    assert factors("geometric", 0.5, 1.0) == ([[0, 0, 0], [0, 0], [0, 0, 0]], 0.0, 1.0)


def test_a_long_episode_is_not_judged_by_the_product_of_its_ratios() -> None:
    # 1.1 to the power of 100 is about 13,780; the mean ratio is 1.1.
    logs = [math.log(1.1)] * 100
    made = correct("geometric", [logs], [[0.0] * 100], [[1] * 100], ["a"], (0.9, 1.2))
    assert made.factors[0].tolist() == [1.0] * 100


def test_ratios_beyond_all_numbers() -> None:
    far = [[-1000.0, 900.0]], [[0.0, 0.0]], [[1, 1]], ["a"]
    assert correct("truncated", *far, (0.0, 2.0)).factors[0].tolist() == pytest.approx([0.0, 2.0])
    assert correct("masked", *far, (0.5, 2.0)).factors[0].tolist() == [0.0, 0.0]
    assert correct("geometric", [[900.0]], [[0.0]], [[1]], ["a"], (0.999, 1.001)).factors[0].tolist() == [0.0]


def test_what_is_masked_out_counts_nowhere() -> None:
    """Log-probabilities are 0 there, but even if they were not."""
    one = correct("geometric", [[5.0, -1.0]], [[0.0, -1.0]], [[0, 1]], ["a"], (0.999, 1.001))
    assert (one.factors[0].tolist(), one.mean, one.dropped_share) == ([0.0, 1.0], 1.0, 0.0)
    empty = correct("masked", [[5.0]], [[0.0]], [[0]], ["a"], (0.5, 2.0))
    assert (empty.factors[0].tolist(), empty.mean, empty.dropped_share) == ([0.0], 1.0, 0.0)
    assert correct("truncated", [], [], [], [], (0.0, 2.0)).factors == []


def test_bounds_are_inside() -> None:
    made = correct("masked", [np.log([0.5, 2.0, 1.0])], [np.zeros(3)], [[1, 1, 1]], ["a"], (0.5, 2.0 + 1e-12))
    assert made.factors[0].tolist() == pytest.approx([0.5, 2.0, 1.0])


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no correction 'raw'"):
        factors("raw", 0.0, 1.0)
