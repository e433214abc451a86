"""Traces for supervised fine-tuning: what teachers did, played in the real loop, kept only where it verifiably passed.

Each trace of a task meets a user who speaks differently. Kept traces carry the ids and the mask that a model would have left
behind had it sampled them, with one exception: a turn that the business refused for the agent's own slip (a misspelt
tool, argument or key) is there to be recovered from and not to be learnt, so its mask is 0.

Which traces are kept is a pure function of what was played, in this order (`choose_traces`):

1. solved: see `is_solved`;
2. readable: the ids say exactly what was played (`tokenised`);
3. fitting: no longer than the context limit;
4. distinct: no earlier trace has the same content (`content_key`);
5. at most so many of a task, spread over the teachers in turn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from journeyman.codec import digest, seed_of
from journeyman.episode import CallRecord, Episode, Message, Segment
from journeyman.rollout.render import Renderer, render_episode
from journeyman.task import Task
from journeyman.train.guard import refuse_held_out
from journeyman.train.method import GroupRequest, GroupSource, group_id
from journeyman.world import ToolSpec

T = TypeVar("T")

SLIPS = frozenset({"unknown_tool", "unknown_argument", "missing_argument", "invalid_argument"})
"""Codes of errors that the agent's own slip made. A time-out or a refusal by policy is none: its turn teaches. Nor is it one
that there is no record of a key that the customer gave; only that of a key which nobody had named is (`not_found`)."""
_WORD = re.compile(r"\w+")


def is_solved(episode: Episode, reward: Literal["gated_rubric", "binary"] = "gated_rubric") -> bool:
    """Whether a trace may teach: passed, every required criterion met and, where the reward counts them, every other that was
    decided. That is a reward of 1 before penalties, which a model behind an endpoint pays for its tokens."""
    verdict = episode.verdict
    if not episode.valid or verdict is None or not verdict.clean:
        return False
    return reward == "binary" or all(criterion.met is not False for criterion in verdict.criteria)


async def collect_traces(
    tasks: Sequence[Task],
    attempts: int,
    phase: str,
    teachers: Sequence[GroupSource],
    held_out_worlds: Collection[str] = (),
) -> list[Episode]:
    """Have every teacher play every task `attempts` times. All episodes come back, by teacher, task and attempt.

    Args:
        phase: phase of their ids. The step of an id is the teacher's place; each trace is a group of its own, and with it
            gets a user phrasing of its own.
        teachers: each plays with its own policy and fills in segments (`tokenised`).

    Raises:
        RecipeError: a task is held out.
    """
    refuse_held_out(tasks, f"stage {phase} (traces)", held_out_worlds)
    played: list[Episode] = []
    for place, source in enumerate(teachers):
        requests = [
            GroupRequest(group_id(phase, place, number * attempts + attempt), task.id, 1)
            for number, task in enumerate(tasks)
            for attempt in range(attempts)
        ]
        played += [episode for group in await source.play(requests) for episode in group.episodes]
    return played


class TraceRendering(Struct, frozen=True):
    """How the trained model would have seen and said what a teacher did.

    Args:
        system: task id -> the system message that the model gets, whatever the teacher got.
        shown: task id -> the tools that the renderer's template shows (none where the system message names them).
        offered: task id -> all tools that the task offers.
        thoughts: whether a teacher's thoughts are kept.
    """

    system: Callable[[str], str]
    shown: Callable[[str], Sequence[ToolSpec]]
    offered: Callable[[str], Sequence[ToolSpec]]
    thoughts: bool = False


def tokenised(
    renderer: Renderer, rendering: TraceRendering, solved: Callable[[Episode], bool] = is_solved
) -> Callable[[Episode], Episode]:
    """A function that gives a solved episode its one segment. Others are left without, and so are those that the renderer cannot
    say so that the same turns are read back (a text with a tag of calls in it, for one)."""

    def finish(episode: Episode) -> Episode:
        if not solved(episode):
            return episode
        messages = as_seen(episode, rendering)
        slips = slipped_turns(episode)
        untaught = [place for place, message in enumerate(messages) if _is_turn(message) and message.turn in slips]
        taught = [one for one in messages if _is_turn(one) and one.turn not in slips]
        tools = {tool.name: tool for tool in rendering.offered(episode.task_id)}
        if not all(_reads_back(renderer, message, tools) for message in taught):
            return episode
        ids, mask = render_episode(renderer, messages, rendering.shown(episode.task_id), untaught)
        segment = Segment(ids, mask, [0.0] * len(ids), [0] * len(ids), 1.0)
        return msgspec.structs.replace(episode, segments=[segment]).sealed()

    return finish


def slipped_turns(episode: Episode) -> set[int]:
    """Numbers of the turns in which a call could not be read or was refused for a slip (`SLIPS`)."""
    unread = {one.turn for one in episode.messages if any(call.arguments is None for call in one.calls)}
    return unread | {call.turn for call in episode.calls if call.status == "error" and _is_slip(call, episode)}


def _is_slip(call: CallRecord, episode: Episode) -> bool:
    if call.code != "not_found":
        return call.code in SLIPS
    told = "\n".join(one.content for one in episode.messages if one.turn < call.turn and not _is_turn(one))
    keys = [value for value in call.arguments.values() if isinstance(value, str | int) and not isinstance(value, bool)]
    return not all(re.search(rf"(?<![\w-]){re.escape(str(key))}(?![\w-])", told) for key in keys)


def _is_turn(message: Message) -> bool:
    return message.role == "assistant"


def as_seen(episode: Episode, rendering: TraceRendering) -> list[Message]:
    """The messages of an episode as the trained model would have seen them."""
    return [_message_as_seen(message, rendering, episode.task_id) for message in episode.messages]


def _message_as_seen(message: Message, rendering: TraceRendering, task_id: str) -> Message:
    if message.role == "system":
        return msgspec.structs.replace(message, content=rendering.system(task_id))
    return message if rendering.thoughts else msgspec.structs.replace(message, reasoning="")


def _reads_back(renderer: Renderer, message: Message, tools: Mapping[str, ToolSpec]) -> bool:
    turn = renderer.parse([], renderer.complete(message), tools)
    said = [(call.name, call.arguments) for call in message.calls]
    return turn.text == message.content.strip() and [(call.name, call.arguments) for call in turn.calls] == said


class TraceCounts(Struct):
    """What became of one teacher's episodes. All but the kept ones and the first add up to those left out."""

    played: int = 0
    unsolved: int = 0
    unreadable: int = 0
    too_long: int = 0
    duplicates: int = 0
    over_cap: int = 0
    kept: int = 0


