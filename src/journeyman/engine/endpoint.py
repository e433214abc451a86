"""One remote chat model over HTTP: the OpenAI chat-completions API, whatever the server makes of it.

    client = open_endpoint("NAME", endpoint, os.environ)
    completion = await client.complete({"messages": [...], "max_tokens": 64}, spent, seed=7)

A request is repeated with growing, jittered delays where the fault may pass; requests are paced and bounded in number,
time and size. The key stands in the header of a request and nowhere else: what comes back is cleaned of it. An endpoint
that refuses the key is asked nothing more.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec
from msgspec import Struct

from journeyman.engine.chat import ChatReply, EndpointFailed, KeyRefused
from journeyman.engine.pacing import Clock, MonotonicClock, TokenBucket, retry_delay
from journeyman.engine.replies import BadReply, Completion, error_reply, estimate_tokens, read_completion, read_json
from journeyman.episode import Usage
from journeyman.errors import RecipeError
from journeyman.remote import Endpoint, is_loopback

MAX_BODY = 4 << 20
"""Bytes of an answer, packed or unpacked."""
LONGEST_PAUSE = 120.0
"""Seconds of `Retry-After` that are waited for; a server that asks for more is given up."""
SHORTEST_SECRET = 8
"""Characters from which on a key is a secret and is struck out; what is shorter is a placeholder as `EMPTY`."""
REDACTED = "[key]"
LONGEST_REASON = 400
"""Characters kept of why a request failed: what the server says of it may be long."""
_REDIRECTS = 3
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses of faults that may pass."""
_KEY_REFUSED = frozenset({401, 402, 403})
"""No key, or a wrong one; an account without credit; a key that may not ask for this."""
_NO_CREDIT = "insufficient_quota"
"""The code under which some servers say with status 429 what others say with 402."""
_FLAGGED = re.compile(r"moderat|flagged|content.?(?:policy|filter)", re.IGNORECASE)
"""A refusal of what one conversation says, which some servers send with status 403."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context length|context window|prompt is too long", re.IGNORECASE
)


class Spent(Struct):
    """What one role has used at an endpoint so far; requests count from the moment they are sent."""

    input: int = 0
    output: int = 0
    requests: int = 0
    estimated: int = 0

    def usage(self) -> Usage:
        """As a record."""
        return Usage(self.input, self.output, self.requests, self.estimated)


class ContextExceeded(EndpointFailed):
    """The conversation is longer than the model's context."""


