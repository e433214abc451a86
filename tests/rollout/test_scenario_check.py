"""What lint can say of a scenario: each fault planted in a sound one is found, by name, and only it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from test_user_wishes import CHANGE, LEXICON, SCENARIO

from journeyman.rollout.scenario_check import scenario_problems
from journeyman.task import Call, ChangeOfMind, ConsentRule, EventPattern, FactCard, Pushback, Say, Scenario

SOUND = msgspec.structs.replace(
    SCENARIO,
    pushbacks=[Pushback("refund", ["But I was told I get one.", "My Visa says so."])],
    small_talk=["I have three kids, you know."],
    bundles=[["pin", "method"]],
)


def problems(**fields: Any) -> list[str]:
    return scenario_problems(msgspec.structs.replace(SOUND, **fields), LEXICON)


def change(**fields: Any) -> list[ChangeOfMind]:
    return [msgspec.structs.replace(CHANGE, **fields)]


def test_a_sound_scenario_has_no_problem() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"changes": change(say="Please use my Amex and charge $20.")}, "changes[0].say holds 20.0"),
        ({"changes": change(say="Please use my Amex, code 991.")}, "changes[0].say holds the number 991"),
        ({"changes": change(say="Please use the other card.")}, "changes[0].say does not tell method = 'PM-2'"),
        ({"changes": change(settles=[])}, "changes[0] leaves nothing that settles"),
        (
            {"changes": change(settles=[EventPattern("revealed", slot="pin")])},
            "changes[0].settles waits for `revealed`",
        ),
        ({"changes": change(trigger=EventPattern("left"))}, "changes[0] waits for `left`"),
        ({"changes": change(trigger=EventPattern("changed_mind"))}, "changes[0] waits for `changed_mind`"),
        ({"changes": change(trigger=EventPattern("asked", by="user", slot="pin"))}, "waits for `asked` by the user"),
        ({"changes": change(trigger=EventPattern("asked", slot="shoe"))}, "`asked` of shoe"),
        ({"changes": change(trigger=EventPattern("denied", slot="pin"))}, "`denied` of pin"),
        ({"changes": change(trigger=EventPattern("proposed", tool="fly"))}, "`proposed` of fly"),
        ({"changes": change(trigger=EventPattern("revealed", slot="name"))}, "until the user reveals name"),
        ({"changes": [*change(consents=[]), CHANGE]}, "changes[1] waits until the user consents to take_payment"),
        ({"pushbacks": [Pushback("pin", ["Why?"])]}, "pushbacks[0] waits for a refusal of pin"),
        ({"pushbacks": [Pushback("refund", ["Why?"]), Pushback("refund", ["So?"])]}, "pushbacks[1] is the second"),
        ({"pushbacks": [Pushback("refund", ["I want my $20."])]}, "pushbacks[0] holds 20.0"),
        ({"small_talk": ["It is 9 outside."]}, "small_talk[0] holds the number 9"),
        ({"bundles": [["pin"]]}, "bundles[0] holds fewer than two"),
        ({"bundles": [["pin", "password"]]}, "bundles[0] holds password"),
        ({"settles": [EventPattern("consented", by="user")]}, "settles waits for `consented`"),
        ({"facts": [*SOUND.facts, FactCard("line", "LN-0001", "It is LN-0002.")]}, "the card of line holds 'LN-0002'"),
    ],
)
def test_a_planted_fault_is_found(fields: dict[str, Any], told: str) -> None:
    found = problems(**fields)
    assert len(found) == 1, found
    assert told in found[0]


def test_consent_that_no_rule_gives_triggers_nothing() -> None:
    scenario = Scenario(
        "plain",
        ["Hi."],
        "x",
        consents=[ConsentRule("restore_line")],
        settles=SOUND.settles,
        changes=change(facts=[], say="No."),
    )
    assert scenario_problems(scenario, LEXICON) == [
        "changes[0] waits until the user consents to take_payment, but no rule does."
    ]


def test_a_user_who_gets_what_they_want_agrees_to_what_the_solution_does() -> None:
    pay, restore = Call("take_payment", {"amount": 167.0}), Call("restore_line", {"line_id": "LN-0001"})
    sound = msgspec.structs.replace(SOUND, changes=[])
    only = msgspec.structs.replace(sound, consents=[ConsentRule("restore_line")])
    steps = [Say("Done."), restore, pay, Call("log_contact")]
    assert scenario_problems(sound, LEXICON, oracle=steps) == []
    [problem] = scenario_problems(only, LEXICON, oracle=steps)
    assert problem.startswith("consents lack take_payment")
    denied = msgspec.structs.replace(only, settles=[EventPattern("denied", by="agent", slot="refund")])
    assert scenario_problems(denied, LEXICON, oracle=steps) == []
    later = msgspec.structs.replace(only, changes=change(trigger=EventPattern("proposed", by="agent")))
    assert scenario_problems(later, LEXICON, oracle=steps) == []
