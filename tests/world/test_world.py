"""Definition of a world: what is refused, what its version covers, its tasks, its rules, its articles."""

from __future__ import annotations

import json
from typing import Any

import library_desk
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library_desk import ARTICLES, SCHEMA, TOOLS, library, make_lend

from journeyman.errors import TaskFileError, WorldError
from journeyman.task import Scalar
from journeyman.world import Article, Family, Lexicon, ProposalForm, Slot, World, leaks, schema_rules
from journeyman.worlds import WORLDS, load_world


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "Library"}, "lower-case"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "'find_members' is there twice"),
        ({"families": [Family("lend", 1, make_lend)] * 2}, "'lend' is there twice"),
        ({"transfer_tool": "escalate"}, "no tool 'escalate'"),
        ({"images": {}}, "at least one image"),
        ({"schema": "CREATE TABLE"}, "SQLite refuses"),
        ({"volatile": {"shelves": []}}, "the tables are members, books, loans"),
        ({"volatile": {"loans": ["colour"]}}, "no column 'colour'"),
        ({"volatile_tables": ["shelves"]}, "volatile_tables.shelves"),
        ({"secret": {"members": ["pin"]}}, "secret.members"),
        ({"id_formats": {"shelves": "S-{}"}}, "id_formats.shelves"),
        ({"id_formats": {"loans": "LN"}, "id_start": {}}, "does not take a number"),
        ({"id_formats": {"loans": "LN-{x}"}, "id_start": {}}, "does not take a number"),
        ({"id_formats": {}}, "id_start.loans"),
        ({"lexicon": Lexicon(slots=[Slot("a", "date", ["a"])] * 2)}, "is there twice"),
        ({"lexicon": Lexicon(slots=[Slot("a", "id", ["a"], pattern="(")])}, "no regular expression"),
        ({"lexicon": Lexicon(proposals=[ProposalForm("nap", ["nap"])])}, "no such tool"),
        ({"lexicon": Lexicon(proposals=[ProposalForm("lend_book", ["lend"], {"who": "a"})])}, "no argument 'who'"),
        ({"lexicon": Lexicon(proposals=[ProposalForm("lend_book", ["lend"], {"note": "a"})])}, "no slot 'a'"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changed: dict[str, Any], words: str):
    with pytest.raises(WorldError, match=words.replace("(", r"\(")):
        library(**changed)


def test_a_row_that_breaks_the_schema_is_refused_when_the_image_is_built():
    world = library(images={"base": lambda db: db.execute("INSERT INTO books VALUES ('B', 'x', -1, NULL)")})
    with pytest.raises(WorldError, match="copies_left"):
        world.image("base")
    with pytest.raises(WorldError, match="known: base"):
        world.image("night")


def test_the_version_covers_what_an_episode_depends_on():
    first = library().version
    assert library().version == first
    other_rows = {"base": lambda db: db.execute("INSERT INTO books VALUES ('B-1', 'Dune', 2, 9.6)")}
    changes: list[dict[str, Any]] = [
        {"images": other_rows},
        {"schema": SCHEMA.replace("DEFAULT 1", "DEFAULT 2")},
        {"tools": TOOLS[1:]},
        {"articles": ARTICLES[1:]},
        {"id_start": {"loans": 9}},
        {"volatile": {}},
    ]
    assert len({library(**change).version for change in changes} | {first}) == 7
    assert library(families=[]).version == first


def test_tables_are_read_with_keys_and_defaults(world: World):
    loans = world.tables["loans"]
    assert list(world.tables) == ["members", "books", "loans"]
    assert loans.columns == ("id", "member_id", "book_id", "due", "renewals", "note")
    assert loans.key == ("id",)
    expected: dict[str, Scalar] = dict.fromkeys(loans.columns) | {"renewals": 0}
    assert loans.defaults == expected
    assert world.tables["members"].defaults["status"] == "active"
    assert loans.foreign_keys == (("book_id", "books"), ("member_id", "members"))


def test_query_reads_and_cannot_write(world: World):
    assert world.query("base", "SELECT count(*) AS n FROM books WHERE copies > ?", (0,)) == [{"n": 2}]
    assert world.query("base", "SELECT id FROM books WHERE id = 'none'") == []
    with pytest.raises(Exception, match="readonly"):
        world.query("base", "DELETE FROM books")
    with pytest.raises(WorldError, match="same name"):
        world.query("base", "SELECT l.id, b.id FROM loans l JOIN books b ON b.id = l.book_id")


def test_tasks_come_in_family_order_sealed_and_by_split(world: World):
    assert [task.id for task in world.tasks()] == [
        "library/lend/train-000",
        "library/lend/train-001",
        "library/lend/train-002",
        "library/lend/heldout-500",
        "library/lend/heldout-501",
        "library/returned/heldout_family-000",
        "library/returned/heldout_family-001",
    ]
    assert [task.split for task in world.tasks("heldout")] == ["heldout"] * 2
    assert [task.family for task in world.tasks(families=["returned"])] == ["returned"] * 2
    assert all(task.hash for task in world.tasks())
    assert world.tasks()[4] is world.task("library/lend/heldout-501")
    with pytest.raises(TaskFileError, match="no such task"):
        world.task("library/lend/train-009")
    with pytest.raises(WorldError, match="known: lend, returned"):
        world.tasks(families=["borrow"])


