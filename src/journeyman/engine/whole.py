"""All weights of a model as trained parameters: laid out in one flat float32 buffer, saved in Hugging Face's format.

Where the model computes in float32, its weights are views of that buffer; in bfloat16 they are a rounded copy, made anew after
every step.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from journeyman import recipe
from journeyman.engine.fused import SampledModel
from journeyman.engine.tokenizer import load_tokenizer
from journeyman.engine.training import MakeModel, TrainerModel
from journeyman.engine.weight_gradients import Slots, Trained, WholeModel
from journeyman.engine.weights import Frozen, Layer, Product, Weights, extract, load_model
from journeyman.errors import EngineError

WEIGHTS_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"
_SHARD_BYTES = 5 << 30
"""Of one file: a larger model is written as several."""


class WholeWeights:
    """`Parameters` that are all weights of the model."""

    rank, scale = 0, 0.0

    def __init__(self, model: Any, settings: recipe.Model) -> None:
        self.model = model
        self._settings = settings
        self._numbers = extract(model, settings.name, packed=False)
        parameters = dict(model.named_parameters())
        self._groups = groups(parameters, self._numbers, settings.name)
        self._shapes = {name: tuple(parameters[name].shape) for names in self._groups.values() for name in names}
        self.values = torch.empty(sum(map(math.prod, self._shapes.values())), device=self._numbers.device)
        self._fill(self.values, parameters)
        self.gradients = torch.zeros_like(self.values)
        plain = self._numbers.dtype == torch.float32
        self._computed = self.values if plain else self.values.to(self._numbers.dtype)
        for name, view in self._parts(self._computed).items():
            parameters[name].data = view
        self.weights = self._weights(self._computed, {})
        # Numbers are still read from them, but the weights that they hold are another copy of the model's.
        self._numbers = self.weights

    def pieces(self, matrices: bool) -> list[tuple[str, Tensor, Tensor]]:
        """See `Parameters.pieces`: by Hugging Face's names, so that what a step needs beside them is as large as one weight."""
        values, grads = self._parts(self.values), self._parts(self.gradients)
        return [(name, values[name], grads[name]) for name in self._shapes]

    def trained(self, gradients: Tensor) -> MakeModel:
        """See `Parameters.trained`."""
        slots = self._fused(gradients)
        model = WholeModel(self._weights(self._computed, slots), slots, self._settings.activation_checkpointing)
        return lambda: model

    def frozen(self, values: Tensor | None = None) -> TrainerModel:
        """See `Parameters.frozen`."""
        if values is None:
            return WholeModel(self.weights, {})
        return WholeModel(self._weights(values.to(self.weights.dtype), {}), {})

    def stepped(self) -> None:
        """See `Parameters.stepped`."""
        if self._computed is not self.values:
            self._computed.copy_(self.values)

    def sampled(self) -> SampledModel:
        """See `Parameters.sampled`. Layers are copied one by one, so that a copy that is packed anew soon goes."""
        weights = self.weights
        embedding = weights.embedding.clone()
        tied = weights.head.weight.data_ptr() == weights.embedding.data_ptr()
        head = Product(embedding if tied else weights.head.weight.clone())
        layers: Iterator[Layer] = map(_copied, weights.layers)
        return SampledModel(layers, embedding, weights.final_norm.clone(), head, weights.epsilon)

    def initial(self) -> Tensor:
        """See `Parameters.initial`. The model is read again: keeping it would take as much memory as training it."""
        model = load_model(self._settings, torch.device("cpu"), self.weights.dtype)
        values = torch.empty_like(self.values)
        self._fill(values, dict(model.named_parameters()))
        return values

    def save(self, folder: Path) -> None:
        """See `Parameters.save`: `config.json`, the float32 values, in one file or in several with an index, and the tokenizer, so
        that the folder is a model that a recipe can name."""
        from safetensors.torch import save_file

        load_tokenizer(self._settings.name).save(str(folder / "tokenizer.json"))
        config = copy.deepcopy(self.model.config)
        config.dtype, config.architectures = torch.float32, [type(self.model).__name__]
        config.save_pretrained(str(folder))
        parts = self._parts(self.values)
        shards = _shards(parts)
        files = [_shard_name(number, len(shards)) for number in range(len(shards))]
        for file, names in zip(files, shards, strict=True):
            save_file({name: parts[name].cpu() for name in names}, folder / file, metadata={"format": "pt"})
        if len(files) > 1:
            where = {name: file for file, names in zip(files, shards, strict=True) for name in names}
            index = {"metadata": {"total_size": 4 * self.values.numel()}, "weight_map": where}
            (folder / INDEX_FILE).write_text(json.dumps(index, indent=1), encoding="utf-8")

    def read(self, folder: Path) -> Tensor:
        """See `Parameters.read`."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        values = torch.empty_like(self.values)
        parts = self._parts(values)
        missing = set(parts)
        try:
            files = [WEIGHTS_FILE]
            if (folder / INDEX_FILE).is_file():
                files = sorted(
                    set(json.loads((folder / INDEX_FILE).read_text(encoding="utf-8"))["weight_map"].values())
                )
            for file in files:
                for name, tensor in load_file(folder / file).items():
                    if name not in missing or tensor.shape != parts[name].shape:
                        raise EngineError(
                            str(folder / file), name, "is not a weight of this model. Use the same recipe."
                        )
                    parts[name].copy_(tensor)
                    missing.remove(name)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise EngineError(str(folder), "", f"cannot be read ({error}). Give a folder written by `save`.") from error
        if missing:
            raise EngineError(
                str(folder), min(missing), "is missing. Give a folder written by `save` with this recipe."
            )
        return values

    def _fill(self, values: Tensor, parameters: dict[str, torch.nn.Parameter]) -> None:
        for name, view in self._parts(values).items():
            view.copy_(parameters[name].data)

    def _parts(self, flat: Tensor) -> dict[str, Tensor]:
        """Views into a flat buffer by Hugging Face's names."""
        found, at = {}, 0
        for name, shape in self._shapes.items():
            found[name] = flat[at : at + math.prod(shape)].view(shape)
            at += math.prod(shape)
        return found

    def _fused(self, flat: Tensor) -> dict[str, Tensor]:
        """Views into a flat buffer by the names of `groups`: what lies side by side there is one matrix (or vector)."""
        found, at = {}, 0
        for group, names in self._groups.items():
            size = sum(math.prod(self._shapes[name]) for name in names)
            found[group] = flat[at : at + size].view(-1, *self._shapes[names[0]][1:])
            at += size
        return found

    def _weights(self, flat: Tensor, slots: Slots) -> Weights:
        """Weights over a flat buffer in the dtype of the computation, whose linear maps fill `slots`."""
        views = self._fused(flat)

        def linear(name: str) -> Trained:
            bias = f"{name}_bias"
            return Trained(views[name], views.get(bias), slots.get(name), slots.get(bias))

        layers = [
            Layer(
                input_norm=views[f"{index}.input_norm"],
                qkv=linear(f"{index}.qkv"),
                q_norm=views.get(f"{index}.q_norm"),
                k_norm=views.get(f"{index}.k_norm"),
                output=linear(f"{index}.output"),
                mlp_norm=views[f"{index}.mlp_norm"],
                gate_up=linear(f"{index}.gate_up"),
                down=linear(f"{index}.down"),
            )
            for index in range(len(self._numbers.layers))
        ]
        return replace(
            self._numbers,
            layers=layers,
            embedding=views["embedding"],
            final_norm=views["final_norm"],
            # Where head and embedding are one matrix, both add to one gradient.
            head=linear("head" if "head" in views else "embedding"),
        )


