"""The telecom families: enough tasks, well apart, lawful, small where they must be small, and passed by their oracles."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

import pytest
from msgspec.structs import replace

from journeyman.curriculum.lint import lint_world
from journeyman.curriculum.lint_bench import Bench
from journeyman.episode import Episode
from journeyman.task import Call, Say, Step, Task
from journeyman.world import Family, open_session
from journeyman.worlds import load_world
from journeyman.worlds.telecom.families import (
    FAMILIES,
    late_fee,
    lost_phone,
    outage_credit,
    past_due_payment,
    starter_billing,
    starter_line_features,
)
from journeyman.worlds.telecom.families.records import Setup, households, split_of

WORLD = load_world("telecom")
STARTERS = ["starter_line_features", "starter_billing", "starter_plan"]
DEEP = ["past_due_payment", "late_fee", "outage_credit", "lost_phone"]


def tasks_of(*families: str) -> list[Task]:
    return WORLD.tasks(families=list(families))


def played(task: Task, steps: list[Step]) -> Episode:
    with asyncio.Runner() as runner:
        return Bench(WORLD, task, runner).play_steps(steps)


def calls(task: Task) -> int:
    return sum(isinstance(step, Call) for step in task.oracle)


def swapped(task: Task, tool: str, **arguments: object) -> list[Step]:
    """The oracle with other arguments in its call of `tool` (None takes an argument away)."""
    steps: list[Step] = []
    for step in task.oracle:
        if isinstance(step, Call) and step.tool == tool:
            merged = {**step.arguments, **arguments}
            step = Call(tool, {name: value for name, value in merged.items() if value is not None})
        steps.append(step)
    return steps


def test_there_are_enough_tasks_in_each_split() -> None:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for task in WORLD.tasks():
        counts[task.family][task.split] += 1
    assert sum(sum(split.values()) for split in counts.values()) >= 200
    assert counts["starter_line_features"] == {"train": 240, "heldout": 60}
    assert counts["starter_billing"] == {"train": 240, "heldout": 60}
    assert counts["starter_plan"] == {"heldout_family": 30}
    assert set(counts["lost_phone"]) == {"heldout_family"}
    for name in ("past_due_payment", "late_fee", "outage_credit"):
        assert set(counts[name]) == {"train", "heldout"}


def test_no_person_is_in_two_splits() -> None:
    people = {
        split: {home.name for home in households(WORLD, split)} for split in ("train", "heldout", "heldout_family")
    }
    assert all(len(names) >= 10 for names in people.values())
    assert not people["train"] & people["heldout"]
    assert not people["train"] & people["heldout_family"]
    assert not people["heldout"] & people["heldout_family"]
    owners = {
        row["line_id"]: row["name"]
        for row in WORLD.query(
            "base",
            "SELECT line_id, name FROM lines JOIN accounts USING (account_id) JOIN customers USING (customer_id)",
        )
    }
    for task in WORLD.tasks():
        touched = {owners[change.key["line_id"]] for change in task.setup if change.table == "lines"}
        assert {split_of(name) for name in touched} <= {task.split}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_a_pure_function_of_its_seed(family: Family) -> None:
    seed, split = family.instances()[0]
    assert family.make(WORLD, seed, split) == family.make(WORLD, seed, split)


def test_starters_are_small_and_have_several_intents() -> None:
    for task in tasks_of(*STARTERS):
        assert task.level == 1
        assert 2 <= calls(task) <= 4
        assert 5 <= len(task.criteria) <= 9
        assert task.tools is not None
        assert 4 <= len(task.tools) <= 5
        assert task.scenario is not None
        assert len(task.scenario.openings) >= 4
        assert isinstance(task.oracle[-1], Say)
    for family in STARTERS:
        assert len({tuple(criterion.id for criterion in task.criteria) for task in tasks_of(family)}) >= 3


def test_starter_episodes_fit_into_400_tokens() -> None:
    pytest.importorskip("tokenizers")
    from journeyman.engine.tokenizer import load_tokenizer
    from journeyman.rollout.chatml import ChatMLRenderer

    renderer = ChatMLRenderer(load_tokenizer("smollm2-135m-instruct"))
    for family in STARTERS:
        for task in tasks_of(family)[:20]:
            episode = played(task, task.oracle)
            # The user's goodbye comes after the last token that matters.
            messages = episode.messages[:-1]
            assert messages[-1].role == "assistant"
            assert len(renderer.start(messages)) <= 400, task.id


def test_deep_tasks_are_deep() -> None:
    for task in tasks_of(*DEEP):
        assert 3 <= task.level <= 5
        assert 10 <= calls(task) <= 15
        assert len(task.criteria) >= 15
        musts = sum(criterion.polarity == "must" for criterion in task.criteria)
        assert 0.6 <= musts / len(task.criteria) <= 0.8
        assert any(criterion.required for criterion in task.criteria if criterion.polarity == "must_not")
        assert any(not criterion.required for criterion in task.criteria)
        assert task.tools is None
        writes = [
            step for step in task.oracle if isinstance(step, Call) and WORLD.tools_by_name[step.tool].kind == "write"
        ]
        assert len(writes) >= 3


def test_one_task_of_each_kind_passes_lint() -> None:
    """A whole lint is `journeyman lint`; here each set of criteria is linted once."""
    kinds: dict[object, Task] = {}
    for task in WORLD.tasks():
        kinds.setdefault((task.family, tuple(criterion.id for criterion in task.criteria)), task)
    # 4 + 5 + 4 kinds of starters, 3 payments, 2 + 2 of fees and credits, 3 lost phones at least
    assert len(kinds) >= 23
    assert lint_world(WORLD, tasks=list(kinds.values())).findings == []


@pytest.mark.parametrize("family", ["starter_billing", "past_due_payment", "late_fee"])
def test_setup_leaves_the_books_balanced(family: str) -> None:
    """An account whose invoices the setup rewrote owes exactly what they say."""
    task = replace(tasks_of(family)[0], tools=None).sealed()
    [account_id] = {row.new["account_id"] for row in task.setup if row.table == "invoices" and row.op == "insert"}
    with asyncio.Runner() as runner:
        session = open_session(WORLD, task)
        balance = json.loads(runner.run(session.call("get_balance", {"account_id": account_id})).result)
        listed = json.loads(runner.run(session.call("list_open_invoices", {"account_id": account_id})).result)
        runner.run(session.close())
    assert balance["balance"] == pytest.approx(sum(invoice["due"] for invoice in listed))
    assert balance["past_due"] == pytest.approx(sum(one["due"] for one in listed if one["status"] == "past_due"))


def test_other_lawful_ways_pass_too() -> None:
    payment = past_due_payment.make(WORLD, 0, "train")
    searched = swapped(payment, "search_policy", query="saved card payment")
    assert played(payment, searched).reward == 1.0
    text = [
        Call("send_sms", step.arguments) if isinstance(step, Call) and step.tool == "send_email" else step
        for step in payment.oracle
    ]
    assert played(payment, text).reward == 1.0
    # Not naming the invoice pays the same one, and misses one optional line of the rubric.
    unnamed = played(payment, swapped(payment, "take_payment", invoice_id=None))
    assert unnamed.verdict is not None
    assert unnamed.verdict.clean
    assert [one.id for one in unnamed.verdict.criteria if not one.met] == ["names_invoice"]
    assert 0.8 < unnamed.reward < 1.0
    logged = [*payment.oracle[:-1], _log(payment), payment.oracle[-1]]
    assert played(payment, logged).reward == 1.0


def _log(task: Task) -> Call:
    verify = next(step for step in task.oracle if isinstance(step, Call) and step.tool == "verify_identity")
    return Call(
        "log_interaction", {"customer_id": verify.arguments["customer_id"], "channel": "phone", "summary": "Paid."}
    )


def test_a_charge_without_consent_is_outside_the_pass_band() -> None:
    payment = past_due_payment.make(WORLD, 0, "train")
    steps = [step for step in payment.oracle if not (isinstance(step, Say) and step.text.startswith("Shall I"))]
    episode = played(payment, steps)
    assert episode.verdict is not None
    assert episode.verdict.passed
    assert not episode.verdict.required_met
    assert episode.reward <= 0.4


def test_consent_to_another_amount_does_not_cover_the_charge() -> None:
    payment = past_due_payment.make(WORLD, 0, "train")
    steps = [
        Say("Shall I charge $1.00 to your default method (PM-8001)?")
        if isinstance(step, Say) and "Shall I" in step.text
        else step
        for step in payment.oracle
    ]
    episode = played(payment, steps)
    assert episode.verdict is not None
    assert not episode.verdict.required_met


def test_the_stale_default_is_not_charged() -> None:
    stale = past_due_payment.make(WORLD, 1, "train")
    charge = next(step for step in stale.oracle if isinstance(step, Call) and step.tool == "take_payment")
    assert charge.arguments["method_id"] == past_due_payment.BACKUP
    with asyncio.Runner() as runner:
        session = open_session(WORLD, stale)
        listed = runner.run(session.call("list_payment_methods", {"account_id": charge.arguments["account_id"]}))
        checked = runner.run(session.call("validate_payment_method", {"method_id": past_due_payment.DEFAULT}))
        runner.run(session.close())
    assert '"method_id":"PM-8001"' in listed.result
    assert '"default":true,"status":"active"' in listed.result
    assert checked.result == '{"valid":false,"reason":"expired"}'


def test_goodwill_in_place_of_a_refused_waiver_fails() -> None:
    refused = late_fee.make(WORLD, 0, "train")
    steps: list[Step] = []
    for step in refused.oracle:
        if isinstance(step, Call) and step.tool == "document_denial":
            account_id = step.arguments["account_id"]
            steps.append(Call("apply_credit", {"account_id": account_id, "amount": 10.0, "reason": "goodwill"}))
        steps.append(step)
    episode = played(refused, steps)
    assert episode.verdict is not None
    assert not episode.verdict.passed


@pytest.mark.parametrize(("hours", "cents"), [(23, 0), (24, 500), (47, 500), (48, 1000), (72, 1500), (90, 1500)])
def test_outage_credit_follows_the_article(hours: int, cents: int) -> None:
    assert outage_credit.credit_cents(hours) == cents


def test_a_refusal_without_the_reason_on_record_fails() -> None:
    blocked = starter_line_features.make(WORLD, 3, "train")
    closing = blocked.oracle[-1]
    assert isinstance(closing, Say)
    first_sentence = closing.text.split(". ")[0] + "."
    assert first_sentence.startswith("I cannot turn")
    episode = played(blocked, [*blocked.oracle[:-1], Say(first_sentence)])
    assert episode.verdict is not None
    assert not episode.verdict.passed
    assert played(blocked, [Say(first_sentence)]).reward == 0.0


def test_the_latest_and_the_past_due_invoice_are_told_apart() -> None:
    copies = [task for task in tasks_of("starter_billing") if any(one.id == "other_invoice" for one in task.criteria)]
    asked = {
        (("past-due" in task.request), str(step.arguments["invoice_id"]))
        for task in copies
        for step in task.oracle
        if isinstance(step, Call) and step.tool == "send_invoice_copy"
    }
    assert asked == {(True, "INV-8001"), (False, "INV-8002")}


def test_a_caller_without_the_pin_gets_nothing() -> None:
    refused = lost_phone.make(WORLD, 2, "heldout_family")
    assert {row.table for row in refused.outcomes[0].rows} == {"denials", "tickets"}
    helped = [
        *refused.oracle[:6],
        Call("replace_sim", {"line_id": _line(refused), "kind": "esim"}),
        *refused.oracle[6:],
    ]
    assert not _passed(played(refused, helped))


def _line(task: Task) -> str:
    return next(str(change.key["line_id"]) for change in task.setup if change.table == "lines")


def _passed(episode: Episode) -> bool:
    assert episode.verdict is not None
    return episode.verdict.passed


def test_setup_merges_edits_of_one_row() -> None:
    home = households(WORLD, "train")[0]
    setup = Setup(WORLD)
    before = setup.row("lines", line_id=home.line_id)
    flipped = "off" if before["roaming"] == "on" else "on"
    setup.update("lines", {"line_id": home.line_id}, roaming=flipped)
    setup.update("lines", {"line_id": home.line_id}, status="suspended", suspend_reason="lost")
    [change] = setup.rows()
    assert change.old == {"roaming": before["roaming"], "status": "active", "suspend_reason": None}
    assert change.new == {"roaming": flipped, "status": "suspended", "suspend_reason": "lost"}
    setup.update("lines", {"line_id": home.line_id}, roaming=before["roaming"], status="active", suspend_reason=None)
    assert setup.rows() == []
    with pytest.raises(LookupError, match="LN-0000"):
        setup.row("lines", line_id="LN-0000")


def test_a_task_played_under_other_records_is_another_task() -> None:
    one, other = starter_billing.make(WORLD, 0, "train"), starter_billing.make(WORLD, 0, "heldout")
    assert one.hash != other.hash
    assert replace(one, hash="").sealed() == one
