"""The closed forms against autograd and against values worked by hand."""

from __future__ import annotations

import math

import torch

from journeyman.engine.base import LossSettings
from journeyman.engine.objective import kl_k3, reference_kl, token_terms
from journeyman.engine.training import episode_log_ratios, matters
from journeyman.episode import Sample


def test_ppo_clip_by_hand() -> None:
    old = torch.zeros(4)
    new = torch.tensor([1.5, 1.5, 0.5, 0.5]).log()
    terms = token_terms(LossSettings("ppo_clip", 0.8, 1.28), new, old, torch.tensor([2.0, -2.0, 2.0, -2.0]))
    torch.testing.assert_close(terms.loss, torch.tensor([-2.56, 3.0, -1.0, 1.6]))
    torch.testing.assert_close(terms.slope, torch.tensor([0.0, 3.0, -1.0, 0.0]))
    assert terms.clipped.tolist() == [True, False, False, True]


def test_slope_is_the_derivative() -> None:
    generator = torch.Generator().manual_seed(0)
    new = (torch.randn(200, generator=generator) * 0.5).requires_grad_()
    old, advantages = torch.randn(200, generator=generator) * 0.1, torch.randn(200, generator=generator)
    ratio = torch.exp(new - old)
    torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages).neg().sum().backward()
    terms = token_terms(LossSettings("ppo_clip", 0.8, 1.28), new.detach(), old, advantages)
    assert new.grad is not None
    torch.testing.assert_close(terms.slope, new.grad)


def test_k3_by_hand() -> None:
    # π_θ / π_sampler = 2: 2 − 1 − log 2; equal: 0.
    found = kl_k3(torch.tensor([math.log(0.5), -1.0]), torch.tensor([math.log(0.25), -1.0]))
    torch.testing.assert_close(found, torch.tensor([1 - math.log(2), 0.0]))


def test_dual_clip_by_hand() -> None:
    # Ratio 4 with A = −2: −8, cut at 3 · −2; ratio 2: −4 as in PPO; A = 2 is not concerned.
    new = torch.tensor([4.0, 2.0, 4.0]).log()
    settings = LossSettings("ppo_clip", 0.8, 1.28, dual_clip=3.0)
    terms = token_terms(settings, new, torch.zeros(3), torch.tensor([-2.0, -2.0, 2.0]))
    torch.testing.assert_close(terms.loss, torch.tensor([6.0, 4.0, -2.56]))
    torch.testing.assert_close(terms.slope, torch.tensor([0.0, 4.0, 0.0]))
    assert terms.clipped.tolist() == [True, False, True]


def test_importance_sampling_by_hand() -> None:
    settings = LossSettings("importance_sampling", 0.8, 1.28)  # bounds are not its business
    terms = token_terms(settings, torch.tensor([4.0, 0.5]).log(), torch.zeros(2), torch.tensor([0.5, -3.0]))
    torch.testing.assert_close(terms.loss, torch.tensor([-2.0, 1.5]))
    torch.testing.assert_close(terms.slope, terms.loss)
    assert not terms.clipped.any()


def test_cispo_keeps_the_gradient_of_what_it_clips() -> None:
    old = torch.tensor([-1.0, -1.0, -1.0]) - torch.tensor([8.0, 2.0, 0.5]).log()
    terms = token_terms(LossSettings("cispo", 0.0, 4.0), torch.full((3,), -1.0), old, torch.tensor([0.5, -1.0, 1.0]))
    torch.testing.assert_close(terms.loss, torch.tensor([2.0, -2.0, 0.5]))
    torch.testing.assert_close(terms.slope, torch.tensor([-2.0, 2.0, -0.5]))
    assert terms.clipped.tolist() == [True, False, False]
    torch.testing.assert_close(terms.ratio, torch.tensor([8.0, 2.0, 0.5]))


def test_gspo_has_the_ratio_of_its_episode() -> None:
    log_ratios = torch.tensor([0.0, 0.0, math.log(2.0)])
    new = torch.tensor([-9.0, -8.0, -7.0])  # a token's own ratio does not count
    terms = token_terms(LossSettings("gspo", 0.9, 1.1), new, torch.zeros(3), torch.tensor([1.0, -1.0, 3.0]), log_ratios)
    torch.testing.assert_close(terms.loss, torch.tensor([-1.0, 1.0, -3.3]))
    torch.testing.assert_close(terms.slope, torch.tensor([-1.0, 1.0, 0.0]))


def test_reference_kl_by_hand() -> None:
    # π_ref / π_θ = 2: 2 − 1 − ln 2 with derivative 1 − 2; equal: 0 and 0.
    value, slope = reference_kl(torch.tensor([-1.0, -1.0]), torch.tensor([-1.0 + math.log(2.0), -1.0]))
    torch.testing.assert_close(value, torch.tensor([1 - math.log(2), 0.0]))
    torch.testing.assert_close(slope, torch.tensor([-1.0, 0.0]))


def segment(episode: str, mask: list[int], old: float, proximal: float | None = None, advantage: float = 1.0) -> Sample:
    return Sample(
        episode_id=episode,
        group_id="g",
        token_ids=[7] * len(mask),
        mask=mask,
        logprobs=[old * flag for flag in mask],
        versions=[0] * len(mask),
        temperature=1.0,
        advantages=[advantage * flag for flag in mask],
        proximal_logprobs=None if proximal is None else [proximal * flag for flag in mask],
    )


def test_log_ratios_of_episodes_by_hand() -> None:
    samples = [segment("a", [0, 1, 1], -2.0), segment("b", [0, 1], -2.0, proximal=-3.0), segment("a", [0, 1], -2.0)]
    found = episode_log_ratios(samples, {0: [0.0, -1.0, -3.0], 1: [0.0, -1.0], 2: [0.0, -0.5]})
    # a: (1 − 1 + 1.5) / 3; b: −1 − (−3), its own policy before the update.
    assert found == {"a": 0.5, "b": 2.0}
    assert episode_log_ratios(samples, {1: [0.0, -1.0]}) == {"b": 2.0}


def test_what_matters() -> None:
    ppo, with_kl = LossSettings("ppo_clip"), LossSettings("ppo_clip", kl_coefficient=0.1)
    live, silent, weightless = (
        segment("a", [0, 1], -1.0),
        segment("a", [0, 1], -1.0, advantage=0.0),
        segment("a", [0, 1], -1.0),
    )
    weightless.weights = [0.0, 0.0]
    assert [matters(sample, ppo) for sample in (live, silent, weightless)] == [True, False, False]
    assert [matters(sample, with_kl) for sample in (live, silent, weightless)] == [True, True, False]
    assert matters(silent, LossSettings("sft"))
