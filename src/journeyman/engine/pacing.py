"""When a request may go out: a token bucket, pauses that a server asked for, and how long to wait before a retry.

Time comes from a `Clock`, so that tests need no waiting. Jitter comes from a seed, so that equal runs wait equally.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol

from journeyman.codec import seed_of

FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before the first retry, and at most before any; each retry doubles the delay."""


class Clock(Protocol):
    """Monotonic time."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class MonotonicClock:
    """The machine's own."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class TokenBucket:
    """At most `per_minute` requests a minute, and one second's worth of them (at least one) at once.

    Requests are let through in the order in which they asked.

    Args:
        per_minute: None lets everything through (but for pauses).
    """

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._clock = clock
        self._rate = None if per_minute is None else per_minute / 60
        self._capacity = max(1.0, self._rate or 0.0)
        self._tokens = self._capacity
        self._filled = clock.now()
        self._closed_until = self._filled

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long: the server asked for it."""
        self._closed_until = max(self._closed_until, self._clock.now() + seconds)

    async def take(self) -> None:
        """Wait until the next request may go out."""
        while (closed := self._closed_until - self._clock.now()) > 0:
            await self._clock.sleep(closed)
        if self._rate is None:
            return
        now = self._clock.now()
        self._tokens = min(self._capacity, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        # A token is taken even where there is none: the debt is the place in the queue.
        self._tokens -= 1
        if self._tokens < 0:
            await self._clock.sleep(-self._tokens / self._rate)


def retry_delay(attempt: int, seed: int) -> float:
    """Seconds before retry number `attempt` (from 0): doubled each time, bounded, less a jitter of at most one half."""
    whole = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt, 30))
    return whole * (1.0 - random.Random(seed_of("retry", seed, attempt)).random() / 2)
