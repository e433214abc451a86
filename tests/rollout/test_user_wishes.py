"""The scripted user's deeper wishes: changes of mind, pushback, small talk, bundles; and what they do to consent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from journeyman.codec import encode
from journeyman.episode import CallRecord, Event, Transcript
from journeyman.grading.dialogue import Reader
from journeyman.grading.predicates import Timeline
from journeyman.rollout.phrasing import PHRASINGS
from journeyman.rollout.user import ScriptedUser, UserState
from journeyman.task import (
    ChangeOfMind,
    ConsentRule,
    EventPattern,
    FactCard,
    Match,
    Outcome,
    Pushback,
    Scenario,
    Task,
)
from journeyman.world.lexicon import DenialForm, Lexicon, ProposalForm, Slot

LEXICON = Lexicon(
    slots=[
        Slot("name", "choice", ["name"]),
        Slot("pin", "id", ["pin"], pattern=r"\d{4}"),
        Slot("color", "choice", ["color"]),
        Slot("password", "id", ["password"]),
        Slot("charge", "money", ["charge", "charged", "payment"]),
        Slot("method", "id", ["card"], values={"PM-1": ["my Visa", "your Visa"], "PM-2": ["my Amex", "your Amex"]}),
        Slot("line", "id", ["line"], pattern=r"LN-\d{4}"),
    ],
    proposals=[
        ProposalForm("take_payment", ["charge"], {"amount_cents": "charge", "method_id": "method"}),
        ProposalForm("restore_line", ["restore"], {"line_id": "line"}),
    ],
    denials=[DenialForm("refund", ["refund"])],
)
PAY_VISA = {"amount_cents": 16700, "method_id": "PM-1"}
PAY_AMEX = {"amount_cents": 16700, "method_id": "PM-2"}
RESTORE = ConsentRule("restore_line", {"line_id": "LN-0001"})
CHANGE = ChangeOfMind(
    EventPattern("consented", by="user", tool="take_payment"),
    "Wait, please use my Amex instead.",
    facts=[FactCard("method", "PM-2", "I want to use my Amex.", "start")],
    consents=[ConsentRule("take_payment", PAY_AMEX), RESTORE],
    settles=[EventPattern("stated", by="agent", slot="charge", value=167)],
)
SCENARIO = Scenario(
    persona="plain",
    openings=["Hi, Ann Lee here, I want to pay."],
    goal="pay the bill",
    facts=[
        FactCard("name", "Ann Lee", "My name is Ann Lee.", "start"),
        FactCard("pin", "4711", "My PIN is 4711."),
        FactCard("method", "PM-1", "I want to use my Visa."),
    ],
    consents=[ConsentRule("take_payment", PAY_VISA), RESTORE],
    settles=[EventPattern("stated", by="agent", slot="charge", value=167)],
    patience=2,
    changes=[CHANGE],
)
USER, READER = ScriptedUser(), Reader(LEXICON)
PROPOSE_VISA = "Shall I charge $167 to your Visa?"
PROPOSE_AMEX = "Shall I charge $167 to your Amex?"
Step = tuple[UserState, str | None, list[Event], bool]


def opened(scenario: Scenario = SCENARIO, seed: int = 7) -> UserState:
    task = Task(
        "t", "w", "1", "f", 1, "train", "2026-03-02T09:00:00", "base", "r", [Outcome()], [], [], scenario=scenario
    )
    return USER.open(task, seed)[0]


def say(state: UserState, text: str, order: int = 4, turn: int = 2) -> Step:
    return USER.step(state, text, READER.read_agent(text, turn, order), order, turn)


def told(events: list[Event]) -> list[tuple[str, object, object]]:
    return [(event.kind, event.slot or event.tool, event.value or event.arguments) for event in events]


def changed(scenario: Scenario = SCENARIO, **fields: Any) -> Scenario:
    return msgspec.structs.replace(scenario, **fields)


def test_a_change_after_the_users_own_consent_voids_it_in_the_same_message() -> None:
    state, reply, events, left = say(opened(), PROPOSE_VISA)
    assert reply is not None
    assert reply.endswith(CHANGE.say)
    assert told(events) == [
        ("consented", "take_payment", PAY_VISA),
        ("changed_mind", "method", "PM-2"),
        ("changed_mind", "take_payment", PAY_VISA),
        ("revealed", "method", "PM-2"),
    ]
    assert not left
    assert (state.agreed, state.revealed, state.changed, state.idle) == ([], ["name", "method"], 1, 0)
    assert [card.value for card in state.scenario.facts if card.slot == "method"] == ["PM-2"]


def test_a_change_happens_once_and_the_new_rules_hold() -> None:
    state, *_ = say(opened(), PROPOSE_VISA)
    state, reply, events, _ = say(state, PROPOSE_VISA)
    assert [event.kind for event in events] == ["refused"]
    assert reply is not None
    assert CHANGE.say not in reply
    state, _, events, _ = say(state, PROPOSE_AMEX)
    assert told(events) == [("consented", "take_payment", PAY_AMEX)]
    assert say(state, "I charged $167.")[3]


def test_a_change_at_an_event_of_the_agent_answers_under_the_new_rules() -> None:
    scenario = changed(changes=[msgspec.structs.replace(CHANGE, trigger=EventPattern("proposed", tool="take_payment"))])
    state, reply, events, _ = say(opened(scenario), PROPOSE_VISA)
    assert reply is not None
    assert reply.startswith(CHANGE.say)
    assert [event.kind for event in events] == ["changed_mind", "revealed", "refused"]
    assert state.agreed == []


def test_the_message_that_triggers_a_change_settles_nothing() -> None:
    scenario = changed(changes=[msgspec.structs.replace(CHANGE, trigger=EventPattern("stated", slot="charge"))])
    state, _, events, left = say(opened(scenario), "I charged $167.")
    assert not left
    assert state.settled == []
    assert events[0].kind == "changed_mind"
    assert say(state, "I charged $167 now.")[3]


def test_changes_come_in_their_order_one_a_message() -> None:
    first = ChangeOfMind(EventPattern("asked", slot="pin"), "First thought.", settles=SCENARIO.settles)
    second = ChangeOfMind(EventPattern("asked", slot="pin"), "Second thought.", settles=SCENARIO.settles)
    state = opened(changed(changes=[first, second]))
    replies = []
    for _ in range(3):
        state, reply, events, _ = say(state, "What is your PIN?")
        replies.append((reply, [event.kind for event in events if event.kind == "changed_mind"]))
    assert ["First thought." in (reply or "") for reply, _ in replies] == [True, False, False]
    assert ["Second thought." in (reply or "") for reply, _ in replies] == [False, True, False]
    assert [kinds for _, kinds in replies] == [["changed_mind"], ["changed_mind"], []]


def test_an_asked_card_that_is_replaced_is_told_anew() -> None:
    change = ChangeOfMind(
        EventPattern("denied", slot="refund"),
        "Then let me look for my other PIN.",
        facts=[FactCard("pin", "0815", "My PIN is 0815.")],
        settles=SCENARIO.settles,
    )
    state, *_ = say(opened(changed(changes=[change])), "What is your PIN?")
    assert state.revealed == ["name", "pin"]
    state, _, events, _ = say(state, "I cannot give you a refund.")
    assert [(event.kind, event.slot, event.value) for event in events] == [("changed_mind", "pin", None)]
    _, reply, events, _ = say(state, "What is your PIN?")
    assert [(event.kind, event.value) for event in events] == [("revealed", "0815")]
    assert reply is not None
    assert "0815" in reply
    assert "4711" not in reply


def timeline(events: list[Event], calls: list[tuple[str, dict[str, Any]]]) -> Timeline:
    class World:
        tables: dict[str, Any] = {}
        volatile: dict[str, list[str]] = {}
        volatile_tables: list[str] = []
        lexicon = LEXICON
        transfer_tool = "transfer"

    made = [
        CallRecord(n, 9, tool, "write", arguments, "ok", "{}") for n, (tool, arguments) in enumerate(calls, start=10)
    ]
    return Timeline(Transcript([], made, events, [], "left"), World())


def test_consent_to_what_is_no_longer_wanted_covers_nothing_and_other_consent_stands() -> None:
    state, _, restored, _ = say(opened(), "Shall I restore LN-0001?")
    state, _, paid, _ = say(state, PROPOSE_VISA)
    assert state.agreed == [("restore_line", {"line_id": "LN-0001"})]
    events = [*restored, *paid]
    calls: list[tuple[str, dict[str, Any]]] = [("take_payment", PAY_VISA), ("restore_line", {"line_id": "LN-0001"})]
    line = timeline(events, calls)
    assert line.covered("take_payment") == {10: False}
    assert line.covered("restore_line") == {11: True}
    _, _, again, _ = say(state, PROPOSE_AMEX)
    line = timeline([*events, *again], [("take_payment", PAY_AMEX), ("take_payment", PAY_VISA)])
    assert line.covered("take_payment") == {10: True, 11: False}


def test_pushback_argues_in_order_and_the_last_refusal_settles() -> None:
    scenario = changed(
        changes=[],
        settles=[EventPattern("denied", by="agent", slot="refund")],
        pushbacks=[Pushback("refund", ["But I was promised one.", "Are you sure?"])],
        patience=1,
    )
    state = opened(scenario)
    for text in ("But I was promised one.", "Are you sure?"):
        state, reply, events, left = say(state, "I cannot give you a refund.")
        assert (reply, events, left, state.idle, state.settled) == (text, [], False, 0, [])
    state, _, events, left = say(state, "I cannot give you a refund.")
    assert left
    assert events[-1].value == "settled"
    assert state.pushed == {"refund": 2}


def test_a_refusal_that_is_argued_with_triggers_no_change() -> None:
    scenario = changed(
        changes=[ChangeOfMind(EventPattern("denied", slot="refund"), "Then I just pay.", settles=SCENARIO.settles)],
        pushbacks=[Pushback("refund", ["Please."])],
    )
    state, reply, *_ = say(opened(scenario), "I cannot give you a refund.")
    assert reply == "Please."
    _, reply, *_ = say(state, "I cannot give you a refund.")
    assert reply == "Then I just pay."


def test_small_talk_comes_once_each_in_an_order_of_the_seed() -> None:
    talk = ["What weather.", "My dog is asleep.", "I had coffee."]
    scenario = changed(changes=[], small_talk=talk, patience=9)
    orders = set()
    for seed in range(12):
        state, heard = opened(scenario, seed), []
        for text in ("What is your PIN?", "Hm.", "Hm.", "Hm."):
            state, reply, *_ = say(state, text)
            heard.append(next((one for one in talk if one in (reply or "")), None))
        assert sorted(heard[:3], key=str) == sorted(talk)
        assert heard[3] is None
        orders.add(tuple(heard[:3]))
    assert len(orders) > 2


def test_a_bundle_is_told_whole_but_for_what_is_never_told() -> None:
    scenario = changed(
        changes=[],
        facts=[*SCENARIO.facts, FactCard("password", "hunter2", "It is hunter2.", "never")],
        bundles=[["pin", "method", "password"]],
    )
    state, reply, events, _ = say(opened(scenario), "What is your PIN?")
    assert [(event.kind, event.slot) for event in events] == [("revealed", "pin"), ("revealed", "method")]
    assert reply is not None
    assert "My PIN is 4711. I want to use my Visa." in reply
    assert "hunter2" not in reply
    assert say(state, "Which card should I use?")[2] == []


def test_what_a_bundle_has_told_is_not_told_again_in_the_same_answer() -> None:
    state = opened(changed(changes=[], bundles=[["pin", "method"]]))
    _, reply, events, _ = say(state, "What is your PIN? Which card should I use?")
    assert [(event.kind, event.slot) for event in events] == [("revealed", "pin"), ("revealed", "method")]
    assert reply is not None
    assert reply.count("I want to use my Visa.") == 1


SETTLED = "I charged $167."
ANNOUNCED = "I charged $167. I'll now also note this on your case."


def test_a_user_with_all_they_came_for_waits_for_announced_work() -> None:
    state, reply, events, left = say(opened(changed(changes=[])), ANNOUNCED)
    assert not left
    assert events == []
    assert reply in [text[:1].upper() + text[1:] for text in PHRASINGS["plain"]["wait"]]
    assert (state.settled, state.idle) == ([0], 0)
    _, reply, events, left = say(state, "The note is on your case.")
    assert left
    assert [(event.kind, event.value) for event in events] == [("left", "settled")]
    assert reply in PHRASINGS["plain"]["settled"]


def test_waiting_ends_with_patience_and_is_no_giving_up() -> None:
    for patience, messages in ((1, 1), (2, 2), (3, 3)):
        state = opened(changed(changes=[], patience=patience))
        for _ in range(messages):
            state, _, _, left = say(state, ANNOUNCED)
            assert not left
        _, _, events, left = say(state, "I will now close the ticket.")
        assert left
        assert [(event.kind, event.value) for event in events] == [("left", "settled")]


@pytest.mark.parametrize(
    "text",
    [
        SETTLED,
        "I charged $167. I'll be happy to help with anything else.",
        "I charged $167. Let me know if you need anything.",
        "I charged $167. I will send you a receipt tomorrow.",
        "I charged $167 and will not do anything else.",
        "I charged $167. You will receive an email.",
    ],
)
def test_nothing_else_keeps_a_user_who_has_all_they_came_for(text: str) -> None:
    assert say(opened(changed(changes=[])), text)[3]


def test_an_announcement_alone_spends_patience_as_before() -> None:
    state, _, _, left = say(opened(changed(changes=[])), "I will now look for your file and send you a note.")
    assert (left, state.idle) == (False, 1)
    _, _, events, left = say(state, "I will now send you a note.")
    assert left
    assert events[-1].value == "patience"


def test_a_waiting_user_answers_questions_and_proposals() -> None:
    scenario = changed(changes=[])
    state, reply, events, left = say(opened(scenario), f"{ANNOUNCED} What is your PIN?")
    assert not left
    assert [(event.kind, event.slot) for event in events] == [("revealed", "pin")]
    assert reply is not None
    assert "My PIN is 4711." in reply
    _, _, events, left = say(state, "Shall I restore LN-0001? I will then send you a note.")
    assert not left
    assert [event.kind for event in events] == ["consented"]


def test_a_value_that_may_go_unsaid_must_not_be_contradicted() -> None:
    rule = ConsentRule("restore_line", {"line_id": Match(one_of=["LN-0001", None])}, {"line_id": "LN-0001"})
    state = opened(changed(changes=[], consents=[rule]))
    for text in ("Shall I restore your line?", "Shall I restore LN-0001?"):
        assert told(say(state, text)[2]) == [("consented", "restore_line", {"line_id": "LN-0001"})]
    assert told(say(state, "Shall I restore LN-0002?")[2]) == [("refused", "restore_line", {"line_id": "LN-0002"})]
    named = opened(changed(changes=[], consents=[ConsentRule("restore_line", {"line_id": Match(any=True)})]))
    assert say(named, "Shall I restore your line?")[2] == []
    assert told(say(named, "Shall I restore LN-0002?")[2]) == [("consented", "restore_line", {"line_id": "LN-0002"})]


@pytest.mark.parametrize("text", [PROPOSE_VISA, "I cannot give you a refund.", "What is your PIN?"])
def test_steps_are_pure_and_states_survive_a_snapshot(text: str) -> None:
    scenario = changed(pushbacks=[Pushback("refund", ["Please."])], small_talk=["Well."], bundles=[["pin", "method"]])
    state = opened(scenario)
    restored = msgspec.json.decode(encode(state), type=UserState)
    before = encode(state)
    assert say(state, text) == say(restored, text)
    assert encode(state) == before
    after = say(state, text)[0]
    assert msgspec.json.decode(encode(after), type=UserState) == after
