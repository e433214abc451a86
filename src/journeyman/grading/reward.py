"""From a verdict to a number: two bands that no judge, penalty or partial credit can cross.

The form of `gated_rubric` is that of Toloka's rubric-gated GRPO: the deterministic outcome picks the band,
the rubric moves the reward inside it.
"""

from __future__ import annotations

from collections.abc import Iterable

from journeyman import recipe
from journeyman.episode import Ended, Verdict
from journeyman.task import Criterion, Task

PASS_BAND = (0.6, 1.0)
FAIL_BAND = (0.0, 0.4)


def reward(
    task: Task,
    verdict: Verdict,
    settings: recipe.Reward,
    *,
    ended: Ended,
    sampled_tokens: int,
    token_limit: int,
    skip_criteria: frozenset[str] = frozenset(),
) -> float:
    """Reward of one attempt.

    `binary` is 1 for a passed outcome and else 0; penalties do not act on it. `gated_rubric`, with p the share of all
    musts met, m the share of optional musts missed, v the share of must-nots broken (of the optional ones in the pass
    band, of all in the fail band; 0/0 = 0): clean 1 − 0.2·v − 0.2·m, else 0.4·max(0, p − v). Penalties are then
    taken off and the result is clamped to its band, [0.6, 1] or [0, 0.4].

    Args:
        ended: how the attempt ended; `limit` costs `settings.incomplete_penalty`.
        sampled_tokens: tokens the policy sampled; `settings.token_penalty` is due in full at `token_limit`.
        skip_criteria: ids left out for the whole group (see `group_invalid_criteria`); undecided ones are left out anyway.
    """
    if settings.kind == "binary":
        return 1.0 if verdict.passed else 0.0
    low, high = PASS_BAND if verdict.clean else FAIL_BAND
    value = rubric(task.criteria, verdict, skip_criteria)
    if ended == "limit":
        value -= settings.incomplete_penalty
    if settings.token_penalty:
        value -= settings.token_penalty * min(1.0, sampled_tokens / max(token_limit, 1))
    return min(max(value, low), high)


def rubric(criteria: Iterable[Criterion], verdict: Verdict, skip: frozenset[str] = frozenset()) -> float:
    """The reward before penalties: the pass band for a clean verdict, else the fail band."""
    met = {result.id: result.met for result in verdict.criteria}
    musts = optional_musts = musts_met = optional_missed = 0
    nots = optional_nots = nots_broken = optional_broken = 0
    for criterion in criteria:
        decision = met.get(criterion.id)
        if decision is None or criterion.id in skip:
            continue
        optional = not criterion.required
        if criterion.polarity == "must":
            musts += 1
            musts_met += decision
            optional_musts += optional
            optional_missed += optional and not decision
        else:
            nots += 1
            nots_broken += not decision
            optional_nots += optional
            optional_broken += optional and not decision
    if verdict.clean:
        return 1.0 - 0.2 * _share(optional_broken, optional_nots) - 0.2 * _share(optional_missed, optional_musts)
    return 0.4 * max(0.0, _share(musts_met, musts) - _share(nots_broken, nots))


def group_invalid_criteria(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """Ids of criteria undecided in some episode of a group: left out for the whole group, so that its rewards compare."""
    return frozenset(result.id for verdict in verdicts for result in verdict.criteria if result.met is None)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
