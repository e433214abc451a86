"""Estimated memory: by hand for a small model, and against what the engine really holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import small_engine as small

from journeyman.engine.cache import KeyValueCache
from journeyman.engine.estimate import BASE_BYTES, KNOWN, EngineSettings, ModelSizes, estimate_memory, model_sizes
from journeyman.errors import EngineError

# Heads of 4, of which 2 are for keys: q 16, k and v 8 each.
HAND = ModelSizes(
    layers=3, hidden=10, intermediate=20, heads=4, kv_heads=2, head_dim=4, vocabulary=100, tied=True, context=1000
)


def test_sizes_by_hand() -> None:
    # A layer: q 160, k 80, v 80, output 160, gate, up and down 200 each.
    assert HAND.linear == 3 * (160 + 80 + 80 + 160 + 600) == 3240
    assert HAND.parameters == 1000 + 3240 + 7 * 10
    # LoRA: inputs + outputs of q 26, k 18, v 18, output 26, and 30 for each of the others.
    assert HAND.adapter(2) == 3 * 2 * (26 + 18 + 18 + 26 + 90) == 1068


def test_memory_of_an_adapter_on_the_cpu_by_hand() -> None:
    found = estimate_memory(
        HAND, EngineSettings("cpu", "float32", rank=2, micro_tokens=7, slots=5, context=600, lanes=2, remembered=1)
    )
    assert found.weights == 4 * (4310 + 3240 + 1000)
    # Values, gradients of two lanes, one remembered copy.
    assert found.trained == 4 * 1068 * 4
    assert found.optimizer == 4 * (2 + 2) * 1068
    # Kept of a row and layer: 2 · 10 floats; 16 + 8 + 8 + 16 and 4 log-sum-exps; 40. Passing: 5 · 20 + 2 · 24, and 30.
    row = 3 * 4 * (20 + 48 + 4 + 40) + 4 * (148 + 30) + 4 * 10 + 2 * 4 * 10
    assert found.activations == 7 * row
    assert found.logits == 2 * 256 * 100 * 8
    assert found.sampler == 4 * (3240 + 1068)
    # 5 slots in two lanes: 3 each, no quarter, one row more; 600 positions by granules of 512, at most 1000.
    assert found.cache == 2 * 4 * 1000 * (2 * 3 * 8 * 4)
    assert found.base == BASE_BYTES
    parts = (found.weights, found.trained, found.optimizer, found.activations, found.logits, found.sampler, found.cache)
    assert found.total == sum(parts) + BASE_BYTES


def test_memory_of_all_weights_on_a_gpu_by_hand() -> None:
    plain = EngineSettings("cuda", "bfloat16", train="full", micro_tokens=7, slots=0)
    found = estimate_memory(HAND, plain)
    assert (found.weights, found.trained, found.sampler, found.cache) == (2 * 4310, 4 * 4310 * 2, 0, 0)
    assert found.optimizer == 4 * (2 * 4310 + 2 * 1000)
    assert found.logits == 256 * 100 * 10
    light = estimate_memory(HAND, EngineSettings("cuda", "bfloat16", train="full", optimizer="adafactor", slots=0))
    assert light.optimizer == 4 * 1000
    checkpointed = EngineSettings("cuda", "bfloat16", train="full", checkpointing=True, micro_tokens=7, slots=0)
    # The inputs of three layers, and one layer's own at a time.
    kept, passing = 2 * 40 + 48 * 2 + 16 + 80, 148 * 2 + 120
    assert estimate_memory(HAND, checkpointed).activations == 7 * (3 * 40 + kept + passing + 40 + 40)
    assert found.activations == 7 * (3 * kept + passing + 40 + 40)


@pytest.mark.parametrize("train", ["lora", "full"])
def test_what_the_engine_holds_is_what_was_estimated(train: Any) -> None:
    made = small.engine(disturb=False, train=train, slots=10)
    sizes = KNOWN["tiny-random"]
    settings = EngineSettings("cpu", "float32", train=train, rank=4, slots=10, context=600)
    found = estimate_memory(sizes, settings)
    trained = made._trained
    assert found.trained == 4 * (trained.values.numel() + sum(slots.numel() for slots in made._gradients))
    if train == "full":
        assert trained.values.numel() == sizes.parameters
    made.update(small.mixed_samples(), small.LossSettings("sft", learning_rate=0.0))
    moments = 4 * sum(tensor.numel() for tensor in made._stepper.state().values())
    assert moments == 2 * 4 * trained.values.numel()
    assert moments <= found.optimizer
    cached = 0
    for batch in made._batches:
        cache: KeyValueCache = batch.cache
        cache.reserve(600)
        cached += cache.keys.nbytes + cache.values.nbytes
    assert cached == found.cache


def test_known_models_have_their_published_numbers_of_parameters() -> None:
    billions = {"Qwen3-0.6B": 0.596, "Qwen3-4B": 4.02, "Qwen3-8B": 8.19, "Qwen3-14B": 14.77, "Qwen3-32B": 32.76}
    for name, wanted in billions.items():
        assert KNOWN[name].parameters / 1e9 == pytest.approx(wanted, rel=2e-3), name
    assert KNOWN["smollm2-135m-instruct"].parameters == 134_515_008


def test_the_recorded_demo_is_estimated_in_the_right_order() -> None:
    """docs/results: the demo (96 slots of 512 places, bfloat16) took 6.7 GB in all, `benchmarks/engine.py`, whose cache is small,
    2.95 GB."""
    sizes = KNOWN["smollm2-135m-instruct"]
    demo = estimate_memory(sizes, EngineSettings("cpu", "bfloat16", slots=96, context=512))
    assert 0.5 < demo.total / 6.7e9 < 2
    without = demo.total - demo.cache
    assert 0.5 < without / 2.95e9 < 2


def test_sizes_come_from_the_folder_or_from_its_name(tmp_path: Path) -> None:
    assert model_sizes("models/Qwen3-8B/") == KNOWN["Qwen3-8B"]
    config = {
        "num_hidden_layers": 3,
        "hidden_size": 10,
        "intermediate_size": 20,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "vocab_size": 100,
        "tie_word_embeddings": True,
        "max_position_embeddings": 1000,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert model_sizes(str(tmp_path)) == HAND
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(EngineError, match="gives no sizes"):
        model_sizes(str(tmp_path))
    with pytest.raises(EngineError, match="not known; known: tiny-random"):
        model_sizes("models/unheard-of")
