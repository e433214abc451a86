"""Canonical JSON and content hashes: the one way records become bytes."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_canonical = msgspec.json.Encoder(order="deterministic")
_plain = msgspec.json.Encoder()


def canonical(value: Any) -> bytes:
    """Bytes of `value` as JSON with sorted mapping keys, no spaces: equal values give equal bytes."""
    return _canonical.encode(value)


def encode(value: Any) -> bytes:
    """Bytes of `value` as compact JSON in field order."""
    return _plain.encode(value)


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def seed_of(*parts: object) -> int:
    """A 63-bit seed derived from `parts` by SHA-256; equal parts give equal seeds on every machine."""
    data = "\x1f".join(str(part) for part in parts).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 1
