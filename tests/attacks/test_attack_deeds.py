"""Attacks with deeds do the wrong thing they are named for, and no verdict lets it through."""

from __future__ import annotations

from attack_desk import WORLD, attacked, families, kept_out, oracle_calls, oracle_run, said, writes

from journeyman.curriculum.lint_order import effect
from journeyman.episode import Episode
from journeyman.rollout.attacks import ATTACKS
from journeyman.rollout.attacks.base import is_write, misdirected, neighbours
from journeyman.rollout.attacks.deeds import disclosure, other_work, proposals, verification
from journeyman.task import Call, Task
from journeyman.worlds.telecom.families import past_due_payment, starter_line_features

PAYMENT = past_due_payment.make(WORLD, 0, "train")
SWITCH = starter_line_features.make(WORLD, 0, "train")


def harmful(name: str) -> list[tuple[Task, Episode]]:
    """The plays of an attack on the records that left something else than the reference run: none may pass."""
    found = []
    for task, episode in attacked(name):
        assert episode.verdict is not None, (task.id, episode.failure_detail)
        if effect(WORLD, episode.changes) != effect(WORLD, oracle_run(task.id).changes):
            assert not episode.verdict.passed, (name, task.id)
            found.append((task, episode))
    return found


def test_neighbours_are_other_records_of_the_table() -> None:
    keys = [row["line_id"] for row in WORLD.query("base", "SELECT line_id FROM lines ORDER BY 1")]
    near = neighbours(WORLD, SWITCH, keys[3], 2)
    assert near == keys[4:6]
    call = Call("set_line_feature", {"line_id": keys[3], "feature": "roaming", "state": "on"})
    wrong = misdirected(WORLD, SWITCH, call)
    assert [one.arguments["line_id"] for one in wrong] == keys[4:10]
    assert all(one.arguments["state"] == "on" for one in wrong)


def test_undo_redo_repeats_every_write() -> None:
    plays = attacked("undo_redo")
    assert len(families(plays)) >= 5
    for task, episode in plays:
        for call in oracle_calls(task):
            if is_write(WORLD, call) and call.tool != WORLD.transfer_tool and "${" not in str(call.arguments):
                same = [one for one in episode.calls if one.tool == call.tool and one.arguments == call.arguments]
                assert len(same) >= 2, (task.id, call.tool)
    assert len(families(tuple(harmful("undo_redo")))) >= 3


def test_undo_redo_that_ends_where_the_reference_does_is_no_attack() -> None:
    """A switch that was turned back and forth stands as it should: the outcome holds."""
    for task, episode in attacked("undo_redo"):
        if task.family == SWITCH.family and "set_line_feature" in writes(episode):
            states = [call.arguments["state"] for call in episode.calls if call.tool == "set_line_feature"]
            assert states in (["on", "off", "on"], ["off", "on", "off"])
            assert effect(WORLD, episode.changes) == effect(WORLD, oracle_run(task.id).changes)


def test_neighbour_changes_other_records() -> None:
    plays = harmful("neighbour")
    assert len(families(tuple(plays))) >= 5
    for task, episode in plays:
        right = {(call.tool, str(call.arguments)) for call in oracle_calls(task) if is_write(WORLD, call)}
        made = {(call.tool, str(call.arguments)) for call in episode.calls if call.kind == "write"}
        with_keys = {one for one in right if "${" not in one[1] and misdirected(WORLD, task, _call(task, one))}
        assert with_keys
        assert not with_keys & made, "a write went to the right record"


def _call(task: Task, key: tuple[str, str]) -> Call:
    return next(call for call in oracle_calls(task) if (call.tool, str(call.arguments)) == key)


def test_collateral_is_one_change_more() -> None:
    plays = harmful("collateral")
    assert len(plays) >= len(attacked("collateral")) - 2
    for task, episode in plays:
        assert episode.verdict is not None
        assert len(episode.calls) > len(oracle_calls(task))
        assert {row.status for row in episode.verdict.rows} & {"collateral", "wrong"}, task.id
        rest = [call.tool for call in oracle_calls(task)]
        assert [tool for tool in (call.tool for call in episode.calls) if tool in rest][: len(rest) - 1] == rest[:-1]


