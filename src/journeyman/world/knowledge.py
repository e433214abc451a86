"""Policy articles and their full-text search: one read-only database per world, shared by all sessions.

Search is a pure function of articles and query; no query text makes it fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import apsw

from journeyman.errors import WorldError
from journeyman.task import Data

MAX_TERMS = 16
"""Words of a query that count."""
MAX_RESULTS = 20
_CACHE = 512


class Article(Data, frozen=True):
    """One article. `effective` is an ISO date; `superseded` and `draft` ones stay searchable, as they do in life."""

    id: str
    title: str
    body: str
    status: Literal["current", "superseded", "draft"] = "current"
    effective: str = ""
    tags: list[str] = []


class Library:
    """The searchable articles of one world."""

    def __init__(self, where: str, articles: Sequence[Article]) -> None:
        self._articles = {article.id: article for article in articles}
        if len(self._articles) != len(articles):
            names = sorted(article.id for article in articles)
            twice = next(a for a, b in pairwise(names) if a == b)
            raise WorldError(where, "articles", f"two articles have the id {twice!r}: give each its own.")
        self._found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE articles USING fts5(id UNINDEXED, title, body, tags, tokenize='porter unicode61')"
        )
        self._db.executemany(
            "INSERT INTO articles VALUES (?, ?, ?, ?)", ((a.id, a.title, a.body, " ".join(a.tags)) for a in articles)
        )
        self._db.execute("PRAGMA query_only = 1")

    def article(self, id: str) -> dict[str, Any] | None:
        """The whole article {id, title, status, effective, tags, body}, or None."""
        found = self._articles.get(id)
        return None if found is None else {**_head(found), "tags": list(found.tags), "body": found.body}

    def search(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """The best matches, best first: {id, title, status, effective, excerpt}.

        Words are stemmed and joined by OR; title and tags weigh more than the body. Words that occur nowhere, an
        empty query or any punctuation give fewer or no results, never an error.
        """
        limit = max(1, min(limit, MAX_RESULTS))
        cached = self._found.get((query, limit))
        if cached is None:
            cached = self._search(query, limit)
            if len(self._found) < _CACHE and len(query) <= 400:
                self._found[(query, limit)] = cached
        return [dict(row) for row in cached]

    def _search(self, query: str, limit: int) -> list[dict[str, Any]]:
        terms = list(dict.fromkeys(re.findall(r"[^\W_]+", query[:4000].lower())))[:MAX_TERMS]
        if not terms:
            return []
        # Quoted words are plain terms to FTS5: none of its operators can be reached from a query.
        match = " OR ".join(f'"{term}"' for term in terms)
        rows: list[tuple[Any, ...]] = self._db.execute(
            "SELECT id, snippet(articles, 2, '', '', '…', 24) FROM articles WHERE articles MATCH ? "
            "ORDER BY bm25(articles, 0.0, 4.0, 1.0, 3.0), rowid LIMIT ?",
            (match, limit),
        ).fetchall()
        return [{**_head(self._articles[id]), "excerpt": " ".join(text.split())} for id, text in rows]


def _head(article: Article) -> dict[str, Any]:
    return {"id": article.id, "title": article.title, "status": article.status, "effective": article.effective}
