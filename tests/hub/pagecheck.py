"""Reads a built page: its elements, links and texts."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path


class PageReader(HTMLParser):
    """Collects what tests ask of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._script: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.tags.append((tag, held))
        if held.get("id"):
            self.ids.add(held["id"] or "")
        if tag == "a" and held.get("href"):
            self.links.append(held["href"] or "")
        self._script = (held.get("type") or "text/javascript") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts.append(data)
        else:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._script = None

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of one kind."""
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(path: Path) -> PageReader:
    """Read one page."""
    reader = PageReader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader
