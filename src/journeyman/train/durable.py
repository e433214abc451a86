"""Bytes that survive a kill: appending, syncing, renaming. Every write of a run folder passes through these few calls."""

from __future__ import annotations

import os
from pathlib import Path

# Bound here, so that a test can let any single one of them fail.
os_write = os.write
os_fsync = os.fsync
os_rename = os.rename


def append(descriptor: int, data: bytes) -> None:
    """Write all of `data` at the end of a file opened with O_APPEND."""
    view = memoryview(data)
    while view:
        view = view[os_write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Force what was written to the disk."""
    os_fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Force the names in `folder` to the disk: a rename is durable only after this."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os_fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    """Create `path` with `data`, synced. Not atomic: for files inside a folder that is published by `publish`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        append(descriptor, data)
        sync(descriptor)
    finally:
        os.close(descriptor)


def publish(aside: Path, final: Path) -> None:
    """Make the folder `aside` appear as `final`, whole or not at all."""
    for path in sorted(aside.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os_fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(aside)
    os_rename(aside, final)
    sync_folder(final.parent)
