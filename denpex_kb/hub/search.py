"""Full-text search: Pagefind over the finished pages, where it is installed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from denpex_kb.errors import CatalogError

MISSING = "search: by title and tags only, Pagefind is not installed; pip install '.[site]' in the checkout adds it"


def has_pagefind() -> bool:
    """Say whether the Python package with its binary can be used."""
    return importlib.util.find_spec("pagefind") is not None and importlib.util.find_spec("pagefind_bin") is not None


def build_search(output: Path) -> str:
    """Index the pages of a site; returns what was done, in one line.

    Raises:
        CatalogError: Pagefind failed.
    """
    target = output / "pagefind"
    if target.exists():
        shutil.rmtree(target)
    command = [sys.executable, "-m", "pagefind", "--site", str(output), "--glob", "e/*/index.html", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CatalogError(f"Pagefind failed: {done.stderr.strip() or done.stdout.strip()}")
    for path in target.glob("*ui.*"):
        path.unlink()  # the site has its own search page
    (target / "pagefind-highlight.js").unlink(missing_ok=True)
    return "search: indexed with Pagefind"
