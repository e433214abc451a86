import errno
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from desk_run import recipe, sit
from making import episode, provenance

from journeyman.errors import RunFolderError
from journeyman.recipe import Model, parse_recipe
from journeyman.train import durable
from journeyman.train.checkpoint import Checkpoints, State
from journeyman.train.journal import Journal, read_lines
from journeyman.train.runfolder import RunFolder
from journeyman.train.runwriter import RunWriter, open_run, recipe_toml

STATE = State(global_step=1, stage=1, stage_name="sft", step=1, finished=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "desk"


@pytest.fixture
def writer(folder: Path):
    with open_run(folder, recipe(), provenance(), resume=False) as opened:
        yield opened


def save(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"w" * 100)


def test_a_recipe_survives_toml_with_every_default_written_out() -> None:
    text = recipe_toml(recipe()).decode()
    assert parse_recipe(text, "x") == recipe()
    for line in ("betas = [", "temperature = 1.0", "top_p = 1.0", 'renderer = "auto"', 'kind = "grpo"'):
        assert line in text
    assert recipe_toml(parse_recipe(text, "x")).decode() == text


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2}\n{"a"')
    assert [line for _, line in read_lines(path)] == [b'{"a":1}', b'{"a":2}']
    journal = Journal(path)
    assert (journal.offset, path.read_bytes()) == (16, b'{"a":1}\n{"a":2}\n')
    assert journal.append(b'{"a":3}') == 16
    journal.close()
    assert path.read_bytes() == b'{"a":1}\n{"a":2}\n{"a":3}\n'


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b"{}\n" + b"x" * 200_000)
    assert Journal(path).offset == 3
    path.write_bytes(b"x" * 200_000)
    assert Journal(path).offset == 0
    assert path.read_bytes() == b""


def test_episodes_come_back_without_and_with_tokens(writer: RunWriter) -> None:
    made = [episode("rl/0000/0000/00"), episode("base/0000/0000/00", segments=[]), episode("rl/0001/0000/00")]
    for one in made:
        writer.record(one)
    run = RunFolder(writer.path)
    assert list(run.episodes(with_tokens=True)) == made
    assert list(run.episodes()) == [msgspec.structs.replace(one, segments=[]) for one in made]
    assert [one.id for one in run.episodes("rl")] == ["rl/0000/0000/00", "rl/0001/0000/00"]
    assert sorted(path.name for path in (writer.path / "tokens").iterdir()) == [
        "base-0000.jsonl",
        "rl-0000.jsonl",
        "rl-0001.jsonl",
    ]
    assert b"token_ids" not in (writer.path / "episodes.jsonl").read_bytes()


def test_a_retry_replaces_the_attempt_before_it(writer: RunWriter) -> None:
    writer.record(episode(failure="infrastructure", reward=0.0))
    writer.record(episode(attempt=1, reward=0.75))
    (found,) = writer.episodes(with_tokens=True)
    assert (found.attempt, found.reward) == (1, 0.75)
    assert writer.scan().usage["policy"].output == 4  # both attempts were paid for


def test_superseded_lines_stay_but_do_not_count(writer: RunWriter) -> None:
    writer.record(episode(reward=0.25))
    writer.record(episode("rl/0000/0000/01", reward=0.25))
    writer.supersede([writer.scan().entries["rl/0000/0000/00"]])
    assert [one.id for one in writer.episodes()] == ["rl/0000/0000/01"]
    writer.record(episode(reward=0.75))
    assert {one.id: one.reward for one in writer.episodes()} == {"rl/0000/0000/00": 0.75, "rl/0000/0000/01": 0.25}
    assert writer.scan().discarded == 1
    assert writer.scan().usage["policy"].output == 6


def test_discarded_metrics_do_not_count_but_their_seconds_do(writer: RunWriter) -> None:
    writer.write_metrics({"kind": "train", "stage": "sft", "step": 1, "seconds_training": 1.0})
    from_here = writer.commit(STATE, save).metrics_offset
    writer.write_metrics({"kind": "train", "stage": "sft", "step": 2, "seconds_training": 2.0})
    writer.write_metrics({"kind": "evaluate", "stage": "after", "seconds_sampling": 4.0})
    writer.supersede([], ["sft"], from_here)
    writer.write_metrics({"kind": "train", "stage": "sft", "step": 2, "seconds_training": 8.0})
    assert [(line["stage"], line.get("seconds_training")) for line in writer.metrics()] == [
        ("sft", 1.0),
        ("after", None),
        ("sft", 8.0),
    ]
    assert writer.seconds() == 15.0


