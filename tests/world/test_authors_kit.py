"""What the authors of a world write with: drafts of an image, slots, setup rows, cases, refusals and their criteria."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import pytest
from library_desk import WORLD, library

from journeyman.task import (
    Before,
    Call,
    CallPattern,
    EventPattern,
    FactCard,
    Fault,
    Happened,
    Match,
    Outcome,
    Say,
    Splice,
)
from journeyman.world import Slot, refusals, slots
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, agains, ref, told
from journeyman.world.composing import PERSONAS, Case, build, choices, scenario, starter, starter_scenario, unless_given
from journeyman.world.drafts import Draft
from journeyman.world.lexicon import Lexicon
from journeyman.world.setup import Setup

# Drafts


def drafted() -> Draft:
    """Loans before the members and books that they point to."""
    draft = Draft(7, {"members": ("M", 1)})
    loan = draft.add(
        "loans", id="", member_id=draft.id("members"), book_id="B-1", due=draft.date(2024, 2025), note=None
    )
    loan["id"] = draft.id("loans", "LN")
    draft.add_all("books", ("id", "title"), [("B-1", "Dune"), ("B-2", "Emma")])
    draft.add("members", id="M-1", name="Ada", pin_hash="h-1", status="blocked" if draft.chance(1.0) else "active")
    return draft


def test_a_draft_counts_ids_by_table_and_writes_in_the_order_of_the_schema():
    world = library(images={"base": lambda db: drafted().write(db)}, id_start={"loans": 8000})
    (loan,) = world.query("base", "SELECT * FROM loans")
    assert (loan["id"], loan["member_id"], loan["renewals"]) == ("LN-1001", "M-1", 0)
    assert re.fullmatch(r"202[45]-(0[1-9]|1[0-2])-([01]\d|2[0-8])", loan["due"])
    assert loan["due"] == drafted().rows["loans"][0]["due"]
    assert world.query("base", "SELECT id, copies FROM books ORDER BY id") == [
        {"id": "B-1", "copies": 1},
        {"id": "B-2", "copies": 1},
    ]
    assert world.query("base", "SELECT status FROM members") == [{"status": "blocked"}]


def test_a_row_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        Draft(7, {}).add_all("books", ("id", "title"), [("B-1",)])


def test_a_draft_writes_no_table_that_is_not_in_the_schema():
    draft = Draft(7, {})
    draft.add("shelves", id="S-1")
    db = apsw.Connection(":memory:")
    draft.write(db)
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(0,)]


# Slots


def test_slots_in_their_short_forms():
    assert slots.money("due", "owed") == Slot("due", "money", ["owed"])
    assert slots.number("pieces", "pieces") == Slot("pieces", "number", ["pieces"])
    assert slots.date("day", "on") == Slot("day", "date", ["on"])
    assert slots.record("loan_id", r"LN-\d+", "loan") == Slot("loan_id", "id", ["loan"], pattern=r"LN-\d+")
    spoken = slots.choice("state", ["it is"], {"in_transit": ["on its way"], "lost": []})
    assert spoken.values == {"in_transit": ["in transit", "on its way"], "lost": ["lost"]}


def test_what_is_only_asked_for_matches_no_text():
    assert re.search(slots.asked("pin").pattern, "1234 pin") is None
    assert re.search(slots.asked("pin").pattern, "") is None


def test_questions_are_joined_to_their_slots():
    joined = slots.with_questions([slots.money("due"), slots.asked("pin")], {"pin": ["desk pin"], "other": ["x"]})
    assert [slot.ask for slot in joined] == [[], ["desk pin"]]
    assert Lexicon(joined).slots == joined


# Setup rows


def test_rows_are_changed_and_removed_by_condition_in_order_of_the_key():
    setup = Setup(WORLD)
    setup.update("books", {"id": "B-2"}, copies=0)
    setup.update_all("books", "copies >= ?", (0,), price=1.0)
    setup.delete_all("loans", "member_id = ?", ("M-2",))
    setup.delete_all("loans", "member_id = ?", ("M-1",))
    rows = [(row.table, row.op, row.key["id"], row.new) for row in setup.rows()]
    assert rows == [
        ("books", "update", "B-2", {"copies": 0, "price": 1.0}),
        ("books", "update", "B-1", {"price": 1.0}),
        ("books", "update", "B-3", {"price": 1.0}),
        ("loans", "delete", "LN-0007", {}),
    ]


# Cases


@dataclass(frozen=True)
class Member:
    id: str
    name: str


class Visit(Case[Member, Setup]):
    DAY = "2026-03-02"

    def known(self, cards: Sequence[FactCard]) -> list[FactCard]:
        return unless_given(cards, FactCard("card", self.home.id, f"My card is {self.home.id}."))


OPENINGS = ["I want Dune.", "Dune, please.", "Do you have Dune?"]


def lending() -> Rubric:
    script = Script()
    script.consult("lending period", "KB-1")
    script.call("lend", "lend_book", member_id="M-1", book_id="B-1")
    script.say("done", "Here it is.")
    return Rubric(script)


def test_a_case_seals_the_task_of_its_seed():
    setup = Setup(WORLD)
    case = Visit(WORLD, "lend", 1, 65, "train", choices("library", "lend", 65), Member("M-1", "Ada Park"), setup)
    setup.update("books", {"id": "B-1"}, copies=1)
    fault = Fault("lend_book", 1, "after")
    task = case.seal(
        lending(), [Outcome()], "borrow Dune", OPENINGS, [told("book")], cards=[FactCard("book", "B-1", "Dune.")],
        faults=[fault], small_talk=["Nice day."],
    )  # fmt: skip
    assert (task.id, task.now, task.image) == ("library/lend/train-065", "2026-03-02T09:05:00", "base")
    assert task.scenario is not None
    assert [card.slot for card in task.scenario.facts] == ["book", "card"]
    assert (task.scenario.patience, task.scenario.small_talk) == (4, ["Nice day."])
    assert sorted(task.scenario.openings) == sorted(OPENINGS)
    assert task.request == task.scenario.openings[0]
    assert [step.tool for step in task.oracle if isinstance(step, Call)] == [
        "search_policy",
        "get_policy_article",
        "lend_book",
    ]
    assert (task.faults, len(task.setup), task.hash) == ([fault], 1, task.sealed().hash)
    # Equal parts and dice that start anew give the equal task.
    again = Visit(WORLD, "lend", 1, 65, "train", choices("library", "lend", 65), case.home, setup)
    cards = [FactCard("book", "B-1", "Dune.")]
    assert again.seal(
        lending(), [Outcome()], "borrow Dune", OPENINGS, [told("book")], cards=cards, faults=[fault],
        small_talk=["Nice day."],
    ) == task  # fmt: skip


def test_a_card_of_the_family_takes_the_place_of_what_every_caller_knows():
    case = Visit(WORLD, "lend", 1, 3, "train", choices("library", "lend", 3), Member("M-1", "Ada"), Setup(WORLD))
    lost = FactCard("card", "none", "I have lost my card.")
    assert case.known([lost]) == [lost]
    assert [card.value for card in case.known([FactCard("book", "B-1", "Dune.")])] == ["B-1", "M-1"]


def test_a_case_about_another_home_is_otherwise_the_same():
    case = Visit(WORLD, "lend", 1, 3, "train", choices("library", "lend", 3), Member("M-1", "Ada"), Setup(WORLD))
    other = case.about(Member("M-2", "Ada Parker"))
    assert (other.home.id, other.setup, other.seed, case.home.id) == ("M-2", case.setup, 3, "M-1")


def test_the_user_of_a_starter_says_it_all_and_leaves():
    user = starter_scenario(choices("library", "a", 1), "B-1", "borrow", OPENINGS, [told("book")], slot="book")
    assert user.facts == [FactCard("book", "B-1", "It is B-1.", "start")]
    assert (user.patience, user.settles) == (1, [told("book")])


def test_choices_differ_by_world_family_and_seed_and_are_repeatable():
    drawn = {
        names: choices(*names).getrandbits(64) for names in (("a", "b", 1), ("a", "b", 2), ("a", "c", 1), ("d", "b", 1))
    }
    assert len(set(drawn.values())) == 4
    assert choices("a", "b", 1).getrandbits(64) == drawn["a", "b", 1]
    personas = {scenario(choices("a", "b", seed), "", ["x"], [], []).persona for seed in range(30)}
    assert personas == set(PERSONAS)


def test_a_task_may_start_at_another_moment_and_with_fewer_tools():
    user = scenario(choices("a", "b", 1), "", ["x"], [], [])
    task = build(
        WORLD, "lend", 1, 0, "train", scenario=user, outcomes=[Outcome()], rubric=lending(), setup=[], day="2026-03-02",
        now="2026-03-05T23:00:00", tools=["lend_book"],
    )  # fmt: skip
    assert (task.now, task.tools) == ("2026-03-05T23:00:00", ["lend_book"])
    easy = starter(
        "lend", ["lend_book"], WORLD, 7, "heldout", user, Outcome(), lending(), Setup(WORLD), day="2026-03-02"
    )
    assert (easy.level, easy.tools, easy.now) == (1, ["lend_book"], "2026-03-02T09:07:00")
    assert (easy.outcomes, easy.hash) == ([Outcome()], easy.sealed().hash)


# Criteria


def test_matchers_of_an_author():
    assert (ref("loan.id"), ANY) == (Match(ref="loan.id"), Match(any=True))


def test_what_must_not_be_done_is_witnessed_by_doing_it():
    rubric = lending()
    wrong: dict[str, Any] = {"member_id": "M-2", "book_id": "B-1"}
    rubric.not_tried("other", "Not for M-2.", "lend", "lend_book", by=("member_id",), required=True, **wrong)
    rubric.not_tried("same", "Not so.", "lend", "lend_book", **wrong)
    rubric.not_called("returned", "Nothing is taken back.", "lend", "return_book", loan_id="LN-0007")
    rubric.not_said("denied", "It is not refused.", told("book", kind="denied"), "No.")
    predicates = [criterion.predicate for criterion in rubric.criteria]
    assert predicates == [
        Happened(CallPattern("lend_book", {"member_id": "M-2"}, "any")),
        Happened(CallPattern("lend_book", wrong, "any")),
        Happened(CallPattern("return_book", status="any")),
        Happened(EventPattern("denied", by="agent", slot="book")),
    ]
    assert [criterion.required for criterion in rubric.criteria] == [True, False, False, False]
    assert {criterion.polarity for criterion in rubric.criteria} == {"must_not"}
    after = [Splice(3, steps=[Call("lend_book", wrong)])]
    assert rubric.criteria[0].witness == rubric.criteria[1].witness == after
    assert rubric.criteria[2].witness == [Splice(3, steps=[Call("return_book", {"loan_id": "LN-0007"})])]
    assert rubric.criteria[3].witness == [Splice(3, drop=1, steps=[Say("No.")])]


class Denial(refusals.Denial[Member]):
    def whose(self, home: Member) -> dict[str, Any]:
        return {"member_id": home.id}

    def person(self, home: Member) -> str:
        return home.name

    def on_file(self, home: Member) -> str:
        return f"of {home.id}"


HOME = Member("M-2", "Ada Parker")
DENIAL = Denial("loan", "blocked", "KB-3", "loan", "I have lent it.", also=("KB-1",))
ARGUMENTS = {"member_id": "M-2", "request": "loan", "reason": "blocked", "article_id": "KB-3"}


def refusing(pushes: Sequence[str] = ()) -> Rubric:
    script = Script()
    script.call("find", "find_members", name="Ada Parker")
    script.call("deny", "document_denial", **DENIAL.arguments(HOME))
    script.say("done", "I cannot lend it.")
    script.repeat(pushes, "I still cannot lend it.")
    return Rubric(script)


def test_a_denial_is_the_call_and_the_row():
    assert DENIAL.arguments(HOME) == ARGUMENTS
    row = DENIAL.row(HOME)
    assert (row.name, row.table, row.op) == ("denial", "denials", "insert")
    assert row.set == {**ARGUMENTS, "article_id": Match(one_of=["KB-3", "KB-1"])}
    strict = Denial("loan", "blocked", "KB-3", "loan", "")
    assert strict.row(HOME).set == ARGUMENTS


def test_a_refusal_is_documented_told_and_kept_to():
    pushes = ["Please!", "Just once!"]
    rubric = refusing(pushes)
    refusals.refused(rubric, HOME, DENIAL, "the loan", "find", pushes=pushes)
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    assert list(criteria) == ["does_deny", "says_denied_loan", "holds_firm", "false_claim"]
    denied = told("loan", kind="denied")
    find = CallPattern("find_members", {"name": "Ada Parker"})
    assert criteria["says_denied_loan"].predicate == Before(find, denied)
    silent = [Splice(at, drop=1, steps=[NOTHING]) for at in (2, 3, 4)]
    assert criteria["says_denied_loan"].witness == silent
    assert criteria["says_denied_loan"].text == "After the look-up Ada Parker is told that the loan is refused."
    # Said once, and again for each of the two arguments.
    assert criteria["holds_firm"].predicate == Happened(denied, min=3)
    assert criteria["holds_firm"].witness == [Splice(4, drop=1)]
    assert criteria["false_claim"].witness == [Splice(2, drop=1, steps=[Say("I have lent it.")])]
    assert agains(pushes) == ["again0", "again1"]


def test_without_arguments_nothing_has_to_be_said_again():
    rubric = refusing()
    refusals.refused(rubric, HOME, DENIAL, "the loan", "find")
    assert [criterion.id for criterion in rubric.criteria] == ["does_deny", "says_denied_loan", "false_claim"]


def test_a_granted_wish_is_not_refused_and_no_old_rule_is_cited():
    rubric = lending()
    refusals.not_refused(rubric, HOME, DENIAL, "lend", "I cannot lend it.")
    refusals.stale_rule(rubric, HOME, DENIAL, "KB-2", "lend")
    texts = [criterion.text for criterion in rubric.criteria]
    assert texts == [
        "No refusal is documented of M-2.",
        "Ada Parker is not told that it is refused.",
        "The superseded KB-2 is not cited.",
    ]
    assert rubric.criteria[0].witness == [Splice(3, steps=[Call("document_denial", ARGUMENTS)])]
    assert rubric.criteria[2].predicate == Happened(CallPattern("document_denial", {"article_id": "KB-2"}, "any"))
    assert rubric.criteria[2].witness == [
        Splice(3, steps=[Call("document_denial", {**ARGUMENTS, "article_id": "KB-2"})])
    ]
