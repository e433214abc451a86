"""The vLLM engine against a stand-in that computes with real weights: what it samples and what it pushes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from endpoint_fakes import FakeClock
from small_engine import engine, request
from vllm_making import PROMPT, SFT, ask, connect, lesson
from vllm_stand_in import BASE, StandIn

from journeyman.engine.adapter import save_peft
from journeyman.engine.base import LossSettings, SampleResult
from journeyman.engine.vllm import VllmEngine
from journeyman.engine.vllm_client import ServerFailed
from journeyman.engine.vllm_delivery import DeliveryFailed, as_sample
from journeyman.errors import EngineError


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as one:
        yield one


@pytest.fixture
def made(server: StandIn, tmp_path: Path) -> Iterator[VllmEngine]:
    one = connect(server, tmp_path / "adapters")
    yield one
    one.close()


def test_ids_and_logprobs_are_those_of_the_trainers_weights_at_the_requests_temperature(made: VllmEngine) -> None:
    requests = [request(f"e/{n}", PROMPT, 12, temperature, seed=n) for n, temperature in enumerate([0.5, 1.0, 1.7])]
    for asked, answer in zip(requests, ask(made, *requests), strict=True):
        assert (len(answer.token_ids), answer.finish, answer.version) == (12, "length", 1)
        stream = as_sample([*PROMPT, *answer.token_ids], len(PROMPT), asked.temperature)
        assert answer.logprobs == pytest.approx(made.logprobs([stream])[0][len(PROMPT) :], abs=1e-4)
        assert answer.seconds > 0


def test_equal_requests_draw_equally_and_seeds_and_positions_draw_apart(made: VllmEngine) -> None:
    first = request("e", PROMPT, 12, seed=3)
    later = request("e", [*PROMPT, 4], 12, seed=3)
    one, again, other, moved = ask(made, first, first, request("e", PROMPT, 12, seed=4), later)
    assert (one.token_ids, one.logprobs) == (again.token_ids, again.logprobs)
    assert one.token_ids != other.token_ids
    assert one.token_ids != moved.token_ids


def test_sampling_ends_at_the_requests_stop_ids_and_only_there(server: StandIn, made: VllmEngine) -> None:
    free = ask(made, request("e", PROMPT, 30, seed=1))[0].token_ids
    place = next(place for place in range(3, 30) if free[place] not in free[:place])
    stop = free[place]
    (answer,) = ask(made, request("e", PROMPT, 30, seed=1, stop=frozenset({stop, 2})))
    assert (answer.token_ids, answer.finish) == (free[: place + 1], "stop")
    assert server.sampled()[-1]["stop_token_ids"] == sorted({stop, 2})


def test_a_push_writes_loads_proves_and_clears(server: StandIn, made: VllmEngine, tmp_path: Path) -> None:
    names = [made.adapter]
    for number in range(3):
        made.update([lesson(number)], SFT)
        assert made.publish() == made.version == number + 2
        names.append(made.adapter)
        assert made.delivery is not None
        assert made.delivery.slope == pytest.approx(1.0, abs=0.01)
        assert made.delivery.mean < 1e-4 < made.delivery.shift
        (answer,) = ask(made, request("e", PROMPT, 4))
        assert answer.version == number + 2
        assert server.sampled()[-1]["model"] == made.adapter
    assert [name[:12] for name in names] == ["run-v000001-", "run-v000002-", "run-v000003-", "run-v000004-"]
    assert server.adapters == names[-2:]
    assert sorted(path.name for path in (tmp_path / "adapters").iterdir()) == names[-2:]
    assert [body["lora_name"] for body in server.asked("/v1/unload_lora_adapter")] == names[:2]


def test_the_adapter_file_loads_in_peft_and_gives_the_same_scores(made: VllmEngine, tmp_path: Path) -> None:
    from peft import PeftModel

    from journeyman import recipe
    from journeyman.engine.weights import load_model

    base: Any = load_model(recipe.Model(name="tiny-random"), torch.device("cpu"), torch.float32)
    wrapped = PeftModel.from_pretrained(base, str(tmp_path / "adapters" / made.adapter))
    ids = lesson(1).token_ids
    with torch.inference_mode():
        scores = wrapped(torch.tensor([ids])).logits[0].log_softmax(-1)
    found = [float(scores[place, token]) for place, token in enumerate(ids[1:])]
    assert found == pytest.approx(made.logprobs([as_sample(ids)])[0][1:], abs=1e-4)


def test_a_request_that_was_under_way_keeps_the_version_it_named(server: StandIn, made: VllmEngine) -> None:
    async def scenario() -> tuple[SampleResult, SampleResult]:
        first = asyncio.ensure_future(made.sample(request("e", PROMPT, 60)))
        while not server.sampled() or server.sampled()[-1]["max_tokens"] != 60:
            await asyncio.sleep(0.001)
        made.update([lesson(0)], SFT)
        made.publish()
        return await first, await made.sample(request("e", PROMPT, 60))

    earlier, later = asyncio.run(scenario())
    assert (earlier.version, later.version) == (1, 2)
    assert earlier.logprobs != later.logprobs


def test_load_and_restart_push_the_weights_they_bring_back(made: VllmEngine, server: StandIn, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    made.save(folder)
    wanted, content = ask(made, request("e", PROMPT, 8))[0], made.adapter.rsplit("-", 1)[1]
    for number in range(2):
        made.update([lesson(number)], SFT)
        made.publish()
    made.load(folder)
    assert made.version == made.trainer.version
    assert made.adapter == f"run-v{made.version:06d}-{content}"
    again = ask(made, request("e", PROMPT, 8))[0]
    assert (again.token_ids, again.version) == (wanted.token_ids, made.version)
    before = made.version
    made.restart()
    assert made.version == made.trainer.version > before
    assert made.adapter == server.adapters[-1]
    # The adapter that an engine begins with adds nothing.
    stream = as_sample(lesson(0).token_ids)
    assert made.logprobs([stream])[0] == pytest.approx(made.logprobs([stream], "base")[0], abs=1e-5)


def test_adapters_of_an_earlier_sitting_are_cleared_and_those_of_others_stay(server: StandIn, tmp_path: Path) -> None:
    folder = tmp_path / "adapters"
    one = connect(server, folder)
    for name in ("other-v000001-00000000", "run-v000009-00000000", "run-v000009"):
        (folder / name).mkdir()
        one._export(folder / name)
        assert one._background.run(one._client.load_adapter(name, str(folder / name))) is None
    one.update([lesson(0)], SFT)
    one.publish()
    wanted = ["run-v000001", "other-v000001-00000000", "run-v000009", "run-v000002"]
    assert {
        name.rsplit("-", 1)[0] if name.startswith("run-v00000") and len(name) > 12 else name for name in server.adapters
    } == set(wanted)
    assert (folder / "other-v000001-00000000").is_dir()
    assert not (folder / "run-v000009-00000000").exists()
    one.close()


@pytest.mark.parametrize("rate", [1e-2, 1e-5])
def test_stale_weights_are_noticed_far_below_the_tolerance(server: StandIn, tmp_path: Path, rate: float) -> None:
    made = connect(server, tmp_path, mean_tolerance=10.0, max_tolerance=100.0)
    made.update([lesson(0)], LossSettings("sft", learning_rate=rate))
    server.stale = True
    with pytest.raises(DeliveryFailed, match="still samples with older weights") as caught:
        made.publish()
    assert caught.value.key.startswith("run-v000002-")
    assert made.version == 1
    # The run cannot go on: not with a batch, not with an update, not with a turn.
    for act in (
        made.reset,
        made.publish,
        lambda: made.update([lesson(1)], SFT),
        lambda: ask(made, request("e", PROMPT)),
    ):
        with pytest.raises(DeliveryFailed):
            act()
    made.close()


def test_a_first_adapter_that_is_not_served_is_noticed(server: StandIn, tmp_path: Path) -> None:
    server.stale = True
    with pytest.raises(DeliveryFailed, match="older weights"):
        connect(server, tmp_path, mean_tolerance=10.0, max_tolerance=100.0)


def test_other_weights_than_the_trainers_are_noticed(tmp_path: Path) -> None:
    with StandIn(scale=1.3) as server, pytest.raises(DeliveryFailed, match="differ from the trainer's"):
        connect(server, tmp_path)


def test_logprobs_of_the_untempered_distribution_are_noticed_at_the_start(tmp_path: Path) -> None:
    with (
        StandIn(processed=False) as server,
        pytest.raises(DeliveryFailed, match="--logprobs-mode processed_logprobs and"),
    ):
        connect(server, tmp_path, mean_tolerance=0.05, max_tolerance=1.0)


def test_an_adapter_that_the_server_does_not_list_is_noticed(server: StandIn, made: VllmEngine) -> None:
    server.unlisted = True
    made.update([lesson(0)], SFT)
    with pytest.raises(DeliveryFailed, match="does not list it"):
        made.publish()


def test_a_server_that_was_restarted_is_given_the_adapter_again(server: StandIn, made: VllmEngine) -> None:
    (wanted,) = ask(made, request("e", PROMPT, 6, seed=2))
    server.forget()
    found = ask(made, *(request(f"e/{n}", PROMPT, 6, seed=2) for n in range(3)))
    assert [(one.token_ids, one.version) for one in found] == [(wanted.token_ids, 1)] * 3
    assert [body["lora_name"] for body in server.asked("/v1/load_lora_adapter")] == [made.adapter] * 2


def test_a_restarted_server_that_serves_other_weights_ends_the_run(server: StandIn, made: VllmEngine) -> None:
    server.forget()
    server.stale = True  # the name is accepted, but the base model answers
    with pytest.raises(DeliveryFailed):
        ask(made, request("e", PROMPT, 6))
    with pytest.raises(DeliveryFailed):
        made.reset()


def test_a_request_that_waited_while_its_adapter_was_replaced_is_answered_by_the_newest(
    server: StandIn, made: VllmEngine
) -> None:
    old = made.adapter
    for number in range(2):
        made.update([lesson(number)], SFT)
        made.publish()
    assert old not in server.adapters
    drawn, version = made._background.run(_asked_late(made, old))
    assert (version, len(drawn.token_ids)) == (3, 6)


async def _asked_late(made: VllmEngine, old: str) -> Any:
    """A request whose first try names `old`."""
    newest = made._serving
    made._serving = (old, 1)
    work = asyncio.ensure_future(made._drawn(request("e", PROMPT, 6)))
    await asyncio.sleep(0)
    made._serving = newest
    return await work


@pytest.mark.parametrize(
    ("server_settings", "said"),
    [
        ({"updating": False}, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
        ({"lora": False}, "LoRA is not enabled.*--enable-lora"),
        ({"max_lora_rank": 2}, "rank 4 is greater than max_lora_rank 2.*--max-lora-rank"),
        ({"prefix_caching": False}, "--enable-prefix-caching"),
        ({"max_model_len": 1000}, "start the server with --max-model-len 1024"),
    ],
)
def test_a_server_that_lacks_something_is_one_clear_error(tmp_path: Path, server_settings: Any, said: str) -> None:
    with StandIn(**server_settings) as server, pytest.raises(EngineError, match=said):
        connect(server, tmp_path)


def test_a_folder_that_the_server_does_not_see_is_one_clear_error(server: StandIn, tmp_path: Path) -> None:
    with pytest.raises(DeliveryFailed, match=r"/elsewhere/run-v000001-.* was not loaded: .*No adapter found"):
        connect(server, tmp_path, server_folder="/elsewhere")
    made = connect(server, tmp_path, server_folder=str(tmp_path))
    assert made.version == 1
    made.close()


def test_a_base_model_may_be_named(server: StandIn, tmp_path: Path) -> None:
    made = connect(server, tmp_path, model=BASE)
    assert (made.server_version, made.context) == ("0.32.0", 4096)
    made.close()
    with pytest.raises(EngineError, match="must name one of the server's base models: tiny"):
        connect(server, tmp_path, model="huge")


def test_a_server_that_is_not_well_ends_a_run_before_its_next_batch(server: StandIn, tmp_path: Path) -> None:
    clock = FakeClock()
    made = connect(server, tmp_path, clock=clock)
    made.reset()
    assert clock.slept == []
    server.healthy = False
    with pytest.raises(ServerFailed, match=r"status 503.*Start the server"):
        made.reset()
    assert clock.slept == [1.0, 1.0]
    server.healthy = True
    made.reset()
    made.close()


def test_nobody_at_the_address() -> None:
    with StandIn() as server:
        pass
    with pytest.raises(ServerFailed, match="the connection failed"):
        connect(server, Path("unused"))


def test_a_trainer_that_was_disturbed_behind_its_back_is_noticed(made: VllmEngine) -> None:
    """What was exported is not what the trainer computes with."""
    made.update([lesson(0)], SFT)
    made._export = lambda folder: save_peft(engine(seed=2).peft_model, folder)  # type: ignore[method-assign]
    with pytest.raises(DeliveryFailed):
        made.publish()
