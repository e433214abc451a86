"""Whole runs against a server that misbehaves: the failure has the right kind, no grade is wrong, usage is counted, the
run goes on, and the key is found nowhere."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w

sys.path.insert(0, str(Path(__file__).parent / "rollout"))  # for the world `corner_shop`

import endpoint_stand_in as stand_in
from endpoint_stand_in import OracleBrain, StandIn
from journeyman import cli
from journeyman.engine import endpoint as endpoint_module
from journeyman.engine.chat import KeyRefused
from journeyman.episode import Episode
from journeyman.errors import RecipeError
from journeyman.pipeline import evaluate_policy, run_recipe
from journeyman.recipe import Recipe, parse_recipe
from journeyman.report.data import build_report_data
from journeyman.report.notes import PARSED_BY_ENDPOINT
from journeyman.train.runfolder import RunFolder

KEY = "sk-canary-5f1d7c93ab"
HEAD = """
name = "run"
world = "corner_shop:WORLD"
[limits]
tokens = 100000
[run]
retries = 1
[prices.input_per_million]
policy = 10.0
[prices.output_per_million]
policy = 100.0
[[stage]]
kind = "evaluate"
name = "eval"
trials = 1
tasks = [{ families = ["cancel"], limit = 2 }]
"""
SLOW = ("slow_drip", "hang")
SECONDS = 2.0
"""The time-out where the server is slow: the one thing these tests wait for, and long enough for a busy machine."""


class InstantClock:
    """Time that passes only in sleep, and at once."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "MonotonicClock", InstantClock)
    monkeypatch.setenv("CANARY_KEY", KEY)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    """The episodes of the oracle on the tasks of the recipe: what the server's brain knows."""
    out = tmp_path_factory.mktemp("oracle") / "run"
    return list(evaluate_policy(parse_recipe(HEAD, "r.toml"), out, policy="oracle").folder.episodes())


def recipe(url: str, **changes: Any) -> Recipe:
    fields = {"url": url, "model": "stand-in", "api_key_env": "CANARY_KEY", "timeout_seconds": 60.0, "retries": 2}
    sections = {"endpoints": {"local": {**fields, **changes}}, "policy": {"kind": "endpoint", "endpoint": "local"}}
    text = f"{HEAD}\n{tomli_w.dumps(sections)}"
    return parse_recipe(text, "r.toml")


def play(tmp_path: Path, server: StandIn, **changes: Any) -> list[Episode]:
    """The episodes that count, by id; and a check of what must hold whatever the server does."""
    wanted = recipe(server.url, **changes)
    folder = run_recipe(wanted, tmp_path / "run").folder
    episodes = sorted(folder.episodes(), key=lambda one: one.id)
    spent = folder.scan().usage["policy"]
    # What is redirected within the host is one request to those who pay.
    assert spent.requests * (4 if server.misbehave == "redirected_for_ever" else 1) >= len(server.requests) > 0
    assert set(server.keys) == {KEY}
    line = next(line for line in folder.metrics() if line["kind"] == "evaluate")
    assert line["cost_total"] == pytest.approx(spent.input * 10e-6 + spent.output * 100e-6)
    data = build_report_data(folder, resamples=1000)
    assert any(PARSED_BY_ENDPOINT in note for note in data.notes)
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    return episodes


def first_user(request: dict[str, Any]) -> str:
    return next(message["content"] for message in request["messages"] if message["role"] == "user")


def victim(oracle: list[Episode]) -> Any:
    """The requests of the first episode."""
    opening = next(message.content for message in oracle[0].messages if message.role == "user")
    return lambda request: first_user(request) == opening


def turns(episode: Episode) -> int:
    return sum(message.role == "assistant" for message in episode.messages)


def test_there_are_enough_ways_to_misbehave() -> None:
    assert len(stand_in.MISBEHAVIOURS) >= 60
    kinds = [stand_in.TIDY, stand_in.BROKEN, stand_in.REFUSED, stand_in.KEYLESS, stand_in.OWN]
    assert sum(map(len, kinds)) == len(stand_in.MISBEHAVIOURS)


