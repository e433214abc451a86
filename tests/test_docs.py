"""The pages on worlds, runs and nouns are true: their examples run, their fields and modules are those of the code."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import Struct

from journeyman import episode, task
from journeyman.curriculum.lint import lint_world
from journeyman.curriculum.traces import TraceCounts
from journeyman.engine.base import LossSettings, Trainer
from journeyman.episode import CriterionResult, Episode, Failure, Verdict
from journeyman.evaluate.statistics import jeffreys
from journeyman.grading.equivalence import Unfit
from journeyman.grading.reward import rubric
from journeyman.recipe import PHASES, ROLES, Grpo, Objective, Opd, Recipe, Sft, TaskFilter, Teacher, parse_recipe
from journeyman.task import Criterion
from journeyman.train import credit
from journeyman.train.alarm import alarm
from journeyman.train.checkpoint import State
from journeyman.train.opd import OpdMethod
from journeyman.train.provenance import Actor, Provenance
from journeyman.train.runfolder import RunFolder, Superseded
from journeyman.train.tokens import PackedSegment, TokenLine
from journeyman.world import World
from journeyman.worlds import load_world

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY, WORLDS, RUNS = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("glossary", "worlds", "runs")
)
MODULE = re.compile(r"`((?:\w+/)*\w+\.py)`")
TERMS = {
    "world", "tool", "session", "snapshot", "task", "family", "oracle", "criterion", "must", "must_not", "required",
    "witness", "episode", "segment", "group", "policy", "token policy", "chat policy", "scripted policy", "sampler",
    "trainer", "recipe", "run", "verdict", "outcome", "pass band", "clean pass", "gated_rubric", "binary", "pass@1",
    "pass^k", "observed k/k", "jeffreys interval", "bootstrap interval", "paired difference",
    "minimum detectable difference", "zero-signal group", "failure kind", "replay", "reuse", "held-out", "fault",
    "pushback", "change of mind", "judge", "calibration", "stage", "method", "objective", "advantage", "aggregation",
    "correction", "reference", "monitor", "alarm", "teacher", "trace", "slip", "bridge", "on-policy distillation", "pivot",
    "profile", "posterior", "continuation", "functional equivalence", "age", "staleness", "full-parameter training",
    "canary", "plan",
}  # fmt: skip


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def ticked(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


def first_cells(text: str) -> set[str]:
    """What stands in backticks in the first column of a table."""
    return {name for cell in re.findall(r"^\| (`[^|]+) \|", text, flags=re.MULTILINE) for name in ticked(cell)}


def fields(*structs: type[Struct]) -> set[str]:
    return {name for one in structs for name in one.__struct_fields__}


def entries() -> list[tuple[str, str, str]]:
    """(term, module, definition) of the glossary."""
    return re.findall(r"^- \*\*(.+?)\*\* \(`(.+?)`\): (.+)$", GLOSSARY, flags=re.MULTILINE)


# Glossary


def test_terms_are_in_alphabetical_order_and_none_is_missing() -> None:
    assert len(entries()) == len(re.findall(r"^- ", GLOSSARY, flags=re.MULTILINE))
    terms = [term.casefold() for term, _, _ in entries()]
    assert terms == sorted(terms, key=lambda term: re.sub(r"[^a-z0-9]+", " ", term))
    assert len(set(terms)) == len(terms)
    assert set(terms) >= TERMS


def test_modules_exist_and_each_entry_is_one_or_two_sentences() -> None:
    for term, module, definition in entries():
        for path in {module, *MODULE.findall(definition)}:
            assert (ROOT / "src" / "journeyman" / path).is_file(), (term, path)
        assert 1 <= len(re.findall(r"\.(?:\s|$)", definition)) <= 2, term
        assert definition.endswith("."), term


def test_the_formula_of_gated_rubric_is_that_of_the_code() -> None:
    (definition,) = [text for term, _, text in entries() if term == "gated_rubric"]
    clean, else_ = re.findall(r"`(\d[^`]*[vm)])`", definition)
    criteria = [Criterion(f"must{n}", "", "must", n == 0) for n in range(3)]
    criteria += [Criterion(f"not{n}", "", "must_not", n == 0) for n in range(3)]
    for passed, *met in itertools.product([True, False], *[[True, False, None]] * 6):
        assert passed is not None
        results = [CriterionResult(one.id, decision) for one, decision in zip(criteria, met, strict=True)]
        required = met[0] is True and met[3] is True
        verdict = Verdict(passed, 0, [], [], results, True, required, "")
        parts = (met[:3], met[3:], met[1:3], met[4:])
        musts, nots, optional_musts, optional_nots = ([one for one in part if one is not None] for part in parts)
        broken = optional_nots if verdict.clean else nots
        names = {
            "p": sum(musts) / len(musts) if musts else 0.0,
            "m": optional_musts.count(False) / len(optional_musts) if optional_musts else 0.0,
            "v": broken.count(False) / len(broken) if broken else 0.0,
            "max": max,
        }
        stated = eval(clean if verdict.clean else else_, {"__builtins__": {}}, names)
        assert rubric(criteria, verdict) == pytest.approx(stated, abs=1e-12)


def test_kinds_and_figures_of_the_glossary() -> None:
    known = {term: text for term, _, text in entries()}
    assert ticked(known["Failure kind"]) == set(get_args(Failure))
    spoken = re.search(r"dialogue: (.+?)\.", known["Event"])
    assert spoken is not None
    assert re.split(r", | or ", spoken[1]) == list(get_args(task.EventKind))
    choices = get_type_hints(Objective)
    for term in ("Advantage", "Aggregation", "Correction"):
        assert ticked(known[term]) == {*get_args(choices[term.lower()])} - {"none"}
    assert jeffreys(0, 8).low == 0.0
    assert f"{jeffreys(0, 8).high:.3f}" == "0.262"
    assert "[0, 0.262]" in known["Jeffreys interval"]


# The world of docs/worlds.md


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The page's world, imported by the name that the page gives it."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "workshop.py").write_text("\n\n".join(blocks(WORLDS, "python")), encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        yield load_world("workshop:WORLD")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("workshop", None)


def test_lint_finds_nothing_in_the_example_world(workshop: World) -> None:
    report = lint_world(workshop, attack=True)
    assert report.findings == []
    assert report.worlds["workshop"]["tasks"] == 10
    assert {task.split for task in workshop.tasks()} == {"train", "heldout"}


def test_lint_would_find_a_witness_that_breaks_nothing(workshop: World) -> None:
    one = workshop.tasks()[0]
    harmless = Criterion(
        one.criteria[0].id, "", "must", True, one.criteria[0].predicate, witness=[task.Splice(at=len(one.oracle))]
    )
    altered = msgspec.structs.replace(one, criteria=[harmless, *one.criteria[1:]]).sealed()
    assert "criteria" in {finding.rule for finding in lint_world(workshop, tasks=[altered]).findings}


def test_held_out_tasks_of_the_example_have_records_of_their_own(workshop: World) -> None:
    phones = {
        split: {card.value for task in workshop.tasks(split) if task.scenario for card in task.scenario.facts[:1]}
        for split in ("train", "heldout")
    }
    assert phones["train"] == {f"555-010{n}" for n in range(6)}
    assert phones["heldout"] == {f"555-010{n}" for n in range(6, 10)}


def test_the_recipe_of_the_page_names_the_world() -> None:
    (text,) = blocks(WORLDS, "toml")
    assert parse_recipe(text, "docs/worlds.md").world == "workshop:WORLD"


def test_links_of_the_pages_exist() -> None:
    for page in (GLOSSARY, WORLDS, RUNS):
        for target in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (ROOT / "docs" / target).is_file(), target


# Run folders


@pytest.fixture(scope="module")
def run_home(workshop: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of docs/worlds.md were run: it holds runs/workshop, played by the oracle."""
    home = tmp_path_factory.mktemp("home")
    (home / "workshop.py").write_text("\n\n".join(blocks(WORLDS, "python")), encoding="utf-8")
    (commands,) = blocks(WORLDS, "sh")
    assert len(commands.splitlines()) == 2
    for line in commands.splitlines():
        path, program, *words = shlex.split(line)
        assert (path, program) == ("PYTHONPATH=.", "journeyman")
        command = [sys.executable, "-m", "journeyman.cli", *words]
        environment = {**os.environ, "PYTHONPATH": "."}
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    assert f"`{' '.join([program, *words])}`" in RUNS
    return home


