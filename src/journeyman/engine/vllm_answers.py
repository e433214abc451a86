"""What a vLLM server is asked and what it may answer: bodies of `/v1/completions` with token ids on both sides. No HTTP here.

A request leaves nothing to the server's defaults: a model's generation config may hold a top-k, a penalty or further stop
ids, each of which would bend the distribution away from the one that is trained. An answer becomes ids and
log-probabilities only if everything that can be counted agrees; else it is `WrongAnswer`, and never a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from journeyman.engine.base import SampleRequest
from journeyman.engine.replies import BadReply, read_json
from journeyman.errors import EndpointError

IMPOSSIBLE = -9_999.0
"""What vLLM writes for a log-probability of minus infinity: no token with that one was ever drawn."""
_ROUNDING = 1e-6
"""A log-probability may exceed 0 by so much."""


class WrongAnswer(EndpointError):
    """An answer with status 200 whose parts contradict each other or the request. The turn it was for counts for nothing."""


class Asked(Struct, frozen=True):
    """What an answer must fit.

    Args:
        model: the name it was asked under.
        room: tokens that fit behind the prompt in the server's context, or fewer by request.
        vocabulary: number of ids.
    """

    model: str
    prompt_ids: list[int]
    room: int
    stop_ids: frozenset[int]
    vocabulary: int


class Drawn(Struct, frozen=True):
    """A continuation: `logprobs[i]` is that of `token_ids[i]`."""

    token_ids: list[int]
    logprobs: list[float]
    finish: Literal["stop", "length"]


def sampling_body(model: str, request: SampleRequest, seed: int) -> dict[str, Any]:
    """The body that asks for one continuation."""
    return {
        "model": model,
        "prompt": request.prompt_ids,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": seed,
        "stop_token_ids": sorted(request.stop_ids),
        "ignore_eos": True,  # only the request's own ids stop
        "logprobs": 0,  # of the drawn token alone
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        "skip_special_tokens": False,
        **_NEUTRAL,
    }


def scoring_body(model: str, token_ids: Sequence[int]) -> dict[str, Any]:
    """The body that asks for the log-probability of every id of a stream after its first."""
    return {
        "model": model,
        "prompt": list(token_ids),
        "max_tokens": 1,
        "temperature": 1.0,
        "top_p": 1.0,
        "seed": 0,
        "ignore_eos": True,
        "prompt_logprobs": 0,
        "return_token_ids": True,
        **_NEUTRAL,
    }


_NEUTRAL = {
    "n": 1,
    "stream": False,
    "echo": False,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "min_tokens": 0,
    "add_special_tokens": False,
}


def read_drawn(body: bytes, asked: Asked) -> Drawn:
    """The continuation in an answer.

    Raises:
        WrongAnswer: anything about it is not as it must be.
    """
    value, choice = _choice(body, asked)
    ids = _ids(choice.get("token_ids"), "token_ids", asked)
    if not ids:
        raise _wrong(asked, "token_ids", "is empty: nothing was drawn")
    listed = choice.get("logprobs")
    listed = listed if isinstance(listed, Mapping) else {}
    logprobs = listed.get("token_logprobs")
    if not isinstance(logprobs, list):
        raise _wrong(asked, "logprobs", "is missing: the server must return log-probabilities")
    _check_usage(value, asked, len(ids))
    if len(logprobs) != len(ids):
        raise _wrong(asked, "logprobs", f"holds {len(logprobs)} numbers for {len(ids)} ids")
    named = listed.get("tokens")
    if named != [f"token_id:{token}" for token in ids]:
        raise _wrong(asked, "logprobs.tokens", "names other tokens than token_ids: which were drawn is not known")
    found = [_logprob(number, "logprobs", asked) for number in logprobs]
    return Drawn(ids, found, _finish(choice, ids, asked))


def read_scores(body: bytes, asked: Asked) -> list[float]:
    """Log-probabilities of a prompt's ids, the first of which has none and counts as 0.

    Raises:
        WrongAnswer: as `read_drawn`.
    """
    value, choice = _choice(body, asked)
    _check_usage(value, asked, 1)
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or len(rows) != len(asked.prompt_ids):
        count = len(rows) if isinstance(rows, list) else "no"
        raise _wrong(asked, "prompt_logprobs", f"has {count} rows for {len(asked.prompt_ids)} ids")
    found = [0.0]
    for row, token in zip(rows[1:], asked.prompt_ids[1:], strict=True):
        entry = row.get(str(token)) if isinstance(row, Mapping) else None
        if not isinstance(entry, Mapping):
            raise _wrong(asked, "prompt_logprobs", f"has no entry for id {token} where the prompt has it")
        found.append(_logprob(entry.get("logprob"), "prompt_logprobs", asked))
    return found


def _choice(body: bytes, asked: Asked) -> tuple[dict[str, Any], Mapping[str, Any]]:
    try:
        value = read_json(body)
    except BadReply as bad:
        raise _wrong(asked, "", bad.reason) from None
    choices = value.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
        raise _wrong(asked, "choices", "must hold exactly one choice")
    if value.get("model") != asked.model:
        raise _wrong(
            asked, "model", f"is {str(value.get('model'))[:100]!r}: other weights than those asked for answered"
        )
    echoed = choices[0].get("prompt_token_ids")
    if echoed is None:
        raise _wrong(asked, "prompt_token_ids", "is missing: text instead of ids? vLLM 0.10.2 or newer returns ids")
    if echoed != asked.prompt_ids:
        raise _wrong(asked, "prompt_token_ids", "is not the prompt that was sent: it was read or cut otherwise")
    return value, choices[0]


def _ids(listed: Any, key: str, asked: Asked) -> list[int]:
    if not isinstance(listed, list):
        raise _wrong(asked, key, "is missing: text instead of ids? vLLM 0.10.2 or newer returns ids")
    for token in listed:
        if type(token) is not int or not 0 <= token < asked.vocabulary:
            raise _wrong(asked, key, f"holds {str(token)[:40]}, which is no id below {asked.vocabulary}")
    return listed


def _check_usage(value: Mapping[str, Any], asked: Asked, drawn: int) -> None:
    usage = value.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    for key, count in (("prompt_tokens", len(asked.prompt_ids)), ("completion_tokens", drawn)):
        if usage.get(key) != count:
            raise _wrong(asked, f"usage.{key}", f"is {str(usage.get(key))[:40]}, but {count} ids are there")


def _logprob(number: Any, key: str, asked: Asked) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise _wrong(asked, key, f"holds {str(number)[:40]}, which is no finite number")
    if not IMPOSSIBLE < number <= _ROUNDING:
        raise _wrong(asked, key, f"holds {number:g}, which is no log-probability of a drawn token")
    return min(float(number), 0.0)


def _finish(choice: Mapping[str, Any], ids: Sequence[int], asked: Asked) -> Literal["stop", "length"]:
    """Why it ended, if that agrees with where it ended."""
    early = [token for token in ids[:-1] if token in asked.stop_ids]
    if early:
        raise _wrong(asked, "token_ids", f"go on behind {early[0]}, after which sampling ends")
    said, stopped = choice.get("finish_reason"), ids[-1] in asked.stop_ids
    if len(ids) > asked.room:
        raise _wrong(asked, "token_ids", f"are {len(ids)}, though no more than {asked.room} may be drawn")
    if said == "stop" and stopped:
        return "stop"
    if said == "length" and not stopped and len(ids) == asked.room:
        return "length"
    ended = f"last id {ids[-1]}, {len(ids)} of {asked.room} tokens"
    raise _wrong(asked, "finish_reason", f"is {str(said)[:40]!r}, which does not fit ({ended})")


def _wrong(asked: Asked, key: str, what: str) -> WrongAnswer:
    return WrongAnswer(f"vLLM, model {asked.model}", key, f"{what}. The answer is not used.")
