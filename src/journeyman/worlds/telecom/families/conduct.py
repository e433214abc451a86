"""What the families about conduct at the desk share: one record of what a task is about, and criteria in the task's own words.

A `Case` holds what every step of writing a task needs; `seal` makes the task of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from journeyman.task import Before, EventPattern, FactCard, Happened, Say, Split
from journeyman.world import World, composing
from journeyman.world.authoring import Rubric, Script, agains, told
from journeyman.worlds.telecom.families import deep
from journeyman.worlds.telecom.families.common import GIFTS, TODAY, choices
from journeyman.worlds.telecom.families.deep import Denial
from journeyman.worlds.telecom.families.records import Household, Setup, pick


class Case(composing.Case[Household, Setup]):
    """A task on a household: nothing owed, no stale ticket."""

    DAY = TODAY
    GIFTS = GIFTS

    @classmethod
    def of(cls, world: World, family: str, level: int, seed: int, split: Split, home: Household | None = None) -> Case:
        """The case of a seed, on `home` or the household that is the seed's turn."""
        chosen = pick(world, family, seed, split) if home is None else home
        case = cls(world, family, level, seed, split, choices(family, seed), chosen, Setup(world))
        case.setup.settle_invoices(chosen.account_id)
        case.setup.close_stale_tickets(chosen.account_id)
        return case

    def known(self, cards: Sequence[FactCard]) -> list[FactCard]:
        """See `deep.known`."""
        return deep.known(self.home, cards)


def forget_credits(case: Case, reason: str) -> None:
    """Move the account's credits of a reason into a past that no rule looks at."""
    ours = (case.home.account_id, reason)
    case.setup.update_all("credits", "account_id = ? AND reason = ?", ours, applied_at="2023-03-06T10:00:00")


def refused(rubric: Rubric, home: Household, denial: Denial, what: str, once: str, pushes: Sequence[str] = ()) -> None:
    """Criteria of a lawful refusal: documented, told after step `once`, said again at each argument, never taken back.

    `what`: the refused thing in words.
    """
    script, words = rubric.script, told(denial.slot, kind="denied")
    rubric.does(
        "deny", f"The refusal is documented: {denial.request}, {denial.reason}, {denial.article}.", required=True
    )
    rubric.must(
        f"says_denied_{denial.slot}", f"After the look-up {home.name} is told that {what} is refused.",
        Before(script.pattern(once), words), script.without("done", *agains(pushes)), required=True,
    )  # fmt: skip
    if pushes:
        rubric.must(
            "holds_firm", f"The refusal under {denial.article} is said again when the customer argues ({len(pushes)}x).",
            Happened(words, min=len(pushes) + 1), script.without(agains(pushes)[-1]), required=True,
        )  # fmt: skip
    text = f"{home.name} is not told that {what} was granted."
    rubric.never("false_claim", text, told(denial.slot), "done", Say(denial.claim), instead=True, required=True)
    rubric.once("deny", f"The refusal on {home.account_id} is documented once, not again.")


def explains(
    rubric: Rubric, moment: EventPattern, text: str, *labels: str, pushes: Sequence[str] = (), required: bool = True
) -> None:
    """The customer is told what stands against the wish; `labels`: steps that say it besides `done` and its repetitions."""
    steps = (*labels, "done", *agains(pushes))
    rubric.must("says_why", text, Happened(moment), rubric.script.without(*steps), required=required)


def said_first(moment: EventPattern, script: Script, then: str) -> Before:
    """The predicate that something was said before the call of step `then`."""
    return Before(moment, script.pattern(then))


def after_call(script: Script, label: str, moment: EventPattern) -> Before:
    """The predicate that something was said after the call of step `label`."""
    return Before(script.pattern(label), moment)
