"""What an attempt leaves behind: messages, token segments, calls, events, changes, verdict, reward.

Records only. Nothing here runs an episode or grades one.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from journeyman.codec import digest, encode
from journeyman.task import Data, EventKind, RowChange, Scalar, Speaker

Failure = Literal["none", "agent", "truncated", "user", "infrastructure"]
Ended = Literal["left", "final", "transfer", "limit", "error", "turn"]
"""Who or what ended an attempt; `turn`: one turn was all that was asked of it (a pivot)."""
RowStatus = Literal["matched", "missing", "wrong", "collateral"]

INVALID_FAILURES: frozenset[str] = frozenset({"user", "infrastructure"})
"""Failures that are nobody's attempt: masked from losses, retried within a budget, counted in reports."""


class ToolCall(Data, frozen=True):
    """A call as the model wrote it. `arguments` is None where they could not be read: then `error` says why and
    `raw` keeps the text."""

    id: str
    name: str
    arguments: dict[str, Any] | None = None
    error: str | None = None
    raw: str = ""


class Turn(Data, frozen=True):
    """One model output, interpreted. `finish` tells why sampling stopped.

    Text beside calls is a note to oneself: it never reaches the user.
    """

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = []
    finish: Literal["stop", "length"] = "stop"


class Message(Data, frozen=True):
    """One message. `call_id` ties a tool result to its call; `turn` counts agent turns from 0 (-1: before the first)."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    reasoning: str = ""
    calls: list[ToolCall] = []
    call_id: str | None = None
    name: str | None = None
    turn: int = -1


class CallRecord(Data, frozen=True):
    """One executed (or refused) tool call. `result` is the JSON text the agent saw.

    `index` counts calls in the session from 0; `kind` is `unknown` for a name the world does not have.
    """

    index: int
    turn: int
    tool: str
    kind: Literal["read", "write", "unknown"]
    arguments: dict[str, Any]
    status: Literal["ok", "error"]
    result: str
    code: str = ""


class Event(Data, frozen=True):
    """One thing that happened in the dialogue. `quote` is the text it was read from; `order` is the number
    of calls made before it, so that events and calls share one time line."""

    turn: int
    kind: EventKind
    by: Speaker
    order: int = 0
    slot: str | None = None
    value: Scalar = None
    tool: str | None = None
    arguments: dict[str, Scalar] = {}
    quote: str = ""


class Transcript(Data, frozen=True):
    """All that a grader may see of an attempt."""

    messages: list[Message]
    calls: list[CallRecord]
    events: list[Event]
    changes: list[RowChange]
    ended: Ended


class RowResult(Data, frozen=True):
    """What became of one expected row, or one change nobody asked for (`collateral`). `ref`: row name or table/key."""

    ref: str
    status: RowStatus
    detail: str = ""


class FactResult(Data, frozen=True):
    """Whether one expected fact was told."""

    slot: str
    met: bool
    detail: str = ""


class CriterionResult(Data, frozen=True):
    """The decision on one criterion. `met` None: could not be decided (a judge failed), left out everywhere."""

    id: str
    met: bool | None
    turn: int | None = None
    evidence: str = ""


class Verdict(Data, frozen=True):
    """The grader's answer. `outcome` is the index of the outcome that holds, or of the nearest one."""

    passed: bool
    outcome: int
    rows: list[RowResult]
    facts: list[FactResult]
    criteria: list[CriterionResult]
    ended: bool
    required_met: bool
    grader_version: str

    @property
    def clean(self) -> bool:
        """In the pass band: passed and every required criterion met."""
        return self.passed and self.required_met


class Segment(Data, frozen=True):
    """One exact token stream. All arrays have the length of `token_ids`; `mask` is 1 exactly on sampled ids.

    `logprobs` (natural log, of the tempered distribution) and `versions` are 0 where the mask is 0.
    """

    token_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    versions: list[int]
    temperature: float


class Usage(Data, frozen=True):
    """Tokens and requests of one role. `estimated`: requests whose tokens the endpoint did not tell."""

    input: int = 0
    output: int = 0
    requests: int = 0
    estimated: int = 0


