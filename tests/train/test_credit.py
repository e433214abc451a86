"""What `prepare` puts into samples, with a trainer whose log-probabilities are made up."""

import math
from collections.abc import Sequence

import pytest

from journeyman.episode import Sample
from journeyman.recipe import Objective
from journeyman.train.credit import k3, kl_in_advantage, prepare

LN2 = math.log(2.0)


class Scripted:
    """A trainer whose own policy gives every token `now`, the others `past`; `asked` lists of whom."""

    def __init__(self, now: float = -1.0, past: float = -1.0) -> None:
        self.now, self.past = now, past
        self.asked: list[tuple[str | None, int]] = []

    def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
        self.asked.append((of, len(samples)))
        value = self.now if of is None else self.past
        return [[value * flag for flag in sample.mask] for sample in samples]


def sample(episode: str, mask: list[int], logprob: float = -1.0, advantage: float = 0.5) -> Sample:
    return Sample(
        episode_id=episode,
        group_id="g",
        token_ids=[7] * len(mask),
        mask=mask,
        logprobs=[logprob * flag for flag in mask],
        versions=[0] * len(mask),
        temperature=1.0,
        advantages=[advantage * flag for flag in mask],
    )


def test_k3_by_hand() -> None:
    # π_other / π_sampled = ½: ½ − 1 + ln 2; equal: 0.
    assert k3([-1.0, -2.0], [-1.0 - LN2, -2.0]).tolist() == pytest.approx([LN2 - 0.5, 0.0])


def test_kl_in_advantage_by_hand() -> None:
    assert kl_in_advantage([0.5, 0.5], [-1.0, -2.0], [-3.0, -1.0], 0.1).tolist() == pytest.approx([0.3, 0.6])


def test_the_default_objective_changes_nothing() -> None:
    made, trainer = [[sample("a", [0, 1, 1])], [sample("b", [0, 1])]], Scripted()
    assert prepare(made, Objective(), trainer) == {}  # type: ignore[arg-type]
    assert trainer.asked == []
    assert [one.weights for part in made for one in part] == [None, None]
    assert prepare([], Objective(correction="masked"), trainer) == {}  # type: ignore[arg-type]


def test_each_minibatch_is_an_update_of_its_own() -> None:
    made = [[sample("a", [0, 1, 1]), sample("a", [0, 1]), sample("b", [0, 1])], [sample("c", [0, 1, 1])]]
    prepare(made, Objective(aggregation="seq_mean_token_mean"), Scripted())  # type: ignore[arg-type]
    assert [one.weights for one in made[0]] == [[0, 1 / 6, 1 / 6], [0, 1 / 6], [0, 1 / 2]]
    assert made[1][0].weights == [0, 1 / 2, 1 / 2]
    prepare(made, Objective(aggregation="seq_mean_token_sum_norm", max_length=10), Scripted())  # type: ignore[arg-type]
    assert made[0][2].weights == [0, 1 / 20]
    assert made[1][0].weights == [0, 1 / 10, 1 / 10]


def test_a_correction_asks_once_and_weighs() -> None:
    # The trainer gives −1. The sampler gave a −1 − ln 3 and b −1 + ln 2: ratios 3 and ½.
    made = [[sample("a", [0, 1, 1], -1 - math.log(3))], [sample("b", [0, 1], -1 + LN2)]]
    trainer = Scripted(now=-1.0)
    metrics = prepare(made, Objective(correction="truncated"), trainer)  # type: ignore[arg-type]
    assert trainer.asked == [(None, 2)]
    assert made[0][0].proximal_logprobs == [0, -1, -1]
    # Token mean of each minibatch (½ and 1) times min(ρ, 2).
    assert made[0][0].weights == pytest.approx([0, 1.0, 1.0])
    assert made[1][0].weights == pytest.approx([0, 0.5])
    assert metrics["correction_mean"] == pytest.approx(4.5 / 3)
    assert metrics["correction_dropped_share"] == 0.0
    # k3 of sampler to trainer: ρ − 1 − ln ρ.
    assert metrics["kl_sampler"] == pytest.approx((2 * (2 - math.log(3)) + (0.5 - 1 + LN2)) / 3)


def test_dropped_tokens_stay_in_the_normaliser() -> None:
    made = [[sample("a", [0, 1, 1], -1 - math.log(3)), sample("b", [0, 1], -1.0)]]
    metrics = prepare(made, Objective(correction="masked"), Scripted())  # type: ignore[arg-type]
    assert made[0][0].weights == [0, 0, 0]
    assert made[0][1].weights == [0, pytest.approx(1 / 3)]
    assert metrics["correction_dropped_share"] == pytest.approx(2 / 3)
    made = [[sample("a", [0, 1, 1], -1 - math.log(3)), sample("b", [0, 1], -1.0)]]
    prepare(made, Objective(correction="geometric", aggregation="seq_mean_token_mean"), Scripted())  # type: ignore[arg-type]
    assert [one.weights for one in made[0]] == [[0, 0, 0], [0, 0.5]]


def test_kl_in_the_loss_asks_the_reference() -> None:
    for reference, name in (("start", "reference"), ("base", "base")):
        made, trainer = [[sample("a", [0, 1, 1])]], Scripted(past=-2.0)
        objective = Objective(kl="loss", kl_coefficient=0.1, reference=reference)  # type: ignore[arg-type]
        assert prepare(made, objective, trainer) == {}  # type: ignore[arg-type]
        assert trainer.asked == [(name, 1)]
        assert made[0][0].reference_logprobs == [0, -2, -2]
        assert made[0][0].advantages == [0, 0.5, 0.5]
        assert made[0][0].weights is None


def test_kl_in_the_advantage_by_hand() -> None:
    made, trainer = [[sample("a", [0, 1, 1])]], Scripted(past=-1.5)
    metrics = prepare(made, Objective(kl="advantage", kl_coefficient=0.1), trainer)  # type: ignore[arg-type]
    # 0.5 − 0.1 · (−1 + 1.5); given tokens keep 0.
    assert made[0][0].advantages == pytest.approx([0, 0.45, 0.45])
    assert made[0][0].reference_logprobs is None
    assert metrics == {"kl_reference": pytest.approx(math.exp(-0.5) - 1 + 0.5)}
    # With a correction π is the trainer's, not the sampler's.
    made = [[sample("a", [0, 1], logprob=-4.0)]]
    prepare(made, Objective(kl="advantage", kl_coefficient=0.1, correction="truncated"), Scripted(past=-1.5))  # type: ignore[arg-type]
    assert made[0][0].advantages == pytest.approx([0, 0.45])