def test_one_fsync_per_64_episodes(writer: RunWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(durable, "os_fsync", synced.append)
    for number in range(63):
        writer.record(episode(f"rl/0000/0000/{number:02d}"))
    assert synced == []
    writer.record(episode("rl/0000/0000/63"))
    assert len(synced) == 2  # the file of tokens, then episodes.jsonl
    writer.sync()
    assert len(synced) == 2


def test_a_checkpoint_appears_whole_and_holds_the_offsets(writer: RunWriter) -> None:
    writer.record(episode())
    writer.write_metrics({"kind": "train", "stage": "sft", "step": 1})
    state = writer.commit(STATE, save)
    assert state.episodes_offset == (writer.path / "episodes.jsonl").stat().st_size
    assert state.metrics_offset == (writer.path / "metrics.jsonl").stat().st_size
    assert list(state.files) == ["weights.bin"]
    assert writer.latest() == state
    assert sorted(path.name for path in (writer.path / "checkpoints").iterdir()) == ["step-000001"]


def test_the_last_two_the_best_and_each_stages_last_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    for step, monitor in enumerate([None, 0.2, 0.5, 0.5, None, 0.1, None], start=1):
        state = msgspec.structs.replace(STATE, global_step=step, monitor=monitor, finished=step == 2)
        checkpoints.commit(state, save)
    assert checkpoints.best() == 3  # the earlier of two equals
    assert checkpoints.steps() == [2, 3, 6, 7]


def test_leftovers_of_an_interrupted_checkpoint_are_removed(writer: RunWriter) -> None:
    def broken(folder: Path) -> None:
        save(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        writer.commit(STATE, broken)
    assert writer.latest() is None
    path = writer.path
    writer.checkpoints.clean()
    assert list((path / "checkpoints").iterdir()) == []


def test_an_existing_run_is_not_begun_again(folder: Path) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    with pytest.raises(RunFolderError, match="--resume, or give the recipe another name"):
        open_run(folder, recipe(), provenance(), resume=False)
    open_run(folder, recipe(), provenance(), resume=True).close()


def test_two_processes_on_one_run_are_refused(writer: RunWriter) -> None:
    code = (
        "import sys; from pathlib import Path; from journeyman.train.runwriter import RunWriter\n"
        "from journeyman.errors import RunFolderError\n"
        "try: RunWriter(Path(sys.argv[1]))\n"
        "except RunFolderError as error: print(error.remedy)"
    )
    found = subprocess.run([sys.executable, "-c", code, str(writer.path)], capture_output=True, text=True, check=True)
    assert "another process is working on this run" in found.stdout
    writer.close()
    again = subprocess.run([sys.executable, "-c", code, str(writer.path)], capture_output=True, text=True, check=True)
    assert again.stdout == ""


@pytest.mark.parametrize("name", ["recipe.toml", "provenance.json", "episodes.jsonl", "metrics.jsonl"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    (folder / name).unlink()
    with pytest.raises(RunFolderError, match="is missing") as error:
        open_run(folder, recipe(), provenance(), resume=True)
    assert error.value.where == str(folder / name)


def test_an_altered_recipe_is_refused(folder: Path) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    text = (folder / "recipe.toml").read_text()
    (folder / "recipe.toml").write_text(text.replace("seed = 3", "seed = 4"))
    with pytest.raises(RunFolderError, match=r"recipe.toml.*was altered after the run began"):
        open_run(folder, recipe(), provenance(), resume=True)


def test_another_recipe_is_refused_by_its_first_different_key(folder: Path) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    other = msgspec.structs.replace(recipe(), model=Model(lora_rank=8))
    with pytest.raises(RunFolderError, match="another value") as error:
        open_run(folder, other, provenance(), resume=True)
    assert error.value.key == "model.lora_rank"
    longer = list(recipe().stage)
    longer[1] = msgspec.structs.replace(longer[1], steps=4)
    with pytest.raises(RunFolderError, match="another value") as error:
        open_run(folder, msgspec.structs.replace(recipe(), stage=longer), provenance(), resume=True)
    assert error.value.key == "stage[1].steps"


def test_budgets_and_resume_mode_may_change(folder: Path) -> None:
    open_run(folder, recipe("replay", max_cost=1.0), provenance(), resume=False).close()
    open_run(folder, recipe("reuse", max_cost=2.0, max_wall_seconds=5.0), provenance(), resume=True).close()
    with pytest.raises(RunFolderError, match="another value") as error:
        open_run(folder, recipe("reuse", retries=7), provenance(), resume=True)
    assert error.value.key == "run.retries"


def test_another_world_or_model_is_refused(folder: Path) -> None:
    open_run(folder, recipe(), provenance(), resume=False).close()
    with pytest.raises(RunFolderError, match="was v, is v2 now"):
        open_run(folder, recipe(), provenance(world_version="v2"), resume=True)
    with pytest.raises(RunFolderError, match=r"dtype.*was float32, is bfloat16 now"):
        open_run(folder, recipe(), provenance(dtype="bfloat16"), resume=True)


def test_garbage_in_the_middle_is_named_with_its_place(folder: Path) -> None:
    sit(folder)
    path = folder / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"garbage\n", *lines[3:]]))
    place = sum(map(len, lines[:3]))
    with pytest.raises(RunFolderError, match="cannot be read") as error:
        list(RunFolder(folder).episodes())
    assert (error.value.where, error.value.key) == (str(path), f"byte {place}")
    with pytest.raises(RunFolderError, match="cannot be read"):
        sit(folder)


def test_garbage_in_metrics_is_named(folder: Path) -> None:
    sit(folder)
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"nothing": 1}\n')
    with pytest.raises(RunFolderError, match=r"metrics.jsonl.*not a line of metrics"):
        sit(folder)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("metrics.jsonl", '{"kind":"train","stage":"sft","seconds_sampling":"x"}'),
        ("metrics.jsonl", '{"kind":"superseded","stages":["sft"]}'),
        ("metrics.jsonl", '{"kind":"superseded","stages":3,"from":0}'),
        ("metrics.jsonl", '{"kind":"superseded","stages":["sft"],"from":"a"}'),
        ("metrics.jsonl", '{"kind":"train","stages":["sft"]}'),
        ("metrics.jsonl", '{"kind":["a"],"stage":{}}'),
        ("metrics.jsonl", "[1]"),
        ("episodes.jsonl", '{"id":"noslash"}'),
        ("episodes.jsonl", '{"superseded":[],"seconds":-1}'),
    ],
)
def test_a_line_of_the_wrong_shape_is_named(folder: Path, writer: RunWriter, name: str, line: str) -> None:
    writer.close()
    with (folder / name).open("a") as file:
        file.write(line + "\n")
    run = RunFolder(folder)
    with pytest.raises(RunFolderError, match=rf"{name}: byte 0: this line cannot be read"):
        (run.metrics if name == "metrics.jsonl" else run.scan)()


