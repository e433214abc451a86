import msgspec
import pytest
from making import SEGMENT, episode, group, task

from journeyman.episode import CriterionResult, Group, Segment, Verdict
from journeyman.recipe import Limits, Reward
from journeyman.task import Criterion
from journeyman.train.samples import samples_of, settle_rewards


def test_advantages_lie_on_sampled_tokens_only() -> None:
    second = Segment([9, 9], [0, 1], [0.0, -2.0], [0, 4], 1.0)
    empty = Segment([9], [0], [0.0], [0], 1.0)
    one = episode("rl/0000/0000/00", segments=[SEGMENT, empty, second])
    other = episode("rl/0000/0000/01", segments=[SEGMENT])
    samples = samples_of(Group("rl/0000/0000", "t", [one, other]), [one, other], [0.25, -0.25])
    assert [sample.advantages for sample in samples] == [[0, 0.25, 0.25, 0], [0, 0.25], [0, -0.25, -0.25, 0]]
    assert [sample.episode_id[-2:] for sample in samples] == ["00", "00", "01"]
    assert {sample.group_id for sample in samples} == {"rl/0000/0000"}
    assert samples[0].logprobs == SEGMENT.logprobs
    assert samples[1].versions == [0, 4]


def test_one_advantage_per_episode_is_demanded() -> None:
    made = group([1.0, 0.0])
    with pytest.raises(ValueError, match="zip"):
        samples_of(made, made.episodes, [1.0])


def judged(id: str, *met: bool | None) -> Verdict:
    results = [CriterionResult(f"c{index}", value) for index, value in enumerate(met)]
    return Verdict(True, 0, [], [], results, True, True, "1")


def test_a_criterion_undecided_once_is_left_out_for_the_whole_group() -> None:
    criteria = [Criterion("c0", "", "must", judge="?"), Criterion("c1", "", "must", judge="?")]
    wanted = msgspec.structs.replace(task(), criteria=criteria)
    # All of them missed c1, for which the third got no decision. Missed optional musts cost up to 0.2.
    made = Group("g", wanted.id, [])
    for index, verdict in enumerate([judged("a", True, False), judged("b", False, False), judged("c", True, None)]):
        made.episodes.append(msgspec.structs.replace(episode(f"g/0/0/{index:02d}", 0.9), verdict=verdict))
    settled = settle_rewards(made, wanted, Reward(), Limits())
    assert [one.reward for one in settled.episodes] == pytest.approx([1.0, 0.8, 1.0])


def test_decided_groups_keep_their_rewards() -> None:
    made = group([0.3, 0.9], failures={1: "infrastructure"})
    assert settle_rewards(made, task(), Reward(), Limits()) is made
