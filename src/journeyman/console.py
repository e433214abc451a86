"""Where commands write: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from journeyman.codec import encode

WIDTH_OF_A_FILE = 110
"""Columns of a table that does not go to a terminal."""

out = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
err = Console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def plain(text: str) -> str:
    """The text, none of it read as markup."""
    return text.replace("[", "\\[")


def print_json(value: Any) -> None:
    """One line of JSON."""
    sys.stdout.write(encode(value).decode() + "\n")