def test_a_full_disk_is_named_by_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal = Journal(tmp_path / "j.jsonl")
    monkeypatch.setattr(durable, "os_write", full)
    with pytest.raises(OSError, match=r"j\.jsonl"):
        journal.append(b"{}")


def test_a_shortened_journal_is_refused(folder: Path) -> None:
    sit(folder)
    path = folder / "episodes.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    with pytest.raises(RunFolderError, match=r"episodes.jsonl.*bytes long, but \d+ were committed"):
        sit(folder)


@pytest.mark.parametrize("damage", ["alter", "remove", "state"])
def test_a_broken_checkpoint_is_named_and_the_one_before_it_serves(folder: Path, damage: str) -> None:
    sit(folder)
    before = RunFolder(folder).checkpoints
    newest = before.path(before.steps()[-1])
    broken = newest / ("state.json" if damage == "state" else "engine.json")
    broken.unlink() if damage == "remove" else broken.write_text("{}")
    with pytest.raises(RunFolderError, match=f"Delete {newest} to resume") as error:
        sit(folder)
    assert error.value.where == str(broken)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a run folder"):
        RunFolder(tmp_path / "nothing")
    with pytest.raises(RunFolderError, match="is missing"):
        open_run(tmp_path, recipe(), provenance(), resume=True)
