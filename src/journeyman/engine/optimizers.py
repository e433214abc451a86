"""torch's optimizers over what is trained, and their state for a checkpoint.

`adamw` (1711.05101) keeps two numbers for each parameter. `adafactor` (1804.04235, torch's) keeps a row and a column of second
moments for each matrix and no first moments: the choice where AdamW's moments do not fit beside the weights.
"""

from __future__ import annotations

import torch
from torch import Tensor

from journeyman.engine.base import LossSettings, OptimizerKind
from journeyman.engine.parameters import Parameters
from journeyman.errors import EngineError


class Stepper:
    """One optimizer over the pieces of `parameters`."""

    def __init__(self, kind: OptimizerKind, parameters: Parameters) -> None:
        self.kind = kind
        self._leaves: dict[str, torch.nn.Parameter] = {}
        for name, values, gradients in parameters.pieces(matrices=kind == "adafactor"):
            leaf = torch.nn.Parameter(values)
            leaf.grad = gradients
            self._leaves[name] = leaf
        leaves = list(self._leaves.values())
        self._optimizer: torch.optim.Optimizer = (
            torch.optim.AdamW(leaves) if kind == "adamw" else torch.optim.Adafactor(leaves)
        )

    @property
    def steps(self) -> int:
        """Steps since the state was empty."""
        states = list(self._optimizer.state.values())
        return int(states[0]["step"]) if states else 0

    def step(self, loss: LossSettings) -> None:
        """Change the parameters by their gradients, with the rate and decay of `loss`."""
        group = self._optimizer.param_groups[0]
        group["lr"], group["weight_decay"] = loss.learning_rate, loss.weight_decay
        if self.kind == "adamw":
            group["betas"] = loss.betas
        self._optimizer.step()

    def clear(self) -> None:
        """Forget the moments."""
        self._optimizer.state.clear()

    def state(self) -> dict[str, Tensor]:
        """The moments, on the CPU, by `PIECE.MOMENT` (a piece without a name: `MOMENT`)."""
        return {
            _joined(name, moment): tensor.cpu()
            for name, leaf in self._leaves.items()
            for moment, tensor in self._optimizer.state.get(leaf, {}).items()
            if moment != "step"
        }

    def restore(self, steps: int, moments: dict[str, Tensor], where: str) -> None:
        """Take up what `state` gave after so many steps.

        Raises:
            EngineError: the moments are those of other parameters.
        """
        self.clear()
        left = dict(moments)
        for name, leaf in self._leaves.items():
            own = {key.rpartition(".")[2]: key for key in moments if key.rpartition(".")[0] == name}
            if own:
                state = {moment: left.pop(key).to(leaf.device) for moment, key in own.items()}
                self._optimizer.state[leaf] = {"step": torch.tensor(float(steps)), **state}
        if left or (moments and len(self._optimizer.state) != len(self._leaves)):
            self.clear()
            raise EngineError(where, "", "holds an optimizer of other parameters. Use the recipe it came from.")


def _joined(name: str, moment: str) -> str:
    return f"{name}.{moment}" if name else moment
