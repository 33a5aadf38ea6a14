"""Pages on disk: only what changed is rendered, only what differs is written, what is gone is removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec


class Page(msgspec.Struct, frozen=True):
    """One file of the site: where it goes, what it depends on, how it is made."""

    path: str  # relative to the output, with /
    key: str
    render: Callable[[], str | bytes]


class Written(msgspec.Struct):
    """What a build did."""

    rendered: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    paths: list[str] = []


class State(msgspec.Struct):
    """What the last build made: path → (digest of the inputs, digest of the content)."""

    pages: dict[str, tuple[str, str]] = {}


def digest(*parts: object) -> str:
    """Return a short digest of anything that msgspec can write."""
    held = hashlib.blake2b(digest_size=12)
    for part in parts:
        held.update(part if isinstance(part, bytes) else msgspec.msgpack.encode(part))
        held.update(b"\0")
    return held.hexdigest()


def write_pages(pages: Iterable[Page], output: Path, state: State) -> Written:
    """Bring the output folder up to date.

    Args:
        pages: everything the site consists of.
        output: the folder; what an earlier build made and no page names any more is removed.
        state: what the last build made; brought up to date too.
    """
    done = Written()
    fresh: dict[str, tuple[str, str]] = {}
    folders: set[Path] = set()
    for page in pages:
        target = output / page.path
        held = state.pages.get(page.path)
        if held is not None and held[0] == page.key and target.is_file():
            fresh[page.path] = held
            done.unchanged += 1
            continue
        rendered = page.render()
        data = rendered.encode() if isinstance(rendered, str) else rendered
        content = digest(data)
        done.rendered += 1
        fresh[page.path] = page.key, content
        if target.is_file() and target.stat().st_size == len(data) and target.read_bytes() == data:
            done.unchanged += 1
            continue
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        target.write_bytes(data)
        done.written += 1
        done.paths.append(page.path)
    for path in state.pages.keys() - fresh.keys():
        done.removed += _remove(output, path)
    state.pages = fresh
    return done


def _remove(output: Path, path: str) -> int:
    target = output / path
    if not target.is_file():
        return 0
    target.unlink()
    folder = target.parent
    while folder != output and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
    return 1
