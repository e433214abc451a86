"""Teachers: tokenizers told apart, a server's prompt log-probabilities read whole or not at all, a second model that scores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import small_engine
from endpoint_fakes import KEY, FakeClock, transport
from tokenizers import AddedToken, Tokenizer, pre_tokenizers
from tokenizers.models import BPE

from journeyman.engine.base import LossSettings
from journeyman.engine.chat import EndpointFailed, KeyRefused
from journeyman.engine.prompt_logprobs import PromptLogprobs
from journeyman.engine.teacher import difference, encoded, fingerprint, model_version, probe_texts
from journeyman.engine.tokenizer import SMOLLM2, TINY, load_tokenizer, tiny_tokenizer
from journeyman.episode import Sample, Usage
from journeyman.errors import EngineError, RecipeError
from journeyman.remote import Endpoint

Handler = Callable[[str, dict[str, Any]], Any]
"""(path, request) → the object of the answer, or a whole response."""


def sample(ids: list[int], mask: list[int], temperature: float = 1.0, episode: str = "opd/0000/0000/00") -> Sample:
    zeros = [0.0] * len(ids)
    return Sample(episode, "opd/0000/0000", ids, mask, zeros, [0] * len(ids), temperature, zeros)


SAMPLES = [sample([7, 8, 9, 10, 11], [0, 0, 1, 1, 0]), sample([7, 3], [0, 1], episode="opd/0000/0000/01")]


def logprob(ids: list[int], place: int) -> float:
    """What the made server says of a token: by itself and what is before it."""
    return -(sum(ids[:place]) % 13 + ids[place] / 16) / 4


def scores(ids: list[int], spell: Callable[[int], str | None] = str) -> list[Any]:
    """A faultless `prompt_logprobs`, with another token beside each, as servers send them."""
    entries: list[Any] = [None]
    for place in range(1, len(ids)):
        other = {"logprob": -0.01, "rank": 1, "decoded_token": "?"}
        own = {"logprob": logprob(ids, place), "rank": 2, "decoded_token": spell(ids[place])}
        entries.append({"999999": other, str(ids[place]): own})
    return entries


def completion(request: dict[str, Any], **changes: Any) -> dict[str, Any]:
    ids = request["prompt"]
    choice = {"index": 0, "text": "x", "prompt_logprobs": scores(ids), "prompt_token_ids": ids, **changes}
    return {"choices": [choice], "usage": {"prompt_tokens": len(ids), "completion_tokens": 1}}


class Server:
    """Answers by `handler`; remembers what it was asked."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.paths: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.clock = FakeClock()

    def teacher(self, **fields: Any) -> PromptLogprobs:
        endpoint = Endpoint(**{"url": "https://host.example/v1/", "model": "big", "api_key_env": "K", **fields})
        return PromptLogprobs("far", endpoint, {"K": KEY}, self.clock, transport(self._answer))

    def _answer(self, request: httpx.Request) -> Any:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        self.paths.append(request.url.path)
        self.requests.append(json.loads(request.content))
        made = self.handler(request.url.path, self.requests[-1])
        return made if isinstance(made, httpx.Response) else httpx.Response(200, json=made)


# --- tokenizers ----------------------------------------------------------------------------------------------------


