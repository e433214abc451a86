"""The engine's torch objective against the numpy reference, on random inputs."""

import numpy as np
import pytest
from reference_objective import cispo, dual_clip, gspo, importance_sampling, k3, nll, ppo_clip

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


@pytest.mark.parametrize("seed", range(3))
def test_all_losses_agree(seed: int) -> None:
    from journeyman.engine.objective import reference_kl, token_terms

    rng = np.random.default_rng(seed)
    old = -rng.exponential(1.5, 300)
    new = np.minimum(old + rng.normal(0, 0.5, 300), 0)
    advantages, episodes = rng.normal(size=300), np.sort(rng.integers(0, 20, 300))
    log_ratios = np.array([(new - old)[episodes == episode].mean() for episode in episodes])
    wanted = {
        LossSettings("importance_sampling"): importance_sampling(new, old, advantages),
        LossSettings("ppo_clip", 0.8, 1.28, dual_clip=1.5): dual_clip(new, old, advantages, 0.8, 1.28, 1.5),
        LossSettings("cispo", 0.5, 1.5): cispo(new, old, advantages, 0.5, 1.5),
        LossSettings("gspo", 0.95, 1.05): gspo(new, old, advantages, episodes, 0.95, 1.05),
    }
    inputs = [torch.tensor(values) for values in (new, old, advantages, log_ratios)]
    for settings, (objective, gradient) in wanted.items():
        terms = token_terms(settings, *inputs)
        np.testing.assert_allclose(terms.loss.numpy(), -objective, atol=1e-12, err_msg=settings.kind)
        np.testing.assert_allclose(terms.slope.numpy(), -gradient, atol=1e-12, err_msg=settings.kind)
        # Where a bound cuts the term off its gradient is 0, but for CISPO, which keeps it.
        assert bool(terms.clipped.any()) == (settings.kind != "importance_sampling")
        if settings.kind != "cispo":
            np.testing.assert_array_equal(terms.clipped.numpy(), (gradient == 0) & (advantages != 0))
    value, slope = reference_kl(inputs[0], inputs[1])
    np.testing.assert_allclose(value.numpy(), k3(new, old)[0], atol=1e-12)
    np.testing.assert_allclose(slope.numpy(), k3(new, old)[1], atol=1e-12)


def test_nll_agrees() -> None:
    from journeyman.engine.objective import token_terms

    logprobs = torch.tensor([-0.5, -3.0], dtype=torch.float64)
    terms = token_terms(LossSettings("sft"), logprobs, torch.zeros(2), torch.ones(2))
    value, slope = nll(logprobs.numpy())
    assert terms.loss.tolist() == value.tolist()
    assert terms.slope.tolist() == slope.tolist()