def test_the_page_reads_a_run(run_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run_home)
    (code,) = blocks(RUNS, "python")
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/runs.md", "exec"), names)
    assert [one.id for one in names["episodes"]] == [
        f"eval/0000/{group:04d}/{trial:02d}" for group in range(4) for trial in range(2)
    ]
    assert names["unmet"] == []
    assert names["writes"] == ["order_repair"] * 8
    assert names["lines"] == [("evaluate", "eval", 1.0)]
    assert names["measured"].overall.observed_all == 4
    # Four tasks that all agree: the Jeffreys bound of 0 in 4 is all that is left of doubt.
    assert names["rate"].low == pytest.approx(1 - jeffreys(0, 4).high)
    assert printed.getvalue() == f"workshop: 100% of attempts pass ({1 - jeffreys(0, 4).high:.0%} to 100%)\n"


def test_the_files_of_a_run_are_those_of_the_table(run_home: Path) -> None:
    listed = {name.split("/")[0] for name in first_cells(RUNS.split("\n## ", 1)[0])}
    found = {path.name for path in (run_home / "runs" / "workshop").iterdir()}
    assert found <= listed
    assert listed - found == {"checkpoints", "judge.jsonl"}


def test_every_field_of_an_episode_is_explained() -> None:
    text = section(RUNS, "A line of episodes.jsonl")
    assert first_cells(text) == fields(Episode) - {"segments"}
    nested = (
        episode.Seeds, episode.SamplingSettings, episode.Message, episode.ToolCall, episode.CallRecord, episode.Event,
        task.RowChange, episode.Verdict, episode.RowResult, episode.FactResult, episode.CriterionResult, episode.Usage,
        episode.Continued, Superseded, TokenLine, PackedSegment,
    )  # fmt: skip
    assert fields(*nested) <= ticked(text)
    assert set(get_args(episode.Ended)) <= ticked(text)
    assert set(get_args(Failure)) <= ticked(text)
    assert {"NAME-" + suffix for suffix in PHASES} <= ticked(text)
    (usage,) = re.findall(r"^\| `usage` \| .*$", text, flags=re.MULTILINE)
    assert set(ROLES) <= ticked(usage)


