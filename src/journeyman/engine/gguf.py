"""Read a GGUF file: its metadata and its tensors, unpacked to float32. Needs numpy only for the tensors.

A GGUF file is a header of typed key/value pairs, a table of tensors, and the aligned tensor data
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Only the encodings met in small instruct models are
read: F32, F16, Q8_0 and Q4_1.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from journeyman.errors import EngineError

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 32
"""Values per quantisation block."""


@dataclass(frozen=True)
class TensorInfo:
    """Where one tensor lies. `shape` is in row-major order; `offset` in bytes from the start of the file."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class GgufFile:
    """An open GGUF file.

    Args:
        path: the file.
        skip: metadata keys that need not be decoded (long arrays cost time).

    Raises:
        EngineError: not a GGUF file of version 2 or 3.
    """

    def __init__(self, path: Path, skip: frozenset[str] = frozenset()) -> None:
        self.path = path
        with path.open("rb") as handle:
            self._data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        if self._data[:4] != b"GGUF" or struct.unpack_from("<I", self._data, 4)[0] not in (2, 3):
            raise EngineError(str(path), "", "not a GGUF file of version 2 or 3. Name another file.")
        self._at = 8
        tensors, pairs = self._number("Q"), self._number("Q")
        self.metadata: dict[str, Any] = {}
        for _ in range(pairs):
            key = self._string()
            value = self._value(self._number("I"))
            if key not in skip:
                self.metadata[key] = value
        infos = [self._tensor_info() for _ in range(tensors)]
        align = int(self.metadata.get("general.alignment", 32))
        start = -(-self._at // align) * align
        self.tensors = {info.name: TensorInfo(info.name, info.shape, info.kind, start + info.offset) for info in infos}

    def load(self, name: str) -> NDArray[np.float32]:
        """The tensor `name` as float32 in row-major shape.

        Raises:
            EngineError: the file has no such tensor, or it is in an encoding that is not read here.
        """
        info = self.tensors.get(name)
        if info is None:
            raise EngineError(str(self.path), name, "the file has no such tensor: it holds another architecture.")
        return unpack(self._data, info, str(self.path))

    def _number(self, code: str) -> int:
        value = struct.unpack_from("<" + code, self._data, self._at)[0]
        self._at += struct.calcsize(code)
        return value  # type: ignore[no-any-return]

    def _string(self) -> str:
        size = self._number("Q")
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._number(_SCALARS[kind])
        inner, count = self._number("I"), self._number("Q")
        if inner in (_STRING, _ARRAY):
            return [self._value(inner) for _ in range(count)]
        values = struct.unpack_from(f"<{count}{_SCALARS[inner]}", self._data, self._at)
        self._at += struct.calcsize(f"<{count}{_SCALARS[inner]}")
        return list(values)

    def _tensor_info(self) -> TensorInfo:
        name = self._string()
        dimensions = [self._number("Q") for _ in range(self._number("I"))]
        return TensorInfo(name, tuple(reversed(dimensions)), self._number("I"), self._number("Q"))


def unpack(data: mmap.mmap | bytes, info: TensorInfo, where: str) -> NDArray[np.float32]:
    """Values of one tensor. Q8_0: value = d·q (q int8); Q4_1: value = d·q + m (q of 4 bits, low nibbles first)."""
    count = int(np.prod(info.shape))
    if info.kind == 0:
        values = np.frombuffer(data, "<f4", count, info.offset).copy()
    elif info.kind == 1:
        values = np.frombuffer(data, "<f2", count, info.offset).astype(np.float32)
    elif info.kind == 8:
        layout = np.dtype([("d", "<f2"), ("q", "i1", (_BLOCK,))])
        blocks = np.frombuffer(data, layout, count // _BLOCK, info.offset)
        values = blocks["q"].astype(np.float32)
        values *= blocks["d"].astype(np.float32)[:, None]
    elif info.kind == 3:
        layout = np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", (_BLOCK // 2,))])
        blocks = np.frombuffer(data, layout, count // _BLOCK, info.offset)
        values = np.empty((count // _BLOCK, _BLOCK), np.float32)
        np.bitwise_and(blocks["q"], 15, out=values[:, : _BLOCK // 2], casting="unsafe")
        np.right_shift(blocks["q"], 4, out=values[:, _BLOCK // 2 :], casting="unsafe")
        values *= blocks["d"].astype(np.float32)[:, None]
        values += blocks["m"].astype(np.float32)[:, None]
    else:
        raise EngineError(where, info.name, f"encoding {info.kind} is not read here: use F32, F16, Q8_0 or Q4_1.")
    return values.reshape(info.shape)
