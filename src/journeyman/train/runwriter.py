"""Writing a run folder: one process at a time records episodes and metrics, and commits checkpoints."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from msgspec import Struct

from journeyman.codec import encode
from journeyman.episode import Episode
from journeyman.errors import RunFolderError
from journeyman.recipe import Recipe, RunSettings
from journeyman.train import durable
from journeyman.train.checkpoint import State
from journeyman.train.journal import Journal, open_file
from journeyman.train.provenance import Provenance
from journeyman.train.runfolder import (
    EPISODES,
    METRICS,
    PROVENANCE,
    RECIPE,
    TOKENS,
    Entry,
    RunFolder,
    Superseded,
    TokenStore,
    episode_line,
    token_file,
)
from journeyman.train.tokens import pack

SYNC_EVERY = 64
"""Episodes between two fsyncs, at most."""

_LOCK = ".lock"
_FREE_SETTINGS = ("resume", "max_wall_seconds", "max_cost")
"""Keys of `[run]` that may change between two sittings of a run: they do not change its numbers."""


def recipe_toml(recipe: Recipe) -> bytes:
    """The recipe with every default written out; `parse_recipe` gives back an equal recipe."""
    return tomli_w.dumps(_plain(recipe)).encode()


def _plain(value: Any) -> Any:
    """Structs as dicts with all their fields, in TOML's types; keys that are None are left out."""
    if isinstance(value, Struct):
        config = type(value).__struct_config__
        tag = {config.tag_field: config.tag} if config.tag_field else {}
        fields = {name: _plain(item) for name, item in msgspec.structs.asdict(value).items() if item is not None}
        return tag | fields
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


