"""The alarm of a stage that gets better at its training tasks alone.

Rule: the best monitored pass rate (the earliest of equals) has not been exceeded in the last `patience` evaluations, and the
mean training rewards of the steps from there on rise by the Mann–Kendall trend test (Mann 1945, Kendall 1975): with S the
number of pairs of steps whose later reward is higher minus that of pairs whose later one is lower,

    z = (S − 1) / √(n (n − 1) (2 n + 5) / 18) ≥ 1.645, which a series without trend reaches in about 5 % of cases.

Ties count as no rise, and the variance is that without ties, which errs towards silence. Four steps are needed at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

Z = 1.645
FEWEST_STEPS = 4


def alarm(lines: Iterable[Mapping[str, Any]], stage: str, patience: int) -> dict[str, Any] | None:
    """The line of metrics that raises the alarm, after the newest monitoring evaluation; None where there is no cause, or where
    it was raised since the best evaluation.

    Args:
        lines: lines of metrics of the run that count.
        patience: evaluations (0: no alarm).
    """
    own = [line for line in lines if line["stage"] == stage]
    monitored = [(line["step"], line["pass_rate"]) for line in own if line["kind"] == "monitor"]
    if not patience or not monitored:
        return None
    best, rate = max(monitored, key=lambda one: (one[1], -one[0]))
    since = sum(step > best for step, _ in monitored)
    last = monitored[-1][0]
    if since < patience or any(line["kind"] == "alarm" and line["best_step"] == best for line in own):
        return None
    rewards = [
        line["reward_mean"]
        for line in own
        if line["kind"] == "train" and best <= line["step"] <= last and "reward_mean" in line
    ]
    tau, z = trend(rewards)
    if len(rewards) < FEWEST_STEPS or z < Z:
        return None
    message = (
        f"{stage}: since step {best} the training reward rises (Kendall's tau {tau:.2f} over {len(rewards)} steps), but in "
        f"{since} evaluations since then the monitored pass rate has not exceeded its {rate:.3f}. What is learnt may serve the "
        "training tasks alone."
    )
    return {
        "kind": "alarm",
        "stage": stage,
        "step": last,
        "best_step": best,
        "best_pass_rate": rate,
        "evaluations": since,
        "tau": tau,
        "z": z,
        "message": message,
    }


def trend(values: Sequence[float]) -> tuple[float, float]:
    """(Kendall's tau of the values with their order, Mann–Kendall z towards a rise); zeros for fewer than two values."""
    count = len(values)
    if count < 2:
        return 0.0, 0.0
    score = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    z = (score - 1) / sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return score / (count * (count - 1) / 2), z
