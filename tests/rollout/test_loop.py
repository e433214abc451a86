"""The episode loop: every way an episode can end, and that it always comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import corner_shop
import pytest
from fakes import FakeSampler
from tokenizers_for_tests import smollm2

from journeyman.codec import seed_of
from journeyman.engine.base import SampleRequest
from journeyman.episode import Episode, Message, SamplingSettings, Seeds, Segment, ToolCall, Turn, Usage
from journeyman.errors import EngineError
from journeyman.recipe import Limits, Reward
from journeyman.rollout import users
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeContext, EpisodeSpec, TokenPolicy
from journeyman.rollout.render import make_renderer
from journeyman.rollout.scripted import SCRIPTED
from journeyman.task import Task
from journeyman.world import WorldSession

WORLD = corner_shop.WORLD


def task_of(family: str, number: int = 0) -> Task:
    return WORLD.tasks("train", [family])[number]


def spec_of(task: Task, id: str = "eval/0/0/0") -> EpisodeSpec:
    return EpisodeSpec(id, task, Seeds(world=1, user=seed_of("user", task.id), episode=7))


def call(name: str, **arguments: Any) -> Turn:
    return Turn(calls=[ToolCall("0", name, arguments)])


@dataclass(frozen=True)
class Puppet:
    """Plays a list of turns; an exception in the list is raised. The last one repeats."""

    turns: Sequence[Turn | Exception]
    name: str = "puppet"
    sampler: Any = None
    privileged: bool = False
    seen: list[list[Message]] = field(default_factory=list)
    contexts: list[EpisodeContext] = field(default_factory=list)

    def begin(self, context: EpisodeContext) -> PuppetActor:
        self.contexts.append(context)
        return PuppetActor(self)


class PuppetActor:
    def __init__(self, puppet: Puppet) -> None:
        self.puppet = puppet

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        self.puppet.seen.append(list(new_messages))
        turn = self.puppet.turns[min(len(self.puppet.seen), len(self.puppet.turns)) - 1]
        if isinstance(turn, Exception):
            raise turn
        return turn

    def segments(self) -> list[Segment]:
        return []

    def usage(self) -> Usage:
        return Usage(input=10, output=4, requests=1)


def run(task: Task, policy: Any, limits: Limits | None = None, **settings: Any) -> Episode:
    return asyncio.run(play(spec_of(task), WORLD, policy, PlaySettings(limits=limits or Limits(), **settings)))


# --- good ends --------------------------------------------------------------------------------------------------


def test_the_oracle_passes_a_task_with_a_user() -> None:
    episode = run(task_of("cancel"), SCRIPTED["oracle"])
    assert (episode.ended, episode.failure, episode.reward) == ("left", "none", 1.0)
    assert episode.verdict is not None
    assert episode.verdict.clean
    assert [record.tool for record in episode.calls] == ["get_order", "cancel_order", "open_ticket"]
    assert episode.calls[2].result == '{"ticket_id":"TK-0001"}'
    said = [message.content for message in episode.messages if message.role == "assistant" and message.content]
    assert said[-1] == "It is done. Your ticket is TK-0001."
    assert {(event.kind, event.by) for event in episode.events} >= {
        ("asked", "agent"), ("revealed", "user"), ("proposed", "agent"), ("consented", "user"), ("left", "user"),
    }  # fmt: skip
    assert [change.table for change in episode.changes] == ["orders", "tickets"]
    assert (episode.segments, episode.sampling, episode.usage) == ([], None, {})
    assert episode.timing["total"] >= episode.timing["world"] > 0


def test_a_task_without_a_user_ends_with_the_first_message() -> None:
    episode = run(task_of("total"), SCRIPTED["oracle"])
    assert (episode.ended, episode.failure, episode.reward) == ("final", "none", 1.0)
    assert [message.role for message in episode.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [message.turn for message in episode.messages] == [-1, -1, 0, 0, 1]
    assert episode.messages[1].content == task_of("total").request
    assert episode.messages[3].call_id == "0.0" == episode.messages[2].calls[0].id


def test_a_transfer_ends_at_once_and_leaves_out_what_came_after_it() -> None:
    task = task_of("transfer")
    order = task.oracle[0].arguments["order_id"]  # type: ignore[union-attr]
    turn = Turn(
        calls=[
            ToolCall("0", "open_ticket", {"order_id": order, "text": "asks for a person"}),
            ToolCall("1", "transfer_to_human", {"reason": "asked for"}),
            ToolCall("2", "open_ticket", {"order_id": order, "text": "again"}),
        ]
    )
    episode = run(task, Puppet([turn]))
    assert (episode.ended, episode.reward) == ("transfer", 1.0)
    assert [(record.index, record.tool) for record in episode.calls] == [(0, "open_ticket"), (1, "transfer_to_human")]
    failed = run(task, Puppet([call("transfer_to_human"), Turn(text="Sorry.")]))
    assert (failed.ended, failed.calls[0].code) == ("final", "missing_argument")


def test_text_beside_calls_stays_with_the_agent() -> None:
    task = task_of("total")
    note = Turn(text="The total is $99.00.", calls=[ToolCall("0", "get_order", {"order_id": "OR-0001"})])
    puppet = Puppet([note, Turn(text="The total is $11.25.")])
    episode = run(task, puppet)
    assert [event.value for event in episode.events if event.kind == "stated"] == [11.25]
    assert episode.reward == 1.0
    assert [message.role for message in puppet.seen[1]] == ["tool"]


def test_calls_of_one_turn_run_in_order_and_answer_one_by_one() -> None:
    turn = Turn(
        calls=[
            ToolCall("0", "open_ticket", {"order_id": "OR-0001", "text": "a"}),
            ToolCall("1", "open_ticket", {"order_id": "OR-0002", "text": "b"}),
            ToolCall("2", "nothing", {}),
            ToolCall("3", "", None, error='"name" is missing or is not a text', raw="{}"),
        ]
    )
    puppet = Puppet([turn, Turn(text="Done.")])
    episode = run(task_of("total"), puppet)
    answers = [json.loads(message.content) for message in puppet.seen[1]]
    assert answers[:2] == [{"ticket_id": "TK-0001"}, {"ticket_id": "TK-0002"}]
    assert answers[2]["error"] == "unknown_tool"
    assert answers[3] == {
        "error": "unreadable_call",
        "message": 'The call could not be read: "name" is missing or is not a text.',
    }
    assert [message.call_id for message in puppet.seen[1]] == ["0.0", "0.1", "0.2", "0.3"]
    assert [record.tool for record in episode.calls] == ["open_ticket", "open_ticket", "nothing"]


def test_only_privileged_policies_see_the_changes() -> None:
    puppet = Puppet([Turn(text="Hi")])
    run(task_of("total"), puppet)
    assert puppet.contexts[0].changes is None
    told = replace(puppet, privileged=True)
    run(task_of("total"), told)
    assert told.contexts[-1].changes is not None


def test_the_agent_is_told_of_no_outcome() -> None:
    puppet = Puppet([Turn(text="Hi")])
    run(task_of("cancel"), puppet)
    text = " ".join(message.content for message in puppet.seen[0])
    assert task_of("cancel").outcomes[0].rows[0].where["order_id"] not in text


# --- failure kinds ----------------------------------------------------------------------------------------------


def test_limits_of_the_agent_and_of_tokens() -> None:
    task = task_of("total")
    look = call("get_order", order_id="OR-0001")
    other = call("get_order", order_id="OR-0002")
    cases: list[tuple[Any, Limits, str, str]] = [
        (Puppet([look]), Limits(repeats=3), "agent", "looped: the same call of 'get_order' 3 times in a row"),
        (Puppet([look, other] * 20), Limits(calls=5), "agent", "the call limit of 5 was reached"),
        (Puppet([look, other] * 20), Limits(turns=4), "truncated", "the turn limit of 4 was reached"),
        (Puppet([Turn(reasoning="hm")]), Limits(), "agent", "the output is only thinking"),
        (Puppet([Turn()]), Limits(), "agent", "the output is empty"),
        (Puppet([Turn(text="The total is", finish="length")]), Limits(), "truncated", "a turn was cut off"),
    ]
    for policy, limits, failure, detail in cases:
        episode = run(task, policy, limits)
        assert (episode.ended, episode.failure) == ("limit", failure)
        assert detail in episode.failure_detail
        assert episode.valid
        assert episode.verdict is not None
        assert (episode.verdict.passed, episode.reward) == (False, 0.0)
    assert len(run(task, Puppet([look]), Limits(repeats=3)).calls) == 3
    assert len(run(task, Puppet([look, other] * 20), Limits(calls=5)).calls) == 5


def test_unreadable_calls_loop_and_count_too() -> None:
    broken = Turn(calls=[ToolCall("0", "", None, error="not valid JSON", raw="{{")])
    assert "looped" in run(task_of("total"), Puppet([broken])).failure_detail
    noisy = [Turn(calls=[ToolCall("0", "", None, error="not valid JSON", raw=f"{{{n}")]) for n in range(9)]
    assert "call limit" in run(task_of("total"), Puppet(noisy), Limits(calls=5)).failure_detail


def test_a_cut_turn_makes_no_calls() -> None:
    turn = replace_finish(call("open_ticket", order_id="OR-0001", text="x"))
    episode = run(task_of("total"), Puppet([turn]))
    assert (episode.calls, episode.changes, episode.failure) == ([], [], "truncated")


def replace_finish(turn: Turn) -> Turn:
    return Turn(turn.text, turn.reasoning, turn.calls, "length")


@pytest.mark.parametrize("error", [EngineError("model", "adapter", "is gone."), RuntimeError("boom"), TimeoutError()])
def test_a_broken_policy_is_infrastructure(error: Exception) -> None:
    episode = run(task_of("cancel"), Puppet([call("get_order", order_id="OR-0001"), error]))
    assert (episode.ended, episode.failure, episode.verdict, episode.reward) == ("error", "infrastructure", None, 0.0)
    assert not episode.valid
    assert [record.tool for record in episode.calls] == ["get_order"]
    assert episode.failure_detail
    assert episode.digest


def test_a_broken_session_is_infrastructure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(WorldSession, "call", broken)
    episode = run(task_of("cancel"), SCRIPTED["oracle"])
    assert (episode.failure, episode.failure_detail) == ("infrastructure", "OSError: disk full")
    monkeypatch.undo()

    def unreadable(_: WorldSession) -> Any:
        raise OSError("no changes")

    monkeypatch.setattr(WorldSession, "changes", unreadable)
    monkeypatch.setattr(WorldSession, "close", broken)
    episode = run(task_of("total"), SCRIPTED["oracle"])
    assert (episode.ended, episode.failure, episode.failure_detail) == (
        "error",
        "infrastructure",
        "OSError: no changes",
    )


def test_a_task_of_another_world_is_infrastructure() -> None:
    import msgspec

    stranger = msgspec.structs.replace(task_of("total"), world_version="0").sealed()
    episode = run(stranger, SCRIPTED["idle"])
    assert episode.failure == "infrastructure"
    assert "world_version" in episode.failure_detail


def test_a_broken_grader_is_infrastructure() -> None:
    class Broken:
        version = "x"

        def grade(self, *_: Any) -> Any:
            raise KeyError("row")

    episode = run(task_of("total"), SCRIPTED["oracle"], grader=Broken())
    assert (episode.failure, episode.verdict) == ("infrastructure", None)
    assert "grading failed: KeyError" in episode.failure_detail


def test_a_broken_user_is_a_user_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("no such persona")

    monkeypatch.setattr(users.ScriptedUser, "step", broken)
    episode = run(task_of("cancel"), SCRIPTED["idle"])
    assert (episode.ended, episode.failure, episode.verdict) == ("error", "user", None)
    assert episode.failure_detail == "ValueError: no such persona"
    monkeypatch.undo()
    monkeypatch.setattr(users.ScriptedUser, "open", broken)
    assert run(task_of("cancel"), SCRIPTED["idle"]).failure == "user"


def test_the_wall_clock_is_infrastructure_even_inside_a_call() -> None:
    class Slow(Puppet):
        def begin(self, context: EpisodeContext) -> Any:
            class Actor(PuppetActor):
                async def act(self, new_messages: Sequence[Message]) -> Turn:
                    await asyncio.sleep(30)
                    return Turn(text="late")

            return Actor(self)

    episode = run(task_of("total"), Slow([Turn()]), Limits(wall_seconds=0.05))
    assert (episode.ended, episode.failure) == ("error", "infrastructure")
    assert "timed out" in episode.failure_detail
    assert episode.timing["total"] < 5


def test_cancellation_is_not_swallowed_and_closes_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    close = WorldSession.close

    async def noted(self: WorldSession) -> None:
        closed.append(True)
        await close(self)

    monkeypatch.setattr(WorldSession, "close", noted)

    started = asyncio.Event()

    class Endless(Puppet):
        def begin(self, context: EpisodeContext) -> Any:
            class Actor(PuppetActor):
                async def act(self, new_messages: Sequence[Message]) -> Turn:
                    started.set()
                    await asyncio.Event().wait()
                    raise AssertionError

            return Actor(self)

    async def main() -> None:
        job = asyncio.create_task(play(spec_of(task_of("total")), WORLD, Endless([Turn()]), PlaySettings()))
        await started.wait()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    asyncio.run(main())
    assert closed == [True]


# --- a model ----------------------------------------------------------------------------------------------------


def model(write: Callable[[int], str | Turn]) -> tuple[TokenPolicy, FakeSampler]:
    """A token policy that says `write(turn number)`."""
    renderer = make_renderer("auto", smollm2())
    sampler = FakeSampler(lambda _: [])

    def answer(_: SampleRequest) -> list[int]:
        text = write(len(sampler.requests) - 1)
        message = Message("assistant", text) if isinstance(text, str) else Message("assistant", "", calls=text.calls)
        return renderer.complete(message)

    sampler.write = answer
    return TokenPolicy(sampler, renderer, name="fake"), sampler


def test_a_token_policy_leaves_its_stream_usage_and_sampling_behind() -> None:
    policy, sampler = model(lambda n: "The total is $11.25." if n else call("get_order", order_id="OR-0001"))
    sampling = SamplingSettings(temperature=0.7)
    episode = run(task_of("total"), policy, sampling=sampling)
    assert (episode.ended, episode.reward, episode.policy, episode.sampling) == ("final", 1.0, "fake", sampling)
    (segment,) = episode.segments
    assert segment.temperature == 0.7
    assert sum(segment.mask) == episode.usage["policy"].output == sum(len(one.token_ids) for one in sampler.results)
    assert episode.usage["policy"].input + episode.usage["policy"].output == len(segment.token_ids)
    assert episode.usage["policy"].requests == 2
    assert [request.seed for request in sampler.requests] == [7, 7]
    assert [request.episode_id for request in sampler.requests] == ["eval/0/0/0"] * 2
    assert sampler.requests[1].prompt_ids == segment.token_ids[: len(sampler.requests[1].prompt_ids)]


def test_token_and_context_limits_truncate() -> None:
    policy, _ = model(lambda n: call("get_order", order_id=f"OR-000{n % 2}"))
    wide = SamplingSettings(context_limit=10_000)
    episode = run(task_of("total"), policy, Limits(tokens=60), sampling=wide)
    assert (episode.ended, episode.failure) == ("limit", "truncated")
    assert episode.usage["policy"].output == 60
    policy, _ = model(lambda n: call("get_order", order_id=f"OR-000{n % 2}"))
    episode = run(task_of("total"), policy, sampling=SamplingSettings(context_limit=300))
    assert (episode.ended, episode.failure) == ("limit", "truncated")
    assert len(episode.segments[0].token_ids) <= 300


def test_penalties_know_limit_and_tokens() -> None:
    policy, _ = model(lambda n: "The total is $11.25." if n else call("get_order", order_id="OR-0001"))
    sampling = SamplingSettings()
    episode = run(task_of("total"), policy, Limits(tokens=100), sampling=sampling, reward=Reward(token_penalty=0.5))
    assert episode.reward == pytest.approx(1 - 0.5 * episode.usage["policy"].output / 100)


def test_json_tools_are_shown_by_the_renderer_and_compact_ones_by_the_prompt() -> None:
    shown = {}
    for mode in ("compact", "json"):
        policy, sampler = model(lambda _: "Hello.")
        episode = run(task_of("total"), policy, sampling=SamplingSettings(context_limit=4000), tools=mode)
        shown[mode] = smollm2().decode(sampler.requests[0].prompt_ids, skip_special_tokens=False)
        assert ("get_order(order_id:str)" in episode.messages[0].content) == (mode == "compact")
    assert '"description": "Show one order."' in shown["json"]
    assert "Show one order" not in shown["compact"]