def test_equal_tokenizers_have_equal_fingerprints_however_they_were_made(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    assert fingerprint(load_tokenizer(str(tmp_path))) == fingerprint(tiny_tokenizer())
    assert difference(load_tokenizer(str(tmp_path)), tiny_tokenizer()) == ""


def small(words: tuple[str, ...] = ("ab", "bc"), swap: bool = False, **special: bool) -> Tokenizer:
    """Letters a to c and two merges, in this order or the other."""
    vocabulary = {"a": 0, "b": 1, "c": 2, words[0]: 3, words[1]: 4}
    merges = [(word[0], word[1]) for word in words]
    made = Tokenizer(BPE(vocab=vocabulary, merges=merges[::-1] if swap else merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([AddedToken("<end>", special=True, normalized=False)] if special.get("end", True) else [])
    return made


def test_tokenizers_are_told_apart_by_whatever_changes_ids() -> None:
    base = small()
    assert difference(base, small()) == ""
    assert "tokens, of which 2 differ, as 'ac'" in difference(base, small(("ab", "ac")))
    assert "other merges" in difference(base, small(swap=True))  # "abc" is ab·c, or a·bc
    assert "<end>" in difference(base, small(end=False))
    digits = small()
    digits.pre_tokenizer = pre_tokenizers.CharDelimiterSplit("b")
    assert "is split in another way" in difference(base, digits)
    plain = small(end=False)
    plain.add_tokens([AddedToken("<end>", special=False, normalized=False)])
    assert "other special tokens" in difference(base, plain)
    assert "tokens, of which" in difference(load_tokenizer(SMOLLM2), tiny_tokenizer())


def test_the_version_of_a_model_is_that_of_its_files(tmp_path: Path) -> None:
    assert model_version(TINY) == "built-in"
    assert len(model_version(SMOLLM2)) == 64
    with pytest.raises(EngineError, match=r"teacher\.model.*folder with safetensors"):
        model_version(str(tmp_path))
    found = set()
    for content in (b"abc", b"abd", b"abcd"):
        (tmp_path / "model.safetensors").write_bytes(content)
        found.add(model_version(str(tmp_path)))
    assert len(found) == 3


# --- an endpoint's answers -----------------------------------------------------------------------------------------


def test_ids_go_out_and_log_probabilities_of_sampled_tokens_come_back() -> None:
    server = Server(lambda _, request: completion(request))
    teacher = server.teacher(omit=["seed"])
    found = teacher.logprobs(SAMPLES)
    assert found == [
        [0.0, 0.0, logprob([7, 8, 9, 10], 2), logprob([7, 8, 9, 10], 3), 0.0],
        [0.0, logprob([7, 3], 1)],
    ]
    asked = sorted(server.requests, key=lambda one: one["prompt"])
    assert [one["prompt"] for one in asked] == [[7, 3], [7, 8, 9, 10]]  # nothing after the last sampled token
    assert set(server.paths) == {"/v1/completions"}
    assert asked[0]["model"] == "big"
    assert (asked[0]["temperature"], asked[0]["max_tokens"], asked[0]["prompt_logprobs"]) == (1.0, 1, 1)
    assert "seed" not in asked[0]
    assert teacher.spent == Usage(input=6, requests=2)
    assert teacher.logprobs(SAMPLES[1:]) == found[1:]
    assert teacher.spent == Usage(input=8, requests=3)


def test_it_may_be_asked_from_within_a_running_event_loop() -> None:
    server = Server(lambda _, request: completion(request))

    async def inside() -> list[list[float]]:
        return server.teacher().logprobs(SAMPLES)

    assert asyncio.run(inside()) == server.teacher().logprobs(SAMPLES)


def test_a_server_is_not_asked_more_at_once_than_allowed() -> None:
    running, most = 0, 0

    async def slowly(request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return httpx.Response(200, json=completion(json.loads(request.content)))

    endpoint = Endpoint("https://host.example/v1", "big", max_concurrency=3)
    teacher = PromptLogprobs("far", endpoint, {}, FakeClock(), transport(slowly))  # type: ignore[arg-type]
    assert len(teacher.logprobs(SAMPLES * 6)) == 12
    assert most == 3


def test_faults_that_pass_are_asked_again() -> None:
    answers = [httpx.Response(500), httpx.Response(429, headers={"retry-after": "3"}), None]
    server = Server(lambda _, request: answers.pop(0) or completion(request))
    assert server.teacher(retries=2).logprobs(SAMPLES[1:]) == [[0.0, logprob([7, 3], 1)]]
    assert sum(server.clock.slept[1:]) == pytest.approx(3.0)  # what is left of it after the delay of a retry
    assert len(server.requests) == 3


def drop(place: int) -> Callable[[dict[str, Any]], Any]:
    return lambda request: completion(
        request, prompt_logprobs=[None if at == place else one for at, one in enumerate(scores(request["prompt"]))]
    )


def spoilt(value: Any) -> Callable[[dict[str, Any]], Any]:
    """The last token's own entry says this."""

    def answer(request: dict[str, Any]) -> httpx.Response:
        entries = scores(request["prompt"])
        entries[-1][str(request["prompt"][-1])] = value
        return httpx.Response(200, text=json.dumps(completion(request, prompt_logprobs=entries)))

    return answer


def by_text(request: dict[str, Any]) -> Any:
    entries = [None, *({f"word{token}": {"logprob": -1.0}} for token in request["prompt"][1:])]
    return completion(request, prompt_logprobs=entries, prompt_token_ids=None)


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    def answer(request: dict[str, Any]) -> Any:
        whole = completion(request)
        del whole["choices"][0][key]
        return whole

    return answer


MISBEHAVIOURS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no prompt_logprobs": (without("prompt_logprobs"), "does not tell them"),
    "null prompt_logprobs": (lambda r: completion(r, prompt_logprobs=None), "does not tell them"),
    "one too few": (lambda r: completion(r, prompt_logprobs=scores(r["prompt"])[:-1]), "has 1 entries for 2 tokens"),
    "one too many": (lambda r: completion(r, prompt_logprobs=[None, *scores(r["prompt"])]), "has 3 entries for 2"),
    "missing at a sampled token": (drop(1), "does not speak of id 3"),
    "texts instead of ids": (by_text, "does not speak of id 3"),
    "another token's": (
        lambda r: completion(r, prompt_logprobs=[None, {"999999": {"logprob": -0.1}}]),
        "does not speak of id 3",
    ),
    "about other ids": (lambda r: completion(r, prompt_token_ids=[1, *r["prompt"]]), "about other tokens"),
    "a probability": (spoilt({"logprob": 0.9}), "0.9 is no log-probability"),
    "not a number": (spoilt({"logprob": float("nan")}), "nan is no log-probability"),
    "minus infinity": (spoilt({"logprob": float("-inf")}), "-inf is no log-probability"),
    "a text": (spoilt({"logprob": "-1.5"}), "'-1.5' is no log-probability"),
    "true": (spoilt({"logprob": True}), "True is no log-probability"),
    "null": (spoilt({"logprob": None}), "None is no log-probability"),
    "no object": (spoilt(-1.5), "None is no log-probability"),
    "no choice": (lambda _: {"choices": []}, r"holds no choice \(3 tries\)"),
    "server error": (lambda _: httpx.Response(500, text="oops"), r"status 500 \(3 tries\)"),
    "error with status 200": (lambda _: {"error": {"message": "overloaded", "code": 503}}, "overloaded"),
    "unknown model": (
        lambda _: httpx.Response(404, json={"error": {"message": "no model big"}}),
        "status 404: .*no model",
    ),
    "too long": (lambda _: httpx.Response(400, json={"message": "maximum context length is 1"}), "context length"),
    "web page": (lambda _: httpx.Response(200, text="<html>"), "a web page"),
    "half an answer": (lambda _: httpx.Response(200, text='{"choices": ['), "no JSON"),
    "key repeated": (lambda _: httpx.Response(400, json={"message": f"{KEY} knows no prompt_logprobs"}), r"\[key\]"),
}


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_no_number_comes_of_an_answer_that_is_not_whole(name: str) -> None:
    fault, message = MISBEHAVIOURS[name]
    server = Server(lambda _, request: fault(request) if request["prompt"] == [7, 3] else completion(request))
    teacher = server.teacher(retries=2)
    with pytest.raises(EndpointFailed, match=message) as caught:
        teacher.logprobs(SAMPLES)
    assert "endpoint far: " in str(caught.value)
    assert "opd/0000/0000/01" in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.exit_code == 3
    assert teacher.spent.requests >= 1


def test_a_server_that_hangs_is_given_up() -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError

    endpoint = Endpoint("https://host.example/v1", "big", timeout_seconds=0.01, retries=1)
    teacher = PromptLogprobs("far", endpoint, {}, FakeClock(), transport(never))  # type: ignore[arg-type]
    with pytest.raises(EndpointFailed, match=r"no whole answer within 0\.01 s \(2 tries\)"):
        teacher.logprobs(SAMPLES)


def test_a_key_that_is_refused_ends_it() -> None:
    server = Server(lambda *_: httpx.Response(401, json={"error": {"message": f"wrong key {KEY}"}}))
    with pytest.raises(KeyRefused, match=r"does not serve the key in K .*wrong key \[key\]") as caught:
        server.teacher().logprobs(SAMPLES)
    assert KEY not in str(caught.value)
    with pytest.raises(RecipeError, match="NOT_THERE is not set"):
        PromptLogprobs("far", Endpoint("https://host.example/v1", "big", "NOT_THERE"), {})


def test_only_temperature_1_is_scored_by_a_server() -> None:
    server = Server(lambda _, request: completion(request))
    with pytest.raises(
        EngineError, match=r"opd/0000/0000/00: was sampled at temperature 0\.7.*sampling\.train\.temperature = 1"
    ):
        server.teacher().logprobs([SAMPLES[1], sample([7, 8], [0, 1], temperature=0.7)])
    assert server.requests == []


# --- an endpoint's tokenizer ---------------------------------------------------------------------------------------


def tokenizing(theirs: Tokenizer) -> Handler:
    def handler(path: str, request: dict[str, Any]) -> Any:
        assert (path, request["add_special_tokens"]) == ("/tokenize", False)
        ids = encoded(theirs, request["prompt"])
        return {"tokens": ids, "count": len(ids), "max_model_len": 4096}

    return handler


def scoring(spell: Callable[[int], str | None]) -> Handler:
    """A server without /tokenize."""

    def handler(path: str, request: dict[str, Any]) -> Any:
        if path != "/v1/completions":
            return httpx.Response(404, text="Not Found")
        return completion(request, prompt_logprobs=scores(request["prompt"], spell))

    return handler


def test_a_server_is_asked_to_tokenize() -> None:
    ours = tiny_tokenizer()
    server = Server(tokenizing(tiny_tokenizer()))
    server.teacher().check_tokenizer(ours, "stage opd: teacher.endpoint")
    assert [one["prompt"] for one in server.requests] == probe_texts(ours)
    assert any("<|im_start|>" in text for text in probe_texts(ours))
    other = Server(tokenizing(load_tokenizer(SMOLLM2)))
    with pytest.raises(
        EngineError, match=r"endpoint far: stage opd: teacher\.endpoint: big has another tokenizer"
    ) as caught:
        other.teacher().check_tokenizer(ours, "stage opd: teacher.endpoint")
    assert "Name a teacher of the student's own model family" in str(caught.value)


def test_a_tokenizer_that_differs_in_its_special_tokens_only_is_found() -> None:
    lacks = Tokenizer.from_str(tiny_tokenizer().to_str().replace("<|im_start|>", "<|IM_start|>"))
    with pytest.raises(EngineError, match=r"splits 'a<\|im_start\|>b' in another way"):
        Server(tokenizing(lacks)).teacher().check_tokenizer(tiny_tokenizer(), "k")


@pytest.mark.parametrize("spelling", ["text", "vocabulary"])
def test_without_tokenize_the_texts_of_tokens_are_compared(spelling: str) -> None:
    ours = tiny_tokenizer()
    spell = ours.id_to_token if spelling == "vocabulary" else lambda one: ours.decode([one], skip_special_tokens=False)
    Server(scoring(spell)).teacher().check_tokenizer(ours, "k")
    smol = load_tokenizer(SMOLLM2)
    with pytest.raises(EngineError, match=r"token \d+ is '.*' there and '.*' here"):
        Server(scoring(smol.id_to_token)).teacher().check_tokenizer(ours, "k")


def test_a_server_that_tells_nothing_of_its_tokenizer_is_refused() -> None:
    with pytest.raises(EngineError, match="so nobody can know"):
        Server(scoring(lambda _: None)).teacher().check_tokenizer(tiny_tokenizer(), "k")

    def lost(path: str, request: dict[str, Any]) -> Any:
        if path == "/tokenize":
            return httpx.Response(405)
        return completion(request, prompt_logprobs=[None, *({"5": {"logprob": -1.0}} for _ in request["prompt"][1:])])

    with pytest.raises(EngineError, match="does not know token"):
        Server(lost).teacher().check_tokenizer(tiny_tokenizer(), "k")


def test_a_server_that_does_not_answer_the_check_is_an_endpoint_s_fault() -> None:
    for answer in (httpx.Response(500), httpx.Response(200, json={"count": 3}), httpx.Response(200, text="<p>")):
        with pytest.raises(EndpointFailed):
            Server(lambda *_, answer=answer: answer).teacher(retries=0).check_tokenizer(tiny_tokenizer(), "k")


# --- a second model ------------------------------------------------------------------------------------------------


def test_a_second_model_scores_as_the_engine_that_trained_it(tmp_path: Path) -> None:
    from journeyman.engine.scorer import load_scorer

    trained = small_engine.engine(lora_rank=3, lora_alpha=7.5)
    (tmp_path / "step").mkdir()
    trained.save(tmp_path / "step")
    samples = small_engine.mixed_samples()
    # The student's own rank and alpha play no part.
    scorer = load_scorer(small_engine.TINY, tmp_path / "step")
    assert scorer.logprobs(samples) == [pytest.approx(one, abs=2e-5) for one in trained.logprobs(samples)]
    plain = load_scorer(small_engine.TINY)
    assert plain.logprobs(samples) == [pytest.approx(one, abs=2e-5) for one in trained.logprobs(samples, of="base")]
    assert scorer.logprobs(samples) != plain.logprobs(samples)
    assert scorer.spent == Usage()
    trained.close()


def test_a_second_model_equals_transformers_at_any_temperature() -> None:
    torch = pytest.importorskip("torch")
    from journeyman.engine.scorer import load_scorer
    from journeyman.engine.weights import load_model

    one = small_engine.sample(3, small_engine.tokens(60, 9), 20, temperature=0.7)
    model = load_model(small_engine.TINY, torch.device("cpu"), torch.float32)
    with torch.no_grad():
        table = torch.log_softmax(model(torch.tensor([one.token_ids])).logits[0] / 0.7, -1)
    wanted = [float(table[at - 1, one.token_ids[at]]) if flag else 0.0 for at, flag in enumerate(one.mask)]
    assert load_scorer(small_engine.TINY).logprobs([one])[0] == pytest.approx(wanted, abs=2e-5)


def test_all_weights_that_were_trained_can_teach(tmp_path: Path) -> None:
    from journeyman.engine.scorer import load_scorer

    trained = small_engine.engine(disturb=False, train="full")
    samples = small_engine.mixed_samples()
    trained.update(samples, LossSettings("sft", learning_rate=1e-2))
    trained.save(tmp_path)
    wanted = trained.logprobs(samples)
    trained.close()
    assert load_scorer(small_engine.TINY, tmp_path).logprobs(samples) == [
        pytest.approx(one, abs=2e-5) for one in wanted
    ]


def test_what_a_second_model_cannot_score_is_refused(tmp_path: Path) -> None:
    from journeyman.engine.scorer import load_scorer

    scorer = load_scorer(small_engine.TINY)
    with pytest.raises(EngineError, match="opd/0000/0000/00: holds ids outside the teacher's vocabulary"):
        scorer.logprobs([sample([5, 49_000], [0, 1])])
    with pytest.raises(EngineError, match="has 5000 tokens, and the teacher's context holds 4096"):
        scorer.logprobs([sample([5] * 5000, [0, 1] * 2500)])
    with pytest.raises(EngineError, match="no engine state"):
        load_scorer(small_engine.TINY, tmp_path)
    trained = small_engine.engine()
    trained.save(tmp_path)
    trained.close()
    described = json.loads((tmp_path / "engine.json").read_text())
    (tmp_path / "engine.json").write_text(json.dumps({**described, "base": "0" * 64}))
    with pytest.raises(EngineError, match="an adapter of another model than tiny-random"):
        load_scorer(small_engine.TINY, tmp_path)