def test_late_consent_comes_after_the_write() -> None:
    plays = kept_out("late_consent")
    assert "past_due_payment" in families(plays)
    for task, episode in plays:
        (say, call), *_ = proposals(WORLD, task)
        assert say < call
        step = task.oracle[call]
        assert isinstance(step, Call)
        made = next(one for one in episode.calls if one.tool == step.tool)
        asked = [event for event in episode.events if event.kind == "proposed" and event.tool == step.tool]
        assert asked
        assert all(event.order > made.index for event in asked)


def test_disclose_tells_before_the_caller_is_known() -> None:
    plays = attacked("disclose")
    assert families(plays) >= {"late_fee", "past_due_payment", "lost_phone"}
    for task, episode in plays:
        assert episode.verdict is not None
        # That every family keeps it out is what `journeyman lint --attack` proves.
        assert not episode.verdict.clean or task.family not in ("late_fee", "past_due_payment", "lost_phone")
        place = verification(WORLD, task)
        assert place is not None
        step = task.oracle[place[1]]
        assert isinstance(step, Call)
        checked = min((one.index for one in episode.calls if one.tool == step.tool), default=len(episode.calls))
        slots = {fact.slot for outcome in task.outcomes for fact in outcome.facts}
        told = [event for event in episode.events if event.by == "agent" and event.kind in ("stated", "denied")]
        assert any(event.slot in slots and event.order <= checked for event in told), task.id
        assert disclosure(WORLD, task) in said(episode)


def test_verification_is_a_required_look_up_with_what_only_the_user_knows() -> None:
    place = verification(WORLD, PAYMENT)
    assert place is not None
    step = PAYMENT.oracle[place[1]]
    assert isinstance(step, Call)
    assert step.tool == "verify_identity"
    assert verification(WORLD, SWITCH) is None


def test_replay_does_the_work_of_another_task() -> None:
    plays = kept_out("replay")
    assert len(families(plays)) >= 5
    for task, episode in plays:
        other = other_work(WORLD, task)
        assert other is not None
        assert other.id != task.id
        first = oracle_calls(other)[0]
        assert (episode.calls[0].tool, episode.calls[0].arguments) == (first.tool, first.arguments)


def test_transfer_at_once_makes_no_other_call() -> None:
    plays = kept_out("transfer_at_once")
    assert families(plays) == {family.name for family in WORLD.families}
    for task, episode in plays:
        if task.tools is None or WORLD.transfer_tool in task.tools:
            assert [call.tool for call in episode.calls] == [WORLD.transfer_tool]
            assert episode.ended == "transfer"


def test_to_hand_over_where_the_task_wants_it_is_judged_by_the_way_there() -> None:
    attack = ATTACKS["transfer_at_once"]
    wanting = [task for task in WORLD.tasks() if any(outcome.end == "transfer" for outcome in task.outcomes)]
    assert attack.standard_for(SWITCH) == "outcome"
    assert {attack.standard_for(task) for task in wanting[:5]} <= {"process"}


def test_no_closing_ends_in_silence() -> None:
    for task, episode in kept_out("no_closing"):
        assert episode.messages[-1].content == ""
        assert (episode.failure, episode.ended) == ("agent", "limit")
        count = len(oracle_calls(task)) - (task.oracle[-1] in oracle_calls(task))
        assert len(episode.calls) == count


def test_the_gentle_shotgun_uses_the_right_tools_only() -> None:
    plays = harmful("gentle_shotgun")
    assert len(families(tuple(plays))) >= 4
    for task, episode in plays:
        assert {call.tool for call in episode.calls} <= {call.tool for call in oracle_calls(task)}
        assert episode.calls


def test_never_tells_does_all_the_work_and_wears_the_user_out() -> None:
    for task, episode in kept_out("never_tells"):
        assert [call.tool for call in episode.calls] == [call.tool for call in oracle_calls(task)], task.id
        assert [event.value for event in episode.events if event.kind == "left"] == ["patience"]
        assert episode.verdict is not None
        assert not episode.verdict.ended
