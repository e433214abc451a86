"""The overhead benchmark runs and prints what it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from journeyman.worlds import WORLDS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "episode_overhead.py"


def test_the_benchmark_prints_both_figures_of_every_world():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--json", "--seconds", "0.1"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert list(found) == list(WORLDS)
    for figures in found.values():
        assert set(figures) == {"reset_grade_p50_ms", "oracle_episodes_per_s"}
        # Far from the goals (0.3 ms, 500 a second): a busy machine must not fail this, a change of order must.
        assert 0 < figures["reset_grade_p50_ms"] < 10
        assert figures["oracle_episodes_per_s"] > 20