def test_a_faultless_server_plays_the_oracle(tmp_path: Path, oracle: list[Episode]) -> None:
    with StandIn(OracleBrain(oracle)) as server:
        episodes = play(tmp_path, server)
    assert [one.reward for one in episodes] == [1.0, 1.0]
    assert [one.usage["policy"].requests for one in episodes] == [turns(one) for one in oracle]
    assert [one.usage["policy"].input for one in episodes] == [100 * turns(one) for one in oracle]
    assert [one.usage["policy"].output for one in episodes] == [10 * turns(one) for one in oracle]
    assert {one.policy for one in episodes} == {"stand-in"}
    assert all(one.sampling is not None and one.segments == [] for one in episodes)
    # Tools go as schemas, and the system message does not name them a second time.
    request = server.requests[0]
    assert {tool["type"] for tool in request["tools"]} == {"function"}
    assert "<tool_call>" not in request["messages"][0]["content"]
    assert (request["temperature"], request["model"], request["stream"]) == (0.6, "stand-in", False)


@pytest.mark.parametrize("name", stand_in.TIDY)
def test_an_untidy_answer_is_an_answer(tmp_path: Path, oracle: list[Episode], name: str) -> None:
    with StandIn(OracleBrain(oracle), name) as server:
        episodes = play(tmp_path, server)
    assert [(one.failure, one.reward) for one in episodes] == [("none", 1.0), ("none", 1.0)]
    assert [[call.arguments for call in one.calls] for one in episodes] == [
        [call.arguments for call in one.calls] for one in oracle
    ]
    estimated = name in ("no_usage", "nonsense_usage", "null_usage")
    for one, known in zip(episodes, oracle, strict=True):
        used = one.usage["policy"]
        assert used.estimated == (turns(known) if estimated else 0)
        # A prompt with its tools is longer than two hundred tokens; the stand-in says 100.
        assert (used.input > 200 * turns(known)) == estimated
        assert used.output > 0


@pytest.mark.parametrize("name", stand_in.BROKEN)
def test_a_fault_that_passes_is_not_noticed(tmp_path: Path, oracle: list[Episode], name: str) -> None:
    slow = name in SLOW
    chosen = victim(oracle)
    when = (lambda request: chosen(request) and len(request["messages"]) == 2) if slow else chosen
    with StandIn(OracleBrain(oracle), name, times=1, when=when) as server:
        episodes = play(tmp_path, server, timeout_seconds=SECONDS if slow else 60.0)
    hit = 1 if slow else turns(oracle[0])
    assert [(one.failure, one.reward, one.attempt) for one in episodes] == [("none", 1.0, 0)] * 2
    used = episodes[0].usage["policy"]
    assert used.requests == turns(oracle[0]) + hit
    # What was refused cost nothing; what was lost on the way is counted by an estimate.
    refused = name in ("rate_limited", "server_error", "bad_gateway", "unavailable")
    assert used.estimated == (0 if refused else hit)
    assert (used.input > 100 * turns(oracle[0])) == (not refused)


@pytest.mark.parametrize("name", [*stand_in.BROKEN, *stand_in.REFUSED])
def test_a_fault_that_lasts_is_infrastructure_and_the_run_goes_on(
    tmp_path: Path, oracle: list[Episode], name: str
) -> None:
    retries = 0 if name in SLOW else 2
    with StandIn(OracleBrain(oracle), name, when=victim(oracle)) as server:
        episodes = play(tmp_path, server, timeout_seconds=SECONDS if name in SLOW else 60.0, retries=retries)
    broken, fine = episodes
    assert (broken.failure, broken.verdict, broken.reward, broken.attempt) == ("infrastructure", None, 0.0, 1)
    assert broken.failure_detail.startswith("EndpointFailed: endpoint local: ")
    assert (fine.failure, fine.reward) == ("none", 1.0)
    hits = sum(map(victim(oracle), server.requests))
    tries = 1 if name in stand_in.REFUSED else 1 + retries
    follows = 4 if name == "redirected_for_ever" else 1
    assert hits == tries * follows * 2  # two attempts
    assert broken.usage["policy"].requests == tries


