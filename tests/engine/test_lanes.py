from __future__ import annotations

import threading
import time

import pytest
import torch

from journeyman.engine.lanes import Lanes


def test_each_work_runs_in_its_own_thread_with_its_share_of_threads() -> None:
    lanes = Lanes(2, threads=4)
    try:
        meet = threading.Barrier(2, timeout=20)

        def work() -> tuple[str, int]:
            meet.wait()
            return threading.current_thread().name, torch.get_num_threads()

        first = lanes.run([work, work])
        assert first == lanes.run([work, work])
        assert len({name for name, _ in first}) == 2
        assert [count for _, count in first] == [2, 2]
    finally:
        lanes.close()


def test_an_error_is_raised_when_all_have_ended() -> None:
    lanes = Lanes(3, threads=1)
    ended: list[int] = []

    def slow() -> None:
        time.sleep(0.05)
        ended.append(1)

    def fails(message: str) -> None:
        raise ValueError(message)

    try:
        with pytest.raises(ValueError, match="first"):
            lanes.run([lambda: fails("first"), slow, lambda: fails("second")])
        assert ended == [1]
        assert lanes.run([lambda: 1, lambda: 2, lambda: 3]) == [1, 2, 3]
    finally:
        lanes.close()
