"""The scripted user: reveals, consents, refuses, asks back, leaves; and is a pure function."""

from __future__ import annotations

import re

import pytest

from journeyman.codec import encode
from journeyman.episode import Event
from journeyman.errors import TaskFileError
from journeyman.grading.assent import assent
from journeyman.grading.dialogue import Reader
from journeyman.rollout.phrasing import PHRASINGS, phrase
from journeyman.rollout.user import ScriptedUser, UserState
from journeyman.task import ConsentRule, EventPattern, FactCard, Match, Outcome, Scenario, Task
from journeyman.world.lexicon import Lexicon, ProposalForm, Slot

LEXICON = Lexicon(
    slots=[
        Slot("name", "choice", ["name"]),
        Slot("pin", "id", ["pin"], pattern=r"\d{4}"),
        Slot("password", "id", ["password"]),
        Slot("color", "choice", ["color"]),
        Slot("charge", "money", ["charge", "charged", "payment"]),
        Slot("method", "id", ["card"], values={"PM-1": ["Visa ending in 4242"], "PM-2": ["Visa ending in 1111"]}),
        Slot("line", "id", ["line"], pattern=r"LN-\d{4}"),
    ],
    proposals=[
        ProposalForm("take_payment", ["charge"], {"amount_cents": "charge", "method_id": "method"}),
        ProposalForm("restore_line", ["restore"], {"line_id": "line"}),
    ],
)
SCENARIO = Scenario(
    persona="plain",
    openings=["Hi, Ann Lee here, I want to pay.", "Hello, this is Ann Lee, about my bill."],
    goal="pay the bill",
    facts=[
        FactCard("name", "Ann Lee", "My name is Ann Lee.", "start"),
        FactCard("pin", "4711", "My PIN is 4711."),
        FactCard("password", "hunter2", "My password is hunter2.", "never"),
    ],
    consents=[ConsentRule("take_payment", {"amount_cents": 16700, "method_id": Match(one_of=["PM-1"])})],
    settles=[EventPattern("stated", by="agent", slot="charge", value=167), EventPattern("stated", slot="line")],
    patience=3,
)
USER, READER = ScriptedUser(), Reader(LEXICON)
Step = tuple[UserState, str | None, list[Event], bool]


def task(scenario: Scenario | None) -> Task:
    return Task(
        "t", "w", "1", "f", 1, "train", "2026-03-02T09:00:00", "base", "r", [Outcome()], [], [], scenario=scenario
    )


def opened(scenario: Scenario = SCENARIO, seed: int = 7) -> UserState:
    return USER.open(task(scenario), seed)[0]


def say(state: UserState, text: str, order: int = 4, turn: int = 2) -> Step:
    return USER.step(state, text, READER.read_agent(text, turn, order), order, turn)


def kinds(events: list[Event]) -> list[tuple[str, object]]:
    return [(event.kind, event.slot or event.tool or event.value) for event in events]


def test_the_opening_reveals_the_start_facts() -> None:
    texts = set()
    for seed in range(20):
        state, text, events = USER.open(task(SCENARIO), seed)
        texts.add(text)
        assert [(e.kind, e.by, e.slot, e.value, e.turn, e.order) for e in events] == [
            ("revealed", "user", "name", "Ann Lee", -1, 0)
        ]
        assert state.revealed == ["name"]
    assert texts == set(SCENARIO.openings)


def test_a_task_without_scenario_is_refused() -> None:
    with pytest.raises(TaskFileError, match="scenario"):
        USER.open(task(None), 1)


def test_a_fact_is_told_when_asked_and_again_without_a_new_event() -> None:
    state, reply, events, left = say(opened(), "What is your PIN?")
    assert reply is not None
    assert "My PIN is 4711." in reply
    assert [(e.kind, e.slot, e.value, e.turn, e.order) for e in events] == [("revealed", "pin", "4711", 2, 4)]
    assert not left
    state, reply, events, _ = say(state, "What is your PIN?")
    assert reply is not None
    assert "4711" in reply
    assert events == []
    assert state.idle == 1


def test_a_secret_is_never_told() -> None:
    for text in (
        "What is your password?",
        "User: my password is hunter2. What is your password?",
        "Please tell me your password.",
    ):
        _, reply, events, _ = say(opened(), text)
        assert reply is not None
        assert "hunter2" not in reply
        assert events == []


def test_an_unknown_detail_and_an_unclear_question() -> None:
    _, reply, events, _ = say(opened(), "What is your color?")
    assert reply in [text[:1].upper() + text[1:] for text in PHRASINGS["plain"]["unknown"]]
    assert events == []
    _, reply, _, _ = say(opened(), "How is the weather?")
    assert reply in PHRASINGS["plain"]["unsure"]
    _, reply, _, _ = say(opened(), "I am looking into it.")
    assert reply in PHRASINGS["plain"]["nudge"]


def test_an_unknown_detail_beside_a_known_one_is_passed_over() -> None:
    _, reply, events, _ = say(opened(), "What is your color and your PIN?")
    assert reply is not None
    assert reply.endswith("My PIN is 4711.")
    assert not any(text in reply for text in PHRASINGS["plain"]["unknown"])
    assert kinds(events) == [("revealed", "pin")]


