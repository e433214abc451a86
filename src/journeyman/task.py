"""What a task is: frozen data, from the user's scenario to the outcome that a program checks.

A task knows nothing of sessions, models or rewards. Everything here is plain data that survives a
round trip through one line of JSON; predicates and matchers are a closed list of operators, never code.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from journeyman.codec import digest
from journeyman.errors import TaskFileError

Scalar = str | int | float | bool | None
Op = Literal["insert", "update", "delete"]
Split = Literal["train", "heldout", "heldout_family"]
EventKind = Literal[
    "asked", "revealed", "proposed", "consented", "refused", "changed_mind", "stated", "denied", "announced", "left"
]
Speaker = Literal["agent", "user"]


class Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of every record: immutable, strict about unknown fields, defaults left out of JSON."""


class RowChange(Data, frozen=True):
    """One net change of one row.

    `key` holds the primary key columns. `old` and `new` hold every column for a delete or an insert,
    and the changed columns only for an update.
    """

    table: str
    op: Op
    key: dict[str, Scalar]
    old: dict[str, Scalar] = {}
    new: dict[str, Scalar] = {}


class Match(Data, frozen=True):
    """A matcher other than plain equality; exactly one field is set.

    `ref` is `name.column`: the value that the row matched as `name` has in that column.
    """

    one_of: list[Scalar] | None = None
    contains: str | None = None
    any: bool = False
    ref: str | None = None


Matcher = str | int | float | bool | None | Match


class ExpectedRow(Data, frozen=True):
    """A row change that an outcome demands.

    Args:
        name: unique within the outcome; other places refer to it as `name.column`.
        where: matchers over the key and the old values of an update or delete (empty for an insert).
        set: matchers over the new values. Of an insert, a column that is neither listed nor volatile must
            hold NULL, its default or (a primary key) anything; of an update, an unlisted column that changed is wrong.
    """

    name: str
    table: str
    op: Op
    where: dict[str, Matcher] = {}
    set: dict[str, Matcher] = {}


class Fact(Data, frozen=True):
    """Something the user must have been told: a value for a slot (`stated`), a refusal about it (`denied`), or a value
    in the text of a row, such as a message that was sent (`written`; `at` is `name.column` of an expected row)."""

    slot: str
    value: Matcher = None
    kind: Literal["stated", "denied", "written"] = "stated"
    at: str = ""


class Outcome(Data, frozen=True):
    """One acceptable end of a task.

    `end`: `left` (the user left after the last write, and did not give up waiting to be told something), `final` (a
    closing message, tasks without a user) or `transfer` (the world's transfer tool was the last call).
    """

    rows: list[ExpectedRow] = []
    facts: list[Fact] = []
    end: Literal["left", "final", "transfer"] = "left"


class CallPattern(Data, frozen=True, tag="call", tag_field="is"):
    """Calls of one tool (or of one of several), by arguments and status. `ok` means the call succeeded."""

    tool: str | list[str]
    arguments: dict[str, Matcher] = {}
    status: Literal["ok", "error", "any"] = "ok"


class EventPattern(Data, frozen=True, tag="event", tag_field="is"):
    """Dialogue events by kind, speaker, slot, value and (for proposals) tool; None matches all."""

    kind: EventKind
    by: Speaker | None = None
    slot: str | None = None
    value: Matcher = None
    tool: str | None = None


Moment = CallPattern | EventPattern


class Happened(Data, frozen=True, tag="happened", tag_field="op"):
    """`what` occurred at least `min` and at most `max` times."""

    what: Moment
    min: int = 1
    max: int | None = None


class Before(Data, frozen=True, tag="before", tag_field="op"):
    """`then` occurred, and `first` had occurred before its first occurrence."""

    first: Moment
    then: Moment


class Without(Data, frozen=True, tag="without", tag_field="op"):
    """`then` occurred at some moment at which `first` had not yet occurred."""

    then: Moment
    first: Moment


class Consented(Data, frozen=True, tag="consented", tag_field="op"):
    """`call` occurred, and each occurrence was covered by the user's consent to exactly its arguments."""

    call: CallPattern


class Unconsented(Data, frozen=True, tag="unconsented", tag_field="op"):
    """`call` occurred at least once without the user's consent to exactly its arguments."""

    call: CallPattern


class Changed(Data, frozen=True, tag="changed", tag_field="op"):
    """The net changes hold a row that matches (`name` is ignored)."""

    row: ExpectedRow


class AllOf(Data, frozen=True, tag="all_of", tag_field="op"):
    """Every part holds."""

    of: list[Predicate]


class AnyOf(Data, frozen=True, tag="any_of", tag_field="op"):
    """At least one part holds."""

    of: list[Predicate]


Predicate = Happened | Before | Without | Consented | Unconsented | Changed | AllOf | AnyOf


class Call(Data, frozen=True, tag="call", tag_field="do"):
    """An oracle step: call a tool. `${name.column}` in a string argument stands for the value of an expected
    row (with its type, where the string is nothing else): how a generated id is passed on."""

    tool: str
    arguments: dict[str, Any] = {}


