"""Run folders that somebody altered or put things into: one clear error that names the file, the line and what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import recipe, sit
from making import SEGMENT, episode, provenance

from journeyman.episode import CallRecord, SamplingSettings
from journeyman.errors import RunFolderError
from journeyman.report.data import build_report_data
from journeyman.train import durable, runfolder
from journeyman.train.rulings import RulingFile
from journeyman.train.runfolder import RunFolder
from journeyman.train.runwriter import RunWriter, open_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "desk"


@pytest.fixture
def writer(folder: Path) -> Iterator[RunWriter]:
    with open_run(folder, recipe(), provenance(), resume=False) as opened:
        yield opened


def altered(path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> str:
    """Change the record in a line (from 1) of a file, as a hand would; the id that stands there."""
    lines = path.read_bytes().splitlines()
    record = json.loads(lines[number - 1])
    change(record)
    lines[number - 1] = json.dumps(record).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(record["id"])


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "reward": lambda one: one.update(reward=0.1),
    "passed": lambda one: one["verdict"].update(passed=False),
    "required": lambda one: one["verdict"].update(required_met=False),
    "message": lambda one: one["messages"].append({"role": "user", "content": "Thanks."}),
    "failure": lambda one: one.update(failure="agent"),
    "usage": lambda one: one["usage"]["policy"].update(output=1),
    "segments": lambda one: one.update(segments_digest="0" * 64),
    "digest": lambda one: one.update(digest="0" * 64),
    "no digest": lambda one: one.pop("digest"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_altered_record_is_named_whoever_reads_it(folder: Path, change: str) -> None:
    sit(folder)
    path = folder / "episodes.jsonl"
    name = altered(path, 4, CHANGES[change])
    for read in (
        lambda: list(RunFolder(folder).episodes()),
        lambda: list(RunFolder(folder).episodes("final")),  # whatever is asked for: the run is one
        lambda: build_report_data(RunFolder(folder), resamples=100),
        lambda: sit(folder),
    ):
        with pytest.raises(RunFolderError, match=r"does not fit its digest: .* Restore the file from a copy") as error:
            read()
        assert (error.value.where, error.value.key) == (str(path), f"line 4, episode {name}")


def test_timing_may_be_taken_out(folder: Path) -> None:
    sit(folder)
    altered(folder / "episodes.jsonl", 4, lambda one: one.update(timing={}))
    assert len(list(RunFolder(folder).episodes())) == len(RunFolder(folder).scan().entries)


@pytest.mark.parametrize(("key", "said"), [("ids", "do not fit"), ("versions", "do not fit"), ("logprobs", "unpacked")])
def test_altered_segments_are_named(folder: Path, key: str, said: str) -> None:
    sit(folder)
    path = folder / "tokens" / "final-0000.jsonl"

    def change(line: dict[str, Any]) -> None:
        segment = line["segments"][0]
        ids = segment["ids"]
        swapped = ids[:5] + ("B" if ids[5] == "A" else "A") + ids[6:]
        other = {"ids": swapped, "versions": [[99, segment["versions"][0][1]]]}
        segment[key] = other.get(key, "<f4:AAAA")

    name = altered(path, 2, change)
    assert list(RunFolder(folder).episodes())
    with pytest.raises(RunFolderError, match=said) as error:
        list(RunFolder(folder).episodes("final", with_tokens=True))
    assert (error.value.where, error.value.key) == (str(path), name)


def test_a_record_is_sealed_as_it_will_be_read(writer: RunWriter) -> None:
    """A whole number where fractions are meant, as a policy of one's own may hand it over."""
    odd = msgspec.structs.replace(
        episode(),
        reward=1,
        sampling=SamplingSettings(temperature=1, top_p=1),
        calls=[CallRecord(0, 0, "t", "read", {"a": (1, 2.0, None), "b": {"z": 1, "y": 2**53}}, "ok", "{}")],
    ).sealed()
    writer.record(odd)
    (found,) = RunFolder(writer.path).episodes(with_tokens=True)
    assert (found.digest, found.intact, odd.intact) == (odd.digest, True, True)
    assert not msgspec.structs.replace(odd, segments=[SEGMENT, SEGMENT]).intact


def test_each_line_is_checked_once(writer: RunWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    check = runfolder._check_intact
    monkeypatch.setattr(runfolder, "_check_intact", lambda *place: (checked.append(place[1]), check(*place)))
    run = RunFolder(writer.path)
    for number in range(3):
        writer.record(episode(f"rl/0000/0000/{number:02d}"))
        assert len(list(run.episodes())) == len(list(run.episodes("rl"))) == number + 1
    assert checked == [1, 2, 3]


@pytest.mark.parametrize("name", ["tokens", "checkpoints"])
def test_a_file_in_the_place_of_a_folder_is_named(folder: Path, name: str) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).write_bytes(b"")
    for read in (lambda: RunFolder(folder), lambda: sit(folder)):
        with pytest.raises(RunFolderError, match="is a file where a folder belongs") as error:
            read()
        assert error.value.where == str(folder / name)


@pytest.mark.parametrize("name", [".lock", "tokens/base-0000.jsonl", "judge.jsonl"])
def test_a_folder_in_the_place_of_a_file_is_named(folder: Path, name: str) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()

    def write() -> None:
        if name == "judge.jsonl":
            RulingFile(folder)
        with RunWriter(folder) as opened:
            opened.record(episode("base/0000/0000/00"))

    with pytest.raises(RunFolderError, match="is a folder where a file belongs") as error:
        write()
    assert error.value.where == str(folder / name)


@pytest.mark.parametrize("below", ["run", "deep/down/run"])
def test_a_run_below_a_file_is_refused_by_name(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / "file" / below
    with pytest.raises(RunFolderError, match=f"cannot be made, since {tmp_path / 'file'} is no folder") as error:
        open_run(path, recipe(), provenance(), resume=False)
    assert error.value.where == str(path)
    with pytest.raises(RunFolderError, match="is not a run folder"):
        RunFolder(path)


def test_a_run_that_another_process_has_just_begun_is_left_to_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = durable.os_rename

    def late(aside: Path, final: Path) -> None:
        shutil.copytree(aside, final)
        rename(aside, final)

    monkeypatch.setattr(durable, "os_rename", late)
    with pytest.raises(RunFolderError, match="another process has just begun this run"):
        open_run(folder, recipe(), provenance(), resume=False)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
