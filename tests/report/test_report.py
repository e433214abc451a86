"""The report: what it says, that it is self-contained and escaped, and that it survives runs with holes."""

from __future__ import annotations

import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from made_run import MadeRun, demo_run, make_episode, make_tasks
from rich.console import Console

from journeyman.episode import Message, SamplingSettings
from journeyman.errors import JourneymanError
from journeyman.recipe import Evaluate, TaskFilter, parse_recipe
from journeyman.report.data import ReportData, build_report_data, labelled_phases, planned_tasks, to_json
from journeyman.report.html import render_report, write_report
from journeyman.report.terminal import print_results

FEW = {"plan_change": (1, 5), "refund_refusal": (4, 3)}
HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Nesting(HTMLParser):
    """Checks that every element is closed in order, and collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")


def read(html: str) -> Nesting:
    parsed = Nesting()
    parsed.feed(html)
    parsed.close()
    return parsed


@pytest.fixture(scope="module")
def data() -> ReportData:
    run = demo_run()
    return build_report_data(run, run.tasks, resamples=2000)


@pytest.fixture(scope="module")
def html(data: ReportData) -> str:
    return render_report(data)


def small_run(rates: dict[str, dict[str, float]], trials: int = 2) -> MadeRun:
    return MadeRun(make_tasks(FEW), rates, trials=trials)


def recipe_with(run: MadeRun, trials: int) -> MadeRun:
    stages = [msgspec.structs.replace(s, trials=trials) if hasattr(s, "trials") else s for s in run.recipe.stage]
    run._recipe = msgspec.structs.replace(run.recipe, stage=stages)
    return run


def test_it_measures_what_the_run_holds(data: ReportData) -> None:
    assert [phase.label for phase in data.phases] == ["Base", "SFT", "RL"]
    assert [(c.a, c.b) for c in data.comparisons] == [
        ("base", "after-sft"),
        ("after-sft", "after-rl"),
        ("base", "after-rl"),
    ]
    rl = data.phases[2].metrics
    passes = sum(task.passes for task in rl.tasks)
    assert rl.overall.pass_at_1.value == pytest.approx(passes / 240)
    assert [(curve.stage, curve.kind) for curve in data.curves] == [("sft", "sft"), ("grpo", "grpo")]
    assert data.curves[1].steps == list(range(1, 13))
    assert data.not_compared == []


def test_the_verdict_has_the_numbers(data: ReportData) -> None:
    words, rl = data.words, data.phases[2].metrics.overall
    assert (
        f"RL {100 * rl.pass_at_1.value:.1f}% ({100 * rl.pass_at_1.low:.1f}–{100 * rl.pass_at_1.high:.1f}%)"
        in words.verdict
    )
    assert "60 held-out tasks of 5 families, 4 attempts each" in words.verdict
    assert "RL against SFT" in words.verdict
    assert "distinguishable from zero" in words.verdict
    found = next(c for c in data.comparisons if (c.a, c.b) == ("after-sft", "after-rl")).metric("pass@1")
    assert found.detectable is not None
    assert f"under {100 * found.detectable:.1f} points" in words.verdict
    assert any("training seed" in part for part in words.untested)
    assert any("kept out of training altogether" in part for part in words.untested)


def test_a_family_held_out_whole_is_told_apart() -> None:
    known = make_tasks({"plan_change": (1, 4)})
    strange = [msgspec.structs.replace(t, split="heldout_family").sealed() for t in make_tasks({"late_fee": (3, 2)})]
    rates = {name: {"plan_change": 1.0, "late_fee": 0.0} for name in ("base", "after-sft", "after-rl")}
    run = MadeRun([*known, *strange], rates, trials=2)
    both = (TaskFilter(split="heldout"), TaskFilter(split="heldout_family"))
    stages = [msgspec.structs.replace(s, tasks=both) if isinstance(s, Evaluate) else s for s in run.recipe.stage]
    run._recipe = msgspec.structs.replace(run.recipe, stage=stages)
    found = build_report_data(run, run.tasks, resamples=1000)
    assert "Of these tasks 2 are of families held out whole (late_fee), of which Base 0.0%" in found.words.verdict
    assert "2 tasks, level 3, family never trained on" in render_report(found)
    assert (
        "held out whole" not in build_report_data(MadeRun(known, rates, trials=2), known, resamples=1000).words.verdict
    )


def test_a_difference_that_is_noise_is_called_so() -> None:
    rates = {"base": dict.fromkeys(FEW, 0.0), "after-sft": dict.fromkeys(FEW, 0.5), "after-rl": dict.fromkeys(FEW, 0.5)}
    run = small_run(rates, trials=4)
    words = build_report_data(run, run.tasks, resamples=1000).words
    assert "which is not distinguishable from zero" in words.verdict
    assert words.headline.endswith("RL and SFT cannot be told apart")


def test_ungraded_attempts_are_named_in_the_verdict(data: ReportData) -> None:
    base = data.phases[0].metrics
    assert base.valid < base.planned
    assert f"count as failed: Base {base.planned - base.valid} of 240" in data.words.verdict


def test_the_page_is_self_contained_and_well_formed(html: str) -> None:
    parsed = read(html)
    assert parsed.faults == []
    assert parsed.open == []
    names = {tag for tag, _ in parsed.tags}
    assert not names & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"(?:src|href)=[\"'](?!#)", html)
    assert "url(" not in html
    assert "@import" not in html
    assert "http" not in re.sub(r'http-equiv="', "", html)


def test_the_page_is_accessible(html: str) -> None:
    parsed = read(html)
    for tag, attributes in parsed.tags:
        if tag == "svg" and attributes.get("class") in ("chart", "share", None):
            labelled = attributes.get("aria-label")
            assert labelled or attributes.get("class") is None  # legend squares are inside an aria-hidden list
        if tag == "th":
            assert attributes.get("scope") in ("col", "row", "rowgroup")
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [str(a["href"])[1:] for t, a in parsed.tags if t == "a"]
    assert set(targets) <= set(ids)
    assert ("html", {"lang": "en"}) in parsed.tags


def test_all_sections_are_there(html: str) -> None:
    for name in (
        "results",
        "differences",
        "families",
        "reliability",
        "learning",
        "ends",
        "behaviour",
        "side-by-side",
        "settings",
        "method",
    ):
        assert f'id="{name}"' in html


def contrast(one: str, two: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_colours_reach_aa_contrast_in_light_and_dark(html: str) -> None:
    blocks = re.findall(r":root \{([^}]*)\}", html)[:2]
    assert len(blocks) == 2
    for block in blocks:
        colours = dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]{6})", block))
        for ground in ("paper", "card", "faint"):
            for text in ("ink", "soft"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for series in ("sft", "grpo", "good", "bad"):
            assert contrast(colours[series], colours["paper"]) >= 4.5, series
        assert contrast(colours["base"], colours["paper"]) >= 3.0
        assert contrast(colours["good"], colours["good-wash"]) >= 4.5
        assert contrast(colours["bad"], colours["bad-wash"]) >= 4.5


def test_hostile_text_stays_text() -> None:
    tasks = [
        msgspec.structs.replace(task, request=HOSTILE, family=HOSTILE).sealed()
        for task in make_tasks({"plan_change": (1, 4)})
    ]
    run = recipe_with(MadeRun(tasks, {"base": {HOSTILE: 0.0}, "after-rl": {HOSTILE: 1.0}}, trials=1), 1)
    for name, played in run._episodes.items():
        run._episodes[name] = [
            msgspec.structs.replace(
                e,
                policy=HOSTILE,
                messages=[*e.messages, Message("user", HOSTILE), Message("assistant", HOSTILE, reasoning=HOSTILE)],
                changes=[msgspec.structs.replace(c, table=HOSTILE) for c in e.changes],
                usage=dict.fromkeys([HOSTILE], next(iter(e.usage.values()))),
            )
            for e in played
        ]
    page = render_report(build_report_data(run, tasks, resamples=1000))
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert read(page).faults == []


def test_markup_in_labels_is_not_read_by_the_terminal(data: ReportData) -> None:
    odd = msgspec.structs.replace(data, notes=["[bold]x[/nonsense]"])
    out = io.StringIO()
    print_results(odd, Console(file=out, width=140))
    assert "[bold]x[/nonsense]" in out.getvalue()


def test_the_terminal_shows_models_and_differences(data: ReportData) -> None:
    out = io.StringIO()
    print_results(data, Console(file=out, width=140))
    shown = out.getvalue()
    rl = data.phases[2].metrics.overall.pass_at_1
    assert f"{100 * rl.low:.1f}–{100 * rl.high:.1f}%" in shown
    for word in ("Base", "SFT", "RL", "RL − SFT", "detectable", "pass^4", "observed 4/4"):
        assert word in shown


def test_long_texts_are_cut_with_a_note() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.0), "after-rl": dict.fromkeys(FEW, 1.0)}, trials=4)
    huge = "word " * 200_000
    for name, played in run._episodes.items():
        run._episodes[name] = [
            msgspec.structs.replace(
                e, messages=[*e.messages, *[Message("user", huge)] * 3, *[Message("user", "x")] * 100]
            )
            for e in played
        ]
    page = render_report(build_report_data(run, run.tasks, resamples=1000))
    assert "more characters not shown" in page
    assert "more lines not shown" in page
    assert len(page) < 400_000


def test_side_by_side_shows_one_trial_of_one_task(data: ReportData) -> None:
    gained = data.showcases[0]
    before, after = gained.plays
    assert (before.label, after.label) == ("Base", "RL")
    assert (before.passed, after.passed) == (False, True)
    assert before.episode_id.split("/")[2:] == after.episode_id.split("/")[2:]
    assert after.changes == ["update lines id=LN-2041: plan basic-5 → plus-20"]
    assert [line.kind for line in after.lines][:2] == ["user", "call"]
    assert after.lines[1].text == 'get_line(line_id="LN-2041")'
    assert after.criteria[0].text == "The plan-change policy is read before the plan is changed."
    failed = data.showcases[1]
    assert not failed.plays[1].passed


def test_an_empty_run_still_gives_a_page() -> None:
    run = MadeRun(make_tasks(FEW), {})
    run._episodes.clear()
    found = build_report_data(run, run.tasks)
    assert found.phases == []
    assert len(found.notes) == 3
    page = render_report(found)
    assert "No result yet" in page
    assert read(page).faults == []
    out = io.StringIO()
    print_results(found, Console(file=out, width=100))
    assert "No result yet" in out.getvalue()


def test_missing_stages_and_an_unfinished_phase() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.5)}, trials=4)
    run._episodes["base"] = run._episodes["base"][:10]
    found = build_report_data(run, run.tasks, resamples=1000)
    assert [phase.label for phase in found.phases] == ["Base"]
    assert found.phases[0].metrics.planned == 32
    assert any("10 of 32 planned attempts were played" in note for note in found.notes)
    assert found.comparisons == []
    assert read(render_report(found)).faults == []


def test_without_tasks_the_plan_is_what_was_played() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.5)}, trials=4)
    found = build_report_data(run, resamples=1000)
    assert found.phases[0].metrics.planned == 32
    assert "8 tasks of 2 families" in found.words.verdict


def test_infrastructure_failures_only() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.5)}, trials=4)
    run._episodes["base"] = [
        make_episode(run.tasks[g], "base", g, t, passed=False, failure="infrastructure")
        for g in range(8)
        for t in range(4)
    ]
    found = build_report_data(run, run.tasks, resamples=1000)
    assert "no attempt was graded" in found.words.verdict
    assert read(render_report(found)).faults == []


def test_one_trial_has_no_reliability() -> None:
    run = recipe_with(small_run({"base": dict.fromkeys(FEW, 0.2), "after-sft": dict.fromkeys(FEW, 0.8)}, trials=1), 1)
    found = build_report_data(run, run.tasks, resamples=1000)
    page = render_report(found)
    assert 'id="reliability"' not in page
    assert "nothing is known about success on every attempt" in found.words.verdict
    assert read(page).faults == []


def test_unlike_phases_are_not_compared_unless_allowed() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.2), "after-sft": dict.fromkeys(FEW, 0.8)}, trials=4)
    run._episodes["base"] = [
        msgspec.structs.replace(e, sampling=SamplingSettings(temperature=1.0)) for e in run._episodes["base"]
    ]
    found = build_report_data(run, run.tasks, resamples=1000)
    assert found.comparisons == []
    assert "sampling settings differ" in found.not_compared[0]
    assert "sampling settings differ" in render_report(found)
    allowed = build_report_data(run, run.tasks, allow_unlike=True, resamples=1000)
    assert "unlike: sampling settings differ" in render_report(allowed)


def test_an_altered_task_is_refused() -> None:
    run = small_run({"base": dict.fromkeys(FEW, 0.5)}, trials=4)
    altered = [msgspec.structs.replace(task, request="other").sealed() for task in run.tasks]
    with pytest.raises(JourneymanError, match="different versions"):
        build_report_data(run, altered)


def test_phases_on_other_tasks_form_their_own_comparison() -> None:
    recipe = parse_recipe(
        """
