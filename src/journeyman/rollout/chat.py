"""A policy behind an OpenAI-compatible endpoint: it plays by native tool calls and leaves no token ids.

What the model wrote was parsed by its server, so that such episodes are not comparable token for token with those of a
token policy. They are played, limited and graded alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from journeyman.codec import seed_of
from journeyman.engine.base import Sampler
from journeyman.engine.endpoint import ContextExceeded, EndpointClient, Spent
from journeyman.engine.replies import Completion
from journeyman.episode import Message, SamplingSettings, Segment, ToolCall, Turn, Usage
from journeyman.errors import EngineError
from journeyman.rollout.interpret import NativeCall, interpret_native
from journeyman.rollout.policy import EpisodeContext, OutOfTokens

if TYPE_CHECKING:
    from journeyman.world import ToolSpec

CHARACTERS_PER_TOKEN = 32
"""No token is longer on average: a text beyond `max_tokens` times this went past its limit, whatever the server says."""
_KEPT_OF_UNREADABLE = 2_000
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class ChatPolicy:
    """A `Policy` that asks an endpoint.

    Args:
        client: the endpoint.
        name: recorded in every episode.
    """

    client: EndpointClient
    name: str
    sampler: Sampler | None = field(default=None, init=False)
    privileged: bool = field(default=False, init=False)

    def begin(self, context: EpisodeContext) -> ChatActor:
        """A fresh actor. Raises EngineError where the play settings carry no sampling settings."""
        if context.sampling is None:
            raise EngineError("policy", self.name, "a model needs sampling settings: pass `sampling` in PlaySettings.")
        return ChatActor(self.client, context, context.sampling)


class ChatActor:
    """One episode of an endpoint's model. Calls carry ids of its own: those of servers are missing or doubled at times."""

    def __init__(self, client: EndpointClient, context: EpisodeContext, sampling: SamplingSettings) -> None:
        self._client = client
        self._context = context
        self._sampling = sampling
        self._tools = {tool.name: tool for tool in context.tools}
        self._shown = [_schema(tool) for tool in context.tools]
        self._history: list[dict[str, Any]] = []
        self._awaited: list[str] = []
        self._numbered = 0
        self._spent = Spent()
        self._turns = 0

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        """See `Actor`.

        Raises:
            OutOfTokens: the episode's token limit is reached, or the server says that its context is full.
            EndpointFailed: the endpoint gave no usable answer.
        """
        self._history += [self._wire(message) for message in new_messages]
        request = self._request()
        seed = seed_of(self._context.spec.seeds.episode, "turn", self._turns)
        self._turns += 1
        try:
            completion = await self._client.complete(request, self._spent, seed=seed)
        except ContextExceeded as full:
            raise OutOfTokens(f"the context of the endpoint is full: {full.remedy}") from None
        turn = self._read(completion, request["max_tokens"])
        self._remember(turn)
        return turn

    def segments(self) -> list[Segment]:
        """None: an endpoint gives no ids."""
        return []

    def usage(self) -> Usage:
        """Tokens and requests so far, those in vain included."""
        return self._spent.usage()

    def _request(self) -> dict[str, Any]:
        room = self._context.limits.tokens - self._spent.output
        if room <= 0:
            raise OutOfTokens(f"{self._spent.output} tokens were sampled, as many as the episode may")
        request: dict[str, Any] = {
            "messages": self._history,
            "max_tokens": min(self._sampling.max_tokens, room),
            "temperature": self._sampling.temperature,
        }
        if self._sampling.top_p != 1.0:
            request["top_p"] = self._sampling.top_p
        if self._shown:
            request["tools"] = self._shown
        return request

    def _read(self, completion: Completion, max_tokens: int) -> Turn:
        text, finish = completion.text, completion.finish
        longest = max_tokens * CHARACTERS_PER_TOKEN
        if len(text) > longest:
            text, finish = text[:longest], "length"
        native = [NativeCall(call.name, call.arguments) for call in completion.calls]
        return interpret_native(text, completion.reasoning, native, self._tools, finish=finish)

    def _remember(self, turn: Turn) -> None:
        """The turn as the endpoint will see it again. Thoughts are not sent back."""
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or (None if turn.calls else "")}
        if turn.calls:
            # Nine letters and digits: some servers take no other ids.
            ids = [f"call{self._numbered + place:05d}" for place in range(len(turn.calls))]
            self._numbered += len(ids)
            self._awaited = list(ids)
            message["tool_calls"] = [_call(call, call_id) for call, call_id in zip(turn.calls, ids, strict=True)]
        self._history.append(message)

    def _wire(self, message: Message) -> dict[str, Any]:
        if message.role != "tool":
            return {"role": message.role, "content": message.content}
        # Results come in the order of the calls.
        return {"role": "tool", "tool_call_id": self._awaited.pop(0), "content": message.content}


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    """A call of the history. Servers read its arguments again: one that could not be read is shown as what it was."""
    arguments: Mapping[str, Any]
    arguments = {"unreadable": call.raw[:_KEPT_OF_UNREADABLE]} if call.arguments is None else call.arguments
    name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unnamed"
    text = json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _schema(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
