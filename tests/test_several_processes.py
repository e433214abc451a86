"""`journeyman train` launched as two processes: one run folder, the weights of a run in one process."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from safetensors.numpy import load_file

from journeyman.train.runfolder import RunFolder

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

RECIPE = """
name = "several"
world = "closing_desk:WORLD"
seed = 7
model = { name = "tiny-random", dtype = "float32", device = "cpu", lora_rank = 8, lora_alpha = 16.0, slots = 16, lanes = 1 }
sampling = { train = { temperature = 1.6, max_tokens = 16, context_limit = 512 } }
reward = { token_penalty = 0.2 }
run = { threads = 1, concurrency = 16 }

[[stage]]
kind = "sft"
steps = 4
batch = 4
checkpoint_every = 4
optimizer = { learning_rate = 1e-2 }

[[stage]]
kind = "grpo"
steps = 2
groups = 2
group_size = 4
"""


def command(folder: str, errors: str, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """A process of its own that runs the command line."""
    os.environ |= environment
    os.chdir(folder)
    sys.path.insert(0, str(BENCHMARKS))
    with open(errors, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
        os.dup2(file.fileno(), 1)
    sys.argv = ["journeyman", *arguments]
    from journeyman.cli import main

    main()


def start(folder: Path, name: str, *arguments: str, **environment: str) -> BaseProcess:
    # Forked from a server that has torch loaded, so that it starts at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["journeyman.pipeline", "journeyman.engine.distributed", "peft", "accelerate"])
    given = {"OMP_NUM_THREADS": "1"} | environment
    process = context.Process(target=command, args=(str(folder), str(folder / name), arguments, given), daemon=True)
    process.start()
    return process


def launch(folder: Path, *arguments: str) -> list[BaseProcess]:
    """Two processes, told their numbers as a launcher tells them."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    common = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        start(folder, f"told-{rank}", *arguments, RANK=str(rank), LOCAL_RANK=str(rank), **common) for rank in (0, 1)
    ]


def ended(folder: Path, processes: list[BaseProcess]) -> list[int | None]:
    for process in processes:
        process.join(500)
    for path in folder.glob("told-*"):
        print(path.name, path.read_text(encoding="utf-8"))
    return [process.exitcode for process in processes]


def test_a_recipe_trained_by_two_processes_equals_one(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    train = ("train", "recipe.toml", "--runs")
    alone = start(tmp_path, "told-alone", *train, "one")
    assert ended(tmp_path, [alone, *launch(tmp_path, *train, "two")]) == [0, 0, 0]
    runs = [RunFolder(tmp_path / name / "several") for name in ("one", "two")]
    digests, weights, updates = [], [], []
    for run in runs:
        last = run.checkpoints.steps()[-1]
        state = run.checkpoints.verified(last)
        assert (state.stage_name, state.finished) == ("grpo", True)
        updates.append(state.counters["updates"])
        weights.append(load_file(run.checkpoints.path(last) / "adapter_model.safetensors"))
        digests.append({one.id: one.task_id for one in run.episodes()})
    assert updates[0] == updates[1] > 4
    assert digests[0] == digests[1]
    assert len(digests[0]) >= 6 + 16
    # Of single weights whose gradients are all but zero Adam makes steps out of rounding, so the whole is measured.
    for name, value in weights[0].items():
        assert np.linalg.norm(weights[1][name] - value) < 1e-5 * np.linalg.norm(value), name
    assert any("lora_B" in name and abs(value).max() > 1e-3 for name, value in weights[0].items())


def test_other_commands_run_in_one_process(tmp_path: Path) -> None:
    process = start(tmp_path, "told", "eval", "closing_desk:WORLD", WORLD_SIZE="2", RANK="0")
    assert ended(tmp_path, [process]) == [2]
    assert "without a launcher" in (tmp_path / "told").read_text(encoding="utf-8")
