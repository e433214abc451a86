"""The loss of SFT by hand, and packed: loss and gradient are those of the samples one by one, within 1e-5."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "rollout"))  # for the world `corner_shop`
sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))  # for small engines

import corner_shop
import small_engine as small
import torch

from journeyman.curriculum.traces import TraceRendering, tokenised
from journeyman.engine.base import LossSettings
from journeyman.engine.local import LocalEngine
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import Group, Sample, Seeds
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.pool import run_pool
from journeyman.rollout.prompt import offered_tools, system_prompt
from journeyman.rollout.teachers import TEACHERS
from journeyman.train.samples import samples_of

LOSS = LossSettings("sft")
STILL = LossSettings("sft", learning_rate=0.0, max_grad_norm=float("inf"))


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    made = small.engine()
    yield made
    made.close()


def traces() -> list[Sample]:
    """What SFT trains on: traces of four teachers at tasks of different length, some of which share their beginning."""
    world = corner_shop.WORLD
    tasks = {task.id: task for task in world.tasks("train")}
    finish = tokenised(
        ChatMLRenderer(tiny_tokenizer()),
        TraceRendering(
            system=lambda id: system_prompt(world, tasks[id]),
            shown=lambda _: (),
            offered=lambda id: offered_tools(world, tasks[id]),
        ),
    )
    samples: list[Sample] = []
    for place, teacher in enumerate(("oracle", "formal", "careful", "recovering")):
        chosen = [next(task for task in tasks.values() if task.family == family) for family in ("cancel", "total")]
        specs = [EpisodeSpec(f"sft/{place:04d}/{n:04d}/00", task, Seeds(1, n, place)) for n, task in enumerate(chosen)]
        for episode in asyncio.run(run_pool(specs, world, TEACHERS[teacher], PlaySettings())):
            group = Group(episode.group_id, episode.task_id, [finish(episode)])
            samples += samples_of(group, group.episodes, [1.0])
    assert len(samples) == 8
    return samples


def test_the_loss_is_the_mean_negative_log_likelihood_of_the_assistants_tokens(engine: LocalEngine) -> None:
    samples = traces()
    total, count = 0.0, 0
    with torch.no_grad():
        for sample in samples:
            logits = engine.peft_model(torch.tensor([sample.token_ids])).logits[0].double()
            for place, flag in enumerate(sample.mask):
                if flag:
                    row = logits[place - 1]
                    total += float(torch.logsumexp(row, 0) - row[sample.token_ids[place]])
                    count += 1
    metrics = engine.update(samples, STILL)
    assert metrics["tokens"] == count
    assert metrics["loss"] == pytest.approx(total / count, abs=1e-5)


def test_packed_is_unpacked(engine: LocalEngine) -> None:
    samples = traces()
    count = sum(sum(sample.mask) for sample in samples)
    packed = engine.update(samples, STILL)
    gradient = small.gradient(engine, samples, LOSS)
    assert gradient.abs().max() > 1e-3
    loss, summed = 0.0, torch.zeros_like(gradient)
    for sample in samples:
        share = sum(sample.mask) / count
        loss += share * engine.update([sample], STILL)["loss"]
        summed += share * small.gradient(engine, [sample], LOSS)
    assert packed["loss"] == pytest.approx(loss, abs=1e-5)
    assert small.relative(gradient, summed) < 1e-5
    assert float((gradient - summed).abs().max()) < 1e-5


def test_a_trace_does_not_see_its_neighbours_in_the_pack(engine: LocalEngine) -> None:
    samples = traces()
    alone = [engine.logprobs([sample])[0] for sample in samples]
    together = engine.logprobs(samples)
    backwards = engine.logprobs(samples[::-1])[::-1]
    for one, among, other in zip(alone, together, backwards, strict=True):
        assert one == pytest.approx(among, abs=1e-5)
        assert one == pytest.approx(other, abs=1e-5)


def test_what_is_not_learnt_moves_nothing(engine: LocalEngine) -> None:
    """Of a slip and what came back nothing reaches the gradient but as what the later turns are read after."""
    samples = traces()
    slip = next(sample for sample in samples if sample.episode_id == "sft/0003/0000/00")
    plain = next(sample for sample in samples if sample.episode_id == "sft/0000/0000/00")
    assert len(slip.token_ids) > len(plain.token_ids)
    learnt = [[t for t, on in zip(one.token_ids, one.mask, strict=True) if on] for one in (slip, plain)]
    assert learnt[0] == learnt[1]
