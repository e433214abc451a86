"""Two processes, joined by accelerate over the CPU, against one: gradients, metrics and weights."""

from __future__ import annotations

import multiprocessing
import socket
from pathlib import Path

import pytest
import small_engine as small
import torch
from two_processes import drive, settings, work

from journeyman.engine.local import load_engine
from journeyman.engine.processes import launched


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.parametrize("train", ["lora", "full"])
def test_two_processes_equal_one(tmp_path: Path, train: str) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["peft", "accelerate", "journeyman.engine.distributed"])
    port = free_port()
    both = [context.Process(target=work, args=(rank, port, train, str(tmp_path)), daemon=True) for rank in (0, 1)]
    for process in both:
        process.start()
    alone = load_engine(settings(train, lanes=2), seed=1)
    (tmp_path / "alone").mkdir()
    wanted = drive(alone, alone, train, tmp_path / "alone")
    for process in both:
        process.join(300)
    assert [process.exitcode for process in both] == [0, 0]
    found = torch.load(tmp_path / "found.pt", weights_only=False)
    # Which micro-batches there are is the same for one process of two lanes and for two of one lane; sums round differently.
    assert small.relative(found["gradients"], wanted["gradients"]) < 1e-5
    assert float((found["weights"] - wanted["weights"]).norm() / wanted["weights"].norm()) < 1e-5
    assert torch.equal(found["last"], torch.load(tmp_path / "other.pt", weights_only=True))
    assert (found["version"], found["answer"]) == (wanted["version"], wanted["answer"])
    assert found["again"] == pytest.approx(wanted["again"], rel=1e-4)
    for ours, theirs in zip(found["logprobs"], wanted["logprobs"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    for together, single in zip(found["metrics"], wanted["metrics"], strict=True):
        assert together == pytest.approx(single, rel=1e-4)
    assert ["no engine state" in found["refused"][0], "no token" in found["refused"][1]] == [True, True]
    started = load_engine(settings(train), seed=1)
    if train == "lora":
        small.disturb_adapter(started)
    assert float((found["weights"] - started._trained.values.detach()).norm() / wanted["weights"].norm()) > 1e-3
    assert float(found["gradients"].abs().max()) > 1e-4


def test_a_process_knows_its_number_from_the_launcher() -> None:
    assert launched({}) == (0, 1)
    assert launched({"RANK": "1", "WORLD_SIZE": "4"}) == (1, 4)
    # A number without others means nothing: some shells carry one.
    assert launched({"RANK": "3"}) == (0, 1)
