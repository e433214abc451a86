"""How an agent worked, read from the order of its calls and events alone: no text, no judge.

Event `order` is the number of calls made before the event, so a call with index i comes after it when i >= order.
A write is a successful call of a write tool; only graded episodes are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from journeyman.codec import canonical
from journeyman.episode import CallRecord, Episode, Event

POLICY_WORDS = ("policy", "policies", "article", "knowledge")
"""A read tool is taken for policy search when its name holds one of these, unless the tools are given."""


class EpisodeBehaviour(Struct, frozen=True):
    """Facts about one episode.

    The two `…_before_write` are None where nothing was written. `writes_after_refusal` counts writes of a tool that the
    user had refused and not consented to since; `writes_after_denial` writes after the agent told the user no
    (lawful where they only document the denial).
    """

    calls: int
    failed_calls: int
    unknown_calls: int
    writes: int
    policy_before_write: bool | None
    record_before_write: bool | None
    repeated_writes: int
    writes_after_refusal: int
    writes_after_denial: int
    transferred: bool
    questions: int


class BehaviourSummary(Struct, frozen=True):
    """A phase's behaviour: rates over graded episodes, the two `…_before_write` over those that wrote.

    None where there was nothing to count over.
    """

    episodes: int
    writing_episodes: int
    policy_before_write: float | None
    record_before_write: float | None
    episodes_with_repeated_write: float | None
    episodes_with_write_after_refusal: float | None
    episodes_with_write_after_denial: float | None
    transferred: float | None
    calls_per_episode: float | None
    failed_call_share: float | None
    unknown_call_share: float | None
    writes_per_episode: float | None
    questions_per_episode: float | None


def is_policy_tool(name: str, policy_tools: Collection[str] | None = None) -> bool:
    """Whether a tool looks up policy: a member of `policy_tools`, or by its name where those are not given."""
    if policy_tools is not None:
        return name in policy_tools
    return any(word in name.lower() for word in POLICY_WORDS)


def read_behaviour(episode: Episode, policy_tools: Collection[str] | None = None) -> EpisodeBehaviour:
    """Behaviour of one episode. `policy_tools`: names of the world's policy look-ups (None: told by name)."""
    done = [call for call in episode.calls if call.status == "ok"]
    writes = [call for call in done if call.kind == "write"]
    before = [call for call in done if writes and call.index < writes[0].index and call.kind == "read"]
    keys = [canonical([call.tool, call.arguments]) for call in writes]
    denials = [event.order for event in episode.events if event.kind == "denied" and event.by == "agent"]
    return EpisodeBehaviour(
        calls=len(episode.calls),
        failed_calls=len(episode.calls) - len(done),
        unknown_calls=sum(call.kind == "unknown" for call in episode.calls),
        writes=len(writes),
        policy_before_write=any(is_policy_tool(c.tool, policy_tools) for c in before) if writes else None,
        record_before_write=any(not is_policy_tool(c.tool, policy_tools) for c in before) if writes else None,
        repeated_writes=len(keys) - len(set(keys)),
        writes_after_refusal=sum(_refused(call, episode.events) for call in writes),
        writes_after_denial=sum(call.index >= min(denials) for call in writes) if denials else 0,
        transferred=episode.ended == "transfer",
        questions=sum(event.kind == "asked" and event.by == "agent" for event in episode.events),
    )


def _refused(call: CallRecord, events: Sequence[Event]) -> bool:
    """The user's last word on this tool before the call was no. A refusal that names no tool covers all."""
    refused = False
    for event in events:
        if event.by != "user" or event.order > call.index or event.tool not in (None, call.tool):
            continue
        if event.kind == "refused":
            refused = True
        elif event.kind == "consented":
            refused = False
    return refused


def summarise_behaviour(episodes: Iterable[Episode], policy_tools: Collection[str] | None = None) -> BehaviourSummary:
    """Behaviour of a phase, from its graded episodes."""
    found = [read_behaviour(episode, policy_tools) for episode in episodes if episode.valid]
    writing = [item for item in found if item.writes]
    calls = sum(item.calls for item in found)
    return BehaviourSummary(
        episodes=len(found),
        writing_episodes=len(writing),
        policy_before_write=_share([bool(item.policy_before_write) for item in writing]),
        record_before_write=_share([bool(item.record_before_write) for item in writing]),
        episodes_with_repeated_write=_share([item.repeated_writes > 0 for item in found]),
        episodes_with_write_after_refusal=_share([item.writes_after_refusal > 0 for item in found]),
        episodes_with_write_after_denial=_share([item.writes_after_denial > 0 for item in found]),
        transferred=_share([item.transferred for item in found]),
        calls_per_episode=_ratio(calls, len(found)),
        failed_call_share=_ratio(sum(item.failed_calls for item in found), calls),
        unknown_call_share=_ratio(sum(item.unknown_calls for item in found), calls),
        writes_per_episode=_ratio(sum(item.writes for item in found), len(found)),
        questions_per_episode=_ratio(sum(item.questions for item in found), len(found)),
    )


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _ratio(count: int, base: int) -> float | None:
    return count / base if base else None