class Say(Data, frozen=True, tag="say", tag_field="do"):
    """An oracle step: a message to the user. `${name.column}` stands for the value of an expected row."""

    text: str


Step = Call | Say


class Splice(Data, frozen=True):
    """An edit of the oracle: the `drop` steps from `at` on are replaced by `steps`."""

    at: int
    drop: int = 0
    steps: list[Step] = []


class Criterion(Data, frozen=True):
    """One rubric line.

    A `must` is met when its predicate holds; a `must_not` is met when its predicate, which describes the
    violation, does not. `judge` is the question put to a judge where no predicate can decide.
    `witness` edits the oracle so that the criterion is violated: it proves that the criterion can fail.
    """

    id: str
    text: str
    polarity: Literal["must", "must_not"]
    required: bool = False
    predicate: Predicate | None = None
    judge: str | None = None
    witness: list[Splice] = []


class FactCard(Data, frozen=True):
    """Something the simulated user knows. `text` is how it is said, with no other values in it."""

    slot: str
    value: Scalar
    text: str
    reveal: Literal["start", "asked", "never"] = "asked"


class ConsentRule(Data, frozen=True):
    """A write the user agrees to when it is proposed with matching arguments; any other proposal is refused.

    Args:
        arguments: all of them have to be stated, but those whose matcher is a `one_of` with None.
        covers: the arguments of the call that is agreed to, where the user knows them by other names than the tool
            (a line by its number, a card by its last digits). Empty: those of the proposal.
    """

    tool: str
    arguments: dict[str, Matcher] = {}
    covers: dict[str, Scalar] = {}


class ChangeOfMind(Data, frozen=True):
    """The user wants something else from the moment of `trigger`, an event of the agent or of the user.

    Args:
        say: how the user puts it, with the values of `facts` and no others.
        facts: cards that take the place of those of the same slots; those to be revealed at the start are told at once.
        consents: take the place of all consent rules.
        settles: take the place of all settling events.
    """

    trigger: EventPattern
    say: str
    facts: list[FactCard] = []
    consents: list[ConsentRule] = []
    settles: list[EventPattern] = []


class Pushback(Data, frozen=True):
    """The user does not take a refusal at once: each of `says` answers one `denied` event of the slot, in order.

    A denial that was pushed back against does not settle the scenario; the one after the last push does.
    """

    slot: str
    says: Annotated[list[str], Meta(min_length=1)]


class Scenario(Data, frozen=True):
    """What the simulated user wants, knows and does.

    Args:
        persona: a key into the phrasing styles of the scripted user (`plain`, `brisk`, `chatty`).
        openings: equivalent first messages; the group seed picks one. All `start` facts are in each of them.
        settles: the events, all by the agent, after which the user thanks and leaves.
        patience: agent messages without progress that the user bears before leaving.
        changes: at most one change of mind takes place per message, in this order, each once.
        pushbacks: refusals that the user argues with.
        small_talk: sentences without values; the first replies carry one each.
        bundles: slots told together: whoever asks for one hears all that may be told.
    """

    persona: str
    openings: list[str]
    goal: str
    facts: list[FactCard] = []
    consents: list[ConsentRule] = []
    settles: list[EventPattern] = []
    patience: Annotated[int, Meta(ge=1)] = 4
    changes: list[ChangeOfMind] = []
    pushbacks: list[Pushback] = []
    small_talk: list[str] = []
    bundles: list[list[str]] = []


class Fault(Data, frozen=True):
    """A planned failure of the business's own systems: the `occurrence`-th call of `tool` whose arguments are not
    refused ends with an error of code `timeout`.

    `after` means that the work was done and kept before the answer was lost; `before` that nothing was done.
    """

    tool: str
    when: Literal["before", "after"]
    occurrence: Annotated[int, Meta(ge=1)] = 1


class Task(Data, frozen=True):
    """One piece of work with a checkable outcome. `hash` covers every other field."""

    id: str
    world: str
    world_version: str
    family: str
    level: Annotated[int, Meta(ge=1, le=5)]
    split: Split
    now: str
    image: str
    request: str
    outcomes: Annotated[list[Outcome], Meta(min_length=1)]
    criteria: list[Criterion]
    oracle: list[Step]
    setup: list[RowChange] = []
    tools: list[str] | None = None
    scenario: Scenario | None = None
    faults: list[Fault] = []
    hash: str = ""

    def sealed(self) -> Task:
        """The same task with `hash` computed from its content."""
        return msgspec.structs.replace(self, hash=task_hash(self))


def task_hash(task: Task) -> str:
    """SHA-256 over every field of the task but `hash`."""
    return digest(msgspec.structs.replace(task, hash=""))


_decoder = msgspec.json.Decoder(Task)


def decode_task(line: bytes, where: str) -> Task:
    """Read one task from one line of JSON and verify its hash.

    Raises:
        TaskFileError: the line is not a task, or its content does not match its hash.
    """
    try:
        task = _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise TaskFileError(where, "", f"not a task: {error}. Export it again with `journeyman tasks show`.") from error
    if task.hash != task_hash(task):
        raise TaskFileError(
            where, task.id, "the hash does not match the content: it was edited by hand. Export it again."
        )
    return task
