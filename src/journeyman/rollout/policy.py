"""What acts. A policy begins an actor per episode; the actor answers new messages with turns.

`TokenPolicy` keeps the exact id stream of its episode: one request a turn, ids only ever appended, each sampled id in
exactly one segment with mask 1. It knows nothing of worlds, users or grading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from journeyman.codec import seed_of
from journeyman.engine.base import Sampler, SampleRequest
from journeyman.episode import Continued, Message, SamplingSettings, Seeds, Segment, Turn, Usage
from journeyman.errors import EngineError
from journeyman.recipe import Limits
from journeyman.rollout.render import Renderer
from journeyman.task import Data, RowChange, Task

if TYPE_CHECKING:
    from journeyman.world import ToolSpec, World


class EpisodeSpec(Data, frozen=True):
    """One episode to play. `id` is phase/step/group/trial; `attempt` counts retries; `pivot`: where it begins, if not at the
    opening."""

    id: str
    task: Task
    seeds: Seeds
    attempt: int = 0
    pivot: Continued | None = None


@dataclass(frozen=True)
class EpisodeContext:
    """What an actor may know.

    Args:
        tools: the offered tools, in order.
        native_tools: the renderer shows the tools; the system message does not.
        changes: the session's net changes so far. Only policies that declare themselves privileged get it.
    """

    spec: EpisodeSpec
    world: World
    tools: list[ToolSpec]
    limits: Limits
    sampling: SamplingSettings | None = None
    native_tools: bool = False
    changes: Callable[[], list[RowChange]] | None = None


class OutOfTokens(Exception):
    """No room for another turn: the episode is truncated. The message says which limit."""


class Actor(Protocol):
    """One policy in one episode. Single use."""

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        """Answer the messages that came since the last turn (the first call: the system message and what follows).

        Raises:
            OutOfTokens: a token limit leaves no room.
            Exception: anything else is a failure of the machinery.
        """
        ...

    def segments(self) -> list[Segment]:
        """The token streams so far; empty where the policy has no tokens."""
        ...

    def usage(self) -> Usage:
        """Tokens and requests so far."""
        ...


class Policy(Protocol):
    """What acts in many episodes."""

    @property
    def name(self) -> str:
        """Recorded in every episode."""
        ...

    @property
    def sampler(self) -> Sampler | None:
        """What episodes are attached to while they run; None where nothing samples."""
        ...

    @property
    def privileged(self) -> bool:
        """Whether its actors see the session's changes: reference policies only, never one that is measured."""
        ...

    def begin(self, context: EpisodeContext) -> Actor:
        """A fresh actor."""
        ...


@dataclass(frozen=True)
class TokenPolicy:
    """A model, through the sampler that holds its weights and the renderer of its family.

    Args:
        thinking: the renderer where the sampling settings switch thinking on; None: `renderer` serves all settings.
    """

    sampler: Sampler
    renderer: Renderer
    name: str = "model"
    thinking: Renderer | None = None
    privileged: bool = field(default=False, init=False)

    def begin(self, context: EpisodeContext) -> TokenActor:
        """A fresh actor. Raises EngineError where the play settings carry no sampling settings."""
        if context.sampling is None:
            raise EngineError("policy", self.name, "a model needs sampling settings: pass `sampling` in PlaySettings.")
        renderer = self.thinking if self.thinking is not None and context.sampling.thinking else self.renderer
        return TokenActor(self.sampler, renderer, context, context.sampling)


