"""A teacher behind an endpoint: a completions server that takes token ids and tells the log-probabilities of a prompt (vLLM).

    teacher = PromptLogprobs("NAME", endpoint, os.environ)
    teacher.check_tokenizer(tokenizer, "stage opd: teacher.endpoint")
    teacher.logprobs(samples)

POST {url}/completions with `prompt`: ids, `prompt_logprobs`: 1, `max_tokens`: 1; the answer's `prompt_logprobs` holds for each
token a mapping of ids to `{"logprob", "decoded_token"}`. Servers compute these at temperature 1 whatever the request says, so
a sample of another temperature is refused: its student's distribution would be compared with one of another shape. An
answer is used only where it is whole: every position there, under our own id, finite and not positive.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import msgspec

from journeyman.codec import seed_of
from journeyman.engine.background import Background
from journeyman.engine.chat import EndpointFailed
from journeyman.engine.pacing import Clock
from journeyman.engine.replies import BadReply, error_reply, read_json
from journeyman.engine.teacher import HIGHEST_LOGPROB, encoded, probe_texts
from journeyman.engine.wire import Fault, Wire, read_key, refused, unusable
from journeyman.episode import Sample, Usage
from journeyman.errors import EngineError
from journeyman.remote import Endpoint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")

MAX_BODY = 64 << 20
"""Bytes of an answer. A token takes about 150."""
_NOT_OFFERED = frozenset({404, 405, 501})
_UNREADABLE = "\ufffd"


class PromptLogprobs:
    """A `Teacher`. Each call has connections of its own in an event loop of its own, so it may be made from anywhere; it waits
    until all samples are scored.

    Args:
        name: of the endpoint.
        environment: holds its key, if it wants one. The key stands in the header of a request and nowhere else.

    Raises:
        RecipeError: the variable of the key is not set, or holds what no header can carry.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        environment: Mapping[str, str],
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._where = f"endpoint {name}"
        self._key = read_key(endpoint.api_key_env, f"endpoints.{name}.api_key_env", environment)
        self._clock = clock
        self._transport = transport
        self._url = endpoint.url.rstrip("/")
        self._spent = Usage()

    @property
    def spent(self) -> Usage:
        """See `Teacher`. Tokens sent and requests made, those in vain included."""
        return self._spent

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        """See `Teacher`.

        Raises:
            EngineError: a sample of a temperature other than 1.
            EndpointFailed: no usable answer for one of them, retries included.
            KeyRefused: the server does not serve the key.
        """
        for sample in samples:
            refuse_temperature(sample.temperature, self._where, sample.episode_id)
        return self._run(lambda wire: _together([self._score(wire, sample) for sample in samples]))

    def check_tokenizer(self, tokenizer: Tokenizer, key: str) -> None:
        """Find out whether the server writes the same text with the same ids: by its `/tokenize` where it has one, else by the
        texts that it says our ids stand for.

        Args:
            tokenizer: the student's.
            key: of the recipe, for the error.

        Raises:
            EngineError: it does not, or cannot tell.
            EndpointFailed, KeyRefused: it does not answer.
        """
        apart = self._run(lambda wire: self._compare(wire, tokenizer))
        if apart:
            raise EngineError(
                self._where,
                key,
                f"{self.endpoint.model} has another tokenizer than the student ({apart}): its log-probabilities would "
                "be those of other texts. Name a teacher of the student's own model family.",
            )

    def _run(self, work: Callable[[Wire], Coroutine[Any, Any, T]]) -> T:
        """Do it in another thread: the caller's may have an event loop that runs."""

        async def whole() -> T:
            wire = self._wire()
            try:
                return await work(wire)
            finally:
                await wire.close()

        background = Background("journeyman-teacher")
        try:
            return background.run(whole())
        finally:
            background.close()

    def _wire(self) -> Wire:
        endpoint = self.endpoint
        return Wire(
            self._where,
            endpoint.url,
            self._key,
            endpoint.api_key_env,
            timeout=endpoint.timeout_seconds,
            retries=endpoint.retries,
            concurrency=endpoint.max_concurrency,
            per_minute=endpoint.requests_per_minute,
            headers=endpoint.headers,
            max_body=MAX_BODY,
            clock=self._clock,
            transport=self._transport,
        )

    async def _score(self, wire: Wire, sample: Sample) -> list[float]:
        """The log-probabilities of one sample; 0 where the mask is 0. What follows the last sampled token is not sent."""
        size = max((place + 1 for place, flag in enumerate(sample.mask) if flag), default=0)
        found = [0.0] * len(sample.token_ids)
        if not size:
            return found
        ids = sample.token_ids[:size]
        positions = await self._ask(wire, ids, seed_of("teacher", sample.episode_id), sample.episode_id)
        for place in range(size):
            if sample.mask[place]:
                found[place] = _logprob(positions[place], ids[place], f"of {sample.episode_id}, token {place}", wire)
        return found

    async def _ask(self, wire: Wire, ids: list[int], seed: int, what: str) -> list[Any]:
        """What the server says of each position of a prompt (see the module), as many as there are ids."""
        fields: dict[str, Any] = {"model": self.endpoint.model, "prompt": ids, "max_tokens": 1, "temperature": 1.0}
        fields |= {"prompt_logprobs": 1, "return_token_ids": True, "seed": seed & 0x7FFFFFFF, "stream": False}
        for name in self.endpoint.omit:
            fields.pop(name, None)
        body = msgspec.json.encode(fields)

        async def once() -> list[Any]:
            self._count(len(ids))
            value = await _post(wire, f"{self._url}/completions", body)
            try:
                return _positions(value, ids)
            except BadReply as bad:
                raise unusable(bad) from None

        return await self._repeat(wire, once, seed, what)

    async def _compare(self, wire: Wire, tokenizer: Tokenizer) -> str:
        """Where the server's tokenizer parts from ours, in one clause; "" where it does not."""
        try:
            for text in probe_texts(tokenizer):
                theirs = await self._tokenize(wire, text)
                if theirs != encoded(tokenizer, text):
                    return f"it splits {text!r} in another way"
            return ""
        except Fault as fault:
            if fault.status not in _NOT_OFFERED:
                raise EndpointFailed(self._where, "", wire.told(fault), self._spent) from None
        return await self._compare_by_scoring(wire, tokenizer)

    async def _tokenize(self, wire: Wire, text: str) -> list[int]:
        """The server's ids of a text. Raises Fault, with status 404 or its like where it does not offer that."""
        body = msgspec.json.encode({"model": self.endpoint.model, "prompt": text, "add_special_tokens": False})
        # It stands beside the versioned API, not in it.
        url = f"{self._url.removesuffix('/v1')}/tokenize"

        async def once() -> list[int]:
            tokens = (await _post(wire, url, body)).get("tokens")
            if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
                raise Fault("/tokenize answered without `tokens`", passing=False)
            return tokens

        return await wire.repeat(once, seed_of("tokenize", text))

    async def _compare_by_scoring(self, wire: Wire, tokenizer: Tokenizer) -> str:
        """As `_compare`: by the text that the server says each of our ids stands for."""
        compared = 0
        for number, text in enumerate(probe_texts(tokenizer)):
            ids = encoded(tokenizer, text)
            positions = await self._ask(wire, ids, number, "a probe of the tokenizer")
            for token, position in zip(ids[1:], positions[1:], strict=True):
                entry = position.get(str(token)) if isinstance(position, Mapping) else None
                said = entry.get("decoded_token") if isinstance(entry, Mapping) else None
                plain = tokenizer.decode([token], skip_special_tokens=False)
                if entry is None:
                    return f"it does not know token {token} where {text!r} has it"
                if not isinstance(said, str) or _UNREADABLE in plain or _UNREADABLE in said:
                    continue  # a part of a letter has no text of its own
                # Some servers tell a token's text, others how the vocabulary spells it.
                if said not in (plain, tokenizer.id_to_token(token)):
                    return f"token {token} is {said!r} there and {plain!r} here"
                compared += 1
        return "" if compared else "it tells neither /tokenize nor the text of a token, so nobody can know"

    async def _repeat(self, wire: Wire, once: Callable[[], Coroutine[Any, Any, T]], seed: int, what: str) -> T:
        try:
            return await wire.repeat(once, seed)
        except Fault as fault:
            last = fault
        # Outside of the handler: the causes hold requests, and those hold the key.
        raise EndpointFailed(self._where, what, wire.told(last), self._spent)

    def _count(self, tokens: int) -> None:
        spent = self._spent
        self._spent = msgspec.structs.replace(spent, input=spent.input + tokens, requests=spent.requests + 1)


