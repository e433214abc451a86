"""What the authors of task families write with: the oracle as a script of labelled steps, and criteria with their witnesses.

A witness is made from the script by label ("the oracle without `pin`"), so that it stays true when steps are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    Consented,
    Criterion,
    EventKind,
    EventPattern,
    Happened,
    Match,
    Matcher,
    Moment,
    Predicate,
    Say,
    Splice,
    Step,
    Unconsented,
    Without,
)
from journeyman.world.desk import dollars as dollars

NOTHING = Say("One moment, please.")
ANY = Match(any=True)
FREE_TEXT = frozenset({"query", "summary", "body", "details"})
"""Arguments that every clerk words in another way: no criterion asks for the oracle's words."""


def money(cents: int) -> str:
    """Cents as people read them: $1,010.50."""
    return f"${cents / 100:,.2f}"


def one_of(*values: str) -> Match:
    """A matcher for one of several strings."""
    return Match(one_of=list(values))


def ref(name: str) -> Match:
    """A matcher for a generated id: `row.column` of an expected row."""
    return Match(ref=name)


def told(slot: str, value: Matcher = None, kind: EventKind = "stated") -> EventPattern:
    """The agent told the user a value of a slot, or refused it (`denied`), or asked for it (`asked`)."""
    return EventPattern(kind, by="agent", slot=slot, value=value)


def agains(pushes: Sequence[str]) -> list[str]:
    """The labels of the steps of `Script.repeat`."""
    return [f"again{number}" for number in range(len(pushes))]


