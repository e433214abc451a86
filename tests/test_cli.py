"""What a person gets wrong on the command line ends in one line that says so, and an exit code."""

from __future__ import annotations

import errno
import re
import sys
from pathlib import Path

import pytest

from journeyman import cli
from journeyman.pipeline import Result
from journeyman.report import html
from journeyman.worlds import load_world


def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and the one line on stderr."""
    monkeypatch.setattr(sys, "argv", ["journeyman", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    assert isinstance(caught.value.code, int)
    return caught.value.code, lines[0]


@pytest.mark.parametrize("name", ["nope", "os:path", "os:", ":WORLD", "..:WORLD", "broken_world:WORLD", "x\udcff:W"])
def test_a_world_that_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "broken_world.py").write_text("raise RuntimeError('two\\nlines [red]')\n")
    monkeypatch.syspath_prepend(tmp_path)
    code, line = fail(monkeypatch, capsys, "tasks", "count", name)
    assert code == 2
    assert line.startswith("error: world: ")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "\udcff", "a" * 300])
def test_a_run_name_cannot_leave_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    words = ["eval", "telecom", "--policy", "oracle", "--runs", str(tmp_path / "runs"), "--name", name]
    code, line = fail(monkeypatch, capsys, *words)
    assert (code, line.startswith("error: command line: name: ")) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_what_the_machine_refuses_is_an_infrastructure_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "runs/x/episodes.jsonl")

    monkeypatch.setattr(cli, "_report", full)
    code, line = fail(monkeypatch, capsys, "report", "runs/x")
    assert code == 3
    assert line.startswith("error: runs/x/episodes.jsonl: No space left on device")


def test_an_interrupted_evaluation_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("journeyman.pipeline.evaluate_policy", lambda *_, **__: Result(None, "interrupted"))  # type: ignore[arg-type]
    monkeypatch.setattr(cli, "_report", lambda *_: None)
    words = ["eval", "telecom", "--policy", "oracle", "--runs", str(tmp_path)]
    code, line = fail(monkeypatch, capsys, *words)
    assert (code, line) == (130, "stopped: interrupted. Go on with the same command.")


def test_what_names_no_task_says_where_the_tasks_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = fail(monkeypatch, capsys, "tasks", "show", "telecom/nope")
    assert code == 2
    remedy = re.search(r"see `journeyman ([^`]*)`", line)
    assert remedy is not None
    monkeypatch.setattr(sys, "argv", ["journeyman", *remedy[1].split()])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    ids = capsys.readouterr().out.split()
    assert ids == [task.id for task in load_world("telecom").tasks()]


def test_a_report_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "render_report", lambda _: "page")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        html.write_report(None, tmp_path / "folder")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
