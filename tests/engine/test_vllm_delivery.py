"""Whether weights were delivered, by numbers: two tolerances, and the slope of the served movement on the trainer's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from journeyman.engine.vllm_delivery import (
    Agreement,
    DeliveryFailed,
    Proof,
    agreement,
    as_sample,
    fixed_canaries,
    judge,
    judge_tempered,
    trained_canaries,
)
from journeyman.episode import Sample
from journeyman.serving import Vllm

SETTINGS = Vllm(url="http://127.0.0.1:1", adapter_folder="a", mean_tolerance=0.05, max_tolerance=1.0)


def compare(
    served: list[float], new: list[float], old: list[float], served_old: list[float] | None = None
) -> Agreement:
    first = old if served_old is None else served_old
    return agreement([[0.0, *served]], Proof([[]], [[0.0, *new]], [[0.0, *old]], [[0.0, *first]]))


def test_agreement_worked_out_by_hand() -> None:
    # t − t0 = (1, 2, 0, 0), s − s0 = (1, 2, 0.1, −0.1): slope 5/5 = 1, its error √(0.02/4/5) = 0.0316.
    found = compare([-1.0, -2.0, -2.9, -3.1], [-1.0, -2.0, -3.0, -3.0], [-2.0, -4.0, -3.0, -3.0])
    assert (found.tokens, found.slope, found.noise) == (4, pytest.approx(1.0), 0.0)
    assert (found.mean, found.largest) == (pytest.approx(0.05), pytest.approx(0.1))
    assert found.shift == pytest.approx(math.sqrt(5 / 4))
    # s0 − t0 = (0.5, 0, 0, 0): noise 0.25; s − s0 = (0.5, 2, 0, 0): slope 4.5/5.
    found = compare([-1.0, -2.0, -3, -3], [-1.0, -2.0, -3, -3], [-2.0, -4.0, -3, -3], [-1.5, -4.0, -3, -3])
    assert (found.noise, found.slope) == (pytest.approx(0.25), pytest.approx(0.9))
    # The first id of a stream has no score and counts nowhere.
    assert agreement([[9.0, -1.0]], Proof([[]], *[[[0.0, -1.0]]] * 3)) == Agreement(1, 0.0, 0.0, 0.0, 0.0, None)


def test_a_slope_is_told_only_where_it_decides() -> None:
    """Each of the four scores with a rounding of its own: none of 200 deliveries is misjudged, delivered or not."""
    rng = np.random.default_rng(0)
    decided = dict.fromkeys((0.0, 1e-3, 0.02, 0.05, 0.2, 1.0), 0)
    for shift in decided:
        for number in range(200):
            old = -rng.random(300) * 5
            new = old + shift * rng.standard_normal(300)
            delivered = number % 2 == 0

            def rounded(scores: Any) -> list[float]:
                return (scores + 0.02 * rng.standard_normal(300)).tolist()

            found = compare(rounded(new if delivered else old), rounded(new), rounded(old), rounded(old))
            if found.slope is not None:
                decided[shift] += 1
                assert (found.slope >= 0.5) == delivered, (shift, found)
    assert [decided[shift] for shift in (0.0, 1e-3, 0.02, 0.2, 1.0)] == [0, 0, 0, 200, 200]


def test_engines_that_round_differently_and_an_adapter_that_adds_nothing_are_no_old_weights() -> None:
    """At the start of a run new and old weights are the same; the server's scores are, to the bit, those it had before."""
    exact, server = [-1.0, -2.0, -3.0] * 50, [-1.0 + 1e-6, -2.0, -3.0 - 2e-6] * 50
    assert compare(server, exact, exact, server).slope is None
    trainer_again = [value + 1e-9 for value in exact]
    assert compare(server, trainer_again, exact, server).slope is None


def test_each_fault_is_named() -> None:
    judge(Agreement(100, 0.05, 1.0, 0.3, 0.02, 0.9), SETTINGS, "w", "v1")
    judge(Agreement(100, 0.01, 0.1, 0.01, 0.01, None), SETTINGS, "w", "v1")
    cases = [
        # Old weights, though the update is far below the tolerance.
        (Agreement(100, 0.001, 0.01, 0.001, 1e-6, 0.0), "older weights"),
        # Old weights, and the update is beyond the tolerance.
        (Agreement(100, 0.3, 3.0, 0.4, 0.001, 0.01), "older weights"),
        # Another model: the two differ on the old weights as well.
        (Agreement(100, 0.9, 3.0, 0.1, 0.9, None), "differ from the trainer's by 0.9 on average"),
        (Agreement(100, 0.06, 0.5, 0.5, 0.02, 1.0), "differ from the trainer's by 0.06"),
        (Agreement(100, 0.01, 1.1, 0.5, 0.02, 1.0), "1.1 at most"),
    ]
    for found, said in cases:
        with pytest.raises(DeliveryFailed) as caught:
            judge(found, SETTINGS, "w", "v1")
        assert said in caught.value.remedy
        assert caught.value.key == "v1"


def test_log_probabilities_from_before_the_temperature_are_told_from_a_wrong_model() -> None:
    tempered, plain = [-0.5, -3.0, -1.0], [-1.0, -2.0, -1.5]
    judge_tempered([-0.52, -2.97, -1.0], tempered, plain, SETTINGS, "w")
    with pytest.raises(DeliveryFailed, match="--logprobs-mode processed_logprobs and resume"):
        judge_tempered(plain, tempered, plain, SETTINGS, "w")
    with pytest.raises(DeliveryFailed, match="differ from the trainer's by 2 on average"):
        judge_tempered([-2.5, -5.0, -3.0], tempered, plain, SETTINGS, "w")


def test_canaries() -> None:
    fixed = fixed_canaries(3, 20, 50)
    assert fixed == fixed_canaries(3, 20, 50)
    assert [len(ids) for ids in fixed] == [20] * 3
    assert len({tuple(ids) for ids in fixed}) == 3
    assert all(0 <= token < 50 for ids in fixed for token in ids)

    def sample(first: int, size: int) -> Sample:
        mask = [0] * first + [1] * (size - first)
        zeros = [0.0] * size
        return Sample("e", "g", list(range(size)), mask, zeros, [0] * size, 1.0, zeros)

    samples = [sample(100, 300), sample(3, 8), sample(5, 5), sample(1, 9)]
    assert trained_canaries(samples, 3, 10) == [list(range(36, 110)), list(range(8))]
    assert as_sample([4, 5, 6], 2, 0.6) == Sample(
        "canary", "canary", [4, 5, 6], [0, 0, 1], [0.0] * 3, [0] * 3, 0.6, [0.0] * 3
    )
