"""The recipe sections that speak of remote models: endpoints, and who of policy, user and judge sits behind one.

An endpoint is named once, in `[endpoints.NAME]`, and referred to by name. Its key never stands in a recipe: only the
name of the environment variable that holds it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from journeyman.errors import RecipeError
from journeyman.sections import NAME, Positive, Section, Size

Parameter = Literal["temperature", "top_p", "seed"]
EndpointName = Annotated[str, Meta(pattern=NAME, max_length=100)]

_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password|credential|signature", re.IGNORECASE)
_HEADER_NAME = re.compile(r"\A[A-Za-z0-9-]{1,80}\Z")
_OF_THE_CLIENT = frozenset({
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "accept", "accept-encoding",
    "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "range",
})  # fmt: skip
"""Headers that say how a request is sent and read. Another value would go unheeded or break every request."""


class Endpoint(Section, frozen=True):
    """`[endpoints.NAME]`: one model of a server that speaks the OpenAI API.

    `url` is what stands before `/chat/completions`. `omit` names request parameters that the server refuses.
    """

    url: str
    model: Annotated[str, Meta(min_length=1, max_length=300)]
    api_key_env: Annotated[str, Meta(pattern=r"\A[A-Z][A-Z0-9_]*\Z", max_length=100)] | None = None
    """Environment variable that holds the key; None: the server wants none."""
    requests_per_minute: Positive | None = None
    max_concurrency: Positive = 8
    timeout_seconds: Size = 120.0
    """Of one request, from its first byte to the last byte of its answer."""
    retries: Annotated[int, Meta(ge=0, le=20)] = 4
    """Further tries of one request."""
    headers: dict[str, str] = {}
    """Sent along. None may carry a key."""
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omit: list[Parameter] = []


class Policy(Section, frozen=True):
    """Who acts: the recipe's own model, or the model of an endpoint, which can be evaluated but not trained."""

    kind: Literal["model", "endpoint"] = "model"
    endpoint: str | None = None


class Judge(Section, frozen=True):
    """Who decides the optional criteria that no predicate can. Without an endpoint they are left out and counted."""

    endpoint: str | None = None
    max_tokens: Positive = 2048
    """Tokens of one answer."""


class User(Section, frozen=True):
    """Who plays the simulated users: the script, or a model that says in its own words what the scenario wants."""

    kind: Literal["scripted", "llm"] = "scripted"
    endpoint: str | None = None
    temperature: Annotated[float, Meta(ge=0.0, le=2.0)] = 0.7
    max_tokens: Positive = 400
    """Tokens of one answer."""


def host_of(url: str) -> str:
    """Host and port of an endpoint, for the record."""
    return urlsplit(url).netloc


def is_loopback(url: str) -> bool:
    """Whether what is sent there stays on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_endpoints(
    endpoints: Mapping[str, Endpoint], uses: Mapping[str, str | None], network: str, where: str
) -> None:
    """Refuse endpoints that cannot be used as written, and names of endpoints that there are not.

    Args:
        uses: key of the recipe -> the endpoint it names (None: none).
        network: `run.network`.

    Raises:
        RecipeError: naming the key and the remedy.
    """
    for name, endpoint in endpoints.items():
        check_url(endpoint.url, f"endpoints.{name}.url", where)
        for header, value in endpoint.headers.items():
            _check_header(header, value, f"endpoints.{name}.headers", where)
        if len({header.lower() for header in endpoint.headers}) < len(endpoint.headers):
            raise RecipeError(
                where, f"endpoints.{name}.headers", "one of them is there twice: case makes no difference."
            )
        if network == "none" and not is_loopback(endpoint.url):
            raise RecipeError(
                where,
                f"endpoints.{name}.url",
                f'{host_of(endpoint.url)} is not this machine, and run.network = "none" lets nothing leave it: '
                'set run.network = "endpoints", or name a server on 127.0.0.1.',
            )
    for key, wanted in uses.items():
        if wanted is not None and wanted not in endpoints:
            known = ", ".join(endpoints) or "none"
            raise RecipeError(where, key, f"there is no [endpoints.{wanted[:80]}]; known: {known}.")


def check_url(url: str, key: str, where: str, example: str = "https://host/v1") -> None:
    """Raises RecipeError where `url` is none, or holds what could be a key."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise RecipeError(where, key, f"is no URL: write it as {example}.") from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise RecipeError(where, key, f"must be an http or https URL: write it as {example}.")
    if parts.username is not None or parts.password is not None:
        raise RecipeError(where, key, "must not hold a user or password: name a variable in api_key_env.")
    if parts.query or parts.fragment:
        raise RecipeError(where, key, "must not hold a query or fragment: keys belong into api_key_env.")


def _check_header(header: str, value: str, key: str, where: str) -> None:
    if not _HEADER_NAME.match(header):
        raise RecipeError(where, key, "a name of a header may hold letters, digits and dashes only.")
    if _SECRET_HEADER.search(header):
        raise RecipeError(where, key, f"{header} could carry a key: leave it out and name api_key_env.")
    if header.lower() in _OF_THE_CLIENT or header.lower().startswith("proxy-"):
        raise RecipeError(where, key, f"{header} is set by the client itself: leave it out.")
    if not value.isascii() or not value.isprintable() or len(value) > 500:
        raise RecipeError(where, key, f"the value of {header} must be printable ASCII, 500 characters at most.")
