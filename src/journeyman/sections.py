"""What recipe sections are made of: their base, the bounds of their numbers, and which keys a place of a recipe knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

BIG = 1_000_000
"""No count of a recipe is larger: beyond it stands a slip of the pen that would fill the memory."""

Positive = Annotated[int, Meta(ge=1, le=BIG)]
Count = Annotated[int, Meta(ge=0, le=BIG)]
Fraction = Annotated[float, Meta(ge=0.0, le=1.0)]
# The upper bound keeps infinity out, any bound keeps NaN out.
Amount = Annotated[float, Meta(ge=0.0, le=1e12)]
Size = Annotated[float, Meta(gt=0.0, le=1e12)]
Beta = Annotated[float, Meta(ge=0.0, lt=1.0)]

NAME = r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z"
"""Names of runs, stages and endpoints: some of them become names of folders and files."""

_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]")


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every recipe section."""


def known_keys(kind: Any, path: str, raw: Any) -> list[str]:
    """The keys that a place of a recipe knows; empty where they cannot be told.

    Args:
        kind: the type of the whole.
        path: the place, in the words of msgspec: `.stage[0].optimizer`.
        raw: the whole as it was read: it tells which of several sections one is.
    """
    place = msgspec.inspect.type_info(kind)
    for name, index in _STEP.findall(path):
        raw = _inside(raw, name, index)
        place = _step(place, name, raw)
    if isinstance(place, msgspec.inspect.UnionType):
        place = _chosen(place, raw)
    if not isinstance(place, msgspec.inspect.StructType):
        return []
    tag = [place.tag_field] if place.tag_field else []
    return [*tag, *(field.encode_name for field in place.fields)]


def _inside(raw: Any, name: str, index: str) -> Any:
    if name:
        return raw.get(name) if isinstance(raw, Mapping) else None
    return raw[int(index)] if index.isdigit() and isinstance(raw, list) and int(index) < len(raw) else None


def _step(place: Any, name: str, raw: Any) -> Any:
    """One step further: into a field, or into an element of a list or mapping."""
    inspect = msgspec.inspect
    if isinstance(place, inspect.UnionType):
        place = _chosen(place, None)
    if name and isinstance(place, inspect.StructType):
        found = next((field.type for field in place.fields if field.encode_name == name), None)
        return _chosen(found, raw) if isinstance(found, inspect.UnionType) else found
    if isinstance(place, inspect.ListType | inspect.VarTupleType):
        place = place.item_type
    elif isinstance(place, inspect.DictType):
        place = place.value_type
    return _chosen(place, raw) if isinstance(place, inspect.UnionType) else place


def _chosen(union: Any, raw: Any) -> Any:
    """The section of a union: the one whose tag was written, or the only one there is."""
    structs = [one for one in union.types if isinstance(one, msgspec.inspect.StructType)]
    if len(structs) == 1:
        return structs[0]
    for one in structs:
        if isinstance(raw, Mapping) and one.tag_field and raw.get(one.tag_field) == one.tag:
            return one
    return next(iter(one for one in union.types if not isinstance(one, msgspec.inspect.NoneType)), union)
