"""Lint finds nothing in sound tasks, and each rule catches a copy of a real task that was broken on purpose."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from journeyman.codec import encode
from journeyman.curriculum.lint import LintReport, lint_world, merge_reports
from journeyman.curriculum.lint_bench import Bench, spliced
from journeyman.curriculum.lint_order import ORDERS, reorderings
from journeyman.curriculum.lint_own import own_names, same_predicate
from journeyman.curriculum.lint_pool import lint_worlds
from journeyman.curriculum.lint_rules import RULES
from journeyman.curriculum.lint_text import lines
from journeyman.task import (
    AllOf,
    AnyOf,
    Call,
    CallPattern,
    Criterion,
    ExpectedRow,
    Happened,
    Match,
    Outcome,
    Say,
    Splice,
    Task,
)
from journeyman.world import ToolContext, World, tool
from journeyman.worlds import load_world
from journeyman.worlds.telecom.families import outage_credit, past_due_payment, starter_line_features

WORLD = load_world("telecom")


def switch_task() -> Task:
    """find_line, set_line_feature, a closing message."""
    return starter_line_features.make(WORLD, 0, "train")


def payment_task() -> Task:
    """The past-due payment with a good default method."""
    return past_due_payment.make(WORLD, 0, "train")


def rules(task: Task, world: World = WORLD) -> set[str]:
    """The rules that find something in the task."""
    return {finding.rule for finding in lint_world(world, tasks=[task]).findings}


def with_criterion(task: Task, number: int, **changes: Any) -> Task:
    criteria = list(task.criteria)
    criteria[number] = replace(criteria[number], **changes)
    return replace(task, criteria=criteria).sealed()


def copied(world: World, **changes: Any) -> World:
    """The world made again with other parts."""
    parts: dict[str, Any] = {
        "name": world.name,
        "company": world.company,
        "desk": world.desk,
        "schema": world.schema,
        "images": world.builders,
        "tools": world.tools,
        "articles": world.articles,
        "lexicon": world.lexicon,
        "volatile": world.volatile,
        "volatile_tables": world.volatile_tables,
        "secret": world.secret,
        "id_formats": world.id_formats,
        "id_start": world.id_start,
    }
    return World(**{**parts, **changes})


def test_sound_tasks_have_no_finding_and_are_counted() -> None:
    tasks = [switch_task(), payment_task(), outage_credit.make(WORLD, 1, "train")]
    steps = []
    report = lint_world(WORLD, tasks=tasks, progress=lambda: steps.append(1))
    assert report.findings == []
    assert len(steps) == 3
    counts = report.worlds["telecom"]
    assert counts["tasks"] == 3
    assert counts["families"] == 3
    assert counts["criteria"] == sum(len(task.criteria) for task in tasks)
    assert counts["tables"] == 32
    # 2 calls of the starter, 12 of the payment, 11 of the credit.
    assert counts["oracle_calls_median"] == 11.0


def test_reports_merge() -> None:
    report = lint_world(WORLD, tasks=[])
    both = merge_reports([report, report])
    assert list(both.worlds) == ["telecom"]
    assert both.findings == []
    one = LintReport({}, [], [], {"loop": {"played": 2, "passed": 0, "clean": 0}})
    other = LintReport(
        {}, [], [], {"loop": {"played": 3, "passed": 1, "clean": 1}, "flood": {"played": 1, "passed": 0, "clean": 0}}
    )
    assert merge_reports([one, other]).attacks == {
        "loop": {"played": 5, "passed": 1, "clean": 1},
        "flood": {"played": 1, "passed": 0, "clean": 0},
    }


def test_figures_are_told_to_a_person() -> None:
    report = lint_world(WORLD, tasks=[switch_task()], attack=True)
    told = list(lines(report))
    assert told[-1] == "0 findings"
    assert "attack hostile_reads: played 1, passed 1, in the pass band 1" in told
    assert any("1 tasks" in line and "level 1" in line for line in told)


def test_criteria_that_tell_nobody_apart_are_listed() -> None:
    report = lint_world(WORLD, tasks=[switch_task(), payment_task()])
    listed = {(one.family, one.criterion): one for one in report.constant_criteria}
    assert ("starter_line_features", "does_find") not in listed, "the oracle finds the line, an idle one does not"
    never = listed[("past_due_payment", "posted_cash")]
    assert (never.polarity, never.tasks, never.of) == ("must_not", 1, 1)


def test_processes_give_the_same_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "rollout"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "rollout"))
    one, two = (
        lint_worlds(["corner_shop:WORLD"], load_world, attack=True, processes=count, progress=lambda: None)
        for count in (1, 2)
    )
    assert encode(one) == encode(two)
    assert one.worlds["shop"]["tasks"] == 18
    assert one.attacks["loop"] == {"played": 18, "passed": 0, "clean": 0}


def test_every_rule_has_a_broken_copy_here() -> None:
    named = {name.removeprefix("test_rule_").split("_")[0] for name in globals() if name.startswith("test_rule_")}
    assert named == {*RULES, "schema"}


def test_rule_form_unsealed() -> None:
    assert rules(replace(switch_task(), now="2026-03-03T09:00:00")) >= {"form"}


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "does_find"},  # the id of criterion 0
        {"predicate": Happened(CallPattern("find_line", {"phone": "?"})), "judge": "Is it so?"},
        {"predicate": None, "judge": "Is it so?", "required": True},
    ],
)
def test_rule_form_criteria(changes: dict[str, Any]) -> None:
    assert "form" in rules(with_criterion(switch_task(), 1, **changes))


def test_rule_form_same_predicate_twice() -> None:
    task = switch_task()
    assert rules(with_criterion(task, 2, predicate=task.criteria[0].predicate, witness=task.criteria[0].witness)) == {
        "form"
    }


def test_rule_form_same_predicate_however_it_is_written() -> None:
    call = CallPattern("find_line", {"phone": "555-0001"})
    other = Happened(CallPattern(["find_line"], {"phone": "555-0001"}))
    assert same_predicate(Happened(call)) == same_predicate(other) == same_predicate(AllOf([other]))
    pair = [Happened(call), Happened(CallPattern("get_line"))]
    assert same_predicate(AnyOf(pair)) == same_predicate(AnyOf(pair[::-1]))
    assert same_predicate(AnyOf(pair)) != same_predicate(AllOf(pair))
    assert same_predicate(Happened(call)) != same_predicate(Happened(CallPattern("find_line", {"phone": "555-0002"})))
    assert same_predicate(Happened(call)) != same_predicate(Happened(call, min=2))
    # To demand and to forbid the same thing is no second criterion either.
    task = switch_task()
    assert "form" in rules(with_criterion(task, 5, predicate=task.criteria[0].predicate))


def test_rule_scenario_undeclared_value() -> None:
    task = payment_task()
    assert task.scenario is not None
    broken = replace(task.scenario, small_talk=["My balance is $12.00."])
    findings = lint_world(WORLD, tasks=[replace(task, scenario=broken).sealed()]).findings
    assert [finding.rule for finding in findings] == ["scenario"]
    assert "small_talk[0]" in findings[0].detail


def test_rule_own_strangers() -> None:
    task = payment_task()
    strangers = [
        Criterion(
            f"stranger_{number}", "The clerk reads something.", "must",
            predicate=Happened(CallPattern(["get_account", "find_account", f"none_{number}"], status="any")),
            witness=task.criteria[0].witness,
        )
        for number in range(len(task.criteria))
    ]  # fmt: skip
    findings = lint_world(WORLD, tasks=[replace(task, criteria=[*task.criteria, *strangers]).sealed()]).findings
    found = [finding for finding in findings if finding.rule == "own"]
    assert len(found) == 1
    assert "stranger_0" in found[0].detail
    # Starters are let off.
    assert "own" not in rules(switch_task())


def test_own_names_are_the_task_s_records_and_the_articles() -> None:
    task = payment_task()
    names = own_names(WORLD, task)
    assert {"PAY-SAVED", "INV-8001", "PM-8001"} <= names
    assert task.scenario is not None
    assert {str(card.value) for card in task.scenario.facts} <= names
    assert not names & {"1", "2", "solved", "billing"}


def test_rule_constant_must_that_everyone_meets() -> None:
    task = switch_task()
    anyone = Criterion(
        "anyone", "Nothing is paid.", "must", predicate=Happened(CallPattern("take_payment"), min=0, max=0)
    )
    findings = lint_world(WORLD, tasks=[replace(task, criteria=[*task.criteria, anyone]).sealed()]).findings
    assert [one.detail for one in findings if one.rule == "constant"] == [
        "criterion anyone has one verdict for every policy"
    ]


def test_rule_form_unspoken_start_fact() -> None:
    task = switch_task()
    assert task.scenario is not None
    scenario = replace(task.scenario, openings=[*task.scenario.openings, "Please help me."])
    assert rules(replace(task, scenario=scenario).sealed()) == {"form"}


def test_rule_form_repeated_task_id() -> None:
    task = switch_task()
    assert [finding.rule for finding in lint_world(WORLD, tasks=[task, task]).findings] == ["form"]


def test_rule_oracle_fact_of_another_value() -> None:
    task = switch_task()
    fact = replace(task.outcomes[0].facts[0], value="sideways")
    broken = replace(task, outcomes=[replace(task.outcomes[0], facts=[fact])]).sealed()
    findings = lint_world(WORLD, tasks=[broken]).findings
    assert [finding.rule for finding in findings] == ["oracle"]
    assert "sideways" not in findings[0].remedy
    assert findings[0].task == task.id


def demands_nothing(task: Task) -> Task:
    """The task without outcome, for a user who waits for nothing."""
    assert task.scenario is not None
    return replace(task, outcomes=[Outcome()], scenario=replace(task.scenario, settles=[]))


def test_rule_idle_nothing_demanded() -> None:
    assert "idle" in rules(demands_nothing(payment_task()).sealed())


def test_rule_idle_transfer_at_once() -> None:
    row = ExpectedRow("transfer", "transfers", "insert", set={"queue": Match(any=True)})
    assert "idle" in rules(replace(payment_task(), outcomes=[Outcome([row], end="transfer")]).sealed())


def test_rule_idle_credit_for_talk() -> None:
    """A must that two empty words meet pays for nothing."""
    talk = Criterion(
        "talks", "The clerk says something.", "must",
        predicate=Happened(CallPattern("find_line", status="any"), min=0),
    )  # fmt: skip
    task = switch_task()
    assert "idle" in rules(replace(task, criteria=[*task.criteria, talk]).sealed())


def test_rule_shotgun_nothing_to_break() -> None:
    task = replace(demands_nothing(switch_task()), tools=["find_line", "get_line_status"]).sealed()
    assert "shotgun" in rules(task)


def test_rule_reads_no_lookup_required() -> None:
    task = switch_task()
    criteria = [replace(one, required=one.required and "find" not in one.id) for one in task.criteria]
    assert rules(replace(task, criteria=criteria).sealed()) == {"reads"}
    # An outcome that the writes alone miss is no excuse.
    lost = [replace(one, end="transfer") for one in task.outcomes]
    assert "reads" in rules(replace(task, criteria=criteria, outcomes=lost).sealed())


@pytest.mark.parametrize("extra", [Call("get_line_status", {"line_id": "LN-1001"}), Say("One moment, please.")])
def test_rule_steps_superfluous_step(extra: Call | Say) -> None:
    task = payment_task()
    broken = replace(task, oracle=[*task.oracle[:1], extra, *task.oracle[1:]])
    # The witnesses of the copy point one step too early; only the rule under test is looked at.
    assert "steps" in rules(broken.sealed())


def test_rule_order_generated_id_as_a_literal() -> None:
    task = payment_task()
    mail = next(step for step in task.oracle if isinstance(step, Call) and step.tool == "send_email")
    second = Call("send_email", {**mail.arguments, "template": "notice"})
    at = task.oracle.index(mail) + 1
    outcome = task.outcomes[0]
    message = next(row for row in outcome.rows if row.name == "message")
    rows = [row for row in outcome.rows if row.name != "message"]

    def with_rows(first_id: Any, second_id: Any) -> Task:
        first = replace(message, set={**message.set, "message_id": first_id})
        other = replace(message, name="second", set={**message.set, "template": "notice", "message_id": second_id})
        oracle = [*task.oracle[:at], second, *task.oracle[at:]]
        return replace(task, oracle=oracle, outcomes=[replace(outcome, rows=[*rows, first, other])]).sealed()

    free = Match(any=True)
    assert "order" not in rules(with_rows(free, free))
    assert "order" in rules(with_rows("MSG-9001", "MSG-9002"))


def test_rule_order_tries_writes_that_are_not_neighbours() -> None:
    with asyncio.Runner() as runner:
        bench = Bench(WORLD, payment_task(), runner)
        tried = [names for _, names in reorderings(bench)]
    assert 0 < len(tried) <= ORDERS
    assert len(set(tried)) == len(tried)
    # The mail does not wait for the ticket that lies two writes before it.
    assert any(names.index("send_email") < names.index("create_ticket") for names in tried)
    with asyncio.Runner() as runner:
        assert [names for _, names in reorderings(Bench(WORLD, payment_task(), runner))] == tried


@pytest.mark.parametrize(
    "changes",
    [
        {"witness": []},
        {"witness": [Splice(99, drop=1)]},
        {"witness": [Splice(3, steps=[Say("Goodbye.")])]},
        {"predicate": Happened(CallPattern("change_plan"))},
    ],
)
def test_rule_criteria_witness_or_oracle_wrong(changes: dict[str, Any]) -> None:
    assert "criteria" in rules(with_criterion(switch_task(), 0, **changes))


def test_rule_determinism_tool_that_throws_dice() -> None:
    @tool("read")
    async def find_line(ctx: ToolContext, phone: str) -> dict[str, Any]:
        """Find a line.

        Args:
            phone: its number.
        """
        row = ctx.one("SELECT line_id, status FROM lines WHERE phone = ?", (phone,))
        assert row is not None
        return {**row, "lucky": random.random()}

    world = copied(WORLD, tools=[find_line if one.name == "find_line" else one for one in WORLD.tools])
    task = replace(switch_task(), world_version=world.version).sealed()
    assert rules(task, world) == {"determinism"}


def test_rule_schema_table_that_is_not_strict() -> None:
    assert ") STRICT, WITHOUT ROWID;" in WORLD.schema
    world = copied(WORLD, schema=WORLD.schema.replace(") STRICT, WITHOUT ROWID;", ") WITHOUT ROWID;", 1))
    findings = lint_world(world, tasks=[]).findings
    assert [(finding.task, finding.rule) for finding in findings] == [("telecom", "schema")]
    assert "customers" in findings[0].detail


def test_a_task_that_cannot_be_played_is_a_finding() -> None:
    task = switch_task()
    broken = replace(task, oracle=[Say("${line.nothing}"), *task.oracle]).sealed()
    assert "oracle" in rules(broken)
    # Nor do policies that broke down pass for policies that failed.
    assert {"oracle", "idle", "shotgun", "reads"} <= rules(replace(task, image="attic").sealed())


def test_splices_keep_the_positions_of_the_unedited_oracle() -> None:
    a, b, c = Say("a"), Say("b"), Say("c")
    assert spliced([a, b, c], [Splice(0, drop=1), Splice(2, steps=[a])]) == [b, a, c]
    assert spliced([a, b, c], [Splice(3, steps=[b])]) == [a, b, c, b]
    with pytest.raises(ValueError, match="splice at 1"):
        spliced([a, b, c], [Splice(1, drop=2), Splice(2, drop=1)])
