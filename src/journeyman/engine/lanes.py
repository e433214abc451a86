"""Lanes: threads that compute side by side, each with its share of the processor.

Most of a small model's operations are too small to be split over cores; whole batches are not. So a CPU with two cores
decodes two half batches, or trains on two micro-batches, in the time that one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")


class Lanes:
    """`count` threads, each with 1 / count of torch's threads (at least one). What runs in which is the caller's choice,
    never a matter of time, so that results depend on the number of lanes alone.

    Args:
        threads: of all lanes together.
    """

    def __init__(self, count: int, threads: int) -> None:
        share = max(threads // count, 1)
        self._pools = [
            ThreadPoolExecutor(1, f"journeyman-lane-{lane}", initializer=torch.set_num_threads, initargs=(share,))
            for lane in range(count)
        ]

    def __len__(self) -> int:
        return len(self._pools)

    def run(self, works: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run `works[i]` in lane i, all at once, and wait for all: their results in order. As many works as lanes.

        Raises:
            Exception: of the first that failed, after all have ended.
        """
        futures = [pool.submit(work) for pool, work in zip(self._pools, works, strict=True)]
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads once they are done."""
        for pool in self._pools:
            pool.shutdown()
