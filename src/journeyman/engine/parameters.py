"""What is trained, behind one interface: an adapter beside frozen weights, or all weights.

Either way the optimizer changes one flat float32 buffer, `values`, and a backward pass fills another, `gradients`, of the same
layout. Where the model computes in bfloat16, `values` are the master copy: an update too small for bfloat16 is not lost.
The sampler never reads `values`: what it computes with was copied at the last publication.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from journeyman import recipe
from journeyman.engine.adapter import Adapter, Sites, cast, read_peft, save_peft, wrap_with_peft
from journeyman.engine.fused import SampledModel, fuse
from journeyman.engine.gradients import AdaptedModel
from journeyman.engine.training import MakeModel, TrainerModel
from journeyman.engine.weights import Weights, extract
from journeyman.engine.whole import WholeWeights


class Parameters(Protocol):
    """What an update changes.

    Attributes:
        weights: the model's weights as the trainer computes with them.
        values, gradients: flat float32 buffers of one layout, (parameters,).
        model: the Hugging Face model over the same storage.
        rank, scale: of the adapter; 0 where there is none.
    """

    weights: Weights
    values: Tensor
    gradients: Tensor
    model: Any
    rank: int
    scale: float

    def pieces(self, matrices: bool) -> list[tuple[str, Tensor, Tensor]]:
        """What an optimizer steps on: (name, values, gradients), views of the buffers.

        Args:
            matrices: each weight in its own shape. Otherwise pieces may be as large and as flat as they come.
        """
        ...

    def trained(self, gradients: Tensor) -> MakeModel:
        """Makes the model under the current values whose backward pass adds to `gradients`."""
        ...

    def frozen(self, values: Tensor | None = None) -> TrainerModel:
        """The model under `values` (a copy made earlier), or under the current ones, for passes without gradients."""
        ...

    def stepped(self) -> None:
        """To be called when `values` have changed: the weights follow."""
        ...

    def sampled(self) -> SampledModel:
        """The model under the current values for the sampler, a copy that later steps do not touch."""
        ...

    def initial(self) -> Tensor:
        """The values that training began with, made again: under them the model is the untouched one."""
        ...

    def save(self, folder: Path) -> None:
        """Write `values` into an existing folder, in a format that others read."""
        ...

    def read(self, folder: Path) -> Tensor:
        """The values that `save` wrote, on the device, as a buffer of their own.

        Raises:
            EngineError: the file is missing, torn, or of another model.
        """
        ...


class LoraParameters:
    """`Parameters` of a LoRA adapter on all linear layers. Saved in PEFT's format."""

    def __init__(self, model: torch.nn.Module, settings: recipe.Model, seed: int) -> None:
        self.weights = extract(model, settings.name)
        self.adapter = Adapter(self.weights, settings, seed)
        self.values, self.gradients = self.adapter.values, self.adapter.gradients
        self.rank, self.scale = self.adapter.rank, self.adapter.scale
        self.model = wrap_with_peft(model, self.adapter, settings)
        self._settings, self._seed = settings, seed

    def pieces(self, matrices: bool) -> list[tuple[str, Tensor, Tensor]]:
        """See `Parameters.pieces`."""
        if not matrices:
            return [("", self.values, self.gradients)]
        found = []
        grads = self.adapter.views(self.gradients)
        for index, (sites, slots) in enumerate(zip(self.adapter.views(self.values), grads, strict=True)):
            for name, site, slot in zip(("qkv", "output", "gate_up", "down"), sites, slots, strict=True):
                for part, (b, b_slot) in enumerate(zip(site.b, slot.b, strict=True)):
                    rows = slice(part * self.rank, (part + 1) * self.rank)
                    found.append((f"{index}.{name}.{part}.a", site.a[rows], slot.a[rows]))
                    found.append((f"{index}.{name}.{part}.b", b, b_slot))
        return found

    def trained(self, gradients: Tensor) -> MakeModel:
        """See `Parameters.trained`."""
        return partial(self._adapted, self.adapter.trainable(gradients))

    def frozen(self, values: Tensor | None = None) -> TrainerModel:
        """See `Parameters.frozen`."""
        with torch.no_grad():
            return self._adapted(self.adapter.views(self.values.detach() if values is None else values))

    def _adapted(self, sites: Sites) -> AdaptedModel:
        dtype, recompute = self.weights.dtype, self._settings.activation_checkpointing
        return AdaptedModel(self.weights, sites if dtype == torch.float32 else cast(sites, dtype), recompute)

    def stepped(self) -> None:
        """See `Parameters.stepped`. The adapter is read where it lies."""

    def sampled(self) -> SampledModel:
        """See `Parameters.sampled`."""
        sites = None if self.adapter.is_zero() else self.adapter.views(self.values.detach())
        return fuse(self.weights, sites)

    def initial(self) -> Tensor:
        """See `Parameters.initial`. Every B is 0."""
        return Adapter(self.weights, self._settings, self._seed).values

    def save(self, folder: Path) -> None:
        """See `Parameters.save`: `adapter_model.safetensors` and `adapter_config.json`."""
        save_peft(self.model, folder)

    def read(self, folder: Path) -> Tensor:
        """See `Parameters.read`."""
        values = torch.empty_like(self.values)
        read_peft(self.model, folder, values)
        return values


def make_parameters(model: torch.nn.Module, settings: recipe.Model, seed: int) -> Parameters:
    """What `settings.train` trains. `seed`: of a fresh adapter."""
    if settings.train == "full":
        return WholeWeights(model, settings)
    return LoraParameters(model, settings, seed)
