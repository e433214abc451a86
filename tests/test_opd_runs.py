"""OPD–RL with the real engine on a tiny random model: the student comes to its teacher, whichever way the teacher is asked; a
killed run ends as an undisturbed one; a server that misbehaves ends the sitting and spoils nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

pytest.importorskip("torch")

from journeyman.engine.chat import EndpointFailed  # noqa: E402
from journeyman.engine.scorer import Scorer, load_scorer  # noqa: E402
from journeyman.engine.teacher import encoded  # noqa: E402
from journeyman.engine.tokenizer import load_tokenizer, tiny_tokenizer  # noqa: E402
from journeyman.episode import Episode, Sample, SamplingSettings  # noqa: E402
from journeyman.errors import EngineError, RecipeError  # noqa: E402
from journeyman.parts import build_parts  # noqa: E402
from journeyman.pipeline import run_recipe  # noqa: E402
from journeyman.recipe import (  # noqa: E402
    Endpoint,
    Evaluate,
    Model,
    Opd,
    Optimizer,
    Prices,
    Recipe,
    RunSettings,
    Sampling,
    Sft,
    Teacher,
    checked,
)
from journeyman.train.checkpoint import Checkpoints  # noqa: E402
from journeyman.train.runfolder import RunFolder  # noqa: E402

SETTINGS = SamplingSettings(temperature=1.0, max_tokens=16, context_limit=512)
KEY = "sk-canary-77aa41c0de"


def recipe(*stages: Any, **changes: Any) -> Recipe:
    whole = Recipe(
        name="opd",
        world="closing_desk:WORLD",
        seed=7,
        model=Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=8, lora_alpha=16.0, slots=16),
        sampling=Sampling(train=SETTINGS, eval=SETTINGS),
        run=RunSettings(threads=1, concurrency=16),
        stage=list(stages),
    )
    return checked(msgspec.structs.replace(whole, **changes), "test")


def opd(teacher: Teacher, **changes: Any) -> Opd:
    stage = Opd(
        start="base",
        teacher=teacher,
        steps=8,
        beta_end=0.25,
        kl_clip=10.0,
        groups=4,
        group_size=4,
        checkpoint_every=3,
        keep_references=[2],
        optimizer=Optimizer(learning_rate=5e-3),
    )
    return msgspec.structs.replace(stage, **changes)


def whole() -> Recipe:
    """A teacher that SFT makes, and a student that begins untouched."""
    return recipe(
        Evaluate(name="before", trials=4),
        # Short: a teacher that is certain would put next to no weight on anything that the student says.
        Sft(steps=3, batch=4, checkpoint_every=3, optimizer=Optimizer(learning_rate=1e-2)),
        opd(Teacher(stage="sft")),
        Evaluate(name="after", trials=4),
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opd") / "run"
    run_recipe(whole(), folder)
    return folder


@pytest.fixture(scope="module")
def teacher(undisturbed: Path) -> Scorer:
    """The weights that SFT ended with, loaded apart."""
    return load_scorer(whole().model, Checkpoints(undisturbed / "checkpoints").named("sft"))


def steps(folder: Path) -> list[dict[str, Any]]:
    return [line for line in RunFolder(folder).metrics() if line["kind"] == "train" and line["stage"] == "opd"]


def samples_of(episodes: Iterator[Episode]) -> list[Sample]:
    return [
        Sample(one.id, one.group_id, s.token_ids, s.mask, s.logprobs, s.versions, s.temperature, [0.0] * len(s.mask))
        for one in sorted(episodes, key=lambda one: one.id)
        for s in one.segments
    ]


def reverse_kl(samples: list[Sample], teacher: Scorer) -> float:
    """nats per sampled token, from what was stored and from the teacher loaded apart."""
    gaps = [
        sample.logprobs[place] - scored[place]
        for sample, scored in zip(samples, teacher.logprobs(samples), strict=True)
        for place, flag in enumerate(sample.mask)
        if flag
    ]
    return sum(gaps) / len(gaps)


def outcome(folder: Path) -> dict[str, Any]:
    """What a resumed run must share with an undisturbed one."""
    run = RunFolder(folder)
    kept = run.checkpoints.steps()
    state = run.checkpoints.verified(kept[-1])
    told = ("beta", "reverse_kl", "kl_credit_rms", "rl_credit_rms", "kl_credit_share", "outcome_signal_share", "loss")
    return {
        "digests": {one.id: one.digest for one in run.episodes(with_tokens=True)},
        "weights": state.files,
        "counters": state.counters,
        "kept": kept,
        "told": [[line[key] for key in told] for line in steps(folder)],
    }


def test_the_student_comes_to_its_teacher(undisturbed: Path, teacher: Scorer) -> None:
    run = RunFolder(undisturbed)
    lines = steps(undisturbed)
    assert [line["beta"] for line in lines] == pytest.approx([1 - 0.75 * k / 8 for k in range(8)])
    # On fresh samples of evaluation tasks, before and after.
    before = reverse_kl(samples_of(run.episodes("before", with_tokens=True)), teacher)
    after = reverse_kl(samples_of(run.episodes("after", with_tokens=True)), teacher)
    assert before > 0.5
    assert after < 0.7 * before
    # On the fresh samples of each step, as told; and what was told is what the teacher says when it is loaded apart.
    told = [line["reverse_kl"] for line in lines]
    assert sum(told[-3:]) < 0.7 * sum(told[:3])
    first = samples_of(one for one in run.episodes("opd", with_tokens=True) if one.id.startswith("opd/0000/"))
    assert lines[0]["reverse_kl"] == pytest.approx(reverse_kl(first, teacher), abs=1e-4)
    # The untouched model never passes: it is the teacher's credit alone that a dead group can learn from.
    assert lines[0]["outcome_signal_share"] < 1
    assert lines[0]["groups_trained"] == 4
    assert all(line["groups_without_signal"] == 0 for line in lines)


def written(folder: Path) -> int:
    """Lines of steps of the stage. Looks at the bytes, since it is asked again and again."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b'"kind":"train","stage":"opd"') if path.is_file() else 0


