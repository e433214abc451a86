"""Pivots: states restored from traces, prompts by id, attempts of one turn and to the end."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from corner_shop import WORLD
from fakes import FakeSampler

from journeyman.codec import digest, encode
from journeyman.engine.base import SampleRequest
from journeyman.engine.tokenizer import load_tokenizer
from journeyman.episode import Continued, Episode, Message, SamplingSettings, Seeds, Segment, ToolCall
from journeyman.errors import EngineError, RunFolderError
from journeyman.grading.equivalence import compare, unfit
from journeyman.recipe import Limits
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.pivots import Candidate, Traces
from journeyman.rollout.policy import EpisodeSpec, TokenPolicy
from journeyman.rollout.pool import run_pool
from journeyman.rollout.replay import replay, restore, restore_user, turns_of
from journeyman.rollout.scripted import SCRIPTED
from journeyman.rollout.users import scripted_user
from journeyman.task import Task
from journeyman.world import World, WorldSession, open_session
from journeyman.worlds import load_world

SETTINGS = PlaySettings(limits=Limits(), sampling=SamplingSettings(max_tokens=400, context_limit=8000))
RENDERER = ChatMLRenderer(load_tokenizer("tiny-random"))


@functools.cache
def oracle_trace(task_id: str, world: World = WORLD) -> Episode:
    task = world.task(task_id)
    episode = asyncio.run(
        play(EpisodeSpec("sft/0000/0000/00", task, Seeds(1, 2, 3)), world, SCRIPTED["oracle"], SETTINGS)
    )
    assert episode.reward == 1.0, (task_id, episode.failure_detail)
    return msgspec.structs.replace(episode, id=f"sft/0000/{digest(task_id)[:8]}/00").sealed()


def traces_of(*traces: Episode, **changes: Any) -> Traces:
    options: dict[str, Any] = {"context_limit": 8000, "limits": Limits(), **changes}
    tasks = {trace.task_id: WORLD.task(trace.task_id) for trace in traces}
    return Traces(WORLD, tasks, RENDERER, lambda _: (), traces, **options)


CANCEL, TOTAL, TRANSFER = (f"shop/{family}/train-000" for family in ("cancel", "total", "transfer"))


# --- the world is restored ----------------------------------------------------------------------------------------


def sixty_tasks() -> list[tuple[str, str]]:
    """Two training tasks of each family of both worlds."""
    found = []
    for name in ("telecom", "airline_cargo"):
        world = load_world(name)
        for family in world.families:
            split: Any = "train" if family.train else "heldout_family"
            found += [(name, task.id) for task in world.tasks(split, [family.name])[:2]]
    return found


def test_every_turn_of_sixty_oracle_traces_is_restored_to_the_digest() -> None:
    cases = sixty_tasks()
    assert len(cases) >= 60
    kinds: set[str] = set()
    states = 0
    for name, task_id in cases:
        world = load_world(name)
        kinds |= asyncio.run(_check_states(world, world.task(task_id), oracle_trace(task_id, world)))
        states += sum(message.role == "assistant" for message in oracle_trace(task_id, world).messages)
    assert kinds == {"read", "write", "message"}
    assert states > 500


async def _check_states(world: World, task: Task, trace: Episode) -> set[str]:
    stands = await replay(world, task, trace)
    turns = turns_of(trace)
    assert len(stands) == len(turns) == sum(message.role == "assistant" for message in trace.messages)
    for turn, stand in enumerate(stands):
        # The state worked out without the code under test: the recorded calls, one after the other.
        wanted = open_session(world, task, trace.seeds.world)
        for call in trace.calls:
            if call.turn < turn:
                await wanted.call(call.tool, call.arguments, turn=call.turn)
        restored = await restore(world, task, trace, turn, stand.digest)
        assert restored.digest() == wanted.digest() == stand.digest
        # What comes after it comes as it came, also out of a snapshot.
        copy = WorldSession.restore(world, task, restored.snapshot())
        for call in trace.calls:
            if call.turn >= turn:
                assert await copy.call(call.tool, call.arguments, turn=call.turn) == call
        assert copy.changes() == trace.changes
        # The turn itself does what it did, and after calls comes something else (a refusal may be said twice).
        if unfit(stand.shown) is None:
            own = await compare(world, stand.shown, turns[turn], wanted.fork(), turn)
            assert own.equivalent, own.reason
            other = await compare(world, stand.shown, turns[(turn + 1) % len(turns)], wanted.fork(), turn)
            assert not (other.equivalent and stand.shown.calls), (trace.task_id, turn)
        for session in (wanted, restored, copy):
            await session.close()
        if task.scenario is not None:
            user = scripted_user(EpisodeSpec("x", task, trace.seeds), world)
            await restore_user(world, user, trace, turn)
    return {stand.shown.kind for stand in stands}


def altered(trace: Episode, **changes: Any) -> Episode:
    return msgspec.structs.replace(trace, **changes).sealed()


def collect(traces: Traces) -> tuple[list[Candidate], dict[str, int]]:
    found, dropped = asyncio.run(traces.candidates())
    return found, dict(dropped)


def test_a_trace_that_does_not_replay_is_refused_by_name() -> None:
    trace = oracle_trace(CANCEL)
    other = msgspec.structs.replace(trace.calls[1], result=trace.calls[1].result.replace("cancelled", "open"))
    cases: list[tuple[Episode, str]] = [
        (altered(trace, calls=[trace.calls[0], other, *trace.calls[2:]]), r"call 1 \(cancel_order\)"),
        (altered(trace, calls=trace.calls[:-1]), r"turn 4.*0 calls are on record, 1"),
        (altered(trace, changes=trace.changes[:-1]), "changes"),
        (altered(trace, task_hash="0"), "another version of shop/cancel/train-000"),
        (altered(trace, pivot=Continued("x", 1)), "begins in the middle"),
        (altered(trace, segments=[Segment([1, 2], [0, 1], [0.0, -1.0], [0, 0], 1.0)]), "hold 1 sampled turns, the messages 6"),
    ]  # fmt: skip
    for wrong, said in cases:
        with pytest.raises(RunFolderError, match=said) as error:
            collect(traces_of(wrong))
        assert error.value.where == trace.id


def test_a_user_who_answers_otherwise_cannot_be_restored() -> None:
    trace = oracle_trace(CANCEL)
    messages = list(trace.messages)
    place = next(n for n, one in enumerate(messages) if one.role == "user" and one.turn == 0)
    messages[place] = msgspec.structs.replace(messages[place], content="I lost it, sorry.")
    wrong = altered(trace, messages=messages)
    assert len(collect(traces_of(wrong))[0]) == 6  # single turns need no user
    with pytest.raises(RunFolderError, match=r'user: answers otherwise.*continuation = "turn"'):
        collect(traces_of(wrong, continuation="episode"))


def test_a_digest_that_differs_is_an_error() -> None:
    trace = oracle_trace(CANCEL)
    with pytest.raises(RunFolderError, match="turn 2: is restored with another digest"):
        asyncio.run(restore(WORLD, WORLD.task(CANCEL), trace, 2, "0"))


# --- which turns are candidates -----------------------------------------------------------------------------------


def test_every_turn_of_every_trace_is_looked_at() -> None:
    made = [oracle_trace(CANCEL), oracle_trace(TOTAL), oracle_trace(TRANSFER)]
    found, dropped = collect(traces_of(*made))
    assert [(one.trace, one.turn, one.kind) for one in found] == [
        (made[0].id, 0, "message"),
        (made[0].id, 1, "read"),
        (made[0].id, 2, "message"),
        (made[0].id, 3, "write"),
        (made[0].id, 4, "write"),
        (made[0].id, 5, "message"),
        (made[1].id, 0, "read"),
        (made[1].id, 1, "message"),
        (made[2].id, 0, "write"),
        (made[2].id, 1, "write"),
    ]
    assert dropped == {}
    assert found[3].id == f"{made[0].id}@3"


def test_what_shows_nothing_is_dropped_and_counted() -> None:
    model = writing({0: "Good day.", 1: call("list_orders", customer_id="CU-9999"), 2: call("get_order", order_id="OR-9"),
                     3: call("get_order", order_id="OR-0001"), 4: "The total is $11.25."})  # fmt: skip
    trace = student_trace(TOTAL.replace("total", "cancel"), model)
    found, dropped = collect(traces_of(trace))
    assert [(one.turn, one.kind) for one in found] == [(3, "read"), (4, "message")]
    assert dropped == {"no_events": 1, "empty": 1, "error": 1}
    # To the end of the episode, what a turn shows is of no matter.
    assert len(collect(traces_of(trace, continuation="episode"))[0]) == 5


def test_what_no_attempt_could_fit_and_equal_prompts_are_dropped() -> None:
    trace = oracle_trace(CANCEL)
    start = asyncio.run(traces_of(trace).start(Continued(trace.id, 3)))
    length = len(RENDERER.complete(next(one for one in trace.messages if one.turn == 3)))
    found, dropped = collect(traces_of(trace, context_limit=len(start.prompt_ids) + length))
    assert ([one.turn for one in found], dropped) == ([0, 1, 2, 3], {"too_long": 2})
    found, dropped = collect(traces_of(trace, limits=Limits(turns=2)))
    assert ([one.turn for one in found], dropped) == ([0, 1], {"too_long": 4})
    again = altered(trace, id="sft/0000/0001/00")
    found, dropped = collect(traces_of(trace, again))
    assert (len(found), dropped) == (6, {"duplicate": 6})


# --- the prompt by id ---------------------------------------------------------------------------------------------


def call(name: str, **arguments: Any) -> str:
    """As no renderer would write it: what was sampled must be kept."""
    return f'<tool_call> {{"arguments":{encode(arguments).decode()},  "name": "{name}"}}</tool_call>'


def writing(outputs: dict[int, str], stop: bool = True) -> FakeSampler:
    """A model that says `outputs[turn]`, the number of turns counted in the prompt."""
    marker = RENDERER.start([])

    def turns_before(ids: Sequence[int]) -> int:
        return sum(list(ids[n : n + len(marker)]) == marker for n in range(len(ids))) - 1

    def write(request: SampleRequest) -> list[int]:
        text = outputs[turns_before(request.prompt_ids)]
        ids = RENDERER.complete(Message("assistant", text))
        return ids if stop else ids[:-1]

    return FakeSampler(write)


def student_trace(task_id: str, sampler: FakeSampler) -> Episode:
    spec = EpisodeSpec("grpo/0001/0002/03", WORLD.task(task_id), Seeds(1, 2, 3))
    return asyncio.run(play(spec, WORLD, TokenPolicy(sampler, RENDERER), SETTINGS))


SLOPPY = {
    0: "What is the order number?",
    1: call("get_order", order_id="OR-0001"),
    2: "Shall I cancel the order OR-0001?",
    3: call("cancel_order", order_id="OR-0001", reason="regret"),
    4: call("open_ticket", order_id="OR-0001", text="cancelled on request"),
    5: "It is done. Your ticket is TK-0001.",
}


def test_a_students_ids_are_kept() -> None:
    sampler = writing(SLOPPY)
    trace = student_trace(CANCEL, sampler)
    assert trace.reward == 1.0
    asked = [request.prompt_ids for request in sampler.requests]
    assert len(asked) == 6
    pivots = traces_of(trace)
    for turn, prompt in enumerate(asked):
        assert asyncio.run(pivots.start(Continued(trace.id, turn))).prompt_ids == prompt
    # Rendered from its messages the stream would be another.
    rendered = asyncio.run(traces_of(altered(trace, segments=[])).start(Continued(trace.id, 2))).prompt_ids
    assert rendered != asked[2]


def test_a_teachers_messages_are_rendered_as_a_model_would_have_met_them() -> None:
    trace = oracle_trace(CANCEL)
    assert trace.segments == []
    turns = [one for one in trace.messages if one.role == "assistant"]
    texts = {turn: RENDERER._tokenizer.decode(RENDERER.complete(one)[:-1]) for turn, one in enumerate(turns)}
    sampler = writing(texts)
    student_trace(CANCEL, sampler)
    for turn, request in enumerate(sampler.requests):
        assert asyncio.run(traces_of(trace).start(Continued(trace.id, turn))).prompt_ids == request.prompt_ids


def test_turns_are_found_in_every_segment() -> None:
    trace = student_trace(CANCEL, writing(SLOPPY))
    (whole,) = trace.segments
    cut = next(n for n in range(len(whole.mask)) if sum(whole.mask[:n]) and not whole.mask[n])
    first = Segment(whole.token_ids[:cut], whole.mask[:cut], whole.logprobs[:cut], whole.versions[:cut], 1.0)
    mask = [0] * cut + whole.mask[cut:]
    second = Segment(whole.token_ids, mask, whole.logprobs, whole.versions, 1.0)
    pivots = traces_of(altered(trace, segments=[first, second]))
    whole_pivots = traces_of(trace)
    for turn in range(6):
        pivot = Continued(trace.id, turn)
        assert asyncio.run(pivots.start(pivot)).prompt_ids == asyncio.run(whole_pivots.start(pivot)).prompt_ids


# --- attempts of one turn -----------------------------------------------------------------------------------------


def attempt(
    trace: Episode,
    turn: int,
    said: str | dict[int, str],
    *,
    stop: bool = True,
    settings: PlaySettings = SETTINGS,
    write: Callable[[SampleRequest], list[int]] | None = None,
    **options: Any,
) -> tuple[Episode, FakeSampler]:
    sampler = writing({turn: said} if isinstance(said, str) else said, stop)
    if write is not None:
        sampler.write = write
    pivots = traces_of(trace, **options)
    seeds = msgspec.structs.replace(trace.seeds, episode=99)
    spec = EpisodeSpec("pivot/0000/0000/00", WORLD.task(trace.task_id), seeds, pivot=Continued(trace.id, turn))
    policy = TokenPolicy(sampler, RENDERER)
    (episode,) = asyncio.run(run_pool([spec], WORLD, policy, settings, player=pivots.play))
    assert episode.intact
    return episode, sampler


def test_one_turn_is_sampled_and_compared() -> None:
    trace = oracle_trace(CANCEL)
    episode, sampler = attempt(
        trace, 1, call("list_orders", customer_id="CU-0001") + call("get_order", order_id="OR-0001")
    )
    assert (episode.reward, episode.ended, episode.failure, episode.verdict) == (0.0, "turn", "none", None)
    assert episode.pivot == Continued(trace.id, 1, "2 calls, where the demonstration makes 1")
    episode, sampler = attempt(trace, 1, call("get_order", order_id="OR-0001"))
    assert (episode.reward, episode.ended, episode.failure, episode.verdict) == (1.0, "turn", "none", None)
    assert episode.pivot == Continued(trace.id, 1, "equivalent")
    assert len(sampler.requests) == 1
    assert sampler.requests[0].seed == 99
    past = trace.messages.index(next(one for one in trace.messages if one.role == "assistant" and one.turn == 1))
    assert episode.messages[:past] == trace.messages[:past]
    assert [one.role for one in episode.messages[past:]] == ["assistant", "tool"]
    assert episode.messages[-1].content == trace.calls[0].result
    assert [one.result for one in episode.calls] == [trace.calls[0].result]
    assert episode.events == [one for one in trace.events if one.turn < 1]
    assert episode.usage["policy"].requests == 1
    assert (episode.task_id, episode.seeds.world, episode.seeds.user) == (trace.task_id, 1, 2)


def test_only_what_was_sampled_has_mask_1() -> None:
    trace = student_trace(CANCEL, writing(SLOPPY))
    for turn in range(6):
        episode, sampler = attempt(trace, turn, "Hm.")
        (segment,), (request,), (result,) = episode.segments, sampler.requests, sampler.results
        assert segment.token_ids == request.prompt_ids + result.token_ids
        assert segment.mask == [0] * len(request.prompt_ids) + [1] * len(result.token_ids)
        assert segment.logprobs == [0.0] * len(request.prompt_ids) + result.logprobs
        assert segment.versions == [0] * len(request.prompt_ids) + [3] * len(result.token_ids)
        assert episode.usage["policy"].output == len(result.token_ids)
        assert (episode.reward, episode.ended) == (0.0, "turn")


@pytest.mark.parametrize(
    ("turn", "said", "reward"),
    [
        (0, "Could you tell me the order number?", 1.0),
        (0, "How may I help?", 0.0),
        (0, call("get_order", order_id="OR-0001"), 0.0),
        (2, "Do you want me to cancel order OR-0001?", 1.0),
        (2, "Do you want me to cancel order OR-0002?", 0.0),
        (3, call("cancel_order", reason="regret", order_id="OR-0001"), 1.0),
        (3, call("cancel_order", order_id="OR-0001", reason="late"), 1.0),  # leaves the same changes
        (3, call("cancel_order", order_id="OR-0002", reason="regret"), 0.0),
        (3, "I cancel the order OR-0001.", 0.0),
        (4, call("open_ticket", order_id="OR-0001", text=" cancelled  on request"), 1.0),
        (4, call("open_ticket", order_id="OR-0001", text="cancelled"), 0.0),
        (5, "Ticket TK-0001 is open.", 1.0),
    ],
)
def test_the_verifier_sees_the_restored_state(turn: int, said: str, reward: float) -> None:
    assert attempt(oracle_trace(CANCEL), turn, said)[0].reward == reward


def test_broken_turns_fail_as_in_the_loop() -> None:
    trace = oracle_trace(CANCEL)
    cut, _ = attempt(trace, 1, call("get_order", order_id="OR-0001"), stop=False)
    assert (cut.failure, cut.ended, cut.reward) == ("truncated", "limit", 0.0)
    silent, _ = attempt(trace, 1, "<think>hm</think>")
    assert (silent.failure, silent.ended, silent.reward) == ("agent", "limit", 0.0)
    assert silent.pivot == Continued(trace.id, 1, "the output is only thinking")

    def broken(_: SampleRequest) -> list[int]:
        raise EngineError("engine", "", "gone")

    lost, _ = attempt(trace, 1, "", write=broken)
    assert (lost.failure, lost.valid, lost.reward, lost.ended) == ("infrastructure", False, 0.0, "error")
    small = PlaySettings(limits=Limits(), sampling=SamplingSettings(context_limit=20))
    full, _ = attempt(trace, 1, "", settings=small)
    assert (full.failure, full.reward) == ("truncated", 0.0)
    assert full.segments == []


def test_attempts_of_one_pivot_do_not_meet_and_leave_the_trace_alone() -> None:
    trace = oracle_trace(CANCEL)
    before = encode(trace)
    pivots = traces_of(trace)
    sampler = writing({3: call("cancel_order", order_id="OR-0001", reason="regret")})
    specs = [
        EpisodeSpec(f"pivot/0000/0000/{n:02d}", WORLD.task(CANCEL), Seeds(1, 2, n), pivot=Continued(trace.id, 3))
        for n in range(5)
    ]
    found = asyncio.run(run_pool(specs, WORLD, TokenPolicy(sampler, RENDERER), SETTINGS, player=pivots.play))
    assert [one.reward for one in found] == [1.0] * 5
    assert len({digest(one.changes) for one in found}) == 1
    assert encode(trace) == before


def test_a_policy_without_ids_cannot_begin_at_a_pivot() -> None:
    trace = oracle_trace(CANCEL)
    spec = EpisodeSpec("pivot/0000/0000/00", WORLD.task(CANCEL), trace.seeds, pivot=Continued(trace.id, 1))
    episode = asyncio.run(traces_of(trace).play(spec, WORLD, SCRIPTED["oracle"], SETTINGS))
    assert (episode.failure, episode.reward) == ("infrastructure", 0.0)
    assert "has no token ids" in episode.failure_detail
    with pytest.raises(RunFolderError, match="turn 6: there is none: the trace has 6"):
        asyncio.run(traces_of(trace).start(Continued(trace.id, 6)))
    with pytest.raises(RunFolderError, match="is no trace"):
        asyncio.run(traces_of(trace).start(Continued("x", 0)))


# --- attempts to the end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", range(6))
def test_an_episode_goes_on_to_its_end_as_the_trace_did(turn: int) -> None:
    trace = student_trace(CANCEL, writing(SLOPPY))
    episode, sampler = attempt(trace, turn, SLOPPY, continuation="episode")
    assert len(sampler.requests) == 6 - turn
    for key in ("messages", "calls", "events", "changes", "ended", "verdict", "reward", "failure"):
        assert getattr(episode, key) == getattr(trace, key), key
    assert episode.pivot == Continued(trace.id, turn, "")
    (segment,), (whole,) = episode.segments, trace.segments
    assert segment.token_ids == whole.token_ids
    begin = len(sampler.requests[0].prompt_ids)
    assert segment.mask == [0] * begin + whole.mask[begin:]


def test_the_outcome_decides_and_not_the_turn() -> None:
    trace = oracle_trace(CANCEL)
    # Another way that ends well: looks once more before it acts.
    detour = {3: call("get_order", order_id="OR-0001"), 4: SLOPPY[3], 5: SLOPPY[4], 6: SLOPPY[5]}
    assert attempt(trace, 3, detour, continuation="episode")[0].reward == 1.0
    assert attempt(trace, 3, detour)[0].reward == 0.0
    # The demonstration's own turn, and then nothing of use.
    idle = {3: SLOPPY[3], **dict.fromkeys(range(4, 24), "Please wait.")}
    ended = attempt(trace, 3, idle, continuation="episode")[0]
    assert ended.reward < 0.6
    assert ended.verdict is not None
    assert not ended.verdict.passed
    assert attempt(trace, 3, idle)[0].reward == 1.0


def test_limits_count_what_the_trace_had_used() -> None:
    trace = oracle_trace(CANCEL)
    looking = dict.fromkeys(range(2, 24), call("get_order", order_id="OR-0001"))
    # The trace looked once just before: two more are three in a row.
    looped = attempt(trace, 2, looking, continuation="episode")[0]
    assert (looped.failure, looped.ended) == ("agent", "limit")
    assert len(looped.calls) == 3
    few = PlaySettings(limits=Limits(calls=2, repeats=9), sampling=SETTINGS.sampling)
    assert len(attempt(trace, 2, looking, settings=few, continuation="episode")[0].calls) == 2
    turns = PlaySettings(limits=Limits(turns=4, repeats=9), sampling=SETTINGS.sampling)
    assert len(attempt(trace, 2, looking, settings=turns, continuation="episode")[0].calls) == 3


def test_a_task_without_a_user_goes_on_too() -> None:
    trace = oracle_trace(TOTAL)
    right = attempt(trace, 1, "It costs $11.25.", continuation="episode")[0]
    assert (right.reward, right.ended) == (1.0, "final")
    wrong = attempt(trace, 1, "It costs $12.25.", continuation="episode")[0]
    assert wrong.verdict is not None
    assert not wrong.verdict.passed


def test_seeds_of_user_and_world_are_the_traces() -> None:
    """A trace with another phrasing goes on with it."""
    task = WORLD.task(CANCEL)
    spec = EpisodeSpec("sft/0000/0000/00", task, Seeds(1, 7, 3))
    trace = asyncio.run(play(spec, WORLD, SCRIPTED["oracle"], SETTINGS))
    episode, _ = attempt(trace, 4, SLOPPY, continuation="episode")
    assert [one.content for one in episode.messages if one.role == "user"] == [
        one.content for one in trace.messages if one.role == "user"
    ]


def test_call_ids_follow_the_turn() -> None:
    episode, _ = attempt(oracle_trace(CANCEL), 3, SLOPPY[3])
    made = next(one for one in episode.messages if one.role == "assistant" and one.turn == 3)
    assert made.calls == [ToolCall("3.0", "cancel_order", {"order_id": "OR-0001", "reason": "regret"})]
    assert episode.messages[-1].call_id == "3.0"
