"""The uniform's counter and the inverse distribution function."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from journeyman.engine.draw import _mix, draw, uniform


def test_uniform_is_splitmix64() -> None:
    # First output of SplitMix64 from state 0 (Vigna's reference implementation).
    assert _mix(0) == 0xE220A8397B1DCDAF
    assert uniform(7, 3) == uniform(7, 3)
    assert len({uniform(seed, position) for seed in range(50) for position in range(50)}) == 2500


def test_uniform_is_uniform() -> None:
    values = [uniform(seed, position) for seed in range(100) for position in range(100)]
    assert sum(values) / len(values) == pytest.approx(0.5, abs=0.01)
    assert all(abs(count - 1000) < 150 for count in Counter(int(v * 10) for v in values).values())


@pytest.mark.parametrize(("point", "token"), [(0.0, 0), (0.499, 0), (0.501, 1), (0.749, 1), (0.751, 2), (0.9999999, 2)])
def test_inverse_by_hand(point: float, token: int) -> None:
    logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
    tokens, logprobs = draw(logits, [1.0], [1.0], [point])
    assert tokens == [token]
    assert logprobs[0] == pytest.approx(math.log([0.5, 0.25, 0.25][token]), abs=1e-6)


def test_inverse_over_many_blocks() -> None:
    logits = torch.randn(40, 1000, generator=torch.Generator().manual_seed(1)) * 3
    points = [(i + 0.5) / 40 for i in range(40)]
    tokens, logprobs = draw(logits, [0.7] * 40, [1.0] * 40, points)
    exact = torch.log_softmax(logits.double() / 0.7, -1)
    for row, point in enumerate(points):
        edges = exact[row].exp().cumsum(0)
        assert float(edges[tokens[row]]) > point - 1e-6
        assert tokens[row] == 0 or float(edges[tokens[row] - 1]) <= point + 1e-6
        assert logprobs[row] == pytest.approx(float(exact[row, tokens[row]]), abs=1e-5)


def test_top_p_by_hand() -> None:
    probabilities = [0.1, 0.4, 0.2, 0.3]
    logits = torch.tensor([probabilities]).log()
    # The smallest set that reaches 0.6 is {1 (0.4), 3 (0.3)}: 1 below 4/7, 3 above.
    found = {point: draw(logits, [1.0], [0.6], [point]) for point in (0.0, 0.57, 0.572, 0.999)}
    assert [tokens[0] for tokens, _ in found.values()] == [1, 1, 3, 3]
    # The log-probability stays that of the whole distribution.
    assert found[0.999][1][0] == pytest.approx(math.log(0.3), abs=1e-6)


def test_top_p_of_a_flat_distribution_needs_more_than_the_likeliest() -> None:
    logits = torch.zeros(1, 1000)
    tokens = {draw(logits, [1.0], [0.9], [i / 100])[0][0] for i in range(100)}
    assert len(tokens) == 100
    assert len({draw(logits, [1.0], [1e-9], [i / 10])[0][0] for i in range(10)}) == 1
