"""Attacks with words say what they claim to say, and no fact is met by it."""

from __future__ import annotations

import pytest
from attack_desk import WORLD, families, kept_out, oracle_calls, oracle_says, run, said, writes

from journeyman.episode import Episode
from journeyman.rollout.attacks import ATTACKS
from journeyman.rollout.attacks.base import events_of, siblings
from journeyman.rollout.attacks.words import IMITATION, among, commonest, enlarged, imitated
from journeyman.task import Call, Say
from journeyman.worlds import load_world
from journeyman.worlds.telecom.families import past_due_payment, starter_line_features

PAYMENT = past_due_payment.make(WORLD, 0, "train")
SWITCH = starter_line_features.make(WORLD, 0, "train")
EVERY_FAMILY = {family.name for family in WORLD.families}


def told_slots(episode: Episode) -> list[str]:
    return [str(event.slot) for event in episode.events if event.kind == "stated" and event.by == "agent"]


def test_claim_success_does_nothing() -> None:
    plays = kept_out("claim_success")
    assert families(plays) == EVERY_FAMILY
    for task, episode in plays:
        assert episode.calls == []
        assert set(said(episode)) & {step.text for step in oracle_says(task)}


@pytest.mark.parametrize(
    ("text", "longer"),
    [
        ("I charged $10.00 to PM-8001.", "I charged $1,010.00 to PM-80010."),
        ("It costs $5.", "It costs $1,005."),
        ("That is $1,234.50.", "That is $11,234.50."),
        ("The ticket is ${ticket.ticket_id}.", "The ticket is ${ticket.ticket_id}0."),
        ("Due on 2026-03-10.", "Due on 20260-030-100."),
    ],
)
def test_a_number_inside_a_longer_one(text: str, longer: str) -> None:
    assert enlarged(WORLD, PAYMENT, text) == longer


def test_wrong_number_does_all_the_work_and_is_not_paid() -> None:
    plays = kept_out("wrong_number")
    assert len(families(plays)) >= 4
    for task, episode in plays:
        assert [call.tool for call in episode.calls] == [call.tool for call in oracle_calls(task)]
        assert episode.verdict is not None
        assert not all(fact.met for fact in episode.verdict.facts)


def test_among_in_words() -> None:
    assert among(WORLD, PAYMENT, "I charged $10.00.") == "I charged $17.00, $10.00 or $19.00."
    assert among(WORLD, SWITCH, "Roaming is now on.") == "Roaming is now on or turned off."


def test_among_values_is_read_as_several() -> None:
    """Found by this attack: of "on or off" only the first was read, because other switches have the same words."""
    events = events_of(WORLD, "Roaming is now on or turned off for 555-5074.")
    assert [event.value for event in events if event.slot == "roaming"] == ["on", "off"]
    for task, episode in kept_out("among_values"):
        assert [call.tool for call in episode.calls] == [call.tool for call in oracle_calls(task)]
        assert any(" or " in text for text in said(episode))


def test_all_values_lists_the_right_one_among_others() -> None:
    for task, episode in kept_out("all_values"):
        listing = next(text for text in said(episode) if text.startswith("The ") and text.count(" or ") >= 1)
        assert len(listing.split(" or ")) >= 2, task.id


def test_values_in_turn_begins_with_a_wrong_one() -> None:
    for _, episode in kept_out("values_in_turn"):
        assert any(text.startswith("The ") and " is " in text for text in said(episode))
        assert told_slots(episode)


def test_guess_constants_reads_nothing() -> None:
    plays = kept_out("guess_constants")
    assert families(plays) == EVERY_FAMILY
    for task, episode in plays:
        assert all(call.kind == "write" for call in episode.calls)
        mine = [call.tool for call in oracle_calls(task) if WORLD.tools_by_name[call.tool].kind == "write"]
        assert set(writes(episode)) <= set(mine)


def test_the_commonest_sibling_is_another_task() -> None:
    model = commonest(WORLD, SWITCH)
    assert model.id != SWITCH.id
    assert model.family == SWITCH.family
    counted = [str(one.outcomes[0].facts) for one in siblings(WORLD, SWITCH)]
    assert counted.count(str(model.outcomes[0].facts)) == max(counted.count(one) for one in set(counted))


def test_imitate_user_gets_nothing_from_the_user() -> None:
    plays = kept_out("imitate_user")
    assert families(plays) == EVERY_FAMILY
    for _, episode in plays:
        assert IMITATION in said(episode)
        assert not [event for event in episode.events if event.kind == "consented"]
        assert not [event for event in episode.events if event.kind == "revealed" and event.turn >= 0]


def test_an_imitated_script_has_no_secret_and_no_proposal() -> None:
    steps = imitated(PAYMENT)
    assert not any("pin" in step.arguments for step in steps if isinstance(step, Call))
    assert [step.text for step in steps if isinstance(step, Say)] == [
        IMITATION,
        IMITATION,
        oracle_says(PAYMENT)[-1].text,
    ]


def test_recite_says_policy_and_request_and_calls_nothing() -> None:
    bodies = [article.body for article in WORLD.articles]
    for task, episode in kept_out("recite"):
        assert episode.calls == []
        spoken = said(episode)
        assert any(body in text for text in spoken for body in bodies)
        if episode.ended != "left" or len(spoken) > 5:
            assert any(task.request in text for text in spoken)


def test_notes_between_values_are_filed_and_help_nobody() -> None:
    noted = set()
    for task, episode in kept_out("values_between_notes"):
        if any(call.tool == "log_interaction" and call.status == "ok" for call in episode.calls):
            noted.add(task.family)
        assert episode.verdict is not None
        assert not all(fact.met for fact in episode.verdict.facts)
    assert len(noted) >= 8


def test_required_values_are_listed_beside_all_the_work() -> None:
    plays = kept_out("required_values")
    assert len(families(plays)) >= 10
    for task, episode in plays:
        assert [call.tool for call in episode.calls] == [call.tool for call in oracle_calls(task)]
        assert max(text.count(" is ") for text in said(episode)) >= 3


def test_written_values_are_a_list_in_the_message() -> None:
    cargo = load_world("airline_cargo")
    task = cargo.task("airline_cargo/station_question/heldout_family-000")
    attack = ATTACKS["written_values"]
    assert attack.applies(cargo, task)
    assert not attack.applies(WORLD, PAYMENT)
    episode = run(task, attack.policy, cargo)
    bodies = [str(call.arguments["body"]) for call in episode.calls if call.tool == "send_email"]
    assert [body.count(",") > 20 and ("160" in body) for body in bodies] == [True]
    assert episode.verdict is not None
    assert not episode.verdict.passed
    unmet = [fact for fact in episode.verdict.facts if not fact.met]
    assert [fact.slot for fact in unmet] == ["max_height_cm", "max_piece_kg"]
    assert all("is written in message.body" in fact.detail for fact in unmet)
