"""Reading a run folder: its recipe, provenance, episodes, metrics and checkpoints.

    runs/NAME/ recipe.toml provenance.json episodes.jsonl tokens/PHASE-STEP.jsonl metrics.jsonl checkpoints/step-NNNNNN/

Both journals are append-only. An episode counts unless a later line has the same id (a retry) or a later marker
line names it (a resume discarded it). Reading takes no lock, so a run can be watched while it runs. Every record is
compared with its digest when it is read, also one that does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from journeyman.codec import digest, encode
from journeyman.episode import Episode, Failure, Usage
from journeyman.errors import RecipeError, RunFolderError
from journeyman.recipe import Recipe, load_recipe
from journeyman.task import Data
from journeyman.train.checkpoint import Checkpoints
from journeyman.train.journal import read_lines
from journeyman.train.provenance import Provenance
from journeyman.train.tokens import TokenLine, token_decoder, unpack

RECIPE, PROVENANCE, EPISODES, METRICS, TOKENS, CHECKPOINTS = (
    "recipe.toml",
    "provenance.json",
    "episodes.jsonl",
    "metrics.jsonl",
    "tokens",
    "checkpoints",
)


class Superseded(Data, frozen=True):
    """A marker line in episodes.jsonl: the lines before it that bear these ids do not count.

    `seconds` estimates the device time that went into them and is counted as spent.
    """

    superseded: list[str]
    seconds: float = 0.0


class _Head(Struct, frozen=True):
    """The little of a line of episodes.jsonl that tells which lines count."""

    id: str = ""
    attempt: int = 0
    failure: Failure = "none"
    digest: str = ""
    usage: dict[str, Usage] = {}
    superseded: list[str] | None = None
    seconds: float = 0.0


class _MetricsLine(Struct, frozen=True):
    """What readers rely on in a line of metrics.jsonl; `begins` is its `from`."""

    kind: str = ""
    stage: str = ""
    stages: list[str] = []
    begins: int = msgspec.field(default=0, name="from")
    seconds_sampling: float = 0.0
    seconds_training: float = 0.0
    teacher_tokens: int = 0
    teacher_requests: int = 0


class Entry(Struct, frozen=True):
    """Where a line of episodes.jsonl lies, and what it says of its episode."""

    offset: int
    id: str
    attempt: int
    failure: Failure
    digest: str


class Scan(Struct):
    """All lines of episodes.jsonl: those that count, by id, and what all lines together cost (`usage` by role;
    `discarded_seconds` is device time that no metrics line tells of)."""

    entries: dict[str, Entry]
    usage: dict[str, Usage]
    discarded: int
    discarded_seconds: float


_head = msgspec.json.Decoder(_Head)
_episode = msgspec.json.Decoder(Episode)


def phase_of(episode_id: str) -> str:
    """The phase of an episode id (phase/step/group/trial)."""
    return episode_id.split("/", 1)[0]


def step_of(episode_id: str) -> str:
    """The step of an episode id, as written there."""
    return episode_id.split("/", 2)[1]


class RunFolder:
    """A run folder, to read.

    Raises:
        RunFolderError: the folder or one of its files is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise RunFolderError(str(path), "", "is not a run folder. `journeyman train RECIPE` makes one.")
        for name in (RECIPE, PROVENANCE, EPISODES, METRICS):
            if not (path / name).is_file():
                raise RunFolderError(
                    str(path / name), "", "is missing: the folder is damaged. Restore it, or use another run name."
                )
        for name in (TOKENS, CHECKPOINTS):
            if (path / name).exists() and not (path / name).is_dir():
                raise RunFolderError(
                    str(path / name), "", "is a file where a folder belongs: move it away, or use another run name."
                )
        self._intact_bytes = 0
        self.checkpoints = Checkpoints(path / CHECKPOINTS)

    @property
    def recipe(self) -> Recipe:
        """The resolved recipe."""
        try:
            return load_recipe(self.path / RECIPE)
        except RecipeError as error:
            raise RunFolderError(str(self.path / RECIPE), error.key, f"damaged: {error.remedy}") from error

    @property
    def provenance(self) -> Provenance:
        """Versions, hashes, seeds and machine of the run."""
        path = self.path / PROVENANCE
        try:
            return msgspec.json.decode(path.read_bytes(), type=Provenance)
        except msgspec.DecodeError as error:
            raise RunFolderError(str(path), "", f"damaged ({error}). Restore it from a copy.") from error

    def episodes(
        self, phase: str | None = None, with_tokens: bool = False, among: Collection[str] | None = None
    ) -> Iterator[Episode]:
        """Episodes that count, in the order in which they were finished.

        Args:
            phase: only those of this phase (a stage's name; `NAME-monitor` for its monitoring evaluations).
            with_tokens: fill in `segments` from tokens/ (slower).
            among: only those with these ids.
        """
        counting = {
            entry.offset
            for entry in self.scan().entries.values()
            if (phase is None or phase_of(entry.id) == phase) and (among is None or entry.id in among)
        }
        tokens = TokenStore(self.path / TOKENS) if with_tokens else None
        path = self.path / EPISODES
        for offset, line in read_lines(path):
            if offset not in counting:
                continue
            try:
                episode = _episode.decode(line)
            except msgspec.DecodeError as error:
                raise _garbage(path, offset, error) from error
            yield tokens.fill(episode) if tokens else episode

    def scan(self) -> Scan:
        """Which lines of episodes.jsonl count, and what all of them cost."""
        path = self.path / EPISODES
        scan = Scan({}, {}, 0, 0.0)
        for number, (offset, line) in enumerate(read_lines(path), start=1):
            try:
                head = _head.decode(line)
            except msgspec.DecodeError as error:
                raise _garbage(path, offset, error) from error
            if not head.seconds >= 0:
                raise _garbage(path, offset, ValueError("negative seconds"))
            if head.superseded is not None:
                gone = [name for name in head.superseded if scan.entries.pop(name, None)]
                scan.discarded += len(gone)
                scan.discarded_seconds += head.seconds
                continue
            if head.id.count("/") != 3:
                raise _garbage(path, offset, ValueError("neither an episode nor a marker"))
            if offset >= self._intact_bytes:
                # Lines are only ever appended: each is checked once.
                _check_intact(path, number, offset, line)
                self._intact_bytes = offset + len(line) + 1
            scan.entries[head.id] = Entry(offset, head.id, head.attempt, head.failure, head.digest)
            for role, usage in head.usage.items():
                scan.usage[role] = add_usage(scan.usage.get(role, Usage()), usage)
        return scan

    def seconds(self) -> float:
        """Device time of all metrics lines, discarded ones included."""
        total = 0.0
        for _, record in self._metric_lines():
            total += record.get("seconds_sampling", 0.0) + record.get("seconds_training", 0.0)
        return total

    def taught(self) -> Usage:
        """What teachers of distillation were sent, by all metrics lines, discarded ones included."""
        total = Usage()
        for _, record in self._metric_lines():
            total = add_usage(total, taught_by(record))
        return total

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl that count, in order; docs/runs.md names their kinds and keys."""
        kept: list[tuple[int, dict[str, Any]]] = []
        for offset, record in self._metric_lines():
            if record["kind"] == "superseded":
                begins, stages = record["from"], set(record["stages"])
                kept = [(place, old) for place, old in kept if place < begins or old["stage"] not in stages]
            else:
                kept.append((offset, record))
        return [record for _, record in kept]

    def _metric_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.path / METRICS
        for offset, line in read_lines(path):
            try:
                record = msgspec.json.decode(line, type=dict[str, Any])
                msgspec.convert(record, _MetricsLine)
            except msgspec.DecodeError as error:
                raise _garbage(path, offset, error) from error
            wanted = ("stages", "from") if record.get("kind") == "superseded" else ("kind", "stage")
            if any(key not in record for key in wanted):
                raise _garbage(path, offset, ValueError("not a line of metrics"))
            yield offset, record


class TokenStore:
    """Reads the folder tokens/: the token line of an episode. A few files are held at a time, since episodes
    come nearly file by file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, TokenLine]] = {}

    def find(self, episode_id: str, digest: str) -> TokenLine | None:
        """The token line of the episode with this digest, None where it never reached the disk."""
        name = token_file(episode_id)
        if name not in self._files:
            while len(self._files) > 3:
                self._files.pop(next(iter(self._files)))
            self._files[name] = self._read(self._folder / name)
        return self._files[name].get(digest)

    def fill(self, episode: Episode) -> Episode:
        """The episode with its segments.

        Raises:
            RunFolderError: they are not there, or not those that were recorded.
        """
        path = str(self._folder / token_file(episode.id))
        line = self.find(episode.id, episode.digest)
        if line is None:
            raise RunFolderError(path, episode.id, "has no tokens: restore the file from a copy.")
        try:
            segments = unpack(line)
        except (ValueError, TypeError) as error:
            raise RunFolderError(path, episode.id, f"cannot be unpacked ({error}): {_REMEDY}") from error
        if segments and digest(segments) != episode.segments_digest:
            raise RunFolderError(path, episode.id, f"its segments do not fit its segments_digest: {_REMEDY}")
        return msgspec.structs.replace(episode, segments=segments)

    def _read(self, path: Path) -> dict[str, TokenLine]:
        if not path.is_file():
            return {}
        lines: dict[str, TokenLine] = {}
        for offset, raw in read_lines(path):
            try:
                line = token_decoder.decode(raw)
            except msgspec.DecodeError as error:
                raise _garbage(path, offset, error) from error
            lines[line.digest] = line
        return lines