def groups(parameters: dict[str, Any], weights: Weights, where: str) -> dict[str, list[str]]:
    """Which parameters lie side by side in the buffer, in its order: matrices that share an input are one.

    Raises:
        EngineError: the model has parameters that the engine does not know.
    """
    wanted = {
        "embedding": ["model.embed_tokens.weight"],
        "final_norm": ["model.norm.weight"],
        "head": ["lm_head.weight"],
    }
    for index in range(len(weights.layers)):
        block = f"model.layers.{index}."
        maps = {
            "qkv": [f"{block}self_attn.{part}_proj" for part in "qkv"],
            "output": [f"{block}self_attn.o_proj"],
            "gate_up": [f"{block}mlp.gate_proj", f"{block}mlp.up_proj"],
            "down": [f"{block}mlp.down_proj"],
        }
        norms = {"input_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
        norms |= {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
        wanted |= {f"{index}.{group}": [f"{block}{name}.weight"] for group, name in norms.items()}
        wanted |= {f"{index}.{group}": [f"{name}.weight" for name in names] for group, names in maps.items()}
        wanted |= {f"{index}.{group}_bias": [f"{name}.bias" for name in names] for group, names in maps.items()}
    found = {group: names for group, names in wanted.items() if all(name in parameters for name in names)}
    strange = set(parameters).difference(*found.values())
    if strange:
        raise EngineError(
            where, min(strange), 'is a parameter that the engine does not train: use model.train = "lora".'
        )
    return found


def _copied(layer: Layer) -> Layer:
    def vector(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.clone()

    def linear(map_: Frozen) -> Frozen:
        return Frozen(map_.weight.clone(), vector(map_.bias), packed=False)

    return Layer(
        input_norm=layer.input_norm.clone(),
        qkv=linear(layer.qkv),
        q_norm=vector(layer.q_norm),
        k_norm=vector(layer.k_norm),
        output=linear(layer.output),
        mlp_norm=layer.mlp_norm.clone(),
        gate_up=linear(layer.gate_up),
        down=linear(layer.down),
    )


def _shards(parts: dict[str, Tensor]) -> list[list[str]]:
    """Names by file, in order."""
    shards: list[list[str]] = [[]]
    size = 0
    for name, part in parts.items():
        if shards[-1] and size + 4 * part.numel() > _SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append(name)
        size += 4 * part.numel()
    return shards


def _shard_name(number: int, count: int) -> str:
    return WEIGHTS_FILE if count == 1 else f"model-{number + 1:05d}-of-{count:05d}.safetensors"
