"""`judge.jsonl`: what judges decided, by content. Append-only; a kill tears at most the last line."""

from __future__ import annotations

import fcntl
from pathlib import Path

import msgspec

from journeyman.codec import encode
from journeyman.errors import RunFolderError
from journeyman.grading.judge import KeptRuling, Ruling
from journeyman.train.journal import Journal, read_lines

RULINGS = "judge.jsonl"

_kept = msgspec.json.Decoder(KeptRuling)


class RulingFile:
    """A `RulingStore` in a run folder, held by this process until it is closed.

    Raises:
        RunFolderError: another process holds it, or a line cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / RULINGS
        self._journal = Journal(path)
        self._held = path.open("rb")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._known = {kept.key: kept.ruling for kept in _read(path)}
        except BlockingIOError as error:
            self.close()
            raise RunFolderError(str(path), "", "another process is judging with it: wait until it ends.") from error
        except RunFolderError:
            self.close()
            raise

    def get(self, key: str) -> Ruling | None:
        """See `RulingStore`."""
        return self._known.get(key)

    def put(self, kept: KeptRuling) -> None:
        """See `RulingStore`. Of two rulings on the same content the first stands."""
        if kept.key not in self._known:
            self._known[kept.key] = kept.ruling
            self._journal.append(encode(kept))

    def close(self) -> None:
        """Force all to the disk and let go. Idempotent."""
        if not self._held.closed:
            self._journal.sync()
            self._journal.close()
            self._held.close()


def _read(path: Path) -> list[KeptRuling]:
    found = []
    for offset, line in read_lines(path):
        try:
            found.append(_kept.decode(line))
        except msgspec.DecodeError as error:
            raise RunFolderError(
                str(path),
                f"byte {offset}",
                f"this line cannot be read ({error}): delete the file to judge anew, or restore it.",
            ) from error
    return found
