"""A person plays in the terminal: a scripted one at a scripted keyboard."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.episode import Episode
from journeyman.errors import TaskFileError
from journeyman.rollout.person import PROMPT, chosen_task, play_in_terminal
from journeyman.rollout.person_commands import NotUnderstood, read_command
from journeyman.task import Task
from journeyman.world import World
from journeyman.worlds import load_world
from journeyman.worlds.telecom.families import starter_line_features

WORLD = load_world("telecom")
TASK = WORLD.task("telecom/starter_line_features/train-000")
FIND, SET, SAY = TASK.oracle
PHONE = FIND.arguments["phone"]  # type: ignore[union-attr]
LINE = SET.arguments["line_id"]  # type: ignore[union-attr]
RIGHT = [
    f"/call find_line phone={PHONE}",
    f'/call set_line_feature {{"line_id": "{LINE}", "feature": "roaming", "state": "on"}}',
    SAY.text,  # type: ignore[union-attr]
]


class Keyboard:
    """Types the lines; an exception among them is raised; then the input ends."""

    def __init__(self, lines: list[Any]) -> None:
        self._lines: Iterator[Any] = iter(lines)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self._lines, EOFError())
        if isinstance(line, BaseException):
            raise line
        return str(line)


def played(lines: list[Any], output: Path | None = None, task: Task = TASK) -> tuple[Episode, str]:
    screen = io.StringIO()
    keyboard = Keyboard(lines)
    episode = play_in_terminal(WORLD, task.id, 0, output, keyboard, lambda text: print(text, file=screen))
    assert set(keyboard.prompts) <= {PROMPT, "...> "}
    return episode, screen.getvalue()


def test_a_starter_is_passed_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    episode, screen = played(RIGHT, file)
    assert episode.verdict is not None
    assert episode.verdict.passed
    assert (episode.reward, episode.ended, episode.policy) == (1.0, "left", "person")
    assert "PASSED, reward 1.000, ended by left" in screen
    assert "row line: matched" in screen
    assert "fact roaming: told" in screen
    for criterion in TASK.criteria:
        assert f"{criterion.text} met" in screen
    assert "user> " in screen
    assert '"roaming": "off"' in screen, "the result of the look-up is shown"
    played(["/quit"], file)
    lines = file.read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Episode).reward for line in lines] == [1.0, 0.0]


def test_what_is_wrong_is_told_by_name() -> None:
    _, screen = played([RIGHT[1], "Roaming is now off."])
    assert "NOT PASSED" in screen
    assert 'fact roaming: not told (off was stated: "Roaming is now off.")' in screen
    assert f"must (required): {TASK.criteria[0].text} NOT MET [find_line: 0 of at least 1]" in screen


def test_bad_input_takes_no_turn() -> None:
    slips = [
        "",
        "   ",
        "/nonsense",
        "/tol",
        "/undo",
        "/call",
        "/call find_lin phone=1",
        "/call find_line {not json",
        "/call find_line [1]",
        '/call find_line {"phone": 1} x',
        "/call find_line phone",
        '/call find_line "phone=1',
        "/say",
        "/policy refunds",
        "/tools nothing of the kind",
        "/tool",
    ]
    episode, screen = played([*slips, *RIGHT])
    assert episode.reward == 1.0
    assert len(episode.calls) == 2
    assert "There is no command /tol. Did you mean /tool?" in screen
    assert "Near: find_line" in screen
    assert "Nothing can be taken back" in screen
    assert "'phone' is no key=value" in screen
    assert "offers no tool to look up policies" in screen, "a starter offers none"
    assert "No tool fits 'nothing of the kind'" in screen


def test_wrong_arguments_are_the_tools_business() -> None:
    episode, _ = played([f"/call find_line phone={PHONE} colour=red", "/call find_line", *RIGHT])
    assert [call.code for call in episode.calls] == ["unknown_argument", "missing_argument", "", ""]
    assert episode.reward == 1.0


@pytest.mark.parametrize("end", [["/quit"], [], [KeyboardInterrupt(), KeyboardInterrupt()]])
def test_leaving_is_graded_as_it_stands(end: list[Any]) -> None:
    episode, screen = played([*RIGHT[:2], *end])
    assert (episode.ended, episode.failure, episode.failure_detail) == ("limit", "truncated", "the person left")
    assert "NOT PASSED" in screen
    assert "row line: matched" in screen
    assert "the end is not the one that the task wants" in screen


def test_one_interrupt_is_forgiven() -> None:
    episode, screen = played([KeyboardInterrupt(), RIGHT[0], KeyboardInterrupt(), *RIGHT[1:]])
    assert episode.reward == 1.0
    assert screen.count("Press Ctrl-C again") == 2


def test_tools_are_listed_searched_and_explained() -> None:
    _, screen = played(["/tools", "/tools FEATURE", "/tool set_line_feature", "/help"])
    assert screen.count("set_line_feature(line_id:str") == 3
    assert screen.count("find_line(phone:str)") == 1
    assert "state: one of on, off" in screen
    assert screen.count("/call NAME key=value") == 2


def test_a_message_may_have_several_lines_and_a_slash() -> None:
    episode, _ = played(["/say /hello", "one\\", "two"])
    said = [message.content for message in episode.messages if message.role == "assistant"]
    assert said[0] == "/hello"
    assert len(said) == 1 or said[1] == "one\ntwo"


def test_policies_are_read_with_the_worlds_tools() -> None:
    task = next(task for task in WORLD.tasks(families=["late_fee"]))
    episode, screen = played(["/policy", "/policy waive a late fee", "/article FEE-LATE", "/quit"], task=task)
    assert [(call.tool, call.status) for call in episode.calls] == [
        ("search_policy", "ok"),
        ("get_policy_article", "ok"),
    ]
    assert episode.calls[0].arguments == {"query": "waive a late fee"}
    assert "Type /policy and the words" in screen


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("a=1", {"account_id": "A-1", "amount": 1}),
        ("amount=12.50", {"account_id": "A-1", "amount": 12.5}),
        ("amount=lots", {"account_id": "A-1", "amount": "lots"}),
        ('invoice_id="INV 1"', {"account_id": "A-1", "invoice_id": "INV 1"}),
        ("method_id=17", {"account_id": "A-1", "method_id": "17"}),
    ],
)
def test_pairs_are_typed_by_the_schema(written: str, arguments: dict[str, Any]) -> None:
    written = written.replace("a=1", "amount=1")
    command = read_command(f"/call take_payment account_id=A-1 {written}", WORLD.specs())
    assert command.turn is not None
    assert command.turn.calls[0].arguments == arguments
    assert type(command.turn.calls[0].arguments.get("amount")) in (int, float, str, type(None))


@pytest.mark.parametrize("deep", ["[" * 50_000, "[" * 200 + "]" * 200, '{"a":' * 50_000, "[" * 900 + "1" + "]" * 900])
def test_what_is_nested_too_deep_costs_no_task(deep: str) -> None:
    task = next(task for task in WORLD.tasks(families=["past_due_payment"]))
    pairs = [f"/call update_contact customer_id=C-1 changes={deep}", f"/call take_payment amount={deep}"]
    episode, screen = played([*pairs, f'/call find_line {{"phone": {deep}}}', "/quit"], task=task)
    assert (episode.failure, episode.failure_detail) == ("truncated", "the person left")
    assert episode.verdict is not None
    assert [call.status for call in episode.calls] == ["error", "error"]
    assert "nothing was called" in screen


@settings(deadline=None, max_examples=300)
@given(
    st.text(max_size=40)
    | st.tuples(
        st.sampled_from(
            ["/call take_payment ", "/call open_dispute item_numbers=", "/policy ", "/tools ", "/tool ", "/"]
        ),
        st.text(max_size=20)
        | st.sampled_from(["[" * 3_000, '{"a":' * 3_000, "9" * 5_000, "1e999", "NaN", "\ud800", "\0"]),
    ).map("".join)
)
def test_whatever_is_typed_is_a_command_or_told_not_to_be(line: str) -> None:
    try:
        command = read_command(line, WORLD.specs())
    except NotUnderstood:
        return
    for call in command.turn.calls if command.turn is not None else []:
        json.dumps(call.arguments, allow_nan=False)


def test_lists_and_nothing() -> None:
    command = read_command("/call open_dispute invoice_id=INV-1 item_numbers=[1,2] reason=not_mine", WORLD.specs())
    assert command.turn is not None
    assert command.turn.calls[0].arguments == {"invoice_id": "INV-1", "item_numbers": [1, 2], "reason": "not_mine"}
    with pytest.raises(NotUnderstood, match="/help"):
        read_command("", [])


def test_the_default_task_is_a_starter() -> None:
    first, later = chosen_task(WORLD, None, 0), chosen_task(WORLD, None, 5)
    assert first.level == later.level == min(task.level for task in WORLD.tasks())
    assert first.id != later.id
    assert chosen_task(WORLD, None, 10_000) in WORLD.tasks()
    with pytest.raises(TaskFileError, match="no such task"):
        chosen_task(WORLD, "telecom/none/train-000", 0)


def test_a_file_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    keyboard = Keyboard(RIGHT)
    with pytest.raises(OSError, match="No such file"):
        play_in_terminal(WORLD, TASK.id, 0, tmp_path / "no" / "file.jsonl", keyboard, print)
    assert keyboard.prompts == []


def test_the_same_keys_give_the_same_episode() -> None:
    world: World = WORLD
    assert starter_line_features.make(world, 0, "train") == TASK
    assert played(RIGHT)[0].digest == played(RIGHT)[0].digest
