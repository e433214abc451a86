import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from making import episode, group, task

from journeyman.episode import Group
from journeyman.errors import RecipeError
from journeyman.recipe import Grpo, Objective, Optimizer, Sft
from journeyman.train.checkpoint import State
from journeyman.train.grpo import GrpoMethod
from journeyman.train.loop import warmed_up
from journeyman.train.method import GroupRequest
from journeyman.train.sft import SftMethod

TASKS = [task(f"w/f/train-{number:03d}") for number in range(5)]


class Dealer:
    """Gives the groups in its list the rewards in it, in order."""

    def __init__(self, *rewards: list[float]) -> None:
        self.rewards = list(rewards)
        self.asked: list[list[GroupRequest]] = []

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        self.asked.append(list(requests))
        return [group(self.rewards.pop(0), request.id) for request in requests]


def test_groups_without_signal_are_replaced_within_the_rounds() -> None:
    dealer = Dealer([1, 1], [0, 1], [0, 0], [0.5, 0.5], [0.25, 0.5], [1, 1])
    method = GrpoMethod(Grpo(groups=3, group_size=2, refill_rounds=2), TASKS, dealer, seed=1)
    batch = asyncio.run(method.gather(4, position=3))
    assert [[one.id for one in asked] for asked in dealer.asked] == [
        ["grpo/0004/0000", "grpo/0004/0001", "grpo/0004/0002"],
        ["grpo/0004/0003", "grpo/0004/0004"],
        ["grpo/0004/0005"],
    ]
    assert [one.id for one in batch.groups] == ["grpo/0004/0001", "grpo/0004/0004"]
    assert len(batch.played) == 6
    assert batch.position == 9


def test_no_refill_once_enough_groups_have_signal() -> None:
    dealer = Dealer([0, 1], [0.2, 0.1])
    batch = asyncio.run(GrpoMethod(Grpo(groups=2, group_size=2), TASKS, dealer, 1).gather(0, 0))
    assert len(dealer.asked) == 1
    assert batch.groups == batch.played


def test_an_epoch_draws_each_task_once_dropped_groups_included() -> None:
    dealer = Dealer(*[[1, 1]] * 5)
    method = GrpoMethod(Grpo(groups=1, group_size=2, updates_per_sync=1, refill_rounds=4), TASKS, dealer, 1)
    assert asyncio.run(method.gather(0, 0)).groups == []
    drawn = [request.task_id for asked in dealer.asked for request in asked]
    assert sorted(drawn) == [one.id for one in TASKS]


def test_updates_split_by_whole_groups() -> None:
    method = GrpoMethod(Grpo(groups=5, group_size=2, updates_per_sync=2), TASKS, Dealer(), 1)
    groups = [group([0.0, 1.0], f"grpo/0000/{number:04d}") for number in range(5)]
    first, second = method.samples(groups)
    assert [sample.group_id[-1] for sample in first] == ["0", "0", "1", "1"]
    assert [sample.group_id[-1] for sample in second] == ["2", "2", "3", "3", "4", "4"]
    assert [sample.advantages for sample in first[:2]] == [[0, -0.5, -0.5, 0], [0, 0.5, 0.5, 0]]
    assert len(method.samples(groups[:1])) == 1
    assert method.samples([]) == []


def test_masked_attempts_leave_the_mean() -> None:
    made = group([1.0, 0.0, 0.6], failures={1: "truncated"})
    graded = GrpoMethod(Grpo(objective=Objective(truncated="grade")), TASKS, Dealer(), 1).samples([made])[0]
    assert [one.advantages[1] for one in graded] == pytest.approx([1 - 1.6 / 3, -1.6 / 3, 0.6 - 1.6 / 3])
    masked = GrpoMethod(Grpo(objective=Objective(truncated="mask")), TASKS, Dealer(), 1).samples([made])[0]
    assert [one.advantages[1] for one in masked] == pytest.approx([0.2, -0.2])


def test_signal_is_judged_on_attempts_that_count() -> None:
    method = GrpoMethod(Grpo(objective=Objective(truncated="mask")), TASKS, Dealer(), 1)
    assert not method.alive(group([1.0, 1.0, 0.0], failures={2: "infrastructure"}))
    assert not method.alive(group([1.0, 1.0, 0.0], failures={2: "truncated"}))
    assert method.alive(group([1.0, 1.0, 0.0]))


def test_sft_walks_all_traces_with_advantage_one() -> None:
    traces = [episode(f"sft/0000/{number:04d}/00", 1.0, task_id=TASKS[number].id) for number in range(5)]
    method = SftMethod(Sft(batch=2), traces, {one.id: one for one in TASKS}, seed=3)
    ids: list[str] = []
    position = 0
    for step in range(5):
        batch = asyncio.run(method.gather(step, position))
        position = batch.position
        (samples,) = method.samples(batch.groups)
        assert samples[0].advantages == [0, 1, 1, 0]
        ids += [sample.episode_id for sample in samples]
    assert position == 10
    assert sorted(ids[:5]) == sorted(ids[5:]) == [trace.id for trace in traces]


def test_no_trace_is_an_error() -> None:
    with pytest.raises(RecipeError, match="no trace passed"):
        SftMethod(Sft(), [], {}, 0)


def test_warm_up_is_linear() -> None:
    optimizer = Optimizer(learning_rate=1e-3, warmup_steps=4)
    loss = GrpoMethod(Grpo(optimizer=optimizer), TASKS, Dealer(), 1).loss
    assert [warmed_up(loss, index, 4).learning_rate for index in range(6)] == pytest.approx(
        [2.5e-4, 5e-4, 7.5e-4, 1e-3, 1e-3, 1e-3]
    )
    assert warmed_up(loss, 0, 0) == loss


@pytest.mark.parametrize("begun", [True, False])
def test_a_kl_is_measured_to_the_weights_the_stage_began_from(tmp_path: Path, begun: bool) -> None:
    """Also in a later sitting, when the trainer's own weights are others; without a checkpoint that is the untouched model."""
    engine = FakeEngine()
    engine.weight = 0.5
    engine.save(tmp_path)
    engine.weight = 0.75
    stage = Grpo(objective=Objective(kl="loss", kl_coefficient=0.1))
    method = GrpoMethod(stage, TASKS, Dealer(), 1)
    state = State(global_step=3, stage=1, stage_name="grpo", step=2, finished=False)
    asyncio.run(method.begin(engine, tmp_path if begun else None, state))
    minibatches = method.samples([group([0.0, 1.0])])
    method.prepare(minibatches, engine, 2)
    wanted = -0.5 if begun else -0.125
    assert [one.reference_logprobs for one in minibatches[0]] == [[0.0, wanted, wanted, 0.0]] * 2
