"""Teachers of on-policy distillation: what they say of tokens that a student sampled, and whether they read the same tokens.

A teacher scores the student's ids, so it must know the same ids by the same text. Tokenizers are compared by
`fingerprint`; a teacher behind an endpoint is asked about `probe_texts`. No torch.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from journeyman.codec import digest
from journeyman.engine.base import Trainer
from journeyman.episode import Sample, Usage
from journeyman.errors import EngineError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TEXTS = (
    "Please close case C17 for the customer; the amount is $1,010.50 (10 %).",
    "  leading spaces,\ttabs\nand\r\n\n  new lines \u00a0",
    '{"name": "get_bill", "arguments": {"month": "2026-03", "lines": [1, 22, 333]}}',
    "def f(x_1: int) -> str:\n        return f'{x_1!r}' if x_1 != 0 else \"\"",
    "Größe, naïve, Ångström, ﬁne: İstanbul 東京 مرحبا שלום привет नमस्ते 👩‍💻",
    "don't DON'T we'll aaaaaaaaaaaaaaaa 0123456789012345",
)
HIGHEST_LOGPROB = 1e-3
"""What rounding may make of log 1. Above it stands a probability, or nonsense."""


class Teacher(Protocol):
    """Knows how likely each sampled token was to itself."""

    @property
    def spent(self) -> Usage:
        """What it has used so far at an endpoint; nothing where it is computed here."""
        ...

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """Log-probability of each masked-in token after the tokens before it, of the distribution at the sample's temperature
        (0 elsewhere).

        Raises:
            EngineError, EndpointError: it cannot tell, for any of them.
        """
        ...


class RememberedTeacher:
    """The student's own model with other weights, which the trainer remembers: no second model is loaded.

    Args:
        name: what the trainer remembers them by.
    """

    def __init__(self, trainer: Trainer, name: str) -> None:
        self._trainer = trainer
        self._name = name

    @property
    def spent(self) -> Usage:
        """See `Teacher`."""
        return Usage()

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """See `Teacher`."""
        return self._trainer.logprobs(samples, of=self._name)


def checked_logprobs(teacher: Teacher, samples: Sequence[Sample]) -> list[list[float]]:
    """What the teacher says, once it is found whole: an array for each sample, as long as its tokens, finite and not positive
    where the mask is 1.

    Raises:
        EngineError, EndpointError: it is not, or the teacher could not tell.
    """
    found = teacher.logprobs(samples)
    if len(found) != len(samples):
        raise EngineError("teacher", "", f"scored {len(found)} of {len(samples)} samples: nothing was trained on them.")
    for sample, values in zip(samples, found, strict=True):
        if len(values) != len(sample.token_ids):
            raise EngineError(
                "teacher",
                sample.episode_id,
                f"gave {len(values)} log-probabilities for {len(sample.token_ids)} tokens: nothing was trained on them.",
            )
        for value, flag in zip(values, sample.mask, strict=True):
            if flag and not (math.isfinite(value) and value <= HIGHEST_LOGPROB):
                raise EngineError(
                    "teacher", sample.episode_id, f"{value} is no log-probability: nothing was trained on it."
                )
    return found


def probe_texts(tokenizer: Tokenizer) -> list[str]:
    """Texts in which tokenizers tend to differ: numbers, white space, code, scripts, and this one's own special tokens."""
    added = sorted(tokenizer.get_added_tokens_decoder().items())
    return [*_TEXTS, *(f"a{token.content}b" for _, token in added[:64])]


def encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text, special tokens in it read as such, none added."""
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def fingerprint(tokenizer: Tokenizer) -> str:
    """SHA-256 (hex) of the vocabulary, the merges, the added tokens, and the encodings of `probe_texts`: equal where two
    tokenizers write the same text with the same ids."""
    added = sorted(tokenizer.get_added_tokens_decoder().items())
    texts = [(text, encoded(tokenizer, text)) for text in probe_texts(tokenizer)]
    specials = [(index, token.content, token.special) for index, token in added]
    vocabulary = sorted(tokenizer.get_vocab(with_added_tokens=True).items())
    return digest([vocabulary, _merges(tokenizer), specials, texts])


def model_version(name: str) -> str:
    """SHA-256 (hex) over the files of a model (see `recipe.Model.name`): their names, sizes and first MiB, in which shapes and
    first values stand. Nothing is loaded. "built-in" for a model that no file holds.

    Raises:
        EngineError: there is no such model here.
    """
    from journeyman.engine.tokenizer import SMOLLM2, TINY, smollm2_file

    if name == TINY:
        return "built-in"
    files = [smollm2_file()] if name == SMOLLM2 else sorted(Path(name).glob("*.safetensors"))
    if not files:
        raise EngineError(name, "teacher.model", f"is neither {SMOLLM2!r}, {TINY!r} nor a folder with safetensors.")
    hasher = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            hasher.update(f"{path.name}\x1f{path.stat().st_size}\x1f".encode() + file.read(1 << 20))
    return hasher.hexdigest()


def difference(student: Tokenizer, teacher: Tokenizer) -> str:
    """Where two tokenizers part, in one clause; "" where their fingerprints are equal."""
    if fingerprint(student) == fingerprint(teacher):
        return ""
    ours, theirs = student.get_vocab(with_added_tokens=True), teacher.get_vocab(with_added_tokens=True)
    if ours != theirs:
        apart = sorted(token for token in {*ours, *theirs} if ours.get(token) != theirs.get(token))
        return f"vocabularies of {len(ours)} and {len(theirs)} tokens, of which {len(apart)} differ, as {apart[0]!r}"
    if _merges(student) != _merges(teacher):
        return "the same vocabulary, but other merges"
    for text in probe_texts(student):
        if encoded(student, text) != encoded(teacher, text):
            return f"the same vocabulary, but {text!r} is split in another way"
    return "the same vocabulary, but other special tokens"


def _merges(tokenizer: Tokenizer) -> list[list[str]]:
    """Of byte-pair encoding, in order; none of other models."""
    merges = json.loads(tokenizer.to_str())["model"].get("merges") or []
    return [merge.split(" ") if isinstance(merge, str) else list(merge) for merge in merges]
