"""Which source counts in a world's version: the tools' own, that of their helpers, and that of the kit for tools."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import library_desk
import pytest

from journeyman.world import Tool, desk
from journeyman.world.sources import TOOL_KIT, sources
from journeyman.worlds import load_world

TOOL = '''
from __future__ import annotations
from typing import TYPE_CHECKING, Any
import json
from corner_store import prices
from journeyman.world import ToolContext, desk, tool
if TYPE_CHECKING:
    from corner_store import families

@tool("read")
async def quote(ctx: ToolContext) -> Any:
    """Read a price."""
    from corner_store import later
    return desk.dollars(prices.TOTAL)
'''
FILES = {
    "__init__.py": "",
    "till.py": TOOL,
    "prices.py": "from .taxes import RATE\nTOTAL = 100 + RATE\n",
    "taxes.py": "RATE = 7\n",
    "families.py": "FAMILIES = []\n",
    "later.py": "NOTHING = 0\n",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Tool]]:
    """The tools of a world in a package of its own."""
    folder = tmp_path / "corner_store"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("families", "later"):
        importlib.import_module(f"corner_store.{name}")
    yield [importlib.import_module("corner_store.till").quote]
    for name in [name for name in sys.modules if name.partition(".")[0] == "corner_store"]:
        del sys.modules[name]


def test_helpers_of_the_own_package_and_the_kit_count_and_nothing_else(store: list[Tool]):
    own = [FILES["prices.py"], FILES["taxes.py"], FILES["till.py"]]
    assert sources(store) == [*own, inspect.getsource(desk)]


def test_a_tool_of_the_kit_counts_and_what_lies_below_it_does_not():
    own = inspect.getsource(library_desk)
    for tools in ([desk.search_policy, library_desk.get_book], [library_desk.get_book, desk.policy_article("KB-1")]):
        assert sources(tools) == [inspect.getsource(desk), own]
    assert sources([library_desk.get_book]) == [own]


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        *((name, True) for name in sorted(TOOL_KIT)),
        ("journeyman.worlds.telecom.crm", True),
        ("journeyman.worlds.telecom.records", True),
        ("journeyman.world.session", False),
        ("journeyman.world.composing", False),
        ("journeyman.worlds.telecom.families.late_fee", False),
    ],
)
def test_a_change_of_what_the_telecom_tools_run_is_another_source(
    monkeypatch: pytest.MonkeyPatch, changed: str, counts: bool
):
    tools = load_world("telecom").tools
    before, read = sources(tools), inspect.getsource

    def altered(what: Any) -> str:
        return read(what) + ("# changed\n" if isinstance(what, ModuleType) and what.__name__ == changed else "")

    monkeypatch.setattr(inspect, "getsource", altered)
    assert (sources(tools) != before) == counts


def test_the_version_of_a_world_follows_the_kit(monkeypatch: pytest.MonkeyPatch):
    tools = [*library_desk.TOOLS[:8], *library_desk.TOOLS[9:], desk.search_policy]
    before = library_desk.library(tools=tools).version
    assert library_desk.library(tools=tools).version == before
    text, read = inspect.getsource(desk), inspect.getsource
    monkeypatch.setattr(
        inspect, "getsource", lambda what: text.replace("1, 8)", "1, 9)") if what is desk else read(what)
    )
    assert library_desk.library(tools=tools).version != before
