import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.train.advantage import advantages_of, bounded, grpo, has_signal, leave_one_out, mean_centred

REWARDS = st.lists(st.floats(0, 1), min_size=1, max_size=16)


def test_mean_centred_by_hand() -> None:
    # mean of 1, 0.6, 0.4, 0 is 0.5
    assert mean_centred([1.0, 0.6, 0.4, 0.0]).tolist() == pytest.approx([0.5, 0.1, -0.1, -0.5])
    assert mean_centred([0.7]).tolist() == [0.0]


def test_grpo_by_hand() -> None:
    # 1, 1, 1, 0 about their mean ¾: squares 3 · 1/16 + 9/16 = ¾, over G − 1 = 3 that is ¼, so the deviation is ½.
    wanted = [0.25 / (0.5 + 1e-6)] * 3 + [-0.75 / (0.5 + 1e-6)]
    assert grpo([1.0, 1.0, 1.0, 0.0]).tolist() == pytest.approx(wanted, rel=1e-12)
    assert grpo([1.0, 1.0, 1.0, 0.0], epsilon=0.5).tolist() == pytest.approx([0.25, 0.25, 0.25, -0.75], rel=1e-12)
    assert grpo([0.3]).tolist() == [0.0]
    assert grpo([0.5, 0.5]).tolist() == [0.0, 0.0]


def test_leave_one_out_by_hand() -> None:
    # The others of 1: (0.6 + 0.4 + 0) / 3 = ⅓; of 0.6: 1.4 / 3; of 0.4: 1.6 / 3; of 0: 2 / 3.
    wanted = [2 / 3, 0.4 / 3, -0.4 / 3, -2 / 3]
    assert leave_one_out([1.0, 0.6, 0.4, 0.0]).tolist() == pytest.approx(wanted)
    assert leave_one_out([0.7]).tolist() == [0.0]


def test_bounded_by_hand() -> None:
    # 5, 1, 0, 0, −1 about their mean 1.
    assert bounded([5.0, 1.0, 0.0, 0.0, -1.0]).tolist() == pytest.approx([1.0, 0.0, -1.0, -1.0, -1.0])
    assert bounded([1.0, 0.0]).tolist() == [0.5, -0.5]


def test_the_kind_of_a_recipe_is_the_function_of_that_name() -> None:
    rewards = [3.0, 0.0, 1.0]
    for function in (grpo, mean_centred, leave_one_out, bounded):
        assert advantages_of(rewards, function.__name__).tolist() == function(rewards).tolist()
    assert (
        len({tuple(advantages_of(rewards, kind)) for kind in ("grpo", "mean_centred", "leave_one_out", "bounded")}) == 4
    )


@settings(deadline=None)
@given(REWARDS, st.floats(-1, 1))
def test_mean_centred_sums_to_zero_and_ignores_a_shift(rewards: list[float], shift: float) -> None:
    advantages = mean_centred(rewards)
    assert abs(advantages.sum()) < 1e-12 * len(rewards)
    np.testing.assert_allclose(mean_centred(np.array(rewards) + shift), advantages, atol=1e-12)


@settings(deadline=None)
@given(REWARDS)
def test_leaving_one_out_is_centring_scaled(rewards: list[float]) -> None:
    size = len(rewards)
    scale = size / (size - 1) if size > 1 else 0.0
    np.testing.assert_allclose(leave_one_out(rewards), scale * mean_centred(rewards), atol=1e-12)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=16), st.floats(1, 100))
def test_grpo_ignores_the_scale_of_the_reward(rewards: list[float], scale: float) -> None:
    advantages = grpo(np.array(rewards) * scale, epsilon=0.0) if has_signal(rewards, 1e-3) else np.zeros(1)
    if advantages.any():
        np.testing.assert_allclose(grpo(rewards, epsilon=0.0), advantages, rtol=1e-9, atol=1e-9)
        # A sample of G with deviation 1 has squares that sum to G − 1.
        assert math.isclose(float((advantages**2).sum()), len(rewards) - 1, rel_tol=1e-9)


def test_signal_is_spread_beyond_the_tolerance() -> None:
    assert not has_signal([0.3, 0.3, 0.3], 1e-6)
    assert not has_signal([0.1 + 0.2, 0.3], 1e-6)  # float noise: 0.30000000000000004
    assert has_signal([0.3, 0.300002], 1e-6)
    assert has_signal([0.0, 0.0, 0.2], 1e-6)  # nobody passed, and yet there is something to learn
    assert not has_signal([1.0], 1e-6)
    assert not has_signal([], 1e-6)
