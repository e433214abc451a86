"""Whole runs with a judge and with a modelled user behind an endpoint, and the calibration of a judge."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from endpoint_stand_in import StandIn, spoken
from journeyman import cli
from journeyman.engine import endpoint as endpoint_module
from journeyman.engine.chat import KeyRefused
from journeyman.pipeline import evaluate_policy
from journeyman.recipe import Recipe, parse_recipe
from journeyman.report.data import build_report_data
from journeyman.train.runfolder import RunFolder

DONE = "It is done. Your ticket is TK-0001."


class InstantClock:
    """Time that passes only in sleep, and at once."""

    time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "MonotonicClock", InstantClock)


def recipe(url: str, **sections: Any) -> Recipe:
    whole = {
        "name": "judged",
        "world": "judged_desk:WORLD",
        "run": {"retries": 0},
        "prices": {"input_per_million": {"judge": 1000.0}, "output_per_million": {"judge": 0.0}},
        "endpoints": {"near": {"url": url, "model": "stand-in", "retries": 1, "timeout_seconds": 60.0}},
        "stage": [{"kind": "evaluate", "name": "eval", "trials": 1}],
        **sections,
    }
    return parse_recipe(tomli_w.dumps(whole), "r.toml")


def one_at_a_time(url: str) -> dict[str, Any]:
    return {"near": {"url": url, "model": "stand-in", "retries": 0, "max_concurrency": 1, "timeout_seconds": 60.0}}


def rules(request: dict[str, Any]) -> list[dict[str, str]]:
    lines = request["messages"][1]["content"].split("\n")
    return [json.loads(line) for line in lines[1 : lines.index("")]]


def judge(request: dict[str, Any]) -> dict[str, Any]:
    """Every rule is met but the one about plain words."""
    found = [{"id": rule["id"], "met": rule["id"] != "plain_words", "quote": DONE} for rule in rules(request)]
    return spoken(json.dumps({"decisions": found}))


def test_a_judge_rules_inside_the_band_and_is_asked_once(tmp_path: Path) -> None:
    with StandIn(judge) as server:
        wanted = recipe(server.url, judge={"endpoint": "near"})
        run = evaluate_policy(wanted, tmp_path / "run", policy="oracle").folder
        asked = len(server.requests)
        assert evaluate_policy(wanted, tmp_path / "run", policy="oracle").folder.scan().usage == run.scan().usage
        assert len(server.requests) == asked == 3
    for episode in run.episodes():
        assert episode.verdict is not None
        met = {result.id: result.met for result in episode.verdict.criteria}
        assert met == {"looked": True, "plain_words": False, "no_blame": True}
        assert episode.verdict.clean
        # One of one optional must missed: 1 - 0.2.
        assert episode.reward == pytest.approx(0.8)
        assert episode.usage["judge"].requests == 1
        evidence = {result.id: (result.turn, result.evidence) for result in episode.verdict.criteria}
        assert evidence["no_blame"] == (5, f'judged on "{DONE}"')
    line = next(line for line in run.metrics() if line["kind"] == "evaluate")
    assert line["cost_total"] == pytest.approx(3 * 100 * 1000 / 1e6)
    assert [(actor.role, actor.name) for actor in run.provenance.actors][-1] == ("judge", "stand-in")
    assert len((tmp_path / "run" / "judge.jsonl").read_text().splitlines()) == 6
    assert not [note for note in build_report_data(run, resamples=1000).notes if "left out" in note]


@pytest.mark.parametrize("fault", ["server_error", "hang", "html_page", "nothing_said", "unknown_tool", "cut_off"])
def test_a_judge_that_fails_leaves_criteria_open_and_nothing_else(tmp_path: Path, fault: str) -> None:
    with StandIn(judge, fault) as server:
        wanted = recipe(server.url, judge={"endpoint": "near"})
        if fault == "hang":
            endpoints = {"near": {"url": server.url, "model": "stand-in", "retries": 0, "timeout_seconds": 0.3}}
            wanted = recipe(server.url, judge={"endpoint": "near"}, endpoints=endpoints)
        run = evaluate_policy(wanted, tmp_path / "run", policy="oracle").folder
    for episode in run.episodes():
        assert (episode.failure, episode.reward) == ("none", 1.0)
        assert episode.verdict is not None
        assert episode.verdict.clean
        assert [result.met for result in episode.verdict.criteria] == [True, None, None]
        assert episode.usage["judge"].requests > 0
    notes = build_report_data(run, resamples=1000).notes
    assert any(note.startswith("oracle: 6 decisions on optional criteria") for note in notes)
    assert any("the judge gave no answer that counts" in note for note in notes)


def test_without_a_judge_the_open_criteria_are_counted(tmp_path: Path) -> None:
    run = evaluate_policy(recipe("http://127.0.0.1:1/v1"), tmp_path / "run", policy="oracle").folder
    assert [episode.reward for episode in run.episodes()] == [1.0] * 3
    data = build_report_data(run, resamples=1000)
    assert [phase.label for phase in data.phases] == ["oracle"]
    assert any("6 decisions" in note and "the recipe names no judge" in note for note in data.notes)
    assert not (tmp_path / "run" / "judge.jsonl").exists()


def test_a_judge_is_calibrated_on_what_a_program_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for policy in ("oracle", "refuse"):
        evaluate_policy(recipe("http://127.0.0.1:1/v1"), tmp_path / policy, policy=policy)

    def yes(request: dict[str, Any]) -> dict[str, Any]:
        quote = "please cancel an order for me"
        return spoken(json.dumps([{"id": rule["id"], "met": True, "quote": quote} for rule in rules(request)]))

    def calibrated(policy: str) -> Any:
        words = ["calibrate", str(tmp_path / policy), "--recipe", str(tmp_path / "r.toml"), "--json"]
        monkeypatch.setattr(sys, "argv", ["journeyman", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert not caught.value.code
        return json.loads(capsys.readouterr().out)

    with StandIn(yes) as server:
        text = {
            "name": "j",
            "world": "judged_desk:WORLD",
            "judge": {"endpoint": "near"},
            "endpoints": {"near": {"url": server.url, "model": "stand-in"}},
            "stage": [{"kind": "evaluate", "name": "e"}],
        }
        (tmp_path / "r.toml").write_text(tomli_w.dumps(text))
        good, bad = calibrated("oracle"), calibrated("refuse")
        asked = len(server.requests)
        again = calibrated("oracle")
        assert (again["kinds"], again["usage"]) == (good["kinds"], {})
        assert len(server.requests) == asked == 6
    assert [(kind["kind"], kind["both_met"], kind["precision"]) for kind in good["kinds"]] == [
        ("happened", 3, 1.0),
        ("all", 3, 1.0),
    ]
    assert [(kind["kind"], kind["only_judge"], kind["precision"], kind["kappa"]) for kind in bad["kinds"]] == [
        ("happened", 3, 0.0, 0.0),
        ("all", 3, 0.0, 0.0),
    ]


def test_a_judge_whose_key_is_refused_ends_the_run(tmp_path: Path) -> None:
    with StandIn(judge, "unauthorized") as server:
        wanted = recipe(server.url, judge={"endpoint": "near"}, endpoints=one_at_a_time(server.url))
        with pytest.raises(KeyRefused, match="it wants a key"):
            evaluate_policy(wanted, tmp_path / "run", policy="oracle")
        assert len(server.requests) == 1
        assert list(RunFolder(tmp_path / "run").episodes()) == []
        server.misbehave_no_more()
        run = evaluate_policy(wanted, tmp_path / "run", policy="oracle").folder
    assert [episode.reward for episode in run.episodes()] == [pytest.approx(0.8)] * 3


def test_a_modelled_user_whose_key_is_refused_ends_the_run(tmp_path: Path) -> None:
    with StandIn(lambda _: spoken("hm"), "forbidden") as server:
        wanted = recipe(server.url, user={"kind": "llm", "endpoint": "near"}, endpoints=one_at_a_time(server.url))
        with pytest.raises(KeyRefused):
            evaluate_policy(wanted, tmp_path / "run", policy="oracle")
        assert len(server.requests) == 1
    assert list(RunFolder(tmp_path / "run").episodes()) == []


def test_a_calibration_says_why_decisions_are_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate_policy(recipe("http://127.0.0.1:1/v1"), tmp_path / "run", policy="oracle")

    def calibrated(url: str) -> tuple[int, str]:
        text = {
            "name": "j",
            "world": "judged_desk:WORLD",
            "judge": {"endpoint": "near"},
            "endpoints": one_at_a_time(url),
            "stage": [{"kind": "evaluate", "name": "e"}],
        }
        (tmp_path / "r.toml").write_text(tomli_w.dumps(text))
        words = ["calibrate", str(tmp_path / "run"), "--recipe", str(tmp_path / "r.toml")]
        monkeypatch.setattr(sys, "argv", ["journeyman", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        return int(caught.value.code or 0), " ".join(f"{said.out} {said.err}".split())

    def scraps(request: dict[str, Any]) -> dict[str, Any]:
        found = [{"id": rule["id"], "met": True, "quote": "order"} for rule in rules(request)]
        return spoken(json.dumps({"decisions": found}))

    with StandIn(scraps) as server:
        code, said = calibrated(server.url)
        assert code == 0
        assert "void, 3: the quote is too short" in said
    for fault, why in (
        ("server_error", "the judge could not be asked a single question: answered with status 500"),
        ("redirected_to_no_url", "the judge could not be asked a single question: redirected to what is no URL"),
        ("unauthorized", "it wants a key (answered with status 401"),
    ):
        with StandIn(judge, fault) as server:
            code, said = calibrated(server.url)
            assert (code, f"error: endpoint near: {why}" in said) == (3, True), said
            assert fault != "unauthorized" or len(server.requests) == 1


def test_a_modelled_user_that_talks_nonsense_is_the_user_s_failure(tmp_path: Path) -> None:
    with StandIn(lambda _: spoken("%%%")) as server:
        wanted = recipe(server.url, user={"kind": "llm", "endpoint": "near"})
        run = evaluate_policy(wanted, tmp_path / "run", policy="oracle").folder
        assert len(server.requests) == run.scan().usage["user"].requests > 0
    assert {episode.failure for episode in run.episodes()} == {"user"}
    actors = {actor.role: actor for actor in run.provenance.actors}
    assert actors["user"].endpoint == server.url.split("/")[2]
    assert RunFolder(tmp_path / "run").recipe.user.endpoint == "near"
