"""What all tests share: a cache of their own, the open knowledge base, a way to run the command line."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.index.places import Sources

ROOT = Path(__file__).parents[1]
CENTRAL = "deepspeed-moe-zero3-leaf-modules"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Ran(NamedTuple):
    """What a run of the command line left."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled indexes of the tests out of the user's cache; parallel workers share one."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "denpex-cache"
    before = {
        name: os.environ.get(name)
        for name in ("DENPEX_CACHE", "DENPEX_CONFIG", "DENPEX_CATALOG", "NO_COLOR", "FORCE_COLOR")
    }
    os.environ["DENPEX_CACHE"] = str(folder)
    os.environ["DENPEX_CONFIG"] = str(folder / "no-config.toml")
    for name in ("DENPEX_CATALOG", "NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    yield
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def kb(_own_cache: None) -> KnowledgeBase:
    """Open the public knowledge base."""
    return KnowledgeBase.open()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start one browser for all tests of a process: Playwright bears no second one."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the command line in this process."""
    from denpex_kb.cli.main import main

    def run_(*arguments: str, columns: int = 100) -> Ran:
        monkeypatch.setattr(sys, "argv", ["denpex", *arguments])
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run_


ENTRY = """---
id: {id}
title: "A private failure that prints xyzzy"
category: Configuration
hub: deepspeed
phase: init
kind: crash
role: initiating
severity: low
frequency: common
tags: [xyzzy]
affected: [{{framework: deepspeed}}]
signatures:
  - name: message
    pattern: 'xyzzy plugh \\d{{1,4}} failed'
    strength: decisive
    example: "RuntimeError: xyzzy plugh 7 failed"
action: {{kind: fix_config, restart_helps: false, text: "Say plugh."}}
questions: ["xyzzy fails", "plugh does not answer", "xyzy plough"]
references: [{{url: "https://example.org/a", establishes: "the message"}}]
verified: {{how: reported, when: 2026-11-30, what: "our own cluster"}}
---
## Summary
Our plugin xyzzy fails. Say plugh.

## Symptoms
- A RuntimeError.

## Root cause
Nobody said plugh.

- The same.

## Affected setups
- Ours.

## Fix
Say plugh.

### Say it
1. Say it aloud.

Cost: a word. Undo: silence.

## Verify
```bash
plugh
```
Expect: silence.

## Checklist
- [ ] One: `true`
- [ ] Two: `true`
- [ ] Three: `true`

## If this is not it
- Nothing else is known.
"""


@pytest.fixture(scope="session")
def small_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy a few public entries: what is compiled again and again need not be the whole catalog."""
    folder = tmp_path_factory.mktemp("small") / "catalog"
    for path in sorted((ROOT / "catalog").glob("*/deepspeed-*leaf*.md")) + sorted(
        (ROOT / "catalog").glob("*/cuda-oom-*.md")
    ):
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        (folder / path.parent.name / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def small_public(small_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """Let a few entries stand for the public catalog."""
    sources = Sources(ROOT / "kb", (small_catalog,))
    monkeypatch.setattr("denpex_kb.index.open.public_sources", lambda: sources)
    monkeypatch.setattr("denpex_kb.index.open.packaged_index", lambda: None)
    return sources


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Make a private catalog with one entry."""
    folder = tmp_path / "private" / "deepspeed"
    folder.mkdir(parents=True)
    (folder / "our-xyzzy-fails.md").write_text(ENTRY.format(id="our-xyzzy-fails"), encoding="utf-8")
    return tmp_path / "private"
