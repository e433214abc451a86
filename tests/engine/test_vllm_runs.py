"""Real episodes and whole runs against the stand-in: faults become invalid attempts, and nothing wrong is ever trained."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "rollout"))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from endpoint_fakes import FakeClock
from test_pool import pool, specs
from test_pool_with_engine import SETTINGS, Curt
from vllm_making import connect, hurry
from vllm_stand_in import PASSING, WRONG, StandIn

from journeyman.engine import vllm_client
from journeyman.engine.tokenizer import load_tokenizer
from journeyman.engine.vllm import VllmEngine
from journeyman.engine.vllm_client import ServerFailed
from journeyman.engine.vllm_delivery import DeliveryFailed
from journeyman.episode import Episode, Group, SamplingSettings
from journeyman.pipeline import run_recipe
from journeyman.recipe import Evaluate, Grpo, Model, Optimizer, Recipe, Reward, RunSettings, Sampling, Sft
from journeyman.rollout.policy import TokenPolicy
from journeyman.serving import Vllm
from journeyman.train.runfolder import RunFolder
from journeyman.train.samples import samples_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StandIn, VllmEngine]]:
    with StandIn() as server:
        made = connect(server, tmp_path_factory.mktemp("adapters"), retries=1)
        yield server, made
        made.close()


def play(made: VllmEngine, count: int, **settings: Any) -> list[Episode]:
    policy = TokenPolicy(made, Curt(load_tokenizer("tiny-random")))
    return pool(specs(count), policy, settings=SETTINGS, **settings)


@pytest.mark.parametrize("fault", [*PASSING, *WRONG])
def test_a_fault_makes_an_attempt_invalid_and_leaves_nothing_to_train_on(
    home: tuple[StandIn, VllmEngine], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second turn of the first episode meets it, for good."""
    server, made = home
    (whole,) = play(made, 1)
    assert whole.valid
    if fault == "hang":
        hurry(made, monkeypatch, tries=2, skip=1)
    server.misbehave(fault, skip=1)
    (episode,) = play(made, 1)
    server.behave()
    assert (episode.failure, episode.verdict, episode.reward) == ("infrastructure", None, 0.0)
    assert episode.failure_detail.startswith("ServerFailed: " if fault in PASSING else "WrongAnswer: ")
    # What is on record is the turn before, as it was sampled; the attempt is no group's.
    assert episode.usage["policy"].requests == 1
    (segment,), wanted = episode.segments, whole.segments[0]
    size = len(segment.token_ids)
    assert (segment.token_ids, segment.mask) == (wanted.token_ids[:size], wanted.mask[:size])
    group = Group("g", episode.task_id, [episode, whole])
    counted = [one for one in group.episodes if one.valid]
    assert [one.episode_id for one in samples_of(group, counted, [1.0] * len(counted))] == [whole.id] * len(
        whole.segments
    )


def test_a_fresh_attempt_follows_a_wrong_answer(home: tuple[StandIn, VllmEngine]) -> None:
    server, made = home
    wanted = play(made, 3)
    server.misbehave("a token twice", times=2, skip=1)
    attempts: list[Episode] = []
    found = play(made, 3, retries=2, on_episode=attempts.append)
    server.behave()
    assert sorted(one.failure for one in attempts if not one.valid) == ["infrastructure"] * 2
    assert [one.segments for one in found] == [one.segments for one in wanted]


def recipe(server: StandIn, folder: Path, **grpo: Any) -> Recipe:
    settings = SamplingSettings(max_tokens=16, context_limit=512)
    return Recipe(
        name="served",
        world="closing_desk:WORLD",
        seed=7,
        model=Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=8, lora_alpha=16.0, slots=8),
        vllm=Vllm(
            url=server.url, adapter_folder=str(folder), mean_tolerance=1e-3, max_tolerance=1e-2, canary_tokens=16
        ),
        sampling=Sampling(train=msgspec.structs.replace(settings, temperature=1.6), eval=settings),
        reward=Reward(token_penalty=0.2),
        run=RunSettings(resume="reuse", threads=1, concurrency=16),
        stage=[
            Sft(steps=12, batch=4, checkpoint_every=6, optimizer=Optimizer(learning_rate=1e-2)),
            Grpo(**({"steps": 3, "groups": 3, "group_size": 4} | grpo)),
            Evaluate(name="final", trials=2),
        ],
    )


