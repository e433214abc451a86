"""A process that dies at any single write, fsync or rename of a run leaves a folder that resumes to the same end."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk_run import outcome, recipe, sit
from dying import CALLS, dying

from journeyman.train import durable
from journeyman.train.runfolder import RunFolder


def crashing_sitting(folder: Path, mode: str, at: int) -> int:
    """A sitting that dies at its `at`-th durable call. See `dying`."""
    return dying(lambda: sit(folder, recipe(mode)), at)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """Outcome of a run nobody disturbed, and how many durable calls it makes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "desk"
    calls = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            return real(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(durable, name, counted(getattr(durable, name)))
        assert sit(folder).stopped is None
    return outcome(folder), calls


@pytest.mark.parametrize("mode", ["replay", "reuse"])
@pytest.mark.parametrize("offset", [1, 7, 13])
def test_dying_at_any_durable_call(
    tmp_path: Path, undisturbed: tuple[dict[str, Any], int], mode: str, offset: int
) -> None:
    wanted, calls = undisturbed
    assert calls > 150
    # The fake engine answers the same in whatever company, so that reuse must be bit-equal too. The stride is prime to the
    # calls of a step, so that all kinds of places are met; the offsets of the two modes fall between each other.
    for at in range(offset + 3 * (mode == "reuse"), calls + 1, 19):
        folder = tmp_path / f"at-{at}"
        assert crashing_sitting(folder, mode, at) == 137
        assert sit(folder, recipe(mode)).stopped is None
        assert outcome(folder) == wanted, f"died at durable call {at}"


@pytest.mark.parametrize("mode", ["replay", "reuse"])
def test_dying_again_and_again(tmp_path: Path, undisturbed: tuple[dict[str, Any], int], mode: str) -> None:
    folder = tmp_path / "desk"
    lives = itertools.cycle([37, 3, 29, 1, 53, 2])
    codes = [crashing_sitting(folder, mode, at) for at in itertools.islice(lives, 12)]
    assert set(codes) <= {137, 0}
    assert codes[:4] == [137] * 4
    sit(folder, recipe(mode))
    assert outcome(folder) == undisturbed[0]


def test_replay_discards_and_counts_while_reuse_keeps(tmp_path: Path, undisturbed: tuple[dict[str, Any], int]) -> None:
    _, calls = undisturbed
    discarded = dict.fromkeys(("replay", "reuse"), 0)
    for mode in discarded:
        for at in range(calls // 2, calls, 17):
            folder = tmp_path / f"{mode}-{at}"
            crashing_sitting(folder, mode, at)
            sit(folder, recipe(mode))
            run = RunFolder(folder)
            discarded[mode] += run.scan().discarded
            lines = (folder / "episodes.jsonl").read_bytes().count(b'"task_id"')
            assert lines == len(run.scan().entries) + run.scan().discarded
    assert discarded["replay"] > 10
    assert discarded["reuse"] == 0


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    sit(folder)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    sit(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
