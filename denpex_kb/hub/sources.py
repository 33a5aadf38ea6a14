"""What a site is made from: entries (parsed once per change), shared knowledge, templates and assets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from denpex_kb.catalog.findings import FileBroken, Finding
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.load import entry_files, parse_entry
from denpex_kb.errors import CatalogError
from denpex_kb.hub.introductions import Introduction, read_introductions
from denpex_kb.hub.library import Library
from denpex_kb.model.entry import Entry
from denpex_kb.model.kb import Kb

_PACKAGE = Path(__file__).resolve().parents[1]
# code that decides what is in an entry or on a page: when it changes, everything is made anew
_CODE = ("hub", "model", "catalog", "match", "render", "index/build.py", "read/prefixes.py", "read/scan.py")


class Parsed(msgspec.Struct, frozen=True):
    """An entry as it was parsed from a file of this size and time."""

    size: int
    modified: int
    entry: Entry


class ParseCache(msgspec.Struct):
    """Parsed entries by file; thrown away when the code changes."""

    code: str = ""
    entries: dict[str, Parsed] = {}
    literals: dict[str, tuple[str, ...]] = {}  # of patterns, which take long to work out
    kb: Kb | None = None
    shared: str = ""  # digest of the code and of what `kb` was read from


class Inputs(msgspec.Struct, frozen=True):
    """Everything that was read."""

    library: Library
    introductions: dict[str, Introduction]
    findings: tuple[Finding, ...]
    shared: str  # digest of what every page depends on


def site_folder() -> Path:
    """Return the folder of templates and assets: the checkout's, or the one that the wheel carries."""
    checkout = _PACKAGE.parent / "site"
    return checkout if (checkout / "templates").is_dir() else _PACKAGE / "_data" / "site"


def code_digest() -> str:
    """Return a digest of the code and templates, by their contents."""
    held = hashlib.blake2b(digest_size=12)
    for path in _code_files():
        held.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return held.hexdigest()


def _code_files() -> Iterable[Path]:
    for name in _CODE:
        path = _PACKAGE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for folder in ("templates", "static"):
        yield from sorted(path for path in (site_folder() / folder).rglob("*") if path.is_file())


def read_inputs(kb_folder: Path, catalogs: Sequence[Path], cache: ParseCache) -> Inputs:
    """Read catalogs and kb; entries of later catalogs replace those of earlier ones.

    Raises:
        CatalogError: the kb cannot be read, or not one entry can.
    """
    code = code_digest()
    if cache.code != code:
        cache.code, cache.entries, cache.literals, cache.kb = code, {}, {}, None
    shared = _shared_digest(code, kb_folder)
    if cache.kb is None or cache.shared != shared:
        try:
            cache.kb, cache.shared = load_kb(kb_folder), shared
        except FileBroken as broken:
            raise CatalogError("\n".join(map(str, broken.findings))) from broken
    findings: list[Finding] = []
    parsed = dict(_read_entries(catalogs, cache, findings))
    if not parsed:
        raise CatalogError("no entry can be read:\n" + "\n".join(map(str, findings)))
    cache.entries = {str(path): item for path, item in parsed.items()}
    entries = {item.entry.id: item.entry for item in parsed.values()}
    files = {item.entry.id: path for path, item in parsed.items()}
    library = Library(entries.values(), files, cache.kb)
    return Inputs(library, read_introductions(kb_folder / "hubs"), tuple(findings), shared)


def _shared_digest(code: str, kb_folder: Path) -> str:
    held = hashlib.blake2b(code.encode(), digest_size=12)
    for path in sorted(kb_folder.rglob("*")):
        if path.is_file():
            held.update(path.name.encode() + b"\0" + path.read_bytes())
    return held.hexdigest()


def _read_entries(
    catalogs: Sequence[Path], cache: ParseCache, findings: list[Finding]
) -> Iterator[tuple[Path, Parsed]]:
    for number, folder in enumerate(catalogs):
        if not folder.is_dir():
            raise CatalogError(f"{folder}: no such folder; give the folder that holds the entries")
        for path in entry_files(folder):
            try:
                yield path, _parsed(path, "denpex" if number == 0 else folder.name, cache)
            except FileBroken as broken:
                findings += broken.findings
            except (OSError, UnicodeDecodeError) as error:
                findings.append(Finding(str(path), 1, f"cannot be read: {error}"))


def _parsed(path: Path, origin: str, cache: ParseCache) -> Parsed:
    status = path.stat()
    held = cache.entries.get(str(path))
    seen = status.st_size, status.st_mtime_ns
    if held is not None and (held.size, held.modified) == seen and held.entry.origin == origin:
        return held
    return Parsed(status.st_size, status.st_mtime_ns, parse_entry(path.read_text(encoding="utf-8"), str(path), origin))
