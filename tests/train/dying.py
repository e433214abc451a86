"""A process that dies at a durable call of its choice: how a kill at any instant of a sitting is tried."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

from journeyman.train import durable

CALLS = ("os_write", "os_fsync", "os_rename")


def dying(sitting: Callable[[], object], at: int) -> int:
    """Do `sitting` in a process that dies at its `at`-th durable call; a write gets half of its bytes out first.

    Returns the exit code: 137 where it died, 0 where it had finished before, 3 where it failed.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    counter = itertools.count(1)

    def hooked(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if next(counter) == at:
                if real is os.write:
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os._exit(137)
            return real(*arguments)

        return call

    try:
        for name in CALLS:
            setattr(durable, name, hooked(getattr(durable, name)))
        sitting()
        os._exit(0)
    except BaseException:
        os._exit(3)
