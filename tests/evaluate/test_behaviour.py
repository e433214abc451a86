"""Behaviour read off hand-written call sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from journeyman.episode import CallRecord, Episode, Event
from journeyman.evaluate.behaviour import is_policy_tool, read_behaviour, summarise_behaviour

Attempt = Callable[..., Episode]


def calls(*spec: str, arguments: dict[str, Any] | None = None) -> list[CallRecord]:
    """`r:tool`, `w:tool`, `u:tool`; a `!` at the end makes it fail."""
    kinds: dict[str, Literal["read", "write", "unknown"]] = {"r": "read", "w": "write", "u": "unknown"}
    return [
        CallRecord(
            i, i, text[2:].rstrip("!"), kinds[text[0]], arguments or {}, "error" if text.endswith("!") else "ok", "{}"
        )
        for i, text in enumerate(spec)
    ]


def test_what_was_read_before_the_first_write(attempt: Attempt) -> None:
    careful = read_behaviour(attempt("a1", 0, calls=calls("r:policy_search", "r:get_line", "w:change_plan")))
    assert (careful.policy_before_write, careful.record_before_write) == (True, True)
    hasty = read_behaviour(attempt("a1", 0, calls=calls("w:change_plan", "r:policy_search", "r:get_line")))
    assert (hasty.policy_before_write, hasty.record_before_write) == (False, False)
    only_policy = read_behaviour(attempt("a1", 0, calls=calls("r:read_article", "r:get_line!", "w:change_plan")))
    assert (only_policy.policy_before_write, only_policy.record_before_write) == (True, False)
    idle = read_behaviour(attempt("a1", 0, calls=calls("r:policy_search")))
    assert (idle.policy_before_write, idle.writes) == (None, 0)


def test_a_failed_write_is_no_write(attempt: Attempt) -> None:
    found = read_behaviour(attempt("a1", 0, calls=calls("w:change_plan!", "r:get_line", "w:change_plan")))
    assert (found.writes, found.failed_calls, found.record_before_write) == (1, 1, True)


def test_policy_tools_by_name_or_by_list(attempt: Attempt) -> None:
    assert is_policy_tool("Policy_Search")
    assert is_policy_tool("get_knowledge_article")
    assert not is_policy_tool("get_plan")
    assert is_policy_tool("handbook", {"handbook"})
    assert not is_policy_tool("policy_search", {"handbook"})
    episode = attempt("a1", 0, calls=calls("r:handbook", "w:change_plan"))
    assert read_behaviour(episode, {"handbook"}).policy_before_write is True
    assert read_behaviour(episode).policy_before_write is False


def test_repeated_writes_need_equal_arguments(attempt: Attempt) -> None:
    same = calls("w:charge", "w:charge", "w:charge!", arguments={"amount": 5})
    assert read_behaviour(attempt("a1", 0, calls=same)).repeated_writes == 1
    other = [
        *calls("w:charge", arguments={"amount": 5}),
        CallRecord(1, 1, "charge", "write", {"amount": 6}, "ok", "{}"),
    ]
    assert read_behaviour(attempt("a1", 0, calls=other)).repeated_writes == 0


def test_writes_after_the_user_refused(attempt: Attempt) -> None:
    refused = Event(0, "refused", "user", order=1, tool="charge")
    consented = Event(1, "consented", "user", order=2, tool="charge")
    made = calls("w:charge", "r:get_line", "w:charge", "w:note")
    assert read_behaviour(attempt("a1", 0, calls=made, events=[refused])).writes_after_refusal == 1
    assert read_behaviour(attempt("a1", 0, calls=made, events=[refused, consented])).writes_after_refusal == 0
    assert read_behaviour(attempt("a1", 0, calls=made, events=[consented, refused])).writes_after_refusal == 1
    anything = Event(0, "refused", "user", order=1)
    assert read_behaviour(attempt("a1", 0, calls=made, events=[anything])).writes_after_refusal == 2


def test_writes_after_the_agent_said_no(attempt: Attempt) -> None:
    denied = Event(0, "denied", "agent", order=1, slot="refund")
    found = read_behaviour(attempt("a1", 0, calls=calls("w:charge", "w:note"), events=[denied]))
    assert found.writes_after_denial == 1


def test_summary_uses_the_right_denominators(attempt: Attempt) -> None:
    asked = Event(0, "asked", "agent", slot="line")
    episodes = [
        attempt("a1", 0, calls=calls("r:policy_search", "w:charge"), events=[asked, asked]),
        attempt("a1", 1, calls=calls("w:charge", "w:charge", "u:pay!")),
        attempt("a1", 2, ended="transfer"),
        attempt("a1", 3, failure="infrastructure", calls=calls("w:charge")),
    ]
    found = summarise_behaviour(episodes)
    assert (found.episodes, found.writing_episodes) == (3, 2)
    assert found.policy_before_write == 1 / 2
    assert found.episodes_with_repeated_write == 1 / 3
    assert found.transferred == 1 / 3
    assert found.calls_per_episode == 5 / 3
    assert (found.failed_call_share, found.unknown_call_share) == (1 / 5, 1 / 5)
    assert found.questions_per_episode == 2 / 3


def test_nothing_to_count_over_is_none_not_zero() -> None:
    found = summarise_behaviour([])
    assert found.episodes == 0
    assert found.transferred is None
    assert found.policy_before_write is None
