"""Imports point downwards only: a room knows the rooms below it and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "denpex_kb"
# What each room may import besides itself.
BELOW = {
    "model": set(),
    "catalog": {"model", "errors"},
    "index": {"model", "catalog", "errors"},
    "read": {"model", "index", "errors"},
    "derive": {"model"},
    "match": {"model", "index"},
    "advise": {"model", "index", "errors"},
    "render": {"model", "errors"},
    "pipeline": {"model", "index", "read", "derive", "match", "advise", "errors"},
    "api": {"model", "index", "read", "pipeline", "errors"},
    "hub": {"model", "catalog", "index", "match", "read", "render", "errors"},
    "capture": {"model", "read", "errors"},
    "report": {"model", "catalog", "index", "read", "derive", "match", "render", "pipeline", "api", "errors"},
    "chat": {"model", "index", "read", "derive", "match", "advise", "render", "pipeline", "errors"},
    "check": {"model", "index", "read", "derive", "advise", "errors"},
    "score": {"model", "catalog", "index", "check", "api", "errors"},
}
MODULES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).parts[0] not in {"cli", "__main__.py", "__init__.py", "errors.py"}
)


def rooms_imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("denpex_kb."):
            names.add(node.module.split(".")[1])
    return names


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_a_module_imports_only_rooms_below_its_own(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")

    assert rooms_imported(path) <= BELOW[room] | {room}
