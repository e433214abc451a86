"""Checkpoints: written aside and renamed, which is the only commit point of training."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from journeyman.codec import encode
from journeyman.errors import RunFolderError
from journeyman.task import Data
from journeyman.train import durable

STATE_FILE = "state.json"
_ASIDE = ".aside-"


class State(Data, frozen=True):
    """All of a run but its weights, at a commit.

    Args:
        global_step: training steps done in the whole run; numbers the checkpoint.
        stage: index into the recipe's stages; `step` of its steps are done, all of them when `finished`.
        position: draws made from the stage's task permutation.
        updates: optimizer steps done in the stage (warm-up counts them).
        episodes_offset, metrics_offset: lengths in bytes of the two files at the commit.
        counters: exact counts over all committed training steps; equal runs have equal counters.
        monitor: pass rate of the weights on the stage's monitoring tasks, if they were evaluated.
        chosen: the step of the stage whose weights these are, where the stage's end was chosen among several.
        reference: the checkpoint is kept for good: later stages may begin from it.
        files: SHA-256 of each of the checkpoint's other files.
    """

    global_step: int
    stage: int
    stage_name: str
    step: int
    finished: bool
    position: int = 0
    updates: int = 0
    episodes_offset: int = 0
    metrics_offset: int = 0
    counters: dict[str, int] = {}
    monitor: float | None = None
    chosen: int | None = None
    reference: bool = False
    files: dict[str, str] = {}


class Checkpoints:
    """The folder `checkpoints/` of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, global_step: int) -> Path:
        """Where the checkpoint of a step lies."""
        return self.folder / f"step-{global_step:06d}"

    def steps(self) -> list[int]:
        """Global steps that have a checkpoint, ascending."""
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name[5:]) for path in self.folder.glob("step-*") if path.name[5:].isdigit())

    def state(self, global_step: int) -> State:
        """Read a checkpoint's state without its weights.

        Raises:
            RunFolderError: the file is missing or unreadable.
        """
        path = self.path(global_step) / STATE_FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=State)
        except (OSError, msgspec.DecodeError) as error:
            raise RunFolderError(str(path), "", f"broken checkpoint ({error}). {self._remedy(global_step)}") from error

    def verified(self, global_step: int) -> State:
        """The state, after every file of the checkpoint was found unaltered.

        Raises:
            RunFolderError: a file is missing or its content changed since it was written.
        """
        state = self.state(global_step)
        for name, expected in state.files.items():
            path = self.path(global_step) / name
            if not path.is_file():
                raise RunFolderError(str(path), "", f"is missing. {self._remedy(global_step)}")
            if _sha256(path) != expected:
                raise RunFolderError(str(path), "", f"changed since it was written. {self._remedy(global_step)}")
        return state

    def commit(self, state: State, save: Callable[[Path], None]) -> State:
        """Write a checkpoint: `save` fills the folder, `state` is added with the hashes of the files, the rename commits."""
        self.folder.mkdir(exist_ok=True)
        aside = self.folder / f"{_ASIDE}{state.global_step:06d}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        save(aside)
        files = {str(path.relative_to(aside)): _sha256(path) for path in sorted(aside.rglob("*")) if path.is_file()}
        state = msgspec.structs.replace(state, files=files)
        durable.write_file(aside / STATE_FILE, encode(state))
        durable.publish(aside, self.path(state.global_step))
        self._prune()
        return state

    def clean(self) -> None:
        """Remove what an interrupted commit left: a folder half written, or checkpoints that need not be kept."""
        for path in self.folder.glob(f"{_ASIDE}*"):
            shutil.rmtree(path)
        self._prune()

    def best(self, stage: int | None = None) -> int | None:
        """The step with the best monitoring pass rate of a stage (the earliest of equals); None where it monitored nothing.

        Args:
            stage: index into the recipe's stages; None: that of the newest checkpoint.
        """
        states = [self.state(step) for step in self.steps()]
        wanted = states[-1].stage if stage is None and states else stage
        rated = [(one.monitor, -one.global_step) for one in states if one.stage == wanted and one.monitor is not None]
        return -max(rated)[1] if rated else None

    def end_of(self, stage_name: str) -> Path:
        """The checkpoint that a finished training stage ended with.

        Raises:
            RunFolderError: there is none.
        """
        for step in reversed(self.steps()):
            state = self.state(step)
            if state.stage_name == stage_name and state.finished:
                return self.path(step)
        raise RunFolderError(str(self.folder), stage_name, "holds no checkpoint of that stage's end: run it again.")

    def named(self, name: str) -> Path:
        """The checkpoint that later stages of a recipe call `STAGE` (its end) or `STAGE@STEP` (a reference it kept).

        Raises:
            RunFolderError: there is none.
        """
        stage_name, at, wanted = name.partition("@")
        if not at:
            return self.end_of(stage_name)
        for step in self.steps():
            state = self.state(step)
            if state.reference and (state.stage_name, str(state.step)) == (stage_name, wanted):
                return self.path(step)
        raise RunFolderError(
            str(self.folder), name, "is not there: the stage ended before that step. Name an earlier one, or its end."
        )

    def _prune(self) -> None:
        ended = {step for step in self.steps() if (state := self.state(step)).finished or state.reference}
        keep = {*self.steps()[-2:], self.best(), *ended}
        for step in self.steps():
            if step not in keep:
                # Renamed first: a half-deleted checkpoint must not look like one.
                doomed = self.folder / f"{_ASIDE}{step:06d}"
                durable.os_rename(self.path(step), doomed)
                shutil.rmtree(doomed)

    def _remedy(self, global_step: int) -> str:
        return f"Delete {self.path(global_step)} to resume from the checkpoint before it."


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
