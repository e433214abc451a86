import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeyman.train.advantage import has_signal, mean_centred


def test_mean_centred_by_hand() -> None:
    # mean of 1, 0.6, 0.4, 0 is 0.5
    assert mean_centred([1.0, 0.6, 0.4, 0.0]).tolist() == pytest.approx([0.5, 0.1, -0.1, -0.5])
    assert mean_centred([0.7]).tolist() == [0.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=16), st.floats(-1, 1))
def test_mean_centred_sums_to_zero_and_ignores_a_shift(rewards: list[float], shift: float) -> None:
    advantages = mean_centred(rewards)
    assert abs(advantages.sum()) < 1e-12 * len(rewards)
    np.testing.assert_allclose(mean_centred(np.array(rewards) + shift), advantages, atol=1e-12)


def test_signal_is_spread_beyond_the_tolerance() -> None:
    assert not has_signal([0.3, 0.3, 0.3], 1e-6)
    assert not has_signal([0.1 + 0.2, 0.3], 1e-6)  # float noise: 0.30000000000000004
    assert has_signal([0.3, 0.300002], 1e-6)
    assert has_signal([0.0, 0.0, 0.2], 1e-6)  # nobody passed, and yet there is something to learn
    assert not has_signal([1.0], 1e-6)
    assert not has_signal([], 1e-6)
