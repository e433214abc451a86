"""The recipe section `[vllm]`: a vLLM server that samples in the engine's place. Training stays in this process, and every
update is pushed to the server as a LoRA adapter."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from journeyman.errors import RecipeError
from journeyman.remote import check_url, host_of, is_loopback
from journeyman.sections import Positive, Section, Size

Tolerance = Annotated[float, Meta(gt=0.0, le=100.0)]
"""Nats per token."""


class Vllm(Section, frozen=True):
    """`[vllm]`: where the server is and how far it is trusted.

    `url` is what stands before `/v1/completions`. The server is started with `--enable-lora --max-lora-rank` (at least
    `model.lora_rank`) `--max-loras 2 --max-cpu-loras 4 --enable-prefix-caching --logprobs-mode processed_logprobs
    --generation-config vllm`, and with `VLLM_ALLOW_RUNTIME_LORA_UPDATING=True` in its environment.
    """

    url: str
    adapter_folder: Annotated[str, Meta(min_length=1, max_length=1000)]
    """Adapters are written here, each under a fresh name; the server reads them."""
    server_folder: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    """The same folder as the server names it; None: by the same path."""
    model: Annotated[str, Meta(min_length=1, max_length=300)] | None = None
    """The base model's name at the server; None: the only one there is."""
    api_key_env: Annotated[str, Meta(pattern=r"\A[A-Z][A-Z0-9_]*\Z", max_length=100)] | None = None
    """Environment variable that holds the key; None: the server wants none."""
    max_concurrency: Positive = 256
    timeout_seconds: Size = 300.0
    """Of one request, from its first byte to the last byte of its answer; waiting for its turn at the server included."""
    start_seconds: Size = 30.0
    """How long a health check is repeated before the server counts as down."""
    retries: Annotated[int, Meta(ge=0, le=20)] = 6
    """Further tries of one request after a time-out, a cut connection, 429 or 5xx."""
    canaries: Annotated[int, Meta(ge=1, le=64)] = 4
    """Fixed token streams scored by server and trainer after each push."""
    canary_tokens: Annotated[int, Meta(ge=8, le=4096)] = 64
    mean_tolerance: Tolerance = 0.05
    """Largest mean |difference| of the two sides' log-probabilities of the canaries."""
    max_tolerance: Tolerance = 1.0
    """Largest |difference| of any of their tokens."""


def check_vllm(vllm: Vllm, network: str, trains: str, policy: str, where: str) -> None:
    """Refuse a server that cannot be used as written.

    Args:
        network: `run.network`.
        trains: `model.train`.
        policy: `policy.kind`.

    Raises:
        RecipeError: naming the key and the remedy.
    """
    check_url(vllm.url, "vllm.url", where, "http://127.0.0.1:8000")
    if vllm.url.rstrip("/").endswith("/v1"):
        raise RecipeError(where, "vllm.url", "is the server's address without /v1: leave that out.")
    if network == "none" and not is_loopback(vllm.url):
        raise RecipeError(
            where,
            "vllm.url",
            f'{host_of(vllm.url)} is not this machine, and run.network = "none" lets nothing leave it: '
            'set run.network = "endpoints", or name a server on 127.0.0.1.',
        )
    if policy != "model":
        raise RecipeError(
            where, "vllm", "serves the recipe's own model, but policy.kind names another: leave one of them out."
        )
    if trains != "lora":
        raise RecipeError(where, "model.train", 'must be "lora" where [vllm] samples: what is pushed is an adapter.')
    if vllm.mean_tolerance > vllm.max_tolerance:
        raise RecipeError(where, "vllm.mean_tolerance", "is larger than max_tolerance: a mean exceeds no maximum.")
