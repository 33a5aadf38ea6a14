"""The lines that a report quotes, each once, with a number to link to."""

from __future__ import annotations

from msgspec import Struct

from denpex_kb.model.diagnosis import EventPlace


class Quote(Struct, frozen=True):
    """A line of the input."""

    number: int
    file: str
    line: int
    rank: int | None
    text: str
    why: str


class Quotes:
    """Numbers lines in the order in which they are first mentioned."""

    def __init__(self) -> None:
        """Begin without any."""
        self._held: dict[tuple[str, int], Quote] = {}

    def add(self, place: EventPlace, why: str) -> int:
        """Quote a line; returns its number, which is the same for the same line."""
        key = (place.file, place.line)
        if key not in self._held:
            number = len(self._held) + 1
            self._held[key] = Quote(number, place.file, place.line, place.rank, place.text, why)
        return self._held[key].number

    def all(self) -> list[Quote]:
        """Return all quotes in their order."""
        return list(self._held.values())