class _Fault(Exception):
    """One try that failed. `passing`: another try may succeed; `pause`: seconds the server wants to be left alone;
    `key_refused`: no request with this key will."""

    def __init__(
        self, reason: str, passing: bool, pause: float = 0.0, too_long: bool = False, key_refused: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.pause = pause
        self.too_long = too_long
        self.key_refused = key_refused


def open_endpoint(
    name: str,
    endpoint: Endpoint,
    environment: Mapping[str, str],
    clock: Clock | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> EndpointClient:
    """The client of an endpoint, with its key from the environment. Nothing is sent yet.

    Raises:
        RecipeError: the variable is not set, or holds what no header can carry.
    """
    key = ""
    if endpoint.api_key_env is not None:
        place = f"endpoints.{name}.api_key_env"
        key = environment.get(endpoint.api_key_env, "").strip()
        if not key:
            raise RecipeError("environment", place, f"{endpoint.api_key_env} is not set: export it and run again.")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise RecipeError("environment", place, f"{endpoint.api_key_env} holds what is no key: export it again.")
    return EndpointClient(name, endpoint, key, clock or MonotonicClock(), transport)


class EndpointClient:
    """A `ChatClient`. Use within one event loop; `close` it at the end."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        key: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self._secret = _secret_pattern(key) if len(key) >= SHORTEST_SECRET else None
        self._key = key
        self._refusal = ""
        self._clock = clock
        self._transport = transport
        self._bucket = TokenBucket(endpoint.requests_per_minute, clock)
        self._room = asyncio.Semaphore(endpoint.max_concurrency)
        self._http: httpx.AsyncClient | None = None
        self._url = endpoint.url.rstrip("/") + "/chat/completions"

    async def chat(
        self, messages: list[dict[str, Any]], *, max_tokens: int, temperature: float, seed: int
    ) -> ChatReply:
        """See `ChatClient`."""
        spent = Spent()
        request = {"messages": messages, "max_tokens": max_tokens, "temperature": temperature}
        completion = await self.complete(request, spent, seed=seed)
        return ChatReply(completion.text, spent.input, spent.output, spent.requests, spent.estimated)

    async def complete(self, request: Mapping[str, Any], spent: Spent, *, seed: int) -> Completion:
        """One answer of the model.

        Args:
            request: `messages`, `max_tokens`, `temperature` and what else the API knows. `model` is added here.
            spent: tokens and requests are added to it, those in vain included, even where this is cancelled.
            seed: sent along (31 bits of it), and source of the jitter.

        Raises:
            ContextExceeded: the server says that the conversation is too long.
            EndpointFailed: no usable answer, retries included.
            KeyRefused: the server does not serve this key, or did not before; then it is not asked again.
        """
        body = self._body(request, seed)
        estimate = estimate_tokens(body.decode())
        for attempt in range(self.endpoint.retries + 1):
            if attempt:
                await self._clock.sleep(retry_delay(attempt - 1, seed))
            try:
                async with self._room:
                    await self._bucket.take()
                    self._check_refusal()
                    return await self._try(body, estimate, spent)
            except _Fault as fault:
                last = fault
            if last.key_refused:
                self._refusal = self._clause(last.reason)
                self._check_refusal()
            if last.pause > LONGEST_PAUSE or not last.passing:
                break
            if last.pause:
                self._bucket.pause(last.pause)
        kind = ContextExceeded if last.too_long else EndpointFailed
        tries = f" ({attempt + 1} tries)" if attempt else ""
        # `from None`: the causes hold requests, and those hold the key.
        raise kind(f"endpoint {self.name}", "", f"{self._clause(last.reason)}{tries}.", spent.usage()) from None

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    def redact(self, text: str) -> str:
        """The text without the key, whether it stands there plainly, in other case or as JSON may write it."""
        return text if self._secret is None else self._secret.sub(REDACTED, text)

    def _clause(self, reason: str) -> str:
        """A reason that may be told. The key is struck out before anything is cut: half a key is not known again."""
        told = self.redact(reason)
        return told if len(told) <= LONGEST_REASON else f"{told[:LONGEST_REASON]} […]"

    def _check_refusal(self) -> None:
        """Raises KeyRefused where the server has refused the key."""
        if not self._refusal:
            return
        variable = self.endpoint.api_key_env
        remedy = f"put one that it accepts into {variable}" if variable else "name the variable of one in api_key_env"
        asked = f"it does not serve the key in {variable}" if variable else "it wants a key"
        raise KeyRefused(
            f"endpoint {self.name}",
            "",
            f"{asked} ({self._refusal}): {remedy} and go on. What was recorded is kept; what was under way counts for nothing.",
        ) from None

    def _body(self, request: Mapping[str, Any], seed: int) -> bytes:
        fields = {"model": self.endpoint.model, **request, "seed": seed & 0x7FFFFFFF, "stream": False}
        fields[self.endpoint.max_tokens_key] = fields.pop("max_tokens")
        for name in self.endpoint.omit:
            fields.pop(name, None)
        return msgspec.json.encode(fields)

    async def _try(self, body: bytes, estimate: int, spent: Spent) -> Completion:
        """One request, its redirects within the host included.

        Raises:
            _Fault: it brought no answer.
        """
        # Counted before it is sent: what breaks after that has been paid for.
        spent.requests += 1
        spent.estimated += 1
        spent.input += estimate
        seconds = self.endpoint.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                status, headers, data = await self._send(self._url, body)
        except TimeoutError:
            raise _Fault(f"no whole answer within {seconds:g} s", passing=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise _Fault(f"the connection failed ({type(error).__name__})", passing=True) from None
        if status != 200:
            # A refusal costs nothing.
            spent.input -= estimate
            spent.estimated -= 1
            raise _refused(status, headers, data)
        try:
            completion = read_completion(data)
        except BadReply as bad:
            raise _unusable(bad) from None
        return self._settled(completion, estimate, spent)

    def _settled(self, completion: Completion, estimate: int, spent: Spent) -> Completion:
        """The answer without the key; its tokens counted."""
        told = completion.prompt_tokens is not None and completion.completion_tokens is not None
        if completion.prompt_tokens is not None:
            spent.input += completion.prompt_tokens - estimate
        try:
            if completion.completion_tokens is not None:
                spent.output += completion.completion_tokens
            else:
                calls = [f"{call.name}{call.arguments}" for call in completion.calls]
                spent.output += estimate_tokens(completion.text, completion.reasoning, *calls)
            spent.estimated -= told
            # Once its parts are put together: a key may have been cut in two by them.
            cleaned: Completion = self._clean(completion)
        except RecursionError:
            raise _Fault("the answer is nested too deep", passing=True) from None
        return cleaned

    def _clean(self, value: Any) -> Any:
        """A value with the key struck out of every text in it."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if isinstance(value, Struct):
            fields = {name: self._clean(getattr(value, name)) for name in value.__struct_fields__}
            return type(value)(**fields)
        return value

    async def _send(self, url: str, body: bytes) -> tuple[int, httpx.Headers, bytes]:
        for _ in range(_REDIRECTS + 1):
            async with self._connected().stream("POST", url, content=body) as response:
                if response.status_code in (307, 308):
                    url = _redirected(url, response.headers.get("location", ""))
                    continue
                return response.status_code, response.headers, await _read(response)
        raise _Fault("redirected again and again", passing=False)

    def _connected(self) -> httpx.AsyncClient:
        if self._http is None:
            headers = {
                **self.endpoint.headers,
                "content-type": "application/json",
                "accept": "application/json",
                "accept-encoding": "gzip",
            }
            if self._key:
                headers["authorization"] = f"Bearer {self._key}"
            self._http = httpx.AsyncClient(
                headers=headers,
                transport=self._transport,
                timeout=self.endpoint.timeout_seconds,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=self.endpoint.max_concurrency),
                # A server on this machine is never reached by way of a proxy.
                trust_env=not is_loopback(self.endpoint.url),
            )
        return self._http


def _secret_pattern(key: str) -> re.Pattern[str]:
    """Finds a key in texts that are still to be decoded: JSON may write any of its characters by number, and a text inside
    a text has its backslashes doubled."""
    marks = dict.fromkeys('"\\/', r"\\{0,8}")
    each = (rf"(?:{marks.get(one, '')}{re.escape(one)}|\\{{1,8}}u00{ord(one):02x})" for one in key)
    return re.compile("".join(each), re.IGNORECASE)


def _redirected(url: str, location: str) -> str:
    """Where a redirect leads. Raises _Fault where that is another host, for which the key is not, or no place at all."""
    try:
        target = urljoin(url, location)
        old, new = urlsplit(url), urlsplit(target)
    except ValueError:
        raise _Fault("redirected to what is no URL", passing=False) from None
    if not location or (old.scheme, old.netloc) != (new.scheme, new.netloc):
        raise _Fault(f"redirected to another host ({new.netloc}): name that one in the recipe", passing=False)
    return target


async def _read(response: httpx.Response) -> bytes:
    """The unpacked body, bounded before and after unpacking."""
    raw = bytearray()
    async for chunk in response.aiter_raw():
        raw += chunk
        if len(raw) > MAX_BODY:
            raise _Fault(f"the answer is larger than {MAX_BODY} bytes", passing=True)
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return bytes(raw)
    if coding not in ("gzip", "x-gzip"):
        raise _Fault(f"the answer is packed as {coding!r}, which nobody asked for", passing=True)
    try:
        data = zlib.decompressobj(31).decompress(bytes(raw), MAX_BODY + 1)
    except zlib.error:
        raise _Fault("the answer is no gzip, though it says so", passing=True) from None
    if len(data) > MAX_BODY:
        raise _Fault(f"the answer is larger than {MAX_BODY} bytes", passing=True)
    return data


def _refused(status: int, headers: httpx.Headers, data: bytes) -> _Fault:
    """The fault of a status other than 200."""
    said, code = "", ""
    try:
        value = read_json(data)
        bad = error_reply(value.get("error") or value.get("message") or value.get("detail") or value)
        said, code = (f": {bad.code}, {bad.reason}" if bad.code else f": {bad.reason}"), bad.code
    except BadReply:
        pass
    passing = status in _PASSING
    pause = _retry_after(headers) if passing else 0.0
    long = status in (400, 413, 422) and _TOO_LONG.search(said) is not None
    wait = f", and wants to be left alone for {pause:g} s" if pause > LONGEST_PAUSE else ""
    return _Fault(
        f"answered with status {status}{wait}{said}", passing, pause, long, _refuses_the_key(status, code, said)
    )


def _refuses_the_key(status: int | None, code: str, said: str) -> bool:
    """Whether an error is about who asks and not about what is asked."""
    if code == _NO_CREDIT:
        return True
    return status in _KEY_REFUSED and not (status == 403 and _FLAGGED.search(said))


def _unusable(bad: BadReply) -> _Fault:
    """The fault of a body that is no answer though its status is 200."""
    long = _TOO_LONG.search(f"{bad.code} {bad.reason}") is not None
    lasting = bad.status is not None and 400 <= bad.status < 500 and bad.status not in _PASSING
    refused = _refuses_the_key(bad.status, bad.code, bad.reason)
    return _Fault(bad.reason, not lasting and not long, too_long=long, key_refused=refused)


def _retry_after(headers: httpx.Headers) -> float:
    """Seconds that the server asked for; 0 where it did not, or not so that it can be read.

    A moment is measured from the answer's own `Date`: no clock of this machine is asked.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
        return float(value)
    try:
        until, now = parsedate_to_datetime(value), parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0
