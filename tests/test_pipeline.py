"""Whole recipes with the real engine: a tiny random model, killed, interrupted, resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import kill_resume  # noqa: E402
from journeyman.errors import RecipeError, RunFolderError  # noqa: E402
from journeyman.parts import newest_checkpoint  # noqa: E402
from journeyman.pipeline import evaluate_policy, run_recipe  # noqa: E402
from journeyman.recipe import Evaluate, Recipe, Sft, TaskFilter  # noqa: E402
from journeyman.train.runfolder import RunFolder  # noqa: E402

pytest.importorskip("torch")

EVALUATION = Recipe(name="eval", world="closing_desk:WORLD", stage=[Evaluate(name="eval", trials=2)])


@pytest.fixture(scope="module", params=["replay", "reuse"])
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """(mode, folder of a run nobody disturbed, seconds each training stage took)."""
    os.environ["PYTHONPATH"] = str(BENCHMARKS)
    folder = tmp_path_factory.mktemp(request.param) / "undisturbed"
    return request.param, folder, kill_resume.stage_seconds(folder, request.param)


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_kill_9_and_resume(tmp_path: Path, undisturbed: tuple[Any, ...], stage: str) -> None:
    mode, folder, seconds = undisturbed
    wanted = kill_resume.outcome(folder)
    assert wanted["counters"]["updates"] > 20 + 6
    rng = random.Random(f"{mode}/{stage}")
    for number in range(2 if mode == "replay" else 1):
        one = kill_resume.point(tmp_path, mode, stage, seconds[stage], rng, f"{stage}-{number}")
        found = kill_resume.outcome(one["folder"])
        equal = ["keys", "counters", "steps"] + (["digests", "weights"] if mode == "replay" else [])
        for kind in equal:
            assert found[kind] == wanted[kind], (kind, one)


def test_the_model_learns_and_the_record_is_whole(undisturbed: tuple[Any, ...]) -> None:
    mode, folder, _ = undisturbed
    run = RunFolder(folder)
    assert run.recipe == kill_resume.recipe(mode)
    rates = {line["stage"]: line["pass_rate"] for line in run.metrics() if line["kind"] == "evaluate"}
    assert rates["base"] <= 0.25
    assert rates["after"] >= 0.5
    line = next(line for line in run.metrics() if line["kind"] == "train" and line["stage"] == "grpo")
    wanted = {"reward_mean", "reward_std", "pass_rate", "clean_pass_rate", "no_signal_share", "entropy", "ratio_mean"}
    wanted |= {"ratio_max", "clipped_share", "kl_k3", "grad_norm", "sampled_tokens_mean", "truncated_share", "cost"}
    assert wanted <= line.keys()
    # Where the weights are those that sampled, the ratio is 1 but for rounding; the second update of a step is off-policy.
    assert line["ratio_mean"] == pytest.approx(1.0, abs=0.05)
    for one in run.episodes("grpo", with_tokens=True):
        sampled = sum(sum(segment.mask) for segment in one.segments)
        assert sampled == one.usage["policy"].output > 0
    provenance = run.provenance
    assert (provenance.world, provenance.dtype, provenance.device) == ("closing_desk", "float32", "cpu")
    assert [actor.role for actor in provenance.actors] == ["policy", "teacher", "user", "grader"]
    assert len(provenance.actors[0].version) == 64
    assert provenance.torch


def test_ctrl_c_in_a_process_of_its_own_stops_cleanly_and_resumes(tmp_path: Path, undisturbed: tuple[Any, ...]) -> None:
    mode, folder, _ = undisturbed
    if mode == "reuse":
        pytest.skip("one mode is enough")
    code = (
        "import signal, sys, kill_resume; from pathlib import Path; from journeyman.pipeline import run_recipe\n"
        # Started in the background, a shell has its processes ignore the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "result = run_recipe(kill_resume.recipe('replay'), Path(sys.argv[1]), resume=True)\n"
        "print(result.stopped)"
    )
    own = tmp_path / "own"
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code, str(own)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    while process.poll() is None and len(kill_resume.lines_of(own)) < 24:  # a step into GRPO
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert (said.strip(), process.returncode) == ("interrupted", 0)
    kill_resume.finish(own, "replay")
    assert kill_resume.outcome(own) == kill_resume.outcome(folder)


def test_scripted_policies_are_evaluated_without_a_model(tmp_path: Path) -> None:
    evaluate_policy(EVALUATION, tmp_path / "oracle", policy="oracle")
    run = RunFolder(tmp_path / "oracle")
    assert [(one.reward, one.policy) for one in run.episodes("eval")] == [(1.0, "oracle")] * 8
    assert [actor.name for actor in run.provenance.actors if actor.role == "policy"] == ["oracle"]
    # The same command again shows the same run; another policy under its name is refused.
    evaluate_policy(EVALUATION, tmp_path / "oracle", policy="oracle")
    assert len(list(run.episodes())) == 8
    with pytest.raises(RunFolderError, match="start under another name"):
        evaluate_policy(EVALUATION, tmp_path / "oracle", policy="transfer")


def test_an_adapter_is_evaluated_as_the_run_left_it(tmp_path: Path, undisturbed: tuple[Any, ...]) -> None:
    mode, folder, _ = undisturbed
    trained = kill_resume.recipe(mode)
    wanted = msgspec.structs.replace(trained, stage=[Evaluate(name="again", trials=2)])
    evaluate_policy(wanted, tmp_path / "again", adapter=folder)
    found = [
        one.messages[-1].content for one in sorted(RunFolder(tmp_path / "again").episodes(), key=lambda one: one.id)
    ]
    was = [one.messages[-1].content for one in sorted(RunFolder(folder).episodes("final"), key=lambda one: one.id)]
    assert found == was
    assert " + " in RunFolder(tmp_path / "again").provenance.actors[0].version
    assert newest_checkpoint(folder).name == "step-000026"
    with pytest.raises(RunFolderError, match="holds no checkpoint"):
        newest_checkpoint(tmp_path / "again")


def test_what_cannot_be_evaluated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="unknown; known: model, oracle"):
        evaluate_policy(EVALUATION, tmp_path / "x", policy="orcale")
    with pytest.raises(RecipeError, match="takes an adapter"):
        evaluate_policy(EVALUATION, tmp_path / "x", policy="oracle", adapter=tmp_path)
    with pytest.raises(RecipeError, match="use `journeyman train`"):
        evaluate_policy(msgspec.structs.replace(EVALUATION, stage=[Sft()]), tmp_path / "x", policy="oracle")
    assert not (tmp_path / "x").exists()


def test_a_wrong_filter_fails_before_anything_is_made(tmp_path: Path) -> None:
    tiny = kill_resume.recipe("replay")
    wrong = msgspec.structs.replace(tiny, stage=[*tiny.stage, Sft(name="more", tasks=TaskFilter(families=["opening"]))])
    with pytest.raises(RecipeError, match=r"stage more.*no family 'opening'; known: closing"):
        run_recipe(wrong, tmp_path / "x")
    held_out = msgspec.structs.replace(tiny, held_out_worlds=["closing_desk"])
    with pytest.raises(RecipeError, match="held out of training"):
        run_recipe(held_out, tmp_path / "x")
    # The world is meant whatever it is called by.
    by_path = msgspec.structs.replace(tiny, held_out_worlds=[tiny.world])
    assert by_path.held_out_worlds != held_out.held_out_worlds
    with pytest.raises(RecipeError, match="held out of training"):
        run_recipe(by_path, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["telcom", "worlds", "os:path", ""])
def test_a_world_that_is_none_cannot_be_held_out(tmp_path: Path, name: str) -> None:
    wanted = msgspec.structs.replace(EVALUATION, held_out_worlds=["telecom", name])
    with pytest.raises(RecipeError, match=rf"held_out_worlds: '{name}': "):
        evaluate_policy(wanted, tmp_path / "x", policy="oracle")
    assert not (tmp_path / "x").exists()
    fine = msgspec.structs.replace(EVALUATION, held_out_worlds=["telecom", EVALUATION.world])
    assert evaluate_policy(fine, tmp_path / "x", policy="oracle").folder.recipe.held_out_worlds == fine.held_out_worlds
