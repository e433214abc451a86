"""HTTP to one server: bounded in number, time and size, repeated where the fault may pass, the key struck out of what is told.

    wire = Wire("endpoint NAME", url, key, "NAME_KEY", timeout=120.0, retries=4, concurrency=8)
    value = await wire.repeat(once, seed=7)  # `once` asks with `wire.exchange` and raises Fault where that brought nothing

It knows nothing of what is asked. The key stands in the header of a request and nowhere else. A server that refuses the
key is asked nothing more.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import httpx

from journeyman.engine.chat import KeyRefused
from journeyman.engine.pacing import Clock, MonotonicClock, TokenBucket, retry_delay
from journeyman.engine.replies import BadReply, error_reply, read_json
from journeyman.errors import RecipeError
from journeyman.remote import is_loopback

T = TypeVar("T")

MAX_BODY = 4 << 20
"""Bytes of an answer, packed or unpacked, unless more is expected."""
LONGEST_PAUSE = 120.0
"""Seconds of `Retry-After` that are waited for; a server that asks for more is given up."""
SHORTEST_SECRET = 8
"""Characters from which on a key is a secret and is struck out; what is shorter is a placeholder as `EMPTY`."""
REDACTED = "[key]"
LONGEST_REASON = 400
"""Characters kept of why a request failed: what the server says of it may be long."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses of faults that may pass."""
_REDIRECTS = 3
_KEY_REFUSED = frozenset({401, 402, 403})
"""No key, or a wrong one; an account without credit; a key that may not ask for this."""
_NO_CREDIT = "insufficient_quota"
"""The code under which some servers say with status 429 what others say with 402."""
_FLAGGED = re.compile(r"moderat|flagged|content.?(?:policy|filter)", re.IGNORECASE)
"""A refusal of what one conversation says, which some servers send with status 403."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context length|context window|prompt is too long", re.IGNORECASE
)


class Fault(Exception):
    """One try that failed. `passing`: another try may succeed; `pause`: seconds the server wants to be left alone;
    `key_refused`: no request with this key will; `tries`: how many there were, once `repeat` gives up."""

    def __init__(
        self,
        reason: str,
        passing: bool,
        pause: float = 0.0,
        too_long: bool = False,
        key_refused: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.pause = pause
        self.too_long = too_long
        self.key_refused = key_refused
        self.status = status
        self.tries = 1


def read_key(variable: str | None, place: str, environment: Mapping[str, str]) -> str:
    """The key that a variable holds; "" where none is named.

    Args:
        place: the recipe key that names the variable.

    Raises:
        RecipeError: the variable is not set, or holds what no header can carry.
    """
    if variable is None:
        return ""
    key = environment.get(variable, "").strip()
    if not key:
        raise RecipeError("environment", place, f"{variable} is not set: export it and run again.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise RecipeError("environment", place, f"{variable} holds what is no key: export it again.")
    return key


class Wire:
    """See the module. Use within one event loop; `close` it at the end.

    Args:
        where: whom errors name.
        url: any URL of the server: it tells whether a proxy may stand between.
        key: "" sends none. `key_variable` is where it was read from.
        timeout: seconds of one request, from its first byte to the last byte of its answer.
        retries: further tries of one request.
        concurrency: requests at once.
        per_minute: requests a minute; None: as many as there are.
    """

    def __init__(
        self,
        where: str,
        url: str,
        key: str,
        key_variable: str | None,
        *,
        timeout: float,
        retries: int,
        concurrency: int,
        per_minute: int | None = None,
        headers: Mapping[str, str] | None = None,
        max_body: int = MAX_BODY,
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.where = where
        self.timeout = timeout
        self.retries = retries
        self._local = is_loopback(url)
        self._secret = _secret_pattern(key) if len(key) >= SHORTEST_SECRET else None
        self._key = key
        self._variable = key_variable
        self._refusal = ""
        self._headers = dict(headers or {})
        self._max_body = max_body
        self._clock = clock or MonotonicClock()
        self._transport = transport
        self._bucket = TokenBucket(per_minute, self._clock)
        self._concurrency = concurrency
        self._room = asyncio.Semaphore(concurrency)
        self._http: httpx.AsyncClient | None = None

    async def repeat(self, once: Callable[[], Awaitable[T]], seed: int) -> T:
        """What `once` brings, asked again with growing, jittered delays while its faults may pass.

        Args:
            seed: source of the jitter.

        Raises:
            Fault: the last one, `tries` counted.
            KeyRefused: the server does not serve this key, or did not before; then it is not asked again.
        """
        for attempt in range(self.retries + 1):
            if attempt:
                await self._clock.sleep(retry_delay(attempt - 1, seed))
            try:
                async with self._room:
                    await self._bucket.take()
                    self._check_refusal()
                    return await once()
            except Fault as fault:
                last = fault
            if last.key_refused:
                self._refusal = self.clause(last.reason)
                self._check_refusal()
            if last.pause > LONGEST_PAUSE or not last.passing:
                break
            if last.pause:
                self._bucket.pause(last.pause)
        last.tries = attempt + 1
        raise last

    async def exchange(
        self, method: str, url: str, body: bytes | None = None, seconds: float | None = None
    ) -> tuple[int, httpx.Headers, bytes]:
        """One request, its redirects within the host included. Returns status, headers and body of the answer.

        Args:
            seconds: takes the place of `timeout`.

        Raises:
            Fault: there was no whole answer.
        """
        limit = self.timeout if seconds is None else seconds
        try:
            async with asyncio.timeout(limit):
                return await self._send(method, url, body)
        except TimeoutError:
            raise Fault(f"no whole answer within {limit:g} s", passing=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise Fault(f"the connection failed ({type(error).__name__})", passing=True) from None

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    def redact(self, text: str) -> str:
        """The text without the key, whether it stands there plainly, in other case or as JSON may write it."""
        return text if self._secret is None else self._secret.sub(REDACTED, text)

    def clause(self, reason: str) -> str:
        """A reason that may be told. The key is struck out before anything is cut: half a key is not known again."""
        told = self.redact(reason)
        return told if len(told) <= LONGEST_REASON else f"{told[:LONGEST_REASON]} […]"

    def told(self, fault: Fault) -> str:
        """Why `repeat` gave up, as a sentence."""
        tries = f" ({fault.tries} tries)" if fault.tries > 1 else ""
        return f"{self.clause(fault.reason)}{tries}."

    def _check_refusal(self) -> None:
        """Raises KeyRefused where the server has refused the key."""
        if not self._refusal:
            return
        variable = self._variable
        remedy = f"put one that it accepts into {variable}" if variable else "name the variable of one in api_key_env"
        asked = f"it does not serve the key in {variable}" if variable else "it wants a key"
        raise KeyRefused(
            self.where,
            "",
            f"{asked} ({self._refusal}): {remedy} and go on. What was recorded is kept; what was under way counts for nothing.",
        ) from None

    async def _send(self, method: str, url: str, body: bytes | None) -> tuple[int, httpx.Headers, bytes]:
        for _ in range(_REDIRECTS + 1):
            async with self._connected().stream(method, url, content=body) as response:
                if response.status_code in (307, 308):
                    url = _redirected(url, response.headers.get("location", ""))
                    continue
                return response.status_code, response.headers, await _read(response, self._max_body)
        raise Fault("redirected again and again", passing=False)

    def _connected(self) -> httpx.AsyncClient:
        if self._http is None:
            headers = {
                **self._headers,
                "content-type": "application/json",
                "accept": "application/json",
                "accept-encoding": "gzip",
            }
            if self._key:
                headers["authorization"] = f"Bearer {self._key}"
            self._http = httpx.AsyncClient(
                headers=headers,
                transport=self._transport,
                timeout=self.timeout,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=self._concurrency),
                # A server on this machine is never reached by way of a proxy.
                trust_env=not self._local,
            )
        return self._http


def refused(status: int, headers: httpx.Headers, data: bytes) -> Fault:
    """The fault of a status other than 200."""
    said, code = "", ""
    try:
        value = read_json(data)
        bad = error_reply(value.get("error") or value.get("message") or value.get("detail") or value)
        said, code = (f": {bad.code}, {bad.reason}" if bad.code else f": {bad.reason}"), bad.code
    except BadReply:
        pass
    passing = status in PASSING
    pause = _retry_after(headers) if passing else 0.0
    long = status in (400, 413, 422) and _TOO_LONG.search(said) is not None
    wait = f", and wants to be left alone for {pause:g} s" if pause > LONGEST_PAUSE else ""
    reason = f"answered with status {status}{wait}{said}"
    return Fault(reason, passing, pause, long, _refuses_the_key(status, code, said), status)


def unusable(bad: BadReply) -> Fault:
    """The fault of a body that is no answer though its status is 200."""
    long = _TOO_LONG.search(f"{bad.code} {bad.reason}") is not None
    lasting = bad.status is not None and 400 <= bad.status < 500 and bad.status not in PASSING
    refuses = _refuses_the_key(bad.status, bad.code, bad.reason)
    return Fault(bad.reason, not lasting and not long, too_long=long, key_refused=refuses)


def _secret_pattern(key: str) -> re.Pattern[str]:
    """Finds a key in texts that are still to be decoded: JSON may write any of its characters by number, and a text inside
    a text has its backslashes doubled."""
    marks = dict.fromkeys('"\\/', r"\\{0,8}")
    each = (rf"(?:{marks.get(one, '')}{re.escape(one)}|\\{{1,8}}u00{ord(one):02x})" for one in key)
    return re.compile("".join(each), re.IGNORECASE)


def _redirected(url: str, location: str) -> str:
    """Where a redirect leads. Raises Fault where that is another host, for which the key is not, or no place at all."""
    try:
        target = urljoin(url, location)
        old, new = urlsplit(url), urlsplit(target)
    except ValueError:
        raise Fault("redirected to what is no URL", passing=False) from None
    if not location or (old.scheme, old.netloc) != (new.scheme, new.netloc):
        raise Fault(f"redirected to another host ({new.netloc}): name that one in the recipe", passing=False)
    return target


async def _read(response: httpx.Response, most: int) -> bytes:
    """The unpacked body, bounded before and after unpacking."""
    raw = bytearray()
    async for chunk in response.aiter_raw():
        raw += chunk
        if len(raw) > most:
            raise Fault(f"the answer is larger than {most} bytes", passing=True)
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return bytes(raw)
    if coding not in ("gzip", "x-gzip"):
        raise Fault(f"the answer is packed as {coding!r}, which nobody asked for", passing=True)
    try:
        data = zlib.decompressobj(31).decompress(bytes(raw), most + 1)
    except zlib.error:
        raise Fault("the answer is no gzip, though it says so", passing=True) from None
    if len(data) > most:
        raise Fault(f"the answer is larger than {most} bytes", passing=True)
    return data


def _refuses_the_key(status: int | None, code: str, said: str) -> bool:
    """Whether an error is about who asks and not about what is asked."""
    if code == _NO_CREDIT:
        return True
    return status in _KEY_REFUSED and not (status == 403 and _FLAGGED.search(said))


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
