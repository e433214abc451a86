"""The LoRA adapter: one flat float32 buffer that PEFT's parameters and the engine's fused matrices both look into.

Every linear map of a layer gets y += scale · B (A x), scale = alpha / rank. The A matrices that share an input are stacked,
so that a layer needs four small products instead of seven.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from journeyman import recipe
from journeyman.engine.weights import LINEAR_NAMES, Weights
from journeyman.errors import EngineError

WEIGHTS_FILE = "adapter_model.safetensors"


@dataclass(frozen=True)
class Site:
    """LoRA of one fused linear map of P parts: `a` is (P·rank, inputs), `b[p]` is (outputs_p, rank)."""

    a: Tensor
    b: tuple[Tensor, ...]
    scale: float


Sites = list[list[Site]]
"""By layer: qkv, output, gate_up, down."""


class Adapter:
    """Trainable parameters in the flat buffer `values`, their gradients in `gradients` (both float32).

    Args:
        weights: the model it belongs to.
        settings: rank and alpha.
        seed: of A's uniform initial values; B starts at zero, so an untouched adapter changes nothing.
    """

    def __init__(self, weights: Weights, settings: recipe.Model, seed: int) -> None:
        self.rank = settings.lora_rank
        self.scale = settings.lora_alpha / settings.lora_rank
        self._shapes = [weights.site_shapes for _ in weights.layers]
        size = sum(
            len(outputs) * self.rank * inputs + self.rank * sum(outputs)
            for sites in self._shapes
            for inputs, outputs in sites
        )
        self.values = torch.zeros(size, device=weights.device)
        self.gradients = torch.zeros_like(self.values)
        generator = torch.Generator().manual_seed(seed)
        for sites in self.views(self.values):
            for site in sites:
                bound = 1 / math.sqrt(site.a.shape[1])
                start = torch.rand(site.a.shape, generator=generator) * (2 * bound) - bound
                site.a.copy_(start)

    def views(self, flat: Tensor) -> Sites:
        """The sites' matrices as views into `flat` (of the size and order of `values`)."""
        at = 0

        def take(rows: int, columns: int) -> Tensor:
            nonlocal at
            at += rows * columns
            return flat[at - rows * columns : at].view(rows, columns)

        layers: Sites = []
        for sites in self._shapes:
            layer = []
            for inputs, outputs in sites:
                a = take(len(outputs) * self.rank, inputs)
                layer.append(Site(a, tuple(take(count, self.rank) for count in outputs), self.scale))
            layers.append(layer)
        return layers

    def trainable(self, gradients: Tensor) -> Sites:
        """The sites as leaves whose gradients accumulate into `gradients` (laid out as `values`)."""
        layers = self.views(self.values)
        for values, slots in zip(layers, self.views(gradients), strict=True):
            for site, grad in zip(values, slots, strict=True):
                for leaf, slot in zip((site.a, *site.b), (grad.a, *grad.b), strict=True):
                    leaf.requires_grad_(True)
                    leaf.grad = slot
        return layers

    def norm(self) -> float:
        """Frobenius norm of all that the adapter adds to the model's matrices, √Σ‖scale · B A‖². No B A is made:
        ‖B A‖² = tr(BᵀB · AAᵀ), of rank × rank matrices."""
        total = 0.0
        with torch.no_grad():
            for sites in self.views(self.values):
                for site in sites:
                    for part, b in enumerate(site.b):
                        a = site.a[part * self.rank : (part + 1) * self.rank]
                        total += site.scale**2 * float(((b.t() @ b) * (a @ a.t())).double().sum())
        return math.sqrt(max(total, 0.0))

    def is_zero(self) -> bool:
        """Whether every B is zero, so that the adapter changes nothing."""
        return all(not b.any() for sites in self.views(self.values) for site in sites for b in site.b)


def cast(sites: Sites, dtype: torch.dtype) -> Sites:
    """The sites in the dtype of the computation; gradients flow back through the cast."""
    return [[Site(s.a.to(dtype), tuple(b.to(dtype) for b in s.b), s.scale) for s in layer] for layer in sites]


def wrap_with_peft(model: Any, adapter: Adapter, settings: recipe.Model) -> Any:
    """A PEFT model around `model` whose LoRA parameters are the adapter's buffer: what one changes, the other sees."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        target_modules=list(LINEAR_NAMES),
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
        base_model_name_or_path=settings.name,
    )
    model.name_or_path = settings.name
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PEFT asks transformers in a way that is about to change
        wrapped = get_peft_model(model, config, low_cpu_mem_usage=True)
    for index, sites in enumerate(adapter.views(adapter.values)):
        block = wrapped.base_model.model.model.layers[index]
        attention, mlp = block.self_attn, block.mlp
        groups = (
            (attention.q_proj, attention.k_proj, attention.v_proj),
            (attention.o_proj,),
            (mlp.gate_proj, mlp.up_proj),
            (mlp.down_proj,),
        )
        for site, modules in zip(sites, groups, strict=True):
            for part, module in enumerate(modules):
                rows = site.a[part * adapter.rank : (part + 1) * adapter.rank]
                module.lora_A["default"].weight = nn.Parameter(rows, requires_grad=False)
                module.lora_B["default"].weight = nn.Parameter(site.b[part], requires_grad=False)
    return wrapped


def save_peft(wrapped: Any, folder: Path) -> None:
    """Write `adapter_model.safetensors` and `adapter_config.json` as PEFT names them."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    state = get_peft_model_state_dict(wrapped, save_embedding_layers=False)
    save_file(
        {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.items()}, folder / WEIGHTS_FILE
    )
    config = wrapped.peft_config["default"]
    inference, config.inference_mode = config.inference_mode, True
    config.save_pretrained(str(folder))
    config.inference_mode = inference


def read_peft(wrapped: Any, folder: Path, values: Tensor) -> None:
    """Fill `values`, a flat buffer laid out as the adapter's, from `adapter_model.safetensors`.

    Raises:
        EngineError: the file is missing, or its parameters are not those of this model and rank.
    """
    from peft import get_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / WEIGHTS_FILE
    try:
        loaded = load_file(path)
    except (OSError, SafetensorError) as error:
        raise EngineError(str(path), "", f"cannot be read ({error}). Give a folder written by `save`.") from error
    state = get_peft_model_state_dict(wrapped, save_embedding_layers=False)
    if {name: tensor.shape for name, tensor in loaded.items()} != {name: t.shape for name, t in state.items()}:
        raise EngineError(
            str(path), "", "its parameters are not those of this model and LoRA rank. Use the same recipe."
        )
    for name, tensor in loaded.items():
        # PEFT's parameters are views into the adapter's buffer: the same places of `values` are meant.
        own = state[name]
        values.as_strided(own.shape, own.stride(), own.storage_offset()).copy_(tensor)