def test_a_family_that_breaks_its_own_word_is_refused():
    with pytest.raises(WorldError, match="it must be 3"):
        library(families=[Family("lend", 3, make_lend, train=1)]).tasks()
    with pytest.raises(WorldError, match="library/borrow/train-000"):
        library(families=[Family("borrow", 1, make_lend, train=1)]).tasks()
    same = Family("lend", 1, lambda world, seed, split: _same(world, seed, split), train=2)
    with pytest.raises(WorldError, match="same task as library/lend/train-000"):
        library(families=[same]).tasks()


def _same(world: World, seed: int, split: Any) -> Any:
    return msgspec.structs.replace(make_lend(world, 0, "train"), id=make_lend(world, seed, split).id)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"level": 6}, "level"),
        ({"train": 1, "held_out_family": True}, "train"),
        ({"train": 501}, "train"),
        ({"heldout": -1}, "heldout"),
    ],
)
def test_counts_of_a_family_must_agree(arguments: dict[str, Any], key: str):
    with pytest.raises(WorldError) as caught:
        Family(**{"name": "f", "level": 1, "make": make_lend, **arguments})
    assert caught.value.key == key


def test_the_library_keeps_every_schema_rule(world: World):
    assert schema_rules(world) == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY)", "table t: is not STRICT"),
        ("CREATE TABLE t (id TEXT) STRICT", "table t: has no primary key"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY) STRICT", "key column id is not declared NOT NULL"),
        ("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT) STRICT", "AUTOINCREMENT"),
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, b BLOB) STRICT", "column b is BLOB"),
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, b INT CHECK (b > 0)) STRICT", "has no name"),
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, b INT AS (1)) STRICT", "generated column"),
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, b TEXT DEFAULT CURRENT_DATE) STRICT", "clock or chance"),
        ("CREATE TRIGGER t AFTER DELETE ON loans BEGIN SELECT 1; END", "trigger"),
        ("CREATE VIRTUAL TABLE t USING fts5(a)", "virtual table"),
    ],
)
def test_each_broken_schema_rule_is_found(sql: str, words: str):
    assert any(words in violation for violation in schema_rules(library(schema=f"{SCHEMA};{sql};")))


def test_words_in_comments_and_strings_break_no_rule():
    extra = "-- no TRIGGER: CREATE TRIGGER, CHECK (x)\nCREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT DEFAULT 'CHECK (') STRICT;"
    assert schema_rules(library(schema=SCHEMA + extra)) == []


def test_rows_that_break_rules_are_found():
    def build(loan: str, book: str) -> Any:
        def fill(db: Any) -> None:
            library_desk.build(db)
            db.execute("INSERT INTO loans VALUES (?, 'M-1', ?, 'x', 0, NULL)", (loan, book))

        return {"base": fill}

    with pytest.raises(WorldError, match="FOREIGN KEY"):
        schema_rules(library(images=build("LN-0001", "B-9")))
    assert schema_rules(library(images=build("LN-0001", "B-1"))) == []
    assert schema_rules(library(images=build("LN-0010", "B-1"))) == [
        "image base: loans already has LN-0010, which a tool would generate from LN-0008 on; raise id_start"
    ]


def test_leaks_tells_the_column_of_a_secret(world: World, play: Any):
    assert leaks(world, play("show_secret").result) == ["members.pin_hash"]
    assert leaks(world, "hash h-par-902.") == ["members.pin_hash"]
    assert leaks(world, "sh-ada-7710") == []
    assert leaks(world, play("find_members", name="Ada").result) == []


def test_search_ranks_titles_and_keeps_stale_versions(play: Any):
    found = json.loads(play("search_policy", query="lending, renewed?").result)
    assert [(row["id"], row["status"]) for row in found] == [("KB-1", "current"), ("KB-2", "superseded")]
    assert found[1] == {
        "id": "KB-2",
        "title": "Lending period (2024)",
        "status": "superseded",
        "effective": "2024-01-01",
        "excerpt": "Books are lent for ten days.",
    }


def test_an_article_is_whole_and_an_unknown_one_is_none(world: World):
    assert world.library.article("KB-3") == {
        "id": "KB-3",
        "title": "Blocked members",
        "status": "current",
        "effective": "2026-01-01",
        "tags": [],
        "body": "A blocked member pays the fee before borrowing again.",
    }
    assert world.library.article("KB-9") is None
    with pytest.raises(WorldError, match="'KB-1'"):
        library(articles=[Article("KB-1", "a", "b"), Article("KB-1", "c", "d")]).library.article("KB-1")


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(['"', "a AND", "NEAR(", "*", "title:", "-", "a OR", "\0", "^a", "(", "x" * 9999]),
    )
)
def test_no_query_makes_search_fail(query: str):
    found = library_desk.WORLD.library.search(query, 50)
    assert all(set(row) == {"id", "title", "status", "effective", "excerpt"} for row in found)


def test_a_search_result_is_the_callers_own(world: World):
    world.library.search("blocked")[0]["title"] = "gone"
    assert world.library.search("blocked")[0]["title"] == "Blocked members"


def test_worlds_load_by_path_and_errors_say_what_is_known():
    assert load_world("library_desk:WORLD") is library_desk.WORLD
    with pytest.raises(WorldError, match=f"known: {', '.join(WORLDS)}"):
        load_world("bakery")
    with pytest.raises(WorldError, match="cannot be imported"):
        load_world("no_such_module:WORLD")
    with pytest.raises(WorldError, match="no World called 'DESK'"):
        load_world("library_desk:DESK")