name = "two"
world = "telecom"
stage = [
  {kind = "evaluate", name = "base", trials = 2, tasks = [{split = "heldout"}]},
  {kind = "evaluate", name = "base-family", trials = 2, tasks = [{split = "heldout_family"}]},
  {kind = "sft", name = "sft"},
  {kind = "evaluate", name = "sft-eval", trials = 2, tasks = [{split = "heldout"}]},
  {kind = "evaluate", name = "sft-family", trials = 2, tasks = [{split = "heldout_family"}]},
]""",
        "two.toml",
    )
    tasks = make_tasks({"plan_change": (1, 4)})
    strangers = [
        msgspec.structs.replace(t, split="heldout_family").sealed() for t in make_tasks({"roaming_dispute": (3, 4)})
    ]
    run = MadeRun(tasks, {"base": {"plan_change": 0.1}, "sft-eval": {"plan_change": 0.9}}, trials=2)
    other = MadeRun(
        strangers, {"base-family": {"roaming_dispute": 0.1}, "sft-family": {"roaming_dispute": 0.9}}, trials=2
    )
    run._episodes |= {name: other._episodes[name] for name in ("base-family", "sft-family")}
    run._recipe = recipe
    assert [label for _, _, label in labelled_phases(recipe)] == ["base", "base-family", "sft-eval", "sft-family"]
    found = build_report_data(run, [*tasks, *strangers], resamples=1000)
    assert [(c.a, c.b) for c in found.comparisons] == [("base", "sft-eval"), ("base-family", "sft-family")]
    assert "different tasks" in found.not_compared[0]
    assert not any("kept out" in part for part in found.words.untested)
    assert read(render_report(found)).faults == []


def test_planned_tasks_follow_the_filters() -> None:
    recipe = parse_recipe(
        'name = "x"\nworld = "t"\n[[stage]]\nkind = "evaluate"\nname = "e"\n'
        'tasks = [{split = "heldout", families = ["plan_change"], limit = 2}, {split = "heldout", limit = 3}]',
        "x.toml",
    )
    stage = recipe.stage[0]
    assert [task.id for task in planned_tasks(stage, make_tasks(FEW))] == [  # type: ignore[arg-type]
        f"telecom/plan_change/heldout-{i:03d}" for i in range(3)
    ]


def test_json_holds_the_same_figures_and_every_field(data: ReportData) -> None:
    parsed = json.loads(to_json(data))
    assert (
        parsed["phases"][2]["metrics"]["overall"]["pass_at_1"]["value"]
        == data.phases[2].metrics.overall.pass_at_1.value
    )
    assert parsed["comparisons"][1]["metrics"][0]["metric"] == "pass@1"
    assert parsed["settings"]["sampling"]["train"]["temperature"] == 1.0
    assert parsed["settings"]["stage"][1]["kind"] == "sft"


def test_writing_leaves_one_file(data: ReportData, tmp_path: Path) -> None:
    started = time.perf_counter()
    write_report(data, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert time.perf_counter() - started < 5
