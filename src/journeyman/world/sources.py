"""The source that a world's tools run, as text: part of the world's version, so that tasks of other tools are refused."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib.util import resolve_name
from types import ModuleType

from journeyman.world.tools import Tool

TOOL_KIT = frozenset({"journeyman.world.desk", "journeyman.world.secrets"})
"""The kit's modules that do the work of tools. Sessions and databases below them are no world's own."""


def sources(tools: Sequence[Tool]) -> list[str]:
    """The source of each module that does the work of a tool, in order of the modules' names.

    That is the module that defines it and, from there on, what each imports at its top from its own package or from
    `TOOL_KIT`: a helper changes a tool as much as the tool's own lines do.
    """
    texts: dict[str, str] = {}
    for tool in tools:
        name = tool.function.__module__
        if name not in texts:
            module = sys.modules.get(name)
            try:
                texts[name] = inspect.getsource(tool.function if module is None else module)
            except (OSError, TypeError):
                texts[name] = tool.function.__code__.co_code.hex()
                continue
            if module is not None:
                _add_helpers(module, texts)
    return [texts[name] for name in sorted(texts)]


def _add_helpers(module: ModuleType, texts: dict[str, str]) -> None:
    if module.__name__ in TOOL_KIT:
        return
    for name in _imported(module, texts[module.__name__]):
        if name not in texts:
            texts[name] = inspect.getsource(sys.modules[name])
            _add_helpers(sys.modules[name], texts)


def _imported(module: ModuleType, source: str) -> Iterator[str]:
    """The loaded modules of its own package and of the kit for tools that a module imports at its top."""
    package = module.__package__ or ""
    for node in ast.parse(source).body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            beside = package and name.rpartition(".")[0] == package
            if name in sys.modules and (beside or name in TOOL_KIT):
                yield name
