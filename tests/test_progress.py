"""What a person sees of a run on the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from journeyman.progress import RichProgress


def test_an_alarm_is_shown_in_its_own_words() -> None:
    shown = io.StringIO()
    progress = RichProgress(Console(file=shown, width=200))
    progress.metrics(
        {"kind": "alarm", "stage": "rl", "step": 9, "message": "rl: since step 3 the training reward rises."}
    )
    progress.metrics({"kind": "monitor", "stage": "rl", "step": 9, "pass_rate": 0.5})
    assert shown.getvalue().splitlines() == [
        "Alarm: rl: since step 3 the training reward rises.",
        "rl step 9: pass 0.500",
    ]
