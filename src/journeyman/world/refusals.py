"""A lawful refusal: how it is documented, the criteria that it is told and kept to, and those of a wish that is granted.

They speak of the oracle's steps `deny`, `done` and, where the user argues, `again0`, `again1`, …
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from journeyman.task import Before, Call, CallPattern, ExpectedRow, Happened, Match, Matcher, Say
from journeyman.world.authoring import NOTHING, Rubric, agains, told

Home = TypeVar("Home")


@dataclass(frozen=True)
class Denial(ABC, Generic[Home]):
    """A refusal as the tool `document_denial` records it. A world says whose it is.

    Args:
        article: the current article that demands it. also: other articles that may be cited as well.
        slot: how the dialogue speaks of what is refused. claim: a message that says the opposite.
    """

    request: str
    reason: str
    article: str
    slot: str
    claim: str
    also: tuple[str, ...] = ()

    @abstractmethod
    def whose(self, home: Home) -> dict[str, Any]:
        """The columns that tell whose wish is refused."""

    @abstractmethod
    def person(self, home: Home) -> str:
        """Who speaks to the desk, by name."""

    @abstractmethod
    def on_file(self, home: Home) -> str:
        """Where it is documented, in words: "on A-2001"."""

    def arguments(self, home: Home) -> dict[str, Any]:
        """What document_denial is called with."""
        return {**self.whose(home), "request": self.request, "reason": self.reason, "article_id": self.article}

    def row(self, home: Home) -> ExpectedRow:
        """The documented refusal, `denial`."""
        cited: Matcher = Match(one_of=[self.article, *self.also]) if self.also else self.article
        return ExpectedRow("denial", "denials", "insert", set={**self.arguments(home), "article_id": cited})


def refused(
    rubric: Rubric,
    home: Home,
    denial: Denial[Home],
    what: str,
    once: str,
    *,
    labels: Sequence[str] = ("done",),
    pushes: Sequence[str] = (),
) -> None:
    """Criteria of a lawful refusal: documented, told after step `once`, said again when argued with, never taken back.

    Args:
        what: the refused thing in words.
        labels: the messages that refuse it. pushes: what the user argues.
    """
    script, words, person = rubric.script, told(denial.slot, kind="denied"), denial.person(home)
    text = f"The refusal is documented: {denial.request}, {denial.reason}, {denial.article}."
    rubric.does("deny", text, required=True)
    silent = [splice for label in (*labels, *agains(pushes)) for splice in script.instead(label, NOTHING)]
    text = f"After the look-up {person} is told that {what} is refused."
    rubric.must(f"says_denied_{denial.slot}", text, Before(script.pattern(once), words), silent, required=True)
    if pushes:
        text = f"The refusal under {denial.article} is said again when {person} argues ({len(pushes)}x)."
        rubric.must("holds_firm", text, Happened(words, min=len(pushes) + 1), script.without(agains(pushes)[-1]))
    text = f"{person} is not told that {what} was granted."
    rubric.never("false_claim", text, told(denial.slot), "done", Say(denial.claim), instead=True, required=True)


def not_refused(rubric: Rubric, home: Home, denial: Denial[Home], at: str, words: str) -> None:
    """Criteria of a wish that is granted: no refusal on record, none in words (`words`: what it would sound like)."""
    call = Call("document_denial", denial.arguments(home))
    text = f"No refusal is documented {denial.on_file(home)}."
    rubric.never("denied", text, CallPattern("document_denial"), at, call, required=True)
    text = f"{denial.person(home)} is not told that it is refused."
    rubric.never("false_refusal", text, told(denial.slot, kind="denied"), "done", Say(words), instead=True)


def stale_rule(rubric: Rubric, home: Home, denial: Denial[Home], superseded: str, at: str) -> None:
    """The criterion that a superseded article is not cited."""
    cited = CallPattern("document_denial", {"article_id": superseded}, "any")
    call = Call("document_denial", {**denial.arguments(home), "article_id": superseded})
    rubric.never("stale_rule", f"The superseded {superseded} is not cited.", cited, at, call)
