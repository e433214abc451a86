"""Teachers: other words and habits, the same events, no write more; every task of a sample is passed with every criterion met."""

from __future__ import annotations

import asyncio
import functools
import json
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from journeyman.codec import canonical, seed_of
from journeyman.episode import Episode, Seeds
from journeyman.grading.grade import reader_of
from journeyman.recipe import Limits
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.pool import run_pool
from journeyman.rollout.scripted import SCRIPTED
from journeyman.rollout.teachers import MAX_TOGETHER, TEACHERS
from journeyman.rollout.wording import FORMAL, FRIENDLY, PLAIN, TERSE, Style, meaning, note_on, reworded
from journeyman.stages import SCRIPTED_TEACHERS
from journeyman.task import Call, Say, Task
from journeyman.worlds import load_world

WIDE = PlaySettings(limits=Limits(turns=40, calls=40))
WORLDS = ("telecom", "airline_cargo")


def sample(world: str, each: int = 2) -> list[Task]:
    """The first tasks of every family."""
    found: dict[str, list[Task]] = {}
    for task in load_world(world).tasks():
        found.setdefault(task.family, []).append(task)
    return [task for tasks in found.values() for task in tasks[:each]]


@functools.cache
def played(world: str, teacher: str, seed: int = 1) -> tuple[Episode, ...]:
    specs = [
        EpisodeSpec(f"t/0000/{number:04d}/00", task, Seeds(1, seed_of(seed, number), seed_of(seed, "e", number)))
        for number, task in enumerate(sample(world))
    ]
    return tuple(asyncio.run(run_pool(specs, load_world(world), TEACHERS[teacher], WIDE)))


def messages_to_user(episode: Episode) -> list[str]:
    return [one.content for one in episode.messages if one.role == "assistant" and not one.calls]


def made(episode: Episode) -> list[bytes]:
    return [canonical([call.tool, call.arguments]) for call in episode.calls]


def test_the_list_is_that_of_the_recipes() -> None:
    assert tuple(TEACHERS) == SCRIPTED_TEACHERS
    assert TEACHERS["oracle"] is SCRIPTED["oracle"]
    assert all(teacher.privileged and teacher.name == name for name, teacher in TEACHERS.items())


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("teacher", [name for name in SCRIPTED_TEACHERS if name != "oracle"])
def test_every_task_is_passed_with_all_criteria_met(world: str, teacher: str) -> None:
    for episode in played(world, teacher):
        assert (episode.reward, episode.failure) == (1.0, "none"), (episode.task_id, episode.failure_detail)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("teacher", [name for name in SCRIPTED_TEACHERS if name != "oracle"])
def test_no_write_is_added_or_moved_and_every_event_stays(world: str, teacher: str) -> None:
    for oracle, episode in zip(played(world, "oracle"), played(world, teacher), strict=True):
        writes = [[call.arguments for call in one.calls if call.kind == "write"] for one in (oracle, episode)]
        assert writes[0] == writes[1], episode.task_id
        said = [
            [(e.kind, e.slot, e.value, e.tool, e.arguments) for e in one.events if e.by == "agent"]
            for one in (oracle, episode)
        ]
        assert said[0] == said[1], episode.task_id


def test_styles_speak_otherwise() -> None:
    for world in WORLDS:
        for teacher, least in (("formal", 1.0), ("friendly", 1.0), ("terse", 0.3)):
            pairs = [
                (a, b)
                for oracle, episode in zip(played(world, "oracle"), played(world, teacher), strict=True)
                for a, b in zip(messages_to_user(oracle), messages_to_user(episode), strict=True)
            ]
            assert sum(a != b for a, b in pairs) >= least * len(pairs), (world, teacher)
        # Another seed, other words.
        first, second = (played(world, "formal", seed) for seed in (1, 2))
        assert sum(messages_to_user(a) != messages_to_user(b) for a, b in zip(first, second, strict=True)) > 20


def test_equal_seeds_give_equal_traces() -> None:
    for teacher in SCRIPTED_TEACHERS:
        again = played.__wrapped__("telecom", teacher)
        assert [one.digest for one in again] == [one.digest for one in played("telecom", teacher)]


def test_detours_are_look_ups_before_the_first_write_with_known_values() -> None:
    added = 0
    for oracle, episode in zip(played("telecom", "oracle"), played("telecom", "careful"), strict=True):
        left = made(oracle)
        told = ""
        detours = []
        by_call = {one.call_id: one.content for one in episode.messages if one.role == "tool"}
        results = list(by_call.values())
        for place, (call, key) in enumerate(zip(episode.calls, made(episode), strict=True)):
            if left and key == left[0]:
                left.pop(0)
            else:
                detours.append((place, call))
                assert call.kind == "read"
                values = [value for value in call.arguments.values() if " " not in str(value)]
                assert all(str(value) in told for value in values), (episode.task_id, call)
            told += results[place]
        assert not left, episode.task_id
        assert len(detours) <= 2
        added += len(detours)
        first_write = next((call.index for call in episode.calls if call.kind == "write"), len(episode.calls))
        assert all(place < first_write for place, _ in detours)
        assert all(a != b for a, b in pairwise(made(episode)))
    assert added > len(played("telecom", "careful"))


