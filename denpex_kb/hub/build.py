"""Catalog → static site."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from denpex_kb.errors import CatalogError
from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.pages import Pages
from denpex_kb.hub.search import MISSING, build_search, has_pagefind
from denpex_kb.hub.sources import ParseCache, read_inputs
from denpex_kb.hub.writer import State, Written, digest, write_pages
from denpex_kb.index.places import cache_folder

_MARKER = ".denpex-site"  # says that a folder was made by a build, and may be brought up to date


class Request(msgspec.Struct, frozen=True):
    """What to build, from what, to where."""

    output: Path
    kb: Path
    catalogs: tuple[Path, ...]
    config: SiteConfig
    search: bool = True


class Report(msgspec.Struct, frozen=True):
    """What a build did, and how long it took."""

    entries: int
    pages: Written
    seconds: float
    search: str
    search_seconds: float
    findings: tuple[str, ...]


class _Memory(msgspec.Struct):
    """What one build leaves for the next one."""

    cache: ParseCache
    state: State


def build_site(request: Request) -> Report:
    """Bring a site up to date.

    Raises:
        CatalogError: the catalog cannot be read, or the output is a folder of something else.
    """
    started = time.perf_counter()
    output = request.output
    _claim(output)
    memory_file = cache_folder() / f"site-{digest(str(output.resolve()))}.msgpack"
    memory = _recall(memory_file)
    inputs = read_inputs(request.kb, request.catalogs, memory.cache)
    searchable = request.search and has_pagefind()
    pages = Pages(inputs, request.config, memory.cache, searchable=searchable).pages()
    done = write_pages(pages, output, memory.state)
    memory_file.write_bytes(msgspec.msgpack.encode(memory))
    built = time.perf_counter()
    search = _search(request, done)
    return Report(
        len(inputs.library.entries),
        done,
        built - started,
        search,
        time.perf_counter() - built,
        tuple(map(str, inputs.findings)),
    )


def _claim(output: Path) -> None:
    """Take a folder for the site; one that holds something else is left alone."""
    if output.exists() and not output.is_dir():
        raise CatalogError(f"{output} is a file; give a folder for the site")
    if output.is_dir() and any(output.iterdir()) and not (output / _MARKER).is_file():
        raise CatalogError(f"{output} holds files that no build made; give an empty folder for the site")
    output.mkdir(parents=True, exist_ok=True)
    if not (output / _MARKER).is_file():
        (output / _MARKER).touch()


def _recall(path: Path) -> _Memory:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Memory)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return _Memory(ParseCache(), State())


def _search(request: Request, done: Written) -> str:
    """Index the pages again where entries changed."""
    if not request.search:
        return "search: left out"
    if not has_pagefind():
        return MISSING
    changed = done.removed > 0 or any(path.startswith("e/") and path.endswith(".html") for path in done.paths)
    if changed or not (request.output / "pagefind").exists():
        return build_search(request.output)
    return "search: unchanged"