def trained(folder: Path) -> list[dict[str, Any]]:
    lines = RunFolder(folder).metrics()
    return [line for line in lines if line["kind"] == "train" and line["stage"] == "grpo"]


def check_run(folder: Path, server: StandIn) -> None:
    """Every step sampled with the weights of the step before it, and trained on what these weights sampled."""
    run = RunFolder(folder)
    version = 12  # one for each step of SFT
    for index, line in enumerate(trained(folder)):
        episodes = [one for one in run.episodes("grpo", with_tokens=True) if one.id.startswith(f"grpo/{index:04d}/")]
        seen = {
            version
            for one in episodes
            for part in one.segments
            for version, on in zip(part.versions, part.mask, strict=True)
            if on
        }
        assert seen == {version}
        if line["version"] is not None:
            assert line["version"] == version + 1
            version = line["version"]
            # The first of two updates is on-policy but for rounding, the second all but: foreign tokens would show at once.
            assert line["kl_k3"] < 0.05
            assert line["ratio_max"] < 3.0
    assert version >= 14
    assert [name.split("-")[1] for name in server.adapters] == [f"v{version - 1:06d}", f"v{version:06d}"]


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_client, "MonotonicClock", FakeClock)


def test_sft_and_grpo_run_end_to_end_with_versions_advancing(tmp_path: Path) -> None:
    with StandIn() as server:
        result = run_recipe(recipe(server, tmp_path / "adapters"), tmp_path / "run")
        assert result.stopped is None
        check_run(tmp_path / "run", server)
    actor = RunFolder(tmp_path / "run").provenance.actors[0]
    assert (actor.endpoint, actor.sent != "") == (server.url.removeprefix("http://"), True)


def test_grpo_through_faults_trains_on_nothing_wrong(tmp_path: Path, instant: None) -> None:
    with StandIn() as server:
        for number, fault in enumerate(["a token twice", "429", "an id too few", "cut", "NaN", "500", "another model"]):
            server.misbehave(fault, times=3, skip=4 + 5 * number)
        run_recipe(recipe(server, tmp_path / "adapters"), tmp_path / "run")
        check_run(tmp_path / "run", server)
        server.behave()
    attempts = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    failed = [one["failure_detail"] for one in attempts if one["failure"] == "infrastructure"]
    assert len(failed) == 4 * 3
    assert all(detail.startswith("WrongAnswer: ") for detail in failed)


def test_a_stale_adapter_stops_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with StandIn() as server:
        wanted = recipe(server, tmp_path / "adapters")
        server.stale_for = "-v000014-"
        with pytest.raises(DeliveryFailed, match="older weights"):
            run_recipe(wanted, folder)
        assert [line["version"] for line in trained(folder)] == [13]
        assert RunFolder(folder).checkpoints.steps()[-1] == 13
        server.stale_for = ""
        run_recipe(wanted, folder, resume=True)
        check_run(folder, server)


def test_a_server_that_dies_stops_the_run_which_can_be_resumed(tmp_path: Path, instant: None) -> None:
    folder = tmp_path / "run"
    with StandIn() as server:
        wanted = recipe(server, tmp_path / "adapters")
        server.misbehave("500", path="/health", skip=2)
        with pytest.raises(ServerFailed, match="/health"):
            run_recipe(wanted, folder)
        server.behave()
        server.forget()  # it was started anew
        run_recipe(wanted, folder, resume=True)
        check_run(folder, server)
