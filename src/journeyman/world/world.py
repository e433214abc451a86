"""A world: a simulated business. Schema, images, tools, articles and task families, checked when it is made.

A world holds no session and no state of an episode; all it keeps beyond its definition are caches of pure functions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import apsw

from journeyman.codec import canonical, digest
from journeyman.errors import TaskFileError, WorldError
from journeyman.task import Split, Task
from journeyman.world.database import Params, SetupRow, Source, Statements, build_image
from journeyman.world.family import Family, task_id
from journeyman.world.knowledge import Article, Library
from journeyman.world.lexicon import Lexicon
from journeyman.world.schema import Table, connect, create, quote, read_tables
from journeyman.world.sources import sources
from journeyman.world.tools import Tool, ToolSpec

IDLE_COPIES = 64
"""Copies of an image that wait for their next session."""

Builder = Callable[[apsw.Connection], None]


class World:
    """A simulated business.

    Args:
        name: short, lower case; first part of task ids.
        company: the name the business goes by.
        desk: one sentence for the system prompt: who the agent works for and its rules.
        schema: SQL of all tables.
        images: name -> function that fills an empty database with the schema (foreign keys on, one transaction).
        transfer_tool: the tool that hands the case to a person.
        volatile: table -> columns that are never compared (timestamps, free text).
        volatile_tables: tables in which inserts and deletes are not compared either.
        touches: write tool -> the slots that may tell another value after it (none: it only puts words on file or
            sends them); one that is not listed may change any.
        secret: table -> columns that no tool may reveal.
        id_formats: table -> format of generated keys ("TCK-{:05d}"); the table's key is one TEXT column.
        id_start: table -> first number (1 where it is not given).

    Raises:
        WorldError: parts that do not fit together; names key and remedy.
    """

    def __init__(
        self,
        *,
        name: str,
        company: str,
        desk: str,
        schema: str,
        images: Mapping[str, Builder],
        tools: Sequence[Tool],
        articles: Sequence[Article] = (),
        families: Sequence[Family] = (),
        lexicon: Lexicon | None = None,
        transfer_tool: str = "transfer_to_human",
        volatile: Mapping[str, Sequence[str]] | None = None,
        volatile_tables: Sequence[str] = (),
        touches: Mapping[str, Sequence[str]] | None = None,
        secret: Mapping[str, Sequence[str]] | None = None,
        id_formats: Mapping[str, str] | None = None,
        id_start: Mapping[str, int] | None = None,
    ) -> None:
        self.name = name
        self.company = company
        self.desk = desk
        self.schema = schema
        self.tools = list(tools)
        self.articles = list(articles)
        self.families = list(families)
        self.lexicon = lexicon if lexicon is not None else Lexicon()
        self.transfer_tool = transfer_tool
        self.volatile = {table: list(columns) for table, columns in (volatile or {}).items()}
        self.volatile_tables = list(volatile_tables)
        self.touches = {tool: list(slots) for tool, slots in (touches or {}).items()}
        self.secret = {table: list(columns) for table, columns in (secret or {}).items()}
        self.id_formats = dict(id_formats or {})
        self.id_start = dict(id_start or {})
        self.builders = dict(images)
        self.tools_by_name: dict[str, Tool] = {tool.name: tool for tool in self.tools}
        self.tables: dict[str, Table] = read_tables(create(f"world {name}", schema))
        self.statements = Statements(self.tables)
        self.checked_tasks: dict[str, tuple[Task, list[SetupRow]]] = {}
        self._sources: dict[str, Source] = {}
        self._readers: dict[str, apsw.Connection] = {}
        self._offered: dict[tuple[str, ...], dict[str, Tool]] = {}
        self._tasks: dict[str, list[Task]] = {}
        _check(self)

    def image(self, name: str) -> bytes:
        """The bytes of an image, built at first use. Raises WorldError for an unknown name."""
        return self.source(name).image

    def source(self, name: str) -> Source:
        """Where sessions take copies of an image from. Raises WorldError for an unknown name."""
        source = self._sources.get(name)
        if source is None:
            builder = self.builders.get(name)
            if builder is None:
                raise WorldError(f"world {self.name}", f"image {name}", f"unknown; known: {', '.join(self.builders)}.")
            image = build_image(f"world {self.name}, image {name}", self.schema, builder)
            source = self._sources[name] = Source(image, IDLE_COPIES)
        return source

    def query(self, image: str, sql: str, params: Params = ()) -> list[dict[str, Any]]:
        """Rows of an image as mappings, read-only: for families that build tasks from what is there."""
        reader = self._readers.get(image)
        if reader is None:
            reader = connect()
            reader.deserialize("main", self.image(image))
            reader.execute("PRAGMA query_only = 1")
            self._readers[image] = reader
        cursor = reader.execute(sql, params)
        names = self.statements.names.get(sql) or self.statements.column_names(sql, cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @cached_property
    def library(self) -> Library:
        """The searchable articles."""
        return Library(f"world {self.name}", self.articles)

    @cached_property
    def version(self) -> str:
        """A hash of schema, rows of all images, tool schemas, the source that the tools run, articles and id rules.

        Lexicon and families are left out: tasks and events speak for themselves.
        """
        rows = {name: self._rows_digest(name) for name in sorted(self.builders)}
        specs = [tool.spec for tool in self.tools]
        ids = {"formats": self.id_formats, "start": self.id_start}
        parts = [self.schema, rows, specs, sources(self.tools), self.articles, self.volatile, self.secret, ids]
        return digest([*parts, self.volatile_tables, self.transfer_tool])[:16]

    def _rows_digest(self, image: str) -> str:
        total = hashlib.sha256()
        for name, table in self.tables.items():
            order = ", ".join(quote(column) for column in table.key) or "rowid"
            total.update(name.encode())
            total.update(canonical(self.query(image, f"SELECT * FROM {quote(name)} ORDER BY {order}")))
        return total.hexdigest()

    def specs(self) -> list[ToolSpec]:
        """What a policy is told of all tools, in order."""
        return [tool.spec for tool in self.tools]

    def offered(self, names: tuple[str, ...]) -> dict[str, Tool]:
        """The tools of a task that offers only some, by name, in the world's order."""
        found = self._offered.get(names)
        if found is None:
            found = {tool.name: tool for tool in self.tools if tool.name in names}
            if len(self._offered) < 1_000:
                self._offered[names] = found
        return found

    def tasks(self, split: Split | None = None, families: Sequence[str] | None = None) -> list[Task]:
        """The tasks of a split (all if None) and of some families (all if None), in family order, sealed.

        Raises:
            WorldError: an unknown family, or a family whose task does not fit its own declaration.
        """
        known = [family.name for family in self.families]
        for name in families or []:
            if name not in known:
                raise WorldError(f"world {self.name}", f"family {name}", f"unknown; known: {', '.join(known)}.")
        chosen = [family for family in self.families if families is None or family.name in families]
        tasks = [task for family in chosen for task in self._family_tasks(family)]
        return [task for task in tasks if split is None or task.split == split]

    def task(self, id: str) -> Task:
        """The task with this id. Raises TaskFileError where the world has none."""
        parts = id.split("/")
        for family in self.families:
            if len(parts) == 3 and parts[1] == family.name:
                for task in self._family_tasks(family):
                    if task.id == id:
                        return task
        raise TaskFileError(id, "", f"world {self.name} has no such task: see `journeyman tasks show {self.name}`.")

    def _family_tasks(self, family: Family) -> list[Task]:
        tasks = self._tasks.get(family.name)
        if tasks is None:
            tasks = [self._make(family, seed, split) for seed, split in family.instances()]
            _check_distinct(family, tasks)
            self._tasks[family.name] = tasks
        return tasks

    def _make(self, family: Family, seed: int, split: Split) -> Task:
        try:
            task = family.make(self, seed, split)
        except WorldError:
            raise
        except Exception as error:
            raise WorldError(
                f"family {family.name}",
                f"{split} {seed}",
                f"raised {type(error).__name__}: {error}. Correct the family.",
            ) from error
        expected: dict[str, Any] = {
            "id": task_id(self.name, family.name, split, seed),
            "world": self.name,
            "world_version": self.version,
            "family": family.name,
            "level": family.level,
            "split": split,
        }
        for key, value in expected.items():
            if getattr(task, key) != value:
                raise WorldError(
                    f"family {family.name}", key, f"made a task with {getattr(task, key)!r}: it must be {value!r}."
                )
        if task.image not in self.builders:
            raise WorldError(f"family {family.name}", "image", f"unknown image {task.image!r}.")
        return task.sealed()


