"""What an episode needs of a session, whoever provides it: our own worlds, a foreign server, another benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from journeyman.episode import CallRecord
from journeyman.task import RowChange
from journeyman.world.session import Snapshot
from journeyman.world.tools import ToolSpec

Capability = Literal["changes", "fork", "deterministic"]


@runtime_checkable
class Session(Protocol):
    """One live copy of a world.

    `capabilities`: `changes` (net row changes are known), `fork` (snapshots can be restored), `deterministic` (equal
    calls give equal results). A recipe that needs a missing one is refused before it starts.
    """

    capabilities: frozenset[str]

    async def call(self, name: str, arguments: Mapping[str, Any] | None, turn: int = -1) -> CallRecord:
        """Execute one call of the agent; never raises for anything an agent can do."""
        ...

    def tools(self) -> list[ToolSpec]:
        """The tools the agent is offered."""
        ...

    def changes(self) -> list[RowChange]:
        """Net row changes since the task began (empty without the capability)."""
        ...

    def snapshot(self) -> Snapshot:
        """All of the session now (only with the capability `fork`)."""
        ...

    async def close(self) -> None:
        """Release what the session holds."""
        ...
