"""A model's weights, laid out for speed: q, k, v in one matrix, gate and up in one, all prepacked on the CPU.

The matrices are the storage of a Hugging Face model as well (its parameters are views of them), so nothing is held twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from journeyman import recipe
from journeyman.engine.gguf import GgufFile
from journeyman.engine.tokenizer import SMOLLM2, TINY, smollm2_file, tiny_tokenizer
from journeyman.errors import EngineError

ARCHITECTURES = ("llama", "qwen2", "qwen3")
LINEAR_NAMES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_PACK_ROWS = 64
"""Rows for which oneDNN lays the weights out; the layout serves other counts as well."""


class Product:
    """A linear map y = x Wᵀ + b, W of shape (outputs, inputs), prepacked on the CPU; what follows it elementwise is fused in.

    Args:
        packed: False where the weight will change: a packed one is a copy.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, packed: bool = True) -> None:
        self.bias = bias
        self._plain: Tensor | None = None
        self._packed: Any = None
        if packed and _packs(weight):
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, _PACK_ROWS)
        else:
            self._plain = weight

    def __call__(self, x: Tensor) -> Tensor:
        """(rows, inputs) → (rows, outputs)."""
        return self._unary(x, "none")

    def silu(self, x: Tensor) -> Tensor:
        """silu(y)."""
        return self._unary(x, "swish") if self._packed is not None else functional.silu(self(x))

    def times(self, x: Tensor, other: Tensor) -> Tensor:
        """y · other, rounded once."""
        return self._binary(x, other, "mul") if self._packed is not None else self(x).mul_(other)

    def in_parts(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """y, and what rounding left out of it (itself rounded): their sum in float32 is good to 17 bits. None where y is
        float32, or where no fused product tells."""
        y = self(x)
        if y.dtype == torch.float32 or self._packed is None:
            return y, None
        return y, self._binary(x, y.neg(), "add")

    def _unary(self, x: Tensor, then: str) -> Tensor:
        if self._plain is not None:
            return functional.linear(x, self._plain, self.bias)
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, then, [], "")
        return y

    def _binary(self, x: Tensor, other: Tensor, then: str) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, other, self._packed, self.bias, then)
        return y


class Frozen(Product):
    """A linear map whose weight is not trained."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, packed: bool = True) -> None:
        super().__init__(weight, bias, packed)
        self.weight = weight

    def input_gradient(self, grad: Tensor) -> Tensor:
        """Gradient of the input: (rows, outputs) → (rows, inputs)."""
        return grad @ self.weight

    def add_gradient(self, x: Tensor, grad: Tensor) -> None:
        """Count gradients of weight and bias where these are trained: those of inputs (rows, inputs) and outputs (rows, outputs)."""


def _packs(weight: Tensor) -> bool:
    """Whether oneDNN takes this weight: float32 on any processor, bfloat16 where the processor has it."""
    if weight.device.type != "cpu" or not torch._C._has_mkldnn:
        return False
    return weight.dtype == torch.float32 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@dataclass(frozen=True)
class Layer:
    """One decoder layer. `q_norm`, `k_norm` exist in Qwen3 only."""

    input_norm: Tensor
    qkv: Frozen
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Frozen
    mlp_norm: Tensor
    gate_up: Frozen
    down: Frozen


@dataclass(frozen=True)
class Weights:
    """All weights and the numbers of the architecture. `context` is the longest position the model knows."""

    layers: list[Layer]
    embedding: Tensor
    final_norm: Tensor
    head: Frozen
    frequencies: Tensor
    rope_scale: float
    epsilon: float
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int
    vocabulary: int
    context: int
    dtype: torch.dtype
    device: torch.device

    @property
    def site_shapes(self) -> list[tuple[int, list[int]]]:
        """(inputs, outputs of each part) of the four fused linear maps of a layer: qkv, output, gate_up, down."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return [
            (self.hidden, [q, kv, kv]),
            (q, [self.hidden]),
            (self.hidden, [self.intermediate, self.intermediate]),
            (self.intermediate, [self.hidden]),
        ]


