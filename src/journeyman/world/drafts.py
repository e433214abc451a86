"""Images under construction: rows, ids and random choices of one seeded generator, written when all of them are there."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import apsw

from journeyman.world.schema import quote, read_tables


class Draft:
    """Rows by table, in order of insertion.

    Args:
        seed: of all random choices; nothing reads a clock.
        id_starts: table -> prefix and first number of its ids; stay below what tools generate.
    """

    def __init__(self, seed: int, id_starts: Mapping[str, tuple[str, int]]) -> None:
        self.rng = random.Random(seed)
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._starts = id_starts
        self._counts: dict[str, int] = defaultdict(int)

    def id(self, table: str, prefix: str = "") -> str:
        """The next id of a table, PREFIX-NUMBER; `prefix` where the table has no start, from 1001 on."""
        stem, start = self._starts.get(table, (prefix, 1001))
        self._counts[table] += 1
        return f"{stem}-{start + self._counts[table] - 1}"

    def add(self, table: str, **values: Any) -> dict[str, Any]:
        """Append a row and return it; it may still be changed."""
        self.rows[table].append(values)
        return values

    def add_all(self, table: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        """Append rows of a catalogue, all of the same columns."""
        names = tuple(columns)
        for row in rows:
            self.add(table, **dict(zip(names, row, strict=True)))

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.rng.random() < share

    def date(self, first_year: int, last_year: int) -> str:
        """A day from January of the first year to December of the last, as ISO text."""
        year = self.rng.randint(first_year, last_year)
        return f"{year}-{self.rng.randint(1, 12):02d}-{self.rng.randint(1, 28):02d}"

    def write(self, db: apsw.Connection) -> None:
        """Insert all rows, the tables in the schema's order, so that what a row points to is there before it."""
        for table in read_tables(db):
            rows = self.rows.get(table, [])
            if rows:
                columns = list(rows[0])
                marks = ", ".join(f":{column}" for column in columns)
                db.executemany(f"INSERT INTO {quote(table)} ({', '.join(map(quote, columns))}) VALUES ({marks})", rows)
