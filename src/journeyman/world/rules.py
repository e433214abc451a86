"""Rules a world's database must keep so that recorded changes, replay and secrecy hold. Used by lint.

Each rule is here because the record of row changes would lose or distort what breaks it, or because a replay would differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from journeyman.world.schema import Table, quote

if TYPE_CHECKING:
    from journeyman.world.world import World

_TEXT = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_CHECK = re.compile(r"\bCHECK\s*\(", re.IGNORECASE)
_NAMED = re.compile(r"\bCONSTRAINT\s+(?:\w+|\"[^\"]+\")\s*$", re.IGNORECASE)
_CLOCK = re.compile(r"\bCURRENT_(?:TIMESTAMP|DATE|TIME)\b|'now'|\brandom(?:blob)?\s*\(", re.IGNORECASE)
_FORBIDDEN = {
    "trigger": re.compile(r"\bCREATE\s+(?:TEMP\w*\s+)?TRIGGER\b", re.IGNORECASE),
    "virtual table": re.compile(r"\bCREATE\s+VIRTUAL\s+TABLE\b", re.IGNORECASE),
    "AUTOINCREMENT": re.compile(r"\bAUTOINCREMENT\b", re.IGNORECASE),
    "generated column": re.compile(r"\bAS\s*\([^)]*\)\s*(?:STORED|VIRTUAL)?|\bGENERATED\s+ALWAYS\b", re.IGNORECASE),
}
_WORD = re.compile(r"\w+")
SECRET_LENGTH = 4
"""Characters. Shorter values cannot be told from ordinary text."""


def schema_rules(world: World) -> list[str]:
    """Every violation of the schema rules, as sentences that name table and remedy; empty when all hold."""
    found = list(_schema(world.schema))
    for table in world.tables.values():
        found.extend(_table(table))
    for image in world.builders:
        found.extend(_image(world, image))
    return found


def _code(sql: str) -> str:
    """SQL without comments and the content of string literals."""
    return _TEXT.sub(lambda match: "''" if match[0].startswith("'") else " ", sql)


def _schema(schema: str) -> Iterator[str]:
    code = _code(schema)
    for what, pattern in _FORBIDDEN.items():
        if pattern.search(code):
            yield f"schema: has a {what}; recorded changes lose or distort what it does, write it into the tools instead"
    for match in _CHECK.finditer(code):
        if not _NAMED.search(code[: match.start()]):
            excerpt = " ".join(code[match.start() : match.start() + 40].split())
            yield f"schema: {excerpt!r} has no name; write CONSTRAINT name CHECK (…) so that an error can tell the rule"
    comments_gone = re.sub(r"--[^\n]*|/\*.*?\*/", " ", schema, flags=re.DOTALL)
    if _CLOCK.search(comments_gone):
        yield "schema: reads the clock or chance; a replay would differ, pass the value from the tool instead"


def _table(table: Table) -> Iterator[str]:
    if not table.strict:
        yield f"table {table.name}: is not STRICT; add STRICT"
    if not table.key:
        yield f"table {table.name}: has no primary key; no change of it is recorded"
    for column in table.key:
        if column not in table.not_null or not re.search(
            rf"\b{column}\b[^,]*\bNOT\s+NULL", _code(table.sql), re.IGNORECASE
        ):
            yield f"table {table.name}: key column {column} is not declared NOT NULL"
    for column, kind in table.types.items():
        if kind not in ("TEXT", "INTEGER", "INT", "REAL"):
            yield f"table {table.name}: column {column} is {kind}; use TEXT, INTEGER or REAL"


def _image(world: World, image: str) -> Iterator[str]:
    for row in world.query(image, 'SELECT "table", rowid AS line, parent FROM pragma_foreign_key_check'):
        yield f"image {image}: row {row['line']} of {row['table']} points to no row of {row['parent']}"
    for table, form in world.id_formats.items():
        key = world.tables[table].key[0]
        first = form.format(world.id_start.get(table, 1))
        later = world.query(image, f"SELECT {quote(key)} AS id FROM {quote(table)}")
        taken = {str(row["id"]) for row in later}
        start = world.id_start.get(table, 1)
        clash = next((id for id in (form.format(start + n) for n in range(1_000)) if id in taken), None)
        if clash is not None:
            yield f"image {image}: {table} already has {clash}, which a tool would generate from {first} on; raise id_start"


@lru_cache(maxsize=8)
def _secrets(world: World) -> tuple[tuple[str, str], ...]:
    """(place, value) of every secret value of every image."""
    found: set[tuple[str, str]] = set()
    for image in world.builders:
        for table, columns in world.secret.items():
            for column in columns:
                rows = world.query(image, f"SELECT DISTINCT {quote(column)} AS value FROM {quote(table)}")
                found.update((f"{table}.{column}", str(row["value"])) for row in rows if row["value"] is not None)
    return tuple(sorted(pair for pair in found if len(pair[1]) >= SECRET_LENGTH))


def leaks(world: World, text: str) -> list[str]:
    """The secret columns (`table.column`) of which a value stands in `text`, whole and not inside a longer word.

    The values of the images are the canaries: give secret columns values that occur nowhere else.
    """
    by_word, others = _secrets_by_word(world)
    found = {place for place, value in others if value in text and _stands_alone(text, value)}
    for match in _WORD.finditer(text):
        for place, value in by_word.get(match[0], ()):
            end = match.start() + len(value)
            if text.startswith(value, match.start()) and not _WORD.match(text, end):
                found.add(place)
    return sorted(found)


def _stands_alone(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


@lru_cache(maxsize=8)
def _secrets_by_word(world: World) -> tuple[dict[str, list[tuple[str, str]]], list[tuple[str, str]]]:
    """Secrets by the word that they begin with, so that a text is walked once however many there are; and those that
    begin or end with no word."""
    by_word: dict[str, list[tuple[str, str]]] = {}
    others: list[tuple[str, str]] = []
    for place, value in _secrets(world):
        first = _WORD.match(value)
        if first is None or not (value[-1].isalnum() or value[-1] == "_"):
            others.append((place, value))
        else:
            by_word.setdefault(first[0], []).append((place, value))
    return by_word, others