def test_parallel_look_ups_need_nothing_that_is_not_known_yet() -> None:
    several = 0
    for world in WORLDS:
        reads = {tool.name for tool in load_world(world).tools if tool.kind == "read"}
        for oracle, episode in zip(played(world, "oracle"), played(world, "parallel"), strict=True):
            assert made(oracle) == made(episode)
            before = ""
            for message in episode.messages:
                if len(message.calls) > 1:
                    several += 1
                    assert len(message.calls) <= MAX_TOGETHER
                    assert {call.name for call in message.calls} <= reads
                    for call in message.calls[1:]:
                        ids = [
                            v
                            for v in (call.arguments or {}).values()
                            if isinstance(v, str) and any(c.isdigit() for c in v)
                        ]
                        assert all(value in before for value in ids), (episode.task_id, call)
                before += message.content
    assert several > 40


def test_a_slip_is_refused_and_made_right_at_once() -> None:
    codes: set[str] = set()
    for world in WORLDS:
        for oracle, episode in zip(played(world, "oracle"), played(world, "recovering"), strict=True):
            calls = made(episode)
            # Without the one slip the calls are the oracle's.
            slips = [
                n
                for n in range(len(calls))
                if calls[:n] + calls[n + 1 :] == made(oracle) and calls[n] not in made(oracle)
            ]
            assert len(slips) == 1, episode.task_id
            wrong = episode.calls[slips[0]]
            assert wrong.status == "error"
            codes.add(wrong.code)
            right = episode.calls[slips[0] + 1]
            assert right.kind == "read"
            assert wrong.turn + 1 == right.turn
    assert codes == {"unknown_tool", "unknown_argument", "not_found"}


def test_nothing_is_added_where_the_limits_leave_no_room() -> None:
    tasks = sample("telecom", 1)
    for task in tasks:
        calls = sum(isinstance(step, Call) for step in task.oracle)
        tight = PlaySettings(limits=Limits(turns=len(task.oracle) + 1, calls=calls))
        spec = EpisodeSpec("t/0000/0000/00", task, Seeds(1, 2, 3))
        for teacher in ("careful", "recovering"):
            (episode,) = asyncio.run(run_pool([spec], load_world("telecom"), TEACHERS[teacher], tight))
            assert len(episode.calls) == calls
            assert episode.reward == 1.0


def test_notes_stand_beside_calls_and_reach_nobody() -> None:
    for episode in played("telecom", "friendly")[:10]:
        notes = [one.content for one in episode.messages if one.calls]
        assert all(note.startswith(("Let me ", "I will ", "Now I will ")) and note.endswith(".") for note in notes)
    rng = random.Random(0)
    assert {note_on("list_open_invoices", rng) for _ in range(40)} == {
        "Let me list the open invoices.", "I will list the open invoices.", "Now I will list the open invoices.",
    }  # fmt: skip
    assert note_on("look", random.Random(1)).endswith("look the record.")


def texts(world: str) -> Sequence[str]:
    return [
        step.text
        for task in sample(world)
        for step in task.oracle
        if isinstance(step, Say) and "$" + "{" not in step.text
    ]


def test_a_version_with_other_events_is_not_said() -> None:
    reader = reader_of(load_world("telecom"))
    text = "I cannot waive the late fee of $10.00. Your last waiver was on 2025-04-14."
    for closer in ("Your balance is $5.00.", "Shall I charge $5.00 to PM-8001?", "I can waive it after all?"):
        assert meaning(f"{text} {closer}", reader) != meaning(text, reader)
        style = Style(closers=(closer,), openers=("Thank you.",))
        assert reworded(text, style, random.Random(1), reader, first=False, last=True) == f"Thank you. {text}"
    turned = Style(rules=((r"I cannot waive", ("I have waived",)),))
    assert reworded(text, turned, random.Random(1), reader, first=False, last=False) == text
    kept = Style(rules=((r"I cannot waive", ("I have waived",)), (r"Your last waiver", ("The last waiver",))))
    assert reworded(text, kept, random.Random(1), reader, first=False, last=False) == text.replace("Your", "The")


def test_rewording_by_hand() -> None:
    reader = reader_of(load_world("telecom"))

    def said(text: str, style: Style, first: bool = False, last: bool = False) -> set[str]:
        return {reworded(text, style, random.Random(seed), reader, first=first, last=last) for seed in range(200)}

    ask = "Before I look into it, could you please give me your account PIN?"
    assert said(ask, TERSE) == {"What is your account PIN?", "Your account PIN, please?"}
    # A request without a question mark asks too, but who does not understand it answers otherwise.
    assert said(ask, Style(rules=((r"^.*$", ("Please tell me your account PIN.",)),))) == {ask}
    assert said("Shall I charge $5.00 to PM-8001?", FRIENDLY) >= {
        "Thanks! Would you like me to charge $5.00 to PM-8001?"
    }
    assert said("Roaming is now on for 555-5074.", PLAIN, first=True, last=True) == {"Roaming is now on for 555-5074."}
    closed = said("Roaming is now on for 555-5074.", FORMAL, first=True, last=True)
    assert "Certainly. Roaming is now on for 555-5074. Thank you for your patience." in closed
    assert len(closed) == 9


def test_json_results_are_read_as_they_are() -> None:
    """Results that are no JSON, lists and scalars do not break a teacher."""
    from journeyman.rollout import teachers

    assert teachers._decoded("no json") is None
    assert list(teachers._pairs(json.loads('[{"a": "x", "b": {"c": 1}}, {"d": null}, 3]'))) == [
        ("a", '"x"'),
        ("c", "1"),
    ]
    assert list(teachers._leaves({"a": [1, {"b": "x"}], "c": None})) == [1, "x"]