@pytest.mark.parametrize("name", stand_in.KEYLESS)
def test_a_key_that_is_not_served_ends_the_run_and_fails_no_attempt(
    tmp_path: Path, oracle: list[Episode], name: str
) -> None:
    with StandIn(OracleBrain(oracle), name, when=victim(oracle)) as server:
        wanted = recipe(server.url)
        with pytest.raises(KeyRefused, match=r"endpoint local: it does not serve the key in CANARY_KEY \("):
            run_recipe(wanted, tmp_path / "run")
        assert sum(map(victim(oracle), server.requests)) == 1
        assert [one for one in RunFolder(tmp_path / "run").episodes() if one.failure != "none"] == []
        # With a key that is served the run goes on where it was.
        server.misbehave_no_more()
        episodes = list(run_recipe(wanted, tmp_path / "run", resume=True).folder.episodes())
    assert [(one.failure, one.reward, one.attempt) for one in episodes] == [("none", 1.0, 0)] * 2


@pytest.mark.parametrize(("name", "said"), [("unauthorized", "does not serve the key"), ("server_error", "status 500")])
def test_an_endpoint_that_gives_no_answer_is_no_model_that_fails(
    tmp_path: Path,
    oracle: list[Episode],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    said: str,
) -> None:
    with StandIn(OracleBrain(oracle), name) as server:
        text = f'{HEAD}[endpoints.local]\nurl = "{server.url}"\nmodel = "stand-in"\napi_key_env = "CANARY_KEY"\n'
        (tmp_path / "r.toml").write_text(text)
        words = ["eval", "corner_shop:WORLD", "--policy", "endpoint:local", "--recipe", str(tmp_path / "r.toml")]
        words += ["--family", "cancel", "--limit", "2", "--trials", "1", "--runs", str(tmp_path), "--name", "run"]
        monkeypatch.setattr(sys, "argv", ["journeyman", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
    assert caught.value.code == 3
    told = capsys.readouterr()
    assert "error: " in told.err
    assert said in " ".join(told.err.split())
    assert "Traceback" not in told.err
    assert "passes 0% of attempts" not in told.out
    assert ("No attempt of stand-in could be graded" in told.out) == (name == "server_error")
    assert {one.failure for one in RunFolder(tmp_path / "run").episodes()} <= {"infrastructure"}


@pytest.mark.parametrize("name", stand_in.OWN)
def test_what_the_model_did_itself_is_graded(tmp_path: Path, oracle: list[Episode], name: str) -> None:
    with StandIn(OracleBrain(oracle), name, when=victim(oracle)) as server:
        episodes = play(tmp_path, server)
    own, fine = episodes
    truncated = {"cut_off", "past_its_limit", "context_full"}
    # A call that cannot be read is answered with an error; what the agent then says loses the customer's patience.
    unread = {"unreadable_arguments", "arguments_list", "nan_argument", "nameless_calls"}
    assert own.failure == ("truncated" if name in truncated else "none" if name in unread else "agent")
    if name in unread:
        assert any("unreadable_call" in message.content for message in own.messages if message.role == "tool")
        assert own.calls == []
    assert own.verdict is not None
    assert not own.verdict.passed
    assert own.attempt == 0
    assert own.usage["policy"].requests == sum(map(victim(oracle), server.requests))
    assert (fine.failure, fine.reward) == ("none", 1.0)


def test_a_key_that_the_server_repeats_is_struck_out(tmp_path: Path) -> None:
    def parrot(request: dict[str, Any]) -> dict[str, Any]:
        if len(request["messages"]) < 4:
            spelled = "".join(f"\\u{ord(one):04x}" for one in KEY)
            message = stand_in.spoken("", ("get_order", {"order_id": f"key {{key}} {KEY}", KEY: 1}))
            message["tool_calls"] += stand_in.spoken("", ("get_order", {"order_id": "#"}))["tool_calls"]
            arguments = message["tool_calls"][1]["function"]
            arguments["arguments"] = arguments["arguments"].replace("#", spelled)
            return message
        return stand_in.spoken(f"Your key is {KEY}, or {{key}}.") | {"reasoning": KEY}

    with StandIn(parrot) as server:
        episodes = play(tmp_path, server)
    text = json.dumps(msgspec.to_builtins(episodes))
    assert text.count("[key]") > 4


def test_the_key_is_in_no_output_of_the_command_line(
    tmp_path: Path, oracle: list[Episode], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with StandIn(OracleBrain(oracle), "key_repeated", when=victim(oracle)) as server:
        path = tmp_path / "r.toml"
        text = f'{HEAD}[endpoints.local]\nurl = "{server.url}"\nmodel = "stand-in"\napi_key_env = "CANARY_KEY"\n'
        path.write_text(text)
        words = [
            "eval",
            "corner_shop:WORLD",
            "--policy",
            "endpoint:local",
            "--recipe",
            str(path),
            "--runs",
            str(tmp_path / "runs"),
        ]
        words += ["--family", "cancel", "--limit", "2", "--trials", "1", "--json"]
        monkeypatch.setattr(sys, "argv", ["journeyman", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
    assert not caught.value.code
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["phases"][0]["label"] == "stand-in"
    assert found["phases"][0]["metrics"]["overall"]["pass_at_1"]["value"] == 0.5
    assert any(PARSED_BY_ENDPOINT in note for note in found["notes"])
    assert found["provenance"]["actors"][0]["endpoint"] == server.url.split("/")[2]
    assert KEY not in said.out + said.err
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert {"recipe.toml", "provenance.json", "episodes.jsonl", "report.html"} <= {path.name for path in files}
    assert all(KEY.encode() not in path.read_bytes() for path in files)
    assert (
        "[key]" in (tmp_path / "runs" / "eval-corner_shop-WORLD-endpoint-local-heldout" / "episodes.jsonl").read_text()
    )


def test_what_is_missing_or_misplaced_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = recipe("http://127.0.0.1:1/v1")
    with pytest.raises(RecipeError, match=r"there is no \[endpoints.nope\]; known: local"):
        evaluate_policy(wanted, tmp_path / "x", policy="endpoint:nope")
    with pytest.raises(RecipeError, match="takes an adapter"):
        evaluate_policy(wanted, tmp_path / "x", policy="endpoint:local", adapter=tmp_path)
    leaked = recipe("http://127.0.0.1:1/v1", headers={"x-note": KEY})
    with pytest.raises(RecipeError, match="the key itself stands in the recipe"):
        run_recipe(leaked, tmp_path / "x")
    monkeypatch.delenv("CANARY_KEY")
    with pytest.raises(RecipeError, match=r"endpoints.local.api_key_env: CANARY_KEY is not set"):
        run_recipe(wanted, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_run_that_may_cost_no_more_stops_and_goes_on(tmp_path: Path, oracle: list[Episode]) -> None:
    with StandIn(OracleBrain(oracle)) as server:
        wanted = recipe(server.url)
        one_at_a_time = msgspec.structs.replace(wanted.run, concurrency=1, max_cost=1e-6, resume="reuse")
        first = run_recipe(msgspec.structs.replace(wanted, run=one_at_a_time), tmp_path / "run")
        assert first.stopped == "max_cost = 1e-06 USD is reached"
        assert len(list(first.folder.episodes())) == 1
        enough = msgspec.structs.replace(one_at_a_time, max_cost=None)
        second = run_recipe(msgspec.structs.replace(wanted, run=enough), tmp_path / "run", resume=True)
    assert second.stopped is None
    assert [one.reward for one in second.folder.episodes()] == [1.0, 1.0]