def refuse_temperature(temperature: float, where: str, key: str) -> None:
    """Raises EngineError for one at which no endpoint tells the log-probabilities of a prompt."""
    if temperature != 1.0:
        raise EngineError(
            where,
            key,
            f"was sampled at temperature {temperature:g}, but a server tells the log-probabilities of a prompt at 1: set "
            "sampling.train.temperature = 1, or take a teacher that is computed here.",
        )


async def _together(works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All at once; where one fails the others are dropped."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _post(wire: Wire, url: str, body: bytes) -> dict[str, Any]:
    """The JSON object of an answer with status 200. Raises Fault where there is none."""
    status, headers, data = await wire.exchange("POST", url, body)
    if status != 200:
        raise refused(status, headers, data)
    try:
        value = read_json(data)
        if value.get("error"):
            raise error_reply(value["error"])
    except BadReply as bad:
        raise unusable(bad) from None
    return value


def _positions(value: Mapping[str, Any], ids: Sequence[int]) -> list[Any]:
    """The `prompt_logprobs` of an answer. Raises BadReply where it is not about these ids."""
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    if choice is None:
        raise BadReply("the answer holds no choice")
    echoed = choice.get("prompt_token_ids")
    if echoed is not None and echoed != list(ids):
        raise BadReply("the answer is about other tokens than those it was asked about", 422)
    positions = choice.get("prompt_logprobs")
    if not isinstance(positions, list):
        raise BadReply("the answer holds no prompt_logprobs: this server does not tell them", 422)
    if len(positions) != len(ids):
        raise BadReply(f"prompt_logprobs has {len(positions)} entries for {len(ids)} tokens", 422)
    return positions


def _logprob(position: Any, token: int, what: str, wire: Wire) -> float:
    """The log-probability of a token at its position. Raises EndpointFailed where there is none."""
    entry = position.get(str(token)) if isinstance(position, Mapping) else None
    if entry is None:
        raise EndpointFailed(wire.where, what, f"prompt_logprobs does not speak of id {token}: it reads other tokens.")
    value = entry.get("logprob") if isinstance(entry, Mapping) else None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value > HIGHEST_LOGPROB
    ):
        raise EndpointFailed(wire.where, what, f"{wire.clause(repr(value))} is no log-probability.")
    return float(value)
