"""The engine's torch objective against the numpy reference, on random inputs."""

import numpy as np
import pytest
from reference_objective import nll, ppo_clip

from journeyman.engine.base import LossSettings

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("ratio_min", "ratio_max"), [(0.8, 1.28), (0.5, 1.0), (0.0, 4.0)])
def test_ppo_clip_agrees(seed: int, ratio_min: float, ratio_max: float) -> None:
    from journeyman.engine.objective import token_terms

    rng = np.random.default_rng(seed)
    behaviour = -rng.exponential(1.5, 400)
    logprobs = np.minimum(behaviour + rng.normal(0, 0.4, 400), 0)
    advantages = rng.normal(size=400) * (rng.random(400) < 0.9)
    wanted, gradient = ppo_clip(logprobs, behaviour, advantages, ratio_min, ratio_max)
    settings = LossSettings("ppo_clip", ratio_min=ratio_min, ratio_max=ratio_max)
    terms = token_terms(settings, *(torch.tensor(values) for values in (logprobs, behaviour, advantages)))
    np.testing.assert_allclose(terms.loss.numpy(), -wanted, atol=1e-12)
    np.testing.assert_allclose(terms.slope.numpy(), -gradient, atol=1e-12)
    # Autograd through the same formula, as a third opinion.
    leaf = torch.tensor(logprobs, requires_grad=True)
    ratio = torch.exp(leaf - torch.tensor(behaviour))
    credit = torch.tensor(advantages)
    torch.minimum(ratio * credit, ratio.clamp(ratio_min, ratio_max) * credit).sum().backward()
    unambiguous = np.abs(advantages) > 0
    np.testing.assert_allclose(leaf.grad.numpy()[unambiguous], gradient[unambiguous], atol=1e-12)


def test_nll_agrees() -> None:
    from journeyman.engine.objective import token_terms

    logprobs = torch.tensor([-0.5, -3.0], dtype=torch.float64)
    terms = token_terms(LossSettings("sft"), logprobs, torch.zeros(2), torch.ones(2))
    value, slope = nll(logprobs.numpy())
    assert terms.loss.tolist() == value.tolist()
    assert terms.slope.tolist() == slope.tolist()
