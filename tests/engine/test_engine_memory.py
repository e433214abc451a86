"""Activation checkpointing, micro-batches, packing: the same loss and gradients, from less memory and work."""

from __future__ import annotations

from typing import Any

import pytest
import small_engine as small
import torch

from journeyman.engine import packing
from journeyman.engine.base import LossSettings
from journeyman.engine.local import LocalEngine
from journeyman.engine.training import Totals, Update, accumulate
from journeyman.episode import Sample

STILL = LossSettings("ppo_clip", learning_rate=0.0, max_grad_norm=float("inf"))


def gradient(made: LocalEngine, samples: list[Sample]) -> torch.Tensor:
    made.update(samples, STILL)
    return made._trained.gradients.clone()


def pair(train: str, **changes: Any) -> tuple[LocalEngine, LocalEngine]:
    """Two equal engines; the second computes layers again."""
    made = [
        small.engine(disturb=train == "lora", train=train, activation_checkpointing=flag, **changes)
        for flag in (False, True)
    ]
    return made[0], made[1]


@pytest.mark.parametrize(("train", "dtype"), [("lora", "float32"), ("full", "float32"), ("lora", "bfloat16")])
def test_checkpointing_changes_no_bit_of_a_gradient(train: str, dtype: str) -> None:
    kept, again = pair(train, dtype=dtype)
    samples = small.mixed_samples()[: 8 if dtype == "float32" else 2]
    found = gradient(kept, samples)
    assert torch.equal(found, gradient(again, samples))
    assert float(found.abs().max()) > 1e-4


def bytes_kept(made: LocalEngine, samples: list[Sample]) -> tuple[int, int]:
    """Bytes that autograd kept for the backward pass of one micro-batch (each tensor once), and its rows."""
    seen: dict[tuple[int, torch.Size], int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        seen[(tensor.data_ptr(), tensor.shape)] = tensor.numel() * tensor.element_size()
        return tensor

    (pack,) = packing.pack(samples, range(len(samples)), 10_000)
    update = Update(samples, LossSettings("sft"), 100)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        accumulate(made.weights, made._trained.trained(made._trained.gradients), pack, update, Totals())
    return sum(seen.values()), len(pack.token_ids)


def test_only_the_inputs_of_layers_are_kept() -> None:
    kept, again = pair("full")
    samples = small.mixed_samples()
    usual, rows = bytes_kept(kept, samples)
    found, _ = bytes_kept(again, samples)
    # Of a row: the inputs of two layers and of the last norm, 64 numbers of 4 bytes each, and its id.
    assert found == rows * (3 * 64 * 4 + 8)
    # Without: of a layer the norms' two inputs (64 each), q, k, v (64 + 2 · 32; before and after the rotation they are kept once),
    # the attention's output twice over (64, seen as heads and as one) and its log-sum-exps (4), gate and up (256).
    assert usual > 2 * rows * 4 * (64 * 2 + 64 + 32 * 2 + 64 + 4 + 256)
    lora_kept, lora_again = pair("lora")
    assert bytes_kept(lora_again, samples)[0] < 0.4 * bytes_kept(lora_kept, samples)[0]


@pytest.mark.parametrize("train", ["lora", "full"])
def test_gradients_do_not_depend_on_micro_tokens(train: str) -> None:
    """With weights of an aggregation by sequences: each episode's tokens divided by their number and by that of the episodes."""
    samples = small.mixed_samples()
    for item in samples:
        item.weights = [flag / sum(item.mask) / len(samples) for flag in item.mask]
    found = []
    for rows in (0, 250, 1):
        made = small.engine(disturb=train == "lora", train=train, micro_tokens=rows, lanes=1)
        found.append(gradient(made, samples))
        batches = len(packing.pack(samples, range(8), made.micro_tokens, 1))
        assert batches == {0: 1, 250: 3, 1: 8}[rows]
    for other in found[1:]:
        assert float((other - found[0]).norm() / found[0].norm()) < 1e-6
    unweighted = small.mixed_samples()
    assert float((gradient(made, unweighted) - found[0]).norm() / found[0].norm()) > 1e-3


@pytest.mark.parametrize("train", ["lora", "full"])
def test_packed_loss_equals_unpacked(train: str) -> None:
    """Of samples that begin alike and of one that does not: each sees itself and what it shares, and nothing of its neighbours."""
    made = small.engine(disturb=train == "lora", train=train)
    samples = [*small.mixed_samples()[::2], small.sample(9, small.tokens(70, 77), 5, temperature=1.3)]
    still = LossSettings("sft", learning_rate=0.0)
    (pack,) = packing.pack(samples, range(len(samples)), 10_000)
    assert len(pack.token_ids) < sum(len(item.token_ids) for item in samples)  # it is shared and packed
    together = made.update(samples, still)["loss"]
    count = sum(sum(item.mask) for item in samples)
    alone = sum(made.update([item], still)["loss"] * sum(item.mask) / count for item in samples)
    assert together == pytest.approx(alone, abs=1e-5)
    logprobs = made.logprobs(samples)
    plain = -sum(sum(row) for row in logprobs) / count
    assert together == pytest.approx(plain, abs=1e-5)
    # Another neighbour, of the same length, changes nothing.
    samples[-1] = small.sample(9, small.tokens(70, 78), 5, temperature=1.3)
    changed = made.logprobs(samples)
    assert changed[-1] != logprobs[-1]
    for before, after in zip(logprobs[:-1], changed[:-1], strict=True):
        assert after == pytest.approx(before, abs=1e-5)
