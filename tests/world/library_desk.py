"""A small world for the kit's tests: a library desk with three tables, ordinary tools and some that misbehave."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import apsw
import msgspec

from journeyman.task import Call, ExpectedRow, Outcome, RowChange, Split, Task
from journeyman.world import Article, Family, Lexicon, ProposalForm, Slot, ToolContext, World, task_id, tool

SCHEMA = """
CREATE TABLE members (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    pin_hash TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    CONSTRAINT known_status CHECK (status IN ('active', 'blocked'))
) STRICT;
CREATE TABLE books (
    id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    copies INTEGER NOT NULL DEFAULT 1,
    price REAL,
    CONSTRAINT copies_left CHECK (copies >= 0)
) STRICT;
CREATE TABLE loans (
    id TEXT NOT NULL PRIMARY KEY,
    member_id TEXT NOT NULL REFERENCES members (id),
    book_id TEXT NOT NULL REFERENCES books (id) DEFERRABLE INITIALLY DEFERRED,
    due TEXT NOT NULL,
    renewals INTEGER NOT NULL DEFAULT 0,
    note TEXT
) STRICT;
"""


def build(db: apsw.Connection) -> None:
    db.execute(
        "INSERT INTO members VALUES ('M-1', 'Ada Park', 'h-ada-771', 'active'), ('M-2', 'Ada Parker', 'h-par-902', 'blocked')"
    )
    db.execute(
        "INSERT INTO books VALUES ('B-1', 'Dune', 2, 9.5), ('B-2', 'Emma', 1, NULL), ('B-3', 'Ulysses', 0, 12.0)"
    )
    db.execute("INSERT INTO loans VALUES ('LN-0007', 'M-2', 'B-3', '2026-03-10', 1, 'desk')")


class Line(msgspec.Struct):
    book_id: str
    days: int = 14


class Remark(TypedDict):
    text: str
    urgent: bool


@tool("read")
async def find_members(ctx: ToolContext, name: str, limit: int = 5) -> list[dict[str, Any]]:
    """Find members by part of their name.

    Args:
        name: part of the name.
        limit: most members to return.
    """
    return ctx.all("SELECT id, name, status FROM members WHERE name LIKE ? ORDER BY id LIMIT ?", (f"%{name}%", limit))


@tool("read")
async def get_book(ctx: ToolContext, book_id: str) -> dict[str, Any] | None:
    """One book.

    Args:
        book_id: such as B-1.
    """
    return ctx.one("SELECT * FROM books WHERE id = ?", (book_id,)) or ctx.error("not_found", f"no book {book_id}")


@tool("write")
async def lend_book(ctx: ToolContext, member_id: str, book_id: str, note: str | None = None) -> dict[str, Any]:
    """Lend a book for 14 days.

    Args:
        member_id: who borrows.
        book_id: what is borrowed.
        note: kept with the loan.
    """
    loan = ctx.next_id("loans")
    ctx.run("UPDATE books SET copies = copies - 1 WHERE id = ?", (book_id,))
    ctx.run(
        "INSERT INTO loans (id, member_id, book_id, due, note) VALUES (?, ?, ?, date(?, '+14 days'), ?)",
        (loan, member_id, book_id, ctx.today, note),
    )
    return {"loan_id": loan, "at": ctx.now}


@tool("write")
async def lend_many(ctx: ToolContext, member_id: str, lines: list[Line], remark: Remark | None = None) -> list[str]:
    """Lend several books at once.

    Args:
        member_id: who borrows.
        lines: one record a book; days is the length of the loan in days.
        remark: kept with every loan.
    """
    loans = []
    for line in lines:
        loans.append(ctx.next_id("loans"))
        ctx.run(
            "INSERT INTO loans (id, member_id, book_id, due, note) VALUES (?, ?, ?, date(?, ?), ?)",
            (loans[-1], member_id, line.book_id, ctx.today, f"+{line.days} days", remark["text"] if remark else None),
        )
    return loans


@tool("write")
async def set_status(ctx: ToolContext, member_id: str, status: Literal["active", "blocked"]) -> int:
    """Block a member or lift the block.

    Args:
        member_id: whose status.
        status: the new one.
    """
    return ctx.run("UPDATE members SET status = ? WHERE id = ?", (status, member_id))


@tool("write")
async def set_price(ctx: ToolContext, book_id: str, price: float) -> int:
    """Set the price of replacement.

    Args:
        book_id: of which book.
        price: in dollars.
    """
    return ctx.run("UPDATE books SET price = ? WHERE id = ?", (price, book_id))


@tool("write")
async def return_book(ctx: ToolContext, loan_id: str) -> dict[str, Any]:
    """Take a book back.

    Args:
        loan_id: such as LN-0007.
    """
    loan = ctx.one("DELETE FROM loans WHERE id = ? RETURNING book_id", (loan_id,))
    if loan is None:
        ctx.error("not_found", f"no loan {loan_id}")
    ctx.run("UPDATE books SET copies = copies + 1 WHERE id = ?", (loan["book_id"],))
    return {"returned": loan_id}


@tool("read")
async def roll_dice(ctx: ToolContext) -> int:
    """A number from 1 to 1,000,000."""
    return ctx.rng.randint(1, 1_000_000)


@tool("read")
async def search_policy(ctx: ToolContext, query: str) -> list[dict[str, Any]]:
    """Search the house rules.

    Args:
        query: words.
    """
    return ctx.search(query, 3)


@tool("write")
async def crash_after_write(ctx: ToolContext) -> None:
    """Writes, takes an id, then fails."""
    ctx.run("DELETE FROM loans")
    ctx.next_id("loans")
    raise KeyError("h-ada-771")


@tool("read")
async def write_in_read(ctx: ToolContext) -> int:
    """A read tool that tries to write."""
    return ctx.run("DELETE FROM loans")


@tool("read")
async def run_away(ctx: ToolContext) -> Any:
    """A query without end."""
    return ctx.one("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS top FROM n")


@tool("write")
async def run_away_writing(ctx: ToolContext) -> Any:
    """A write without end, after one that was done."""
    ctx.run("DELETE FROM loans")
    return ctx.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "UPDATE books SET copies = (SELECT max(i) FROM n)"
    )


@tool("write")
async def commit_inside(ctx: ToolContext) -> None:
    """Ends a transaction that is not its own, and begins another."""
    ctx.run("DELETE FROM loans")
    ctx.run("COMMIT")
    ctx.run("BEGIN")


@tool("write")
async def roll_back_inside(ctx: ToolContext) -> None:
    """Undoes what is not its own."""
    ctx.run("ROLLBACK")
    ctx.run("DELETE FROM loans")


@tool("write")
async def long_result(ctx: ToolContext) -> str:
    """Writes, then returns too much."""
    ctx.run("DELETE FROM loans")
    return "x" * 10_000


@tool("read")
async def show_secret(ctx: ToolContext) -> Any:
    """Reveals what it must not."""
    return ctx.one("SELECT pin_hash FROM members WHERE id = 'M-1'")


@tool("write")
async def transfer_to_human(ctx: ToolContext, reason: str) -> str:
    """Hand over to a librarian.

    Args:
        reason: why.
    """
    return "transferred"


TOOLS = [
    find_members, get_book, lend_book, lend_many, set_status, set_price, return_book, roll_dice, search_policy,
    crash_after_write, write_in_read, run_away, run_away_writing,
    commit_inside, roll_back_inside, long_result, show_secret, transfer_to_human,
]  # fmt: skip

ARTICLES = [
    Article("KB-1", "Lending period", "Books are lent for fourteen days. Renewing is possible twice.", tags=["loans"]),
    Article("KB-2", "Lending period (2024)", "Books are lent for ten days.", "superseded", "2024-01-01"),
    Article("KB-3", "Blocked members", "A blocked member pays the fee before borrowing again.", effective="2026-01-01"),
]


def make_lend(world: World, seed: int, split: Split) -> Task:
    """Lend a book to M-1; the seed picks book and note."""
    book = world.query("base", "SELECT id FROM books WHERE copies > 0 ORDER BY id")[seed % 2]["id"]
    row = ExpectedRow("loan", "loans", "insert", set={"member_id": "M-1", "book_id": book, "due": "2026-03-16"})
    return Task(
        id=task_id(world.name, "lend", split, seed),
        world=world.name,
        world_version=world.version,
        family="lend",
        level=1,
        split=split,
        now="2026-03-02T09:15:00",
        image="base",
        request=f"Lend {book} to Ada Park (request {seed}).",
        outcomes=[Outcome(rows=[row], end="final")],
        criteria=[],
        oracle=[Call("lend_book", {"member_id": "M-1", "book_id": book})],
    )


def make_returned(world: World, seed: int, split: Split) -> Task:
    """Take back a loan that the task itself sets up."""
    loan = f"LN-{seed + 100:04d}"
    values = {"member_id": "M-1", "book_id": "B-1", "due": "2026-03-05", "renewals": 0}
    return Task(
        id=task_id(world.name, "returned", split, seed),
        world=world.name,
        world_version=world.version,
        family="returned",
        level=2,
        split=split,
        now="2026-03-02T09:15:00",
        image="base",
        request=f"Take {loan} back.",
        outcomes=[Outcome(rows=[ExpectedRow("loan", "loans", "delete", where={"id": loan})], end="final")],
        criteria=[],
        oracle=[Call("return_book", {"loan_id": loan})],
        setup=[
            RowChange("loans", "insert", {"id": loan}, new=values),
            RowChange("books", "update", {"id": "B-1"}, new={"copies": 1}),
        ],
    )


def options() -> dict[str, Any]:
    """The arguments of a whole and correct world, to be broken one at a time."""
    return {
        "name": "library",
        "company": "Elm Street Library",
        "desk": "You work at the desk of the Elm Street Library.",
        "schema": SCHEMA,
        "images": {"base": build},
        "tools": TOOLS,
        "articles": ARTICLES,
        "families": [
            Family("lend", 1, make_lend, train=3, heldout=2),
            Family("returned", 2, make_returned, heldout=2, held_out_family=True),
        ],
        "lexicon": Lexicon(
            slots=[Slot("book", "id", ["book"], pattern=r"B-\d+")],
            proposals=[ProposalForm("lend_book", ["lend"], {"book_id": "book"})],
        ),
        "volatile": {"loans": ["note"]},
        "secret": {"members": ["pin_hash"]},
        "id_formats": {"loans": "LN-{:04d}"},
        "id_start": {"loans": 8},
    }


def library(**changed: Any) -> World:
    """A fresh library desk."""
    return World(**{**options(), **changed})


WORLD = library()
