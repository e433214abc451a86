"""An append-only file of JSON lines that survives a kill: a torn last line is cut off when it is opened to write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from journeyman.errors import RunFolderError
from journeyman.train import durable

_CHUNK = 1 << 16


class Journal:
    """Appends lines to `path`, creating it where it does not exist. Each line reaches the system in one call, so that
    killing the process tears at most the last one; `sync` makes it survive a power cut.

    Raises:
        RunFolderError: there is a folder in its place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.offset = _cut_torn_line(self._descriptor)
        self._unsynced = False

    def append(self, line: bytes) -> int:
        """Append one line (without its newline) and return the offset at which it begins."""
        begins = self.offset
        try:
            durable.append(self._descriptor, line + b"\n")
        except OSError as error:
            error.filename = error.filename or str(self.path)
            raise
        self.offset += len(line) + 1
        self._unsynced = True
        return begins

    def sync(self) -> None:
        """Force what was appended to the disk."""
        if self._unsynced:
            durable.sync(self._descriptor)
            self._unsynced = False

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file of a run folder. Raises RunFolderError where there is a folder in its place."""
    try:
        return os.open(path, flags, 0o644)
    except IsADirectoryError as error:
        raise RunFolderError(
            str(path), "", "is a folder where a file belongs: move it away, or use another run name."
        ) from error


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """(offset, line without newline) of each whole line from `start` on; a torn last line is left out.

    Raises:
        RunFolderError: the file is missing.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise RunFolderError(
            str(path), "", "is missing: the run folder is damaged. Restore the file, or start under another run name."
        ) from error
    with file:
        file.seek(start)
        offset = start
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield offset, line[:-1]
            offset += len(line)


def _cut_torn_line(descriptor: int) -> int:
    """Truncate the file after its last newline and return its length."""
    size = os.fstat(descriptor).st_size
    end = size
    while end > 0:
        begin = max(0, end - _CHUNK)
        newline = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if newline >= 0:
            end = begin + newline + 1
            break
        end = begin
    if end < size:
        os.ftruncate(descriptor, end)
    return end
