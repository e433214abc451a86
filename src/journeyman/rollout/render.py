"""From messages to token ids and back: the protocol, safe encoding of text, and the rendering of whole traces.

What was sampled is what is trained: a renderer only ever appends to a stream of ids. Where a template forbids that,
`extend` answers None and the caller begins a new segment. A renderer knows nothing of samplers or tasks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from journeyman.episode import Message, Turn
from journeyman.errors import EngineError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from journeyman.world import ToolSpec

RendererKind = Literal["auto", "chatml", "qwen3"]


class Renderer(Protocol):
    """Turns messages into ids for one model family."""

    @property
    def stop_ids(self) -> frozenset[int]:
        """Ids that end a turn; they are part of what is sampled."""
        ...

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> list[int]:
        """Ids of a conversation from its beginning up to where the model speaks.

        Args:
            messages: the system message first; assistant messages are given as history, none of it sampled.
            tools: tools that the template itself shows (empty where the system message names them).
        """
        ...

    def extend(
        self,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
    ) -> list[int] | None:
        """Ids to append after `prompt_ids + completion_ids` so that the model can answer `messages`.

        A completion that was cut off gets its closing token here: synthetic, never sampled. `messages` holds user
        and tool messages only. None: the template cannot go on from these ids, so a new segment must begin.
        """
        ...

    def complete(self, message: Message) -> list[int]:
        """The ids that a model which meant this assistant message would have sampled, stop token included."""
        ...

    def parse(
        self,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        tools: Mapping[str, ToolSpec],
        finish: Literal["stop", "length"] = "stop",
    ) -> Turn:
        """Read what was sampled after `prompt_ids`, by `interpret`."""
        ...


def render_episode(
    renderer: Renderer, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), untaught: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """The stream that a token policy would have left behind had it sampled the assistant messages.

    Args:
        messages: a whole conversation, the system message first. What follows the last assistant message is left out.
        tools: as for `Renderer.start`.
        untaught: places of assistant messages that are there to be answered, not to be learnt.

    Returns:
        Token ids and mask, of one length. The mask is 1 on assistant turns but the untaught, their stop tokens included.

    Raises:
        EngineError: there is no assistant message, or the template needs more than one segment.
    """
    turns = [index for index, message in enumerate(messages) if message.role == "assistant"]
    if not turns:
        raise EngineError("trace", "messages", "holds no assistant message: there is nothing to learn from it.")
    ids = renderer.start(messages[: turns[0]], tools)
    mask = [0] * len(ids)
    for place, index in enumerate(turns):
        completion = renderer.complete(messages[index])
        prompt, ids = ids, [*ids, *completion]
        mask += [int(index not in untaught)] * len(completion)
        if place + 1 == len(turns):
            break
        more = renderer.extend(prompt, completion, messages[index + 1 : turns[place + 1]], tools)
        if more is None:
            raise EngineError(
                "trace", "thinking", "this template drops earlier thoughts: render traces with thinking switched off."
            )
        ids += more
        mask += [0] * len(more)
    return ids, mask


def make_renderer(kind: RendererKind, tokenizer: Tokenizer, *, thinking: bool = False) -> Renderer:
    """The renderer of a model. `auto` takes Qwen3's where the tokenizer has a token for `<tool_call>`.

    Raises:
        EngineError: the tokenizer lacks the tokens that the renderer needs, or thinking is asked of a model that has
            no such switch.
    """
    from journeyman.rollout.chatml import ChatMLRenderer

    native = tokenizer.token_to_id("<tool_call>") is not None and tokenizer.token_to_id("</think>") is not None
    if kind == "qwen3" or (kind == "auto" and native):
        from journeyman.rollout.qwen import QwenRenderer

        return QwenRenderer(tokenizer, thinking=thinking)
    if thinking:
        raise EngineError("renderer", "thinking", "ChatML has no switch for it: set sampling.*.thinking to false.")
    return ChatMLRenderer(tokenizer)


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a special token. Raises EngineError where the tokenizer has none."""
    found = tokenizer.token_to_id(token)
    if found is None:
        raise EngineError("tokenizer", token, "has no such token: choose another `model.renderer` in the recipe.")
    return int(found)


class TextEncoder:
    """Encodes text that somebody wrote, so that no added token can come out of it.

    Tokenizers find added tokens (`<|im_end|>`, `<tool_call>`) in any text. Here the text is cut inside each of their
    occurrences and the pieces are encoded one by one: no piece holds a whole one.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.added_ids = frozenset(added)
        names = sorted((token.content for token in added.values()), key=len, reverse=True)
        # A lookahead finds overlapping occurrences too.
        self._added = re.compile("(?=" + "|".join(re.escape(name) for name in names) + ")") if names else None

    def pieces(self, text: str) -> list[str]:
        """`text` cut one character into each occurrence of an added token."""
        if self._added is None:
            return [text] if text else []
        cuts = [match.start() + 1 for match in self._added.finditer(text)]
        return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if begin < end]

    def encode(self, text: str) -> list[int]:
        """Ids of `text`; none of them is an added token's."""
        return [token for piece in self.pieces(text) for token in self._encode(piece)]

    def _encode(self, piece: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(piece, add_special_tokens=False).ids
        if self.added_ids.isdisjoint(ids):
            return ids
        # Normalisation made a token of what was none: one character at a time, it cannot.
        return [
            token
            for character in piece
            for token in self._tokenizer.encode(character, add_special_tokens=False).ids
            if token not in self.added_ids
        ]
