"""OPD–RL: schedules, credits and mixtures worked out by hand; what the method trains on and what it asks its teacher."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import numpy as np
import pytest
from making import episode, group, task

from journeyman.engine.teacher import Teacher
from journeyman.episode import Group, Sample, Segment, Usage
from journeyman.errors import EngineError, RecipeError
from journeyman.recipe import Evaluate, Objective, Opd, Recipe, Sft, check_recipe
from journeyman.recipe import Teacher as TeacherSection
from journeyman.train.distil import KL_FLOOR, OUTCOME_FLOOR, beta_at, kl_credit, mix, reverse_kl
from journeyman.train.method import GroupRequest
from journeyman.train.opd import OpdMethod

TASKS = [task(f"w/f/train-{number:03d}") for number in range(5)]
SAMPLED = (-0.5, -1.25)
"""Log-probabilities of the two sampled tokens of a made episode."""


class Scorer:
    """A teacher that likes every sampled token by `gap` nats more than the student did, or as `said` says."""

    def __init__(self, gap: float = 0.0, said: list[list[float]] | None = None) -> None:
        self.gap = gap
        self.said = said
        self.asked = 0
        self.spent = Usage()

    def logprobs(self, samples: Sequence[Sample]) -> list[list[float]]:
        self.asked += 1
        self.spent = Usage(input=self.spent.input + 4 * len(samples), requests=self.spent.requests + len(samples))
        if self.said is not None:
            return self.said
        return [[(p + self.gap) * m for p, m in zip(one.logprobs, one.mask, strict=True)] for one in samples]


class Dealer:
    """Gives the groups in its list the rewards in it, in order."""

    def __init__(self, *rewards: list[float]) -> None:
        self.rewards = list(rewards)
        self.asked: list[list[GroupRequest]] = []

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        self.asked.append(list(requests))
        return [group(self.rewards.pop(0), request.id) for request in requests]


class NoTrainer:
    """Nothing of the trainer is needed by a plain objective."""


def made(stage: Opd, teacher: Teacher, *rewards: list[float]) -> OpdMethod:
    return OpdMethod(stage, TASKS, Dealer(*rewards), teacher, seed=1)


def prepared(stage: Opd, teacher: Teacher, groups: list[Group], step: int) -> tuple[list[Sample], dict[str, float]]:
    """The samples that step `step` trains on, and its metrics."""
    method = made(stage, teacher)
    minibatches = method.samples(groups)
    metrics = method.prepare(minibatches, NoTrainer(), step)  # type: ignore[arg-type]
    return [sample for samples in minibatches for sample in samples], metrics


def test_beta_falls_from_its_start_to_its_end() -> None:
    assert [beta_at(k, 4, 1.0, 0.0, "linear") for k in range(6)] == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    half = math.sqrt(0.5)
    wanted = [1.0, 0.5 * (1 + half), 0.5, 0.5 * (1 - half), 0.0, 0.0]
    assert [beta_at(k, 4, 1.0, 0.0, "cosine") for k in range(6)] == pytest.approx(wanted, abs=1e-15)
    assert beta_at(4, 4, 1.0, 0.0, "cosine") == 0.0  # exactly: then nobody is asked
    assert [beta_at(k, 4, 0.75, 0.25, "linear") for k in range(5)] == [0.75, 0.625, 0.5, 0.375, 0.25]
    assert beta_at(1, 4, 0.9, 0.1, "cosine") == pytest.approx(0.1 + 0.8 * 0.5 * (1 + half))
    # max(β_min, 1 − k/K) with β_min = 0.2 and K = 10 is a line to 0.2 over 8 steps.
    for k in range(12):
        assert beta_at(k, 8, 1.0, 0.2, "linear") == pytest.approx(max(0.2, 1 - k / 10))


def test_the_article_s_early_checkpoint_is_dominated_by_the_teacher() -> None:
    method = made(Opd(steps=60, updates_per_sync=1), Scorer())
    assert method.beta(10) == pytest.approx(50 / 60)  # the eleventh update
    assert made(Opd(steps=60, beta_steps=20), Scorer()).beta(10) == 0.5


def test_credit_of_a_token_is_the_clipped_difference() -> None:
    teacher, student = [-1.0, -9.0, -0.25, -2.0], [-2.0, -1.0, -6.25, -2.5]
    credit, clipped = kl_credit(teacher, student, 5.0)
    assert credit.tolist() == [1.0, -5.0, 5.0, 0.5]
    assert clipped == 0.5
    # Reverse KL is that of the student to the teacher, unclipped: (−1 + 8 − 6 − 0.5) / 4.
    assert reverse_kl(teacher, student) == pytest.approx(0.125)


def test_expected_credit_is_minus_the_reverse_kl_and_its_gradient() -> None:
    """On a vocabulary of three: E_S[A] = −KL(S ‖ T), and E_S[A · ∇log π_S] = −∇KL, by finite differences of the logits."""
    logits, teacher = np.array([0.3, -0.2, 0.9]), np.log([0.2, 0.5, 0.3])

    def kl(z: np.ndarray) -> float:
        log = z - np.log(np.exp(z).sum())
        return float((np.exp(log) * (log - teacher)).sum())

    log = logits - np.log(np.exp(logits).sum())
    p = np.exp(log)
    credit, _ = kl_credit(teacher, log, 1e9)
    assert (p * credit).sum() == pytest.approx(-kl(logits))
    scores = np.eye(3) - p  # ∇ log π(x) by the logits, row x
    gradient = (p * credit) @ scores
    steps = np.eye(3) * 1e-6
    numeric = [(kl(logits + step) - kl(logits - step)) / 2e-6 for step in steps]
    assert gradient == pytest.approx([-one for one in numeric], abs=1e-8)


def test_both_terms_are_scaled_to_one_before_they_are_mixed() -> None:
    outcome, kl = np.array([0.3, 0.3, -0.1, 0.0]), np.array([2.0, -4.0, 2.0, 4.0])
    rl_rms = math.sqrt((0.09 + 0.09 + 0.01) / 3)  # over the tokens with an outcome credit
    kl_rms = math.sqrt((4 + 16 + 4 + 16) / 4)
    mixed = mix(0.25, outcome, kl)
    wanted = [0.25 * k / kl_rms + 0.75 * r / rl_rms for r, k in zip(outcome, kl, strict=True)]
    assert mixed.advantages == pytest.approx(wanted)
    assert mixed.metrics["beta"] == 0.25
    assert mixed.metrics["rl_credit_rms"] == pytest.approx(rl_rms)
    assert mixed.metrics["kl_credit_rms"] == pytest.approx(kl_rms)
    of_kl, of_rl = 0.25 * 12 / kl_rms, 0.75 * 0.7 / rl_rms
    assert mixed.metrics["kl_credit_share"] == pytest.approx(of_kl / (of_kl + of_rl))
    assert mixed.metrics["rl_credit_share"] == pytest.approx(of_rl / (of_kl + of_rl))


def test_next_to_nothing_is_not_scaled_up() -> None:
    mixed = mix(0.5, np.array([1e-9, -1e-9]), np.array([1e-7, -1e-7]))
    assert mixed.advantages == pytest.approx(
        [0.5e-9 / OUTCOME_FLOOR + 0.5e-7 / KL_FLOOR, -0.5e-9 / OUTCOME_FLOOR - 0.5e-7 / KL_FLOOR]
    )
    assert mix(1.0, np.zeros(2), np.zeros(2)).advantages.tolist() == [0.0, 0.0]
    assert mix(1.0, np.zeros(2), np.zeros(2)).metrics["kl_credit_share"] == 0.0
    assert mix(0.0, np.zeros(2), None).advantages.tolist() == [0.0, 0.0]


def test_a_step_is_credited_by_hand() -> None:
    """Two groups, β = 3/4: the teacher's credit differs by token, the outcome's by attempt; 0 where nothing was sampled."""
    stage = Opd(steps=4, groups=2, group_size=2, updates_per_sync=2, kl_clip=2.0)
    groups = [group([0.0, 1.0], "opd/0001/0000"), group([0.5, 0.5], "opd/0001/0001")]
    said = [[9.0, p, q, 9.0] for p, q in [(-1.0, -0.25), (-0.5, -1.25), (-4.5, -1.0), (-0.25, -0.5)]]
    scorer = Scorer(said=said)
    samples, metrics = prepared(stage, scorer, groups, step=1)
    assert scorer.asked == 1
    gaps = np.array([[-0.5, 1.0], [0.0, 0.0], [-2.0, 0.25], [0.25, 0.75]])  # −4.0 is clipped to −2
    outcome = np.array([[-0.5, -0.5], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0]])
    kl_rms = math.sqrt((gaps**2).mean())
    wanted = 0.75 * gaps / kl_rms + 0.25 * outcome / 0.5
    assert [sample.advantages[0] for sample in samples] == [0.0] * 4
    assert [sample.advantages[3] for sample in samples] == [0.0] * 4
    assert np.array([sample.advantages[1:3] for sample in samples]) == pytest.approx(wanted)
    assert [sample.teacher_logprobs for sample in samples] == said
    assert metrics["beta"] == 0.75
    assert metrics["kl_credit_rms"] == pytest.approx(kl_rms)
    assert metrics["rl_credit_rms"] == pytest.approx(0.5)
    assert metrics["kl_credit_clipped"] == 1 / 8
    # −(−0.5 + 1 + 0 + 0 − 4 + 0.25 + 0.25 + 0.75) / 8
    assert metrics["reverse_kl"] == pytest.approx(2.25 / 8)
    assert metrics["outcome_signal_share"] == 0.5
    assert (metrics["teacher_tokens"], metrics["teacher_requests"]) == (16, 4)


def test_a_teacher_that_is_the_student_gives_no_credit() -> None:
    samples, metrics = prepared(Opd(steps=4), Scorer(0.0), [group([1.0, 1.0])], step=0)
    assert [sample.advantages for sample in samples] == [[0.0] * 4] * 2
    assert (metrics["reverse_kl"], metrics["kl_credit_rms"], metrics["kl_credit_share"]) == (0.0, 0.0, 0.0)


def test_equal_rewards_give_no_outcome_credit_even_where_they_are_divided_by_their_spread() -> None:
    stage = Opd(steps=4, objective=Objective(advantage="grpo"))
    samples, metrics = prepared(stage, Scorer(0.5), [group([0.5, 0.5 + 9e-7])], step=2)
    scaled = 0.5  # β times the credit of 0.5 nats over its root mean square
    assert np.array([sample.advantages for sample in samples]) == pytest.approx(np.array([[0, scaled, scaled, 0]] * 2))
    assert metrics["rl_credit_rms"] == 0.0


def test_at_beta_0_nobody_is_asked_and_it_is_grpo() -> None:
    scorer = Scorer(3.0)
    stage = Opd(steps=4, beta_steps=2, groups=2, group_size=2, updates_per_sync=2, refill_rounds=1)
    samples, metrics = prepared(stage, scorer, [group([0.0, 1.0])], step=2)
    assert scorer.asked == 0
    assert [sample.advantages for sample in samples] == [[0, -1, -1, 0], [0, 1, 1, 0]]
    assert samples[0].teacher_logprobs is None
    assert metrics["beta"] == 0.0
    assert metrics["rl_credit_share"] == 1.0
    assert not {"reverse_kl", "kl_credit_rms", "teacher_tokens"} & metrics.keys()
    # Groups without signal are replaced again.
    dealer = Dealer([1, 1], [0, 1], [0.0, 0.5])
    method = OpdMethod(stage, TASKS, dealer, scorer, seed=1)
    batch = asyncio.run(method.gather(2, position=0))
    assert [one.id for one in batch.groups] == ["opd/0002/0001", "opd/0002/0002"]
    assert (len(batch.played), batch.position) == (3, 3)


def test_while_the_teacher_counts_no_group_is_dropped_for_its_rewards() -> None:
    dealer = Dealer([1, 1], [0, 1], [0, 0])
    stage = Opd(groups=3, group_size=2, refill_rounds=5, steps=4)
    method = OpdMethod(stage, TASKS, dealer, Scorer(), seed=1)
    batch = asyncio.run(method.gather(3, position=2))
    assert len(dealer.asked) == 1
    assert batch.groups == batch.played
    assert [one.id for one in batch.groups] == ["opd/0003/0000", "opd/0003/0001", "opd/0003/0002"]
    assert batch.position == 5
    assert len(method.samples(batch.groups)) == 2


def test_what_is_left_of_a_group_counts_by_the_step_it_was_sampled_for() -> None:
    """Where episodes grew too old and were taken out: one attempt is enough for the teacher, not for the outcome."""
    method = made(Opd(steps=4, beta_steps=2), Scorer())
    assert method.alive(group([1.0], "opd/0001/0000"))
    assert not method.alive(group([1.0], "opd/0002/0000"))
    assert method.alive(group([1.0, 0.0], "opd/0002/0000"))
    assert not method.alive(Group("opd/0001/0000", TASKS[0].id, []))


def test_a_kl_in_the_advantage_is_taken_from_the_mixed_credit() -> None:
    class Reference:
        def logprobs(self, samples: Sequence[Sample], of: str | None = None) -> list[list[float]]:
            assert of == "base"
            return [[0.0, -1.5, -1.0, 0.0] for _ in samples]

    stage = Opd(steps=4, objective=Objective(kl="advantage", kl_coefficient=0.1, reference="base"))
    method = made(stage, Scorer(0.5))
    ((first, _),) = minibatches = method.samples([group([1.0, 1.0])])
    metrics = method.prepare(minibatches, Reference(), 0)  # type: ignore[arg-type]
    # The teacher's 0.5 nats are scaled to 1; then 0.1 · (log π − log π_ref) is taken off: 0.1 · (1.0, −0.25).
    assert first.advantages == pytest.approx([0.0, 0.9, 1.025, 0.0])
    assert metrics["kl_reference"] > 0


def test_attempts_that_the_objective_masks_are_not_distilled_from() -> None:
    class Broken(Dealer):
        async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
            kinds: list[dict[int, object]] = [
                {0: "truncated", 1: "infrastructure"},
                {0: "user", 1: "infrastructure"},
                {0: "truncated", 1: "truncated"},
            ]
            return [group([1.0, 0.0], one.id, kind) for one, kind in zip(requests, kinds, strict=True)]  # type: ignore[arg-type]

    for truncated, kept in (("grade", ["0", "2"]), ("mask", [])):
        stage = Opd(groups=3, group_size=2, steps=4, objective=Objective(truncated=truncated))  # type: ignore[arg-type]
        method = OpdMethod(stage, TASKS, Broken(), Scorer(), seed=1)
        batch = asyncio.run(method.gather(0, 0))
        assert [one.id[-1] for one in batch.groups] == kept
        assert len(batch.played) == 3
        trained = [sample.episode_id for samples in method.samples(batch.groups) for sample in samples]
        wanted = ["opd/0000/0000/00", "opd/0000/0002/00", "opd/0000/0002/01"]
        assert trained == (wanted if truncated == "grade" else [])


def test_segments_of_an_episode_are_scored_each_on_its_own() -> None:
    first, second = (
        Segment([5, 6, 7], [0, 1, 0], [0.0, -1.0, 0.0], [0, 1, 0], 1.0),
        Segment([5, 8, 9, 9], [0, 0, 1, 1], [0.0, 0.0, -2.0, -3.0], [0, 0, 1, 1], 1.0),
    )
    whole = Group("opd/0000/0000", TASKS[0].id, [episode("opd/0000/0000/00", 1.0, segments=[first, second])])
    samples, _ = prepared(Opd(steps=4), Scorer(said=[[0, -0.5, 0], [0, 0, -2.5, -3.5]]), [whole], step=0)
    assert [sample.advantages for sample in samples] == [[0, 1, 0], [0, 0, -1, -1]]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([[0.0, -1.0, -1.0, 0.0]], "scored 1 of 2 samples"),
        ([[0.0, -1.0, -1.0, 0.0], [0.0, -1.0, -1.0]], "gave 3 log-probabilities for 4 tokens"),
        ([[0.0, -1.0, -1.0, 0.0], [0.0, -1.0, math.nan, 0.0]], "nan is no log-probability"),
        ([[0.0, -1.0, -math.inf, 0.0], [0.0, -1.0, -1.0, 0.0]], "-inf is no log-probability"),
        ([[0.0, -1.0, 0.4, 0.0], [0.0, -1.0, -1.0, 0.0]], "0.4 is no log-probability"),
    ],
)
def test_nothing_is_changed_by_numbers_that_are_none(said: list[list[float]], message: str) -> None:
    method = made(Opd(steps=4), Scorer(said=said))
    minibatches = method.samples([group([0.0, 1.0])])
    with pytest.raises(EngineError, match=message):
        method.prepare(minibatches, NoTrainer(), 0)  # type: ignore[arg-type]
    assert [sample.advantages for sample in minibatches[0]] == [[0, -0.5, -0.5, 0], [0, 0.5, 0.5, 0]]


def recipe(*stages: Sft | Opd | Evaluate, **changes: object) -> Recipe:
    return Recipe(name="r", world="w", stage=list(stages), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Opd(), r"teacher\.stage.*no training stage .* known: sft, sft@11"),
        (Opd(teacher=TeacherSection(stage="sft@10")), r"known: sft, sft@11"),
        (Opd(start="sft@12", teacher=TeacherSection(stage="sft")), r"start.*known: previous, base, sft, sft@11"),
        (Opd(teacher=TeacherSection("model")), r'teacher\.model.*kind = "model" needs it'),
        (Opd(teacher=TeacherSection("model", stage="sft", model="x")), r"teacher\.stage.*leave it out"),
        (Opd(teacher=TeacherSection("endpoint", endpoint="far")), r"teacher\.endpoint.*no \[endpoints\.far\]"),
        (Opd(teacher=TeacherSection("stage", "sft"), beta_start=0.0), r"beta_start.*would never count"),
        (Opd(teacher=TeacherSection("stage", "sft"), steps=4, keep_references=[5]), "keep_references.*no step 5"),
    ],
)
def test_recipes_that_contradict_themselves_are_refused(stage: Opd, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        check_recipe(recipe(Sft(steps=20, keep_references=[11]), stage), "r.toml")


def test_stages_may_begin_from_and_learn_from_a_kept_step() -> None:
    early = Opd(start="sft@11", teacher=TeacherSection(stage="sft@11"), steps=20, keep_references=[11, 20])
    after = Opd(name="more", start="opd@11", teacher=TeacherSection(stage="opd@20"))
    check_recipe(recipe(Sft(steps=20, keep_references=[11]), early, after), "r.toml")
