"""Packing samples for training: common prefixes once, micro-batches by tokens, only positions that matter.

Samples are laid into a tree. A node is a stretch of tokens; its context is the stretches on the way from the root. Samples that
share at least `MIN_SHARED` further tokens share a node, so its keys and values are computed once and their gradients add up
over all who attend to them. No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from journeyman.engine.cache import common_prefix
from journeyman.episode import Sample
from journeyman.errors import EngineError

MIN_SHARED = 32
"""Shared tokens from which a node of their own pays."""

_Input = tuple[list[int], str, int]
"""Tokens, episode, index among the samples."""


@dataclass(frozen=True)
class Node:
    """Packed rows [first, end) at positions from `position`; `ancestors` are indices of the nodes before it, root first."""

    first: int
    end: int
    position: int
    ancestors: tuple[int, ...]


@dataclass
class Pack:
    """One micro-batch. Row r holds token `token_ids[r]` at `positions[r]`. Entry e asks that row `rows[e]` predict
    `targets[e]`, which is token `places[e]` of sample `members[e]` (index into the update's samples)."""

    token_ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    @property
    def cost(self) -> int:
        """Work in half rows: the logits of an entry cost about half of what a row's layers do (vocabulary 49k)."""
        return 2 * len(self.token_ids) + len(self.rows)


def check_samples(samples: Sequence[Sample]) -> None:
    """Raises EngineError where arrays differ in length, the first token is to be predicted, or temperature is not positive."""
    for sample in samples:
        arrays: list[Sequence[float] | None] = [sample.mask, sample.logprobs, sample.advantages]
        arrays += [sample.proximal_logprobs, sample.reference_logprobs, sample.weights]
        if any(array is not None and len(array) != len(sample.token_ids) for array in arrays):
            raise EngineError(
                "sample", sample.episode_id, "its arrays differ in length: each must be as long as token_ids."
            )
        if sample.mask and sample.mask[0]:
            raise EngineError(
                "sample", sample.episode_id, "mask[0] is 1, but nothing precedes the first token: set it to 0."
            )
        if sample.temperature <= 0:
            raise EngineError("sample", sample.episode_id, f"temperature is {sample.temperature}: it must be above 0.")


def pack(
    samples: Sequence[Sample], chosen: Sequence[int], budget: int, multiple: int = 1, min_shared: int = MIN_SHARED
) -> list[Pack]:
    """Micro-batches of at most `budget` distinct rows (a longer sample is alone) over samples `chosen` that have a mask.

    They are taken in the order of their tokens, so that those that begin alike meet; the result does not depend on the
    order given.

    Args:
        multiple: as near as can be, the micro-batches are equally large and their number is a multiple of it.
    """
    inputs: list[_Input] = []
    for index in chosen:
        sample = samples[index]
        end = max((place for place, flag in enumerate(sample.mask) if flag), default=0)
        if end:
            inputs.append((sample.token_ids[:end], sample.episode_id, index))
    inputs.sort()
    fresh = [_fresh(before, item, min_shared) for before, item in zip([None, *inputs], inputs, strict=False)]
    count = -(-sum(fresh) // budget)
    even = sum(fresh) / max(-(-count // multiple) * multiple, 1)
    packs: list[Pack] = []
    batch: list[_Input] = []
    size = 0
    for item, added in zip(inputs, fresh, strict=True):
        # Closed where it is nearer to an even share without the next sample than with it.
        if batch and (size + added > budget or size + added / 2 > even):
            packs.append(_build(samples, batch, min_shared))
            batch, size, added = [], 0, len(item[0])
        batch.append(item)
        size += added
    if batch:
        packs.append(_build(samples, batch, min_shared))
    return packs


def deal(packs: Sequence[Pack], count: int) -> list[list[Pack]]:
    """Share `packs` among `count` lanes: the most costly first, each to the lane that has the least to do."""
    hands: list[list[Pack]] = [[] for _ in range(count)]
    loads = [0] * count
    for pack in sorted(packs, key=lambda pack: -pack.cost):
        lane = min(range(count), key=lambda lane: (loads[lane], lane))
        hands[lane].append(pack)
        loads[lane] += pack.cost
    return hands


def _fresh(before: _Input | None, item: _Input, min_shared: int) -> int:
    """Rows that `item` adds behind `before`."""
    shared = common_prefix(before[0], item[0]) if before else 0
    return len(item[0]) - (shared if shared >= min_shared else 0)


def _build(samples: Sequence[Sample], batch: list[_Input], min_shared: int) -> Pack:
    result = Pack()
    row_of: list[list[int]] = [[] for _ in batch]
    _grow(result, [tokens for tokens, _, _ in batch], list(range(len(batch))), 0, (), row_of, min_shared)
    for (_, _, index), rows in zip(batch, row_of, strict=True):
        sample = samples[index]
        for place in range(1, len(rows) + 1):
            if sample.mask[place]:
                result.rows.append(rows[place - 1])
                result.targets.append(sample.token_ids[place])
                result.members.append(index)
                result.places.append(place)
    return result


def _grow(
    result: Pack,
    streams: list[list[int]],
    members: list[int],
    depth: int,
    ancestors: tuple[int, ...],
    row_of: list[list[int]],
    min_shared: int,
) -> None:
    """Add nodes for `members` (sorted, equal in their first `depth` tokens, which `ancestors` hold)."""
    at = 0
    while at < len(members):
        head, last = members[at], at
        while last + 1 < len(members):
            if common_prefix(streams[head], streams[members[last + 1]]) < depth + min_shared:
                break
            last += 1
        cluster = members[at : last + 1]
        at = last + 1
        end = common_prefix(streams[head], streams[cluster[-1]]) if len(cluster) > 1 else len(streams[head])
        if end == depth:
            continue
        first, node = len(result.token_ids), len(result.nodes)
        result.token_ids += streams[head][depth:end]
        result.positions += range(depth, end)
        result.nodes.append(Node(first, len(result.token_ids), depth, ancestors))
        for member in cluster:
            row_of[member] += range(first, len(result.token_ids))
        if len(cluster) > 1:
            _grow(result, streams, cluster, end, (*ancestors, node), row_of, min_shared)
