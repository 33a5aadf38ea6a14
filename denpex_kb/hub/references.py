"""References as they are shown: what an address leads to, in words that may break."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from markupsafe import Markup
from msgspec import Struct

from denpex_kb.hub.text import clipped, visible
from denpex_kb.model.entry import Reference

_THREAD = re.compile(r"^/([^/]+/[^/]+)/(issues|pull|discussions)/(\d+)/?$")
_FILE = re.compile(r"^/[^/]+/([^/]+)/(?:blob|tree|raw)/([^/]+)/(.+)$")
_RELEASE = re.compile(r"^/[^/]+/([^/]+)/releases/tag/([^/]+)$")
_COMMIT = re.compile(r"^[0-9a-f]{40}$")
_BREAK = re.compile(r"([/_=&?#])(?=\w)")
_LONGEST = 140
_KINDS = {"issues": "issue", "pull": "pull request", "discussions": "discussion"}


class ShownReference(Struct, frozen=True):
    """A reference: its address, what that is called, where it lies, and what it establishes."""

    url: str
    label: Markup
    place: str
    establishes: str


def shown_reference(reference: Reference) -> ShownReference:
    """Name what an address leads to; a thread by its number, a file by its path and version."""
    parts = urlsplit(reference.url)
    label, place = _named(parts.hostname or "", parts.path, parts.fragment)
    return ShownReference(reference.url, _breakable(label), place, reference.establishes)


def _named(host: str, path: str, fragment: str) -> tuple[str, str]:
    if host == "github.com":
        if (match := _THREAD.match(path)) is not None:
            return f"{match.group(1)}#{match.group(3)}", _KINDS[match.group(2)]
        if (match := _FILE.match(path)) is not None:
            repository, version, file = match.groups()
            version = version[:8] if _COMMIT.match(version) else version
            line = f" ({fragment})" if re.match(r"^L\d", fragment) else ""
            return f"{unquote(file)}{line}", f"{repository} {version}"
        if (match := _RELEASE.match(path)) is not None:
            return f"{match.group(1)} {unquote(match.group(2))}", "release notes"
    if not path.strip("/"):
        return host, ""
    label = unquote(path).strip("/") + (f"#{unquote(fragment)}" if fragment else "")
    return label, host


def _breakable(text: str) -> Markup:
    text = clipped(visible(text), _LONGEST) if len(text) > _LONGEST else visible(text)
    pieces = _BREAK.split(text)
    return Markup("").join(  # every piece is escaped by join
        Markup("{}<wbr>").format(piece) if index % 2 else piece for index, piece in enumerate(pieces)
    )
