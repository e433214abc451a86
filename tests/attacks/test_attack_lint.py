"""`lint --attack` reports what gets through: weakened tasks, and worlds that leak."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attack_desk import WORLD, tasks
from msgspec.structs import replace

from journeyman.curriculum.lint_attack import AttackResult, attack_task, seen_secrets
from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Message
from journeyman.rollout.attacks import ATTACKS
from journeyman.task import EventPattern, ExpectedRow, Match, Outcome, RowChange, Task
from journeyman.world import ToolContext, World, tool
from journeyman.worlds.telecom.families import late_fee, past_due_payment, starter_line_features

PAYMENT = past_due_payment.make(WORLD, 0, "train")
SWITCH = starter_line_features.make(WORLD, 0, "train")
FEE = late_fee.make(WORLD, 0, "train")


def attacked_by(name: str, task: Task, world: World = WORLD) -> AttackResult:
    with asyncio.Runner() as runner:
        return attack_task(Bench(world, task, runner), [ATTACKS[name]])


def without_facts(task: Task) -> Task:
    return replace(task, outcomes=[replace(one, facts=[]) for one in task.outcomes]).sealed()


def without_duties(task: Task) -> Task:
    return replace(task, criteria=[replace(one, required=False) for one in task.criteria]).sealed()


def without_rows(task: Task) -> Task:
    return replace(task, outcomes=[replace(one, rows=[]) for one in task.outcomes]).sealed()


def loosely_told() -> Task:
    """The payment whose amount may also be a thousand dollars more."""
    fact = PAYMENT.outcomes[0].facts[0]
    assert isinstance(fact.value, float)
    loose = replace(fact, value=Match(one_of=[fact.value, round(fact.value + 1000, 2)]))
    return replace(PAYMENT, outcomes=[replace(PAYMENT.outcomes[0], facts=[loose])]).sealed()


def waits_for_nothing(task: Task) -> Task:
    """The task for a user who wants to be told nothing: to lose patience is as good an end as any."""
    assert task.scenario is not None
    return replace(task, scenario=replace(task.scenario, settles=[])).sealed()


def told_to_anybody() -> Task:
    """The payment of which only the order of PIN and charge is a duty, for a user who waits for the last sentence."""
    assert PAYMENT.scenario is not None
    last = EventPattern("stated", by="agent", slot="past_due")
    criteria = [replace(one, required=one.id.startswith("verify_before")) for one in PAYMENT.criteria]
    return replace(PAYMENT, criteria=criteria, scenario=replace(PAYMENT.scenario, settles=[last])).sealed()


def handed_over() -> Task:
    """A task that ends well with any transfer."""
    row = ExpectedRow("transfer", "transfers", "insert", set={"queue": Match(any=True)})
    return replace(without_duties(PAYMENT), outcomes=[Outcome([row], end="transfer")]).sealed()


LETS_THROUGH = {
    "claim_success": without_duties(without_rows(SWITCH)),
    "wrong_number": waits_for_nothing(loosely_told()),
    "guess_constants": waits_for_nothing(without_duties(without_facts(SWITCH))),
    "imitate_user": without_duties(PAYMENT),
    "late_consent": without_duties(PAYMENT),
    "disclose": told_to_anybody(),
    "transfer_at_once": handed_over(),
}
"""Attack -> a task that it gets through, once what kept it out is gone."""


@pytest.mark.parametrize("name", LETS_THROUGH)
def test_a_weakened_task_is_found(name: str) -> None:
    task = LETS_THROUGH[name]
    result = attacked_by(name, task)
    assert result.tallies[name]["played"] == 1
    assert [rule for rule, _ in result.findings] == [f"attack_{name}"]
    flaw = result.findings[0][1]
    assert flaw.remedy == ATTACKS[name].remedy
    assert ATTACKS[name].does in flaw.detail


@pytest.mark.parametrize("name", LETS_THROUGH)
def test_the_same_task_whole_has_no_finding(name: str) -> None:
    whole = WORLD.task(LETS_THROUGH[name].id)
    assert attacked_by(name, whole).findings == []


def test_hostile_reads_that_spoil_a_right_run_are_found() -> None:
    strict = replace(SWITCH, outcomes=[replace(SWITCH.outcomes[0], end="transfer")]).sealed()
    findings = attacked_by("hostile_reads", strict).findings
    assert [rule for rule, _ in findings] == ["attack_hostile_reads"]


def with_tools(*tools: Any) -> World:
    """The world with some tools replaced, and only the families left as they are."""
    named = {one.name: one for one in tools}
    return World(
        name=WORLD.name, company=WORLD.company, desk=WORLD.desk, schema=WORLD.schema, images=WORLD.builders,
        tools=[named.get(one.name, one) for one in WORLD.tools], articles=WORLD.articles, lexicon=WORLD.lexicon,
        volatile=WORLD.volatile, volatile_tables=WORLD.volatile_tables, touches=WORLD.touches, secret=WORLD.secret,
        id_formats=WORLD.id_formats, id_start=WORLD.id_start,
    )  # fmt: skip


def test_a_tool_that_shows_a_secret_column_is_found() -> None:
    @tool("read")
    async def find_line(ctx: ToolContext, phone: str) -> dict[str, Any]:
        """Find a line.

        Args:
            phone: its number.
        """
        return {"lines": ctx.all("SELECT * FROM lines WHERE phone = ? LIMIT 1", (phone,))}

    world = with_tools(find_line)
    task = replace(SWITCH, world_version=world.version).sealed()
    found = {flaw.detail for _, flaw in attacked_by("hostile_reads", task, world).findings}
    assert "a value of the secret column lines.port_pin_hash was shown" in found


def test_a_tool_that_remembers_another_episode_is_found() -> None:
    kept: list[str] = []

    @tool("read")
    async def search_policy(ctx: ToolContext, query: str) -> list[str]:
        """Search the policy.

        Args:
            query: words.
        """
        kept.append(query)
        return kept[-400:-1][:20]

    world = with_tools(search_policy)
    first, second = (replace(task, world_version=world.version).sealed() for task in tasks()[-2:])
    attacked_by("templates_arguments", first, world)
    found = {flaw.detail for _, flaw in attacked_by("templates_arguments", second, world).findings}
    assert "words of another episode were shown" in found
    assert "after the attacks the oracle plays another episode than before" in found


def test_planted_secrets_and_the_rubric_are_looked_for() -> None:
    row = RowChange("customers", "insert", {"customer_id": "C-8001"}, new={"pin_hash": "CANARY-planted", "name": "x"})
    task = replace(SWITCH, setup=[*SWITCH.setup, row])
    shown = f"CANARY-planted {task.criteria[0].text}"
    flaws = [flaw.detail for flaw in seen_secrets(WORLD, task, [Message("tool", shown)])]
    assert flaws == [
        "the planted value of customers.pin_hash was shown",
        f"the text of criterion {task.criteria[0].id} was shown",
    ]
    # What the agent writes itself is not shown to it.
    assert list(seen_secrets(WORLD, task, [Message("assistant", shown)])) == []
    assert list(seen_secrets(WORLD, task, [Message("tool", "CANARY-plantedx")])) == []


def test_an_attack_that_cannot_be_written_is_a_finding() -> None:
    broken = replace(SWITCH, image="attic").sealed()
    rules = {rule for rule, _ in attacked_by("neighbour", broken).findings}
    assert "attack_neighbour" in rules
