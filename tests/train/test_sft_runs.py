"""Whole runs with SFT on several teachers: what is kept and logged, a bridge that ends early, a killed run that resumes to the same
end, and a model behind an endpoint as a teacher."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the server that stands in
sys.path.insert(0, str(Path(__file__).parents[1] / "rollout"))  # for the world `corner_shop`

import corner_shop
from desk_run import RENDERER, outcome, sit
from dying import dying
from fake_engine import FakeEngine

from endpoint_stand_in import OracleBrain, StandIn
from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import SamplingSettings
from journeyman.parts import Parts
from journeyman.pipeline import run_recipe
from journeyman.recipe import (
    Bridge,
    Endpoint,
    Evaluate,
    Model,
    Prices,
    Recipe,
    RunSettings,
    Sampling,
    Sft,
    TaskFilter,
    checked,
)
from journeyman.rollout.policy import TokenPolicy
from journeyman.train.provenance import Actor
from journeyman.train.runfolder import RunFolder

TEACHERS = ("oracle", "formal", "careful", "recovering")
FAMILIES = ["cancel", "total"]


def recipe(mode: Literal["replay", "reuse"] = "replay", **stage: Any) -> Recipe:
    fields = {"epochs": 2.0, "batch": 5, "checkpoint_every": 2} | stage
    sft = Sft(teachers=TEACHERS, attempts=2, traces_per_task=3, tasks=TaskFilter(families=FAMILIES), **fields)
    room = SamplingSettings(context_limit=4_000)
    return Recipe(
        name="teachers",
        world="corner_shop:WORLD",
        seed=3,
        sampling=Sampling(train=room, eval=room),
        run=RunSettings(resume=mode, concurrency=4),
        stage=[sft, Evaluate(name="after", trials=2)],
    )


def build_with(engine: FakeEngine) -> Callable[[Recipe], Parts]:
    def build(_: Recipe) -> Parts:
        policy = TokenPolicy(engine, RENDERER, "fake")
        return Parts(corner_shop.WORLD, policy, engine, RENDERER, [Actor("policy", "fake", "1")], "float32", "cpu")

    return build


def sitting(folder: Path, wanted: Recipe) -> Any:
    return sit(folder, wanted, build=build_with(FakeEngine()))


def lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in RunFolder(folder).metrics() if line["kind"] == kind]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert sitting(folder, recipe()).stopped is None
    return folder


def test_what_was_kept_is_logged_and_trained_on(undisturbed: Path) -> None:
    (line,) = lines(undisturbed, "traces")
    # 12 tasks, 4 teachers, 2 attempts.
    assert line["played"] == line["solved"] == 96
    assert line["unreadable"] == line["too_long"] == 0
    assert line["played"] - line["duplicates"] - line["over_cap"] == line["kept"] == line["used"] == 36
    assert set(line["teachers"]) == set(TEACHERS)
    assert all(counts["played"] == 24 for counts in line["teachers"].values())
    # A task without a user begins alike each time, so that the oracle's second attempt at it is its first.
    assert line["teachers"]["oracle"]["duplicates"] >= 6
    assert min(counts["kept"] for counts in line["teachers"].values()) >= 4
    steps = lines(undisturbed, "train")
    assert [step["episodes_trained"] for step in steps] == [5] * 14 + [2]
    assert [step["epoch"] for step in steps] == pytest.approx([min(5 * n, 72) / 36 for n in range(1, 16)])
    trained = RunFolder(undisturbed).checkpoints.verified(15).counters
    assert (trained["steps"], trained["episodes_trained"]) == (15, 72)


def dying_sitting(folder: Path, wanted: Recipe, at: int) -> int:
    """A sitting that dies at its `at`-th durable call. See `dying`."""
    return dying(lambda: sitting(folder, wanted), at)


@pytest.mark.parametrize("mode", ["replay", "reuse"])
def test_a_run_killed_among_its_teachers_or_steps_ends_alike(
    tmp_path: Path, undisturbed: Path, mode: Literal["replay", "reuse"]
) -> None:
    wanted = outcome(undisturbed)
    for at in (3, 20, 60, 95, 140, 180):
        folder = tmp_path / f"at-{at}"
        assert dying_sitting(folder, recipe(mode), at) == 137
        assert sitting(folder, recipe(mode)).stopped is None
        found = outcome(folder)
        assert found["digests"] == wanted["digests"], at
        assert found["state"] == wanted["state"], at
        assert found["metrics"] == wanted["metrics"], at


class Apprentice(FakeEngine):
    """Writes calls of a tool that there is not, until it was trained three times."""

    def __init__(self) -> None:
        super().__init__()
        tokenizer = tiny_tokenizer()
        self._close = tokenizer.token_to_id("<|im_end|>")
        self._calls = [
            tokenizer.encode(f'<tool_call>{{"name": "{name}", "arguments": {{"order_id": "OR-0001"}}}}</tool_call>').ids
            for name in ("get_ordr", "get_order")
        ]

    async def sample(self, request: SampleRequest) -> SampleResult:
        ids = [*self._calls[self.version >= 3], self._close]
        return SampleResult(ids, [-0.5] * len(ids), self.version, "stop")


def test_a_bridge_takes_few_traces_and_ends_once_the_calls_are_valid(tmp_path: Path) -> None:
    wanted = recipe(
        epochs=None,
        batch=2,
        steps=20,
        bridge=Bridge(),
        evaluate_every=1,
        monitor=TaskFilter(families=["transfer"], limit=3),
    )
    engine = Apprentice()
    folder = tmp_path / "run"
    assert sit(folder, wanted, build=build_with(engine)).stopped is None
    (line,) = lines(folder, "traces")
    assert (line["kept"], line["used"]) == (36, 3)
    seen = lines(folder, "monitor")
    assert [one["valid_call_share"] for one in seen] == [0.0, 0.0, 1.0]
    assert all(one["calls_written"] >= one["episodes"] == 3 for one in seen)
    trained = {episode for ids, _ in engine.updates for episode in ids}
    assert (len(engine.updates), len(trained)) == (3, 3)
    families = {one.id: one.family for one in RunFolder(folder).episodes()}
    assert {families[one] for one in trained} == set(FAMILIES)
    state = RunFolder(folder).checkpoints.verified(3)
    assert (state.step, state.finished) == (3, True)
    # The stage after it was played, and a resumed run does not go back to it.
    assert [one["stage"] for one in lines(folder, "evaluate")] == ["after"]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert sit(folder, wanted, build=build_with(Apprentice())).stopped is None
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def tiny(teachers: tuple[str, ...], url: str = "http://127.0.0.1:1/v1") -> Recipe:
    room = SamplingSettings(context_limit=4_000, max_tokens=64)
    made = Recipe(
        name="tiny",
        world="corner_shop:WORLD",
        seed=3,
        model=Model(name="tiny-random", dtype="float32", device="cpu", lora_rank=4, lora_alpha=8.0, slots=8),
        sampling=Sampling(train=room, eval=room),
        # A model that pays for its tokens is as good a teacher as one that does not.
        prices=Prices(output_per_million={"teacher": 1_000.0}),
        endpoints={"strong": Endpoint(url=url, model="stand-in")},
        run=RunSettings(threads=1, concurrency=4),
        stage=[Sft(teachers=teachers, tasks=TaskFilter(families=FAMILIES), steps=2, batch=4)],
    )
    made = msgspec.structs.replace(made, reward=msgspec.structs.replace(made.reward, token_penalty=0.3))
    return checked(made, "r.toml")


def test_a_model_behind_an_endpoint_teaches_as_the_oracle_does(tmp_path: Path) -> None:
    """It plays by native calls, sees schemas, and answers as the oracle did: what is trained on has the same ids."""
    plain = run_recipe(tiny(("oracle",)), tmp_path / "plain").folder
    recorded = {one.id: one for one in plain.episodes(with_tokens=True)}
    with StandIn(OracleBrain(recorded.values())) as server:
        taught = run_recipe(tiny(("endpoint:strong",), server.url), tmp_path / "taught").folder
    found = {one.id: one for one in taught.episodes(with_tokens=True)}
    assert found.keys() == recorded.keys()
    assert len(found) == 12
    for id, episode in found.items():
        assert episode.segments == recorded[id].segments, id
        assert episode.messages[0] != recorded[id].messages[0]  # it was not told of tools in the system message
        assert episode.reward < 1.0  # it paid for its tokens, and is kept all the same
        assert set(episode.usage) == {"teacher"}
        assert episode.usage["teacher"].output == 10 * episode.usage["teacher"].requests
    (line,) = (one for one in taught.metrics() if one["kind"] == "traces")
    assert (line["played"], line["kept"], line["teachers"].keys()) == (12, 12, {"endpoint:strong"})
    tokens = sum(one.usage["teacher"].output for one in found.values())
    assert line["cost_total"] == pytest.approx(tokens * 1e-3)
    # Equal traces, equal weights.
    states = [folder.checkpoints.verified(2) for folder in (plain, taught)]
    assert states[0].files == states[1].files
    (actor,) = (one for one in taught.provenance.actors if one.role == "teacher")
    assert (actor.name, f"http://{actor.endpoint}/v1") == ("stand-in", server.url)
    assert "the conversation" in actor.sent
    assert [one.name for one in plain.provenance.actors if one.role == "teacher"] == ["oracle"]
    assert all(request["temperature"] == 1.0 and request["tools"] for request in server.requests)