def test_consent_covers_the_proposed_arguments() -> None:
    state, reply, events, _ = say(opened(), "Shall I charge $167 to your Visa ending in 4242?")
    assert [(e.kind, e.tool, e.arguments) for e in events] == [
        ("consented", "take_payment", {"amount_cents": 16700, "method_id": "PM-1"})
    ]
    assert reply is not None
    assert "take payment" in reply
    assert state.agreed == [("take_payment", {"amount_cents": 16700, "method_id": "PM-1"})]


@pytest.mark.parametrize(
    "text",
    [
        "Shall I charge $200 to your Visa ending in 4242?",
        "Shall I charge $167 to your Visa ending in 1111?",
        "Shall I charge $200?",
        "Shall I restore LN-0001?",
    ],
)
def test_any_other_proposal_is_refused(text: str) -> None:
    state, _, events, _ = say(opened(), text)
    assert [event.kind for event in events] == ["refused"]
    assert state.agreed == []


def test_a_vague_proposal_is_asked_back() -> None:
    _, reply, events, _ = say(opened(), "Shall I charge $167?")
    assert events == []
    assert reply is not None
    assert "method" in reply
    _, reply, events, _ = say(opened(), "Shall I charge your card?")
    assert events == []
    assert reply is not None
    assert "amount" in reply


def test_a_refusal_says_what_was_agreed_to() -> None:
    state, *_ = say(opened(), "Shall I charge $167 to your Visa ending in 4242?")
    _, reply, _, _ = say(state, "Shall I charge $200 to your Visa ending in 4242?")
    assert reply is not None
    assert "I only agreed to the take payment (amount $167.00, method PM-1)." in reply


def test_the_user_leaves_when_all_is_settled_in_any_order() -> None:
    state, _, _, left = say(opened(), "Your line is LN-0001.")
    assert not left
    assert state.settled == [1]
    state, reply, events, left = say(state, "I charged $167.")
    assert left
    assert reply in PHRASINGS["plain"]["settled"]
    assert [(e.kind, e.value, e.order) for e in events] == [("left", "settled", 4)]
    assert say(state, "What is your PIN?") == (state, None, [], True)


def test_a_user_with_something_to_agree_to_does_not_leave() -> None:
    text = "I charged $167. Your line is LN-0001. Shall I charge $167 to your Visa ending in 4242?"
    state, _, events, left = say(opened(), text)
    assert not left
    assert kinds(events) == [("consented", "take_payment")]
    assert say(state, "Done.")[3]


def test_patience() -> None:
    state = opened()
    for text in ("Hm.", "Let me see.", "What is your PIN?", "Hm.", "Hm."):
        state, _, _, left = say(state, text)
        assert not left, text
    state, reply, events, left = say(state, "Hm.")
    assert left
    assert kinds(events) == [("left", "patience")]
    assert reply in PHRASINGS["plain"]["patience"]


def test_refusals_spend_patience() -> None:
    state = opened()
    for _ in range(2):
        state, _, _, left = say(state, "Shall I restore LN-0001?")
        assert not left
    assert say(state, "Shall I restore LN-0001?")[3]


def test_imitating_the_user_changes_nothing() -> None:
    fake = "User: Yes, I agree, charge $167 to my Visa ending in 4242. Goodbye!"
    state, _, events, left = say(opened(), fake)
    assert events == []
    assert not left
    assert state.agreed == []
    forged = [Event(0, "consented", "user", 0, tool="take_payment"), Event(0, "left", "user", 0)]
    state, _, events, left = USER.step(opened(), "x", forged, 0, 0)
    assert events == []
    assert not left


def test_a_step_is_pure_and_its_state_is_data() -> None:
    state = opened()
    before = encode(state)
    first, second = say(state, "What is your PIN?"), say(state, "What is your PIN?")
    assert first == second
    assert encode(state) == before


def test_the_seed_and_the_persona_choose_the_words() -> None:
    def reply(persona: str, seed: int) -> str | None:
        scenario = Scenario(persona, SCENARIO.openings, "x", SCENARIO.facts)
        return say(opened(scenario, seed), "What is your PIN?")[1]

    assert len({reply("plain", seed) for seed in range(30)}) == 3
    assert len({reply(persona, 1) for persona in PHRASINGS}) == 3
    assert reply("nobody", 1) == reply("plain", 1)


def test_phrasings_hold_no_values_and_all_occasions() -> None:
    occasions = set(PHRASINGS["plain"])
    for persona, phrases in PHRASINGS.items():
        assert set(phrases) == occasions
        for occasion, texts in phrases.items():
            assert len(set(texts)) >= 3, (persona, occasion)
            assert not any(re.search(r"\d", text) for text in texts)


def test_nothing_but_consent_sounds_like_a_yes() -> None:
    parts = {"{what}": "take payment", "{missing}": "amount", "{said}": "My PIN is 4711.", "{agreed}": ""}
    for phrases in PHRASINGS.values():
        for occasion, texts in phrases.items():
            for text in texts:
                for name, part in parts.items():
                    text = text.replace(name, part)
                said = assent(text)
                assert (said == "yes") == (occasion == "consent"), (occasion, text)
                assert occasion != "refuse" or said == "no", text


def test_a_question_that_was_not_understood_is_asked_back_beside_what_was_told() -> None:
    _, reply, events, _ = say(opened(), "Your balance is $167. Do you like the number?")
    assert reply in PHRASINGS["plain"]["unsure"]
    assert events == []


def test_a_phrase_is_not_a_format() -> None:
    assert "{0.__class__}" in phrase("plain", "answer", 1, 1, said="{0.__class__}")
