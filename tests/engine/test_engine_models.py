"""Weights, tokenizers, checkpoints: parity with transformers, PEFT's format, bit-exact restoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_engine as small
import torch

from journeyman import recipe
from journeyman.engine import weights as weights_module
from journeyman.engine.base import LossSettings
from journeyman.engine.gguf import TensorInfo, unpack
from journeyman.engine.local import LocalEngine, load_engine
from journeyman.engine.tokenizer import load_tokenizer
from journeyman.errors import EngineError


def write_model(folder: Path, kind: str) -> Path:
    """A random model of an architecture, in Hugging Face format."""
    import transformers

    common: dict[str, Any] = {
        "vocab_size": 300,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "tie_word_embeddings": kind != "Qwen2",
    }
    if kind == "Qwen3":
        common["head_dim"] = 16
    if kind == "Llama":
        common["rope_parameters"] = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
        common["attention_bias"] = True
    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(**common)
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    for parameter in model.parameters():
        parameter.data.normal_(0.0, 0.1)
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Qwen3"])
def test_logprobs_equal_transformers_with_adapter(tmp_path: Path, kind: str) -> None:
    made = small.engine(name=str(write_model(tmp_path, kind)))
    ids = [int(i) for i in np.random.default_rng(0).integers(0, 300, 60)]
    item = small.sample(0, ids, 1)
    item.mask = [0] + [1] * 59
    with torch.no_grad():
        exact = torch.log_softmax(made.peft_model(torch.tensor([ids])).logits[0], -1)
    wanted = exact[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    assert made.logprobs([item])[0][1:] == pytest.approx(wanted.tolist(), abs=1e-4)
    (answer,) = small.ask(made, small.request("a", ids, 1, seed=4))
    assert answer.logprobs[0] == pytest.approx(float(exact[-1, answer.token_ids[0]]), abs=1e-4)


def test_smollm2_equals_transformers_and_agrees_with_itself() -> None:
    made = load_engine(recipe.Model(dtype="float32", device="cpu", slots=4), seed=0)
    small.disturb_adapter(made)
    made.publish()
    tokenizer = load_tokenizer("smollm2-135m-instruct")
    prompt = tokenizer.encode("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n").ids
    base = made.peft_model
    with base.disable_adapter(), torch.no_grad():
        best = int(base(torch.tensor([prompt])).logits[0, -1].argmax())
    assert tokenizer.decode([best]) == "The"
    (answer,) = small.ask(made, small.request("a", prompt, 8, 0.9, seed=1))
    ids = prompt + answer.token_ids
    item = small.sample(0, ids, len(prompt), temperature=0.9)
    item.mask = [0] * len(prompt) + [1] * 8
    with torch.no_grad():
        exact = torch.log_softmax(base(torch.tensor([ids])).logits[0] / 0.9, -1)
    wanted = [float(exact[place - 1, ids[place]]) for place in range(len(prompt), len(ids))]
    assert answer.logprobs == pytest.approx(wanted, abs=1e-3)
    assert made.logprobs([item])[0][len(prompt) :] == pytest.approx(wanted, abs=1e-3)
    made.close()


@pytest.mark.parametrize(("kind", "name"), [(8, "Q8_0"), (3, "Q4_1"), (1, "F16"), (0, "F32")])
def test_gguf_values_equal_the_reference_reader(kind: int, name: str) -> None:
    gguf = pytest.importorskip("gguf")
    values = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    quantisation = gguf.GGMLQuantizationType[name]
    packed = gguf.quants.quantize(values, quantisation)
    found = unpack(b"\0" * 8 + packed.tobytes(), TensorInfo("t", (3, 64), kind, 8), "test")
    np.testing.assert_array_equal(found, gguf.quants.dequantize(packed, quantisation))


def test_rotary_rows_are_put_as_hugging_face_has_them() -> None:
    # One head of four rows: GGUF has the pairs (0, 2), (1, 3) side by side.
    stored = torch.tensor([[0.0], [2.0], [1.0], [3.0]])
    assert weights_module._halves_apart(stored, 1)[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["tiny-random", "smollm2-135m-instruct"])
def test_tokenizers_round_trip_and_know_chatml(name: str) -> None:
    tokenizer = load_tokenizer(name)
    text = "<|im_start|>user\nPay $1,010.50 on 2026-03-02, café ☕\n  now<|im_end|>\n"
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert ids[0] == tokenizer.token_to_id("<|im_start|>")
    assert tokenizer.token_to_id("<|im_end|>") in ids
    if name == "tiny-random":
        assert tokenizer.get_vocab_size() <= 1024


def test_smollm2_tokens_by_hand() -> None:
    # Ids of the model's published tokenizer.
    tokenizer = load_tokenizer("smollm2-135m-instruct")
    assert tokenizer.encode("<|im_start|>user\nHello 2024<|im_end|>").ids == [
        1,
        4093,
        198,
        19556,
        216,
        34,
        32,
        34,
        36,
        2,
    ]


def test_save_and_load_are_exact_to_the_bit(tmp_path: Path) -> None:
    first = small.engine(seed=1)
    samples, loss = small.mixed_samples(), LossSettings("ppo_clip", learning_rate=1e-3)
    first.update(samples, loss)
    assert first.publish() == 2
    first.save(tmp_path)
    second = small.engine(seed=2, disturb=False)
    second.load(tmp_path)
    assert second.version == 2
    assert torch.equal(first._adapter.values, second._adapter.values)
    assert small.ask(first, small.request("a", [5, 6, 7], 9))[0].logprobs == (
        small.ask(second, small.request("a", [5, 6, 7], 9))[0].logprobs
    )
    for made in (first, second):
        made.update(samples, loss)
    assert torch.equal(first._adapter.values, second._adapter.values)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_adapter_loads_in_plain_transformers_and_peft(tmp_path: Path) -> None:
    from peft import PeftModel

    made = small.engine()
    made.save(tmp_path)
    plain = weights_module.load_model(small.TINY, torch.device("cpu"), torch.float32)
    wrapped = PeftModel.from_pretrained(plain, str(tmp_path))
    ids = torch.tensor([small.tokens(20, 1)])
    with torch.no_grad():
        torch.testing.assert_close(wrapped(ids).logits, made.peft_model(ids).logits)
        with wrapped.disable_adapter():
            assert float((wrapped(ids).logits - made.peft_model(ids).logits).abs().max()) > 1e-3


def test_publishing_alone_changes_what_samples() -> None:
    made = small.engine(disturb=False)
    prompt = small.tokens(20, 1)

    def answer() -> tuple[list[float], int]:
        made.reset()
        (found,) = small.ask(made, small.request("a", prompt, 5))
        return found.logprobs, found.version

    before = answer()
    assert before[1] == 0
    made.update(small.mixed_samples(), LossSettings("sft", learning_rate=1e-2))
    assert answer() == before
    assert made.publish() == 1
    after = answer()
    assert after[1] == 1
    assert after[0] != before[0]


def test_the_seed_sets_the_adapter() -> None:
    values = [small.engine(seed=seed, disturb=False)._adapter.values for seed in (1, 1, 2)]
    assert torch.equal(values[0], values[1])
    assert not torch.equal(values[0], values[2])


def refused(action: Any, match: str) -> None:
    with pytest.raises(EngineError, match=match):
        action()


def test_load_refuses_what_is_not_its_own(tmp_path: Path) -> None:
    made = small.engine()
    refused(lambda: made.load(tmp_path), "no engine state")
    small.engine(lora_rank=8).save(tmp_path)
    refused(lambda: made.load(tmp_path), "another model or LoRA setting")
    made.save(tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"torn")
    refused(lambda: made.load(tmp_path), "cannot be read")


def test_unusable_models_are_refused(tmp_path: Path) -> None:
    refused(lambda: load_engine(recipe.Model(name="no-such"), seed=0), "nor a folder")
    refused(lambda: load_tokenizer("no-such"), "nor a folder")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    refused(lambda: load_engine(recipe.Model(name=str(tmp_path)), seed=0), "use one of llama, qwen2, qwen3")
    if not torch.cuda.is_available():
        refused(lambda: load_engine(recipe.Model(name="tiny-random", device="cuda"), seed=0), "no CUDA")


def test_auto_dtype_follows_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = torch.device("cpu")
    for native, wanted in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(weights_module, "_processor_multiplies_bfloat16", lambda native=native: native)
        assert weights_module.choose_dtype("auto", processor) == wanted
    assert weights_module.choose_dtype("float32", processor) == torch.float32


def test_bfloat16_computes(tmp_path: Path) -> None:
    made: LocalEngine = small.engine(dtype="bfloat16")
    samples = small.mixed_samples()[:2]
    metrics = made.update(samples, LossSettings("sft", learning_rate=1e-3))
    assert metrics["grad_norm"] > 0
    assert made._adapter.values.dtype == torch.float32
    (answer,) = small.ask(made, small.request("a", samples[0].token_ids[:40], 4))
    assert len(answer.token_ids) == 4
