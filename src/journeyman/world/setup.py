"""Setup rows: how a family puts the records of an image into the state that its task needs."""

from __future__ import annotations

from typing import Any

import msgspec

from journeyman.codec import canonical
from journeyman.task import RowChange, Scalar
from journeyman.world.world import World


class Setup:
    """Collects setup rows. Later edits see earlier ones.

    Args:
        world: whose `base` image the edits start from.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._rows: dict[bytes, RowChange] = {}

    def rows(self) -> list[RowChange]:
        """The setup rows, in the order they were first touched."""
        return [change for change in self._rows.values() if change.op != "update" or change.new]

    def row(self, table: str, **key: Scalar) -> dict[str, Any]:
        """One row as the task will find it.

        Raises:
            LookupError: there is no such row.
        """
        seen = self._rows.get(canonical([table, key]))
        if seen is not None and seen.op == "insert":
            return {**seen.key, **seen.new}
        where = " AND ".join(f"{column} = ?" for column in key)
        found = self.world.query("base", f"SELECT * FROM {table} WHERE {where}", tuple(key.values()))
        if not found:
            raise LookupError(f"{table} has no row {key}")
        return {**found[0], **(seen.new if seen is not None else {})}

    def update(self, table: str, key: dict[str, Scalar], **values: Scalar) -> None:
        """Give columns of a row of the image new values."""
        name = canonical([table, key])
        seen = self._rows.get(name)
        if seen is not None and seen.op == "insert":
            self._rows[name] = msgspec.structs.replace(seen, new={**seen.new, **values})
            return
        before = {**self.row(table, **key), **(seen.old if seen is not None else {})}
        new = {**(seen.new if seen is not None else {}), **values}
        new = {column: value for column, value in new.items() if before[column] != value}
        self._rows[name] = RowChange(table, "update", dict(key), {column: before[column] for column in new}, new)

    def update_all(self, table: str, where: str, params: tuple[Scalar, ...], **values: Scalar) -> None:
        """Give columns of every row of the image that the SQL condition `where` picks new values; it sees no earlier edit."""
        for key in self._keys(table, where, params):
            self.update(table, key, **values)

    def insert(self, table: str, key: dict[str, Scalar], **values: Scalar) -> None:
        """Add a row; `values` are its other columns."""
        self._rows[canonical([table, key])] = RowChange(table, "insert", dict(key), new={**key, **values})

    def delete(self, table: str, key: dict[str, Scalar]) -> None:
        """Remove a row of the image."""
        self._rows[canonical([table, key])] = RowChange(table, "delete", dict(key), old=self.row(table, **key))

    def delete_all(self, table: str, where: str, params: tuple[Scalar, ...]) -> None:
        """Remove every row of the image that the SQL condition `where` picks; it sees no earlier edit."""
        for key in self._keys(table, where, params):
            self.delete(table, key)

    def _keys(self, table: str, where: str, params: tuple[Scalar, ...]) -> list[dict[str, Any]]:
        columns = ", ".join(self.world.tables[table].key)
        return self.world.query("base", f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {columns}", params)