class RunWriter(RunFolder):
    """A run folder held by this process, which alone may write to it.

    Use `open_run`. Close it (or leave its `with` block) to let others in; a killed process lets go by itself.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = _lock(path)
        self.lost_seconds = self._unaccounted_seconds()
        os.utime(path / _LOCK)
        (path / TOKENS).mkdir(exist_ok=True)
        self._episodes = Journal(path / EPISODES)
        self._metrics = Journal(path / METRICS)
        self._tokens: dict[str, Journal] = {}
        self._pending = 0

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and release the lock. Idempotent."""
        for journal in (*self._tokens.values(), self._episodes, self._metrics):
            journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def record(self, episode: Episode) -> None:
        """Append a finished episode: its tokens first, so that an episode on record always has them."""
        name = token_file(episode.id)
        if name not in self._tokens:
            self._tokens[name] = Journal(self.path / TOKENS / name)
        self._tokens[name].append(encode(pack(episode)))
        self._episodes.append(episode_line(episode))
        self._pending += 1
        if self._pending >= SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        """Force everything recorded to the disk."""
        for journal in self._tokens.values():
            journal.sync()
        self._episodes.sync()
        self._metrics.sync()
        self._pending = 0

    def end_phase(self) -> None:
        """Sync, and close the token files of the steps that are over."""
        self.sync()
        for journal in self._tokens.values():
            journal.close()
        self._tokens.clear()

    def write_metrics(self, line: dict[str, Any]) -> None:
        """Append one line of metrics. It must hold `kind` and `stage`."""
        self._metrics.append(encode(line))

    def commit(self, state: State, save: Callable[[Path], None]) -> State:
        """Make everything so far final: sync both files and write a checkpoint that holds their lengths."""
        self.end_phase()
        state = msgspec.structs.replace(
            state, episodes_offset=self._episodes.offset, metrics_offset=self._metrics.offset
        )
        return self.checkpoints.commit(state, save)

    def latest(self) -> State | None:
        """The state of the newest checkpoint, verified; None where training has not committed anything yet.

        Raises:
            RunFolderError: the checkpoint is broken, or a journal is shorter than it was at the commit.
        """
        steps = self.checkpoints.steps()
        if not steps:
            return None
        state = self.checkpoints.verified(steps[-1])
        for journal, expected in ((self._episodes, state.episodes_offset), (self._metrics, state.metrics_offset)):
            if journal.offset < expected:
                raise RunFolderError(
                    str(journal.path),
                    "",
                    f"is {journal.offset} bytes long, but {expected} were committed: restore the file from a copy.",
                )
        return state

    def supersede(self, entries: Sequence[Entry], metric_stages: Sequence[str] = (), metrics_from: int = 0) -> None:
        """Mark what an interrupted sitting left unfinished as discarded. The lines stay, and what they cost counts.

        Args:
            entries: episodes that are discarded.
            metric_stages, metrics_from: stages whose metrics lines from this offset on are discarded.
        """
        if entries or self.lost_seconds:
            self._episodes.append(encode(Superseded([entry.id for entry in entries], self.lost_seconds)))
            self.lost_seconds = 0.0
        if metric_stages and metrics_from < self._metrics.offset:
            self._metrics.append(encode({"kind": "superseded", "from": metrics_from, "stages": list(metric_stages)}))
        self.sync()

    def reusable(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those of `entries` whose token streams are on disk (a power cut may keep the one file and lose the other)."""
        store = TokenStore(self.path / TOKENS)
        return [entry for entry in entries if store.find(entry.id, entry.digest)]

    def _unaccounted_seconds(self) -> float:
        """Device time of the sitting before this one that no metrics line tells of: from its last metrics line or
        checkpoint (or its beginning, when the lock was touched) to its last episode."""
        steps = self.checkpoints.steps()
        marks = [self.path / METRICS, self.path / _LOCK, *(self.checkpoints.path(step) for step in steps[-1:])]
        since = max(path.stat().st_mtime for path in marks)
        return max(0.0, (self.path / EPISODES).stat().st_mtime - since)


def open_run(path: Path, recipe: Recipe, provenance: Provenance, resume: bool) -> RunWriter:
    """Create a run folder, or take up an existing one, every record of which is found to be as it was written.

    Args:
        path: the folder; its parent is created where it does not exist.
        recipe: the resolved recipe.
        provenance: that of this process; `recipe_hash` is filled in here.
        resume: continue where there is something to continue; False refuses an existing folder.

    Raises:
        RunFolderError: the folder exists (and `resume` is False), belongs to another recipe, world or model, is
            damaged, is held by another process, or cannot be where it is wanted.
    """
    if not path.exists():
        _create(path, recipe, provenance)
    elif not resume:
        refuse_existing(path)
    writer = RunWriter(path)
    try:
        _check_same(writer, recipe, provenance)
        writer.scan()
        writer.checkpoints.clean()
    except RunFolderError:
        writer.close()
        raise
    return writer


def refuse_existing(path: Path) -> None:
    """Raises RunFolderError where there is something at `path`."""
    if path.exists():
        raise RunFolderError(
            str(path), "", "this run exists already: continue it with --resume, or give the recipe another name."
        )


def _create(path: Path, recipe: Recipe, provenance: Provenance) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        blocking = next(one for one in path.parents if os.path.lexists(one))
        raise RunFolderError(
            str(path), "", f"cannot be made, since {blocking} is no folder: choose another place."
        ) from error
    aside = path.with_name(f".{path.name}.aside-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    text = recipe_toml(recipe)
    sealed = msgspec.structs.replace(provenance, recipe_hash=_hash(text))
    durable.write_file(aside / RECIPE, text)
    durable.write_file(aside / PROVENANCE, msgspec.json.format(encode(sealed), indent=2) + b"\n")
    durable.write_file(aside / EPISODES, b"")
    durable.write_file(aside / METRICS, b"")
    try:
        durable.publish(aside, path)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        # It was not there a moment ago.
        raise RunFolderError(str(path), "", "another process has just begun this run: wait until it ends.") from error


def _check_same(folder: RunFolder, recipe: Recipe, provenance: Provenance) -> None:
    """The folder is unaltered and this process would continue the same run."""
    stored = folder.provenance
    path = folder.path / RECIPE
    if _hash(path.read_bytes()) != stored.recipe_hash:
        raise RunFolderError(str(path), "", "was altered after the run began: restore it, or start under another name.")
    if _fixed(folder.recipe) != _fixed(recipe):
        raise RunFolderError(
            str(path),
            _first_difference(_fixed(folder.recipe), _fixed(recipe)),
            "the run was begun with another value: resume with the recipe it was begun with, or rename the new one.",
        )
    for key in ("world_version", "actors", "dtype", "device"):
        was, now = getattr(stored, key), getattr(provenance, key)
        if was != now:
            raise RunFolderError(
                str(folder.path / PROVENANCE), key, f"was {was}, is {now} now: restore it, or start under another name."
            )


def _fixed(recipe: Recipe) -> dict[str, Any]:
    """The recipe without the settings that may change between sittings."""
    free = {key: getattr(RunSettings(), key) for key in _FREE_SETTINGS}
    plain = _plain(msgspec.structs.replace(recipe, run=msgspec.structs.replace(recipe.run, **free)))
    assert isinstance(plain, dict)
    return plain


def _first_difference(was: Any, now: Any, at: str = "") -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            if was.get(key) != now.get(key):
                return _first_difference(was.get(key), now.get(key), f"{at}.{key}" if at else key)
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (old, new) in enumerate(zip(was, now, strict=True)):
            if old != new:
                return _first_difference(old, new, f"{at}[{index}]")
    return at


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _lock(path: Path) -> int:
    descriptor = open_file(path / _LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RunFolderError(
            str(path), "", "another process is working on this run: wait until it ends, or stop it."
        ) from error
    return descriptor
