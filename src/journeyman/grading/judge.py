"""The judge: a model that decides optional criteria no predicate can, and nothing else.

    judgement = await judge.decide(questions, messages)

All questions of an attempt go out in one request. A decision without a quote that stands in the record is void: the
question is put once more, alone; if that is void too, nobody has decided it. Decisions are kept by content, so that a
question that was decided about a record is not asked again. `ruled` puts them into a verdict; it cannot touch what decides
a band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from journeyman.codec import digest, seed_of
from journeyman.engine.chat import ChatClient, EndpointFailed
from journeyman.episode import CriterionResult, Message, Usage, Verdict
from journeyman.grading.judge_text import (
    INSTRUCTIONS,
    LONGEST_RECORD,
    PROMPT_VERSION,
    Passage,
    Question,
    Void,
    conversation,
    locate,
    passages,
    read_answer,
    record_of,
)
from journeyman.task import Criterion, Data, Task


class Ruling(Data, frozen=True):
    """A decision. `met` None: void, `why` says the reason. `turn` is that of the quoted text."""

    met: bool | None
    quote: str = ""
    turn: int | None = None
    why: str = ""


class KeptRuling(Data, frozen=True):
    """A line of judge.jsonl: a decision under the hash of all that the judge was shown, and for whom it was made."""

    key: str
    model: str
    question: str
    ruling: Ruling


class RulingStore(Protocol):
    """Where rulings are kept by content."""

    def get(self, key: str) -> Ruling | None:
        """The ruling under a key; None where there is none yet."""
        ...

    def put(self, kept: KeptRuling) -> None:
        """Keep a ruling."""
        ...


class RulingMemory:
    """A `RulingStore` that lasts as long as the process."""

    def __init__(self) -> None:
        self.kept: dict[str, Ruling] = {}

    def get(self, key: str) -> Ruling | None:
        return self.kept.get(key)

    def put(self, kept: KeptRuling) -> None:
        self.kept[kept.key] = kept.ruling


@dataclass
class Judgement:
    """Rulings by the id of their question, and what they cost. `fault`: why the endpoint failed, where it did; `unasked`:
    questions that it gave no answer to for that."""

    rulings: dict[str, Ruling] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    fault: str = ""
    unasked: int = 0

    def spend(self, usage: Usage) -> None:
        """Add to the cost."""
        was = self.usage
        self.usage = Usage(
            was.input + usage.input,
            was.output + usage.output,
            was.requests + usage.requests,
            was.estimated + usage.estimated,
        )


@dataclass(frozen=True)
class Judge:
    """Puts questions to a chat model.

    Args:
        client: the model.
        model: its name: part of the hash under which a ruling is kept.
        store: rulings made before.
        max_tokens: of one answer.
    """

    client: ChatClient
    model: str
    store: RulingStore
    max_tokens: int = 2048

    async def decide(self, questions: Sequence[Question], messages: Sequence[Message]) -> Judgement:
        """Rule on each question about an attempt. A failing endpoint makes rulings void.

        Raises:
            KeyRefused: the endpoint does not serve its key.
        """
        judgement = Judgement()
        found = passages(messages)
        record = record_of(found)
        if len(record) > LONGEST_RECORD:
            long = Ruling(None, why=f"the record is longer than {LONGEST_RECORD} characters")
            judgement.rulings = {one.id: long for one in questions}
            return judgement
        keys = {one.id: self._key(one, record) for one in questions}
        known = {one.id: self.store.get(keys[one.id]) for one in questions}
        judgement.rulings = {name: ruling for name, ruling in known.items() if ruling is not None}
        open_questions = [one for one in questions if known[one.id] is None]
        if not open_questions:
            return judgement
        first = await self._ask(open_questions, record, found, judgement)
        for one in open_questions:
            ruling = first.get(one.id)
            if ruling is not None and ruling.met is None:
                ruling = (await self._ask([one], record, found, judgement, ruling.why)).get(one.id)
            if ruling is None:
                ruling = Ruling(None, why=f"the judge could not be asked: {judgement.fault}")
                judgement.unasked += 1
            judgement.rulings[one.id] = ruling
            if ruling.met is not None:
                # What was not decided is nothing to remember: it may be another time.
                self.store.put(KeptRuling(keys[one.id], self.model, one.id, ruling))
        return judgement

    def _key(self, question: Question, record: str) -> str:
        asked = [question.rule, question.question]
        return digest([PROMPT_VERSION, INSTRUCTIONS, self.model, self.max_tokens, asked, digest(record)])

    async def _ask(
        self,
        questions: Sequence[Question],
        record: str,
        found: Sequence[Passage],
        judgement: Judgement,
        complaint: str = "",
    ) -> dict[str, Ruling]:
        """One request. Empty where the endpoint failed."""
        messages = conversation(questions, record, complaint)
        seed = seed_of("judge", digest(messages))
        try:
            reply = await self.client.chat(messages, max_tokens=self.max_tokens, temperature=0.0, seed=seed)
        except EndpointFailed as failed:
            judgement.spend(failed.usage)
            judgement.fault = failed.remedy.rstrip(".")
            return {}
        judgement.spend(Usage(reply.prompt_tokens, reply.completion_tokens, reply.requests, reply.estimated))
        answers = read_answer(reply.text, [one.id for one in questions])
        return {name: _ruling(answer, found) for name, answer in answers.items()}


def _ruling(answer: tuple[bool, str] | Void, found: Sequence[Passage]) -> Ruling:
    if isinstance(answer, Void):
        return Ruling(None, why=str(answer))
    met, quote = answer
    try:
        passage = locate(quote, found)
    except Void as void:
        return Ruling(None, why=str(void))
    return Ruling(met, quote, passage.turn)


def judged(criterion: Criterion) -> bool:
    """Whether a criterion is a judge's to decide: optional, with a question and no predicate."""
    return criterion.predicate is None and criterion.judge is not None and not criterion.required


def questions_of(task: Task) -> list[Question]:
    """The questions of a task's judged criteria."""
    return [Question(one.id, one.text, one.judge or "") for one in task.criteria if judged(one)]


def ruled(task: Task, verdict: Verdict, rulings: Mapping[str, Ruling]) -> Verdict:
    """The verdict with rulings on its judged criteria. All other decisions, `passed` and the band stay what they were."""
    mine = {criterion.id for criterion in task.criteria if judged(criterion)}
    criteria = [
        _result(result, rulings[result.id]) if result.id in mine and result.id in rulings else result
        for result in verdict.criteria
    ]
    return msgspec.structs.replace(verdict, criteria=criteria)


def _result(result: CriterionResult, ruling: Ruling) -> CriterionResult:
    if ruling.met is None:
        return CriterionResult(result.id, None, None, f"left out: {ruling.why}")
    return CriterionResult(result.id, ruling.met, ruling.turn, f'judged on "{ruling.quote}"')
