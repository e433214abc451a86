"""The reward: hand-worked values, and the law that no failed attempt outscores a pass."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman import recipe
from journeyman.episode import CriterionResult, Ended, Verdict
from journeyman.grading.reward import group_invalid_criteria, reward
from journeyman.task import CallPattern, Criterion, Happened, Outcome, Task

GATED = recipe.Reward()
BINARY = recipe.Reward(kind="binary")
ANY = Happened(CallPattern("x"))


def task(criteria: list[Criterion]) -> Task:
    return Task("t", "w", "1", "f", 1, "train", "2026-03-02T09:00:00", "base", "r", [Outcome()], criteria, [])


def rows(spec: str) -> list[Criterion]:
    """`M` required must, `m` optional must, `N` required must_not, `n` optional must_not."""
    return [
        Criterion(f"c{i}", "x", "must" if kind in "Mm" else "must_not", kind.isupper(), ANY)
        for i, kind in enumerate(spec)
    ]


def verdict(criteria: list[Criterion], decisions: list[bool | None], passed: bool) -> Verdict:
    results = [CriterionResult(c.id, met) for c, met in zip(criteria, decisions, strict=True)]
    required = all(met is True for c, met in zip(criteria, decisions, strict=True) if c.required)
    return Verdict(passed, 0, [], [], results, True, required, "1")


def score(
    spec: str,
    marks: str,
    passed: bool,
    settings: recipe.Reward = GATED,
    ended: Ended = "left",
    tokens: int = 0,
    skip: frozenset[str] = frozenset(),
) -> float:
    """`marks`: + met, - not met, ? undecided."""
    criteria = rows(spec)
    decided = verdict(criteria, [{"+": True, "-": False, "?": None}[mark] for mark in marks], passed)
    return reward(
        task(criteria), decided, settings, ended=ended, sampled_tokens=tokens, token_limit=100, skip_criteria=skip
    )


@pytest.mark.parametrize(
    ("spec", "marks", "passed", "value"),
    [
        ("", "", True, 1.0),
        ("", "", False, 0.0),
        ("MmmNn", "+++++", True, 1.0),
        ("MmmNn", "++-++", True, 0.9),  # one of two optional musts missed
        ("MmmNn", "++++-", True, 0.8),  # the only optional must-not broken
        ("MmmNn", "+--+-", True, 0.6),
        ("MmmNn", "-++++", True, 0.4 * 2 / 3),  # passed, but a required must was missed: fail band
        ("MmmNn", "+++-+", True, 0.4 * (1 - 1 / 2)),  # passed, but a required must-not was broken
        ("MmmNn", "+++++", False, 0.4),
        ("MmmNn", "+--++", False, 0.4 / 3),
        ("MmmNn", "+----", False, 0.0),  # p = 1/3, v = 1
        ("MMnn", "---+", False, 0.0),
        ("nn", "++", False, 0.0),
        ("Mmm", "++?", True, 1.0),
        ("Mmm", "+-?", True, 0.8),
        ("mmn", "+-?", False, 0.2),
    ],
)
def test_hand_worked(spec: str, marks: str, passed: bool, value: float) -> None:
    assert score(spec, marks, passed) == pytest.approx(value)
    assert score(spec, marks, passed, BINARY) == (1.0 if passed else 0.0)


def test_skipped_criteria_are_left_out() -> None:
    assert score("Mmm", "++-", True) == pytest.approx(0.9)
    assert score("Mmm", "++-", True, skip=frozenset({"c2"})) == 1.0


def test_an_undecided_criterion_is_left_out_for_the_group() -> None:
    criteria = rows("Mmm")
    first, second = verdict(criteria, [True, True, None], True), verdict(criteria, [True, None, False], True)
    assert group_invalid_criteria([first, second]) == {"c1", "c2"}
    assert group_invalid_criteria([]) == frozenset()


def test_penalties() -> None:
    settings_ = recipe.Reward(incomplete_penalty=0.1, token_penalty=0.2)
    assert score("Mm", "++", True, settings_) == 1.0
    assert score("Mm", "++", True, settings_, tokens=50) == pytest.approx(0.9)
    assert score("Mm", "++", True, settings_, tokens=500) == pytest.approx(0.8)
    assert score("Mm", "++", False, settings_, ended="limit") == pytest.approx(0.3)
    assert score("Mm", "++", False, settings_, ended="limit", tokens=100) == pytest.approx(0.1)
    assert score("Mm", "+-", False, settings_, ended="limit", tokens=100) == 0.0
    assert score("Mm", "+-", True, recipe.Reward(token_penalty=9.0), tokens=100) == 0.6
    binary = msgspec.structs.replace(settings_, kind="binary")
    assert score("Mm", "++", True, binary, ended="limit", tokens=100) == 1.0


decisions = st.lists(
    st.tuples(st.sampled_from("MmNn"), st.sampled_from([True, False, None])).map(
        lambda pair: (pair[0], False) if pair[0].isupper() and pair[1] is None else pair
    ),
    max_size=20,
)
penalty = st.floats(0, 5, allow_nan=False)


@settings(max_examples=400, deadline=None)
@given(
    decisions,
    st.booleans(),
    penalty,
    penalty,
    st.sampled_from(["left", "final", "transfer", "limit", "error"]),
    st.integers(0, 10_000),
    st.integers(0, 4_096),
    st.frozensets(st.sampled_from([f"c{n}" for n in range(20)])),
)
def test_every_reward_lies_in_its_band(
    pairs: list[tuple[str, bool | None]],
    passed: bool,
    incomplete: float,
    tokens_penalty: float,
    ended: Ended,
    sampled: int,
    limit: int,
    skip: frozenset[str],
) -> None:
    criteria = rows("".join(kind for kind, _ in pairs))
    decided = verdict(criteria, [met for _, met in pairs], passed)
    value = reward(
        task(criteria),
        decided,
        recipe.Reward(incomplete_penalty=incomplete, token_penalty=tokens_penalty),
        ended=ended,
        sampled_tokens=sampled,
        token_limit=limit,
        skip_criteria=skip,
    )
    # Bands that do not touch are the law: whatever the composition, min(pass) = 0.6 > 0.4 = max(fail).
    low, high = (0.6, 1.0) if decided.clean else (0.0, 0.4)
    assert low <= value <= high


@given(st.lists(st.sampled_from("MmNn"), max_size=20))
def test_doing_nothing_earns_nothing(kinds: list[str]) -> None:
    criteria = rows("".join(kinds))
    idle = verdict(criteria, [c.polarity == "must_not" for c in criteria], False)
    assert reward(task(criteria), idle, GATED, ended="left", sampled_tokens=0, token_limit=100) == 0.0
