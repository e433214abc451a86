"""Every loss × aggregation × KL against autograd through plain transformers + peft, and the laws of weights and references."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import small_engine as small
import torch

from journeyman.engine.base import LossSettings
from journeyman.engine.local import LocalEngine
from journeyman.episode import Sample
from journeyman.errors import EngineError
from journeyman.train.aggregation import token_weights

SETTINGS = {
    "sft": LossSettings("sft"),
    "importance_sampling": LossSettings("importance_sampling"),
    "ppo_clip": LossSettings("ppo_clip", 0.8, 1.28, dual_clip=1.4),
    "cispo": LossSettings("cispo", 0.7, 1.3),
    "gspo": LossSettings("gspo", 0.97, 1.03),
}


@pytest.fixture(scope="module")
def shared() -> LocalEngine:
    return small.engine()


def episodes(aggregation: str | None = None, reference: bool = False) -> list[Sample]:
    """Eight samples of six episodes: the first two are segments of one, and so are the third and the last."""
    samples = small.mixed_samples()
    samples[1].episode_id = samples[0].episode_id
    samples[7].episode_id = samples[2].episode_id
    rng = random.Random(3)
    for sample in samples:
        sample.proximal_logprobs = [
            (value + rng.uniform(-0.2, 0.2)) * flag for value, flag in zip(sample.logprobs, sample.mask, strict=True)
        ]
        if reference:
            sample.reference_logprobs = [rng.uniform(-7, -6) * flag for flag in sample.mask]
    if aggregation:
        ids = [sample.episode_id for sample in samples]
        for sample, weights in zip(
            samples, token_weights([s.mask for s in samples], ids, aggregation, 50), strict=True
        ):
            # As a correction would have it, token by token.
            sample.weights = [weight * rng.choice([0.0, 0.5, 1.0, 2.0]) for weight in weights]
    return samples


@pytest.mark.parametrize("kl", [0.0, 0.3])
@pytest.mark.parametrize("aggregation", ["token_mean", "seq_mean_token_mean", "seq_mean_token_sum_norm"])
@pytest.mark.parametrize("kind", SETTINGS)
def test_gradients_are_those_of_autograd(shared: LocalEngine, kind: str, aggregation: str, kl: float) -> None:
    settings = SETTINGS[kind]
    loss = LossSettings(settings.kind, settings.ratio_min, settings.ratio_max, settings.dual_clip, kl)
    samples = episodes(aggregation, reference=bool(kl))
    wanted, value = small.plain_gradient(shared, samples, loss)
    assert small.relative(small.gradient(shared, samples, loss), wanted) < 1e-5
    metrics = shared.update(
        samples,
        LossSettings(
            *(getattr(loss, name) for name in ("kind", "ratio_min", "ratio_max", "dual_clip", "kl_coefficient")),
            learning_rate=0.0,
        ),
    )
    assert metrics["loss"] == pytest.approx(value, rel=1e-4, abs=1e-6)
    if kind not in ("sft", "importance_sampling"):
        assert 0 < metrics["clipped_share"] < 1


def test_gspo_is_the_paper_where_an_episode_has_one_advantage(shared: LocalEngine) -> None:
    """Mean over episodes of min(sA, clip(s)·A), the gradient through s itself, by autograd."""
    samples = episodes()
    value_of = {sample.episode_id: 1.0 - 0.4 * index for index, sample in enumerate(samples)}
    ids = [sample.episode_id for sample in samples]
    for sample, weights in zip(
        samples, token_weights([s.mask for s in samples], ids, "seq_mean_token_mean"), strict=True
    ):
        sample.advantages = [value_of[sample.episode_id] * flag for flag in sample.mask]
        sample.weights = weights.tolist()
    parameters = [p for name, p in shared.peft_model.named_parameters() if "lora_" in name]
    for parameter in parameters:
        parameter.requires_grad_(True)
    gaps: dict[str, list[Any]] = {}
    for sample in samples:
        mask = torch.tensor(sample.mask[1:]) > 0
        now = small._plain_logprobs(shared.peft_model, sample)
        gaps.setdefault(sample.episode_id, []).append((now - torch.tensor(small._old(sample)))[mask])
    assert len(gaps) == 6
    ratios = {episode: torch.cat(parts).mean().exp() for episode, parts in gaps.items()}
    terms = [torch.minimum(s * value_of[e], s.clamp(0.97, 1.03) * value_of[e]) for e, s in ratios.items()]
    loss = -torch.stack(terms).mean()
    grads = torch.autograd.grad(loss, parameters)
    found = small.gradient(shared, samples, SETTINGS["gspo"])
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.requires_grad_(False)
        ours = found.as_strided(parameter.shape, parameter.stride(), parameter.storage_offset())
        assert float((ours - grad).abs().max()) < 1e-5 * float(found.abs().max())


@pytest.mark.parametrize("kind", ["gspo", "cispo"])
def test_micro_batches_and_lanes_change_no_gradient(shared: LocalEngine, kind: str) -> None:
    samples, loss = episodes("seq_mean_token_mean", reference=True), LossSettings(kind, 0.97, 1.03, None, 0.2)  # type: ignore[arg-type]
    whole, usual = small.gradient(shared, samples, loss), shared.micro_tokens
    for budget in (250, 1):
        shared.micro_tokens = budget
        assert small.relative(small.gradient(shared, samples, loss), whole) < 1e-5
    shared.micro_tokens = usual
    other = small.engine(lanes=1)
    assert small.relative(small.gradient(other, samples, loss), whole) < 1e-5
    other.close()
    assert whole.abs().max() > 1e-4


def test_what_cannot_have_a_gradient_is_left_out_and_what_can_is_not(shared: LocalEngine) -> None:
    samples = episodes("token_mean", reference=True)
    for index in (1, 4):  # a segment of an episode whose other segment counts, and a whole episode
        samples[index].advantages = [0.0] * len(samples[index].mask)
    for kl in (0.0, 0.3):
        for kind in ("ppo_clip", "gspo"):
            loss = LossSettings(kind, 0.97, 1.03, None, kl)  # type: ignore[arg-type]
            wanted, _ = small.plain_gradient(shared, samples, loss)
            assert small.relative(small.gradient(shared, samples, loss), wanted) < 1e-5
    computed = {}
    for name, kl in (("without", 0.0), ("with", 0.3)):
        metrics = shared.update(samples, LossSettings("ppo_clip", kl_coefficient=kl, learning_rate=0.0))
        computed[name] = metrics["entropy"]
        assert ("kl_reference" in metrics) == bool(kl)
    assert computed["with"] != computed["without"]
    samples[2].weights = [0.0] * len(samples[2].mask)
    wanted, _ = small.plain_gradient(shared, samples, LossSettings("ppo_clip", kl_coefficient=0.3))
    assert small.relative(small.gradient(shared, samples, LossSettings("ppo_clip", kl_coefficient=0.3)), wanted) < 1e-5


def test_the_ratio_is_to_the_proximal_policy_and_kl_k3_to_the_sampler(shared: LocalEngine) -> None:
    samples = episodes(reference=True)
    current = shared.logprobs(samples)
    metrics = shared.update(samples, LossSettings("ppo_clip", kl_coefficient=0.1, learning_rate=0.0))
    rows = [
        (now, p, b, r)
        for sample, row in zip(samples, current, strict=True)
        for now, p, b, r, flag in zip(
            row,
            sample.proximal_logprobs or [],
            sample.logprobs,
            sample.reference_logprobs or [],
            sample.mask,
            strict=True,
        )
        if flag
    ]
    count = len(rows)
    assert metrics["ratio_mean"] == pytest.approx(sum(math.exp(n - p) for n, p, _, _ in rows) / count, rel=1e-4)
    assert metrics["kl_k3"] == pytest.approx(sum(math.expm1(n - b) - (n - b) for n, _, b, _ in rows) / count, rel=1e-3)
    assert metrics["kl_reference"] == pytest.approx(
        sum(math.expm1(r - n) - (r - n) for n, _, _, r in rows) / count, rel=1e-3
    )


def test_a_reference_is_needed(shared: LocalEngine) -> None:
    with pytest.raises(EngineError, match="reference_logprobs"):
        shared.update(episodes(), LossSettings("ppo_clip", kl_coefficient=0.1))
    samples = episodes(reference=True)
    samples[0].weights = [1.0]
    with pytest.raises(EngineError, match="differ in length"):
        shared.update(samples, LossSettings("ppo_clip"))


def test_adapter_norm_is_that_of_what_the_adapter_adds(shared: LocalEngine) -> None:
    total = 0.0
    for name, module in shared.peft_model.named_modules():
        if hasattr(module, "lora_A") and name.endswith("proj"):
            total += float(module.get_delta_weight("default").double().square().sum())
    metrics = shared.update(small.mixed_samples(), LossSettings("sft", learning_rate=0.0))
    assert metrics["adapter_norm"] == pytest.approx(math.sqrt(total), rel=1e-5)
    assert total > 0
    assert "entropy" not in metrics


def difference(left: list[list[float]], right: list[list[float]]) -> float:
    return max(abs(a - b) for x, y in zip(left, right, strict=True) for a, b in zip(x, y, strict=True))


def test_remembered_policies_stay_as_they_were(tmp_path: Path) -> None:
    made, samples = small.engine(), small.mixed_samples()
    untouched = small.engine(disturb=False)
    base, before = untouched.logprobs(samples), made.logprobs(samples)
    made.remember("start")
    made.save(tmp_path)
    made.update(samples, LossSettings("sft", learning_rate=1e-2))
    after = made.logprobs(samples)
    assert difference(before, after) > 1e-2
    assert made.logprobs(samples, of="start") == before
    assert difference(made.logprobs(samples, of="base"), base) < 1e-5
    made.remember("saved", tmp_path)
    assert made.logprobs(samples, of="saved") == before
    made.remember("start")
    assert made.logprobs(samples, of="start") == after == made.logprobs(samples)
    with pytest.raises(EngineError, match="known: base, saved, start"):
        made.logprobs(samples, of="nobody")
    with pytest.raises(EngineError, match="no engine state"):
        made.remember("torn", tmp_path / "nowhere")
    with pytest.raises(EngineError, match="untouched model"):
        made.remember("base")
    made.close()
    untouched.close()


def test_restart_is_the_engine_as_it_was_loaded() -> None:
    made, fresh, samples = (
        small.engine(seed=4, disturb=False),
        small.engine(seed=4, disturb=False),
        small.mixed_samples(),
    )
    loss = LossSettings("sft", learning_rate=1e-2)
    prompt = small.tokens(20, 6)
    wanted = small.ask(fresh, small.request("a", prompt, seed=3))[0]
    made.remember("start")
    made.update(samples, loss)
    made.publish()
    assert small.ask(made, small.request("a", prompt, seed=3))[0].logprobs != wanted.logprobs
    made.restart()
    assert made.version == 2
    again = small.ask(made, small.request("a", prompt, seed=3))[0]
    assert (again.token_ids, again.logprobs, again.version) == (wanted.token_ids, wanted.logprobs, 2)
    assert torch.equal(made._adapter.values, fresh._adapter.values)
    # The optimizer's moments are gone too: the next step is the fresh engine's first.
    made.update(samples, loss)
    fresh.update(samples, loss)
    assert torch.equal(made._adapter.values, fresh._adapter.values)
    made.close()
    fresh.close()