def work(folder: str) -> None:
    """One sitting, in a process of its own."""
    run_recipe(whole(), Path(folder), resume=True)


def test_kill_9_and_resume(tmp_path: Path, undisturbed: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["closing_desk", "journeyman.pipeline", "journeyman.engine.local", "peft"])
    # After the second step, with no checkpoint in the stage but the reference; and behind a later one.
    for number, lines in enumerate((2, 5)):
        folder = tmp_path / f"killed-{number}"
        process = context.Process(target=work, args=(str(folder),), daemon=True)
        process.start()
        while process.is_alive() and written(folder) < lines:
            time.sleep(0.02)
        process.kill()
        process.join()
        assert "after" not in {line["stage"] for line in RunFolder(folder).metrics()}
        run_recipe(whole(), folder, resume=True)
        assert outcome(folder) == outcome(undisturbed)


def test_a_second_model_teaches_the_same(tmp_path: Path, undisturbed: Path) -> None:
    checkpoint = Checkpoints(undisturbed / "checkpoints").named("sft")
    other = Teacher("model", model="tiny-random", adapter=str(checkpoint))
    run_recipe(recipe(opd(other, steps=2, beta_steps=8)), tmp_path / "run")
    for found, wanted in zip(steps(tmp_path / "run"), steps(undisturbed), strict=False):
        for key in ("beta", "reverse_kl", "kl_credit_rms", "rl_credit_rms", "reward_mean"):
            assert found[key] == pytest.approx(wanted[key], rel=1e-3, abs=1e-5)
    (actor,) = (one for one in RunFolder(tmp_path / "run").provenance.actors if one.role == "teacher")
    assert (actor.name, actor.sent, actor.endpoint) == ("tiny-random", "", "")
    assert actor.version.startswith("built-in + ")


