"""Reads the policy articles: one Markdown file each, with a front matter of `key: value` lines between `---` lines."""

from __future__ import annotations

from pathlib import Path

from journeyman.errors import WorldError
from journeyman.world.knowledge import Article


def load_articles(folder: Path) -> list[Article]:
    """Every article of the folder, by file name. Raises WorldError for a file that is not an article."""
    return [_read(path) for path in sorted(folder.glob("*.md"))]


def _read(path: Path) -> Article:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    status = fields["status"]
    if status not in ("current", "superseded", "draft"):
        raise WorldError(str(path), "status", f"{status!r} must be current, superseded or draft.")
    return Article(
        id=path.stem,
        title=fields["title"],
        body=body.strip(),
        status=status,  # type: ignore[arg-type]
        effective=fields["effective"],
        tags=fields["tags"].split(", "),
    )
