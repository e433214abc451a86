"""Gradients against plain transformers + peft, and the laws of `update`."""

from __future__ import annotations

import math
from typing import Any

import pytest
import small_engine as small
import torch

from journeyman.engine import local, packing
from journeyman.engine.base import LossSettings
from journeyman.engine.local import LocalEngine
from journeyman.errors import EngineError


@pytest.fixture(scope="module")
def shared() -> LocalEngine:
    return small.engine()


def plain_gradient(made: LocalEngine, samples: list[Any], loss: LossSettings) -> dict[str, torch.Tensor]:
    parameters = {name: p for name, p in made.peft_model.named_parameters() if "lora_" in name}
    for parameter in parameters.values():
        parameter.requires_grad_(True)
    value = small.plain_loss(made.peft_model, samples, loss)
    grads = torch.autograd.grad(value, list(parameters.values()))
    for parameter in parameters.values():
        parameter.requires_grad_(False)
    return dict(zip(parameters, grads, strict=True)) | {"loss": value.detach()}


@pytest.mark.parametrize("kind", ["sft", "ppo_clip"])
def test_gradient_equals_plain_transformers_and_peft(shared: LocalEngine, kind: Any) -> None:
    loss = LossSettings(kind, ratio_min=0.8, ratio_max=1.28)
    samples = small.mixed_samples()
    samples[3].weights = [0.5 / sum(sum(item.mask) for item in samples)] * len(samples[3].mask)
    expected = plain_gradient(shared, samples, loss)
    small.gradient(shared, samples, loss)
    views = shared._adapter.views(shared._adapter.gradients)
    names = [("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), ("self_attn.o_proj",)]
    names += [("mlp.gate_proj", "mlp.up_proj"), ("mlp.down_proj",)]
    checked = 0
    for index, sites in enumerate(views):
        for site, parts in zip(sites, names, strict=True):
            for part, name in enumerate(parts):
                prefix = f"base_model.model.model.layers.{index}.{name}"
                rows = site.a[part * 4 : part * 4 + 4]
                assert small.relative(rows, expected[f"{prefix}.lora_A.default.weight"]) < 1e-5
                assert small.relative(site.b[part], expected[f"{prefix}.lora_B.default.weight"]) < 1e-5
                checked += 2
    assert checked == 28 == len(expected) - 1


def test_loss_and_metrics_equal_the_plain_ones(shared: LocalEngine) -> None:
    loss = LossSettings("ppo_clip", learning_rate=0.0)
    samples = small.mixed_samples()
    metrics = shared.update(samples, loss)
    plain = float(small.plain_loss(shared.peft_model, samples, loss).detach())
    assert metrics["loss"] == pytest.approx(plain, rel=1e-4)
    assert metrics["tokens"] == sum(sum(s.mask) for s in samples)
    assert metrics["sequence_tokens"] == sum(len(s.token_ids) for s in samples)
    current = shared.logprobs(samples)
    pairs = [
        (c, s.logprobs[i]) for s, row in zip(samples, current, strict=True) for i, c in enumerate(row) if s.mask[i]
    ]
    ratios = [math.exp(new - old) for new, old in pairs]
    assert metrics["ratio_mean"] == pytest.approx(sum(ratios) / len(ratios), rel=1e-4)
    assert metrics["ratio_max"] == pytest.approx(max(ratios), rel=1e-4)
    kl = sum(r - 1 - math.log(r) for r in ratios) / len(ratios)
    assert metrics["kl_k3"] == pytest.approx(kl, rel=1e-3)
    with torch.no_grad():
        entropies = []
        for s in samples:
            logits = shared.peft_model(torch.tensor([s.token_ids])).logits[0, :-1] / s.temperature
            entropy = torch.distributions.Categorical(logits=logits).entropy()
            entropies += [float(e) for e, flag in zip(entropy, s.mask[1:], strict=True) if flag]
    assert metrics["entropy"] == pytest.approx(sum(entropies) / len(entropies), rel=1e-4)


def test_gradient_does_not_depend_on_micro_batches(shared: LocalEngine) -> None:
    loss, samples = LossSettings("ppo_clip"), small.mixed_samples()
    found, usual = [], shared.micro_tokens
    for budget in (10_000, 250, 1):
        shared.micro_tokens = budget
        found.append(small.gradient(shared, samples, loss))
    shared.micro_tokens = usual
    assert small.relative(found[1], found[0]) < 1e-5
    assert small.relative(found[2], found[0]) < 1e-5
    assert found[0].abs().max() > 1e-4


def test_sharing_prefixes_changes_no_gradient(shared: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, samples = LossSettings("sft"), small.mixed_samples()
    with_sharing = small.gradient(shared, samples, loss)
    plain = packing.pack
    monkeypatch.setattr(local, "pack", lambda s, c, b, m: plain(s, c, b, m, min_shared=10**9))
    assert small.relative(with_sharing, small.gradient(shared, samples, loss)) < 1e-5


@pytest.mark.parametrize("lanes", [1, 3])
def test_lanes_change_no_gradient(shared: LocalEngine, lanes: int) -> None:
    other = small.engine(lanes=lanes)
    try:
        for kind in ("sft", "ppo_clip"):
            loss, samples = LossSettings(kind, ratio_min=0.9, ratio_max=1.1), small.mixed_samples()
            assert small.relative(small.gradient(other, samples, loss), small.gradient(shared, samples, loss)) < 1e-5
        ours, theirs = shared.logprobs(samples), other.logprobs(samples)
        assert max(abs(a - b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)) < 1e-4
        metrics = [made.update(samples, LossSettings(kind, learning_rate=0.0)) for made in (shared, other)]
        for name in set(metrics[0]) - {"seconds"}:
            assert metrics[0][name] == pytest.approx(metrics[1][name], rel=1e-3), name
    finally:
        other.close()


def test_packs_are_even_and_dealt_evenly() -> None:
    samples = [small.sample(index, small.tokens(60 + index, 200 + index), 10) for index in range(24)]
    rows = sum(max(i for i, flag in enumerate(s.mask) if flag) for s in samples)
    for budget, lanes in ((10_000, 2), (500, 2), (300, 3)):
        packs = packing.pack(samples, range(24), budget, lanes)
        assert len(packs) % lanes == 0
        assert all(len(part.token_ids) <= budget for part in packs)
        assert sorted(m for part in packs for m in set(part.members)) == list(range(24))
        hands = packing.deal(packs, lanes)
        loads = [sum(len(part.token_ids) for part in hand) for hand in hands]
        assert sum(loads) == rows
        assert max(loads) - min(loads) < 100
    assert len(packing.pack(samples[:1], [0], 10_000, 2)) == 1
    assert packing.deal([], 2) == [[], []]


def test_prefixes_are_computed_once() -> None:
    samples = small.mixed_samples()
    (packed,) = packing.pack(samples, range(8), 10_000)
    ends = [max(i for i, flag in enumerate(s.mask) if flag) for s in samples]
    assert len(packed.token_ids) == 40 + 2 * 40 + sum(end - 80 for end in ends)
    assert [node.ancestors for node in packed.nodes[:3]] == [(), (0,), (0, 1)]
    assert len(packed.rows) == sum(sum(s.mask) for s in samples)
    for row, target, member, place in zip(packed.rows, packed.targets, packed.members, packed.places, strict=True):
        assert samples[member].token_ids[place] == target
        assert samples[member].token_ids[place - 1] == packed.token_ids[row]
        assert packed.positions[row] == place - 1


def test_equal_samples_share_every_row() -> None:
    twins = [small.sample(i, small.tokens(60, 3), 30) for i in range(2)]
    (packed,) = packing.pack(twins, range(2), 10_000)
    end = max(i for i, flag in enumerate(twins[0].mask) if flag)
    assert len(packed.token_ids) == end
    assert sorted(packed.members) == [0] * sum(twins[0].mask) + [1] * sum(twins[1].mask)


def test_samples_without_advantage_only_count_in_the_normaliser(shared: LocalEngine) -> None:
    live = [small.sample(i, small.tokens(60, i), 30, advantage=1.0) for i in range(2)]
    silent = [small.sample(2 + i, small.tokens(60, 9 + i), 30, advantage=0.0) for i in range(2)]
    alone = small.gradient(shared, live, LossSettings("ppo_clip"))
    together = small.gradient(shared, live + silent, LossSettings("ppo_clip"))
    assert small.relative(together * 2, alone) < 1e-5


def test_logprobs_at_temperature(shared: LocalEngine) -> None:
    samples = small.mixed_samples()
    for item, row in zip(samples, shared.logprobs(samples), strict=True):
        with torch.no_grad():
            logits = shared.peft_model(torch.tensor([item.token_ids])).logits[0] / item.temperature
        plain = torch.log_softmax(logits, -1)
        for place, flag in enumerate(item.mask):
            wanted = float(plain[place - 1, item.token_ids[place]]) if flag else 0.0
            assert row[place] == pytest.approx(wanted, abs=1e-4)


def test_step_is_adamw_with_clipped_norm() -> None:
    made = small.engine()
    samples, loss = (
        small.mixed_samples(),
        LossSettings("ppo_clip", learning_rate=1e-2, weight_decay=0.1, max_grad_norm=0.01),
    )
    twin = torch.nn.Parameter(made._adapter.values.clone())
    optimizer = torch.optim.AdamW([twin], lr=1e-2, betas=(0.9, 0.99), weight_decay=0.1)
    for _step in range(2):
        raw = small.gradient(small_copy(made), samples, loss)
        metrics = made.update(samples, loss)
        assert metrics["grad_norm"] == pytest.approx(float(raw.norm()), rel=1e-4)
        assert metrics["grad_norm"] > 0.01
        twin.grad = raw * (0.01 / raw.norm())
        optimizer.step()
        assert float((twin.detach() - made._adapter.values).abs().max()) < 2e-4


def small_copy(made: LocalEngine) -> LocalEngine:
    copy = small.engine(disturb=False)
    copy._adapter.values.copy_(made._adapter.values)
    return copy


def test_sft_learns_a_sequence_by_heart() -> None:
    made = small.engine(disturb=False, lora_rank=16, lora_alpha=32.0)
    ids = small.tokens(24, 4)
    item = small.sample(0, ids, 4)
    item.mask = [0] * 4 + [1] * 20
    first = made.update([item], LossSettings("sft", learning_rate=2e-2))["loss"]
    for _step in range(200):
        last = made.update([item], LossSettings("sft", learning_rate=2e-2))["loss"]
    assert first > 4
    assert last < 0.1
    made.publish()
    (answer,) = small.ask(made, small.request("a", ids[:4], max_tokens=20, temperature=0.05))
    assert answer.token_ids == ids[4:]


def test_a_loss_that_is_not_finite_leaves_the_weights() -> None:
    made = small.engine()
    before = made._adapter.values.clone()
    item = small.mixed_samples()[0]
    item.advantages = [float("nan") * flag for flag in item.mask]
    with pytest.raises(EngineError, match="not finite"):
        made.update([item], LossSettings("ppo_clip"))
    assert torch.equal(before, made._adapter.values)
    good = made.update(small.mixed_samples(), LossSettings("ppo_clip"))
    assert math.isfinite(good["grad_norm"])


def test_malformed_samples_are_refused(shared: LocalEngine) -> None:
    item = small.sample(0, small.tokens(20, 1), 10)
    item.mask = [0] * 20
    with pytest.raises(EngineError, match="masked in"):
        shared.update([item], LossSettings("sft"))
    item.mask = [1] * 20
    with pytest.raises(EngineError, match="nothing precedes"):
        shared.update([item], LossSettings("sft"))
    item.mask = [0] * 19
    with pytest.raises(EngineError, match="differ in length"):
        shared.logprobs([item])
