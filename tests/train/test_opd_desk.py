"""Whole runs with a stage of OPD–RL and the fake engine: kept steps, later stages that begin from them, death at any write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk_run import outcome, recipe, sit
from dying import CALLS, dying

from journeyman.errors import RunFolderError
from journeyman.recipe import Evaluate, Grpo, Opd, Optimizer, Recipe, Sft, Teacher
from journeyman.train import durable
from journeyman.train.checkpoint import Checkpoints
from journeyman.train.runfolder import RunFolder


def desk(mode: str = "replay") -> Recipe:
    """SFT, distilled into the untouched model with the outcome mixed in; then one step of GRPO from an early checkpoint, at
    rate 0."""
    stages: list[Any] = [
        Sft(steps=3, batch=4, checkpoint_every=3, keep_references=[2]),
        Opd(
            start="base",
            teacher=Teacher(stage="sft"),
            steps=4,
            groups=3,
            group_size=3,
            checkpoint_every=4,
            keep_references=[1, 4],
        ),
        Grpo(name="on", start="opd@1", steps=2, groups=2, group_size=2, optimizer=Optimizer(learning_rate=0.0)),
        Opd(name="back", start="sft@2", teacher=Teacher(stage="opd@4"), steps=1, groups=2, group_size=2),
        Evaluate(name="final", trials=2),
    ]
    return msgspec.structs.replace(recipe(mode), stage=stages)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], int]:
    """Folder and outcome of a run nobody disturbed, and how many durable calls it makes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "desk"
    calls = 0

    def counted(real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            return real(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(durable, name, counted(getattr(durable, name)))
        assert sit(folder, desk()).stopped is None
    return folder, outcome(folder), calls


def weight(folder: Path, name: str) -> float:
    return float.fromhex(
        json.loads((Checkpoints(folder / "checkpoints").named(name) / "engine.json").read_text())["weight"]
    )


def test_steps_that_are_references_outlive_all_others(undisturbed: tuple[Path, dict[str, Any], int]) -> None:
    folder, found, _ = undisturbed
    # sft@2, sft's end, opd@1, opd's end, the end of `on` and of `back`; not steps 2 and 3 of opd, not the first of `on`.
    assert found["kept"] == [2, 3, 4, 7, 9, 10]
    checkpoints = Checkpoints(folder / "checkpoints")
    assert [checkpoints.state(step).reference for step in found["kept"]] == [True, False, True, True, False, False]
    assert checkpoints.named("opd@1") == checkpoints.path(4)
    assert checkpoints.named("opd") == checkpoints.named("opd@4") == checkpoints.path(7)
    with pytest.raises(RunFolderError, match="opd@2: is not there"):
        checkpoints.named("opd@2")


def test_a_later_stage_begins_from_the_kept_step(undisturbed: tuple[Path, dict[str, Any], int]) -> None:
    folder, _, _ = undisturbed
    assert weight(folder, "on") == weight(folder, "opd@1")
    assert len({weight(folder, name) for name in ("sft@2", "sft", "opd@1", "opd", "back")}) == 5


def test_each_step_tells_of_both_terms(undisturbed: tuple[Path, dict[str, Any], int]) -> None:
    folder, _, _ = undisturbed
    lines = [line for line in RunFolder(folder).metrics() if line["kind"] == "train" and line["stage"] == "opd"]
    assert [line["beta"] for line in lines] == [1.0, 0.75, 0.5, 0.25]
    for line in lines:
        assert line["groups_without_signal"] == line["no_signal_share"] == 0
        assert line["groups_trained"] == line["groups_sampled"] == 3
        assert line["episodes_wasted"] == 0
        assert line["kl_credit_rms"] > 0
        assert line["kl_credit_share"] + line["rl_credit_share"] == pytest.approx(1.0)
        assert {"reverse_kl", "kl_credit_clipped", "rl_credit_rms", "outcome_signal_share"} <= line.keys()
        assert "teacher_tokens" not in line
    assert lines[0]["rl_credit_share"] == 0.0
    # The teacher of the fake engine likes each token by its weight: log π_T = −w.
    segments = [
        s
        for one in RunFolder(folder).episodes("opd", with_tokens=True)
        if one.id.startswith("opd/0000/")
        for s in one.segments
    ]
    logprobs = [p for s in segments for p, flag in zip(s.logprobs, s.mask, strict=True) if flag]
    assert lines[0]["reverse_kl"] == pytest.approx(sum(p + weight(folder, "sft") for p in logprobs) / len(logprobs))


@pytest.mark.parametrize("mode", ["replay", "reuse"])
def test_dying_at_any_durable_call(tmp_path: Path, undisturbed: tuple[Path, dict[str, Any], int], mode: str) -> None:
    _, wanted, calls = undisturbed
    for at in range(5 + 4 * (mode == "reuse"), calls + 1, 23):
        folder = tmp_path / f"at-{at}"
        assert _dies(folder, mode, at) == 137
        assert sit(folder, desk(mode)).stopped is None
        assert outcome(folder) == wanted, f"died at durable call {at}"


def _dies(folder: Path, mode: str, at: int) -> int:
    """A sitting that dies at its `at`-th durable call. See `dying`."""
    return dying(lambda: sit(folder, desk(mode)), at)
