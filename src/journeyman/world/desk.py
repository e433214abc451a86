"""The work that the tools of every service desk do alike: look up, add, overwrite, dollars, policy, approvals.

A world writes its tools itself, because signature and docstring are what its agent reads, and leaves the work to these
functions. What differs in meaning stays in the world. The source of this module counts in a world's version.

Example:
    customer = desk.by_id("customers", "customer_id", "customer", "customer ids look like C-1001")

    @tool("write")
    async def log_interaction(ctx: ToolContext, customer_id: str, summary: str) -> dict[str, Any]:
        '''Write a line into the contact history of a customer. …'''
        customer(ctx, customer_id)
        return {"ok": True, "interaction_id": desk.add(ctx, "interactions", customer_id, summary, ctx.now)}
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any

from journeyman.task import Scalar
from journeyman.world.session import ToolContext
from journeyman.world.tools import Tool, tool

Row = dict[str, Any]
_DIGITS = {4: "four", 6: "six"}


def by_id(source: str, key: str, noun: str, hint: str, columns: str = "*") -> Callable[[ToolContext, str], Row]:
    """A look-up of one row by its id: the row, or the error `not_found`.

    Args:
        source: a table, or a join of which `key` picks one row.
        noun: what the row is, in words.
        hint: what its ids look like or where they are found; the agent reads it.
    """
    sql = f"SELECT {columns} FROM {source} WHERE {key} = ?"

    def look_up(ctx: ToolContext, id: str) -> Row:
        row = ctx.one(sql, (id,))
        if row is None:
            ctx.error("not_found", f"no {noun} {id!r}; {hint}")
        return row

    return look_up


def find_by_name(
    ctx: ToolContext, table: str, key: str, name: str, city: str | None, *, letters: int, most: int
) -> dict[str, Any]:
    """People or firms by part of their name and by city: how many there are, and the first of them.

    Args:
        table: has `key`, `name`, `kind`, `city` and `status`.
        letters: that a name needs at least. most: matches that are returned.
    """
    if len(name.strip()) < letters:
        ctx.error("invalid_argument", f"argument `name`: at least {letters} letters")
    rows = ctx.all(
        f"SELECT {key}, name, kind, city, status FROM {table} "
        f"WHERE instr(lower(name), lower(?)) > 0 AND (? IS NULL OR lower(city) = lower(?)) ORDER BY {key}",
        (name.strip(), city, city),
    )
    return {"total": len(rows), "matches": rows[:most]}


def add(ctx: ToolContext, table: str, *values: Scalar) -> str:
    """Insert a row under a fresh id, its first column, and return the id; `values` are the other columns in order."""
    id = ctx.next_id(table)
    ctx.run(f"INSERT INTO {table} VALUES (?{', ?' * len(values)})", (id, *values))
    return id


def overwrite(ctx: ToolContext, table: str, key: str, row: Row, values: Mapping[str, Any]) -> list[str]:
    """Write what of `values` differs from `row`, a row of the table; returns those columns.

    Raises:
        ToolError: `invalid_state` where nothing differs.
    """
    fresh = {column: value for column, value in values.items() if row[column] != value}
    if not fresh:
        ctx.error("invalid_state", "nothing to change: give at least one new value")
    assignments = ", ".join(f"{column} = ?" for column in fresh)
    ctx.run(f"UPDATE {table} SET {assignments} WHERE {key} = ?", (*fresh.values(), row[key]))
    return list(fresh)


def in_dollars(row: Row) -> Row:
    """The row as a tool shows it: each column `x_cents` as `x` in dollars, in the same place."""
    return {
        column.removesuffix("_cents"): dollars(value) if column.endswith("_cents") else value
        for column, value in row.items()
    }


def dollars(cents: int) -> float:
    """Cents as decimal dollars: the only form in which an amount leaves a tool."""
    return round(cents / 100, 2)


def whole(ctx: ToolContext, value: float, unit: str, decimals: int, most: int, argument: str) -> int:
    """A positive amount in the smallest unit kept, such as dollars in cents; `most` in that unit.

    Raises:
        ToolError: `invalid_argument` for nothing, for more than `most`, for more decimals.
    """
    scale: int = 10**decimals
    number = round(value * scale)
    if not 0 < number <= most or abs(value * scale - number) > 1e-4:
        ctx.error(
            "invalid_argument", f"argument `{argument}`: expected {unit} above 0 with at most {decimals} decimals"
        )
    return number


def between(ctx: ToolContext, argument: str, value: int, least: int, most: int) -> int:
    """The value, or `invalid_argument` outside the bounds."""
    if not least <= value <= most:
        ctx.error("invalid_argument", f"argument `{argument}`: {least} to {most}")
    return value


def filled(ctx: ToolContext, argument: str, text: str) -> str:
    """The text, or `invalid_argument` where it is blank."""
    if not text.strip():
        ctx.error("invalid_argument", f"argument `{argument}`: must not be empty")
    return text


def digits(ctx: ToolContext, argument: str, text: str, count: int) -> str:
    """A PIN of `count` digits, or `invalid_argument`."""
    if not re.fullmatch(rf"\d{{{count}}}", text, re.ASCII):
        ctx.error("invalid_argument", f"argument `{argument}`: {_DIGITS[count]} digits")
    return text


def is_date(text: str) -> bool:
    """Whether `text` is a calendar date as YYYY-MM-DD."""
    try:
        # fromisoformat also takes other forms, weeks among them.
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def current_article(ctx: ToolContext, article_id: str) -> None:
    """Fail unless there is such an article and it is in force: what a documented refusal may cite."""
    article = ctx.article(article_id)
    if article is None:
        ctx.error("not_found", f"no policy article {article_id!r}; see search_policy")
    if article["status"] != "current":
        ctx.error("invalid_state", f"article {article_id} is {article['status']}: cite the current one")


def use_approval(
    ctx: ToolContext,
    approval_id: str | None,
    kind: str,
    cents: int,
    *,
    owner: str,
    id: str,
    of: str,
    days: int | None = None,
) -> None:
    """Spend an approval on one write. The table `approvals` has the column `owner`, `kind`, `amount_cents`, `status`
    and `requested_at`.

    Args:
        owner, id: whom the write is for: a column such as `account_id`, and its value.
        of: whose approval it takes, in words.
        days: an approval lapses so many days after it was requested; None: never.

    Raises:
        ToolError: `not_authorized` unless it is approved, unused, not lapsed, of this owner and kind, and covers the amount.
    """
    if approval_id is None:
        ctx.error("not_authorized", f"${dollars(cents):.2f} needs a {of}'s approval (kind {kind})")
    row = _approval(ctx, approval_id)
    if row["status"] == "approved" and days is not None:
        age = datetime.date.fromisoformat(ctx.today) - datetime.date.fromisoformat(row["requested_at"][:10])
        if age.days > days:
            ctx.error("not_authorized", f"approval {approval_id} has lapsed: it was requested {age.days} days ago")
    fits = row[owner] == id and row["kind"] == kind and row["amount_cents"] >= cents
    if row["status"] != "approved" or not fits:
        ctx.error(
            "not_authorized",
            f"approval {approval_id} is {row['status']}, kind {row['kind']}, {owner.removesuffix('_id')} {row[owner]}, "
            f"up to ${dollars(row['amount_cents']):.2f}: it does not cover this",
        )
    ctx.run("UPDATE approvals SET status = 'used' WHERE approval_id = ?", (approval_id,))


_approval = by_id("approvals", "approval_id", "approval", "approval ids look like AP-9001")


def hand_over(ctx: ToolContext, queue: str, summary: str) -> dict[str, Any]:
    """Hand the conversation to a person: a row of `transfers`."""
    add(ctx, "transfers", queue, summary, ctx.now)
    return {"ok": True, "queue": queue}


@tool("read")
async def search_policy(ctx: ToolContext, query: str, limit: int = 3) -> list[dict[str, Any]]:
    """Search the policy articles, best match first. Superseded versions are found too: look at the status.

    Args:
        query: a few words.
        limit: most articles to return, 1 to 8.
    """
    return [_shown(found, "excerpt") for found in ctx.search(query, between(ctx, "limit", limit, 1, 8))]


def policy_article(example: str) -> Tool:
    """The tool `get_policy_article` of a world; `example`: the id of one of its articles."""

    async def get_policy_article(ctx: ToolContext, article_id: str) -> dict[str, Any]:
        found = ctx.article(article_id)
        if found is None:
            ctx.error("not_found", f"no policy article {article_id!r}; see search_policy")
        return _shown(found, "body")

    get_policy_article.__doc__ = f"Read one policy article whole.\n\nArgs:\n    article_id: such as {example}."
    return tool("read")(get_policy_article)


def _shown(found: Row, text: str) -> Row:
    return {"article_id": found["id"], **{key: found[key] for key in ("title", "status", "effective", text)}}