class Script:
    """The oracle, step by step, with a label for each step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._at: dict[str, int] = {}
        self._or_tools: dict[str, tuple[str, ...]] = {}
        self._loose: dict[str, frozenset[str]] = {}

    def call(
        self, label: str, tool: str, *, or_tools: tuple[str, ...] = (), loose: tuple[str, ...] = (), **arguments: Any
    ) -> None:
        """Append a call.

        Args:
            or_tools: tools that serve as well with the same arguments.
            loose: arguments that may have other values, or be missing, without harm to the criteria.
        """
        self._add(label, Call(tool, arguments))
        self._or_tools[label] = or_tools
        self._loose[label] = FREE_TEXT.union(loose)

    def say(self, label: str, text: str) -> None:
        """Append a message to the user."""
        self._add(label, Say(text))

    def consult(self, query: str, article: str) -> None:
        """Append steps `search` and `policy`: search the policy and read the article that rules the matter."""
        self.call("search", "search_policy", query=query)
        self.call("policy", "get_policy_article", article_id=article)

    def repeat(self, pushes: Sequence[str], text: str) -> None:
        """Append steps `again0`, `again1`, …: the refusal is said again, once for each time the user argues."""
        for label in agains(pushes):
            self.say(label, text)

    def _add(self, label: str, step: Step) -> None:
        if label in self._at:
            raise ValueError(f"two steps are labelled {label!r}")
        self._at[label] = len(self.steps)
        self.steps.append(step)

    def has(self, label: str) -> bool:
        """Whether there is a step with this label."""
        return label in self._at

    def step(self, label: str) -> Step:
        """The step with a label."""
        return self.steps[self._at[label]]

    def pattern(self, label: str, *names: str) -> CallPattern:
        """The successful call that a step makes, as criteria ask for it: by this tool or one that serves as well.

        Only the arguments in `names` count; all but the loose ones if there are none.
        """
        step = self.step(label)
        if not isinstance(step, Call):
            raise ValueError(f"step {label!r} is not a call")
        loose = self._loose[label]
        arguments = {
            name: value for name, value in step.arguments.items() if (name in names if names else name not in loose)
        }
        others = self._or_tools[label]
        return CallPattern([step.tool, *others] if others else step.tool, arguments)

    def without(self, *labels: str) -> list[Splice]:
        """The script without some steps."""
        return [Splice(self._at[label], drop=1) for label in labels]

    def instead(self, label: str, *steps: Step) -> list[Splice]:
        """The script with other steps in the place of one."""
        return [Splice(self._at[label], drop=1, steps=list(steps))]

    def after(self, label: str, *steps: Step) -> list[Splice]:
        """The script with more steps after one."""
        return [Splice(self._at[label] + 1, steps=list(steps))]

    def before(self, label: str, *steps: Step) -> list[Splice]:
        """The script with more steps before one."""
        return [Splice(self._at[label], steps=list(steps))]

    def late(self, behind: str, *labels: str) -> list[Splice]:
        """The script with some steps moved behind a later one."""
        return [*self.without(*labels), *self.after(behind, *(self.step(label) for label in labels))]


class Rubric:
    """Collects the criteria of a task whose oracle is `script`."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.criteria: list[Criterion] = []

    def must(
        self, name: str, text: str, predicate: Predicate, witness: Sequence[Splice], *, required: bool = False
    ) -> None:
        """Something that has to hold."""
        self.criteria.append(Criterion(name, text, "must", required, predicate, witness=list(witness)))

    def must_not(
        self, name: str, text: str, predicate: Predicate, witness: Sequence[Splice], *, required: bool = False
    ) -> None:
        """Something that must not hold: the predicate describes the violation."""
        self.criteria.append(Criterion(name, text, "must_not", required, predicate, witness=list(witness)))

    def judged(
        self, name: str, text: str, question: str, witness: Sequence[Splice], *, forbidden: bool = False
    ) -> None:
        """Something only a judge can decide, from `question`; never required. `forbidden`: it must not hold."""
        polarity: Literal["must", "must_not"] = "must_not" if forbidden else "must"
        self.criteria.append(Criterion(name, text, polarity, judge=question, witness=list(witness)))

    def does(self, label: str, text: str, *arguments: str, required: bool = False) -> None:
        """The step's call succeeds; only the named arguments count (all if there are none)."""
        predicate = Happened(self.script.pattern(label, *arguments))
        self.must(f"does_{label}", text, predicate, self.script.without(label), required=required)

    def first(self, label: str, then: str, text: str, *, required: bool = False) -> None:
        """One step's call comes before another's, and both succeed."""
        predicate = Before(self.script.pattern(label), self.script.pattern(then))
        self.must(f"{label}_before_{then}", text, predicate, self.script.late(then, label), required=required)

    def says(
        self,
        label: str,
        moment: EventPattern,
        text: str,
        *,
        once: str | None = None,
        required: bool = False,
        name: str | None = None,
    ) -> None:
        """A message carries an event, after the call of step `once` if there is one. `name`: where two speak of one slot."""
        predicate: Predicate = Happened(moment) if once is None else Before(self.script.pattern(once), moment)
        name = name or f"says_{moment.kind}_{moment.slot}"
        self.must(name, text, predicate, self.script.instead(label, NOTHING), required=required)

    def consented(self, label: str, proposal: str, text: str, *arguments: str) -> None:
        """The step's call is made, and only with the user's consent to exactly its arguments."""
        tool = CallPattern(self.script.pattern(label).tool)
        self.must(f"consent_{label}", text, Consented(tool), self.script.without(proposal), required=True)

    def no_unconsented(self, label: str, text: str, wrong: Step) -> None:
        """The tool is never called beyond what the user agreed to; `wrong` is such a call."""
        tool = CallPattern(self.script.pattern(label).tool)
        self.must_not(f"unconsented_{label}", text, Unconsented(tool), self.script.before(label, wrong), required=True)

    def never(
        self, name: str, text: str, what: Moment, at: str, *steps: Step, instead: bool = False, required: bool = False
    ) -> None:
        """A moment that must not come; the witness puts `steps` after step `at`, or in its place."""
        witness = self.script.instead(at, *steps) if instead else self.script.after(at, *steps)
        self.must_not(name, text, Happened(what), witness, required=required)

    def not_tried(
        self,
        name: str,
        text: str,
        at: str,
        tool: str,
        *,
        by: tuple[str, ...] = (),
        required: bool = False,
        **arguments: Any,
    ) -> None:
        """The tool is not called with these arguments, successfully or not; only those in `by` count, all if there are none."""
        counted: dict[str, Matcher] = {key: value for key, value in arguments.items() if not by or key in by}
        self.never(name, text, CallPattern(tool, counted, status="any"), at, Call(tool, arguments), required=required)

    def not_called(self, name: str, text: str, at: str, tool: str, *, required: bool = False, **arguments: Any) -> None:
        """The tool is not called at all; the arguments are those of the witness."""
        self.never(name, text, CallPattern(tool, status="any"), at, Call(tool, arguments), required=required)

    def not_said(self, name: str, text: str, moment: EventPattern, sentence: str, *, required: bool = False) -> None:
        """The closing message, step `done`, does not say this; `sentence` is how it would."""
        self.never(name, text, moment, "done", Say(sentence), instead=True, required=required)

    def once(self, label: str, text: str) -> None:
        """The step's tool is not called again, successfully or not."""
        tool = self.script.pattern(label).tool
        predicate = Happened(CallPattern(tool, status="any"), min=2)
        self.must_not(f"repeats_{label}", text, predicate, self.script.after(label, self.script.step(label)))

    def not_unread(self, label: str, then: str, text: str) -> None:
        """The later step's tool is not called while the earlier step's has not been (with any arguments)."""
        first, last = self.script.pattern(label), self.script.pattern(then)
        predicate = Without(then=CallPattern(last.tool), first=CallPattern(first.tool))
        self.must_not(f"{then}_without_{label}", text, predicate, self.script.without(label))