class _Stream:
    """One segment under construction; the arrays grow together."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.versions: list[int] = []
        self.append(ids)

    def append(self, ids: Sequence[int]) -> None:
        """Ids that nobody sampled."""
        self.sampled(ids, [0.0] * len(ids), 0, mask=0)

    def sampled(self, ids: Sequence[int], logprobs: Sequence[float], version: int, mask: int = 1) -> None:
        self.ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs
        self.versions += [version] * len(ids)

    def segment(self, temperature: float) -> Segment:
        """The stream up to its last sampled id: what came after it was never answered."""
        end = len(self.mask) - self.mask[::-1].index(1)
        return Segment(self.ids[:end], self.mask[:end], self.logprobs[:end], self.versions[:end], temperature)


class TokenActor:
    """See the module."""

    def __init__(
        self, sampler: Sampler, renderer: Renderer, context: EpisodeContext, sampling: SamplingSettings
    ) -> None:
        self._sampler = sampler
        self._renderer = renderer
        self._context = context
        self._sampling = sampling
        self._tools = {tool.name: tool for tool in context.tools}
        self._shown = context.tools if context.native_tools else []
        self._history: list[Message] = []
        self._streams: list[_Stream] = []
        self._turn_start = 0
        self._cached = 0
        self._input = self._output = self._requests = 0

    def resume(self, ids: Sequence[int], history: Sequence[Message]) -> None:
        """Go on from a stream that was begun elsewhere, none of whose ids counts as sampled here.

        Args:
            ids: up to where the model speaks next.
            history: the messages that are in it.
        """
        self._streams.append(_Stream(ids))
        self._history += history

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        stream = self._next_prompt(new_messages)
        self._input += len(stream.ids) - self._cached
        request = self._request(stream.ids)
        result = await self._sampler.sample(request)
        if len(result.token_ids) != len(result.logprobs) or len(result.token_ids) > request.max_tokens:
            raise EngineError("sampler", request.episode_id, "answered ids and logprobs that do not fit the request.")
        self._turn_start = len(stream.ids)
        stream.sampled(result.token_ids, result.logprobs, result.version)
        self._cached = len(stream.ids)
        self._output += len(result.token_ids)
        self._requests += 1
        turn = self._renderer.parse(request.prompt_ids, result.token_ids, self._tools, result.finish)
        self._history.append(
            Message(role="assistant", content=turn.text, reasoning=turn.reasoning, calls=list(turn.calls))
        )
        return turn

    def segments(self) -> list[Segment]:
        return [one.segment(self._sampling.temperature) for one in self._streams if any(one.mask)]

    def usage(self) -> Usage:
        return Usage(input=self._input, output=self._output, requests=self._requests)

    def _next_prompt(self, new_messages: Sequence[Message]) -> _Stream:
        """The stream to continue, with the new messages in it."""
        self._history += new_messages
        if self._streams:
            stream = self._streams[-1]
            if not new_messages:  # resumed: the stream is the prompt as it is
                return stream
            prompt, completion = stream.ids[: self._turn_start], stream.ids[self._turn_start :]
            more = self._renderer.extend(prompt, completion, new_messages, self._shown)
            if more is not None:
                stream.append(more)
                return stream
        fresh = _Stream(self._renderer.start(self._history, self._shown))
        self._streams.append(fresh)
        self._cached = 0
        return fresh

    def _request(self, ids: list[int]) -> SampleRequest:
        context_room = self._sampling.context_limit - len(ids)
        if context_room <= 0:
            raise OutOfTokens(
                f"the prompt of {len(ids)} tokens fills the context limit of {self._sampling.context_limit}"
            )
        token_room = self._context.limits.tokens - self._output
        if token_room <= 0:
            raise OutOfTokens(f"{self._output} tokens were sampled, as many as the episode may")
        return SampleRequest(
            episode_id=self._context.spec.id,
            prompt_ids=list(ids),
            max_tokens=min(self._sampling.max_tokens, context_room, token_room),
            temperature=self._sampling.temperature,
            top_p=self._sampling.top_p,
            seed=self._seed(),
            stop_ids=self._renderer.stop_ids,
        )

    def _seed(self) -> int:
        """Uniforms are drawn by (seed, position): a later segment counts positions anew, so it needs its own seed."""
        seed, later = self._context.spec.seeds.episode, len(self._streams) - 1
        return seed_of(seed, "segment", later) if later else seed
