"""Small engines and samples for the tests, and an independent implementation of the update in plain transformers + peft."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import torch

from journeyman import recipe
from journeyman.engine.base import LossSettings, SampleRequest, SampleResult
from journeyman.engine.local import LocalEngine, load_engine
from journeyman.episode import Sample

TINY = recipe.Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=4, lora_alpha=8.0, slots=16)


def engine(seed: int = 1, disturb: bool = True, **changes: Any) -> LocalEngine:
    """A tiny engine; `disturb` gives B random values and publishes (version 1), so that the adapter matters."""
    made = load_engine(recipe.Model(**({k: getattr(TINY, k) for k in TINY.__struct_fields__} | changes)), seed=seed)
    if disturb:
        disturb_adapter(made)
        made.publish()
    return made


def disturb_adapter(made: LocalEngine, seed: int = 5) -> None:
    """Random values in every B of the trainer's side."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in made.peft_model.named_parameters():
        if "lora_B" in name:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)


def request(
    episode: str,
    prompt: list[int],
    max_tokens: int = 8,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int = 0,
    stop: frozenset[int] = frozenset(),
) -> SampleRequest:
    return SampleRequest(episode, prompt, max_tokens, temperature, top_p, seed, stop)


def ask(made: LocalEngine, *requests: SampleRequest) -> list[SampleResult]:
    """Attach all, ask at once, detach each when it has its answer."""

    async def one(item: SampleRequest) -> SampleResult:
        try:
            return await made.sample(item)
        finally:
            made.detach(item.episode_id)

    async def everyone() -> list[SampleResult]:
        for item in requests:
            made.attach(item.episode_id)
        return await asyncio.gather(*(one(item) for item in requests))

    return asyncio.run(everyone())


def tokens(count: int, seed: int) -> list[int]:
    """Random ids of the tiny vocabulary, none special."""
    rng = random.Random(seed)
    return [rng.randrange(3, 700) for _ in range(count)]


def sample(index: int, ids: list[int], start: int, temperature: float = 1.0, advantage: float | None = None) -> Sample:
    """From `start` on, two stretches of sampled tokens with a stretch of given ones between."""
    rng = random.Random(index)
    mask = [int(place >= start and (place - start) % 12 < 8) for place in range(len(ids))]
    value = advantage if advantage is not None else rng.uniform(-1, 1)
    return Sample(
        episode_id=f"t/0/{index // 4}/{index % 4}",
        group_id=f"t/0/{index // 4}",
        token_ids=ids,
        mask=mask,
        logprobs=[rng.uniform(-7, -6) * flag for flag in mask],
        versions=[0] * len(ids),
        temperature=temperature,
        advantages=[value * flag for flag in mask],
    )


def mixed_samples() -> list[Sample]:
    """Two groups under one system prompt of 40 tokens, group prompts of 40 more, different lengths and temperatures."""
    system = tokens(40, 1)
    made = []
    for index in range(8):
        group = system + tokens(40, 10 + index // 4)
        ids = group + tokens(20 + 5 * index, 100 + index)
        made.append(sample(index, ids, 80, temperature=0.7 if index % 2 else 1.0))
    return made


def plain_loss(model: Any, samples: list[Sample], loss: LossSettings) -> torch.Tensor:
    """The objective written from its definition over a Hugging Face model, one sample at a time, by autograd."""
    total: Any = 0.0
    count = sum(sum(item.mask) for item in samples)
    current = [_plain_logprobs(model, item) for item in samples]
    for item, chosen in zip(samples, current, strict=True):
        mask, weights = torch.tensor(item.mask[1:], dtype=torch.float32), item.weights or [1 / count] * len(item.mask)
        if loss.kind == "gspo":
            gaps = [
                now[torch.tensor(other.mask[1:]) > 0] - torch.tensor(_old(other))[torch.tensor(other.mask[1:]) > 0]
                for other, now in zip(samples, current, strict=True)
                if other.episode_id == item.episode_id
            ]
            ratio = torch.cat(gaps).mean().exp().detach() * torch.exp(chosen - chosen.detach())
        else:
            ratio = torch.exp(chosen - torch.tensor(_old(item)))
        terms = _plain_terms(chosen, ratio, torch.tensor(item.advantages[1:]), loss)
        if loss.kl_coefficient:
            assert item.reference_logprobs is not None
            gap = torch.tensor(item.reference_logprobs[1:]) - chosen
            terms = terms + loss.kl_coefficient * (gap.exp() - gap - 1)
        total = total + (torch.tensor(weights[1:]) * terms * mask).sum()
    return total


def _old(item: Sample) -> list[float]:
    return (item.proximal_logprobs or item.logprobs)[1:]


def _plain_logprobs(model: Any, item: Sample) -> torch.Tensor:
    logits = model(torch.tensor([item.token_ids])).logits[0, :-1] / item.temperature
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(item.token_ids[1:])[:, None])[:, 0]


def _plain_terms(
    chosen: torch.Tensor, ratio: torch.Tensor, advantage: torch.Tensor, loss: LossSettings
) -> torch.Tensor:
    if loss.kind == "sft":
        return -chosen
    if loss.kind == "importance_sampling":
        return -ratio * advantage
    clamped = ratio.clamp(loss.ratio_min, loss.ratio_max)
    if loss.kind == "cispo":
        return -clamped.detach() * advantage * chosen
    terms = torch.minimum(ratio * advantage, clamped * advantage)
    if loss.dual_clip is not None:
        terms = torch.where(advantage < 0, torch.maximum(terms, loss.dual_clip * advantage), terms)
    return -terms


def gradient(made: LocalEngine, samples: list[Sample], loss: LossSettings) -> torch.Tensor:
    """The adapter's flat gradient of an update that changes nothing (rate 0, no clipping)."""
    made.update(samples, msgspec.structs.replace(loss, learning_rate=0.0, max_grad_norm=float("inf")))
    return made._adapter.gradients.clone()


def plain_gradient(made: LocalEngine, samples: list[Sample], loss: LossSettings) -> tuple[torch.Tensor, float]:
    """By autograd through the Hugging Face model: the same flat gradient, and the loss."""
    parameters = [p for name, p in made.peft_model.named_parameters() if "lora_" in name]
    for parameter in parameters:
        parameter.requires_grad_(True)
    value = plain_loss(made.peft_model, samples, loss)
    grads = torch.autograd.grad(value, parameters)
    flat = torch.full_like(made._adapter.values.detach(), float("nan"))
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.requires_grad_(False)
        # PEFT's parameters are views into the adapter's buffer.
        flat.as_strided(parameter.shape, parameter.stride(), parameter.storage_offset()).copy_(grad)
    assert not flat.isnan().any()
    return flat, float(value.detach())


def relative(left: torch.Tensor, right: torch.Tensor) -> float:
    """Largest difference relative to the largest value."""
    return float((left - right).abs().max() / right.abs().max())