class SamplingSettings(Data, frozen=True):
    """How a policy samples: `max_tokens` per call, `context_limit` for the whole id stream, both in tokens."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 128
    context_limit: int = 1024
    thinking: bool = False


class Seeds(Data, frozen=True):
    """`world` and `user` are equal for every model that is compared; `episode` drives sampling."""

    world: int
    user: int
    episode: int


class Continued(Data, frozen=True):
    """Where an attempt began that did not begin at the opening: before an agent turn of another episode, its trace, whose past it
    shares. `finding`: what the verifier of single turns made of it ("" where the outcome was graded)."""

    trace: str
    turn: int
    finding: str = ""


class Episode(Data, frozen=True):
    """One attempt. `id` is phase/step/group/trial; `attempt` counts infrastructure retries. `user_faults` labels what a user
    that a model plays said or did against its scenario; the attempt is graded all the same. `segments_digest` stands for
    the segments ("" where there are none), so that a record can be checked without them."""

    id: str
    attempt: int
    task_id: str
    task_hash: str
    family: str
    seeds: Seeds
    policy: str
    sampling: SamplingSettings | None
    messages: list[Message]
    calls: list[CallRecord]
    events: list[Event]
    changes: list[RowChange]
    ended: Ended
    verdict: Verdict | None
    reward: float
    failure: Failure
    failure_detail: str = ""
    user_faults: list[str] = []
    segments: list[Segment] = []
    usage: dict[str, Usage] = {}
    timing: dict[str, float] = {}
    pivot: Continued | msgspec.UnsetType = msgspec.UNSET  # left out of the records of all other attempts
    segments_digest: str = ""
    digest: str = ""

    @property
    def group_id(self) -> str:
        """phase/step/group."""
        return self.id.rsplit("/", 1)[0]

    @property
    def valid(self) -> bool:
        """Graded: neither the user nor the machine broke it."""
        return self.failure not in INVALID_FAILURES

    @property
    def intact(self) -> bool:
        """Whether the record is the one that was sealed; segments that were left out are not missed."""
        if self.segments and self.segments_digest != digest(self.segments):
            return False
        return self.digest == self._fingerprint()

    def sealed(self) -> Episode:
        """The same episode with `digest` computed over everything but timing; for the segments stands their own digest."""
        of_segments = digest(self.segments) if self.segments else ""
        whole = msgspec.structs.replace(self, segments_digest=of_segments)
        return msgspec.structs.replace(whole, digest=whole._fingerprint())

    def _fingerprint(self) -> str:
        # As it will be read: there a whole number in a field of fractions is a fraction. The long lists have no such
        # field, and are spared the detour.
        replace = msgspec.structs.replace
        short = replace(self, messages=[], calls=[], events=[], changes=[], segments=[], timing={}, digest="")
        read = _decoder.decode(encode(short))
        return digest(replace(read, messages=self.messages, calls=self.calls, events=self.events, changes=self.changes))


_decoder = msgspec.json.Decoder(Episode)


class Sample(Struct):
    """What the trainer eats: one token stream with its credit. Arrays are full length, 0 where the mask is 0.

    Args:
        logprobs: of the policy that sampled (the behaviour policy).
        proximal_logprobs: of the trainer's weights before the update, where they and not `logprobs` stand below the ratio.
        reference_logprobs: of the policy that a KL in the loss is measured to.
        teacher_logprobs: of a distillation teacher.
        weights: of each token's terms in the loss of the update; None: the mean over all tokens of the update.
    """

    episode_id: str
    group_id: str
    token_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    versions: list[int]
    temperature: float
    advantages: list[float]
    proximal_logprobs: list[float] | None = None
    reference_logprobs: list[float] | None = None
    teacher_logprobs: list[float] | None = None
    weights: list[float] | None = None


class Group(Struct):
    """The attempts whose rewards are compared: G episodes of one task under one group seed."""

    id: str
    task_id: str
    episodes: list[Episode]
