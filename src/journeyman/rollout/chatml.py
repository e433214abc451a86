"""ChatML over any `tokenizers.Tokenizer` that has `<|im_start|>` and `<|im_end|>`: SmolLM2 and the tiny test model.

    <|im_start|>system\\n…<|im_end|>\\n<|im_start|>user\\n…<|im_end|>\\n<|im_start|>assistant\\n

Tool results are messages of the role `tool`. Every turn is appended; nothing is ever rendered twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from journeyman.episode import Message, Turn
from journeyman.rollout.interpret import compose, interpret
from journeyman.rollout.prompt import CALL_FORMAT
from journeyman.rollout.render import Renderer, TextEncoder, token_id

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from journeyman.world import ToolSpec


class ChatMLRenderer(Renderer):
    """See the module. `tools` given to `start` are listed below the system message as JSON Schemas."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._text = TextEncoder(tokenizer)
        self._open = token_id(tokenizer, "<|im_start|>")
        self._close = token_id(tokenizer, "<|im_end|>")
        end_of_text = tokenizer.token_to_id("<|endoftext|>")
        self._stop = frozenset({self._close} if end_of_text is None else {self._close, int(end_of_text)})
        self._newline = self._text.encode("\n")
        self._generation = [self._open, *self._text.encode("assistant\n")]

    @property
    def stop_ids(self) -> frozenset[int]:
        return self._stop

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> list[int]:
        ids: list[int] = []
        for index, message in enumerate(messages):
            content = message.content
            if index == 0 and tools:
                content = f"{content}\n{_schemas(tools)}"
            ids += self._message(message.role, compose(message) if message.role == "assistant" else content)
        return ids + self._generation

    def extend(
        self,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
    ) -> list[int] | None:
        closed = bool(completion_ids) and completion_ids[-1] == self._close
        ids = [*([] if closed else [self._close]), *self._newline]
        for message in messages:
            ids += self._message(message.role, message.content)
        return ids + self._generation

    def complete(self, message: Message) -> list[int]:
        return [*self._text.encode(compose(message)), self._close]

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
        return interpret(self._tokenizer.decode(ids, skip_special_tokens=False), tools, finish=finish)

    def _message(self, role: str, content: str) -> list[int]:
        return [self._open, *self._text.encode(f"{role}\n{content}"), self._close, *self._newline]


def _schemas(tools: Sequence[ToolSpec]) -> str:
    listed = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
    return "\n".join([CALL_FORMAT, *(json.dumps(tool, ensure_ascii=False) for tool in listed)])
