"""Tests of the run folder make hundreds of folders: the disk is not made to wait for each. What matters is the order of calls."""

import pytest

from journeyman.train import durable


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "os_fsync", lambda _: None)