def token_file(episode_id: str) -> str:
    """Name of the file in tokens/ that holds an episode's segments."""
    return f"{phase_of(episode_id)}-{step_of(episode_id)}.jsonl"


def taught_by(line: Mapping[str, Any]) -> Usage:
    """What a teacher behind an endpoint was sent, by a line of metrics. It answers with numbers, not tokens."""
    return Usage(input=line.get("teacher_tokens", 0), requests=line.get("teacher_requests", 0))


def add_usage(left: Usage, right: Usage) -> Usage:
    """Sum of two usages."""
    return Usage(
        left.input + right.input,
        left.output + right.output,
        left.requests + right.requests,
        left.estimated + right.estimated,
    )


def episode_line(episode: Episode) -> bytes:
    """An episode's line in episodes.jsonl: everything but its segments."""
    return encode(msgspec.structs.replace(episode, segments=[]))


_REMEDY = "it was altered after it was recorded. Restore the file from a copy, or run again under another name."


def _check_intact(path: Path, number: int, offset: int, line: bytes) -> None:
    try:
        episode = _episode.decode(line)
    except msgspec.DecodeError as error:
        raise _garbage(path, offset, error) from error
    if not episode.intact:
        raise RunFolderError(
            str(path), f"line {number}, episode {episode.id}", f"the record does not fit its digest: {_REMEDY}"
        )


def _garbage(path: Path, offset: int, error: Exception) -> RunFolderError:
    return RunFolderError(
        str(path),
        f"byte {offset}",
        f"this line cannot be read ({error}): the file was altered or the disk failed. Restore it from a copy.",
    )