def test_a_second_model_with_another_tokenizer_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    wanted = recipe(opd(Teacher("model", model="smollm2-135m-instruct")))
    with pytest.raises(RecipeError, match=r"stage opd: teacher\.model: smollm2-135m-instruct has another tokenizer"):
        run_recipe(wanted, tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Server:
    """A completions server on this machine that knows the teacher, and can be told to misbehave."""

    def __init__(self, teacher: Scorer, tokenizer: Any) -> None:
        self.teacher, self.tokenizer = teacher, tokenizer
        self.requests: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.faulty_from: int | None = None
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.keys.add(self.headers["authorization"])
                data = json.dumps(outer.answer(self.path, request)).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        if path == "/tokenize":
            return {"tokens": encoded(self.tokenizer, request["prompt"])}
        ids = request["prompt"]
        with self._lock:
            self.requests.append(request)
            zeros = [0.0] * len(ids)
            one = Sample("x", "x", ids, [0] + [1] * (len(ids) - 1), zeros, [0] * len(ids), 1.0, zeros)
            (scored,) = self.teacher.logprobs([one])
            entries: list[Any] = [None, *({str(t): {"logprob": p}} for t, p in zip(ids[1:], scored[1:], strict=True))]
            if self.faulty_from is not None and len(self.requests) > self.faulty_from:
                entries.pop()
        return {"choices": [{"text": "", "prompt_logprobs": entries, "prompt_token_ids": ids}]}

    def endpoints(self) -> dict[str, Endpoint]:
        return {"far": Endpoint(self.url, "big", api_key_env="CANARY_KEY", retries=0)}


def test_a_server_teaches_the_same_and_its_faults_spoil_nothing(
    tmp_path: Path, undisturbed: Path, teacher: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    server = Server(teacher, tiny_tokenizer())
    stage = opd(Teacher("endpoint", endpoint="far"), steps=2, beta_steps=8, checkpoint_every=1, keep_references=[])
    wanted = recipe(stage, endpoints=server.endpoints(), prices=Prices(input_per_million={"teacher": 1e6}))
    folder = tmp_path / "run"
    server.faulty_from = 16  # the sixteen samples of the first step are answered
    with pytest.raises(
        EndpointFailed, match=r"endpoint far: opd/0001/.*prompt_logprobs has \d+ entries for \d+ tokens"
    ):
        run_recipe(wanted, folder)
    assert RunFolder(folder).checkpoints.steps() == [1]
    assert len(steps(folder)) == 1
    server.faulty_from = None
    run_recipe(wanted, folder, resume=True)
    for found, was in zip(steps(folder), steps(undisturbed), strict=False):
        for key in ("beta", "reverse_kl", "kl_credit_rms", "rl_credit_rms", "reward_mean"):
            assert found[key] == pytest.approx(was[key], rel=1e-3, abs=1e-5)
        assert found["teacher_requests"] == 16
        assert found["cost"] == found["teacher_tokens"] > 16 * 20
    assert steps(folder)[-1]["cost_total"] == sum(line["teacher_tokens"] for line in steps(folder))
    (actor,) = (one for one in RunFolder(folder).provenance.actors if one.name == "big")
    assert (actor.role, actor.endpoint, actor.sent) == (
        "teacher",
        server.url.removeprefix("http://").removesuffix("/v1"),
        "token ids of the student's episodes",
    )
    assert server.keys == {f"Bearer {KEY}"}
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_server_with_another_tokenizer_is_refused(
    tmp_path: Path, teacher: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    server = Server(teacher, load_tokenizer("smollm2-135m-instruct"))
    wanted = recipe(opd(Teacher("endpoint", endpoint="far")), endpoints=server.endpoints())
    with pytest.raises(EngineError, match=r"endpoint far: stage opd: teacher\.endpoint: big has another tokenizer"):
        run_recipe(wanted, tmp_path / "run")
    assert server.requests == []
    assert steps(tmp_path / "run") == []


def test_what_an_endpoint_cannot_teach_is_refused_by_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = opd(Teacher("endpoint", endpoint="far"))
    far = {"far": Endpoint("https://host.example/v1", "big", api_key_env="CANARY_KEY")}
    online = RunSettings(network="endpoints")
    warm = Sampling(train=msgspec.structs.replace(SETTINGS, temperature=0.7), eval=SETTINGS)
    with pytest.raises(RecipeError, match=r"sampling\.train\.temperature: must be 1.*teacher\.endpoint names a server"):
        recipe(stage, endpoints=far, run=online, sampling=warm)
    with pytest.raises(RecipeError, match=r'run\.network = "none" lets nothing leave'):
        recipe(stage, endpoints=far)
    monkeypatch.delenv("CANARY_KEY", raising=False)
    assert os.environ.get("CANARY_KEY") is None
    with pytest.raises(RecipeError, match="CANARY_KEY is not set"):
        build_parts(recipe(stage, endpoints=far, run=online))