class TraceChoice(Struct):
    """The traces that are kept, in the order in which they were played, and counts by teacher."""

    traces: list[Episode]
    counts: dict[str, TraceCounts]

    def line(self) -> dict[str, Any]:
        """For the metrics: totals, and under `teachers` the same by teacher."""
        by_teacher = {name: msgspec.structs.asdict(counts) for name, counts in self.counts.items()}
        totals: dict[str, Any] = {
            key: sum(counts[key] for counts in by_teacher.values()) for key in TraceCounts.__struct_fields__
        }
        totals["solved"] = totals["played"] - totals["unsolved"]
        return totals | {"teachers": by_teacher}


def choose_traces(
    played: Iterable[Episode],
    teachers: Sequence[str],
    per_task: int,
    context_limit: int,
    seed: int,
    solved: Callable[[Episode], bool] = is_solved,
) -> TraceChoice:
    """The traces that are kept; see the module.

    Args:
        played: of `collect_traces`, in any order.
        teachers: their names, in their places.
        per_task: most traces of one task.
        context_limit: most tokens of one.
        seed: decides which teacher comes first at a task.
    """
    counts = {name: TraceCounts() for name in teachers}
    seen: set[str] = set()
    candidates: dict[str, list[list[Episode]]] = {}
    for episode in sorted(played, key=_place):
        teacher = _place(episode)[0]
        count = counts[teachers[teacher]]
        count.played += 1
        if not solved(episode):
            count.unsolved += 1
        elif not episode.segments:
            count.unreadable += 1
        elif any(len(segment.token_ids) > context_limit for segment in episode.segments):
            count.too_long += 1
        elif (key := content_key(episode)) in seen:
            count.duplicates += 1
        else:
            seen.add(key)
            candidates.setdefault(episode.task_id, [[] for _ in teachers])[teacher].append(episode)
    kept: list[Episode] = []
    for task_id, by_teacher in candidates.items():
        rng = random.Random(seed_of(seed, "teachers", task_id))
        order = in_turn(rng.sample(by_teacher, len(by_teacher)))
        kept += order[:per_task]
        for episode in order[per_task:]:
            counts[teachers[_place(episode)[0]]].over_cap += 1
    for episode in kept:
        counts[teachers[_place(episode)[0]]].kept += 1
    return TraceChoice(sorted(kept, key=_place), counts)


def content_key(episode: Episode) -> str:
    """Equal for traces with the same content, whatever tasks and teachers they are of.

    The content is the conversation from the user's first message to the agent's last: in order, each user message and each
    agent turn as (role, words, calls). Words are the runs of letters, digits and underscores in the text, in lower case;
    punctuation and spaces do not count. Calls are (tool, arguments) in their order; in arguments, texts are taken in
    lower case with single spaces and whole numbers as integers (5.0 as 5); keys in any order. Results are left out: equal
    calls in an equal conversation have equal ones, but for ids and times. Thoughts are left out too.
    """
    turns = [number for number, message in enumerate(episode.messages) if _is_turn(message)]
    end = turns[-1] + 1 if turns else 0
    return digest(
        [
            [
                message.role,
                _WORD.findall(message.content.lower()),
                [
                    [call.name, _normalised(call.raw if call.arguments is None else call.arguments)]
                    for call in message.calls
                ],
            ]
            for message in episode.messages[:end]
            if message.role in ("user", "assistant")
        ]
    )


def share_of(traces: Sequence[Episode], share: float, seed: int) -> list[Episode]:
    """At most `share` of the traces (one at the least), spread over the families in turn, in the order of `traces`."""
    rng = random.Random(seed_of(seed, "share"))
    families: dict[str, list[Episode]] = {}
    for trace in rng.sample(list(traces), len(traces)):
        families.setdefault(trace.family, []).append(trace)
    # Rounded first: 0.1 of 30 is 3, not the 2 that 2.9999999999999996 would give.
    wanted = max(1, int(round(share * len(traces), 9)))
    chosen = {trace.id for trace in in_turn(list(families.values()))[:wanted]}
    return [trace for trace in traces if trace.id in chosen]


def in_turn(groups: Sequence[Sequence[T]]) -> list[T]:
    """All items: the first of every group, then the second of every group that has one, and so on."""
    longest = max((len(group) for group in groups), default=0)
    return [group[place] for place in range(longest) for group in groups if place < len(group)]


def _place(episode: Episode) -> tuple[int, int]:
    """(teacher, number): by their values, since a number of more than four digits sorts wrong as text."""
    _, teacher, number, _ = episode.id.rsplit("/", 3)
    return int(teacher), int(number)


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.lower().split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _normalised(item) for key, item in value.items()}
    return [_normalised(item) for item in value] if isinstance(value, list) else value
