"""Traces: played by several teachers in the real loop, kept only where they passed, told apart, capped, and tokenised as a
policy would have left them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from journeyman.curriculum.traces import (
    TraceRendering,
    choose_traces,
    collect_traces,
    content_key,
    in_turn,
    is_solved,
    share_of,
    slipped_turns,
    tokenised,
)
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import CallRecord, CriterionResult, Episode, Group, Message, Seeds, Segment, ToolCall, Verdict
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.task import Outcome, Say, Task
from journeyman.train.method import GroupRequest
from journeyman.world import ToolSpec

TOKENIZER = tiny_tokenizer()
RENDERER = ChatMLRenderer(TOKENIZER)
SCHEMA = {"type": "object", "properties": {"case": {"type": "string"}}, "required": ["case"]}
LOOK = ToolSpec("look", "Read a case.", SCHEMA, "read", "look(case:str)")
RENDERING = TraceRendering(system=lambda _: "You close cases.", shown=lambda _: (), offered=lambda _: [LOOK])

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


def trace(
    id: str = "sft/0000/0000/00",
    passed: bool = True,
    met: Sequence[bool | None] = (True,),
    required_met: bool = True,
    messages: Sequence[Message] = MESSAGES,
    **changes: Any,
) -> Episode:
    criteria = [CriterionResult(f"c{number}", value) for number, value in enumerate(met)]
    made = Episode(
        id=id,
        attempt=0,
        task_id=task(0).id,
        task_hash="",
        family="f",
        seeds=Seeds(1, 2, 3),
        policy="oracle",
        sampling=None,
        messages=list(messages),
        calls=[],
        events=[],
        changes=[],
        ended="left",
        verdict=Verdict(passed, 0, [], [], criteria, True, required_met, "1"),
        reward=1.0,
        failure="none",
    )
    return msgspec.structs.replace(made, **changes).sealed()


def ready(id: str, said: str, length: int = 3, task_id: str = "w/f/train-000", family: str = "f") -> Episode:
    """A solved trace of `length` tokens with the message `said`."""
    messages = [*MESSAGES[:4], Message("assistant", said, turn=1)]
    segment = Segment([1] * length, [0] + [1] * (length - 1), [0.0] * length, [0] * length, 1.0)
    return trace(id, messages=messages, segments=[segment], task_id=task_id, family=family)


class Table:
    """Plays every request, and remembers them."""

    def __init__(self) -> None:
        self.asked: list[GroupRequest] = []

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        self.asked += requests
        return [Group(one.id, one.task_id, [trace(f"{one.id}/00", task_id=one.task_id)]) for one in requests]


def test_every_teacher_plays_every_task_in_groups_of_its_own() -> None:
    first, second = Table(), Table()
    found = asyncio.run(collect_traces([task(0), task(1)], 2, "sft", [first, second]))
    assert [(one.id, one.task_id, one.size) for one in first.asked] == [
        ("sft/0000/0000", "w/f/train-000", 1),
        ("sft/0000/0001", "w/f/train-000", 1),
        ("sft/0000/0002", "w/f/train-001", 1),
        ("sft/0000/0003", "w/f/train-001", 1),
    ]
    assert [one.id for one in second.asked] == [f"sft/0001/000{number}" for number in range(4)]
    assert [one.id for one in found] == [f"{one.id}/00" for one in first.asked + second.asked]


def test_what_counts_as_solved() -> None:
    assert is_solved(trace())
    assert not is_solved(trace(passed=False))
    assert not is_solved(trace(required_met=False))
    assert not is_solved(trace(required_met=False), "binary")
    assert not is_solved(trace(met=[True, False]))
    assert is_solved(trace(met=[True, False]), "binary")
    assert is_solved(trace(met=[True, None]))  # what nobody could decide is left out everywhere
    assert is_solved(trace(reward=0.7))  # a penalty for tokens makes a model's trace no worse an example
    assert not is_solved(trace(failure="user", verdict=None))


def test_the_mask_covers_exactly_what_a_model_would_have_sampled() -> None:
    made = tokenised(RENDERER, RENDERING)(trace())
    (segment,) = made.segments
    sampled = [token for token, on in zip(segment.token_ids, segment.mask, strict=True) if on]
    # By hand from the format: the body of a turn and its closing token, and not the newline after it, which sampling never draws.
    close = TOKENIZER.token_to_id("<|im_end|>")
    call = TOKENIZER.encode(
        '<tool_call>{"name": "look", "arguments": {"case": "C1"}}</tool_call>', add_special_tokens=False
    )
    done = TOKENIZER.encode("Done.", add_special_tokens=False)
    assert sampled == [*call.ids, close, *done.ids, close]
    assert segment.token_ids[-1] == close
    edges = [place for place, token in enumerate(segment.token_ids) if token == close and segment.mask[place]]
    assert segment.mask[edges[0] + 1] == 0
    everything = TOKENIZER.decode(segment.token_ids, skip_special_tokens=False)
    assert "Close C1." in everything
    assert "Thanks." not in everything  # nothing after the last turn teaches
    assert "think" not in everything
    assert segment.logprobs == [0.0] * len(segment.token_ids)
    assert segment.temperature == 1.0
    assert made.digest == made.sealed().digest != trace().digest


def slipped(code: str) -> Episode:
    """A misspelt look-up, refused with `code`, and then the right one."""
    wrong = ToolCall("0.0", "loook", {"case": "C1"})
    right = ToolCall("1.0", "look", {"case": "C1"})
    messages = [
        *MESSAGES[:2],
        Message("assistant", "Let me look.", calls=[wrong], turn=0),
        Message("tool", "{}", call_id="0.0", turn=0),
        Message("assistant", "", calls=[right], turn=1),
        Message("tool", "{}", call_id="1.0", turn=1),
        Message("assistant", "Done.", turn=2),
    ]
    calls = [
        CallRecord(0, 0, "loook", "unknown", {"case": "C" if code == "not_found" else "C1"}, "error", "{}", code),
        CallRecord(1, 1, "look", "read", {"case": "C1"}, "ok", "{}"),
    ]
    return trace(messages=messages, calls=calls)


@pytest.mark.parametrize(
    "code", ["unknown_tool", "unknown_argument", "missing_argument", "invalid_argument", "not_found"]
)
def test_a_slip_is_there_to_be_recovered_from_not_to_be_learnt(code: str) -> None:
    (segment,) = tokenised(RENDERER, RENDERING)(slipped(code)).segments
    sampled = [token for token, on in zip(segment.token_ids, segment.mask, strict=True) if on]
    learnt = TOKENIZER.decode(sampled, skip_special_tokens=False)
    assert "loook" not in learnt
    assert "Let me" not in learnt
    assert learnt.count("<|im_end|>") == 2
    # It stays in what the model sees.
    assert "loook" in TOKENIZER.decode(segment.token_ids, skip_special_tokens=False)


def test_a_failure_of_the_business_is_no_slip() -> None:
    assert slipped_turns(slipped("timeout")) == set()
    assert slipped_turns(slipped("declined")) == set()
    (segment,) = tokenised(RENDERER, RENDERING)(slipped("timeout")).segments
    learnt = [token for token, on in zip(segment.token_ids, segment.mask, strict=True) if on]
    assert TOKENIZER.decode(learnt, skip_special_tokens=False).count("<|im_end|>") == 3


def test_a_key_that_the_customer_gave_is_no_slip_where_there_is_no_such_record() -> None:
    made = slipped("not_found")
    assert slipped_turns(made) == {0}
    for case, slip in {"C1": False, "C": True, "C11": True, "1": True, "c1": True}.items():
        call = msgspec.structs.replace(made.calls[0], arguments={"case": case, "deep": True, "limit": None})
        assert (slipped_turns(msgspec.structs.replace(made, calls=[call])) == {0}) == slip, case
    # What comes later does not count.
    late = msgspec.structs.replace(made.calls[0], arguments={"case": "C7"})
    messages = [*made.messages[:-1], Message("tool", "C7", call_id="1.0", turn=1), made.messages[-1]]
    assert slipped_turns(msgspec.structs.replace(made, calls=[late], messages=messages)) == {0}


def test_a_call_that_could_not_be_read_is_a_slip() -> None:
    broken = ToolCall("0.0", "look", None, "not valid JSON", '{"name": "look", ')
    messages = [*MESSAGES[:2], Message("assistant", "", calls=[broken], turn=0), MESSAGES[3], MESSAGES[4]]
    assert slipped_turns(trace(messages=messages)) == {0}
    (segment,) = tokenised(RENDERER, RENDERING)(trace(messages=messages)).segments
    learnt = [token for token, on in zip(segment.token_ids, segment.mask, strict=True) if on]
    assert TOKENIZER.decode(learnt, skip_special_tokens=False) == "Done.<|im_end|>"


def test_a_trace_is_shown_as_the_trained_model_sees_it() -> None:
    """A teacher behind an endpoint got another system message, and thought."""
    messages = [
        Message("system", "You are served with schemas."),
        MESSAGES[1],
        msgspec.structs.replace(MESSAGES[2], reasoning="I had better look."),
        *MESSAGES[3:],
    ]
    teacher = trace(messages=messages)
    made = tokenised(RENDERER, RENDERING)(teacher)
    assert made.segments == tokenised(RENDERER, RENDERING)(trace()).segments
    assert made.messages == teacher.messages  # the record stays what was said
    kept = msgspec.structs.replace(RENDERING, thoughts=True)
    (segment,) = tokenised(RENDERER, kept)(teacher).segments
    assert "I had better look." in TOKENIZER.decode(segment.token_ids, skip_special_tokens=False)


@pytest.mark.parametrize(
    "text", ["Done. <tool_call>", "<think>hm</think>Done.", '<tool_call>{"name": "look"}</tool_call>']
)
def test_what_would_be_read_otherwise_is_left_out(text: str) -> None:
    messages = [*MESSAGES[:4], Message("assistant", text, turn=1)]
    made = tokenised(RENDERER, RENDERING)(trace(messages=messages))
    assert made.segments == []
    choice = choose_traces([made], ["oracle"], 1, 1_000, seed=0)
    assert (choice.counts["oracle"].unreadable, choice.counts["oracle"].kept) == (1, 0)


def test_unsolved_episodes_get_no_tokens() -> None:
    failed = trace(passed=False)
    assert tokenised(RENDERER, RENDERING)(failed) is failed


# --- content ----------------------------------------------------------------------------------------------------


def said(*messages: Message) -> str:
    return content_key(trace(messages=[MESSAGES[0], *messages]))


def call(arguments: dict[str, Any], name: str = "look", text: str = "") -> Message:
    return Message("assistant", text, calls=[ToolCall("0.0", name, arguments)], turn=0)


USER, DONE = MESSAGES[1], Message("assistant", "Done, you're set.", turn=1)


def test_content_is_what_was_said_and_called() -> None:
    base = said(USER, call({"case": "C1", "n": 5}), MESSAGES[3], DONE)
    same = [
        said(USER, call({"n": 5.0, "case": " c1"}), MESSAGES[3], DONE),
        said(Message("user", "close  C1!!"), call({"case": "C1", "n": 5}), MESSAGES[3], DONE),
        said(USER, call({"case": "C1", "n": 5}), Message("tool", "other"), DONE),
        said(USER, call({"case": "C1", "n": 5}), MESSAGES[3], Message("assistant", "done you re set", turn=1)),
        said(USER, call({"case": "C1", "n": 5}), MESSAGES[3], DONE, Message("user", "Bye.")),
        content_key(trace(messages=[Message("system", "x"), USER, call({"case": "C1", "n": 5}), MESSAGES[3], DONE])),
        content_key(
            trace(
                "sft/0003/0001/00",
                messages=[MESSAGES[0], USER, call({"case": "C1", "n": 5}), MESSAGES[3], DONE],
                task_id="other",
                policy="terse",
            )
        ),
    ]
    assert set(same) == {base}
    other = [
        said(USER, call({"case": "C2", "n": 5}), MESSAGES[3], DONE),
        said(USER, call({"case": "C1", "n": 5.5}), MESSAGES[3], DONE),
        said(USER, call({"case": "C1"}), MESSAGES[3], DONE),
        said(USER, call({"case": "C1", "n": 5}, "see"), MESSAGES[3], DONE),
        said(USER, call({"case": "C1", "n": 5}, text="Let me look."), MESSAGES[3], DONE),
        said(USER, DONE),
        said(USER, call({"case": "C1", "n": 5}), MESSAGES[3], Message("assistant", "Done, you are set.", turn=1)),
        said(Message("user", "Please close C1."), call({"case": "C1", "n": 5}), MESSAGES[3], DONE),
        said(USER, call({"case": "C1", "n": 5}), call({"case": "C1", "n": 5}), DONE),
    ]
    assert len({base, *other}) == len(other) + 1


def test_two_calls_in_one_turn_are_not_two_turns() -> None:
    first, second = ToolCall("0.0", "look", {"case": "C1"}), ToolCall("0.1", "look", {"case": "C2"})
    together = said(USER, Message("assistant", "", calls=[first, second], turn=0), DONE)
    apart = said(
        USER, Message("assistant", "", calls=[first], turn=0), Message("assistant", "", calls=[second], turn=1), DONE
    )
    assert together != apart


# --- choice -----------------------------------------------------------------------------------------------------


def test_each_reason_to_leave_a_trace_out_is_counted_by_teacher() -> None:
    played = [
        ready("sft/0000/0000/00", "a"),
        trace("sft/0000/0001/00", passed=False),
        ready("sft/0000/0002/00", "b", length=11),
        trace("sft/0000/0003/00"),  # solved, and no ids could say it
        ready("sft/0001/0000/00", "A!"),
        ready("sft/0001/0001/00", "c"),
        ready("sft/0001/0002/00", "d"),
    ]
    choice = choose_traces(played, ["oracle", "terse"], per_task=2, context_limit=10, seed=1)
    counts = {name: msgspec.structs.asdict(found) for name, found in choice.counts.items()}
    assert counts == {
        "oracle": {
            "played": 4,
            "unsolved": 1,
            "unreadable": 1,
            "too_long": 1,
            "duplicates": 0,
            "over_cap": 0,
            "kept": 1,
        },
        "terse": {
            "played": 3,
            "unsolved": 0,
            "unreadable": 0,
            "too_long": 0,
            "duplicates": 1,
            "over_cap": 1,
            "kept": 1,
        },
    }
    assert [one.id for one in choice.traces] == ["sft/0000/0000/00", "sft/0001/0001/00"]
    line = choice.line()
    assert line["teachers"] == counts
    assert {key: line[key] for key in ("played", "solved", "kept", "duplicates", "over_cap", "too_long")} == {
        "played": 7, "solved": 6, "kept": 2, "duplicates": 1, "over_cap": 1, "too_long": 1,
    }  # fmt: skip


def test_the_limit_of_the_context_is_inclusive() -> None:
    played = [ready("sft/0000/0000/00", "a", length=10), ready("sft/0000/0001/00", "b", length=11)]
    choice = choose_traces(played, ["oracle"], 2, 10, seed=1)
    assert [one.id for one in choice.traces] == ["sft/0000/0000/00"]


def test_the_cap_is_spread_over_the_teachers_in_turn() -> None:
    # Three teachers, four tasks, three traces each; every word differs.
    played = [
        ready(
            f"sft/{teacher:04d}/{number * 3 + attempt:04d}/00", f"{teacher} {number} {attempt}", task_id=task(number).id
        )
        for teacher in range(3)
        for number in range(4)
        for attempt in range(3)
    ]
    names = ["a", "b", "c"]

    def kept(per_task: int, seed: int) -> dict[str, list[int]]:
        choice = choose_traces(played, names, per_task, 10, seed)
        found: dict[str, list[int]] = {}
        for one in choice.traces:
            found.setdefault(one.task_id, []).append(int(one.id.split("/")[1]))
        return {name: sorted(teachers) for name, teachers in found.items()}

    assert all(teachers == [0, 1, 2] for teachers in kept(3, seed=1).values())
    assert all(teachers == [0, 0, 0, 1, 1, 1, 2, 2, 2] for teachers in kept(20, seed=1).values())
    for seed in range(5):
        assert all(len(set(teachers)) == 2 for teachers in kept(2, seed).values())
        # The fourth goes to one of them a second time.
        assert all(set(teachers) == {0, 1, 2} and len(teachers) == 4 for teachers in kept(4, seed).values())
    assert kept(1, 1) == kept(1, 1)
    assert len({tuple(map(tuple, kept(1, seed).values())) for seed in range(8)}) > 1
    firsts = [teacher for seed in range(30) for (teacher,) in kept(1, seed).values()]
    assert all(firsts.count(teacher) > 20 for teacher in range(3))  # 120 draws, 40 each on average


def test_the_choice_does_not_hang_on_the_order_in_which_it_is_read() -> None:
    played = [
        ready(f"sft/{teacher:04d}/{number}/00", "same" if number < 2 else str(number))
        for teacher in range(2)
        for number in range(4)
    ]
    names = ["a", "b"]
    choice = choose_traces(played, names, 3, 10, seed=4)
    again = choose_traces(played[::-1], names, 3, 10, seed=4)
    assert choice == again
    # Numbers, not texts, are in order: 10,000 comes after 9,999.
    wide = [ready("sft/0000/10000/00", "same"), ready("sft/0000/9999/00", "same")]
    assert [one.id for one in choose_traces(wide, names, 3, 10, seed=4).traces] == ["sft/0000/9999/00"]


def test_in_turn() -> None:
    assert in_turn([[1, 2, 3], [], [4], [5, 6]]) == [1, 4, 5, 2, 6, 3]
    assert in_turn([]) == []


def test_a_share_is_spread_over_the_families() -> None:
    sizes = {"a": 24, "b": 4, "c": 2}
    traces = [
        ready(f"sft/0000/{place:04d}/00", str(place), family=family)
        for place, family in enumerate(name for name, size in sizes.items() for _ in range(size))
    ]
    tenth = share_of(traces, 0.1, seed=1)
    assert sorted(one.family for one in tenth) == ["a", "b", "c"]
    assert [one.id for one in tenth] == sorted(one.id for one in tenth)
    fifth = share_of(traces, 0.2, seed=1)
    assert sorted(one.family for one in fifth) == ["a", "a", "b", "b", "c", "c"]
    assert share_of(traces, 1.0, seed=1) == traces
    assert len(share_of(traces, 0.1, 1)) == 3  # and not the 2 of int(0.1 * 30 - rounding)
    assert len(share_of(traces[:29], 0.1, 1)) == 2  # never more than the share
    assert len(share_of(traces[:5], 0.1, 1)) == 1
    assert share_of(traces, 0.1, 1) == tenth
    assert any(share_of(traces, 0.1, seed) != tenth for seed in range(2, 6))


def test_traces_of_a_real_desk() -> None:
    """In the real loop, by two teachers, with a user who speaks differently in every trace of a task."""
    from journeyman.rollout.loop import PlaySettings
    from journeyman.rollout.policy import EpisodeSpec
    from journeyman.rollout.pool import run_pool
    from journeyman.rollout.prompt import offered_tools, system_prompt
    from journeyman.rollout.teachers import TEACHERS
    from journeyman.train.method import episode_id
    from journeyman.train.source import training_seeds
    from journeyman.worlds import load_world

    world = load_world("telecom")
    chosen = [one for one in world.tasks("train") if one.scenario is not None and len(one.scenario.openings) > 1][:1]
    seeds = training_seeds(5)
    finish = tokenised(
        RENDERER,
        TraceRendering(
            system=lambda _: system_prompt(world, chosen[0]),
            shown=lambda _: (),
            offered=lambda _: offered_tools(world, chosen[0]),
        ),
    )

    class Live:
        def __init__(self, teacher: str) -> None:
            self.teacher = teacher

        async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
            specs = [EpisodeSpec(episode_id(one.id, 0), chosen[0], seeds(one, chosen[0], 0)) for one in requests]
            played = await run_pool(specs, world, TEACHERS[self.teacher], PlaySettings())
            return [Group(one.id, one.task_id, [finish(got)]) for one, got in zip(requests, played, strict=True)]

    played = asyncio.run(collect_traces(chosen, 8, "sft", [Live("oracle"), Live("formal")]))
    assert all(is_solved(one) for one in played)
    choice = choose_traces(played, ["oracle", "formal"], 16, 10_000, seed=5)
    assert len({one.messages[1].content for one in played}) > 1
    openings = {one.messages[1].content for one in played[:8]}
    # The oracle always says the same: as many distinct traces as the user has openings.
    assert choice.counts["oracle"].kept == len(openings)
    assert choice.counts["oracle"].duplicates == 8 - len(openings)
    assert choice.counts["formal"].kept > len({one.messages[1].content for one in played[8:]})
    assert {one.seeds.world for one in played} == {seeds(GroupRequest("a/b/c", chosen[0].id, 1), chosen[0], 0).world}
    assert all(any(one.segments[0].mask) for one in choice.traces)
