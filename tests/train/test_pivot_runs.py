"""Whole runs with a pivot stage on the smallest world that has all kinds of turns, with a fake engine: killed at any write, resumed."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import RENDERER, outcome, sit
from dying import dying
from fake_engine import FakeEngine

import filing_desk
from journeyman.engine.base import SampleRequest, SampleResult
from journeyman.engine.tokenizer import tiny_tokenizer
from journeyman.episode import Message, SamplingSettings
from journeyman.errors import RecipeError, RunFolderError
from journeyman.parts import Parts
from journeyman.recipe import (
    Evaluate,
    Grpo,
    Optimizer,
    Pivot,
    Recipe,
    RunSettings,
    Sampling,
    Sft,
    TaskFilter,
)  # fmt: skip
from journeyman.rollout.policy import TokenPolicy
from journeyman.train import durable
from journeyman.train.provenance import Actor
from journeyman.train.runfolder import RunFolder

TOKENIZER = tiny_tokenizer()
TURN = "<|im_start|>assistant"
CALL = '<tool_call>{"name": "%s", "arguments": {"id": "%s"}}</tool_call>'
RIGHT = ("look", "close", "fee")


class FilingEngine(FakeEngine):
    """Does the next right thing of the filing desk more often the larger its weight, and the more often the later the turn."""

    async def sample(self, request: SampleRequest) -> SampleResult:
        text = TOKENIZER.decode(request.prompt_ids, skip_special_tokens=False)
        found = re.search(r"Close (C\d)", text)
        assert found is not None
        case, turn = found[1], text.count(TURN) - 1
        draw = random.Random(f"{request.seed}/{len(request.prompt_ids)}").random()
        right = draw < 1 / (1 + math.exp(1.5 - 4 * self.weight - turn / 2))
        said = self._right(case, turn) if right else CALL % ("look", "C9") if draw < 0.9 else "The fee is $9.00."
        ids = RENDERER.complete(Message("assistant", said))
        return SampleResult(ids, [-draw - place / 7 for place in range(len(ids))], self.version, "stop")

    @staticmethod
    def _right(case: str, turn: int) -> str:
        if turn == 2:
            return f"It costs you a fee of ${int(case[1]) + 2}.00."
        return CALL % (RIGHT[min(turn, 1)], case)


def build(_: Recipe) -> Parts:
    engine = FilingEngine()
    policy = TokenPolicy(engine, RENDERER, "fake")
    return Parts(filing_desk.WORLD, policy, engine, RENDERER, [Actor("policy", "fake", "1")], "float32", "cpu")


PIVOT = Pivot(
    steps=4,
    groups=3,
    group_size=4,
    profile_threshold=0.95,
    decay=0.8,
    checkpoint_every=2,
    evaluate_every=2,
    monitor=TaskFilter(split="heldout", limit=2),
    optimizer=Optimizer(learning_rate=0.05),
)


def recipe(mode: Any = "replay", *, pivot: Pivot = PIVOT, before: Any = None) -> Recipe:
    settings = SamplingSettings(max_tokens=128, context_limit=1024)
    return Recipe(
        name="filing",
        world="filing_desk:WORLD",
        seed=4,
        sampling=Sampling(train=settings, eval=settings),
        run=RunSettings(resume=mode, concurrency=4),
        stage=[*(before or []), pivot, Evaluate(name="after", tasks=(TaskFilter(split="heldout", skip=2),), trials=1)],
    )


def lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in RunFolder(folder).metrics() if line["kind"] == kind]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run nobody disturbed, and how many durable calls it makes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "filing"
    calls = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            return real(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("os_write", "os_fsync", "os_rename"):
            patch.setattr(durable, name, counted(getattr(durable, name)))
        assert sit(folder, recipe(), build=build).stopped is None
    return folder, calls


def test_the_record_of_a_run_is_whole(undisturbed: tuple[Path, int]) -> None:
    folder, _ = undisturbed
    run = RunFolder(folder)
    phases = Counter(one.id.split("/")[0] for one in run.episodes())
    # 6 traces of 3 turns are 18 candidates, profiled 8 times; 4 steps of 3 groups of 4.
    assert phases == {"pivot-traces": 6, "pivot-profile": 18 * 8, "pivot": 48, "pivot-monitor": 4, "after": 2}
    (profile,) = lines(folder, "profile")
    assert {key: profile[f"candidates_{key}"] for key in ("read", "write", "message")} == dict.fromkeys(
        ("read", "write", "message"), 6
    )
    assert profile["candidates"] == 18 == sum(profile[key] for key in ("kept", "failed", "solved", "flat", "too_easy"))
    assert profile["kept"] >= 6
    traces = {one.id: one for one in run.episodes("pivot-traces")}
    gained: dict[str, float] = {}
    for one in run.episodes("pivot-profile"):
        assert isinstance(one.pivot, msgspec.Struct)
        key = f"{one.pivot.trace}@{one.pivot.turn}"
        gained[key] = gained.get(key, 0.0) + one.reward
    assert {id: total for id, total, attempts in profile["pivots"] if attempts == 8} == {
        id: total for id, total in gained.items() if 0 < total < 0.95 * 8
    }
    for one in run.episodes("pivot", with_tokens=True):
        assert isinstance(one.pivot, msgspec.Struct)
        trace = traces[one.pivot.trace]
        assert (one.seeds.world, one.seeds.user, one.ended) == (trace.seeds.world, trace.seeds.user, "turn")
        assert one.usage["policy"].requests == 1
        (segment,) = one.segments
        first = segment.mask.index(1)
        assert segment.mask == [0] * first + [1] * (len(segment.mask) - first)
        assert TOKENIZER.decode(segment.token_ids[:first], skip_special_tokens=False).count(TURN) == one.pivot.turn + 1
        assert one.reward == float(one.pivot.finding == "equivalent")


def test_counters_tell_the_turns_that_were_sampled(undisturbed: tuple[Path, int]) -> None:
    folder, _ = undisturbed
    run = RunFolder(folder)
    counters = run.checkpoints.verified(run.checkpoints.steps()[-1]).counters
    assert counters["turns_sampled"] == 18 * 8 + 48
    assert counters["episodes_sampled"] == 18 * 8 + 48
    assert counters["groups_sampled"] == 12
    train = lines(folder, "train")
    assert [line["turns_sampled"] for line in train] == [18 * 8 + 12, 12, 12, 12]
    assert all(line["method"] == "cispo" for line in train)
    # The step's own figures are of its own episodes.
    assert [line["episodes"] for line in train] == [12] * 4
    assert [line["groups_trained"] + line["groups_without_signal"] for line in train] == [3] * 4


def test_the_posterior_is_logged_step_by_step(undisturbed: tuple[Path, int]) -> None:
    folder, _ = undisturbed
    known: dict[str, list[float]] = {}
    rows = [(line["step"], row) for line in lines(folder, "posterior") for row in line["drawn"]]
    priors = {id: [total, attempts - total] for id, total, attempts in lines(folder, "profile")[0]["pivots"]}
    assert [step for step, _ in rows] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    for _, row in rows:
        before = known.get(row["pivot"], priors[row["pivot"]])
        assert row["before"] == before
        gains = (row["gained"], row["attempts"] - row["gained"])
        wanted = [
            0.8 * old + 0.2 * prior + gain for old, prior, gain in zip(before, priors[row["pivot"]], gains, strict=True)
        ]
        assert row["after"] == pytest.approx(wanted)
        known[row["pivot"]] = row["after"]
    assert len(known) < len(rows)  # some pivots were drawn twice


def crashing_sitting(folder: Path, mode: str, at: int) -> int:
    """A sitting that dies at its `at`-th durable call. See `dying`."""
    return dying(lambda: sit(folder, recipe(mode), build=build), at)


@pytest.mark.parametrize("mode", ["replay", "reuse"])
def test_dying_at_any_durable_call(tmp_path: Path, undisturbed: tuple[Path, int], mode: str) -> None:
    whole, calls = undisturbed
    wanted = outcome(whole)
    assert calls > 400
    for at in range(5 + 20 * (mode == "reuse"), calls + 1, 67):
        folder = tmp_path / f"at-{at}"
        assert crashing_sitting(folder, mode, at) == 137
        assert sit(folder, recipe(mode), build=build).stopped is None
        assert outcome(folder) == wanted, f"died at durable call {at}"


def test_a_profile_is_not_made_twice(tmp_path: Path, undisturbed: tuple[Path, int]) -> None:
    """Stopped in the first step, after the profile and before any commit of the stage."""
    folder = tmp_path / "filing"
    recorded = 0

    def stop() -> bool:
        nonlocal recorded
        path = folder / "episodes.jsonl"
        recorded = path.read_bytes().count(b'"id":"pivot/0000') if path.is_file() else 0
        return recorded >= 3

    assert sit(folder, recipe(), build=build, stop=stop).stopped == "stopped on request"
    assert recorded >= 3
    assert sit(folder, recipe(), build=build).stopped is None
    assert outcome(folder) == outcome(undisturbed[0])
    text = (folder / "episodes.jsonl").read_bytes()
    assert text.count(b'"id":"pivot-profile/') == 18 * 8
    assert text.count(b'"id":"pivot-traces/') == 6
    assert text.count(b'"id":"pivot/0000') > 12  # that step was sampled again


def test_episodes_go_on_to_their_end_where_the_recipe_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "filing"
    pivot = msgspec.structs.replace(PIVOT, continuation="episode", steps=2)
    sit(folder, recipe(pivot=pivot), build=build)
    found = list(RunFolder(folder).episodes("pivot"))
    assert len(found) == 24
    assert {one.ended for one in found} <= {"final", "limit", "transfer"}
    assert all(one.verdict is not None and one.pivot is not msgspec.UNSET for one in found)
    assert {one.reward for one in found} >= {1.0}
    assert {one.usage["policy"].requests for one in found} > {1}


def test_students_traces_of_an_earlier_stage_serve_too(tmp_path: Path) -> None:
    folder = tmp_path / "filing"
    grpo = Grpo(name="rl", steps=2, groups=6, group_size=4, refill_rounds=0)
    pivot = msgspec.structs.replace(PIVOT, traces="rl", steps=2, traces_per_task=2)
    sit(folder, recipe(pivot=pivot, before=[grpo]), build=build)
    run = RunFolder(folder)
    played = {one.id: one for one in run.episodes("rl", with_tokens=True)}
    used = {one.pivot.trace for one in run.episodes("pivot-profile") if isinstance(one.pivot, msgspec.Struct)}
    assert used
    assert {played[id].reward for id in used} == {1.0}
    assert max(Counter(played[id].task_id for id in used).values()) <= 2
    for one in run.episodes("pivot", with_tokens=True):
        assert isinstance(one.pivot, msgspec.Struct)
        (segment,), (past,) = one.segments, played[one.pivot.trace].segments
        begin = segment.mask.index(1)
        assert segment.token_ids[:begin] == past.token_ids[:begin]
        assert (past.mask[begin - 1], past.mask[begin]) == (0, 1)
    assert not any(one.id.startswith("pivot-traces") for one in run.episodes())


def test_traces_of_an_sft_stage_are_those_it_learnt_from(tmp_path: Path) -> None:
    folder = tmp_path / "filing"
    sft = Sft(name="sft", steps=1, batch=2, tasks=TaskFilter(limit=4))
    pivot = msgspec.structs.replace(PIVOT, traces="sft", steps=1, tasks=TaskFilter(skip=1))
    sit(folder, recipe(pivot=pivot, before=[sft]), build=build)
    run = RunFolder(folder)
    used = {one.pivot.trace for one in run.episodes("pivot-profile") if isinstance(one.pivot, msgspec.Struct)}
    of = {one.id: one.task_id for one in run.episodes("sft")}
    assert sorted(of[id] for id in used) == [f"filing_desk/filing/train-{n:03d}" for n in (1, 2, 3)]


def test_a_trace_that_was_altered_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import journeyman.staging.pivot as staging

    original = staging._own_ids

    def altered(context: Any, trace: Any) -> Any:
        calls = [msgspec.structs.replace(trace.calls[0], result='{"fee":99}'), *trace.calls[1:]]
        return original(context, msgspec.structs.replace(trace, calls=calls))

    monkeypatch.setattr(staging, "_own_ids", altered)
    with pytest.raises(RunFolderError, match=r"pivot-traces/0000/0000/00: call 0 \(look\)"):
        sit(tmp_path / "filing", recipe(), build=build)


def test_no_pivot_is_an_error_of_the_recipe(tmp_path: Path) -> None:
    pivot = msgspec.structs.replace(PIVOT, profile_threshold=0.0)
    with pytest.raises(RecipeError, match="none of 18 candidates is a pivot"):
        sit(tmp_path / "filing", recipe(pivot=pivot), build=build)
    assert lines(tmp_path / "filing", "profile")[0]["kept"] == 0
