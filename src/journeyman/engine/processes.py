"""The processes that train together, launched side by side: each holds the whole model and computes its share of every update.

Launched by `accelerate launch` or `torchrun`, which tell each process its number in the environment; accelerate joins them. No
torch until they are joined.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_PATIENCE = timedelta(days=7)
"""How long a process waits for the others: while one samples, the others have nothing to do. A process that died is noticed
at once, by its broken connection and by the launcher."""
_BLOCK = 1 << 26
"""Numbers that are summed at once, so that what that takes beside them is bounded."""


def launched(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """(number of this process, number of processes), as the launcher says; (0, 1) where there was none."""
    count = int(environment.get("WORLD_SIZE", "1"))
    return (int(environment.get("RANK", "0")), count) if count > 1 else (0, 1)


class Processes:
    """All of them, seen from one. Alone, nothing is sent.

    Attributes:
        index, count: of this process, of all.
    """

    def __init__(self, index: int = 0, count: int = 1) -> None:
        self.index, self.count = index, count
        self._words: Any = None

    @staticmethod
    def join(device: torch.device) -> Processes:
        """Meet the other processes that were launched with this one. All must call it.

        Args:
            device: of the model; numbers are summed there.
        """
        index, count = launched()
        joined = Processes(index, count)
        if count > 1:
            import torch.distributed
            from accelerate import PartialState

            PartialState(cpu=device.type == "cpu", timeout=_PATIENCE)
            # Words go over sockets of their own: a GPU that waits for its collective library would spin for hours.
            joined._words = torch.distributed.new_group(backend="gloo", timeout=_PATIENCE)
        return joined

    def place(self, device: torch.device) -> torch.device:
        """Where this one of several processes on a machine computes: each has a GPU of its own."""
        if self.count == 1 or device.type != "cuda":
            return device
        import torch

        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))

    def add_up(self, tensor: Tensor) -> None:
        """Put the sum over all processes in the place of a flat tensor."""
        if self.count > 1:
            import torch
            from torch.distributed import all_reduce

            for block in torch.split(tensor, _BLOCK):
                all_reduce(block)

    def gather(self, value: Any) -> list[Any]:
        """What each process gave, in their order."""
        if self.count == 1:
            return [value]
        from torch.distributed import all_gather_object

        values: list[Any] = [None] * self.count
        all_gather_object(values, value, group=self._words)
        return values

    def tell(self, value: Any = None) -> Any:
        """What process 0 gave, in all."""
        if self.count == 1:
            return value
        from torch.distributed import broadcast_object_list

        values = [value]
        broadcast_object_list(values, src=0, group=self._words)
        return values[0]

    def leave(self) -> None:
        """Part from the others. All must call it."""
        if self.count > 1:
            from torch.distributed import destroy_process_group

            destroy_process_group()


ALONE = Processes()
