"""The scripted policies on the small world: only the oracle passes, and all are bounded and repeatable."""

from __future__ import annotations

import asyncio

import corner_shop
import pytest
from fakes import bare_context
from test_loop import WORLD, run, spec_of, task_of

from journeyman.episode import Message
from journeyman.recipe import Limits
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.scripted import CLOSING, SCRIPTED
from journeyman.rollout.shotgun import READS, WRITES, Seen
from journeyman.task import Call, Say

WIDE = Limits(turns=80, calls=200, tokens=100_000)


def test_the_list_is_complete() -> None:
    assert list(SCRIPTED) == ["oracle", "writes_only", "idle", "refuse", "transfer", "shotgun"]
    assert [name for name, policy in SCRIPTED.items() if policy.privileged] == ["oracle", "writes_only"]
    assert all(policy.name == name and policy.sampler is None for name, policy in SCRIPTED.items())


@pytest.mark.parametrize("task", WORLD.tasks(), ids=lambda task: task.id)
def test_the_oracle_passes_and_the_lazy_and_the_greedy_fail(task: object) -> None:
    oracle = run(task, SCRIPTED["oracle"], WIDE)  # type: ignore[arg-type]
    assert (oracle.reward, oracle.failure) == (1.0, "none")
    for name in ("idle", "refuse", "shotgun"):
        episode = run(task, SCRIPTED[name], WIDE)  # type: ignore[arg-type]
        assert episode.verdict is not None, episode.failure_detail
        assert not episode.verdict.passed, name
        if name != "shotgun":
            assert (episode.reward, episode.calls) == (0.0, [])


def test_writes_only_keeps_the_outcome_and_loses_the_required_look() -> None:
    episode = run(task_of("cancel"), SCRIPTED["writes_only"], WIDE)
    assert [record.tool for record in episode.calls] == ["cancel_order", "open_ticket"]
    assert episode.verdict is not None
    assert episode.verdict.passed
    assert not episode.verdict.required_met
    assert episode.reward <= 0.4


def test_transfer_hands_over_at_once() -> None:
    episode = run(task_of("cancel"), SCRIPTED["transfer"], WIDE)
    assert episode.ended == "transfer"
    assert [(record.tool, record.arguments) for record in episode.calls] == [
        ("transfer_to_human", {"reason": "needs a person"})
    ]
    assert episode.reward == 0.0


def test_an_oracle_whose_row_was_edited_out_plays_on() -> None:
    import msgspec

    task = task_of("cancel")
    kept = [step for step in task.oracle if not (isinstance(step, Call) and step.tool == "open_ticket")]
    episode = run(msgspec.structs.replace(task, oracle=kept).sealed(), SCRIPTED["oracle"], WIDE)
    assert any("${ticket.ticket_id}" in message.content for message in episode.messages)
    assert (episode.failure, episode.ended) == ("none", "left")
    assert episode.verdict is not None
    assert not episode.verdict.passed


def test_an_oracle_out_of_steps_waits_politely_for_the_user_to_leave() -> None:
    import msgspec

    task = msgspec.structs.replace(task_of("cancel"), oracle=[Say("Hello.")]).sealed()
    episode = run(task, SCRIPTED["oracle"], WIDE)
    said = [message.content for message in episode.messages if message.role == "assistant"]
    assert said[:2] == ["Hello.", CLOSING]
    assert episode.ended == "left"


def test_the_shotgun_tries_everything_within_its_bounds() -> None:
    episode = run(task_of("cancel"), SCRIPTED["shotgun"], WIDE)
    tools = [record.tool for record in episode.calls]
    assert {"get_order", "list_orders", "cancel_order", "open_ticket"} <= set(tools)
    assert "transfer_to_human" not in tools
    order = task_of("cancel").outcomes[0].rows[0].where["order_id"]
    # It asked, learned the order from the user, looked at it, cancelled it and recited its customer.
    assert any(record.tool == "cancel_order" and record.arguments["order_id"] == order for record in episode.calls)
    recital = [message.content for message in episode.messages if message.role == "assistant"][-1]
    assert f"The order id is {order}." in recital
    assert "The customer id is CU-" in recital
    assert sum(record.kind == "read" for record in episode.calls) <= READS
    assert sum(record.kind == "write" for record in episode.calls) <= WRITES


def test_the_shotgun_keeps_within_the_call_limit() -> None:
    for calls in (1, 2, 5, 24):
        episode = run(task_of("cancel"), SCRIPTED["shotgun"], Limits(turns=40, calls=calls))
        assert len(episode.calls) < calls
        assert episode.failure == "none"


def test_scripted_episodes_repeat_digest_by_digest() -> None:
    for name, policy in SCRIPTED.items():
        for family in ("cancel", "total", "transfer"):
            first, second = run(task_of(family), policy, WIDE), run(task_of(family), policy, WIDE)
            assert first.digest == second.digest, (name, family)
            assert first.timing != second.timing


def test_what_the_shotgun_has_seen() -> None:
    seen = Seen()
    seen.learn(
        [
            Message("user", "I am Ada Byron, order OR-0007, on 2026-03-02, for 12.50"),
            Message("tool", '{"order_id": "OR-0001", "lines": [{"sku": "A", "price": 3}], "open": true}'),
            Message("tool", "not json"),
            Message("assistant", "OR-9999"),
        ]
    )
    assert seen.candidates("order_id", {"type": "string"}) == ["OR-0001", "Ada Byron", "OR-0007"]
    assert seen.candidates("price", {"type": "integer"}) == [3]
    assert seen.candidates("amount", {"type": "number"}) == [12.5]
    assert seen.candidates("reason", {"enum": ["a", "b", "c", "d"]}) == ["a", "b", "c"]
    assert seen.candidates("sure", {"type": "boolean"}) == [True, False]
    assert Seen().candidates("text", {"type": "string"}) == ["as requested"]
    assert seen.recital() == "The order id is OR-0001. The sku is A. The price is 3."


def test_a_script_sees_the_messages_in_step() -> None:
    async def talk() -> list[str]:
        actor = SCRIPTED["shotgun"].begin(
            bare_context(tools=[tool.spec for tool in corner_shop.WORLD.tools], limits=WIDE)
        )
        first = await actor.act([Message("user", "Order OR-0003, please.")])
        return [str(call.arguments) for call in first.calls]

    assert "{'order_id': 'OR-0003'}" in asyncio.run(talk())


def test_scripted_play_is_fast() -> None:
    """A thousand episodes must stay a matter of seconds: the lint plays far more."""
    import time

    task = task_of("cancel")

    async def many() -> float:
        since = time.perf_counter()
        for _ in range(100):
            await play(spec_of(task), WORLD, SCRIPTED["oracle"], PlaySettings())
        return time.perf_counter() - since

    assert asyncio.run(many()) < 5
