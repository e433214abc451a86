"""A user that a model plays, with a scripted model in its place: events, faults, retries, usage, directions."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import corner_shop
import msgspec
import pytest
from test_loop import Puppet
from test_user_wishes import CHANGE, LEXICON, PAY_VISA, PROPOSE_AMEX, PROPOSE_VISA, SCENARIO

from journeyman.codec import seed_of
from journeyman.engine.chat import ChatReply, EndpointFailed
from journeyman.episode import Episode, Event, Seeds, Turn, Usage
from journeyman.grading.dialogue import Reader
from journeyman.rollout.loop import PlaySettings, play
from journeyman.rollout.policy import EpisodeSpec
from journeyman.rollout.scripted import SCRIPTED
from journeyman.rollout.user import opening
from journeyman.rollout.user_answer import MalformedAnswer, UserAnswer, parse_answer
from journeyman.rollout.user_events import answered_proposals
from journeyman.rollout.user_llm import ModelledUser, ModelledUsers
from journeyman.rollout.user_prompt import system_message
from journeyman.task import ConsentRule, FactCard, Outcome, Pushback, Scenario, Task

READER = Reader(LEXICON)


@dataclass
class Model:
    """Answers with a list of texts; the last one repeats. An exception in the list is raised."""

    answers: list[Any]
    asked: list[list[dict[str, Any]]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    async def chat(
        self, messages: list[dict[str, Any]], *, max_tokens: int, temperature: float, seed: int
    ) -> ChatReply:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(messages)
        self.seeds.append(seed)
        if isinstance(answer, Exception):
            raise answer
        return ChatReply(answer, prompt_tokens=100, completion_tokens=10)


def said(text: str, **more: Any) -> str:
    return json.dumps({"say": text, **more})


def user_task(scenario: Scenario) -> Task:
    return Task(
        "t", "w", "1", "f", 1, "train", "2026-03-02T09:00:00", "base", "r", [Outcome()], [], [], scenario=scenario
    )


def user_of(model: Model, scenario: Scenario = SCENARIO) -> ModelledUser:
    spec = EpisodeSpec("eval/0/0/0", user_task(scenario), Seeds(1, 7, 3))
    user = ModelledUser(ModelledUsers(model), spec, READER)
    assert user.open()[0] in scenario.openings
    return user


def step(user: ModelledUser, text: str, order: int = 4, turn: int = 2) -> tuple[str | None, list[Event], bool]:
    return asyncio.run(user.answer(text, READER.read_agent(text, turn, order), order, turn))


def plain(scenario: Scenario = SCENARIO, **fields: Any) -> Scenario:
    return msgspec.structs.replace(scenario, **{"changes": [], **fields})


def test_a_fact_in_the_text_is_read_without_a_claim() -> None:
    user = user_of(Model([said("It's 4711.")]), plain())
    reply, events, left = step(user, "What is your PIN?")
    assert (reply, left) == ("It's 4711.", False)
    assert [(e.kind, e.by, e.slot, e.value, e.turn, e.order) for e in events] == [
        ("revealed", "user", "pin", "4711", 2, 4)
    ]
    assert user.faults() == []
    assert user.usage() == Usage(100, 10, 1)


def test_a_claim_counts_where_the_reader_cannot_decide_and_not_against_digits() -> None:
    card = FactCard("color", "mauve", "It is mauve.")
    claim = {"reveals": [{"slot": "color", "quote": "a kind of purple"}, {"slot": "pin", "quote": "you have it"}]}
    user = user_of(
        Model([said("It has a kind of purple, and you have it.", **claim)]), plain(facts=[*SCENARIO.facts, card])
    )
    _, events, _ = step(user, "What is the color, and what is your PIN?")
    assert [(e.slot, e.value, e.quote) for e in events] == [("color", "mauve", "a kind of purple")]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said("Yes, go ahead."), "consented"),
        (said("No, please don't."), "refused"),
        (said("No, please don't.", consents=[{"tool": "take_payment", "quote": "please"}]), "refused"),
        (said("Fire away!", consents=[{"tool": "take_payment", "quote": "Fire away"}]), "consented"),
        (said("Hands off!", refuses=[{"tool": "take_payment", "quote": "Hands off"}]), "refused"),
        (said("What would that cost?"), None),
    ],
)
def test_the_reader_decides_consent_and_the_claim_where_it_cannot(answer: str, kind: str | None) -> None:
    user = user_of(Model([answer]), plain())
    _, events, _ = step(user, PROPOSE_VISA)
    assert [(e.kind, e.tool, e.arguments) for e in events] == ([(kind, "take_payment", PAY_VISA)] if kind else [])
    assert user.faults() == []


def test_consent_against_the_rules_is_labelled() -> None:
    user = user_of(Model([said("Yes, please.")]), plain())
    _, events, _ = step(user, PROPOSE_AMEX)
    assert [e.kind for e in events] == ["consented"]
    assert user.faults() == ["wrong_consent"]


BOTH = "Shall I charge $167 to your Visa and restore LN-0001?"
PAY_CLAIM = {"consents": [{"tool": "take_payment", "quote": "charge it"}]}


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        # only what is claimed
        (said("Yes, please charge it. I will think about the line.", **PAY_CLAIM), [("consented", "take_payment")]),
        (said("Please charge it, go ahead. Why restore the line?", **PAY_CLAIM), [("consented", "take_payment")]),
        # no claim: nothing but a plain yes or no is one to both
        (said("Yes, please charge it. I will think about the line."), []),
        (said("Yes, go ahead with both of these things, please, as soon as you can manage."), ["both"]),
        (said("Yes, please."), ["both"]),
        # an answer to another question, or a thanks
        (said("Sure, my PIN is 4711."), []),
        (said("OK, thanks for telling me. Which line was it again?"), []),
        (said("Right. What does that mean?"), []),
    ],
)
def test_of_several_proposals_only_what_is_claimed_is_agreed_to(answer: str, kinds: list[Any]) -> None:
    user = user_of(Model([answer]), plain())
    _, events, _ = step(user, BOTH)
    decided = [(e.kind, e.tool) for e in events if e.kind in ("consented", "refused")]
    both = [("consented", "take_payment"), ("consented", "restore_line")]
    assert decided == (both if kinds == ["both"] else kinds)


@pytest.mark.parametrize(
    "text",
    ["Sure, my PIN is 4711.", "OK, thanks for telling me.", "Right. What does that mean?", "Fine. Which card is it?"],
)
def test_taking_note_of_a_proposal_is_no_consent(text: str) -> None:
    user = user_of(Model([said(text)]), plain())
    _, events, _ = step(user, PROPOSE_VISA)
    assert [e for e in events if e.kind in ("consented", "refused")] == []


def test_a_yes_that_the_user_claims_to_be_a_no_is_neither() -> None:
    user = user_of(Model([said("Yes, go ahead.", refuses=[{"tool": "take_payment", "quote": "Yes"}])]), plain())
    _, events, _ = step(user, PROPOSE_VISA)
    assert events == []


def test_of_two_proposals_of_one_tool_the_one_named_is_agreed_to() -> None:
    def decide(text: str) -> list[dict[str, Any]]:
        heard = [
            Event(2, "proposed", "agent", 4, tool="take_payment", arguments={"amount_cents": 16700, "method": method})
            for method in ("PM-1", "PM-2")
        ]
        state = opening(user_task(plain()), 7)[0]
        _, events, _ = answered_proposals(state, UserAnswer(text), heard, 4, 2)
        return [dict(event.arguments) for event in events]

    assert decide("Yes, PM-2 please.") == [{"amount_cents": 16700, "method": "PM-2"}]
    assert decide("Yes, please.") == []


def test_two_proposals_answered_apart() -> None:
    claims = {
        "consents": [{"tool": "restore_line", "quote": "yes to the line"}],
        "refuses": [{"tool": "take_payment", "quote": "no to the charge"}],
    }
    user = user_of(Model([said("It's yes to the line, no to the charge.", **claims)]), plain())
    _, events, _ = step(user, "Shall I charge $167 to your Visa and restore LN-0001?")
    assert [(e.kind, e.tool) for e in events] == [("refused", "take_payment"), ("consented", "restore_line")]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("My PIN is 9999.", ["fact_invented"]),
        ("My line is LN-0042.", ["fact_invented"]),
        ("You may take $55 for it.", ["fact_invented"]),
        ("The password is hunter2.", ["hidden_fact_leaked"]),
        ("My PIN is 4711.", []),
        ("I am Ann Lee and I have two kids.", []),
        ("The $167 you named are fine.", []),
    ],
)
def test_what_the_user_should_not_have_said(text: str, faults: list[str]) -> None:
    hidden = FactCard("password", "hunter2", "It is hunter2.", "never")
    user = user_of(Model([said(text)]), plain(facts=[*SCENARIO.facts, hidden]))
    step(user, "The charge would be $167. What is your PIN and your password?")
    assert user.faults() == faults


def test_leaving_early_is_labelled_and_leaving_when_settled_is_not() -> None:
    early = user_of(Model([said("Bye.", done=True)]), plain())
    _, events, left = step(early, "Hm.")
    assert left
    assert [(e.kind, e.value) for e in events] == [("left", "early")]
    assert early.faults() == ["ended_before_completion"]
    settled = user_of(Model([said("Thanks, bye.")]), plain())
    _, events, left = step(settled, "I charged $167.")
    assert left
    assert [(e.kind, e.value) for e in events] == [("left", "settled")]
    assert settled.faults() == []


def test_announced_work_is_waited_for() -> None:
    model = Model([said("I'll wait."), said("Thanks, bye.")])
    user = user_of(model, plain())
    reply, events, left = step(user, "I charged $167. I'll now also note this on your case.")
    assert (reply, events, left) == ("I'll wait.", [], False)
    assert "the agent has more to do" in model.asked[0][-1]["content"]
    _, events, left = step(user, "The note is on your case.")
    assert left
    assert [(e.kind, e.value) for e in events] == [("left", "settled")]
    assert user.faults() == []
    gone = user_of(Model([said("Bye.", done=True)]), plain())
    assert step(gone, "I charged $167. I'll now also note this on your case.")[2]
    assert gone.faults() == ["ended_before_completion"]


def test_patience_is_counted_by_rules_whatever_the_model_says() -> None:
    model = Model([said("And?")])
    user = user_of(model, plain(patience=2))
    assert not step(user, "Hm.")[2]
    _, events, left = step(user, "Hm.")
    assert left
    assert events[-1].value == "patience"
    assert user.faults() == []
    assert "lost patience" in model.asked[-1][-1]["content"]
    assert step(user, "Wait!") == (None, [], True)


def test_a_malformed_answer_is_asked_for_once_more_with_another_seed() -> None:
    model = Model(["I am not JSON.", said("It's 4711.")])
    user = user_of(model, plain())
    assert step(user, "What is your PIN?")[0] == "It's 4711."
    assert user.usage() == Usage(200, 20, 2)
    assert len(set(model.seeds)) == 2
    assert "cannot be used: there is no JSON object in it" in model.asked[1][-1]["content"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("{", "no JSON object"),
        ('{"say": 5}', "not an object of the form"),
        ('{"say": "  "}', "`say` is empty"),
        ('{"say": ""}', "not an object of the form"),
        ('{"reveals": []}', "not an object of the form"),
        ('{"say": "Hi.", "reveals": [{"slot": "pin", "quote": "4711"}]}', "does not stand in `say`"),
        ('{"say": "Hi.", "done": "yes"}', "not an object of the form"),
    ],
)
def test_answers_that_cannot_be_used(text: str, why: str) -> None:
    with pytest.raises(MalformedAnswer, match=why):
        parse_answer(text)


def test_thinking_and_fences_are_passed_over() -> None:
    assert parse_answer('<think>{"say": "no"}</think>```json\n{"say": "Hi."}\n```').say == "Hi."
    assert parse_answer('Here you are: {"say": "Hi.", "mood": "good"} Bye').say == "Hi."


def test_the_model_learns_of_a_change_only_when_it_is_due() -> None:
    scenario = msgspec.structs.replace(
        SCENARIO,
        changes=[
            msgspec.structs.replace(
                CHANGE, trigger=msgspec.structs.replace(CHANGE.trigger, kind="proposed", by="agent")
            )
        ],
    )
    model = Model([said("Sure."), said("Hm, take my Amex please. No, not the Visa.")])
    user = user_of(model, scenario)
    step(user, "Let me see.")
    assert "Amex" not in json.dumps(model.asked[0])
    _, events, _ = step(user, PROPOSE_VISA)
    assert "Wait, please use my Amex instead." in model.asked[1][-1]["content"]
    assert [e.kind for e in events] == ["changed_mind", "revealed", "refused"]
    assert user.faults() == []


def test_a_change_that_the_model_does_not_tell_is_malformed() -> None:
    scenario = msgspec.structs.replace(
        SCENARIO,
        changes=[
            msgspec.structs.replace(
                CHANGE, trigger=msgspec.structs.replace(CHANGE.trigger, kind="proposed", by="agent")
            )
        ],
    )
    with pytest.raises(MalformedAnswer, match="does not tell method"):
        step(user_of(Model([said("No, thanks.")]), scenario), PROPOSE_VISA)


def test_a_change_after_its_own_consent_is_added_in_the_scenarios_words() -> None:
    user = user_of(Model([said("Yes, go ahead.")]))
    reply, events, left = step(user, PROPOSE_VISA)
    assert reply == f"Yes, go ahead. {CHANGE.say}"
    assert [e.kind for e in events] == ["consented", "changed_mind", "changed_mind", "revealed"]
    assert not left
    assert user.faults() == []


def test_a_refusal_is_argued_with_as_directed() -> None:
    model = Model([said("I was promised one!")])
    user = user_of(model, plain(pushbacks=[Pushback("refund", ["But I was promised one."])], patience=1))
    assert not step(user, "I cannot give you a refund.")[2]
    assert "But I was promised one." in model.asked[0][-1]["content"]


def test_the_prompt_holds_the_wishes_and_not_what_settles_them() -> None:
    text = system_message(plain(consents=[ConsentRule("take_payment", PAY_VISA)]))
    assert "only when the agent asks" in text
    assert "4711" in text
    assert "amount_cents = 16700" in text
    assert "settle" not in text


def spec(family: str = "cancel") -> EpisodeSpec:
    task = corner_shop.WORLD.tasks("train", [family])[0]
    return EpisodeSpec("eval/0/0/0", task, Seeds(1, seed_of("user", task.id), 7))


def episode(model: Model, policy: Any = SCRIPTED["oracle"]) -> Episode:
    settings = PlaySettings(user=ModelledUsers(model))
    return asyncio.run(play(spec(), corner_shop.WORLD, policy, settings))


def test_the_oracle_passes_with_a_model_in_the_users_place() -> None:
    task = spec().task
    assert task.scenario is not None
    number = task.scenario.facts[0].value
    model = Model([said(f"It is {number}."), said("Yes, please cancel it."), said("Thanks, bye.", done=True)])
    played = episode(model)
    assert played.verdict is not None
    assert played.verdict.passed
    assert (played.failure, played.user_faults) == ("none", [])
    assert played.usage["user"] == Usage(300, 30, 3)
    assert [(e.kind, e.by) for e in played.events if e.by == "user"] == [
        ("revealed", "user"), ("consented", "user"), ("left", "user"),
    ]  # fmt: skip


def test_faults_stand_in_the_episode() -> None:
    played = episode(Model([said("It is OR-9999. Bye.", done=True)]))
    assert played.user_faults == ["fact_invented", "ended_before_completion"]
    assert (played.ended, played.failure) == ("left", "none")


def test_a_user_without_a_usable_answer_is_a_user_failure() -> None:
    played = episode(Model(["?"]))
    assert (played.ended, played.failure, played.verdict) == ("error", "user", None)
    assert "no usable answer in 2 tries" in played.failure_detail
    assert played.usage["user"].requests == 2


def test_an_endpoint_that_does_not_answer_is_infrastructure() -> None:
    failed = EndpointFailed("endpoint x", "", "status 503 (3 tries).", Usage(50, 0, 3))
    played = episode(Model([failed]), Puppet([Turn(text="What is the order number?")]))
    assert (played.failure, played.verdict) == ("infrastructure", None)
    assert played.usage["user"] == Usage(50, 0, 3)
