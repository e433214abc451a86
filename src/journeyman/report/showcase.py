"""The same held-out task played before and after training, prepared for reading side by side.

Long texts are cut with a note of what was left out; nothing is interpreted here but what the records say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from journeyman.episode import CallRecord, Episode, Message, ToolCall
from journeyman.evaluate.metrics import trial_of
from journeyman.report.text import truncate
from journeyman.task import RowChange, Scalar, Task

MESSAGE_LIMIT = 1500
RESULT_LIMIT = 420
VALUE_LIMIT = 120
LINES_LIMIT = 60


class Line(Struct, frozen=True):
    """One thing said or done. `kind`: `user`, `agent`, `note` (text beside calls, unseen by the user), `thought`, `call`.

    For a call, `text` is the call, `result` what came back and `status` `ok`, `error` or `unread`.
    """

    kind: str
    text: str
    result: str = ""
    status: str = ""


class CriterionLine(Struct, frozen=True):
    """A criterion and what became of it (`met` None: undecided)."""

    text: str
    met: bool | None
    required: bool
    evidence: str


class Play(Struct, frozen=True):
    """One episode, prepared. `left_out`: lines beyond the limit."""

    label: str
    episode_id: str
    passed: bool
    clean: bool
    reward: float
    ended: str
    failure: str
    lines: list[Line]
    left_out: int
    changes: list[str]
    rows: list[str]
    facts: list[str]
    criteria: list[CriterionLine]


class Showcase(Struct, frozen=True):
    """One task, played by several models on the same trial. `why` says how it was chosen."""

    title: str
    task_id: str
    why: str
    request: str
    plays: list[Play]


def choose_showcases(phases: Sequence[tuple[str, Sequence[Episode]]], tasks: Mapping[str, Task]) -> list[Showcase]:
    """A task the trained model gained most on, and one it still fails, each as played by the first and the last phase.

    Args:
        phases: label and episodes of each phase, in order; all on the same tasks.
        tasks: known tasks by id, for the wording of criteria; may be empty.
    """
    if len(phases) < 2:
        return []
    (label_a, before), (label_b, after) = phases[0], phases[-1]
    first = {_key(e): e for e in before if e.valid and e.verdict is not None}
    last = {_key(e): e for e in after if e.valid and e.verdict is not None}
    keys = [key for key in last if key in first]
    rate_a, rate_b = _rates(before), _rates(after)
    gained = [k for k in keys if not _passed(first[k]) and _passed(last[k])]
    failed = [k for k in keys if not _passed(last[k])]
    chosen: list[Showcase] = []
    if gained:
        # The largest gain; of equal gains clean ones and the longer story first, then by id so that it is repeatable.
        key = min(gained, key=lambda k: (rate_a[k[0]] - rate_b[k[0]], not _clean(last[k]), -len(last[k].calls), k))
        why = f"Chosen as the task with the largest gain: {label_a} fails this trial, {label_b} passes it."
        chosen.append(_showcase("Gained", key, why, [(label_a, first[key]), (label_b, last[key])], tasks))
    if failed:
        key = min(failed, key=lambda k: (rate_b[k[0]], -len(last[k].calls), k))
        why = f"Chosen as the hardest for {label_b}: the lowest pass rate, of equal rates the attempt with most calls."
        chosen.append(_showcase("Still failed", key, why, [(label_a, first[key]), (label_b, last[key])], tasks))
    return chosen


def _key(episode: Episode) -> tuple[str, str]:
    return episode.task_id, trial_of(episode)


def _passed(episode: Episode) -> bool:
    return episode.verdict is not None and episode.verdict.passed


def _clean(episode: Episode) -> bool:
    return episode.verdict is not None and episode.verdict.clean


def _rates(episodes: Sequence[Episode]) -> dict[str, float]:
    passes: dict[str, list[bool]] = {}
    for episode in episodes:
        passes.setdefault(episode.task_id, []).append(_passed(episode))
    return {task: sum(flags) / len(flags) for task, flags in passes.items()}


def _showcase(
    title: str,
    key: tuple[str, str],
    why: str,
    episodes: Sequence[tuple[str, Episode]],
    tasks: Mapping[str, Task],
) -> Showcase:
    task = tasks.get(key[0])
    request = truncate(task.request, MESSAGE_LIMIT) if task is not None else ""
    return Showcase(title, key[0], why, request, [prepare(label, episode, task) for label, episode in episodes])


def prepare(label: str, episode: Episode, task: Task | None = None) -> Play:
    """An episode as lines to read, with its database changes and verdict."""
    lines = _lines(episode)
    verdict = episode.verdict
    criteria = {item.id: item for item in task.criteria} if task is not None else {}
    return Play(
        label=label,
        episode_id=episode.id,
        passed=_passed(episode),
        clean=_clean(episode),
        reward=episode.reward,
        ended=episode.ended,
        failure=episode.failure,
        lines=lines[:LINES_LIMIT],
        left_out=max(0, len(lines) - LINES_LIMIT),
        changes=[describe_change(change) for change in episode.changes[:LINES_LIMIT]],
        rows=[_detail(row.status, row.ref, row.detail) for row in verdict.rows] if verdict else [],
        facts=[_detail("told" if f.met else "not told", f.slot, f.detail) for f in verdict.facts] if verdict else [],
        criteria=[
            CriterionLine(
                truncate(criteria[c.id].text if c.id in criteria else c.id, VALUE_LIMIT * 2),
                c.met,
                criteria[c.id].required if c.id in criteria else False,
                truncate(c.evidence, VALUE_LIMIT),
            )
            for c in verdict.criteria
        ]
        if verdict
        else [],
    )


def describe_change(change: RowChange) -> str:
    """A row change in one line: `update payments id=7: status pending → paid`."""
    key = " ".join(f"{name}={_scalar(value)}" for name, value in change.key.items())
    if change.op == "update":
        columns = [f"{n} {_scalar(change.old.get(n))} → {_scalar(new)}" for n, new in change.new.items()]
    else:
        source = change.new if change.op == "insert" else change.old
        columns = [f"{n} {_scalar(value)}" for n, value in source.items() if n not in change.key]
    return truncate(f"{change.op} {change.table} {key}: {', '.join(columns)}", RESULT_LIMIT)


def _scalar(value: Scalar) -> str:
    return "null" if value is None else truncate(str(value), VALUE_LIMIT)


def _detail(status: str, ref: str, detail: str) -> str:
    return truncate(f"{status}: {ref}{f' ({detail})' if detail else ''}", RESULT_LIMIT)


def _lines(episode: Episode) -> list[Line]:
    results = {m.call_id: m.content for m in episode.messages if m.role == "tool" and m.call_id}
    records: dict[int, list[CallRecord]] = {}
    for record in episode.calls:
        records.setdefault(record.turn, []).append(record)
    lines: list[Line] = []
    for message in episode.messages:
        if message.role == "user":
            lines.append(Line("user", truncate(message.content, MESSAGE_LIMIT)))
        elif message.role == "assistant":
            lines.extend(_agent_lines(message, results, records.get(message.turn, [])))
    return lines


def _agent_lines(message: Message, results: Mapping[str, str], records: list[CallRecord]) -> list[Line]:
    lines = [Line("thought", truncate(message.reasoning, RESULT_LIMIT))] if message.reasoning else []
    if message.content.strip():
        lines.append(Line("note" if message.calls else "agent", truncate(message.content, MESSAGE_LIMIT)))
    for call in message.calls:
        record = next((r for r in records if r.tool == call.name), None)
        if record is not None:
            records.remove(record)
        result = results.get(call.id, record.result if record is not None else "")
        status = record.status if record is not None else "unread"
        lines.append(Line("call", _call_text(call), truncate(result, RESULT_LIMIT), status))
    return lines


def _call_text(call: ToolCall) -> str:
    if call.arguments is None:
        return truncate(f"{call.name}(unreadable: {call.error or 'no arguments'})", RESULT_LIMIT)
    parts = [f"{name}={msgspec.json.encode(value).decode()}" for name, value in call.arguments.items()]
    return truncate(f"{call.name}({', '.join(parts)})", RESULT_LIMIT)
