"""Qwen3 through the `renderers` library, which extends sampled turns without rendering them again.

The library lays out messages; two things are kept from it. Text that somebody wrote is cut apart so that it cannot
turn into a special token: a break mark goes inside each occurrence, and the tokenizer given to the library encodes the
pieces between marks one by one. And calls are read by `interpret`, never by the library's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from renderers.configs import Qwen3RendererConfig
from renderers.qwen3 import Qwen3Renderer
from renderers.reasoning import prompt_ends_in_reasoning

from journeyman.episode import Message, Turn
from journeyman.rollout.interpret import CALL_CLOSE, CALL_OPEN, THINK_CLOSE, THINK_OPEN, call_text, compose, interpret
from journeyman.rollout.render import Renderer, TextEncoder, token_id

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from journeyman.world import ToolSpec

# Two private-use characters: the first escapes itself and the second, the second is the break.
_ESCAPE, _BREAK = "\U0010fff0", "\U0010fff1"


class QwenRenderer(Renderer):
    """See the module.

    Args:
        thinking: whether the model may think before it speaks; if not, an empty thought is part of the prompt.
        retention: `template` drops earlier thoughts when the user speaks again, as Qwen3 was trained (a new segment
            begins); `all` keeps them, so that an episode stays one stream.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, thinking: bool = False, retention: Literal["template", "all"] = "template"
    ) -> None:
        self._tokenizer = tokenizer
        self._text = TextEncoder(tokenizer)
        self._adapter = _Adapter(tokenizer)
        self._close = token_id(tokenizer, "<|im_end|>")
        self._stop = frozenset({self._close, token_id(tokenizer, "<|endoftext|>")})
        self._call_ids = (token_id(tokenizer, CALL_OPEN), token_id(tokenizer, CALL_CLOSE))
        self._think_ids = (token_id(tokenizer, THINK_OPEN), token_id(tokenizer, THINK_CLOSE))
        kept = "all" if retention == "all" else None
        self._library = Qwen3Renderer(
            self._adapter, Qwen3RendererConfig(enable_thinking=thinking, thinking_retention=kept)
        )

    @property
    def stop_ids(self) -> frozenset[int]:
        return self._stop

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> list[int]:
        return list(
            self._library.render_ids(
                self._messages(messages), tools=self._tools(tools) or None, add_generation_prompt=True
            )
        )

    def extend(
        self,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
    ) -> list[int] | None:
        stream = [*prompt_ids, *completion_ids]
        bridged = self._library.bridge_to_next_turn(
            list(prompt_ids), list(completion_ids), self._messages(messages), tools=self._tools(tools) or None
        )
        if bridged is None or list(bridged.token_ids[: len(stream)]) != stream:
            return None
        return list(bridged.token_ids[len(stream) :])

    def complete(self, message: Message) -> list[int]:
        ids: list[int] = []
        if message.reasoning:
            opening, closing = self._think_ids
            ids += [opening, *self._text.encode(f"\n{message.reasoning}\n"), closing, *self._text.encode("\n\n")]
        ids += self._text.encode(f"{message.content}\n" if message.content and message.calls else message.content)
        for index, call in enumerate(message.calls):
            ids += self._text.encode("\n") if index else []
            ids += [self._call_ids[0], *self._text.encode(f"\n{call_text(call)}\n"), self._call_ids[1]]
        return [*ids, self._close]

    def parse(
        self,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        tools: Mapping[str, ToolSpec],
        finish: Literal["stop", "length"] = "stop",
    ) -> Turn:
        ids = list(completion_ids)
        while ids and ids[-1] in self._stop:
            ids.pop()
        thinking = prompt_ends_in_reasoning(self._adapter, list(prompt_ids), stop_ids=self._stop)
        text = self._tokenizer.decode(ids, skip_special_tokens=False)
        return interpret(text, tools, finish=finish, thinking_open=thinking)

    def _messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        return [self._message(message) for message in messages]

    def _message(self, message: Message) -> dict[str, Any]:
        shown: dict[str, Any] = {"role": message.role, "content": self._marked(message.content)}
        if message.role != "assistant":
            return shown
        if message.reasoning:
            shown["reasoning_content"] = self._marked(message.reasoning)
        read = [call for call in message.calls if call.arguments is not None]
        if len(read) < len(message.calls):
            # The library lays out calls as JSON, which an unreadable one is not: history shows it as text.
            shown["content"] = self._marked(compose(msgspec.structs.replace(message, reasoning="")))
        elif read:
            shown["tool_calls"] = [
                {"function": {"name": self._marked(call.name), "arguments": self._marked_value(call.arguments)}}
                for call in read
            ]
        return shown

    def _tools(self, tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": self._marked_value(
                    {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                ),
            }
            for tool in tools
        ]

    def _marked_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._marked(value)
        if isinstance(value, list):
            return [self._marked_value(item) for item in value]
        if isinstance(value, dict):
            return {self._marked(key): self._marked_value(item) for key, item in value.items()}
        return value

    def _marked(self, text: str) -> str:
        """`text` with a break inside each added token's string, for `_Adapter.encode` to cut at."""
        pieces = (piece.replace(_ESCAPE, _ESCAPE * 2) for piece in self._text.pieces(text))
        return _BREAK.join(piece.replace(_BREAK, _ESCAPE + _BREAK) for piece in pieces)


class _Adapter:
    """What the library sees of a tokenizer. `encode` cuts at the breaks that `QwenRenderer` put into the text."""

    name_or_path = "qwen3"
    unk_token_id = None
    eos_token_id = None

    _parts = re.compile(f"{_ESCAPE}(.)|({_BREAK})|([^{_ESCAPE}{_BREAK}]+)", re.DOTALL)

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        pieces = [""]
        for literal, cut, plain in self._parts.findall(text):
            if cut:
                pieces.append("")
            else:
                pieces[-1] += literal or plain
        return [token for piece in pieces for token in self._tokenizer.encode(piece, add_special_tokens=False).ids]

    def decode(self, ids: Sequence[int], *_: Any, **__: Any) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def convert_tokens_to_ids(self, token: str) -> int | None:
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)
