"""Token streams on disk: one compact JSON line per episode, from which its segments come back bit for bit.

Ids are base64 of little-endian unsigned 16-bit (32-bit where needed) integers; log-probabilities are stored for
masked-in tokens only, as float32 where that is exact, else float64; mask and versions as run lengths.
"""

from __future__ import annotations

import base64
from itertools import groupby

import msgspec
import numpy as np

from journeyman.episode import Episode, Segment
from journeyman.task import Data


class PackedSegment(Data, frozen=True):
    """A `Segment`. `ids` and `logprobs` are `dtype:base64`; `mask` holds [value, count] runs over all tokens,
    `versions` over masked-in tokens."""

    ids: str
    mask: list[tuple[int, int]]
    logprobs: str
    versions: list[tuple[int, int]]
    temperature: float


class TokenLine(Data, frozen=True):
    """The segments of one episode; `digest` is the episode's, which ties the two files together."""

    id: str
    digest: str
    segments: list[PackedSegment]


def pack(episode: Episode) -> TokenLine:
    """The token line of an episode."""
    return TokenLine(episode.id, episode.digest, [_pack(segment) for segment in episode.segments])


def unpack(line: TokenLine) -> list[Segment]:
    """The segments in a token line, exactly as they were."""
    return [_unpack(segment) for segment in line.segments]


def _pack(segment: Segment) -> PackedSegment:
    ids = np.asarray(segment.token_ids, dtype=np.int64)
    mask = np.asarray(segment.mask, dtype=bool)
    logprobs = np.asarray(segment.logprobs, dtype=np.float64)[mask]
    narrow = logprobs.astype(np.float32)
    exact = bool(np.array_equal(narrow.astype(np.float64), logprobs))
    versions = np.asarray(segment.versions, dtype=np.int64)[mask].tolist()
    return PackedSegment(
        ids=_text(ids, "<u2" if ids.size == 0 or ids.max() < 1 << 16 else "<u4"),
        mask=_runs(mask.astype(int).tolist()),
        logprobs=_text(logprobs, "<f4" if exact else "<f8"),
        versions=_runs(versions),
        temperature=segment.temperature,
    )


def _unpack(packed: PackedSegment) -> Segment:
    mask = _spread(packed.mask)
    chosen = np.asarray(mask, dtype=bool)
    logprobs = np.zeros(len(mask), dtype=np.float64)
    logprobs[chosen] = _array(packed.logprobs)
    versions = np.zeros(len(mask), dtype=np.int64)
    versions[chosen] = _spread(packed.versions)
    ids = _array(packed.ids)
    return Segment(ids.tolist(), mask, logprobs.tolist(), versions.tolist(), packed.temperature)


def _text(values: np.ndarray, dtype: str) -> str:
    return f"{dtype}:{base64.b64encode(values.astype(dtype).tobytes()).decode()}"


def _array(text: str) -> np.ndarray:
    dtype, _, data = text.partition(":")
    return np.frombuffer(base64.b64decode(data, validate=True), dtype=dtype)


def _runs(values: list[int]) -> list[tuple[int, int]]:
    return [(value, len(list(run))) for value, run in groupby(values)]


def _spread(runs: list[tuple[int, int]]) -> list[int]:
    return [value for value, count in runs for _ in range(count)]


token_decoder = msgspec.json.Decoder(TokenLine)
