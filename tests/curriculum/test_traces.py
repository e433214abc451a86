"""Traces: played in the real loop, kept only with the full reward, tokenised as a policy would have left them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from journeyman.curriculum.traces import collect_traces, fitting, is_solved, tokenised
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import Episode, Group, Message, Seeds, ToolCall, Verdict
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.task import Outcome, Say, Task
from journeyman.train.method import GroupRequest

TOKENIZER = tiny_tokenizer()
RENDERER = ChatMLRenderer(TOKENIZER)

CALL = ToolCall("0.0", "look", {"case": "C1"})
MESSAGES = [
    Message("system", "You close cases."),
    Message("user", "Close C1."),
    Message("assistant", "", calls=[CALL], turn=0),
    Message("tool", '{"id":"C1"}', call_id="0.0", name="look", turn=0),
    Message("assistant", "Done.", turn=1),
    Message("user", "Thanks.", turn=1),
]


def task(number: int) -> Task:
    return Task(
        id=f"w/f/train-{number:03d}",
        world="w",
        world_version="v",
        family="f",
        level=1,
        split="train",
        now="2026-03-02T09:00:00",
        image="base",
        request="Close it.",
        outcomes=[Outcome(end="final")],
        criteria=[],
        oracle=[Say("Done.")],
    )


def trace(id: str = "sft/0000/0000/00", reward: float = 1.0, passed: bool = True) -> Episode:
    return Episode(
        id=id,
        attempt=0,
        task_id=task(0).id,
        task_hash="",
        family="f",
        seeds=Seeds(1, 2, 3),
        policy="oracle",
        sampling=None,
        messages=MESSAGES,
        calls=[],
        events=[],
        changes=[],
        ended="left",
        verdict=Verdict(passed, 0, [], [], [], True, True, "1"),
        reward=reward,
        failure="none",
    ).sealed()


class Table:
    """Gives request by request the rewards in a list."""

    def __init__(self, rewards: list[float]) -> None:
        self.rewards = rewards
        self.asked: list[GroupRequest] = []

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        self.asked = list(requests)
        pairs = zip(requests, self.rewards, strict=True)
        return [Group(one.id, one.task_id, [trace(f"{one.id}/00", reward)]) for one, reward in pairs]


def test_only_full_rewards_are_kept_in_task_order() -> None:
    table = Table([1.0, 0.8, 0.4, 1.0])
    found = asyncio.run(collect_traces([task(0), task(1)], 2, "sft", table))
    assert [one.id for one in found] == ["sft/0000/0000/00", "sft/0000/0003/00"]
    assert [(one.id, one.task_id, one.size) for one in table.asked] == [
        ("sft/0000/0000", "w/f/train-000", 1),
        ("sft/0000/0001", "w/f/train-000", 1),
        ("sft/0000/0002", "w/f/train-001", 1),
        ("sft/0000/0003", "w/f/train-001", 1),
    ]


def test_what_counts_as_solved() -> None:
    assert is_solved(trace())
    assert not is_solved(trace(reward=0.98))
    assert not is_solved(trace(passed=False))
    assert not is_solved(msgspec.structs.replace(trace(), failure="user", verdict=None))


def test_the_mask_covers_exactly_what_a_model_would_have_sampled() -> None:
    made = tokenised(RENDERER, lambda _: ())(trace())
    (segment,) = made.segments
    sampled = [token for token, on in zip(segment.token_ids, segment.mask, strict=True) if on]
    text = TOKENIZER.decode(sampled, skip_special_tokens=False)
    wanted = '<tool_call>\n{"name": "look", "arguments": {"case": "C1"}}\n</tool_call>'
    stops = text.split("<|im_end|>")
    assert len(stops) == 3
    assert stops[0].replace(" ", "").replace("\n", "") == wanted.replace(" ", "").replace("\n", "")
    assert stops[1:] == ["Done.", ""]
    everything = TOKENIZER.decode(segment.token_ids, skip_special_tokens=False)
    assert "Close C1." in everything
    assert "Thanks." not in everything  # nothing after the last turn teaches
    assert segment.logprobs == [0.0] * len(segment.token_ids)
    assert segment.temperature == 1.0
    assert made.digest == made.sealed().digest != trace().digest


def test_unsolved_episodes_get_no_tokens() -> None:
    failed = trace(reward=0.4, passed=False)
    assert tokenised(RENDERER, lambda _: ())(failed) is failed


def test_traces_beyond_the_context_limit_are_left_out() -> None:
    made = tokenised(RENDERER, lambda _: ())(trace())
    length = len(made.segments[0].token_ids)
    assert fitting([made], length) == [made]
    assert fitting([made], length - 1) == []


def test_traces_of_a_real_desk() -> None:
    """In the real loop, with a user who speaks differently in every trace of a task."""
    from journeyman.rollout.loop import PlaySettings
    from journeyman.rollout.policy import EpisodeSpec
    from journeyman.rollout.pool import run_pool
    from journeyman.rollout.scripted import SCRIPTED
    from journeyman.train.method import episode_id
    from journeyman.train.source import training_seeds
    from journeyman.worlds import load_world

    world = load_world("telecom")
    chosen = [one for one in world.tasks("train") if one.scenario is not None and len(one.scenario.openings) > 1][:1]
    seeds = training_seeds(5)
    finish = tokenised(RENDERER, lambda _: ())

    class Live:
        async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
            specs = [EpisodeSpec(episode_id(one.id, 0), chosen[0], seeds(one, chosen[0], 0)) for one in requests]
            played = await run_pool(specs, world, SCRIPTED["oracle"], PlaySettings())
            return [Group(one.id, one.task_id, [finish(got)]) for one, got in zip(requests, played, strict=True)]

    found = asyncio.run(collect_traces(chosen, 8, "sft", Live()))
    assert len(found) == 8
    assert len({one.messages[1].content for one in found}) > 1
    assert {one.seeds.world for one in found} == {seeds(GroupRequest("a/b/c", chosen[0].id, 1), chosen[0], 0).world}
    assert all(any(one.segments[0].mask) for one in found)
