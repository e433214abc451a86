import pytest
from making import episode, group

from journeyman.episode import Group, Segment
from journeyman.recipe import Limits, Objective
from journeyman.train.shaping import credited_rewards, overlong_penalty


@pytest.mark.parametrize(
    ("tokens", "wanted"),
    [(0, 0.0), (80, 0.0), (81, -0.05), (90, -0.5), (100, -1.0), (130, -1.0)],
)
def test_overlong_penalty_by_hand(tokens: int, wanted: float) -> None:
    # Limit 100, buffer 20: 0 up to 80 tokens, then 1/20 a token.
    assert overlong_penalty(tokens, 100, 20, 1.0) == pytest.approx(wanted)
    assert overlong_penalty(tokens, 100, 20, 0.4) == pytest.approx(0.4 * wanted)


def test_without_a_buffer_lengths_cost_nothing() -> None:
    assert overlong_penalty(500, 100, 0, 1.0) == 0.0


def long_episode(trial: int, tokens: int, reward: float) -> object:
    halves = [Segment([1] * n, [1] * n, [-1.0] * n, [0] * n, 1.0) for n in (tokens // 2, tokens - tokens // 2)]
    return episode(f"rl/0000/0000/{trial:02d}", reward, segments=halves)


def test_lengths_are_those_of_the_whole_episode() -> None:
    made = Group("rl/0000/0000", "t", [long_episode(0, 80, 1.0), long_episode(1, 95, 1.0), long_episode(2, 100, 0.3)])  # type: ignore[list-item]
    episodes, rewards = credited_rewards(made, Objective(overlong_buffer=20, overlong_penalty=0.5), Limits(tokens=100))
    assert [one.id[-2:] for one in episodes] == ["00", "01", "02"]
    assert rewards == pytest.approx([1.0, 1.0 - 0.5 * 15 / 20, 0.3 - 0.5])
    assert credited_rewards(made, Objective(), Limits(tokens=100))[1] == [1.0, 1.0, 0.3]


def test_broken_attempts_are_in_neither_mean_nor_loss() -> None:
    made = group([1.0, 0.0, 0.0, 0.5, 0.25], failures={1: "user", 2: "infrastructure", 3: "truncated", 4: "agent"})
    found = {
        truncated: credited_rewards(made, Objective(truncated=truncated, truncation_penalty=0.2), Limits())
        for truncated in ("grade", "mask", "penalise")
    }
    assert [one.id[-2:] for one in found["grade"][0]] == ["00", "03", "04"]
    assert found["grade"][1] == [1.0, 0.5, 0.25]
    assert [one.id[-2:] for one in found["mask"][0]] == ["00", "04"]
    assert found["mask"][1] == [1.0, 0.25]
    assert [one.id[-2:] for one in found["penalise"][0]] == ["00", "03", "04"]
    assert found["penalise"][1] == pytest.approx([1.0, 0.3, 0.25])
