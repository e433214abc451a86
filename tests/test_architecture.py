"""docs/architecture.md is true: its paths exist, its import table is exact, and torch stays inside the engine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "journeyman"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
RECORDS = {"task", "episode", "recipe", "stages", "stage_checks", "remote", "sections", "serving", "errors", "codec"}


def allowed_imports() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `(\w+)/` \| [^|]+ \|([^|]*)\|$", PAGE, flags=re.MULTILINE)
    return {folder: set(re.findall(r"`(\w+)/`", cell)) for folder, cell in rows}


def imported_modules(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return modules


def parts_imported(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for module in imported_modules(path):
            names = module.split(".")
            if names[0] == "journeyman" and len(names) > 1 and (PACKAGE / names[1]).is_dir():
                found.add(names[1])
    return found - {folder.name}


def test_every_folder_is_in_the_table() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))}
    assert folders == set(allowed_imports())


def test_imports_are_exactly_those_of_the_table() -> None:
    for folder, allowed in allowed_imports().items():
        assert parts_imported(PACKAGE / folder) == allowed, folder


def test_records_import_only_each_other() -> None:
    for name in RECORDS:
        own = {m.split(".")[1] for m in imported_modules(PACKAGE / f"{name}.py") if m.startswith("journeyman.")}
        assert own <= RECORDS, name


def test_paths_of_the_page_exist() -> None:
    for path in re.findall(r"`([\w/]+(?:\.py|/))`", PAGE):
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path


def test_boxes_of_the_picture_are_folders() -> None:
    picture = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    boxes = set(re.findall(r'class="t"[^>]*>(\w+)/<', picture))
    assert boxes == set(allowed_imports())


def test_torch_is_imported_by_the_engine_alone() -> None:
    heavy = {"torch", "transformers", "peft", "accelerate"}
    for path in PACKAGE.rglob("*.py"):
        if heavy & {m.split(".")[0] for m in imported_modules(path)}:
            assert path.relative_to(PACKAGE).parts[0] == "engine", path
    code = (
        "import sys, journeyman, journeyman.cli, journeyman.engine.base; from journeyman.worlds import load_world; load_world('telecom'); "
        "assert not {'torch', 'transformers', 'peft'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
