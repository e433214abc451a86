"""The closed forms against autograd and against values worked by hand."""

from __future__ import annotations

import math

import torch

from journeyman.engine.base import LossSettings
from journeyman.engine.objective import kl_k3, token_terms


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
