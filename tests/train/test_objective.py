import math

import numpy as np
import pytest
from reference_objective import cispo, dual_clip, gspo, importance_sampling, k3, nll, ppo_clip, token_mean

LN2 = math.log(2.0)


def test_ppo_clip_by_hand() -> None:
    # ratios 2, 2, 1/2, 1/2, 1 with advantages 1, −1, 1, −1, 3 and bounds 0.8 and 1.28
    objective, gradient = ppo_clip([LN2, LN2, -LN2, -LN2, 0.0], [0.0] * 5, [1.0, -1.0, 1.0, -1.0, 3.0], 0.8, 1.28)
    assert objective.tolist() == pytest.approx([1.28, -2.0, 0.5, -0.8, 3.0])
    # Clipped where the ratio already went too far the good way; not where it went the wrong way.
    assert gradient.tolist() == pytest.approx([0.0, -2.0, 0.5, 0.0, 3.0])


def test_ppo_clip_gradient_is_the_derivative() -> None:
    rng = np.random.default_rng(5)
    logprobs, behaviour = -rng.exponential(1.0, 200), -rng.exponential(1.0, 200)
    advantages = rng.normal(size=200)
    _, gradient = ppo_clip(logprobs, behaviour, advantages, 0.8, 1.28)
    step = 1e-6
    above, _ = ppo_clip(logprobs + step, behaviour, advantages, 0.8, 1.28)
    below, _ = ppo_clip(logprobs - step, behaviour, advantages, 0.8, 1.28)
    np.testing.assert_allclose(gradient, (above - below) / (2 * step), rtol=1e-4, atol=1e-6)


def test_token_mean_counts_tokens_of_the_whole_update_alike() -> None:
    # 3 tokens of one sample and 1 of another: 1 + 2 + 3 + 10 = 16, over 4 tokens; not the mean of means (2 + 10) / 2.
    assert token_mean([1.0, 2.0, 3.0, 10.0]) == 4.0
    assert token_mean([1.0, 2.0, 3.0, 10.0], [1.0, 1.0, 1.0, 0.5]) == 2.75
    assert token_mean([]) == 0.0


def test_dual_clip_by_hand() -> None:
    # Ratio 4 with advantage −2: −8 by PPO, no less than 3 · −2; ratio 2: −4 either way; advantage 2 is not concerned.
    objective, gradient = dual_clip([2 * LN2, LN2, 2 * LN2], [0.0] * 3, [-2.0, -2.0, 2.0], 0.8, 1.28, 3.0)
    assert objective.tolist() == pytest.approx([-6.0, -4.0, 2.56])
    assert gradient.tolist() == pytest.approx([0.0, -4.0, 0.0])


def test_importance_sampling_by_hand() -> None:
    objective, gradient = importance_sampling([2 * LN2, -LN2], [0.0, 0.0], [0.5, -3.0])
    assert objective.tolist() == gradient.tolist() == pytest.approx([2.0, -1.5])


def test_cispo_by_hand() -> None:
    # log π −1 and ratios 8, 2, ½ within [0, 4]: 4 · ½ · −1 with gradient 4 · ½, and so on.
    objective, gradient = cispo([-1.0] * 3, [-1 - 3 * LN2, -1 - LN2, -1 + LN2], [0.5, -1.0, 1.0], 0.0, 4.0)
    assert objective.tolist() == pytest.approx([-2.0, 2.0, -0.5])
    assert gradient.tolist() == pytest.approx([2.0, -2.0, 0.5])


def test_gspo_by_hand() -> None:
    # Episode 0: log ratios ln 2 and −ln 2, so s = 1; episode 1: ln 2 alone, s = 2, clipped to 1.1 where A > 0.
    new, old = [LN2, -LN2, LN2], [0.0, 0.0, 0.0]
    objective, gradient = gspo(new, old, [1.0, -1.0, 3.0], [0, 0, 1], 0.9, 1.1)
    assert objective.tolist() == pytest.approx([1.0, -1.0, 3.3])
    assert gradient.tolist() == pytest.approx([1.0, -1.0, 0.0])


def test_k3_by_hand() -> None:
    value, slope = k3([-1.0, -1.0], [-1.0 + LN2, -1.0])
    assert value.tolist() == pytest.approx([1 - LN2, 0.0])
    assert slope.tolist() == pytest.approx([-1.0, 0.0])


def test_nll() -> None:
    value, gradient = nll([-0.5, -2.0])
    assert value.tolist() == [0.5, 2.0]
    assert gradient.tolist() == [-1.0, -1.0]
