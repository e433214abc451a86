"""PivotRL as a method: which candidates are kept, which are drawn, what is credited, what is logged and read back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from fake_engine import FakeEngine
from making import group, task

from journeyman.codec import encode, seed_of
from journeyman.episode import Continued, Failure, Group, Message
from journeyman.errors import RecipeError
from journeyman.recipe import (
    Evaluate,
    Objective,
    Optimizer,
    Pivot,
    Recipe,
    Sft,
    TaskFilter,
    User,
    checked,
    parse_recipe,
)
from journeyman.rollout.pivots import Candidate
from journeyman.train.checkpoint import State
from journeyman.train.measure import batch_counters, episode_metrics, sampled_turns
from journeyman.train.method import Batch, GroupRequest
from journeyman.train.pivot import Log, PivotMethod, evaluations_without_improvement, pivotal
from journeyman.train.posterior import Beta, ranked, updated

TASKS = {one.id: one for one in (task(f"w/f/train-{number:03d}") for number in range(3))}
CANDIDATES = [
    Candidate(f"sft/0000/{n // 2:04d}/00", n % 2, f"w/f/train-{n // 2:03d}", ("read", "message")[n % 2]) for n in range(6)
]  # fmt: skip
IDS = [candidate.id for candidate in CANDIDATES]


class Dealer:
    """Rewards by pivot: what `deal` says of (pivot, phase)."""

    def __init__(self, deal: Callable[[str, str], list[float]], failures: dict[int, Failure] | None = None) -> None:
        self.deal = deal
        self.failures = failures
        self.asked: list[GroupRequest] = []
        self.calls = 0

    async def play(self, requests: Sequence[GroupRequest]) -> list[Group]:
        self.asked += requests
        self.calls += 1
        return [self._group(request) for request in requests]

    def _group(self, request: GroupRequest) -> Group:
        assert request.pivot is not None
        phase = request.id.split("/")[0]
        rewards = self.deal(f"{request.pivot.trace}@{request.pivot.turn}", phase)
        assert len(rewards) == request.size
        return group(rewards, request.id, self.failures)


class Lines:
    """Metrics in memory."""

    def __init__(self, lines: Sequence[Mapping[str, Any]] = ()) -> None:
        self.lines = [dict(line) for line in lines]
        self.log = Log(self.lines.append, lambda: self.lines)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]


def ones(count: int, of: int = 8) -> list[float]:
    return [1.0] * count + [0.0] * (of - count)


PROFILE = dict(zip(IDS, [ones(0), ones(8), ones(1), ones(4), ones(5), ones(7)], strict=True))
"""Never, always, rarely, half the time, at the threshold, nearly always."""
KEPT = IDS[2:4]


def dealing(id: str, phase: str) -> list[float]:
    return PROFILE[id] if phase == "pivot-profile" else [1.0, 0.0, 0.0, 0.0]


def method(dealer: Dealer, lines: Lines | None = None, block: int = 32, **stage: Any) -> PivotMethod:
    section = Pivot(**{"groups": 2, "group_size": 4, **stage})
    log = (lines or Lines()).log
    return PivotMethod(section, CANDIDATES, {"empty": 3}, TASKS, dealer, log, seed=5, block=block)


def begun(dealer: Dealer, lines: Lines | None = None, step: int = 0, **options: Any) -> PivotMethod:
    made = method(dealer, lines, **options)
    asyncio.run(made.begin(FakeEngine(), None, State(step, 0, "pivot", step, False)))
    return made


# --- profiles -----------------------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_article() -> None:
    stage = Pivot()
    made = method(Dealer(dealing))
    assert (made.loss.kind, made.loss.ratio_min, made.loss.ratio_max, made.loss.learning_rate) == (
        "cispo",
        0.0,
        4.0,
        1e-5,
    )
    assert stage.objective == Objective(advantage="bounded", loss="cispo")
    assert (stage.profile_size, stage.profile_threshold) == (8, 0.625)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"kind": "pivot", "profile_size": 7}, Pivot)


@pytest.mark.parametrize(
    ("rewards", "found"),
    [
        (ones(0), "failed"),
        (ones(8), "solved"),
        (ones(1), "kept"),
        (ones(4), "kept"),
        (ones(5), "too_easy"),  # 0.625 is not below 0.625
        (ones(7), "too_easy"),
        ([0.3] * 8, "flat"),
        ([0.3] * 7 + [0.3 + 1e-9], "flat"),  # float noise is no signal
        ([1e-9] * 8, "failed"),
        ([0.2, 0.4, 0.0], "kept"),
        ([], "failed"),
        ([1.0], "solved"),
    ],
)
def test_what_a_profile_makes_of_a_candidate(rewards: list[float], found: str) -> None:
    assert pivotal(rewards, 0.625, 1e-6) == found


def test_candidates_are_profiled_once_and_mixed_ones_kept() -> None:
    dealer, lines = Dealer(dealing), Lines()
    begun(dealer, lines, block=4)
    assert [request.id for request in dealer.asked] == [f"pivot-profile/0000/{n:04d}" for n in range(6)]
    assert dealer.calls == 2
    assert {request.size for request in dealer.asked} == {8}
    assert dealer.asked[3] == GroupRequest(
        "pivot-profile/0000/0003", "w/f/train-001", 8, Continued("sft/0000/0001/00", 1)
    )
    (line,) = lines.of("profile")
    counts = {key: line[key] for key in ("candidates", "failed", "solved", "flat", "too_easy", "kept", "dropped_empty")}
    assert counts == {
        "candidates": 6,
        "failed": 1,
        "solved": 1,
        "flat": 0,
        "too_easy": 2,
        "kept": 2,
        "dropped_empty": 3,
    }
    assert {key: line[f"candidates_{key}"] for key in ("read", "write", "message")} == {
        "read": 3,
        "write": 0,
        "message": 3,
    }
    assert line["turns_sampled"] == 48
    assert line["pivots"] == [[IDS[2], 1.0, 8], [IDS[3], 4.0, 8]]
    assert line["seconds_sampling"] >= 0


def test_attempts_that_the_machine_broke_are_no_evidence() -> None:
    lines = Lines()
    begun(Dealer(dealing, failures={0: "infrastructure"}), lines)
    (line,) = lines.of("profile")
    # The first attempt of each is left out: 0/7, 7/7, 0/7, 3/7, 4/7, 6/7.
    assert line["pivots"] == [[IDS[3], 3.0, 7], [IDS[4], 4.0, 7]]


def test_profiles_count_as_sampled_in_the_first_step() -> None:
    made = begun(Dealer(dealing))
    first = asyncio.run(made.gather(0, 0))
    assert (len(first.played), len(first.aside), first.position) == (2, 6, 2)
    counts = batch_counters(first, [])
    assert (counts["turns_sampled"], counts["episodes_sampled"]) == (6 * 8 + 2 * 4, 56)
    assert (counts["groups_sampled"], counts["tokens_sampled"]) == (2, 112)
    second = asyncio.run(made.gather(1, 2))
    assert (second.aside, second.position) == ([], 4)
    assert batch_counters(Batch(second.groups, second.played, 4), [])["turns_sampled"] == 8


def test_what_an_attempt_shares_with_its_trace_is_not_counted_as_sampled() -> None:
    past = [
        Message("assistant", "What is it?", turn=0),
        Message("user", "A line."),
        Message("assistant", "Ah.", turn=1),
    ]
    begun = Continued("sft/0000/0000/00", 1, "no events")
    one = msgspec.structs.replace(group([1.0]).episodes[0], messages=past, pivot=begun, verdict=None)
    assert sampled_turns(one) == 1
    # The prompt left no room: nothing was sampled.
    assert sampled_turns(msgspec.structs.replace(one, segments=[], usage={}, failure="truncated")) == 0
    metrics = episode_metrics([one, msgspec.structs.replace(one, reward=0.0)])
    assert (metrics["reward_mean"], metrics["turns_mean"]) == (0.5, 1)
    assert "pass_rate" not in metrics
    assert episode_metrics(group([1.0, 0.0]).episodes)["pass_rate"] == 1.0


def test_no_pivot_at_all_is_an_error_that_says_why() -> None:
    with pytest.raises(RecipeError, match=r"none of 6 candidates is a pivot .*\(6 failed\)"):
        begun(Dealer(lambda *_: ones(0)))
    with pytest.raises(RecipeError, match=r"no turn can be a pivot \(3 empty\)"):
        PivotMethod(Pivot(), [], {"empty": 3}, TASKS, Dealer(dealing), Lines().log, 0)
    with pytest.raises(RecipeError, match=r"no turn can be a pivot \(no solved trace\)"):
        PivotMethod(Pivot(), [], {}, TASKS, Dealer(dealing), Lines().log, 0)


def test_held_out_tasks_are_refused() -> None:
    held = {id: task(id, split="heldout") for id in TASKS}
    with pytest.raises(RecipeError, match=r"stage pivot \(pivot\).*held out"):
        PivotMethod(Pivot(), CANDIDATES, {}, held, Dealer(dealing), Lines().log, 0)
    with pytest.raises(RecipeError, match="held out of training"):
        PivotMethod(Pivot(), CANDIDATES, {}, TASKS, Dealer(dealing), Lines().log, 0, held_out_worlds=["w"])


# --- posteriors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "before"), [("flat", [Beta(1, 1), Beta(1, 1)]), ("profile", [Beta(1, 7), Beta(4, 4)])]
)
def test_pivots_are_drawn_by_their_posteriors(prior: Any, before: list[Beta]) -> None:
    dealer, lines = Dealer(dealing), Lines()
    made = begun(dealer, lines, prior=prior, groups=1, decay=0.5)
    known = priors = dict(zip(KEPT, before, strict=True))
    for step in range(4):
        drawn = ranked(known, seed_of(seed_of(5, "pivot", "pivots"), step))[0]
        batch = asyncio.run(made.gather(step, step))
        assert [one.id for one in batch.played] == [f"pivot/{step:04d}/0000"]
        asked = dealer.asked[-1]
        assert asked.pivot is not None
        assert (f"{asked.pivot.trace}@{asked.pivot.turn}", asked.size) == (drawn.id, 4)
        after = updated(known[drawn.id], priors[drawn.id], [1, 0, 0, 0], 0.5)
        line = lines.of("posterior")[-1]
        assert (line["step"], line["pivots"]) == (step + 1, 2)
        assert line["drawn"] == [
            {"pivot": drawn.id, "group": f"pivot/{step:04d}/0000", "theta": drawn.theta}
            | {"before": list(known[drawn.id]), "after": list(after), "gained": 1.0, "attempts": 4}
        ]
        known = known | {drawn.id: after}
        assert line["mean"] == pytest.approx(sum(beta.mean for beta in known.values()) / 2)


def test_fewer_pivots_than_asked_for_are_all_taken() -> None:
    made = begun(Dealer(dealing), groups=16)
    batch = asyncio.run(made.gather(0, 0))
    assert len(batch.played) == 2


def test_groups_without_signal_are_replaced_from_the_next_nearest() -> None:
    dull = ranked({IDS[n]: Beta(4, 4) for n in range(6)}, seed_of(seed_of(5, "pivot", "pivots"), 0))[0].id

    def deal(id: str, phase: str) -> list[float]:
        if phase == "pivot-profile":
            return ones(4)
        return [0.0] * 4 if id == dull else [1.0, 0.0, 0.0, 0.0]

    plain = asyncio.run(begun(Dealer(deal)).gather(0, 0))
    assert (len(plain.groups), len(plain.played)) == (1, 2)
    dealer = Dealer(deal)
    batch = asyncio.run(begun(dealer, refill_rounds=1).gather(0, 0))
    assert (len(batch.groups), len(batch.played), batch.position) == (2, 3, 3)
    drawn = [f"{one.pivot.trace}@{one.pivot.turn}" for one in dealer.asked[-3:] if one.pivot]
    assert drawn[0] == dull
    assert len(set(drawn)) == 3
    assert [one.id for one in batch.played] == [f"pivot/0000/{n:04d}" for n in range(3)]


# --- credit -------------------------------------------------------------------------------------------------------


def test_advantages_are_bounded_and_lie_on_sampled_tokens_alone() -> None:
    made = begun(Dealer(dealing))
    (samples,) = made.samples([group([1.0, 0.0, 0.0, 0.0]), group([0.25, 0.75, 0.5, 0.5], "pivot/0000/0001")])
    assert [one.advantages for one in samples[:2]] == [[0, 0.75, 0.75, 0], [0, -0.25, -0.25, 0]]
    assert [one.advantages[1] for one in samples[4:]] == [-0.25, 0.25, 0, 0]
    wide = begun(Dealer(dealing)).samples([group([3.0, -3.0])])[0]
    assert [one.advantages[1] for one in wide] == [1.0, -1.0]


# --- resuming -----------------------------------------------------------------------------------------------------


def varied(id: str, phase: str) -> list[float]:
    if phase == "pivot-profile":
        return PROFILE[id]
    return ones(1 + IDS.index(id) % 3, 4)


def test_a_later_sitting_reads_back_what_was_logged() -> None:
    whole_lines = Lines()
    whole = begun(Dealer(varied), whole_lines, groups=1, decay=0.7)
    asked = []
    for step in range(6):
        asyncio.run(whole.gather(step, step))
        asked.append(whole_lines.lines[-1])
    for done in range(1, 6):
        # As they stand in the file after so many committed steps, and a line that a sitting ahead of its commit left.
        stored = [msgspec.json.decode(encode(line)) for line in whole_lines.lines[: 2 + done]]
        lines, dealer = Lines(stored), Dealer(varied)
        later = begun(dealer, lines, step=done, groups=1, decay=0.7)
        assert dealer.asked == []
        for step in range(done, 6):
            asyncio.run(later.gather(step, step))
            assert lines.lines[-1] == asked[step]


def test_a_stalled_monitor_has_pivots_chosen_anew() -> None:
    profiles = [PROFILE, dict(zip(IDS, [ones(4), ones(0), ones(0), ones(0), ones(2), ones(0)], strict=True))]

    def deal(id: str, phase: str) -> list[float]:
        return profiles[0][id] if phase == "pivot-profile" else [1.0, 0.0, 0.0, 0.0]

    dealer, lines = Dealer(deal), Lines()
    made = begun(dealer, lines, reprofile_after=2, evaluate_every=1, monitor=TaskFilter(limit=1))
    rates = [0.25, 0.5, 0.5, 0.25, 0.25, 0.75]
    profiled = []
    for step, rate in enumerate(rates):
        batch = asyncio.run(made.gather(step, 0))
        profiled.append(len(batch.aside))
        lines.lines.append({"kind": "monitor", "stage": "pivot", "step": step + 1, "pass_rate": rate})
        lines.lines.append({"kind": "monitor", "stage": "other", "step": step + 1, "pass_rate": 9.0})
        profiles[0] = profiles[1]
    # Best at step 2, then 0.5 and 0.25: two without improvement, so step index 4 profiles first.
    assert profiled == [6, 0, 0, 0, 6, 0]
    first, second = lines.of("profile")
    assert (first["step"], second["step"]) == (0, 4)
    assert [row[0] for row in second["pivots"]] == [IDS[0], IDS[4]]
    assert "seconds_sampling" not in second  # they are the step's
    assert [request.id for request in dealer.asked if request.id.startswith("pivot-profile/0004")] == [
        f"pivot-profile/0004/{n:04d}" for n in range(6)
    ]
    assert {row["pivot"] for row in lines.of("posterior")[-1]["drawn"]} == {IDS[0], IDS[4]}
    # A later sitting goes on with the second profile.
    stored = [line for line in lines.lines if line["step"] <= 5]
    again, fresh = Lines(stored), Dealer(deal)
    later = begun(fresh, again, step=5, reprofile_after=2, evaluate_every=1, monitor=TaskFilter(limit=1))
    asyncio.run(later.gather(5, 0))
    assert again.of("posterior")[-1] == lines.of("posterior")[-1]


def test_a_second_profile_that_finds_nothing_leaves_the_pivots() -> None:
    found = dict(PROFILE)
    lines = Lines()
    made = begun(
        Dealer(lambda id, phase: found[id] if phase == "pivot-profile" else ones(1, 4)), lines, reprofile_after=1
    )
    found.update(dict.fromkeys(found, ones(0)))
    lines.lines += [{"kind": "monitor", "stage": "pivot", "step": n, "pass_rate": 0.5} for n in (1, 2)]
    batch = asyncio.run(made.gather(2, 0))
    assert len(batch.aside) == 12
    assert [line["kept"] for line in lines.of("profile")] == [2, 0]
    assert {row["pivot"] for row in lines.of("posterior")[-1]["drawn"]} == set(KEPT)
    later = begun(Dealer(dealing), lines, step=3)
    asyncio.run(later.gather(3, 0))
    assert {row["pivot"] for row in lines.of("posterior")[-1]["drawn"]} == set(KEPT)


@pytest.mark.parametrize(
    ("rates", "profiled_at", "since"),
    [
        ([], 0, 0),
        ([0.5], 0, 0),
        ([0.5, 0.5], 0, 1),
        ([0.5, 0.4, 0.3], 0, 2),
        ([0.5, 0.4, 0.6], 0, 0),
        ([0.0, 0.0, 0.0], 0, 2),
        ([0.5, 0.4, 0.3], 2, 1),
        ([0.5, 0.4, 0.3], 3, 0),
        ([0.5, 0.4, 0.3, 0.6, 0.2], 2, 1),
    ],
)
def test_counting_evaluations_without_improvement(rates: list[float], profiled_at: int, since: int) -> None:
    lines = [{"kind": "monitor", "step": n + 1, "pass_rate": rate} for n, rate in enumerate(rates)]
    assert evaluations_without_improvement([{"kind": "train", "step": 1}, *lines], profiled_at) == since


# --- recipes ------------------------------------------------------------------------------------------------------


def recipe(**stage: Any) -> Recipe:
    return Recipe(name="p", world="telecom", stage=[Sft(), Pivot(**stage)])


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({"traces": "rl"}, r"traces: no stage 'rl' of whole episodes before it.*known: sft"),
        ({"max_staleness": 1}, "max_staleness: .*must be 0"),
        ({"reprofile_after": 1}, "reprofile_after: counts monitoring evaluations"),
        ({"tasks": TaskFilter(split="heldout")}, "held-out tasks cannot feed training"),
        ({"name": "sft-profile"}, "is the phase of another stage's profiles"),
        ({"name": "sft-traces"}, "is the phase of another stage's traces"),
    ],
)
def test_settings_that_contradict_are_refused(stage: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        checked(recipe(**stage), "x")


def test_a_user_that_a_model_plays_cannot_be_gone_back_to() -> None:
    text = """
        name = "p"
        world = "telecom"
        run.network = "endpoints"
        user = { kind = "llm", endpoint = "far" }
        [endpoints.far]
        url = "https://far.example/v1"
        model = "m"
        [[stage]]
        kind = "pivot"
        continuation = "CONTINUATION"
    """
    with pytest.raises(RecipeError, match='cannot be restored in the middle of an episode: use "turn"'):
        parse_recipe(text.replace("CONTINUATION", "episode"), "x")
    found = parse_recipe(text.replace("CONTINUATION", "turn"), "x")
    assert found.user == User("llm", "far")


def test_the_published_sizes_are_a_matter_of_the_recipe() -> None:
    text = """
        name = "p"
        world = "telecom"
        [[stage]]
        kind = "pivot"
        groups = 16
        group_size = 16
        profile_size = 16
        steps = 15
        [[stage]]
        kind = "evaluate"
        name = "after"
    """
    stage, after = parse_recipe(text, "x").stage
    assert isinstance(stage, Pivot)
    assert isinstance(after, Evaluate)
    assert (stage.groups, stage.group_size, stage.optimizer) == (16, 16, Optimizer(learning_rate=1e-5))
