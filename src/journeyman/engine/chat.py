"""What a remote chat model is to the rest of the project: messages in, text out, tokens counted. No HTTP here."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from journeyman.episode import Usage
from journeyman.errors import EndpointError


class ChatReply(Struct, frozen=True):
    """The text of one answer and what it cost, requests that had to be repeated included.

    `estimated` counts the requests whose tokens the server did not tell, so that they were estimated.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 1
    estimated: int = 0


class ChatClient(Protocol):
    """A chat model behind an endpoint."""

    async def chat(
        self, messages: list[dict[str, Any]], *, max_tokens: int, temperature: float, seed: int
    ) -> ChatReply:
        """Answer a conversation in the form of the OpenAI API.

        Raises:
            EndpointFailed: there was no usable answer, retries included.
            KeyRefused: the endpoint does not serve this key.
        """
        ...


class EndpointFailed(EndpointError):
    """An endpoint gave no usable answer. `usage` is what was spent in vain."""

    def __init__(self, where: str, key: str, remedy: str, usage: Usage | None = None) -> None:
        super().__init__(where, key, remedy)
        self.usage = usage if usage is not None else Usage()


class KeyRefused(EndpointError):
    """An endpoint does not serve the key it was given, or wants one. No other request would fare better, so this is the
    end of the run and no failure of an attempt: whoever plays, judges or records lets it pass."""
