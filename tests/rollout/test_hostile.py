"""Turns and faults that no honest policy makes: an episode comes back, and it can be stored and read again."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from test_loop import WORLD, Puppet, run, spec_of, task_of

from journeyman.codec import encode
from journeyman.episode import Episode, ToolCall, Turn
from journeyman.rollout.interpret import MAX_CALLS, interpret
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.scripted import SCRIPTED
from journeyman.train.runfolder import _episode, episode_line
from journeyman.worlds import load_world

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(5_000):
    _inner["a"] = _inner = {}


def kept(episode: Episode) -> Episode:
    """The episode, after it went to disk and came back."""
    assert encode(_episode.decode(episode_line(episode))) == encode(episode)
    return episode


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        10**400,
        "\ud800",
        ENDLESS,
        DEEP,
        {1: 2},
        {1},
        b"\xff",
        object(),
        "x" * 1_000_000,
        "a\0b",
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_that_are_no_json_are_the_agents_error(value: Any) -> None:
    turns = [Turn(text="", calls=[ToolCall("0", "get_order", {"order_id": value})]), Turn(text="Bye.")]
    episode = kept(run(task_of("cancel"), Puppet(turns)))
    assert episode.failure == "none"
    assert episode.verdict is not None
    assert not episode.verdict.passed
    assert '"error"' in next(message.content for message in episode.messages if message.role == "tool")


@pytest.mark.parametrize(
    "turn",
    [
        Turn(text="\ud800 hi", reasoning="\udfff"),
        Turn(text="", calls=[ToolCall("0", "\ud800" * 9, {})]),
        Turn(text="", calls=[ToolCall("0", "get_order" * 10_000, {})]),
        Turn(text="", calls=[ToolCall("0", "", None, error="\ud800", raw="\ud800")]),
    ],
)
def test_text_that_no_file_holds_is_stored_escaped(turn: Turn) -> None:
    episode = kept(run(task_of("cancel"), Puppet([turn])))
    assert episode.failure in ("none", "agent")
    assert len(episode.failure_detail) < 1_000


@pytest.mark.parametrize("error", [SystemExit("out"), asyncio.CancelledError(), RuntimeError("\ud800" + "x" * 10_000)])
def test_whatever_a_policy_raises_stays_in_its_episode(error: BaseException) -> None:
    class Quitter(Puppet):
        def begin(self, context: Any) -> Any:
            raise error

    episode = kept(run(task_of("cancel"), Quitter([])))
    assert (episode.failure, episode.verdict) == ("infrastructure", None)
    assert type(error).__name__ in episode.failure_detail


def test_a_record_that_cannot_be_put_together_is_infrastructure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_loop.PuppetActor.usage", lambda _: 1 / 0)
    episode = kept(run(task_of("cancel"), Puppet([Turn(text="Bye.")])))
    assert (episode.failure, episode.messages) == ("infrastructure", [])
    assert "ZeroDivisionError" in episode.failure_detail


def test_a_real_cancellation_still_cancels() -> None:
    async def main() -> None:
        class Sleeper(Puppet):
            def begin(self, context: Any) -> Any:
                asyncio.current_task().cancel()  # type: ignore[union-attr]
                return super().begin(context)

        await play(spec_of(task_of("cancel")), WORLD, Sleeper([Turn(text="Bye.")] * 9), PlaySettings())
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_a_flood_of_calls_is_read_in_bounded_time() -> None:
    began = time.process_time()
    turn = interpret("<tool_call>" * 20_000)
    assert len(turn.calls) == MAX_CALLS + 1
    assert turn.calls[-1].error == f"more than {MAX_CALLS} calls in one turn"
    assert time.process_time() - began < 3


def test_the_default_limits_leave_room_for_every_oracle() -> None:
    world = load_world("telecom")
    for family in world.families:
        task = world.tasks(families=[family.name])[0]
        episode = asyncio.run(play(spec_of(task), world, SCRIPTED["oracle"], PlaySettings()))
        assert (episode.reward, episode.failure_detail) == (1.0, ""), task.id
