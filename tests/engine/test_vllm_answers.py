"""What counts as an answer of a vLLM server: everything that can be counted agrees, or nothing of it is used."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from journeyman.engine.base import SampleRequest
from journeyman.engine.vllm_answers import Asked, WrongAnswer, read_drawn, read_scores, sampling_body, scoring_body

ASKED = Asked("run-v000001", [5, 6, 7], 4, frozenset({2, 9}), 100)


def drawn(**fields: Any) -> dict[str, Any]:
    """A faultless answer with two ids, the last of which stops."""
    choice = {
        "token_ids": [11, 9],
        "prompt_token_ids": [5, 6, 7],
        "logprobs": {"token_logprobs": [-0.5, -2.0], "tokens": ["token_id:11", "token_id:9"]},
        "finish_reason": "stop",
        "stop_reason": 9,
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {"model": "run-v000001", "choices": [choice | fields], "usage": usage}


def read(value: Any) -> Any:
    return read_drawn(json.dumps(value).encode(), ASKED)


def longer(ids: list[int], finish: str) -> dict[str, Any]:
    value = drawn(token_ids=ids, finish_reason=finish)
    value["choices"][0]["logprobs"] = {
        "token_logprobs": [-1.0] * len(ids),
        "tokens": [f"token_id:{token}" for token in ids],
    }
    value["usage"]["completion_tokens"] = len(ids)
    return value


def test_a_faultless_answer_is_read() -> None:
    found = read(drawn())
    assert (found.token_ids, found.logprobs, found.finish) == ([11, 9], [-0.5, -2.0], "stop")
    found = read(longer([1, 3, 4, 5], "length"))
    assert (found.token_ids, found.finish) == ([1, 3, 4, 5], "length")
    # A certain token may come out a hair above 0.
    assert (
        read(drawn(logprobs={"token_logprobs": [5e-7, -2.0], "tokens": ["token_id:11", "token_id:9"]})).logprobs[0] == 0
    )


@pytest.mark.parametrize(
    ("value", "key", "said"),
    [
        (longer([11, 9, 3, 4], "length"), "token_ids", "go on behind 9"),
        (longer([11, 3], "stop"), "finish_reason", "does not fit"),
        (longer([11, 3], "length"), "finish_reason", "2 of 4 tokens"),
        (longer([11, 3, 4, 9], "length"), "finish_reason", "does not fit"),
        (longer([11, 3, 4, 5, 6], "length"), "token_ids", "no more than 4"),
        (longer([11, 9], "abort"), "finish_reason", "'abort'"),
        (longer([11, 9], "repetition"), "finish_reason", "'repetition'"),
        (longer([], "stop"), "token_ids", "is empty"),
        (longer([11, 100], "length"), "token_ids", "100, which is no id below 100"),
        (longer([11, -1], "length"), "token_ids", "no id below 100"),
        (drawn(token_ids=None), "token_ids", "text instead of ids"),
        (drawn(token_ids=[11, True]), "token_ids", "True"),
        (drawn(token_ids=[11.0, 9]), "token_ids", "11.0"),
        (drawn(prompt_token_ids=None), "prompt_token_ids", "text instead of ids"),
        (drawn(prompt_token_ids=[6, 7]), "prompt_token_ids", "is not the prompt"),
        (drawn(logprobs=None), "logprobs", "is missing"),
        (drawn(logprobs={"token_logprobs": [-0.5, -2.0]}), "logprobs.tokens", "names other tokens"),
        (drawn(logprobs={"token_logprobs": [-1, -2], "tokens": ["a", "b"]}), "logprobs.tokens", "names other tokens"),
        (drawn(logprobs={"token_logprobs": [-0.5], "tokens": ["token_id:11"]}), "logprobs", "1 numbers for 2 ids"),
        (drawn() | {"model": "run-v000000"}, "model", "other weights"),
        (drawn() | {"choices": []}, "choices", "exactly one"),
        (drawn() | {"usage": {"prompt_tokens": 3, "completion_tokens": 3}}, "usage.completion_tokens", "is 3, but 2"),
        (drawn() | {"usage": {"prompt_tokens": 4, "completion_tokens": 2}}, "usage.prompt_tokens", "is 4, but 3"),
        (drawn() | {"usage": None}, "usage.prompt_tokens", "is None"),
        ([], "", "no JSON object"),
    ],
)
def test_what_contradicts_itself_or_the_request_is_no_answer(value: Any, key: str, said: str) -> None:
    with pytest.raises(WrongAnswer) as caught:
        read(value)
    assert (caught.value.key, said in caught.value.remedy) == (key, True), caught.value.remedy


@pytest.mark.parametrize("number", [float("nan"), float("-inf"), float("inf"), None, "x", True, 0.1, -9999.0])
def test_what_is_no_log_probability_of_a_drawn_token_is_refused(number: Any) -> None:
    value = drawn()
    value["choices"][0]["logprobs"]["token_logprobs"][1] = number
    with pytest.raises(WrongAnswer) as caught:
        read(value)
    assert caught.value.key == "logprobs"


def scored(change: Callable[[list[Any]], Any] = lambda _: None) -> bytes:
    rows: list[Any] = [None, {"6": {"logprob": -1.5, "rank": 1}}, {"7": {"logprob": -0.25, "rank": 1}}]
    rows = copy.deepcopy(rows)
    change(rows)
    value = drawn(prompt_logprobs=rows)
    value["usage"]["completion_tokens"] = 1
    return json.dumps(value).encode()


def test_scores_are_those_of_the_prompts_own_ids() -> None:
    assert read_scores(scored(), ASKED) == [0.0, -1.5, -0.25]
    # Of several entries that of the prompt's id counts, not the likeliest.
    assert read_scores(scored(lambda rows: rows[1].update({"3": {"logprob": -0.1}})), ASKED)[1] == -1.5


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(),
        lambda rows: rows.__setitem__(2, None),
        lambda rows: rows.__setitem__(2, {"8": {"logprob": -1.0}}),
        lambda rows: rows[2]["7"].update(logprob=float("nan")),
        lambda rows: rows.insert(0, None),
    ],
)
def test_scores_that_miss_a_token_are_refused(change: Callable[[list[Any]], Any]) -> None:
    with pytest.raises(WrongAnswer) as caught:
        read_scores(scored(change), ASKED)
    assert caught.value.key == "prompt_logprobs"


def test_a_request_leaves_nothing_to_the_defaults_of_server_or_model() -> None:
    body = sampling_body("a", SampleRequest("e", [1, 2], 8, 0.7, 1.0, 5, frozenset({9, 2})), 77)
    assert body == {
        "model": "a",
        "prompt": [1, 2],
        "max_tokens": 8,
        "temperature": 0.7,
        "top_p": 1.0,
        "seed": 77,
        "stop_token_ids": [2, 9],
        "ignore_eos": True,
        "logprobs": 0,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        "skip_special_tokens": False,
        "n": 1,
        "stream": False,
        "echo": False,
        "top_k": 0,
        "min_p": 0.0,
        "min_tokens": 0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "add_special_tokens": False,
    }
    body = scoring_body("a", (1, 2))
    assert (body["prompt"], body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == ([1, 2], 0, 1, 1.0)