def test_every_key_of_a_recorded_line_is_explained(run_home: Path) -> None:
    text = section(RUNS, "A line of episodes.jsonl")
    lines = (run_home / "runs" / "workshop" / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 8
    for line in map(json.loads, lines):
        assert line.keys() <= first_cells(text)
        assert line["timing"].keys() <= ticked(text)


def test_fields_of_provenance_and_state_are_explained() -> None:
    before = RUNS.split("\n## ", 1)[0]
    assert fields(Provenance, Actor) <= ticked(before)
    assert fields(State) <= ticked(section(RUNS, "How a checkpoint commits"))


# Lines of metrics

KINDS = {"train", "evaluate", "monitor", "traces", "profile", "posterior", "chosen", "alarm"}


def every_line(folder: Path) -> Iterable[dict[str, Any]]:
    """Lines of metrics, those that no longer count included."""
    return map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())


def subsections(text: str) -> dict[str, str]:
    """Title -> text."""
    return dict(part.split("\n", 1) for part in text.split("\n### ")[1:])


def row(text: str, key: str) -> str:
    """The row of a table whose first cell names the key."""
    (found,) = re.findall(rf"^\| [^|]*`{key}`[^|]* \| .*$", text, flags=re.MULTILINE)
    return str(found)


def all_choices() -> Recipe:
    """SFT; distillation with a KL; asynchronous RL with a correction, whose best weights are kept."""
    desk_run = importlib.import_module("desk_run")
    monitored = {"evaluate_every": 1, "monitor": TaskFilter(limit=1), "keep": "best"}
    small: dict[str, Any] = {"steps": 2, "groups": 2, "group_size": 3}
    in_advantage = Objective(kl="advantage", kl_coefficient=0.1)
    stages = [
        Sft(steps=1, batch=2),
        Opd(teacher=Teacher(stage="sft"), objective=in_advantage, beta_end=0.5, **small),
        Grpo(max_staleness=1, objective=Objective(correction="truncated"), **small, **monitored),
    ]
    changed: Recipe = msgspec.structs.replace(desk_run.recipe(), stage=stages)
    return changed


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Lines of runs with engines of one number: one that was stopped and resumed, one with what its stages leave out, one with
    pivots; and an alarm."""
    pytest.importorskip("tokenizers")
    home = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tests" / "train"))
        desk_run, pivots = importlib.import_module("desk_run"), importlib.import_module("test_pivot_runs")
        metrics = home / "stopped" / "metrics.jsonl"
        # Between two commits: this step's line of metrics is there, its checkpoint is not.
        stopped = desk_run.sit(home / "stopped", stop=lambda: b'"stage":"grpo","step":1' in metrics.read_bytes())
        assert stopped.stopped is not None
        assert desk_run.sit(home / "stopped").stopped is None
        desk_run.sit(home / "choices", all_choices())
        # Two traces of a task that begins without a user are alike: the second one's turns are dropped.
        twice = msgspec.structs.replace(pivots.PIVOT, traces_per_task=2)
        desk_run.sit(home / "pivots", pivots.recipe(pivot=twice), build=pivots.build)
    lines = [line for name in ("stopped", "choices", "pivots") for line in every_line(home / name)]
    monitored = {"kind": "monitor", "stage": "rl", "pass_rate": 0.5}
    rising = [{"kind": "train", "stage": "rl", "step": step, "reward_mean": step / 9} for step in range(1, 7)]
    raised = alarm([{**monitored, "step": 1}, *rising, {**monitored, "step": 6}], "rl", patience=1)
    assert raised is not None
    return [*lines, raised]


def told_of(function: Any) -> set[str]:
    """The keys that a docstring says are returned."""
    told = (function.__doc__ or "").replace("``", "`").split("Returns:")[1].split("Raises:")[0]
    return ticked(told)


def test_metrics_hold_the_keys_of_the_tables_and_no_others(recorded: list[dict[str, Any]]) -> None:
    """What a real engine reports, and a teacher behind an endpoint, is in the docstrings of those who report it."""
    text = section(RUNS, "A line of metrics.jsonl")
    tables = {title: first_cells(part) for title, part in subsections(text).items()}
    assert {line["kind"] for line in recorded} == KINDS | {"superseded"}
    seen: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for line in recorded:
        if line["kind"] != "superseded":
            named = (re.sub(rf"^(tokens_(?:in|out)put)_(?:{'|'.join(ROLES)})$", r"\1_ROLE", key) for key in line)
            seen[line["kind"]] |= {re.sub(r"^dropped_\w+$", "dropped_REASON", key) for key in named}
    renamed = {"tokens": "tokens_trained", "seconds": "update_seconds"}
    engine = told_of(Trainer.update) - {*get_args(get_type_hints(LossSettings)["kind"])}
    assert engine >= {"entropy", "kl_k3", "ratio_mean", "adapter_norm", "tokens", "seconds"}
    told = {renamed.get(name, name) for name in engine} | told_of(OpdMethod.prepare) | told_of(credit.prepare)
    assert told >= {"teacher_tokens", "kl_sampler", "kl_reference", "beta"}
    seen["train"] |= told
    for kind in KINDS:
        own = {title for title in tables if title == "All kinds" or kind in ticked(title)}
        assert len(own) >= 2, kind
        assert seen[kind] <= set[str]().union(*(tables[title] for title in own)), kind
    for title, keys in tables.items():
        of_kinds = ticked(title) or KINDS
        for key in keys:
            assert any(key in seen[kind] for kind in of_kinds), f"{title}: nothing writes {key}"


def test_what_lies_inside_of_a_line_is_explained(recorded: list[dict[str, Any]]) -> None:
    parts = subsections(section(RUNS, "A line of metrics.jsonl"))
    marker = next(line for line in recorded if line["kind"] == "superseded")
    assert marker.keys() - {"kind"} == {"from", "stages"} <= ticked(parts["Markers"])
    for line in recorded:
        if line["kind"] == "posterior":
            for drawn in line["drawn"]:
                assert drawn.keys() <= ticked(row(parts["`posterior`"], "drawn"))
        if line["kind"] == "profile":
            dropped = {key.removeprefix("dropped_") for key in line if key.startswith("dropped_")}
            reasons = ticked(row(parts["`profile`"], "dropped_REASON")) - {"dropped_REASON"}
            assert dropped <= reasons == {*get_args(Unfit), "too_long", "duplicate"}
            assert sum(line[key] for key in ("kept", "failed", "solved", "flat", "too_easy")) == line["candidates"]
        for counts in line.get("teachers", {}).values():
            assert counts.keys() == fields(TraceCounts) <= first_cells(parts["`traces`"])
        if "reward_histogram" in line:
            assert len(line["reward_histogram"]) == 10
            assert "in ten bins" in row(parts["Also of `train`"], "reward_histogram")


def test_counters_are_those_of_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "train"))
    desk_run = importlib.import_module("desk_run")
    desk_run.sit(tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    state = run.checkpoints.verified(run.checkpoints.steps()[-1])
    named = first_cells(subsections(section(RUNS, "A line of metrics.jsonl"))["Counters of `train`"])
    assert named == set(state.counters)
    for name in named:
        assert state.counters[name] == sum(line[name] for line in run.metrics() if line["kind"] == "train")
