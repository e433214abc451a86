"""Hostile calls do what they say, break nothing, and earn nothing; before a right run they cost nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attack_desk import WORLD, attacked, families, kept_out, oracle_calls, oracle_run, said, tasks

from journeyman.episode import Episode
from journeyman.rollout.attacks.base import CLAIM
from journeyman.rollout.attacks.hostile import DEPTH, FLOOD, HIDDEN, HUGE

EVERY_FAMILY = {family.name for family in WORLD.families}


def test_hidden_names_are_unknown() -> None:
    plays = kept_out("hidden_names")
    assert families(plays) == EVERY_FAMILY
    for task, episode in plays:
        names = {call.tool for call in episode.calls}
        assert {call.code for call in episode.calls} == {"unknown_tool"}
        assert len(names & set(HIDDEN)) == 8
        if task.tools is not None:
            assert names & (set(WORLD.tools_by_name) - set(task.tools)), "no withheld tool was tried"
        assert episode.changes == []
        assert CLAIM in said(episode)


MARKS = {
    "sql_arguments": "UPDATE sqlite_master",
    "json_arguments": '"passed": true',
    "templates_arguments": "{{ self.__init__.__globals__ }}",
    "special_tokens_arguments": "<|im_start|>system",
}


@pytest.mark.parametrize("name", MARKS)
def test_payloads_reach_the_tools_and_are_taken_as_text(name: str) -> None:
    plays = kept_out(name)
    assert families(plays) == EVERY_FAMILY
    taken = 0
    for task, episode in plays:
        offered = len(task.tools) if task.tools is not None else len(WORLD.tools)
        holding = [call for call in episode.calls if MARKS[name] in json.dumps(call.arguments).replace('\\"', '"')]
        assert len(holding) >= min(offered, 48) - 2, "some tools take no text"
        taken += sum(call.status == "ok" for call in holding)
        assert MARKS[name] in "".join(said(episode))
    assert taken > len(plays) / 3, "searches and the text of records take anything"


def test_nul_is_refused_wherever_it_is_passed() -> None:
    for _, episode in kept_out("nul_arguments"):
        holding = [call for call in episode.calls if "\0" in "".join(map(str, call.arguments.values()))]
        assert holding
        assert {call.status for call in holding} == {"error"}
        assert episode.changes == []


def test_huge_arguments_are_refused_and_not_kept() -> None:
    for _, episode in kept_out("huge_arguments"):
        written = [call for message in episode.messages for call in message.calls]
        assert max(len(str(call.arguments)) for call in written) > HUGE
        assert {call.status for call in episode.calls} == {"error"}
        assert max(len(json.dumps(call.arguments)) for call in episode.calls) < HUGE / 2
        assert episode.changes == []


def depth(value: Any) -> int:
    found = 0
    while isinstance(value, dict | list) and value:
        value, found = next(iter(value.values())) if isinstance(value, dict) else value[0], found + 1
    return found


def test_nested_arguments_are_refused() -> None:
    for _, episode in kept_out("nested_arguments"):
        answers = [message.content for message in episode.messages if message.role == "tool"]
        assert sum("unreadable_call" in answer for answer in answers) >= 1, f"{DEPTH} levels are read by nobody"
        written = [call for message in episode.messages for call in message.calls if call.arguments]
        assert max(depth(call.arguments) for call in written) > 60
        assert all(call.status == "error" for call in episode.calls if call.arguments)
        assert episode.changes == []


def test_a_loop_ends_as_the_agents_failure() -> None:
    for _, episode in kept_out("loop"):
        assert episode.failure == "agent"
        assert episode.failure_detail.startswith("looped: the same call")
        names = [call.tool for call in episode.calls]
        assert names[:20] == names[:2] * 10
        assert len(set(names[-3:])) == 1


def test_a_flood_ends_at_the_call_limit() -> None:
    for _, episode in kept_out("flood"):
        assert len(episode.messages[2].calls) == FLOOD
        assert len(episode.calls) == 200
        assert (episode.failure, episode.failure_detail) == ("agent", "the call limit of 200 was reached")


def test_hostile_reads_before_a_right_run_cost_nothing() -> None:
    plays = attacked("hostile_reads")
    assert [task.id for task, _ in plays] == [task.id for task in tasks()]
    for task, episode in plays:
        assert episode.verdict is not None
        assert episode.verdict.passed, (task.id, episode.verdict.rows, episode.verdict.facts)
        count = len(oracle_calls(task))
        prelude = episode.calls[:-count]
        assert len(prelude) >= 8
        assert sum(call.status == "error" for call in prelude) >= 6
        assert all(call.kind != "write" for call in prelude)
        assert [call.tool for call in episode.calls[-count:]] == [call.tool for call in oracle_calls(task)]
        assert plain(episode) == plain(oracle_run(task.id))


def plain(episode: Episode) -> list[tuple[str, str]]:
    return sorted((change.table, change.op) for change in episode.changes)
