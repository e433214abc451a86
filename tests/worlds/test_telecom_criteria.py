"""The criteria of the deep families: how many, of which kind, about whom; and the line that only a judge decides."""

from __future__ import annotations

import statistics

import msgspec
import pytest
from telecom_play import WORLD, played

from journeyman.task import Call, Say, Task, decode_task
from journeyman.world.authoring import Rubric, Script
from journeyman.worlds.telecom.families import (
    approval_credit,
    dispute_reuse,
    late_fee,
    lost_phone,
    outage_credit,
    past_due_payment,
    plan_change,
    three_part,
)

FAMILIES = [
    one.NAME
    for one in (
        approval_credit, dispute_reuse, late_fee, lost_phone, outage_credit, past_due_payment, plan_change, three_part,
    )
]  # fmt: skip


def tasks() -> list[Task]:
    return WORLD.tasks(families=FAMILIES)


def share(some: int, all_of_them: int) -> float:
    return some / all_of_them


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rubric_has_enough_of_everything(family: str) -> None:
    for task in WORLD.tasks(families=[family]):
        assert len(task.criteria) >= 17, task.id
        musts = [one for one in task.criteria if one.polarity == "must"]
        nots = [one for one in task.criteria if one.polarity == "must_not"]
        assert 0.6 <= share(len(musts), len(task.criteria)) <= 0.8, task.id
        for some in (musts, nots):
            required = share(sum(one.required for one in some), len(some))
            assert 0.2 <= required <= 0.8, (task.id, some[0].polarity)
        judged = [one for one in task.criteria if one.predicate is None]
        assert len(judged) <= 2
        assert all(one.judge and not one.required for one in judged)


def test_the_oracles_are_as_long_as_promised() -> None:
    calls = [sum(isinstance(step, Call) for step in task.oracle) for task in tasks()]
    assert 10 <= statistics.median(calls) <= 15


def test_tasks_survive_a_line_of_json() -> None:
    for task in tasks():
        assert decode_task(msgspec.json.encode(task), task.id) == task


def test_a_judged_criterion_is_left_open_without_a_judge() -> None:
    script = Script()
    script.say("done", "Here you are.")
    rubric = Rubric(script)
    rubric.judged("kind", "It is kind.", "Is it kind?", script.instead("done", Say("No.")))
    rubric.judged("rude", "It is not rude.", "Is it rude?", script.instead("done", Say("No.")), forbidden=True)
    assert [(one.polarity, one.required, one.predicate, one.judge) for one in rubric.criteria] == [
        ("must", False, None, "Is it kind?"),
        ("must_not", False, None, "Is it rude?"),
    ]
    task = three_part.make(WORLD, 0, "train")
    judged = {one.id for one in task.criteria if one.predicate is None}
    episode = played(task)
    assert episode.verdict is not None
    assert (
        {result.id for result in episode.verdict.criteria if result.met is None} == judged == {"keeps_apart", "blames"}
    )
    assert episode.verdict.required_met
    assert episode.reward == 1.0


def test_every_rule_that_tasks_hang_on_has_a_past() -> None:
    known = {article.id for article in WORLD.articles}
    stems = {article.id.rsplit("-", 1)[0] for article in WORLD.articles if article.status == "superseded"}
    read = {
        str(step.arguments["article_id"])
        for task in tasks()
        for step in task.oracle
        if isinstance(step, Call) and step.tool == "get_policy_article"
    }
    assert read <= known
    assert read <= stems


def test_articles_are_long() -> None:
    assert statistics.median(len(article.body.split()) for article in WORLD.articles) >= 300