def _check_distinct(family: Family, tasks: Sequence[Task]) -> None:
    """A held-out task that repeats a train task would be no held-out task."""
    seen: dict[bytes, str] = {}
    for task in tasks:
        content = canonical([task.request, task.scenario, task.setup, task.outcomes])
        if content in seen:
            raise WorldError(
                f"family {family.name}",
                task.id,
                f"is the same task as {seen[content]}: derive more of it from the seed, or ask for fewer tasks.",
            )
        seen[content] = task.id


def _check(world: World) -> None:
    where = f"world {world.name}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", world.name):
        raise WorldError(where, "name", "use lower-case letters, digits and underscores.")
    for key, names in (("tools", [t.name for t in world.tools]), ("families", [f.name for f in world.families])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise WorldError(where, key, f"{twice[0]!r} is there twice: rename or remove one.")
    if not world.builders:
        raise WorldError(where, "images", "a world needs at least one image.")
    if world.transfer_tool not in world.tools_by_name:
        raise WorldError(
            where, "transfer_tool", f"there is no tool {world.transfer_tool!r}: define it or name another."
        )
    _check_tables(world, where)
    _check_lexicon(world, where)


def _check_tables(world: World, where: str) -> None:
    named: list[tuple[str, str, list[str]]] = [("volatile_tables", table, []) for table in world.volatile_tables]
    named += [("volatile", table, columns) for table, columns in world.volatile.items()]
    named += [("secret", table, columns) for table, columns in world.secret.items()]
    named += [("id_formats", table, []) for table in world.id_formats]
    for key, table, columns in named:
        if table not in world.tables:
            raise WorldError(where, f"{key}.{table}", f"no such table; the tables are {', '.join(world.tables)}.")
        for column in columns:
            if column not in world.tables[table].columns:
                raise WorldError(
                    where, f"{key}.{table}", f"no column {column!r}; it has {', '.join(world.tables[table].columns)}."
                )
    for table, form in world.id_formats.items():
        found = world.tables[table]
        if len(found.key) != 1 or found.types[found.key[0]] != "TEXT":
            raise WorldError(where, f"id_formats.{table}", "generated ids need one TEXT primary key column.")
        try:
            distinct = form.format(1) != form.format(2)
        except (ValueError, IndexError, KeyError):
            distinct = False
        if not distinct:
            raise WorldError(where, f"id_formats.{table}", f'{form!r} does not take a number: write "TCK-{{:05d}}".')
    for table in world.id_start:
        if table not in world.id_formats:
            raise WorldError(where, f"id_start.{table}", "has no format in id_formats: add one or remove it.")


def _check_lexicon(world: World, where: str) -> None:
    slots = [slot.name for slot in world.lexicon.slots]
    for slot in world.lexicon.slots:
        if slots.count(slot.name) > 1:
            raise WorldError(where, f"lexicon.slots.{slot.name}", "is there twice: rename or remove one.")
        try:
            re.compile(slot.pattern)
        except re.error as error:
            raise WorldError(
                where, f"lexicon.slots.{slot.name}.pattern", f"is no regular expression: {error}."
            ) from error
    for name, touched in world.touches.items():
        if name not in world.tools_by_name or world.tools_by_name[name].kind != "write":
            raise WorldError(where, f"touches.{name}", "no such write tool.")
        for slot_name in touched:
            if slot_name not in slots:
                raise WorldError(where, f"touches.{name}", f"there is no slot {slot_name!r}.")
    for form in world.lexicon.proposals:
        tool = world.tools_by_name.get(form.tool)
        if tool is None:
            raise WorldError(where, f"lexicon.proposals.{form.tool}", "no such tool.")
        for argument in form.slots:
            if argument not in tool.shapes:
                raise WorldError(where, f"lexicon.proposals.{form.tool}", f"the tool has no argument {argument!r}.")
        for name in (*form.slots.values(), *form.also.values()):
            if name not in slots:
                raise WorldError(where, f"lexicon.proposals.{form.tool}", f"there is no slot {name!r}.")
