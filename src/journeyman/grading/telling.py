"""Which of the things told stand: a value is told where nothing else is asserted for its slot before the next write that
can change it. A second guess is no answer, and neither is one value among several.

A write can change what a slot tells if the world does not declare otherwise (`touches`) and it left something behind, a
net change that counts: a note or a message changes nothing that a user could be told of, and what was undone again neither.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from journeyman.episode import Event, Transcript
from journeyman.grading.dialogue import Mention
from journeyman.grading.match import Tables, relevant
from journeyman.task import Scalar

Accepts = Callable[[Scalar], bool]
"""Whether a value is one of those that may be told."""


def turning_points(transcript: Transcript, world: Tables, slot: str) -> list[int]:
    """The indices of the calls after which the slot may have another value, in order.

    A write belongs to a changed row whose key stands among its arguments or in its result.
    """
    writes = [
        call
        for call in transcript.calls
        if call.kind == "write" and call.status == "ok" and slot in world.touches.get(call.tool, (slot,))
    ]
    if not writes:
        return []
    keys = {str(value) for change in relevant(transcript.changes, world) for value in change.key.values()}
    return [
        call.index
        for call in writes
        if not keys.isdisjoint(_texts(call.arguments)) or any(f'"{key}"' in call.result for key in keys)
    ]


def period(turns: Sequence[int], event: Event) -> int:
    """How many turning points lie before an event: a call with index i precedes one with order o exactly if i < o."""
    return bisect_left(turns, event.order)


def opposed(told: Event, said: Sequence[Event], turns: Sequence[int], accepts: Accepts) -> Event | None:
    """What else was asserted between the same two turning points as `told`; None where that stands.

    Args:
        said: as from `Timeline.stated`. turns: as from `turning_points`.
    """
    here = period(turns, told)
    return next((event for event in said if period(turns, event) == here and not accepts(event.value)), None)


def written(mentions: Sequence[Mention], slot: str, wanted: Accepts, accepts: Accepts) -> tuple[bool, Mention | None]:
    """Whether a written message holds a wanted value for a slot, and what else it holds that could be meant for it.

    People word a figure in more ways than are read: a value counts that could be the slot's, under whatever name it is
    read. Other values of that name, or of none, oppose it.
    """
    possible = [one for one in mentions if slot in one.slots]
    right = [one for one in possible if wanted(one.value)]
    names: Collection[str | None] = {None, slot, *(one.slot for one in right)}
    other = next((one for one in possible if one.slot in names and not accepts(one.value)), None)
    return bool(right), other


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    else:
        yield str(value)
