"""Every command of the README runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def run(command: list[str], cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **extra}
    env.pop("MAKEFLAGS", None)
    env.pop("MAKELEVEL", None)
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900)


def test_the_readme_shows_the_commands_this_file_runs() -> None:
    shown = commands()
    assert shown[:3] == ["make demo", "make test", "make demo DEMO=smoke"]
    assert all(line.startswith(".venv/bin/journeyman ") for line in shown[3:])
    assert len(shown) >= 9


def test_every_relative_link_exists() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "architecture.md", ROOT / "docs" / "results" / "README.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_make_targets_resolve() -> None:
    for target, expected in (("demo", "journeyman demo --size full"), ("test", "-m pytest")):
        result = run(["make", "--dry-run", target], ROOT)
        assert result.returncode == 0, result.stderr
        assert expected in result.stdout


def test_make_demo_smoke_ends_with_a_table_and_a_report(tmp_path: Path) -> None:
    result = run(["make", "demo", "DEMO=smoke", f"RUNS={tmp_path}"], ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    for phase in ("base", "sft", "rl"):
        assert re.search(rf"\b{phase}\b", result.stdout, flags=re.IGNORECASE), result.stdout
    page = (tmp_path / "smoke" / "report.html").read_text(encoding="utf-8")
    assert page.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert not re.search(r"""(?:src|href)=["']https?://""", page), "the report must not load anything"


def test_every_journeyman_command_runs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for line in commands()[3:]:
        words = shlex.split(line)
        result = run([sys.executable, "-m", "journeyman.cli", *words[1:]], tmp_path)
        assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"
        assert result.stdout.strip(), line