def choose_device(wanted: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """The device to use. Raises EngineError where CUDA is wanted and absent."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise EngineError("recipe", "model.device", 'no CUDA device is usable here: use device = "cpu" or "auto".')
    return torch.device("cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu")


def choose_dtype(wanted: Literal["auto", "float32", "bfloat16"], device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 on a GPU and on processors that multiply it natively; elsewhere it is emulated, far slower."""
    if wanted != "auto":
        return torch.float32 if wanted == "float32" else torch.bfloat16
    native = device.type == "cuda" or _processor_multiplies_bfloat16()
    return torch.bfloat16 if native else torch.float32


def _processor_multiplies_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags


def load_model(settings: recipe.Model, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """The Hugging Face model `settings.name`, without gradients.

    Raises:
        EngineError: not found, or an architecture that the engine does not compute.
    """
    if settings.name == SMOLLM2:
        model = _smollm2()
    elif settings.name == TINY:
        model = _tiny()
    else:
        model = _from_folder(settings.name)
    return model.to(device=device, dtype=dtype).eval().requires_grad_(False)


def _from_folder(name: str) -> nn.Module:
    if not (Path(name) / "config.json").is_file():
        raise EngineError(
            name, "model.name", f"is neither {SMOLLM2!r}, {TINY!r} nor a folder in Hugging Face format. Name one."
        )
    from transformers import AutoConfig, AutoModelForCausalLM

    check_architecture(AutoConfig.from_pretrained(name, local_files_only=True), name)
    model: nn.Module = AutoModelForCausalLM.from_pretrained(name, local_files_only=True)
    return model


def check_architecture(config: Any, where: str) -> None:
    """Raises EngineError where the engine's forward pass would not be the model's."""
    kind = getattr(config, "model_type", "?")
    if kind not in ARCHITECTURES:
        raise EngineError(where, "model_type", f"{kind!r} is not computed here: use one of {', '.join(ARCHITECTURES)}.")
    if getattr(config, "use_sliding_window", False):
        raise EngineError(where, "use_sliding_window", "sliding windows are not computed here: use a model without.")
    if config.hidden_act != "silu":
        raise EngineError(where, "hidden_act", f"{config.hidden_act!r} is not computed here: only silu is.")


def _on_meta(config: Any) -> nn.Module:
    """A Llama model without storage, but with its rotary frequencies (a buffer that no file holds)."""
    from transformers import LlamaForCausalLM

    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    return model  # type: ignore[no-any-return]


def _assign(model: Any, tensors: dict[str, Tensor]) -> nn.Module:
    model.load_state_dict(tensors, assign=True, strict=False)
    model.tie_weights()
    return model  # type: ignore[no-any-return]


def _smollm2() -> nn.Module:
    from transformers import LlamaConfig

    file = GgufFile(smollm2_file(), skip=frozenset({"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}))
    meta = file.metadata
    heads, kv_heads = meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"]
    layers = meta["llama.block_count"]
    config = LlamaConfig(
        vocab_size=meta["llama.vocab_size"],
        hidden_size=meta["llama.embedding_length"],
        intermediate_size=meta["llama.feed_forward_length"],
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=meta["llama.context_length"],
        rms_norm_eps=meta["llama.attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": meta["llama.rope.freq_base"]},
        tie_word_embeddings=True,
        bos_token_id=meta["tokenizer.ggml.bos_token_id"],
        eos_token_id=meta["tokenizer.ggml.eos_token_id"],
        pad_token_id=meta["tokenizer.ggml.padding_token_id"],
    )
    tensors = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm"}
    inner = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attn_output"}
    inner |= {f"self_attn.{part}_proj": f"attn_{part}" for part in "qkv"}
    inner |= {f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}
    for index in range(layers):
        for ours, theirs in inner.items():
            tensors[f"model.layers.{index}.{ours}.weight"] = f"blk.{index}.{theirs}"
    loaded = {ours: torch.from_numpy(file.load(f"{theirs}.weight")) for ours, theirs in tensors.items()}
    for name, tensor in loaded.items():
        if ".q_proj." in name:
            loaded[name] = _halves_apart(tensor, heads)
        elif ".k_proj." in name:
            loaded[name] = _halves_apart(tensor, kv_heads)
    return _assign(_on_meta(config), loaded)


def _halves_apart(weight: Tensor, heads: int) -> Tensor:
    """GGUF interleaves the two rotary halves of each head's rows; Hugging Face keeps them apart."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def _tiny() -> nn.Module:
    """Two layers with random weights that never change. The embedding (which is the head too) spreads widely enough for
    a trained adapter to make a token nearly certain."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        vocab_size=tiny_tokenizer().get_vocab_size(),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    model = _on_meta(config)
    generator = torch.Generator().manual_seed(135)
    tensors = {}
    for name, parameter in model.named_parameters():
        if "norm" in name:
            tensors[name] = torch.ones(parameter.shape)
        else:
            spread = 0.25 if "embed" in name else 0.1
            tensors[name] = torch.randn(parameter.shape, generator=generator) * spread
    return _assign(model, tensors)


def extract(model: Any, where: str, packed: bool = True) -> Weights:
    """Lay the weights of a Hugging Face model out as `Weights`, and make the model's parameters views of them.

    Args:
        packed: prepack them for speed; False where they will change.
    """
    config = model.config
    check_architecture(config, where)
    body = model.model
    layers = []
    for block in body.layers:
        attention, mlp = block.self_attn, block.mlp
        layers.append(
            Layer(
                input_norm=block.input_layernorm.weight.data,
                qkv=_fuse(packed, attention.q_proj, attention.k_proj, attention.v_proj),
                q_norm=attention.q_norm.weight.data if hasattr(attention, "q_norm") else None,
                k_norm=attention.k_norm.weight.data if hasattr(attention, "k_norm") else None,
                output=_fuse(packed, attention.o_proj),
                mlp_norm=block.post_attention_layernorm.weight.data,
                gate_up=_fuse(packed, mlp.gate_proj, mlp.up_proj),
                down=_fuse(packed, mlp.down_proj),
            )
        )
    heads = config.num_attention_heads
    weight = body.embed_tokens.weight.data
    return Weights(
        layers=layers,
        embedding=weight,
        final_norm=body.norm.weight.data,
        head=Frozen(model.lm_head.weight.data, packed=packed),
        frequencies=body.rotary_emb.inv_freq.float().to(weight.device),
        rope_scale=float(body.rotary_emb.attention_scaling),
        epsilon=config.rms_norm_eps,
        heads=heads,
        kv_heads=config.num_key_value_heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        vocabulary=weight.shape[0],
        context=config.max_position_embeddings,
        dtype=weight.dtype,
        device=weight.device,
    )


def _fuse(packed: bool, *modules: nn.Linear) -> Frozen:
    if len(modules) == 1:
        return Frozen(modules[0].weight.data, None if modules[0].bias is None else modules[0].bias.data, packed)
    weight = torch.cat([module.weight.data for module in modules])
    start = 0
    for module in modules:
        module.weight.data = weight[start : start + module.out_features]
        start += module.out_features
    biases = [module.bias.data for module in modules if module.bias is not None]
    return Frozen(weight, torch.cat(biases) if biases else None, packed)


def fingerprint(weights: Weights) -> str:
    """SHA-256 (hex) over the shapes and a sample of the values: tells two base models apart."""
    parts = [weights.embedding, weights.final_norm]
    for layer in weights.layers:
        parts += [layer.qkv.weight, layer.output.weight, layer.gate_up.weight, layer.down.weight]
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(repr(tuple(part.shape)).encode())
        hasher.update(part.flatten()[:64].float().cpu().numpy().tobytes())
    return hasher.hexdigest()
